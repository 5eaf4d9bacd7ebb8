import { closeSync, existsSync, fstatSync, readFileSync, readSync } from "node:fs";
import { attempt, SkillflowError } from "../../core/base/errors.ts";
import { isObject, lazy, parseJson } from "../../core/base/values.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import { isRunLine, type RunRecord } from "../../core/engine/event/record.ts";
import type { RecordProblem, StoredRun } from "../../core/engine/ports.ts";
import { openPlainNow, readRegular } from "../../files/files.ts";
import { type CheckedRecord, checkRecord, isEventLine } from "../record-check.ts";
import { orStoreError } from "../store-error.ts";

/** Reads a recording outside a store, such as a copied run file. */
export function readRecording(path: string): StoredRun {
  if (!existsSync(path)) throw new SkillflowError("recording.invalid", `there is no recording ${path}`);
  return soundRun(verifyRecording(path), path, path);
}

/** Verifies the chain of a recording outside a store. Throws if nothing in the file shows that it is a run's record. */
export function verifyRecording(path: string): CheckedRecord {
  const checked = checkRecord(readBytes(path, path));
  if (!checked.run && !checked.isAltered) throw noRun(path, path);
  return checked;
}

export interface Stored extends StoredRun {
  readonly length: number;
  /** Last digest of the chain. Undefined if the record has no chain. */
  readonly digest: string | undefined;
}

export function storedOf({ record, events }: Stored): StoredRun {
  return { record, events };
}

/** Parses the record that a store has for a run. Throws if it was altered or is damaged. */
export function parseRun(bytes: Buffer, path: string, run: string): Stored {
  return soundRun(verifyBytes(bytes, run), path, run);
}

function soundRun(checked: CheckedRecord, path: string, run: string): Stored {
  const { run: stored, problems, isAltered, length, digest } = checked;
  const [problem] = problems;
  if (problem && isAltered) throw altered(run, problem);
  if (!stored) throw noRun(path, run);
  if (problem) throw damaged(path, run, problem);
  return { ...stored, length, digest };
}

/** Checks the record that a store has for a run. The record of another run counts as altered. */
export function verifyBytes(bytes: Buffer, run: string): CheckedRecord {
  const checked = checkRecord(bytes);
  const found = checked.run?.record.run;
  if (found === run || checked.problems.some(({ line }) => line === 1)) return checked;
  const problems = [otherRun(found), ...checked.problems];
  return { ...checked, run: undefined, problems, isAltered: checked.isAltered || found !== undefined };
}

/** Describes a first line that is not the record of the run that is read. */
export function otherRun(run: string | undefined): RecordProblem {
  const what = run === undefined ? "it is not a run's record" : `it is the record of run ${run}`;
  return { record: 1, line: 1, what };
}

export function altered(run: string, { record, line, what }: RecordProblem): SkillflowError {
  return new SkillflowError("run.altered", `run ${run} was altered: line ${line} (record ${record}): ${what}`, {
    hint: `run skillflow runs verify ${run} for details; an altered record is never used`,
  });
}

export function damaged(
  path: string,
  run: string,
  at: { readonly line: number; readonly what?: string },
): SkillflowError {
  const { line, what: how } = at;
  const what = `the recording of ${run} is damaged in line ${line}${how === undefined ? "" : `: ${how}`}`;
  return new SkillflowError("recording.invalid", what, {
    hint: `remove that line and all that follow from ${path} to resume the run; another program changed the file`,
  });
}

/** Parses one complete line as JSON. Returns undefined if the line is torn or not an object. */
export function readLine<Value>(
  bytes: Buffer,
  start: number,
): { readonly value: Value; readonly end: number } | undefined {
  const newline = bytes.indexOf(10, start);
  if (newline === -1) return undefined;
  const value: unknown = attempt(() => JSON.parse(bytes.toString("utf8", start, newline)));
  return isObject(value) ? { value: value as Value, end: newline + 1 } : undefined;
}

export function readBytes(file: number | string, path: string): Buffer {
  return orStoreError(`${path} cannot be read`, () => {
    return typeof file === "number" ? readFileSync(file) : readRegular(file);
  });
}

/** Like `readBytes`, into memory that the next call uses again: a list of many runs would only fill memory with them. */
export function readBriefly(file: number, path: string): Buffer {
  const bytes = shared();
  const length = orStoreError(`${path} cannot be read`, () => readSync(file, bytes, 0, SHARED_BYTES, 0));
  return length < SHARED_BYTES ? bytes.subarray(0, length) : readBytes(file, path);
}

const SHARED_BYTES = 1024 * 1024;
const shared = lazy(() => Buffer.allocUnsafeSlow(SHARED_BYTES));

/** Reads the record on a file's first line. Returns undefined for other content and for unsafe files. */
export function beginningOf(path: string): RunRecord | undefined {
  try {
    const record = reading(path, (file) => readLine<object>(firstLine(file), 0)?.value);
    return isRunLine(record) ? record : undefined;
  } catch (error) {
    if (error instanceof SkillflowError) return undefined;
    throw error;
  }
}

const CHUNK = 64 * 1024;

/** Reads up to and including the first line break. Without one, reads the whole file. */
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

export function reading<Value>(path: string, work: (file: number) => Value): Value {
  const file = openStored(path, "r");
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

export function openStored(path: string, access: "r" | "r+"): number {
  const what = `${path} cannot be ${access === "r" ? "read" : "written"}`;
  return orStoreError(what, () => openPlainNow(path, access).file);
}

export function noRun(path: string, run: string): SkillflowError {
  const message = `${run} is not a recorded run: its first line is not a run's record`;
  return new SkillflowError("recording.invalid", message, { hint: `see ${path}` });
}

/** Returns a function that reads the events added since its last call. It skips records that are not complete yet. */
export function tailRun(path: string): () => readonly RunEvent[] {
  let start = 0;
  let isFirst = true;
  return () => {
    const text = reading(path, (file) => readFrom(file, start));
    const events: RunEvent[] = [];
    let [line, whole] = [0, 0];
    let taken = 0;
    for (let end = text.indexOf(10); end !== -1; end = text.indexOf(10, line)) {
      const value = parseJson(text.toString("utf8", line, end));
      line = end + 1;
      if (isFirst) {
        isFirst = false;
        [whole, taken] = [line, events.length];
        continue;
      }
      if (!isEventLine(value)) break;
      events.push(value);
      if (value.more !== true) [whole, taken] = [line, events.length];
    }
    start += whole;
    return events.slice(0, taken);
  };
}

function readFrom(file: number, start: number): Buffer {
  const length = Math.max(0, fstatSync(file).size - start);
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, length === 0 ? 0 : readSync(file, bytes, 0, length, start));
}
