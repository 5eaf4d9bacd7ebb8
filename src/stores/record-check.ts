import { isObject } from "../core/base/values.ts";
import type { RunEvent } from "../core/engine/event/event.ts";
import type { RunRecord } from "../core/engine/event/record.ts";
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
  const record = recordOf(first);
  const whole = rest.slice(0, rest.findLastIndex(({ value }) => value !== undefined && !value.more) + 1);
  const last = whole.at(-1) ?? first;
  const isChained = rest.some(({ seal, value }) => seal !== undefined || value?.record !== undefined);
  const altered = isChained ? checkChain(first, rest) : checkJson(rest);
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

function recordOf(first: Line | undefined): RunRecord | undefined {
  return isRecordLine(first?.value) ? first.value : undefined;
}

function isRecordLine(value: unknown): value is RunRecord {
  return isObject(value) && value.schema === "skillflow.run/1";
}

/** Accepts every object. The fields of an event were checked when it was written, and are again by `checkShape`. */
export function isEventLine(value: unknown): value is RunEvent {
  return isObject(value);
}

interface Line {
  /** Line without its line break. */
  readonly bytes: Buffer;
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
    start = newline + 1;
    lines.push({ bytes: line, end: start, value, seal: sealOf(line), record });
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

/** Returns a problem for every line that does not follow from the previous one. */
function checkChain(first: Line | undefined, events: readonly Line[]): RecordProblem[] {
  const begins = beginsChain(events[0]);
  const isBegun = begins === undefined || begins === digestOf(first?.bytes ?? "");
  const problems = isBegun && recordOf(first) ? [] : [{ record: 1, line: 1, what: CHANGED }];
  let before = begins ?? digestOf(first?.bytes ?? "");
  for (const [index, { bytes, value, seal, record }] of events.entries()) {
    if (seal === undefined || seal !== sealFor(bytes, before)) {
      problems.push({ record, line: index + 2, what: describeBreak({ value, seal }, index) });
    }
    before = seal ?? before;
  }
  return problems;
}

/** Returns the digest with which the first event starts the chain, or undefined if that event's own seal is wrong. */
function beginsChain(event: Line | undefined): string | undefined {
  const named = event?.value?.record;
  if (!event || typeof named !== "string") return undefined;
  return event.seal === sealFor(event.bytes, named) ? named : undefined;
}

const CHANGED = "it was changed";

function describeBreak({ value, seal }: Pick<Line, "value" | "seal">, index: number): string {
  if (value === undefined) return `${CHANGED}: it is no longer an event`;
  if (value.seq !== index) return `it is out of order: lines were added, moved or removed`;
  return seal === undefined ? `${CHANGED}: its seal is missing` : CHANGED;
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
