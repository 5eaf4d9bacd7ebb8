import { shortText } from "../../base/preview.ts";
import { deepEqual, defined, isObject, type Json, type JsonObject, memo } from "../../base/values.ts";
import type { ToolCall } from "../event/node-result.ts";
import { type ContextEntry, resultText, type ShownResult } from "../event/prompt.ts";

/** Results of a `steps` node as later prompts show them, shortened at the boundaries of records. */

/** Default of `show`: characters of the results of one node. */
export const MOST_SHOWN = 12_000;
/** Most characters of a first record, which is shown even if the result's share is smaller. */
const MOST_OF_FIRST = 300;
/** Most characters of a list of scalars that belongs to the record, such as the names of columns. */
const MOST_OF_SCALARS = 100;
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
  const sizes = createSizes();
  const given = sharesOf(outputs, most, sizes);
  const results = calls.map(({ ref, step = "", tool }, index): ShownResult => {
    const [output = null, share = 0] = [outputs[index], given[index]];
    const shown = shorten(output, share, sizes);
    const isWhole = shown === output;
    return { ...defined("ref", ref), step, tool, text: resultText(shown), ...(isWhole ? {} : { shortened: true }) };
  });
  return { data: rest, results };
}

/** Divides characters among results. One whose share is too small for its first record gets as many as that needs. */
function sharesOf(outputs: readonly Json[], most: number, sizes: Sizes): readonly number[] {
  const least = outputs.map((output) => Math.min(MOST_OF_FIRST, sizeOfFirst(output, sizes)));
  const raised = new Map<number, number>();
  for (;;) {
    const left = [...raised.values()].reduce((rest, size) => rest - size, most);
    const needed = outputs.map((output, index) => (raised.has(index) ? 0 : sizes(output)));
    const given = shares(needed, left);
    const before = raised.size;
    for (const [index, size] of least.entries()) {
      if (!raised.has(index) && (given[index] ?? 0) < size) raised.set(index, size);
    }
    if (raised.size === before) return given.map((share, index) => raised.get(index) ?? share);
  }
}

/** Measures a result that is shortened to its first record. */
function sizeOfFirst(value: Json, sizes: Sizes): number {
  if (typeof value === "string") return Math.min(sizes(value), sizes(value.split("\n", 1)[0] ?? "") + MARK);
  if (Array.isArray(value)) {
    const [first = null] = value as readonly Json[];
    const isScalar = typeof first !== "object" && sizes(value) <= MOST_OF_SCALARS;
    return isScalar ? sizes(value) : Math.min(sizes(value), sizeOfFirst(first, sizes) + MARK + 2);
  }
  if (!isObject(value)) return sizes(value);
  const members = Object.entries(value as JsonObject);
  const names = sizes(members.map(([name]) => name));
  return members.reduce((size, [, member]) => size + sizeOfFirst(member, sizes) + 1, names + 1);
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

/** Creates a function that measures values in characters of JSON, each container once. */
function createSizes(): Sizes {
  const ofContainer = memo((value: readonly Json[] | JsonObject): number => {
    const names = Array.isArray(value) ? 0 : JSON.stringify(Object.keys(value)).length;
    return Object.values(value).reduce<number>((sum, member) => sum + sizeOf(member) + 1, names + 1);
  });
  const sizeOf = (value: Json): number => {
    return typeof value === "object" && value !== null ? ofContainer(value) : JSON.stringify(value).length;
  };
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
  const needed = members.map(([, member]) => sizes(member));
  const given = shares(needed, most - names);
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
