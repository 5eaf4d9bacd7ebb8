import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { SkillflowError } from "../../core/base/errors.ts";
import type { RunQueue, StateStore } from "../../core/engine/ports.ts";
import { projectRoot } from "../../loaders/documents/project-config.ts";
import { folderState } from "../../stores/state/folder.ts";
import { gitState } from "../../stores/state/git.ts";
import { gitIn } from "../../stores/state/git-command.ts";
import type { Host } from "../host.ts";
import { reported } from "./guards.ts";

const BRANCH = "git:";

/**
 * Opens the state store: a folder, a branch of the checkout's remote, or a custom store.
 * Defaults to the engine's database, or to the project's own folder.
 */
export function openState(
  host: Host,
  named: string | StateStore | undefined,
  { queue, offline = false }: { readonly queue?: RunQueue | undefined; readonly offline?: boolean | undefined } = {},
): StateStore {
  if (typeof named === "object") return guardState(named);
  if (named === undefined && queue) return queue.states;
  const { cwd, env, self, isAlive } = host;
  if (named?.startsWith(BRANCH)) return gitState({ branch: named.slice(BRANCH.length), directory: cwd, env, offline });
  const isOurs = named === undefined;
  const directory = resolve(cwd, named ?? join(".skillflow", "state"));
  // Links must not lead out of the default folder. The operator may name any folder.
  const root = isOurs ? projectRoot(cwd) : undefined;
  const folder = folderState({ directory, root, isPrivate: isOurs, self, isAlive });
  return root === undefined ? folder : guardState(folder, () => refuseCommitted(directory, root, env));
}

/** Refuses state that was committed: an untrusted author could make runs skip items that they should check. */
async function refuseCommitted(directory: string, root: string, env: Host["env"]): Promise<void> {
  if (!existsSync(directory) || !existsSync(join(root, ".git"))) return;
  const git = gitIn({ directory: root, env, config: [["safe.directory", "*"]] });
  const listing = git(["--literal-pathspecs", "ls-files", "-z", "--", directory]);
  // Without git, nothing was committed.
  const { stdout } = await listing.catch(() => ({ stdout: Buffer.alloc(0) }));
  const [committed] = stdout
    .toString("utf8")
    .split("\0")
    .filter((file) => !file.endsWith(".gitignore") && file !== "");
  if (committed === undefined) return;
  throw new SkillflowError("store.failed", `the state was committed to the checkout: ${JSON.stringify(committed)}`, {
    hint: [
      "remove it with git rm --cached, or set the folder yourself: ",
      { option: "state", value: ".skillflow/state" },
    ],
  });
}

/** Reports errors of the state store as `store.failed`. */
function guardState(store: StateStore, check: () => Promise<void> = async () => undefined): StateStore {
  const told = <Value>(work: () => Promise<Value>) =>
    reported("the state", async () => {
      await check();
      return work();
    });
  return {
    read: (names) => told(() => store.read(names)),
    apply: (delta) => told(() => store.apply(delta)),
    list: () => told(() => store.list()),
    forget: (name, keys) => told(() => store.forget(name, keys)),
  };
}
