import type { BlobInfo } from "../../core/base/blobs.ts";
import { isImage } from "../../core/base/image.ts";
import { isObject, type JsonObject } from "../../core/base/values.ts";
import type { RecordedCall } from "../../core/engine/event/call.ts";
import { resultText } from "../../core/engine/event/prompt.ts";
import type { ReadResult } from "../../core/engine/tools/own-tools.ts";
import { type Readable, readBlob, searchBlob } from "./blob-tools.ts";

/** The `read_result` tool: returns a recorded result and its blobs, in pages or by matching lines. */

const PAGE = 16_000;
const MOST_LINES = 50;

/** A part of a result. The parts are read in byte order. */
interface Stretch {
  readonly info: BlobInfo;
  readonly from: Readable;
}

export async function readResult(call: RecordedCall, wanted: ReadResult, blobs: Readable): Promise<string> {
  const stretches = stretchesOf(call, blobs);
  const head = `[${call.ref}] ${call.tool} ${JSON.stringify(call.input).slice(0, 300)}`;
  const text =
    wanted.search === undefined ? await page(stretches, wanted.offset ?? 0) : await lines(stretches, wanted.search);
  return `${head}\n${text}`;
}

/** Returns the parts of a result. If a blob replaces the whole result, it is the only part. */
function stretchesOf({ outcome }: RecordedCall, blobs: Readable): Stretch[] {
  if (!outcome) return [stretchOf("the call has no result yet")];
  if ("error" in outcome) return [stretchOf(`the call failed: ${outcome.error}`)];
  const texts = (outcome.blobs ?? []).filter((blob) => !isImage(blob));
  const kept = texts.map((info): Stretch => ({ info, from: blobs }));
  const isWhole = kept.length === 1 && isObject(outcome.output) && outcome.output.blob_id === kept[0]?.info.blob_id;
  return isWhole ? kept : [stretchOf(resultText(outcome.output)), ...kept];
}

function stretchOf(text: string): Stretch {
  const bytes = Buffer.from(text, "utf8");
  const info = { blob_id: "", kind: "text/plain", size_bytes: bytes.length };
  const from: Readable = {
    info: async () => info,
    read: async (_, offset, length) => bytes.subarray(offset, offset + length),
  };
  return { info, from };
}

async function page(stretches: readonly Stretch[], offset: number): Promise<string> {
  const size = stretches.reduce((sum, { info }) => sum + info.size_bytes, 0);
  let start = 0;
  for (const { info, from } of stretches) {
    const end = start + info.size_bytes;
    if (offset < end || (offset === 0 && end === 0)) {
      const part = await readBlob(from, { blob_id: info.blob_id, offset: offset - start, max_bytes: PAGE });
      const next = part.next_offset === null ? end : start + Number(part.next_offset);
      const more = next < size ? `\n(bytes ${offset} to ${next} of ${size}: read on with offset ${next})` : "";
      return `${part.text}${more}`;
    }
    start = end;
  }
  return `(the result ends at byte ${size})`;
}

async function lines(stretches: readonly Stretch[], query: string): Promise<string> {
  const shown: string[] = [];
  let total = 0;
  for (const { info, from } of stretches) {
    const wanted = { blob_id: info.blob_id, query, ignore_case: true, max_matches: MOST_LINES };
    const found = await searchBlob(from, wanted);
    total += Number(found.total);
    const matches = found.matches as readonly JsonObject[];
    shown.push(...matches.map(({ line, text }) => `${line}: ${text}`));
  }
  const some = shown.slice(0, MOST_LINES);
  return total === 0
    ? `(no line contains ${JSON.stringify(query)})`
    : `${some.join("\n")}\n(${some.length} of ${total} lines)`;
}
