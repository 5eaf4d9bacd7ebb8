import { isUtf8 } from "node:buffer";
import type { Blobs } from "../../../core/base/blobs.ts";
import { SkillflowError } from "../../../core/base/errors.ts";
import { imageFault, isImageKind } from "../../../core/base/image.ts";
import { defined, isObject, type JsonObject } from "../../../core/base/values.ts";
import { type Links, LONGEST_URI } from "./links.ts";

/** Converts a server's content blocks to data for a model. Binary data is replaced by its size. */

/** Content block, not validated. */
export type Said = { readonly [key: string]: unknown };

export interface Keeping {
  /** Receives the URIs that may be read from now on. */
  readonly links: Links | undefined;
  /** Storage of images for models with vision. */
  readonly blobs: Blobs;
}

export async function readBlocks(content: readonly Said[], { links, blobs }: Keeping): Promise<JsonObject[]> {
  const read: JsonObject[] = [];
  let images = 0;
  for (const block of content) {
    const image = imageOf(block);
    if (image) read.push(await keepImage(image, blobs, ++images));
    else read.push(readBlock(block, links));
  }
  return read;
}

const MOST_IMAGES = 8;

/** Returns the image in a block, which may be an embedded resource. */
function imageOf({ type, mimeType, data, resource }: Said): GivenImage | undefined {
  if (type === "image") return { said: mimeType, data };
  if (type !== "resource" || !isObject(resource) || !isImageKind(textOf(resource.mimeType))) return undefined;
  return typeof resource.blob === "string" ? { said: resource.mimeType, data: resource.blob } : undefined;
}

interface GivenImage {
  readonly said: unknown;
  readonly data: unknown;
}

/** Stores the nth image of a result as a blob. Returns its type, its size and the reason if no model can be shown it. */
async function keepImage({ said, data }: GivenImage, blobs: Blobs, nth: number): Promise<JsonObject> {
  const mimeType = cut(said, MOST_NAME) ?? "";
  const kind = mimeType.replace(/;.*$/s, "").trim().toLowerCase();
  const bytes = Buffer.from(textOf(data), "base64");
  const told = { type: "image", mimeType, bytes: bytes.length };
  const fault = nth <= MOST_IMAGES ? imageFault(bytes, kind) : `only ${MOST_IMAGES} of a result are shown`;
  if (fault !== undefined) return { ...told, not_shown: fault };
  try {
    return { type: "image", ...(await blobs.create(bytes, kind)) };
  } catch (error) {
    if (error instanceof SkillflowError) return { ...told, not_shown: error.message };
    throw error;
  }
}

function readBlock(block: Said, links: Links | undefined): JsonObject {
  const { type, text, mimeType, data, resource } = block;
  switch (type) {
    case "text":
      return { type, text: textOf(text) };
    case "audio":
      return { type, mimeType: textOf(mimeType), bytes: Buffer.byteLength(textOf(data), "base64") };
    case "resource_link":
      return readLink(block, links);
    case "resource":
      return readContents(isObject(resource) ? resource : {}, links);
    default:
      return { type: textOf(type) || "unknown" };
  }
}

export function readLink(said: Said, links: Links | undefined): JsonObject {
  const uri = readUri(said.uri, links);
  const size = typeof said.size === "number" && said.size >= 0 ? said.size : undefined;
  return {
    type: "resource_link",
    uri,
    name: cut(said.name, MOST_NAME) ?? "",
    ...defined("title", cut(said.title, MOST_NAME)),
    ...defined("description", cut(said.description, MOST_DESCRIPTION)),
    ...defined("mimeType", cut(said.mimeType, MOST_NAME)),
    ...defined("size", size),
  };
}

function readContents(said: Said, links: Links | undefined): JsonObject {
  const mimeType = cut(said.mimeType, MOST_NAME);
  const head = { type: "resource", uri: readUri(said.uri, links), ...defined("mimeType", mimeType) };
  if (typeof said.text === "string") return { ...head, text: said.text };
  const bytes = Buffer.from(textOf(said.blob), "base64");
  const isText = mimeType !== undefined && TEXTUAL.test(mimeType) && isUtf8(bytes);
  return isText ? { ...head, text: bytes.toString("utf8") } : { ...head, bytes: bytes.length };
}

const TEXTUAL = /^text\/|^application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|x-ndjson)\b/i;
const MOST_NAME = 200;
const MOST_DESCRIPTION = 1000;

function readUri(said: unknown, links: Links | undefined): string {
  const uri = textOf(said);
  if (uri.length > LONGEST_URI) return `${uri.slice(0, 80)}… (too long to be read)`;
  if (uri !== "") links?.add(uri);
  return uri;
}

export function cut(said: unknown, most: number): string | undefined {
  if (typeof said !== "string") return undefined;
  return said.length > most ? `${said.slice(0, most)}…` : said;
}

function textOf(said: unknown): string {
  return typeof said === "string" ? said : "";
}
