import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { SkillflowError } from "../core/errors.ts";
import type { RunEvent, RunRecord } from "../core/event.ts";
import type { Journal, ProcessMark, Store, StoredRun } from "../core/ports.ts";
import { createJournal } from "./journal.ts";

export interface FileStoreOptions {
  readonly directory: string;
  readonly self: ProcessMark;
  /** Whether a process of this host still lives. */
  readonly isAlive: (mark: ProcessMark) => boolean;
  readonly now?: () => Date;
}

/**
 * One append-only JSONL file per run: the run's record on the first line, then one event per line, each record on disk
 * (fdatasync) before it counts. The torn tail of a crash is dropped; `<run>.lock` names the process that drives the run.
 */
export function fileStore(options: FileStoreOptions): Store {
  const { directory, now = () => new Date() } = options;
  const pathOf = (run: string) => join(directory, `${checkRunId(run)}.jsonl`);

  const drive = (run: string, file: number, stored: Stored, unlock: () => void): Journal => {
    let length = stored.length;
    return createJournal({
      run,
      events: stored.events,
      epoch: (stored.events.at(-1)?.epoch ?? -1) + 1,
      now,
      append(events) {
        length = appendDurably(file, length, events.map((event) => `${JSON.stringify(event)}\n`).join(""));
      },
      close() {
        closeSync(file);
        unlock();
      },
    });
  };

  return {
    async create(record) {
      const path = pathOf(record.run);
      prepareDirectory(directory);
      const unlock = lock(join(directory, `${record.run}.lock`), record.run, options);
      try {
        const file = createFile(path, record.run);
        const length = appendDurably(file, 0, `${JSON.stringify(record)}\n`);
        syncDirectory(directory);
        return drive(record.run, file, { record, events: [], length }, unlock);
      } catch (error) {
        unlock();
        throw error;
      }
    },
    async open(run) {
      const path = pathOf(run);
      if (!existsSync(path)) throw unknownRun(run, directory);
      const unlock = lock(join(directory, `${run}.lock`), run, options);
      try {
        const stored = readRun(path, run);
        const file = openSync(path, "r+");
        ftruncateSync(file, stored.length);
        return { ...stored, journal: drive(run, file, stored, unlock) };
      } catch (error) {
        unlock();
        throw error;
      }
    },
    async read(run) {
      const path = pathOf(run);
      if (!existsSync(path)) throw unknownRun(run, directory);
      return readRun(path, run);
    },
    async list() {
      if (!existsSync(directory)) return [];
      const names = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
      const dated = names.map((name) => ({ name, at: statSync(join(directory, name)).mtimeMs }));
      return dated.sort((a, b) => b.at - a.at).map(({ name }) => name.slice(0, -".jsonl".length));
    },
  };
}

/** A recording outside a store: a run's file that was copied somewhere. */
export function readRecording(path: string): StoredRun {
  if (!existsSync(path)) throw new SkillflowError("recording.invalid", `there is no recording ${path}`);
  return readRun(path, path);
}

export function checkRunId(run: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(run)) return run;
  throw new SkillflowError("usage.invalid", `"${run}" is no run id`, {
    hint: "use up to 128 letters, digits, dots, hyphens and underscores, beginning with a letter or digit",
  });
}

interface Stored extends StoredRun {
  /** Bytes that hold whole records. */
  readonly length: number;
}

function readRun(path: string, run: string): Stored {
  const bytes = readFileSync(path);
  const record = readLine<RunRecord>(bytes, 0);
  if (record?.value.schema !== "skillflow.run/1") {
    throw new SkillflowError("recording.invalid", `${run} is no recorded run: its first line is not a run's record`);
  }
  const events: RunEvent[] = [];
  let whole = { events: 0, length: record.end };
  for (let start = record.end; start < bytes.length; ) {
    const line = readLine<RunEvent>(bytes, start);
    if (!line) {
      if (bytes.indexOf(10, start) === -1 || bytes.indexOf(10, start) === bytes.length - 1) break;
      throw new SkillflowError("recording.invalid", `${run} is damaged after event ${events.length}`);
    }
    events.push(line.value);
    start = line.end;
    if (!line.value.more) whole = { events: events.length, length: line.end };
  }
  return { record: record.value, events: events.slice(0, whole.events), length: whole.length };
}

/** The JSON of one whole line; undefined when it is torn. */
function readLine<Value>(bytes: Buffer, start: number): { readonly value: Value; readonly end: number } | undefined {
  const newline = bytes.indexOf(10, start);
  if (newline === -1) return undefined;
  try {
    return { value: JSON.parse(bytes.toString("utf8", start, newline)) as Value, end: newline + 1 };
  } catch {
    return undefined;
  }
}

function prepareDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true });
    const ignore = join(directory, ".gitignore");
    if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
  } catch (error) {
    throw storeError(error, `the run directory ${directory} cannot be made`);
  }
}

function createFile(path: string, run: string): number {
  try {
    return openSync(path, "wx");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") {
      throw new SkillflowError("run.exists", `there is a run ${run} already`, {
        hint: `resume it (skillflow resume ${run}) or choose another --run-id`,
      });
    }
    throw storeError(error, `${path} cannot be written`);
  }
}

/** Writes at the end and waits for the disk; after a failure the file is as before. Gives the new length. */
function appendDurably(file: number, length: number, text: string): number {
  const bytes = Buffer.from(text, "utf8");
  try {
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(file, bytes, written, bytes.length - written, length + written);
    }
    fdatasyncSync(file);
  } catch (error) {
    if (fstatSync(file).size > length) ftruncateSync(file, length);
    throw storeError(error, "the run cannot be recorded");
  }
  return length + bytes.length;
}

function syncDirectory(directory: string): void {
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function storeError(error: unknown, what: string): SkillflowError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG") {
    return new SkillflowError("store.full", `${what}: the disk is full`, {
      hint: "free some space, then resume the run",
      cause: error,
    });
  }
  return new SkillflowError("store.failed", `${what}: ${message}`, { cause: error });
}

function unknownRun(run: string, directory: string): SkillflowError {
  return new SkillflowError("run.unknown", `there is no run ${run} in ${directory}`, { hint: "skillflow runs list" });
}

/** Takes a lock, from a dead process of this host if need be; gives what releases it. */
function lock(path: string, run: string, { self, isAlive }: FileStoreOptions): () => void {
  const mine = JSON.stringify({ ...self, token: randomUUID() });
  for (let tries = 0; tries < 3; tries++) {
    if (tryLink(path, mine)) return () => release(path, mine);
    const owner = readOwner(path);
    if (!owner) continue;
    if (owner.mark.host !== self.host || isAlive(owner.mark)) throw locked(run, path, owner.mark);
    removeStale(path, owner.text);
  }
  throw locked(run, path, readOwner(path)?.mark);
}

/** Hard links appear whole or not at all, so nobody reads a half-written lock. */
function tryLink(path: string, text: string): boolean {
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, text);
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw storeError(error, `the lock ${path} cannot be taken`);
  } finally {
    rmSync(draft, { force: true });
  }
}

function readOwner(path: string): { readonly text: string; readonly mark: ProcessMark } | undefined {
  try {
    const text = readFileSync(path, "utf8");
    return { text, mark: JSON.parse(text) as ProcessMark };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new SkillflowError("store.locked", `the lock ${path} cannot be read`, {
      hint: `if no run uses it, delete it`,
    });
  }
}

/** Another process may be faster: what was moved away is put back unless it is the stale lock that we saw. */
function removeStale(path: string, stale: string): void {
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw storeError(error, `the stale lock ${path} cannot be removed`);
  }
  if (readFileSync(aside, "utf8") !== stale) tryLink(path, readFileSync(aside, "utf8"));
  rmSync(aside, { force: true });
}

function release(path: string, mine: string): void {
  if (existsSync(path) && readFileSync(path, "utf8") === mine) rmSync(path, { force: true });
}

function locked(run: string, path: string, owner: ProcessMark | undefined): SkillflowError {
  const who = owner ? `process ${owner.pid} on ${owner.host}` : "another process";
  return new SkillflowError("store.locked", `run ${run} is being driven by ${who}`, {
    hint: `wait for it to end; if that machine is gone, delete ${path}`,
  });
}
