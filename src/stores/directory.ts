import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasCode, messageOf, SkillflowError } from "../core/base/errors.ts";
import { makeFolder, realFolder } from "../files/files.ts";
import { storeError } from "./store-error.ts";

/** Directory of a store, and the folder that must contain it after links are resolved, if any must. */
interface StoreDirectory {
  readonly kind: keyof typeof OPTIONS;
  readonly directory: string;
  readonly root: string | undefined;
}

const OPTIONS = { run: "store", state: "state" } as const;

/** Returns the directory. Throws if it leads outside the project: a link would make us read, write and delete there. */
export function checkDirectory({ kind, directory, root }: StoreDirectory): string {
  try {
    realFolder(directory, root);
    return directory;
  } catch (error) {
    throw new SkillflowError("store.failed", `the ${kind} directory ${messageOf(error)}`, {
      hint: ["name the directory itself with ", { option: OPTIONS[kind] }],
      cause: error,
    });
  }
}

/** Creates the directory if it is missing. A private one is kept out of commits with a `.gitignore`. */
export function makeDirectory({ kind, directory, root }: StoreDirectory, isPrivate = false): void {
  try {
    makeFolder(directory, { root });
    if (isPrivate) writeFileSync(join(directory, ".gitignore"), "*\n", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (hasCode(error, "EEXIST")) return;
    throw storeError(error, `the ${kind} directory ${directory} cannot be created`);
  }
}
