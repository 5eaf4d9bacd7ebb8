import { isObject, type Json, type JsonObject, stringsIn } from "../../base/values.ts";
import { stringOf } from "./folded.ts";
import { containerOf } from "./records.ts";

/**
 * Leaves out the fields of a result that repeat the call's own arguments: those that the tool declares, or else the
 * fields whose value is a string of the input. Fields of the result's records are kept.
 */
export function withoutEchoes(output: Json, input: Json, echoes: readonly string[] | undefined): Json {
  if (!isObject(output)) return output;
  const sent = echoes ? undefined : new Set(stringsIn(input));
  const kept = Object.entries(output as JsonObject).filter(([name, value]) => {
    return echoes ? !echoes.includes(name) : !(typeof value === "string" && value !== "" && sent?.has(value));
  });
  return kept.length === Object.keys(output).length ? output : Object.fromEntries(kept);
}

const LEAST_OF_LINE = 8;

/** Returns the lines of prose in what writes sent, normalized. */
export function sentLines(inputs: readonly Json[]): ReadonlySet<string> {
  const lines = inputs.flatMap(stringsIn).flatMap((text) => text.split("\n"));
  return new Set(lines.map(stringOf).filter((line) => line.length >= LEAST_OF_LINE && line.includes(" ")));
}

/** Replaces the lines of a result that repeat what an earlier write sent. No quote matches the replacement. */
export function withoutSent(output: Json, sent: ReadonlySet<string>): Json {
  if (sent.size === 0) return output;
  const left = (value: Json): Json => {
    if (typeof value === "string") {
      return value
        .split("\n")
        .map((line) => (sent.has(stringOf(line)) ? "[redacted:sent]" : line))
        .join("\n");
    }
    if (Array.isArray(value)) return (value as readonly Json[]).map(left);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value as JsonObject).map(([key, member]) => [key, left(member)]));
  };
  return left(typeof output === "string" ? (containerOf(output) ?? output) : output);
}
