import { closeSync, existsSync, readFileSync, readSync } from "node:fs";
import { SkillflowError } from "../../core/base/errors.ts";
import { isObject } from "../../core/base/values.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { RecordCheck, RecordProblem, StoredRun } from "../../core/engine/ports.ts";
import { openPlainNow, readRegular } from "../../files/files.ts";
import { type CheckedRecord, checkRecord } from "../record-check.ts";
import { storeError } from "../store-error.ts";

/** What the lines of a run's file hold. */

/** A recording outside a store: a run's file that was copied somewhere. */
export function readRecording(path: string): StoredRun {
  if (!existsSync(path)) throw new SkillflowError("recording.invalid", `there is no recording ${path}`);
  return parseRun(readBytes(path, path), path, path);
}

/** Whether a recording outside a store is as it was written. */
export function verifyRecording(path: string): RecordCheck {
  return verifyBytes(readBytes(path, path), path, path);
}

export interface Stored extends StoredRun {
  /** Bytes that hold whole records. */
  readonly length: number;
  /** The last digest; undefined where there is no chain. */
  readonly digest: string | undefined;
}

/** Throws what keeps it from being relied upon. */
export function parseRun(bytes: Buffer, path: string, run: string): Stored {
  const { run: stored, problems, isAltered, length, digest } = verifyBytes(bytes, path, run);
  const [problem] = problems;
  if (problem && isAltered) throw altered(run, problem);
  if (problem) throw damaged(path, run, problem.line, problem.what);
  if (!stored) throw noRun(path, run);
  return { ...stored, length, digest };
}

/** Throws only where nothing says that it ever was a run's record. */
export function verifyBytes(bytes: Buffer, path: string, run: string): CheckedRecord {
  const checked = checkRecord(bytes);
  if (!checked.run && !checked.isAltered) throw noRun(path, run);
  return checked;
}

function altered(run: string, { record, line, what }: RecordProblem): SkillflowError {
  return new SkillflowError("run.altered", `run ${run} was altered: line ${line} (record ${record}): ${what}`, {
    hint: `skillflow runs verify ${run} tells all that is known; nothing is taken from such a record`,
  });
}

export function damaged(path: string, run: string, line: number, how?: string): SkillflowError {
  const what = `the recording of ${run} is damaged in line ${line}${how === undefined ? "" : `: ${how}`}`;
  return new SkillflowError("recording.invalid", what, {
    hint: `${path} was changed by something else than skillflow; without that line and all that follow it can be resumed`,
  });
}

/** The JSON of one whole line; undefined when it is torn. */
export function readLine<Value>(
  bytes: Buffer,
  start: number,
): { readonly value: Value; readonly end: number } | undefined {
  const newline = bytes.indexOf(10, start);
  if (newline === -1) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8", start, newline));
    return isObject(value) ? { value: value as Value, end: newline + 1 } : undefined;
  } catch {
    return undefined;
  }
}

export function readBytes(file: number | string, path: string): Buffer {
  try {
    return typeof file === "number" ? readFileSync(file) : readRegular(file);
  } catch (error) {
    throw storeError(error, `${path} cannot be read`);
  }
}

/** The record that a file begins with; undefined where it begins with anything else, or is no file of its own. */
export function beginningOf(path: string): RunRecord | undefined {
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

export function reading<Value>(path: string, work: (file: number) => Value): Value {
  const file = openStored(path, "r");
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

export function openStored(path: string, access: "r" | "r+"): number {
  try {
    return openPlainNow(path, access).file;
  } catch (error) {
    throw storeError(error, `${path} cannot be ${access === "r" ? "read" : "written"}`);
  }
}

export function noRun(path: string, run: string): SkillflowError {
  const message = `${run} is no recorded run: its first line is not a run's record`;
  return new SkillflowError("recording.invalid", message, { hint: `see ${path}` });
}
