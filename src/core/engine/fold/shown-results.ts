import { shortText } from "../../base/preview.ts";
import { deepEqual, defined, isObject, type Json, type JsonObject } from "../../base/values.ts";
import type { ToolCall } from "../event/node-result.ts";
import { type ContextEntry, resultText, type ShownResult } from "../event/prompt.ts";

/** Results of a `steps` node as later prompts show them, shortened at the boundaries of records. */

/** Default of `show`: characters of the results of one node. */
export const MOST_SHOWN = 12_000;
/** Least number of characters of a shortened result, so that its first record is shown. */
const LEAST = 300;
/** Room for the number of omitted records. */
const MARK = 30;

/** Describes a visit to a `steps` node: its data without the outputs of the steps, and its results next to them. */
export function shownSteps(data: JsonObject, all: readonly ToolCall[], most: number): Omit<ContextEntry, "node"> {
  const calls = all.filter(({ step }) => step !== undefined);
  const ids = new Set(calls.flatMap(({ step, error }) => (error === undefined ? step : [])));
  const rest = Object.fromEntries(Object.entries(data).filter(([name]) => !ids.has(name)));
  if (most === 0) return { data: rest, results: [] };
  const outputs = calls.map((call) => {
    const { error, output = null } = call;
    const same = call.ref ?? calls.find(({ tool, input }) => tool === call.tool && deepEqual(input, call.input))?.ref;
    return call.ref === undefined ? `same as ${same}` : error === undefined ? output : { error };
  });
  const sizes = measure(outputs);
  const given = shares(outputs.map(sizes), most);
  const results = calls.map(({ ref, step = "", tool }, index): ShownResult => {
    const [output = null, share = 0] = [outputs[index], given[index]];
    const isWhole = sizes(output) <= share;
    const text = resultText(isWhole ? output : shorten(output, Math.max(share, LEAST), sizes));
    return { ...defined("ref", ref), step, tool, text, ...(isWhole ? {} : { shortened: true }) };
  });
  return { data: rest, results };
}

/** Divides characters: small sizes get all that they need, and the others equal shares of the rest. */
function shares(sizes: readonly number[], most: number): readonly number[] {
  const ascending = sizes.map((size, index) => ({ size, index })).sort((a, b) => a.size - b.size);
  const given: number[] = [];
  let left = Math.max(0, most);
  for (const [at, { size, index }] of ascending.entries()) {
    const share = Math.min(size, Math.floor(left / (ascending.length - at)));
    given[index] = share;
    left -= share;
  }
  return given;
}

type Sizes = (value: Json) => number;

/** Measures values in characters of JSON, each container once. */
function measure(values: readonly Json[]): Sizes {
  const known = new Map<Json, number>();
  const sizeOf = (value: Json): number => {
    if (typeof value !== "object" || value === null) return JSON.stringify(value).length;
    const names = Array.isArray(value) ? 0 : JSON.stringify(Object.keys(value)).length;
    const members = Object.values(value);
    return known.get(value) ?? members.reduce<number>((sum, member) => sum + sizeOf(member) + 1, names + 1);
  };
  const note = (value: Json): void => {
    if (typeof value !== "object" || value === null) return;
    for (const member of Object.values(value)) note(member);
    known.set(value, sizeOf(value));
  };
  for (const value of values) note(value);
  return sizeOf;
}

/** Shortens a value to about `most` characters: lists after their first elements, texts after their first lines. */
function shorten(value: Json, most: number, sizes: Sizes): Json {
  if (sizes(value) <= most) return value;
  if (typeof value === "string") return shortenText(value, most, sizes);
  if (Array.isArray(value)) return shortenList(value, most, sizes);
  if (!isObject(value)) return value;
  const members = Object.entries(value as JsonObject);
  const names = sizes(members.map(([name]) => name));
  const given = shares(
    members.map(([, member]) => sizes(member)),
    most - names,
  );
  return Object.fromEntries(members.map(([name, member], index) => [name, shorten(member, given[index] ?? 0, sizes)]));
}

function shortenList([first = null, ...others]: readonly Json[], most: number, sizes: Sizes): Json {
  const kept = [shorten(first, Math.max(0, most - MARK), sizes)];
  let left = most - MARK - sizes(first);
  for (const item of others) {
    left -= sizes(item) + 1;
    if (left < 0) break;
    kept.push(item);
  }
  const omitted = others.length + 1 - kept.length;
  return omitted === 0 ? kept : [...kept, `… ${omitted} more`];
}

function shortenText(text: string, most: number, sizes: Sizes): string {
  const lines = text.split("\n");
  let kept = 0;
  for (let left = most - MARK; kept < lines.length; kept++) {
    left -= sizes(lines[kept] ?? "");
    if (left < 0) break;
  }
  const shown = kept === 0 ? [shortText(lines[0] ?? "", Math.max(1, most - MARK))] : lines.slice(0, kept);
  const omitted = lines.length - shown.length;
  return [...shown, ...(omitted > 0 ? [`… ${omitted} more lines`] : [])].join("\n");
}
