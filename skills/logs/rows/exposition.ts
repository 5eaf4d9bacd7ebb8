import { LINE_KEPT } from "../read/blocks.ts";
import type { Convert } from "./csv.ts";

/** Returns true for text in the Prometheus exposition format or OpenMetrics. */
export function looksLikeExposition(head: string): boolean {
  const lines = head.split("\n", 200).filter((line) => line.trim() !== "");
  if (!lines.some((line) => /^# (?:TYPE|HELP|UNIT) [A-Za-z_:]/.test(line))) return false;
  const begins = lines.slice(0, 20);
  return begins.every((line) => line.startsWith("#") || sampleOf(line) !== undefined || line === lines.at(-1));
}

/** Converts each sample to a row with its metric, labels, value and optional time. */
export function convertExposition(): Convert {
  let rest = "";
  function* read(lines: readonly string[]): Generator<string> {
    for (const line of lines) {
      const sample = sampleOf(line);
      if (sample) yield JSON.stringify(sample);
    }
  }
  return {
    *push(text) {
      const lines = text.split("\n");
      lines[0] = rest + lines[0];
      rest = (lines.pop() ?? "").slice(0, LINE_KEPT);
      yield* read(lines);
    },
    *end() {
      yield* read([rest]);
    },
  };
}

const NAME = /([A-Za-z_:][\w:]*)\s*/y;
const LABEL = /\s*(?:([A-Za-z_][\w.]*)\s*=\s*)?"((?:[^"\\\n]|\\.)*)"\s*,?/y;
const TAIL = /\s*([+-]?(?:Inf|NaN|[\d.]+(?:e[+-]?\d+)?))(?:\s+(-?\d+(?:\.\d+)?))?\s*(?:#.*)?$/iy;

function sampleOf(line: string): Readonly<Record<string, unknown>> | undefined {
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const match = pattern.exec(line);
    if (match) at = pattern.lastIndex;
    return match;
  };
  let metric = take(NAME)?.[1];
  const labels: [string, string][] = [];
  if (line[at] === "{") {
    at++;
    for (let match = take(LABEL); match; match = take(LABEL)) {
      const [, key, value = ""] = match;
      // A name outside the classic character set is quoted among the labels.
      if (key === undefined) metric ??= withoutEscapes(value);
      else labels.push([RESERVED.has(key) ? `label_${key}` : key, withoutEscapes(value)]);
    }
    if (!take(/\s*\}/y)) return undefined;
  }
  const tail = metric === undefined ? null : take(TAIL);
  if (!tail) return undefined;
  const time = timeOf(tail[2]);
  return {
    ...(time === undefined ? {} : { time }),
    metric,
    ...Object.fromEntries(labels),
    value: numberOf(tail[1] ?? ""),
  };
}

const RESERVED: ReadonlySet<string> = new Set(["time", "metric", "value"]);

function withoutEscapes(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

/** Returns a number, or the text for infinity and NaN, which JSON does not have. */
function numberOf(text: string): number | string {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

/** Converts a time, which is in milliseconds in the classic format and in seconds in OpenMetrics. */
function timeOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const amount = Number(text);
  const time = amount < 1e11 ? amount * 1000 : amount;
  return Math.abs(time) <= 8.64e15 ? new Date(time).toISOString() : undefined;
}
