import { attempt } from "../core/base/errors.ts";
import { isObject } from "../core/base/values.ts";
import type { RunEvent } from "../core/engine/event/event.ts";
import { isRunLine, type RunRecord } from "../core/engine/event/record.ts";
import type { RecordCheck, RecordProblem } from "../core/engine/ports.ts";
import { faultOfRecording } from "../core/engine/record/recording.ts";
import { digestOf } from "../files/files.ts";
import { sealFor, sealOf } from "./chain.ts";

export interface CheckedRecord extends RecordCheck {
  /** True if the record has a chain and the chain is broken. */
  readonly isAltered: boolean;
  readonly length: number;
}

/** Reads and verifies the lines of a run's record. Ignores the torn tail of a crash. */
export function checkRecord(bytes: Buffer): CheckedRecord {
  const [first, ...rest] = readLines(bytes);
  const whole = rest.slice(0, rest.findLastIndex(({ value }) => value !== undefined && !value.more) + 1);
  const last = whole.at(-1) ?? first;
  const record = isRunLine(first?.value) ? first.value : undefined;
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

/** Accepts every object. The fields of an event were checked when it was written, and are again by `checkShape`. */
export function isEventLine(value: unknown): value is RunEvent {
  return isObject(value);
}

interface Line {
  readonly number: number;
  readonly bytes: Buffer;
  /** Lines that its seal covers: those of a record, or in format 1 the line itself. */
  readonly sealed: Buffer;
  readonly sealedFrom: number;
  readonly end: number;
  /** Undefined if the line is not a JSON object. */
  readonly value: Readonly<Record<string, unknown>> | undefined;
  readonly seal: string | undefined;
  /** Number of the record that the line belongs to. The run's own line is record 1. */
  readonly record: number;
}

function readLines(bytes: Buffer): Line[] {
  const lines: Line[] = [];
  let open = { start: 0, sealedFrom: 1 };
  for (let start = 0, record = 1; ; ) {
    const newline = bytes.indexOf(10, start);
    if (newline === -1) return lines;
    const line = bytes.subarray(start, newline);
    const value = parseLine(line);
    // A power failure can leave a last line that has its line break but zeros before it.
    if (!value && newline === bytes.length - 1 && line.includes(0)) return lines;
    start = newline + 1;
    const seal = sealOf(line);
    const number = lines.push({
      ...{ number: lines.length + 1, bytes: line, end: start, value, seal, record },
      ...{ sealed: bytes.subarray(open.start, newline), sealedFrom: open.sealedFrom },
    });
    if (!isOpen({ seal, value })) open = { start, sealedFrom: number + 1 };
    if (!value?.more) record += 1;
  }
}

function parseLine(line: Buffer): Line["value"] {
  const value: unknown = attempt(() => JSON.parse(line.toString("utf8")));
  return isObject(value) ? value : undefined;
}

/** Returns a problem for every record that does not follow from the previous one. */
function checkChain(first: Line | undefined, events: readonly Line[]): RecordProblem[] {
  const begins = beginsChain(events);
  const digest = digestOf(first?.bytes ?? "");
  const isBegun = (begins === undefined || begins === digest) && isRunLine(first?.value);
  const problems = isBegun ? [] : [{ record: 1, line: 1, what: CHANGED }];
  let before = begins ?? digest;
  for (const line of events) {
    const { seal, value, number } = line;
    const isHeld = isOpen(line)
      ? problems.length > 0 || value?.seq === number - 2
      : seal !== undefined && seal === sealFor(line.sealed, before);
    if (!isHeld) problems.push(describeBreak(line));
    before = seal ?? before;
  }
  return problems;
}

/** Checks for a line whose record continues, and is sealed by a later line. */
function isOpen({ seal, value }: Pick<Line, "seal" | "value">): boolean {
  return seal === undefined && value?.more === true;
}

/** Returns the digest with which the first event starts the chain, or undefined if its record's own seal is wrong. */
function beginsChain(events: readonly Line[]): string | undefined {
  const named = events[0]?.value?.record;
  const end = events.find((line) => !isOpen(line));
  return typeof named === "string" && end && end.seal === sealFor(end.sealed, named) ? named : undefined;
}

const CHANGED = "it was changed";

/** Names the line if it is not an event or is misplaced, or else the first line of its record. */
function describeBreak({ value, seal, number, sealedFrom, record }: Line): RecordProblem {
  const at = { record, line: number };
  if (value === undefined) return { ...at, what: `${CHANGED}: it is no longer an event` };
  if (value.seq !== number - 2) return { ...at, what: "it is out of order: lines were added, moved or removed" };
  if (seal === undefined) return { ...at, what: `${CHANGED}: its seal is missing` };
  return sealedFrom === number
    ? { ...at, what: CHANGED }
    : { record, line: sealedFrom, what: "a line of its record was changed" };
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
