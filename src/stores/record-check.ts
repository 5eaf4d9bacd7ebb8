import { isObject } from "../core/base/values.ts";
import type { RunEvent } from "../core/engine/event/event.ts";
import type { RunRecord } from "../core/engine/event/record.ts";
import type { RecordCheck, RecordProblem } from "../core/engine/ports.ts";
import { faultOfRecording } from "../core/engine/record/recording.ts";
import { digestOf, sealFor, sealOf } from "./chain.ts";

export interface CheckedRecord extends RecordCheck {
  /** It was written with a chain, and that does not hold. */
  readonly isAltered: boolean;
  /** Bytes that hold whole records. */
  readonly length: number;
}

/** Reads the lines of a run's record, and whether they are what was written; the torn tail of a crash is left out. */
export function checkRecord(bytes: Buffer): CheckedRecord {
  const [first, ...rest] = readLines(bytes);
  const record = recordOf(first);
  const whole = rest.slice(0, rest.findLastIndex(({ value }) => value !== undefined && !value.more) + 1);
  const last = whole.at(-1) ?? first;
  const isChained = rest.some(({ seal, value }) => seal !== undefined || value?.record !== undefined);
  const altered = isChained ? checkChain(first, rest) : checkJson(rest);
  const events = whole.flatMap(({ value }) => (value === undefined ? [] : [value as unknown as RunEvent]));
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
  return first?.value?.schema === "skillflow.run/1" ? (first.value as unknown as RunRecord) : undefined;
}

interface Line {
  /** Without its end. */
  readonly bytes: Buffer;
  /** Where the next one begins. */
  readonly end: number;
  /** Undefined where it is no JSON object. */
  readonly value: Readonly<Record<string, unknown>> | undefined;
  readonly seal: string | undefined;
  /** Which of the records it belongs to: the run's own line is the first. */
  readonly record: number;
}

function readLines(bytes: Buffer): Line[] {
  const lines: Line[] = [];
  for (let start = 0, record = 1; ; ) {
    const newline = bytes.indexOf(10, start);
    if (newline === -1) return lines;
    const line = bytes.subarray(start, newline);
    const value = parseLine(line);
    // What a power failure left of the last record may end as it was to end, with zeros before that.
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

/** Every line that does not follow from the one before it. */
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

/** The digest that the first event begins the chain with; undefined where that event itself does not hold. */
function beginsChain(event: Line | undefined): string | undefined {
  const named = event?.value?.record;
  if (!event || typeof named !== "string") return undefined;
  return event.seal === sealFor(event.bytes, named) ? named : undefined;
}

const CHANGED = "it is not what was written";

function describeBreak({ value, seal }: Pick<Line, "value" | "seal">, index: number): string {
  if (value === undefined) return `${CHANGED}: it is no event any more`;
  if (value.seq !== index) return `it is not what followed here: lines were added, moved or taken out`;
  return seal === undefined ? `${CHANGED}: its seal is gone` : CHANGED;
}

function checkJson(events: readonly Line[]): RecordProblem[] {
  return events.flatMap(({ value, record }, index) =>
    value === undefined ? [{ record, line: index + 2, what: "it is no event" }] : [],
  );
}

function checkShape(record: RunRecord, events: readonly RunEvent[], lines: readonly Line[]): RecordProblem[] {
  const fault = faultOfRecording(record, events);
  return fault ? [{ record: lines[fault.line - 2]?.record ?? 1, line: fault.line, what: fault.message }] : [];
}
