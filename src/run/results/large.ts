import type { Blobs } from "../../core/base/blobs.ts";
import { SkillflowError } from "../../core/base/errors.ts";
import { cutMiddle } from "../../core/base/preview.ts";
import { isObject, type Json, type JsonObject } from "../../core/base/values.ts";
import { describeBlob, wholeText } from "../../core/engine/tools/blob.ts";

/** Largest result in a prompt, in characters of JSON. Larger ones become blobs. */
export const MOST_RESULT = 32_768;
/** Length above which a string in a large result gets its own blob. */
const LARGE_MEMBER = 4096;
const HEAD = 1000;
const TAIL = 500;

/**
 * Returns what the model sees of a result: the result itself, the result with blobs for its long strings, or one blob.
 * If no blob can be created, returns the head and the tail.
 */
export async function holdLarge(output: Json, blobs: Blobs, most = MOST_RESULT): Promise<Json> {
  if (!isLarge(output, most)) return output;
  try {
    const smaller = await holdMembers(output, blobs);
    if (!isLarge(smaller, most)) return smaller;
    if (typeof output === "string") return await holdText(output, "text/plain", blobs);
    return await holdText(JSON.stringify(output, undefined, 1), "application/json", blobs);
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
  if (typeof output === "string") return cutMiddle(output, MOST_RESULT);
  const text = JSON.stringify(output);
  return { truncated: true, characters: text.length, text: cutMiddle(text, MOST_RESULT) };
}
