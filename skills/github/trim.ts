import type { Json, JsonObject } from "skillflow";

const LARGEST_RESULT = 19_000;
const TEXT_CAPS = [LARGEST_RESULT, 12_000, 6_000, 3_000, 1_500, 700, 300] as const;
const SHORTEST_CAP = 300;

/** A result that a model can afford: long texts are cut evenly until the whole fits, and every cut is marked. */
export function trim(result: unknown): Json {
  for (const cap of TEXT_CAPS) {
    const value = plain(result, cap);
    if (jsonSize(value) <= LARGEST_RESULT) return value;
  }
  return dropItems(plain(result, SHORTEST_CAP));
}

/** Bytes of a value's JSON text. */
export function jsonSize(value: Json): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Text cut to a number of characters, saying how many are missing. */
export function clip(text: string, cap: number): string {
  if (text.length <= cap) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(cap - 1)) ? cap - 1 : cap;
  return `${text.slice(0, end)}… [${text.length - end} more characters]`;
}

/** JSON without absent members. An id above 2^53 arrives as a BigInt and stays exact as text. */
function plain(value: unknown, cap: number): Json {
  if (typeof value === "string") return clip(value, cap);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.map((item) => plain(item, cap));
  if (typeof value !== "object" || value === null) return null;
  const members = Object.entries(value).filter(([, member]) => member !== undefined && member !== null);
  return Object.fromEntries(members.map(([key, member]) => [key, plain(member, cap)]));
}

function dropItems(value: Json): Json {
  const members: Record<string, Json> = { ...(value as JsonObject) };
  let dropped = 0;
  while (jsonSize(members) > LARGEST_RESULT) {
    const [key, list] = longestList(members);
    if (list.length === 0) return clip(JSON.stringify(members), 4_000);
    members[key] = list.slice(0, -1);
    members["truncated"] = `${++dropped} items left out: ask for fewer at a time`;
  }
  return members;
}

function longestList(members: Readonly<Record<string, Json>>): readonly [string, readonly Json[]] {
  const lists = Object.entries(members).flatMap(([key, value]) =>
    Array.isArray(value) ? [[key, value as readonly Json[]] as const] : [],
  );
  return lists.sort((a, b) => jsonSize(b[1]) - jsonSize(a[1]))[0] ?? ["", []];
}
