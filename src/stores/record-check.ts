import { isObject } from "../core/base/values.ts";
import type { RunEvent } from "../core/engine/event/event.ts";
import { isRunLine, type RunRecord } from "../core/engine/event/record.ts";
import type { RecordCheck, RecordProblem } from "../core/engine/ports.ts";
import { faultOfRecording } from "../core/engine/record/recording.ts";
import { digestOf, sealFor, sealOf } from "./chain.ts";

export interface CheckedRecord extends RecordCheck {
  /** True if the record has a chain and the chain is broken. */
  readonly isAltered: boolean;
  /** Number of bytes that hold complete records. */
  readonly length: number;
}

/** Reads and verifies the lines of a run's record. Ignores the torn tail of a crash. */
export function checkRecord(bytes: Buffer): CheckedRecord {
  const [first, ...rest] = readLines(bytes);
  const whole = rest.slice(0, rest.findLastIndex(({ value }) => value !== undefined && !value.more) + 1);
  const last = whole.at(-1) ?? first;
  const record = isRunLine(first?.value) ? first.value : undefined;
  const isChained = rest.some(({ seal, value }) => seal !== undefined || value?.record !== undefined);
  const altered = isChained ? checkChain(bytes, first, rest) : checkJson(rest);
  const events = whole.map(({ value }): unknown => value).filter(isEventLine);
  return {
    run: record && { record, events },
    records: last?.record ?? 0,
    digest: last === first ? digestOf(first?.bytes ?? "") : last?.seal,
    problems: altered.length > 0 || !record ? altered : checkShape(record, events, whole),
    isAltered: isChained && altered.length > 0,
    length: last?.end ?? 0,
  };
}

/** Accepts every object. The fields of an event were checked when it was written, and are again by `checkShape`. */
export function isEventLine(value: unknown): value is RunEvent {
  return isObject(value);
}

interface Line {
  /** Number of the line, from 1. */
  readonly number: number;
  /** Line without its line break. */
  readonly bytes: Buffer;
  readonly start: number;
  /** Offset of the next line. */
  readonly end: number;
  /** Undefined if the line is not a JSON object. */
  readonly value: Readonly<Record<string, unknown>> | undefined;
  readonly seal: string | undefined;
  /** Number of the record that the line belongs to. The run's own line is record 1. */
  readonly record: number;
}

function readLines(bytes: Buffer): Line[] {
  const lines: Line[] = [];
  for (let start = 0, record = 1; ; ) {
    const newline = bytes.indexOf(10, start);
    if (newline === -1) return lines;
    const line = bytes.subarray(start, newline);
    const value = parseLine(line);
    // A power failure can leave a last line that has its line break but zeros before it.
    if (!value && newline === bytes.length - 1 && line.includes(0)) return lines;
    const end = newline + 1;
    lines.push({ number: lines.length + 1, bytes: line, start, end, value, seal: sealOf(line), record });
    start = end;
    if (!value?.more) record += 1;
  }
}

function parseLine(line: Buffer): Line["value"] {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a problem for every record that does not follow from the previous one. */
function checkChain(bytes: Buffer, first: Line | undefined, events: readonly Line[]): RecordProblem[] {
  const parts = partsOf(events);
  const sealOfPart = (part: readonly Line[], before: string) =>
    sealFor(bytes.subarray(part[0]?.start, (part.at(-1)?.end ?? 1) - 1), before);
  const begins = beginsChain(parts[0] ?? [], sealOfPart);
  const digest = digestOf(first?.bytes ?? "");
  const isBegun = (begins === undefined || begins === digest) && isRunLine(first?.value);
  const problems = isBegun ? [] : [{ record: 1, line: 1, what: CHANGED }];
  let before = begins ?? digest;
  for (const part of parts) {
    const { seal } = part.at(-1) ?? {};
    if (seal === undefined || seal !== sealOfPart(part, before)) problems.push(...describeBreak(part));
    before = seal ?? before;
  }
  return problems;
}

/** Groups the lines that one seal covers. A last group without a seal is what a crash left of a record. */
function partsOf(events: readonly Line[]): Line[][] {
  const parts: Line[][] = [];
  let part: Line[] = [];
  for (const line of events) {
    part.push(line);
    if (line.seal === undefined && line.value?.more === true) continue;
    parts.push(part);
    part = [];
  }
  return part.length === 0 ? parts : [...parts, part];
}

/** Returns the digest with which the first event starts the chain, or undefined if its record's own seal is wrong. */
function beginsChain(
  part: readonly Line[],
  sealOfPart: (part: readonly Line[], before: string) => string,
): string | undefined {
  const named = part[0]?.value?.record;
  if (typeof named !== "string") return undefined;
  return part.at(-1)?.seal === sealOfPart(part, named) ? named : undefined;
}

const CHANGED = "it was changed";
const PARTLY_CHANGED = "a line of its record was changed";

/** Names the line of a record that is not an event or is misplaced, or else the record's first line. */
function describeBreak(part: readonly Line[]): RecordProblem[] {
  const misplaced = part.find(({ value, number }) => value?.seq !== number - 2);
  const { value, record = 1, number: line = 1 } = misplaced ?? part[0] ?? {};
  if (value === undefined) return [{ record, line, what: `${CHANGED}: it is no longer an event` }];
  if (misplaced) return [{ record, line, what: "it is out of order: lines were added, moved or removed" }];
  const last = part.at(-1);
  if (last?.seal !== undefined) return [{ record, line, what: part.length === 1 ? CHANGED : PARTLY_CHANGED }];
  return last?.value?.more === true ? [] : [{ record, line, what: `${CHANGED}: its seal is missing` }];
}

function checkJson(events: readonly Line[]): RecordProblem[] {
  return events.flatMap(({ value, record }, index) =>
    value === undefined ? [{ record, line: index + 2, what: "it is not an event" }] : [],
  );
}

function checkShape(record: RunRecord, events: readonly RunEvent[], lines: readonly Line[]): RecordProblem[] {
  const fault = faultOfRecording(record, events);
  return fault ? [{ record: lines[fault.line - 2]?.record ?? 1, line: fault.line, what: fault.message }] : [];
}
