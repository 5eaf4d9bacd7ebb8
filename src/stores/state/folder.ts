import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode, SkillflowError } from "../../core/base/errors.ts";
import { isObject, parseJson } from "../../core/base/values.ts";
import type { StateStore, States } from "../../core/engine/ports.ts";
import { openPlain, replaceFile } from "../../files/files.ts";
import { checkDirectory, makeDirectory } from "../directory.ts";
import { type LockOptions, lock } from "../lock.ts";
import { storeError } from "../store-error.ts";
import { fileOf, MOST_BYTES, readState, stateOf, tooLarge, writeState } from "./lines.ts";
import { stateStore } from "./table.ts";

interface FolderOptions extends LockOptions {
  readonly directory: string;
  /** Folder that must contain the directory after links are resolved. Undefined if any place is allowed. */
  readonly root?: string | undefined;
  /** Keeps the folder out of commits with a `.gitignore`. */
  readonly isPrivate?: boolean;
  readonly now?: () => Date;
}

/**
 * Stores each state as a file of JSON lines. One process writes at a time. It first writes all changes to `_redo.json`,
 * so that a crash loses nothing and applies nothing twice. Does not follow links.
 */
export function folderState(options: FolderOptions): StateStore {
  const { directory, root, now } = options;
  const at = (name: string) => join(directory, name);
  const place = { kind: "state", directory, root } as const;
  const check = () => checkDirectory(place);
  const readStates = async (names: readonly string[]): Promise<States> =>
    new Map(await Promise.all(names.map(async (name) => [name, await readFile(name, at(fileOf(name)))] as const)));
  const locked = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    check();
    makeDirectory(place, options.isPrivate);
    const unlock = await waitForLock(at(".lock"), options);
    try {
      await redo(directory, root);
      return await work();
    } catch (error) {
      throw storeError(error, `the states in ${directory} cannot be written`);
    } finally {
      unlock();
    }
  };
  return stateStore(
    {
      async names() {
        check();
        const files = existsSync(directory) ? await readdir(directory) : [];
        return files.flatMap((file) => stateOf(file) ?? []);
      },
      async read(names) {
        check();
        return existsSync(at(REDO)) ? locked(() => readStates(names)) : readStates(names);
      },
      change: ({ names, decide }) =>
        locked(async () => {
          const changed = decide(await readStates(names));
          if (!changed) return;
          const files = [...changed].map(([name, entries]) => [fileOf(name), writeState(name, entries)] as const);
          await replaceFile(at(REDO), JSON.stringify({ files: Object.fromEntries(files) }), { root });
          await writeFiles(directory, root, files);
        }),
    },
    now,
  );
}

const REDO = "_redo.json";
/** Name of a temporary file that a killed process left. */
const DRAFT = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function writeFiles(directory: string, root: string | undefined, files: readonly (readonly [string, string])[]) {
  for (const [file, text] of files) await replaceFile(join(directory, file), text, { root });
  await rm(join(directory, REDO), { force: true });
}

/** Completes the writes that a killed process had recorded in `_redo.json`. */
async function redo(directory: string, root: string | undefined): Promise<void> {
  for (const name of await readdir(directory)) if (DRAFT.test(name)) await rm(join(directory, name), { force: true });
  const place = join(directory, REDO);
  if (!existsSync(place)) return;
  const read = parseJson(await readText(place));
  const files = isObject(read) && isObject(read.files) ? Object.entries(read.files) : [];
  const isSound =
    files.length > 0 && files.every(([file, text]) => stateOf(file) !== undefined && typeof text === "string");
  if (!isSound) throw new SkillflowError("store.failed", `${place} is not a skillflow file`, { hint: "delete it" });
  await writeFiles(directory, root, files as [string, string][]);
}

async function readFile(name: string, place: string) {
  try {
    return readState(name, await readText(place), place);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw storeError(error, "a state cannot be read");
  }
}

async function readText(place: string): Promise<string> {
  const { file, stats } = await openPlain(place);
  try {
    if (stats.size > MOST_BYTES) throw tooLarge(place, stats.size);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

const MOST_WAIT_MS = 30_000;

async function waitForLock(path: string, options: LockOptions): Promise<() => void> {
  const until = performance.now() + MOST_WAIT_MS;
  for (;;) {
    try {
      return lock(path, "the states are being written", options);
    } catch (error) {
      const isHeld = error instanceof SkillflowError && error.code === "store.locked";
      if (!isHeld || performance.now() > until) throw error;
      await sleep(randomInt(5, 40));
    }
  }
}
