import { closeSync, existsSync, lstatSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf, SkillflowError } from "../../core/base/errors.ts";
import { RUN_ID } from "../../core/engine/event/record.ts";
import type { Intake, Journal, Store, StoredRun } from "../../core/engine/ports.ts";
import { makeFolder, realFolder } from "../../files/files.ts";
import { fileBlobs } from "../blobs.ts";
import { digestOf } from "../chain.ts";
import { createJournal, newestFirst } from "../journal.ts";
import { type LockOptions, lock } from "../lock.ts";
import { hasCode, storeError } from "../store-error.ts";
import { fileQueue, markOf } from "./queue.ts";
import { appendWhole, createFile, openFile } from "./run-file.ts";
import { beginningOf, noRun, parseRun, readBytes, reading, type Stored, verifyBytes } from "./run-lines.ts";
import { skimRun, startOf } from "./run-skim.ts";

interface FileStoreOptions extends LockOptions {
  readonly directory: string;
  /** What the directory must lie in, links followed, if it does by its path; undefined where it may lead anywhere. */
  readonly root?: string | undefined;
  readonly now?: () => Date;
}

export interface FileStore extends Store {
  /** Runs that are recorded first, and driven when there is room: `create` begins one anew that nothing was done of. */
  readonly intake: Intake;
}

/**
 * One append-only JSONL file per run: the run's record on the first line, then one event per line, each record written
 * before it counts, and on disk (fdatasync) where it holds what is never done again, which the announcement of reads does
 * not. The torn tail of a crash is dropped; `<run>.lock` names the process that drives the run.
 */
export function fileStore(options: FileStoreOptions): FileStore {
  const { directory, root, now } = options;
  const taken = new Set<string>();
  const pathOf = (run: string) => join(checkDirectory(directory, root), `${checkRunId(run)}.jsonl`);
  const pathOfKnown = (run: string) => {
    const path = pathOf(run);
    if (!existsSync(path)) throw unknownRun(run, directory);
    return path;
  };
  const readAt = <Value>(run: string, work: (bytes: Buffer, path: string, run: string) => Value): Value => {
    const path = pathOfKnown(run);
    return reading(path, (file) => work(readBytes(file, path), path, run));
  };
  const locked = <Value>(run: string, work: (unlock: () => void) => Value): Value => {
    const unlock = lock(join(directory, `${run}.lock`), run, options);
    try {
      return work(unlock);
    } catch (error) {
      unlock();
      throw error;
    }
  };
  const store: Store = {
    async create(record) {
      const { run } = record;
      const path = pathOf(run);
      prepareDirectory(directory, root);
      const refuse = () => (taken.has(run) ? refuseBegun(path, run) : refuseExisting(path, run));
      refuse();
      return locked(run, (unlock) => {
        refuse();
        const line = JSON.stringify(record);
        const { file, length } = createFile(path, `${line}\n`);
        return drive({ run, file, stored: { record, events: [], length, digest: digestOf(line) }, now, unlock });
      });
    },
    async open(run) {
      const path = pathOfKnown(run);
      return locked(run, (unlock) => {
        const { file, stored } = openFile(path, run);
        return { ...storedOf(stored), journal: drive({ run, file, stored, now, unlock }) };
      });
    },
    read: async (run) => storedOf(readAt(run, parseRun)),
    verify: async (run) => readAt(run, verifyBytes),
    skim: async (run) => readAt(run, skimRun),
    async list() {
      return existsSync(checkDirectory(directory, root)) ? newestFirst(runsIn(directory)) : [];
    },
    blobs: (run) => fileBlobs(blobsOfRun(directory, checkRunId(run))),
    async remove(run) {
      const path = pathOfKnown(run);
      locked(run, (unlock) => {
        removeRun(path, directory, run);
        unlock();
      });
    },
  };
  const queue = fileQueue({
    directory,
    taken,
    prepare: () => {
      checkDirectory(directory, root);
      prepareDirectory(directory, root);
    },
    isRecorded: (run) => RUN_ID.test(run) && existsSync(pathOf(run)),
    create: async (record) => (await store.create(record)).close(),
  });
  return { ...store, intake: queue };
}

/** Without what concerns its file alone. */
function storedOf({ record, events }: Stored): StoredRun {
  return { record, events };
}

interface Driven {
  readonly run: string;
  readonly file: number;
  readonly stored: Stored;
  readonly now: (() => Date) | undefined;
  readonly unlock: () => void;
}

function drive({ run, file, stored, now, unlock }: Driven): Journal {
  let { length } = stored;
  return createJournal({
    run,
    events: stored.events,
    epoch: (stored.events.at(-1)?.epoch ?? -1) + 1,
    digest: stored.digest,
    now,
    append({ text, outlivesMachine }) {
      length = appendWhole(file, length, text, outlivesMachine);
    },
    close() {
      closeSync(file);
      unlock();
    },
  });
}

function runsIn(directory: string): { readonly run: string; readonly at: string }[] {
  const files = readDirectory(directory).filter((name) => name.endsWith(".jsonl"));
  const names = files.map((name) => name.slice(0, -".jsonl".length)).filter((name) => RUN_ID.test(name));
  return names.map((run) => ({ run, at: startOf(join(directory, `${run}.jsonl`)) }));
}

/** The run goes last: what a crash leaves behind can be removed again. */
function removeRun(path: string, directory: string, run: string): void {
  try {
    if (!beginningOf(path)) throw noRun(path, run);
    rmSync(blobsOfRun(directory, run), { recursive: true, force: true });
    removePlan(planOfRun(directory, run));
    rmSync(markOf(directory, run), { force: true });
    rmSync(path, { force: true });
  } catch (error) {
    throw storeError(error, `run ${run} cannot be removed`);
  }
}

/** The file of a run, and the lock that whoever drives it holds. */
export function filesOfRun(directory: string, run: string): { readonly path: string; readonly lock: string } {
  return { path: join(directory, `${checkRunId(run)}.jsonl`), lock: join(directory, `${run}.lock`) };
}

/** The folder of a run's blobs, beside its file. */
export function blobsOfRun(directory: string, run: string): string {
  return join(directory, `${run}.blobs`);
}

/** A copy of what a run planned, beside its file. */
export function planOfRun(directory: string, run: string): string {
  return join(directory, run, "plan.json");
}

/** With its folder, unless that holds what is not ours: `r1.blobs` is a run's name too. */
function removePlan(path: string): void {
  if (!lstatSync(dirname(path), { throwIfNoEntry: false })?.isDirectory()) return;
  rmSync(path, { force: true });
  if (readdirSync(dirname(path)).length === 0) rmdirSync(dirname(path));
}

/** A folder of the project that is a link to elsewhere would have us write, and remove, there. */
function checkDirectory(directory: string, root: string | undefined): string {
  try {
    realFolder(directory, root);
    return directory;
  } catch (error) {
    throw new SkillflowError("store.failed", `the run directory ${messageOf(error)}`, {
      hint: ["name the place itself with ", { option: "store" }],
      cause: error,
    });
  }
}

function readDirectory(directory: string): string[] {
  try {
    // A run may be named so that the folder of its plan looks like the file of another.
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [] : entry.name));
  } catch (error) {
    throw storeError(error, `the run directory ${directory} cannot be read`);
  }
}

export function checkRunId(run: string): string {
  if (RUN_ID.test(run)) return run;
  throw new SkillflowError("usage.invalid", `"${run}" is no run id`, {
    hint: "use up to 128 letters, digits, dots, hyphens and underscores, beginning with a letter or digit",
  });
}

function prepareDirectory(directory: string, root: string | undefined): void {
  try {
    makeFolder(directory, { root });
    writeFileSync(join(directory, ".gitignore"), "*\n", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (hasCode(error, "EEXIST")) return;
    throw storeError(error, `the run directory ${directory} cannot be made`);
  }
}

function refuseExisting(path: string, run: string): void {
  if (existsSync(path)) throw existingRun(run);
}

/** Of one that was only recorded nothing is lost. */
function refuseBegun(path: string, run: string): void {
  const { events } = reading(path, (file) => parseRun(readBytes(file, path), path, run));
  if (events.length > 0) throw existingRun(run);
}

export function existingRun(run: string): SkillflowError {
  return new SkillflowError("run.exists", `there is a run ${run} already`, {
    hint: [`resume it (skillflow resume ${run}) or choose another `, { option: "run-id" }],
  });
}

function unknownRun(run: string, directory: string): SkillflowError {
  return new SkillflowError("run.unknown", `there is no run ${run} in ${directory}`, { hint: "skillflow runs list" });
}
