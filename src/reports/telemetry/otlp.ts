import { sha256 } from "../../core/base/sha256.ts";
import type { Json } from "../../core/base/values.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { Attributes, Span, Whole } from "./walk.ts";

/** Spans as OTLP/JSON: ids are hexadecimal, 64-bit integers are strings, and enumerations are numbers. */

const MOST_SPANS = 500;
const MOST_CHARACTERS = 1_000_000;

/** Splits the spans into request bodies of limited size. */
export function otlpRequests(record: RunRecord, spans: readonly Span[], version: string): string[] {
  const resource = { attributes: attributesOf({ "service.name": "skillflow", "service.version": version }) };
  const scope = { name: "skillflow", version };
  return batches(spans.map((span) => JSON.stringify(otlpSpan(record, span)))).map((batch) => {
    const head = JSON.stringify({ resource, scopeSpans: [{ scope, spans: [] }] });
    return `{"resourceSpans":[${head.replace('"spans":[]', () => `"spans":[${batch.join(",")}]`)}]}`;
  });
}

function batches(spans: readonly string[]): string[][] {
  const all: string[][] = [];
  let length = 0;
  for (const span of spans) {
    const last = all.at(-1);
    if (last && last.length < MOST_SPANS && length + span.length <= MOST_CHARACTERS) last.push(span);
    else {
      all.push([span]);
      length = 0;
    }
    length += span.length;
  }
  return all;
}

/** Derives the id from the run's name and start, so that every export of a run has the same ids. */
export function traceId({ run, at }: RunRecord): string {
  return sha256(`${run}\n${at}`).slice(0, 32);
}

export function spanId(record: RunRecord, key: string): string {
  return sha256(`${record.run}\n${record.at}\n${key}`).slice(0, 16);
}

const KINDS = { internal: 1, client: 3 } as const;
const ERROR = 2;

function otlpSpan(record: RunRecord, span: Span): Json {
  const { key, parent, name, kind, startedAt, endedAt, events, error } = span;
  const attributes = error ? { ...span.attributes, "error.type": error.type } : span.attributes;
  return {
    traceId: traceId(record),
    spanId: spanId(record, key),
    ...(parent === undefined ? {} : { parentSpanId: spanId(record, parent) }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: attributesOf(attributes),
    events: events.map((event) => {
      return { timeUnixNano: nanoseconds(event.time), name: event.name, attributes: attributesOf(event.attributes) };
    }),
    status: error ? { code: ERROR, ...(error.message === undefined ? {} : { message: error.message }) } : {},
  };
}

function nanoseconds(time: string): string {
  return `${Math.max(0, Date.parse(time)) || 0}000000`;
}

function attributesOf(attributes: Attributes): Json[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: Attributes[string]): Json {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return { doubleValue: value };
  if ("int" in value) return { intValue: String((value as Whole).int) };
  return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
}
