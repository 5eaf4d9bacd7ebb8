import type { Blobs } from "../../core/base/blobs.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import { cutText, isObject, type Json, type JsonObject } from "../../core/base/values.ts";
import { describeBlob, wholeText } from "../../core/engine/tools/blob.ts";

/** Results with more than this many characters of JSON do not stand in a prompt: they become blobs. */
export const MOST_RESULT = 32_768;
/** A text inside a result that is worth a blob of its own when the whole is too large. */
const LARGE_MEMBER = 4096;
const HEAD = 1000;
const TAIL = 500;

/**
 * What the model sees of a result: the result itself, or blobs in place of its large texts, else one blob of the whole.
 * Where no blob can be kept, the head and the tail are.
 */
export async function holdLarge(output: Json, blobs: Blobs, most = MOST_RESULT): Promise<Json> {
  if (!isLarge(output, most)) return output;
  try {
    const smaller = await holdMembers(output, blobs);
    return !isLarge(smaller, most) ? smaller : await holdWhole(output, blobs);
  } catch (error) {
    if (error instanceof SkillflowError) return cut(output);
    throw error;
  }
}

export function isLarge(output: Json, most = MOST_RESULT): boolean {
  return (typeof output === "string" ? output.length : JSON.stringify(output).length) > most;
}

async function holdMembers(output: Json, blobs: Blobs): Promise<Json> {
  if (!isObject(output)) return output;
  const members = Object.entries(output as JsonObject).map(async ([key, value]): Promise<[string, Json]> => {
    const isText = typeof value === "string" && value.length > LARGE_MEMBER;
    return [key, isText ? await holdText(value, "text/plain", blobs) : await holdMembers(value, blobs)];
  });
  return Object.fromEntries(await Promise.all(members));
}

function holdWhole(output: Json, blobs: Blobs): Promise<Json> {
  if (typeof output === "string") return holdText(output, "text/plain", blobs);
  return holdText(JSON.stringify(output, undefined, 1), "application/json", blobs);
}

async function holdText(text: string, kind: string, blobs: Blobs): Promise<Json> {
  const bytes = Buffer.from(text, "utf8");
  const info = await blobs.create(bytes, kind);
  const head = wholeText(bytes.subarray(0, HEAD)).text;
  const tail = wholeText(bytes.subarray(-TAIL)).text;
  return describeBlob(info, { head, tail, lines: countLines(bytes) });
}

function countLines(bytes: Buffer): number {
  let lines = bytes.length > 0 && bytes.at(-1) !== 10 ? 1 : 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines++;
  return lines;
}

function cut(output: Json): Json {
  if (typeof output === "string") return cutText(output, MOST_RESULT);
  const text = JSON.stringify(output);
  return { truncated: true, characters: text.length, text: cutText(text, MOST_RESULT) };
}
