import { isUtf8 } from "node:buffer";
import { defined, isObject, type JsonObject } from "../../core/values.ts";
import { type Links, LONGEST_URI } from "./links.ts";

/** What servers give beside plain text, as data for a model: bytes are counted, not shown. */

/** What servers call content, of which nothing is known. */
export type Said = { readonly [key: string]: unknown };

/** A block of a tool's result, or of a prompt's message. `links` is told what may be read from now on. */
export function readBlock(block: Said, links: Links | undefined): JsonObject {
  const { type, text, mimeType, data, resource } = block;
  switch (type) {
    case "text":
      return { type, text: textOf(text) };
    case "image":
    case "audio":
      return { type, mimeType: textOf(mimeType), bytes: byteCount(textOf(data)) };
    case "resource_link":
      return readLink(block, links);
    case "resource":
      return readContents(isObject(resource) ? resource : {}, links);
    default:
      return { type: textOf(type) || "unknown" };
  }
}

/** A resource by what is said of it: in a result, and in the server's list. */
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

/** A resource with what it holds. */
export function readContents(said: Said, links?: Links): JsonObject {
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

function byteCount(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}
