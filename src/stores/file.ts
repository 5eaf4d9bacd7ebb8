import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { messageOf, SkillflowError } from "../core/errors.ts";
import type { RunEvent, RunRecord } from "../core/event.ts";
import type { Journal, ProcessMark, Store, StoredRun } from "../core/ports.ts";
import { faultOfRecording, faultOfShape } from "../core/record/recording.ts";
import { isTelling, type Skimmed, type SkimmedRun, skimEvent } from "../core/skim.ts";
import { isObject } from "../core/values.ts";
import { makeFolder, openPlainNow, realFolder } from "../files.ts";
import { fileBlobs } from "./blobs.ts";
import { createJournal, newestFirst } from "./journal.ts";

interface FileStoreOptions {
  readonly directory: string;
  /** What the directory must lie in, links followed, if it does by its path; undefined where it may lead anywhere. */
  readonly root?: string | undefined;
  readonly self: ProcessMark;
  /** Whether a process of this host still lives. */
  readonly isAlive: (mark: ProcessMark) => boolean;
  readonly now?: () => Date;
}

/**
 * One append-only JSONL file per run: the run's record on the first line, then one event per line, each record written
 * before it counts, and on disk (fdatasync) where it holds what is never done again. The torn tail of a crash is dropped;
 * `<run>.lock` names the process that drives the run.
 */
export function fileStore(options: FileStoreOptions): Store {
  const { directory, root, now = () => new Date() } = options;
  const pathOf = (run: string) => join(checkDirectory(directory, root), `${checkRunId(run)}.jsonl`);
  const lockOf = (run: string) => lock(join(directory, `${run}.lock`), run, options);

  const drive = (run: string, file: number, stored: Stored, unlock: () => void): Journal => {
    let length = stored.length;
    return createJournal({
      run,
      events: stored.events,
      epoch: (stored.events.at(-1)?.epoch ?? -1) + 1,
      now,
      append(events, outlivesMachine) {
        const text = events.map((event) => `${JSON.stringify(event)}\n`).join("");
        length = appendWhole(file, length, text, outlivesMachine);
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
      prepareDirectory(directory, root);
      refuseExisting(path, record.run);
      const unlock = lockOf(record.run);
      try {
        refuseExisting(path, record.run);
        const { file, length } = createFile(path, `${JSON.stringify(record)}\n`);
        return drive(record.run, file, { record, events: [], length }, unlock);
      } catch (error) {
        unlock();
        throw error;
      }
    },
    async open(run) {
      const path = pathOf(run);
      if (!existsSync(path)) throw unknownRun(run, directory);
      const unlock = lockOf(run);
      try {
        const { file, stored } = openFile(path, run);
        return { ...stored, journal: drive(run, file, stored, unlock) };
      } catch (error) {
        unlock();
        throw error;
      }
    },
    async read(run) {
      const path = pathOf(run);
      if (!existsSync(path)) throw unknownRun(run, directory);
      return reading(path, (file) => parseRun(readBytes(file, path), path, run));
    },
    async skim(run) {
      const path = pathOf(run);
      if (!existsSync(path)) throw unknownRun(run, directory);
      return reading(path, (file) => skimBytes(readBytes(file, path), path, run));
    },
    async list() {
      if (!existsSync(checkDirectory(directory, root))) return [];
      const files = readDirectory(directory).filter((name) => name.endsWith(".jsonl"));
      const names = files.map((name) => name.slice(0, -".jsonl".length)).filter((name) => RUN_ID.test(name));
      const runs = names.map((run) => ({ run, at: beginningOf(join(directory, `${run}.jsonl`))?.at ?? "" }));
      return newestFirst(runs);
    },
    blobs: (run) => fileBlobs(blobsOfRun(directory, checkRunId(run))),
    async remove(run) {
      const path = pathOf(run);
      if (!existsSync(path)) throw unknownRun(run, directory);
      const unlock = lockOf(run);
      try {
        if (!beginningOf(path)) throw noRun(path, run);
        // The run goes last: what a crash leaves behind can be removed again.
        rmSync(blobsOfRun(directory, run), { recursive: true, force: true });
        rmSync(path, { force: true });
      } catch (error) {
        throw storeError(error, `run ${run} cannot be removed`);
      } finally {
        unlock();
      }
    },
  };
}

/** The folder of a run's blobs, beside its file. */
export function blobsOfRun(directory: string, run: string): string {
  return join(directory, `${run}.blobs`);
}

/** A folder of the project that is a link to elsewhere would have us write, and remove, there. */
function checkDirectory(directory: string, root: string | undefined): string {
  try {
    realFolder(directory, root);
    return directory;
  } catch (error) {
    throw new SkillflowError("store.failed", `the run directory ${messageOf(error)}`, {
      hint: "name the place itself with --store",
      cause: error,
    });
  }
}

function readDirectory(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    throw storeError(error, `the run directory ${directory} cannot be read`);
  }
}

/** A recording outside a store: a run's file that was copied somewhere. */
export function readRecording(path: string): StoredRun {
  if (!existsSync(path)) throw new SkillflowError("recording.invalid", `there is no recording ${path}`);
  return parseRun(readBytes(path, path), path, path);
}

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export function checkRunId(run: string): string {
  if (RUN_ID.test(run)) return run;
  throw new SkillflowError("usage.invalid", `"${run}" is no run id`, {
    hint: "use up to 128 letters, digits, dots, hyphens and underscores, beginning with a letter or digit",
  });
}

interface Stored extends StoredRun {
  /** Bytes that hold whole records. */
  readonly length: number;
}

function parseRun(bytes: Buffer, path: string, run: string): Stored {
  const record = readLine<RunRecord>(bytes, 0);
  if (record?.value.schema !== "skillflow.run/1") throw noRun(path, run);
  const events: RunEvent[] = [];
  let whole = { events: 0, length: record.end };
  for (let start = record.end; start < bytes.length; ) {
    const line = readLine<RunEvent>(bytes, start);
    if (!line) {
      if (bytes.indexOf(10, start) === -1 || bytes.indexOf(10, start) === bytes.length - 1) break;
      throw damaged(path, run, events.length + 2);
    }
    events.push(line.value);
    start = line.end;
    if (!line.value.more) whole = { events: events.length, length: line.end };
  }
  const kept = events.slice(0, whole.events);
  const fault = faultOfRecording(record.value, kept);
  if (fault) throw damaged(path, run, fault.line, fault.message);
  return { record: record.value, events: kept, length: whole.length };
}

/** Parses the record and what tells, and of every other line its head alone. */
function skimBytes(bytes: Buffer, path: string, run: string): SkimmedRun {
  const record = readLine<RunRecord>(bytes, 0);
  if (record?.value.schema !== "skillflow.run/1") throw noRun(path, run);
  const misshapen = faultOfShape("record", record.value);
  if (misshapen !== undefined) throw damaged(path, run, 1, misshapen);
  const events: Skimmed[] = [];
  for (let start = record.end; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start);
    if (newline === -1) break;
    const [, at = "", epoch, type = ""] =
      HEAD.exec(bytes.toString("latin1", start, Math.min(newline, start + 400))) ?? [];
    const whole = type === "" || isTelling(type) ? readLine<RunEvent>(bytes, start)?.value : undefined;
    start = newline + 1;
    const fault = whole && faultOfShape("event", whole);
    if (fault !== undefined) throw damaged(path, run, events.length + 2, fault);
    if (whole) events.push(skimEvent(whole));
    else if (type !== "") events.push({ type: "other", at, epoch: Number(epoch) });
    else if (start < bytes.length) throw damaged(path, run, events.length + 2);
  }
  return { record: record.value, events };
}

function damaged(path: string, run: string, line: number, how?: string): SkillflowError {
  const what = `the recording of ${run} is damaged in line ${line}${how === undefined ? "" : `: ${how}`}`;
  return new SkillflowError("recording.invalid", what, {
    hint: `${path} was changed by something else than skillflow; without that line and all that follow it can be resumed`,
  });
}

/** How the journal begins a line. */
const HEAD = /^\{"seq":\d+,"at":"([^"]+)","epoch":(\d+),"key":"[^"\\]*",(?:"more":true,)?"type":"([^"]+)"/;

/** The JSON of one whole line; undefined when it is torn. */
function readLine<Value>(bytes: Buffer, start: number): { readonly value: Value; readonly end: number } | undefined {
  const newline = bytes.indexOf(10, start);
  if (newline === -1) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8", start, newline));
    return isObject(value) ? { value: value as Value, end: newline + 1 } : undefined;
  } catch {
    return undefined;
  }
}

function readBytes(file: number | string, path: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw storeError(error, `${path} cannot be read`);
  }
}

/** The record that a file begins with; undefined where it begins with anything else, or is no file of its own. */
function beginningOf(path: string): RunRecord | undefined {
  try {
    const record = reading(path, (file) => readLine<RunRecord>(firstLine(file), 0)?.value);
    return record?.schema === "skillflow.run/1" ? record : undefined;
  } catch (error) {
    if (error instanceof SkillflowError) return undefined;
    throw error;
  }
}

const CHUNK = 64 * 1024;

/** With its end; the whole file where it has but one line. */
function firstLine(file: number): Buffer {
  const chunks: Buffer[] = [];
  for (let isOver = false; !isOver; ) {
    const chunk = Buffer.alloc(CHUNK);
    const read = readSync(file, chunk, 0, CHUNK, null);
    chunks.push(chunk.subarray(0, read));
    isOver = read === 0 || chunk.includes(10);
  }
  return Buffer.concat(chunks);
}

function reading<Value>(path: string, work: (file: number) => Value): Value {
  const file = openStored(path, "r");
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

function openStored(path: string, access: "r" | "r+"): number {
  try {
    return openPlainNow(path, access);
  } catch (error) {
    throw storeError(error, `${path} cannot be ${access === "r" ? "read" : "written"}`);
  }
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
  if (!existsSync(path)) return;
  throw new SkillflowError("run.exists", `there is a run ${run} already`, {
    hint: `resume it (skillflow resume ${run}) or choose another --run-id`,
  });
}

/** The file appears with its first line whole, so that there never is a run without its record. */
function createFile(path: string, line: string): { readonly file: number; readonly length: number } {
  const draft = `${path}.${randomUUID()}`;
  let file: number | undefined;
  try {
    file = openSync(draft, "wx", 0o600);
    const length = appendWhole(file, 0, line, true);
    renameSync(draft, path);
    syncDirectory(dirname(path));
    return { file, length };
  } catch (error) {
    if (file !== undefined) closeSync(file);
    rmSync(draft, { force: true });
    throw storeError(error, `${path} cannot be written`);
  }
}

/** Opens a run's file to go on after its whole records. */
function openFile(path: string, run: string): { readonly file: number; readonly stored: Stored } {
  const file = openStored(path, "r+");
  try {
    const stored = parseRun(readBytes(file, path), path, run);
    ftruncateSync(file, stored.length);
    return { file, stored };
  } catch (error) {
    closeSync(file);
    throw storeError(error, `${path} cannot be written`);
  }
}

/** Writes at the end, and where asked waits for the disk; after a failure the file is as before. Gives the new length. */
function appendWhole(file: number, length: number, text: string, isSynced: boolean): number {
  const bytes = Buffer.from(text, "utf8");
  try {
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(file, bytes, written, bytes.length - written, length + written);
    }
    if (isSynced) fdatasyncSync(file);
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
  if (error instanceof SkillflowError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG") {
    return new SkillflowError("store.full", `${what}: the disk is full`, {
      hint: "free some space, then resume the run",
      cause: error,
    });
  }
  return new SkillflowError("store.failed", `${what}: ${message}`, { cause: error });
}

function noRun(path: string, run: string): SkillflowError {
  const message = `${run} is no recorded run: its first line is not a run's record`;
  return new SkillflowError("recording.invalid", message, { hint: `see ${path}` });
}

function unknownRun(run: string, directory: string): SkillflowError {
  return new SkillflowError("run.unknown", `there is no run ${run} in ${directory}`, { hint: "skillflow runs list" });
}

/**
 * Takes a lock, from a dead process of this host if need be; gives what releases it. A lock is a folder that holds one
 * empty file, named for its owner: it appears whole, and from one owner to the next it goes by a single rename, which
 * succeeds for one of all that try.
 */
function lock(path: string, run: string, { self, isAlive }: FileStoreOptions): () => void {
  const mine = nameOf(self);
  for (let tries = 0; tries < 3; tries++) {
    if (moveIn(path, mine)) return () => release(path, mine);
    const owner = readOwner(path);
    if (!owner) continue;
    if (owner.mark.host !== self.host || isAlive(owner.mark)) throw locked(run, path, owner.mark);
    if (takeOver(path, owner.name, mine)) return () => release(path, mine);
  }
  throw locked(run, path, readOwner(path)?.mark);
}

function nameOf({ pid, host, started }: ProcessMark): string {
  return [String(pid), host.slice(0, 64), started, randomUUID()].map(encodeURIComponent).join("@");
}

function parseName(name: string): ProcessMark | undefined {
  const [pid = "", host, started] = name.split("@").map(decodeURIComponent);
  return /^\d+$/.test(pid) && host && started !== undefined ? { pid: Number(pid), host, started } : undefined;
}

/** A folder takes the place of none or of an empty one, never of one that is owned. */
function moveIn(path: string, mine: string): boolean {
  const draft = `${path}.${randomUUID()}`;
  try {
    mkdirSync(draft, { mode: 0o700 });
    writeFileSync(join(draft, mine), "", { mode: 0o600 });
    renameSync(draft, path);
    return true;
  } catch (error) {
    rmSync(draft, { force: true, recursive: true });
    if (hasCode(error, "ENOTEMPTY", "EEXIST")) return false;
    throw storeError(error, `the lock ${path} cannot be taken`);
  }
}

function readOwner(path: string): { readonly name: string; readonly mark: ProcessMark } | undefined {
  const [name] = existsSync(path) ? namesIn(path) : [];
  if (name === undefined) return undefined;
  const mark = parseName(name);
  if (mark) return { name, mark };
  throw new SkillflowError("store.locked", `the lock ${path} cannot be read`, { hint: "if no run uses it, delete it" });
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw storeError(error, `the lock ${path} cannot be read`);
  }
}

function takeOver(path: string, stale: string, mine: string): boolean {
  try {
    renameSync(join(path, stale), join(path, mine));
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false;
    throw storeError(error, `the stale lock ${path} cannot be taken over`);
  }
}

/** Between its two steps another process may move in: then the folder is not ours to remove. */
function release(path: string, mine: string): void {
  rmSync(join(path, mine), { force: true });
  try {
    rmdirSync(path);
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ENOTEMPTY", "EEXIST")) throw storeError(error, `the lock ${path} cannot be removed`);
  }
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? "");
}

function locked(run: string, path: string, owner: ProcessMark | undefined): SkillflowError {
  const who = owner ? `process ${owner.pid} on ${owner.host}` : "another process";
  return new SkillflowError("store.locked", `run ${run} is being driven by ${who}`, {
    hint: `wait for it to end; if that machine is gone, delete ${path}`,
  });
}
