import type { BlobInfo } from "./blobs.ts";

/** Images that models can see, identified by their bytes and not by their declared type. */

const IMAGE_KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
export type ImageKind = (typeof IMAGE_KINDS)[number];

/** Largest image. Providers accept at most 5 MB of base64. */
const MOST_BYTES = 3_600_000;
/** Largest width or height in pixels that providers accept. */
const MOST_SIDE = 8000;

export function isImageKind(kind: string): kind is ImageKind {
  return IMAGE_KINDS.includes(kind as ImageKind);
}

export interface ShownImage extends BlobInfo {
  readonly kind: ImageKind;
}

export function isImage(blob: BlobInfo): blob is ShownImage {
  return isImageKind(blob.kind);
}

/** Explains why an image cannot be shown to a model. Returns undefined if it can. */
export function imageFault(bytes: Uint8Array, kind: string): string | undefined {
  if (!isImageKind(kind)) return `only ${IMAGE_KINDS.join(", ")} can be shown`;
  if (bytes.length > MOST_BYTES) return `it is larger than ${MOST_BYTES / 1_000_000} MB`;
  const [width = 0, height = 0] = SIZES[kind](new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)) ?? [];
  if (width === 0 || height === 0) return `its bytes are not ${kind}`;
  return Math.max(width, height) > MOST_SIDE ? `it is larger than ${MOST_SIDE} pixels: ${width}x${height}` : undefined;
}

type Size = readonly [width: number, height: number];

/** Reads the dimensions from the file's header. Returns undefined if the bytes are not in that format. */
const SIZES: Readonly<Record<ImageKind, (view: DataView) => Size | undefined>> = {
  "image/png": (view) =>
    startsWith(view, 0, "\x89PNG\r\n\x1a\n") && startsWith(view, 12, "IHDR") && view.byteLength >= 33
      ? [view.getUint32(16), view.getUint32(20)]
      : undefined,
  "image/gif": (view) =>
    (startsWith(view, 0, "GIF87a") || startsWith(view, 0, "GIF89a")) && view.byteLength >= 13
      ? [view.getUint16(6, true), view.getUint16(8, true)]
      : undefined,
  "image/jpeg": jpegSize,
  "image/webp": webpSize,
};

function startsWith(view: DataView, offset: number, text: string): boolean {
  if (view.byteLength < offset + text.length) return false;
  return [...text].every((character, index) => view.getUint8(offset + index) === character.charCodeAt(0));
}

/** Skips segments up to the frame header, which contains the dimensions. */
function jpegSize(view: DataView): Size | undefined {
  if (!startsWith(view, 0, "\xff\xd8\xff")) return undefined;
  for (let at = 2; at + 9 <= view.byteLength; ) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return [view.getUint16(at + 7), view.getUint16(at + 5)];
    // A fill byte has no length field.
    at += marker === 0xff ? 1 : 2 + Math.max(2, view.getUint16(at + 2));
  }
  return undefined;
}

function webpSize(view: DataView): Size | undefined {
  if (!startsWith(view, 0, "RIFF") || !startsWith(view, 8, "WEBP") || view.byteLength < 30) return undefined;
  if (startsWith(view, 12, "VP8X")) return [1 + threeBytes(view, 24), 1 + threeBytes(view, 27)];
  if (startsWith(view, 12, "VP8L") && view.getUint8(20) === 0x2f) {
    const bits = view.getUint32(21, true);
    return [1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff)];
  }
  const isLossy = startsWith(view, 12, "VP8 ") && startsWith(view, 23, "\x9d\x01\x2a");
  return isLossy ? [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff] : undefined;
}

function threeBytes(view: DataView, offset: number): number {
  return view.getUint8(offset) + view.getUint16(offset + 1, true) * 256;
}

/** Number of images that every provider accepts in one request. */
const MOST_SHOWN = 20;
const MOST_SHOWN_BYTES = 12_000_000;

/** Returns the distinct ids of the images that fit into one request, preferring the newest. */
export function shownIds(images: readonly ShownImage[]): ReadonlySet<string> {
  const shown = new Set<string>();
  let left = MOST_SHOWN_BYTES;
  for (const { blob_id, size_bytes } of images.toReversed()) {
    if (shown.has(blob_id)) continue;
    left -= size_bytes;
    if (left < 0 || shown.size === MOST_SHOWN) break;
    shown.add(blob_id);
  }
  return shown;
}
