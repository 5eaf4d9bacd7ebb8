import type {
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceLink,
  ResourceTemplateType,
} from "@modelcontextprotocol/server";
import { readSkillFile } from "../../app/skills/file.ts";
import type { SkillEntry } from "../../app/workspace.ts";
import type { BlobInfo, Blobs } from "../../core/base/blobs.ts";
import type { Redactor } from "../../core/base/redact/redact.ts";
import { isBlobId } from "../../core/engine/tools/blob.ts";

/** MCP resources: instructions of skills, their bundled files, and large results. Instructions are also prompts. */

const SKILLS = "skillflow://skills/";
const BLOBS = "skillflow://blobs/";

/** Largest part of a blob per read. Larger blobs are read in ranges. */
const MOST_READ = 1024 * 1024;

export function describeResources(skills: Iterable<SkillEntry>): Resource[] {
  return [...skills].flatMap(({ skill, bundle }) => [
    {
      uri: SKILLS + encodeURIComponent(skill.id),
      name: skill.id,
      title: skill.name,
      description: skill.description,
      mimeType: "text/markdown",
    },
    ...(bundle?.files ?? []).map((path) => ({
      uri: `${SKILLS}${encodeURIComponent(skill.id)}/${path.split("/").map(encodeURIComponent).join("/")}`,
      name: `${skill.id}/${path}`,
      description: `A file that the skill ${skill.name} refers to`,
      mimeType: typeOf(path),
    })),
  ]);
}

export const TEMPLATES: ResourceTemplateType[] = [
  {
    uriTemplate: `${BLOBS}{blob_id}{?offset,length}`,
    name: "blob",
    title: "Large result",
    description: `A part of a result that was too large to return, by its blob_id: all of it up to ${MOST_READ} bytes, or a range`,
  },
];

function typeOf(path: string): string {
  if (/\.(md|markdown)$/i.test(path)) return "text/markdown";
  return /\.json$/i.test(path) ? "application/json" : "text/plain";
}

export function linkTo({ blob_id, kind, size_bytes }: BlobInfo): ResourceLink {
  return { type: "resource_link", uri: BLOBS + blob_id, name: blob_id, mimeType: kind, size: size_bytes };
}

export interface Readable {
  readonly skills: ReadonlyMap<string, SkillEntry>;
  readonly blobs: Blobs;
  readonly redactor: Redactor;
}

/** Reads the resource at an address. Returns undefined if there is none. Throws if it must not be read. */
export async function readResource(
  uri: string,
  { skills, blobs, redactor }: Readable,
): Promise<ReadResourceResult | undefined> {
  const content = uri.startsWith(SKILLS)
    ? await readSkill(uri.slice(SKILLS.length), skills)
    : uri.startsWith(BLOBS)
      ? await readBlob(uri.slice(BLOBS.length), blobs, redactor)
      : undefined;
  return content && { contents: [{ uri, ...content }] };
}

type Content = { readonly mimeType: string } & ({ readonly text: string } | { readonly blob: string });

async function readSkill(address: string, skills: Readable["skills"]): Promise<Content | undefined> {
  const [id = "", ...segments] = address.split("/").map(decode);
  const entry = skills.get(id);
  if (segments.length === 0) return entry && { mimeType: "text/markdown", text: entry.skill.instruction ?? "" };
  const path = segments.join("/");
  if (!entry?.bundle?.files.includes(path)) return undefined;
  return { mimeType: typeOf(path), text: await readSkillFile(entry, path) };
}

/** Returns an empty string for malformed encoding, which matches nothing. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

async function readBlob(address: string, blobs: Blobs, redactor: Redactor): Promise<Content | undefined> {
  const [id = "", query] = address.split("?");
  const info = isBlobId(decode(id)) ? await blobs.info(decode(id)) : undefined;
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
  if (!/^text\/|json|xml|yaml/.test(kind)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function describePrompts(skills: Iterable<SkillEntry>): Prompt[] {
  return [...skills].map(({ skill }) => ({ name: skill.id, title: skill.name, description: skill.description }));
}
