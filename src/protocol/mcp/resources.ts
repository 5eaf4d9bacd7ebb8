import type {
  Prompt,
  ReadResourceResult,
  ResourceLink,
  ResourceTemplateType,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { SkillSource } from "@modelcontextprotocol/server/ext/skills";
import type { SkillEntry } from "../../app/workspace.ts";
import type { BlobInfo, Blobs } from "../../core/base/blobs.ts";
import { attempt } from "../../core/base/errors.ts";
import type { Redactor } from "../../core/base/redact/redact.ts";
import { percentDecoded } from "../../core/base/values.ts";
import { isBlobId } from "../../core/engine/tools/blob.ts";

/** MCP resources: files of skills and large results. Instructions of skills are prompts. */

const BLOBS = "skillflow://blobs/";

/** Largest part of a blob per read. Larger blobs are read in ranges. */
const MOST_READ = 1024 * 1024;

export const TEMPLATES: ResourceTemplateType[] = [
  {
    uriTemplate: `${BLOBS}{blob_id}{?offset,length}`,
    name: "blob",
    title: "Large result",
    description: `A part of a result that was too large to return, by its blob_id: all of it up to ${MOST_READ} bytes, or a range`,
  },
];

export function linkTo({ blob_id, kind, size_bytes }: BlobInfo): ResourceLink {
  return { type: "resource_link", uri: BLOBS + blob_id, name: blob_id, mimeType: kind, size: size_bytes };
}

export interface Readable {
  readonly skills: Pick<SkillSource, "read">;
  readonly blobs: Blobs;
  readonly redactor: Redactor;
  /** Context of the request. */
  readonly context: ServerContext;
}

/** Reads the resource at an address. Returns undefined if there is none. Throws if it must not be read. */
export async function readResource(uri: string, from: Readable): Promise<ReadResourceResult | undefined> {
  const content = await (uri.startsWith(BLOBS) ? readBlob(uri.slice(BLOBS.length), from) : readSkillFile(uri, from));
  return content && { contents: [{ uri, ...content }] };
}

type Content = { readonly mimeType: string } & ({ readonly text: string } | { readonly blob: string });

/** Returns a skill's file unchanged, because its digest covers every byte. */
async function readSkillFile(uri: string, { skills, context }: Readable): Promise<Content | undefined> {
  const { mimeType = "application/octet-stream", ...content } = (await skills.read(uri, context)) ?? {};
  if ("text" in content) return { mimeType, text: content.text };
  return "bytes" in content ? { mimeType, blob: Buffer.from(content.bytes).toString("base64") } : undefined;
}

async function readBlob(address: string, { blobs, redactor }: Readable): Promise<Content | undefined> {
  const [encoded = "", query] = address.split("?");
  const id = percentDecoded(encoded);
  const info = isBlobId(id) ? await blobs.info(id) : undefined;
  if (!info) return undefined;
  const { offset, length } = rangeOf(info, new URLSearchParams(query));
  const bytes = await blobs.read(info.blob_id, offset, length);
  const text = textOf(info.kind, bytes);
  const { kind: mimeType } = info;
  return text === undefined
    ? { mimeType, blob: Buffer.from(bytes).toString("base64") }
    : { mimeType, text: redactor.text(text) };
}

function rangeOf({ size_bytes }: BlobInfo, query: URLSearchParams) {
  const offset = numberIn(query, "offset") ?? 0;
  const wanted = numberIn(query, "length") ?? size_bytes - Math.min(offset, size_bytes);
  if (wanted <= MOST_READ) return { offset, length: wanted };
  throw new ReadRefused(
    `it has ${size_bytes} bytes, and at most ${MOST_READ} are read at once: add ?offset=0&length=${MOST_READ}, or call read_blob`,
  );
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const given = query.get(name);
  if (given === null) return undefined;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw new ReadRefused(`${name} must be a number of bytes, not "${given.slice(0, 40)}"`);
}

/** Reason why an existing resource is not returned as requested. */
export class ReadRefused extends Error {}

/** Decodes text. Returns undefined for other kinds, and for bytes that start or end inside a character. */
function textOf(kind: string, bytes: Uint8Array): string | undefined {
  return /^text\/|json|xml|yaml/.test(kind) ? decodedText(bytes) : undefined;
}

/** Decodes text without loss: a byte order mark stays. Returns undefined for other bytes. */
export function decodedText(bytes: Uint8Array): string | undefined {
  return attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
}

export function describePrompts(skills: Iterable<SkillEntry>): Prompt[] {
  return [...skills].map(({ skill }) => ({ name: skill.id, title: skill.name, description: skill.description }));
}
