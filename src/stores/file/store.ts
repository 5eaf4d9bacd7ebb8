import { closeSync, existsSync, fdatasync, lstatSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { SkillflowError } from "../../core/base/errors.ts";
import { RUN_ID } from "../../core/engine/event/record.ts";
import type { Intake, Journal, Store } from "../../core/engine/ports.ts";
import { digestOf } from "../../files/files.ts";
import { fileBlobs } from "../blobs.ts";
import { checkDirectory, makeDirectory } from "../directory.ts";
import { createJournal, newestFirst } from "../journal.ts";
import { type LockOptions, lock } from "../lock.ts";
import { orStoreError, storeError } from "../store-error.ts";
import { fileQueue, markOf } from "./queue.ts";
import { appendWhole, createFile, cutBack, openFile } from "./run-file.ts";
import {
  beginningOf,
  noRun,
  parseRun,
  readBriefly,
  readBytes,
  reading,
  type Stored,
  storedOf,
  verifyBytes,
} from "./run-lines.ts";
import { skimRun, startOf } from "./run-skim.ts";
import { SUMMARIES } from "./summaries.ts";

interface FileStoreOptions extends LockOptions {
  readonly directory: string;
  /** Folder that must contain the directory after links are resolved. Undefined if any place is allowed. */
  readonly root?: string | undefined;
  readonly now?: () => Date;
}

/**
 * Creates a store with one append-only JSONL file per run: the run's record, then one event per line. Each record is
 * written before it counts, and reaches the disk in the background. The journal waits for the disk before anything that
 * cannot be undone. The torn tail of a crash is dropped. `<run>.lock` names the process that drives the run. `intake`
 * is the queue of runs that are recorded first and driven later: `create` may start one of them that has no events.
 */
export function fileStore(options: FileStoreOptions): Store & { readonly intake: Intake } {
  const { directory, root, now } = options;
  const place = { kind: "run", directory, root } as const;
  const taken = new Set<string>();
  const checked = oncePerStretch(() => checkDirectory(place));
  const pathOf = (run: string) => join(checked(), `${checkRunId(run)}.jsonl`);
  const pathOfKnown = (run: string) => {
    const path = pathOf(run);
    if (!existsSync(path)) throw unknownRun(run, directory);
    return path;
  };
  const readAt = <Value>(
    run: string,
    work: (bytes: Buffer, path: string, run: string) => Value,
    read: (file: number, path: string) => Buffer = readBytes,
  ): Value => {
    const path = pathOfKnown(run);
    return reading(path, (file) => work(read(file, path), path, run));
  };
  const locked = <Value>(run: string, work: (unlock: () => void) => Value) => withLock(options, run, work);
  const store: Store = {
    async create(record) {
      const { run } = record;
      const path = pathOf(run);
      makeDirectory(place, true);
      const refuse = () => {
        if (existsSync(path) && !(taken.has(run) && isUnbegun(path, run))) throw existingRun(run);
      };
      refuse();
      return locked(run, (unlock) => {
        refuse();
        const line = JSON.stringify(record);
        const { file, length } = createFile(path, `${line}\n`);
        return drive({ file, stored: { record, events: [], length, digest: digestOf(line) }, now, unlock });
      });
    },
    async open(run) {
      const path = pathOfKnown(run);
      return locked(run, (unlock) => {
        const { file, stored } = openFile(path, run);
        return { ...storedOf(stored), journal: drive({ file, stored, now, unlock }) };
      });
    },
    read: async (run) => storedOf(readAt(run, parseRun)),
    verify: async (run) => readAt(run, (bytes) => verifyBytes(bytes, run)),
    skim: async (run) => readAt(run, skimRun, readBriefly),
    async list() {
      return existsSync(checked()) ? newestFirst(runsIn(directory)) : [];
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
  const intake = fileQueue({
    directory,
    taken,
    prepare: () => {
      checked();
      makeDirectory(place, true);
    },
    claim: () =>
      lock(join(directory, ".queue.lock"), `the queue of ${directory} is being driven`, {
        ...options,
        ignoresHosts: true,
      }),
    isRecorded: (run) => RUN_ID.test(run) && existsSync(pathOf(run)),
    create: async (record) => (await store.create(record)).close(),
  });
  return { ...store, intake };
}

/** Takes the run's lock, which `work` releases unless it throws. */
function withLock<Value>(options: FileStoreOptions, run: string, work: (unlock: () => void) => Value): Value {
  const unlock = lock(filesOfRun(options.directory, run).lock, `run ${run} is being driven`, options);
  try {
    return work(unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

interface Driven {
  readonly file: number;
  readonly stored: Stored;
  readonly now: (() => Date) | undefined;
  readonly unlock: () => void;
}

function drive({ file, stored, now, unlock }: Driven): Journal {
  let { length } = stored;
  const syncing = openSyncing(file);
  return createJournal({
    record: stored.record,
    events: stored.events,
    epoch: (stored.events.at(-1)?.epoch ?? -1) + 1,
    digest: stored.digest,
    now,
    append({ lines, durability }) {
      syncing.check();
      const before = length;
      length = appendWhole(file, before, lines());
      if (durability === "start") syncing.begin();
      if (durability !== "wait") return;
      return syncing.settle().catch((error: unknown) => {
        cutBack(file, before);
        throw error;
      });
    },
    async close() {
      try {
        await syncing.settle();
      } finally {
        closeSync(file);
        unlock();
      }
    },
  });
}

/** Brings what was written to a file to the disk, one sync at a time. Each sync covers everything written before it. */
function openSyncing(file: number) {
  let running: Promise<void> | undefined;
  let isWanted = false;
  let failure: Error | undefined;
  const sync = async () => {
    while (isWanted && failure === undefined) {
      isWanted = false;
      await new Promise<void>((resolve) => {
        fdatasync(file, (error) => {
          failure ??= error ?? undefined;
          resolve();
        });
      });
    }
    running = undefined;
  };
  const begin = () => {
    isWanted = true;
    running ??= sync();
  };
  /** Throws if a sync failed: what it should have covered may be lost, so nothing may follow it. */
  const check = () => {
    if (failure !== undefined) throw storeError(failure, "the run cannot be recorded");
  };
  return {
    begin,
    check,
    /** Resolves once everything written so far is on the disk. Throws if this sync or any earlier one failed. */
    async settle(): Promise<void> {
      check();
      begin();
      await running;
      check();
    },
  };
}

function runsIn(directory: string): { readonly run: string; readonly at: string }[] {
  const files = readDirectory(directory).filter((name) => name.endsWith(".jsonl"));
  const names = files.map((name) => name.slice(0, -".jsonl".length)).filter((name) => RUN_ID.test(name));
  return names.map((run) => ({ run, at: startOf(join(directory, `${run}.jsonl`), run) }));
}

/** Removes the run's file last, so that removal can be repeated after a crash. */
function removeRun(path: string, directory: string, run: string): void {
  orStoreError(`run ${run} cannot be removed`, () => {
    if (!beginningOf(path)) throw noRun(path, run);
    rmSync(join(directory, SUMMARIES), { force: true });
    rmSync(blobsOfRun(directory, run), { recursive: true, force: true });
    rmSync(copyOfRun(directory, run), { recursive: true, force: true });
    removePlan(planOfRun(directory, run));
    rmSync(markOf(directory, run), { force: true });
    rmSync(path, { force: true });
  });
}

export function filesOfRun(directory: string, run: string): { readonly path: string; readonly lock: string } {
  return { path: join(directory, `${checkRunId(run)}.jsonl`), lock: join(directory, `${run}.lock`) };
}

export function blobsOfRun(directory: string, run: string): string {
  return join(directory, `${run}.blobs`);
}

export function copyOfRun(directory: string, run: string): string {
  return join(directory, `${run}.workspace`);
}

export function planOfRun(directory: string, run: string): string {
  return join(directory, run, "plan.json");
}

/** Removes the plan and its folder, unless the folder has other files: `r1.blobs` is also a valid run id. */
function removePlan(path: string): void {
  if (!lstatSync(dirname(path), { throwIfNoEntry: false })?.isDirectory()) return;
  rmSync(path, { force: true });
  if (readdirSync(dirname(path)).length === 0) rmdirSync(dirname(path));
}

/** Does the work once for all calls that nothing interrupts: a list of runs makes thousands of them. */
function oncePerStretch<Value>(work: () => Value): () => Value {
  let known: { readonly value: Value } | undefined;
  return () => {
    if (known === undefined) {
      known = { value: work() };
      queueMicrotask(() => {
        known = undefined;
      });
    }
    return known.value;
  };
}

function readDirectory(directory: string): string[] {
  const what = `the run directory ${directory} cannot be read`;
  const entries = orStoreError(what, () => readdirSync(directory, { withFileTypes: true }));
  // Skip folders: a run's id can make its plan folder look like another run's file.
  return entries.flatMap((entry) => (entry.isDirectory() ? [] : entry.name));
}

export function checkRunId(run: string): string {
  if (RUN_ID.test(run)) return run;
  throw new SkillflowError("usage.invalid", `"${run}" is not a run id`, {
    hint: "use up to 128 letters, digits, dots, hyphens and underscores, beginning with a letter or digit",
  });
}

/** Checks for a run without events. Replacing a run that was only recorded loses nothing. */
function isUnbegun(path: string, run: string): boolean {
  return reading(path, (file) => parseRun(readBytes(file, path), path, run)).events.length === 0;
}

export function existingRun(run: string): SkillflowError {
  return new SkillflowError("run.exists", `there is a run ${run} already`, {
    hint: [`resume it (skillflow resume ${run}) or choose another `, { option: "run-id" }],
  });
}

function unknownRun(run: string, directory: string): SkillflowError {
  return new SkillflowError("run.unknown", `there is no run ${run} in ${directory}`, { hint: "skillflow runs list" });
}
