import type { BlobInfo } from "../../base/blobs.ts";
import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import { BLOB_ID } from "./own-tools.ts";

export function isBlobId(text: string): boolean {
  return BLOB_ID.test(text);
}

/** Accepts a MIME type with or without parameters. */
export function isBlobKind(text: string): boolean {
  return text.length <= 255 && /^[\w.+-]+\/[\w.+-]+(\s*;[^\r\n]*)?$/.test(text);
}

/** Builds the object that replaces the content in a result. */
export function describeBlob(
  { blob_id, kind, size_bytes }: BlobInfo,
  preview: { readonly head: string; readonly tail: string; readonly lines: number },
): JsonObject {
  return { blob_id, kind, size_bytes, ...preview, read_on_with: "read_blob, search_blob" };
}

export function blobsIn(output: Json): BlobInfo[] {
  const found = new Map<string, BlobInfo>();
  const look = (value: Json): void => {
    if (Array.isArray(value)) {
      for (const item of value) look(item);
    } else if (isObject(value)) {
      const { blob_id, kind, size_bytes } = value;
      const isMark = typeof blob_id === "string" && isBlobId(blob_id);
      if (isMark && typeof kind === "string" && typeof size_bytes === "number") {
        found.set(blob_id, { blob_id, kind, size_bytes });
      }
      for (const member of Object.values(value as JsonObject)) look(member);
    }
  };
  look(output);
  return [...found.values()];
}

/** Decodes bytes that may start or end inside a character. Incomplete characters at the edges are left out. */
export function wholeText(bytes: Uint8Array): { readonly text: string; readonly start: number; readonly end: number } {
  let start = 0;
  while (start < Math.min(3, bytes.length) && isContinuation(bytes[start])) start++;
  const end = Math.max(start, wholeEnd(bytes));
  return { text: new TextDecoder().decode(bytes.subarray(start, end)), start, end };
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Returns the end of the last complete character. */
function wholeEnd(bytes: Uint8Array): number {
  let at = bytes.length - 1;
  while (at >= 0 && at > bytes.length - 4 && isContinuation(bytes[at])) at--;
  const lead = bytes[at];
  if (lead === undefined) return bytes.length;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return at + length <= bytes.length ? bytes.length : at;
}
