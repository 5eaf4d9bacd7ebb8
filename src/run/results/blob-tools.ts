import type { BlobInfo, Blobs } from "../../core/base/blobs.ts";
import { inputError, SkillflowError } from "../../core/base/errors.ts";
import { imageFault, isImage } from "../../core/base/image.ts";
import { faultOfPattern, PATTERN_TOO_SLOW, withinSecond } from "../../core/base/schema/time-bound.ts";
import { checkedAs, type JsonObject } from "../../core/base/values.ts";
import { wholeText } from "../../core/engine/tools/blob.ts";

/** Reads and searches blobs. */

type Read = (blobs: Blobs, input: JsonObject) => Promise<JsonObject>;

/** Implementations of the blob tools, by name. Their input is already validated. */
export const BLOB_READERS: Readonly<Record<string, Read>> = {
  read_blob: (blobs, input) => readBlob(blobs, checkedAs<ReadBlob>(input)),
  search_blob: (blobs, input) => searchBlob(blobs, checkedAs<SearchBlob>(input)),
};

const MOST_READ = 4000;
const CHUNK = 1024 * 1024;

interface ReadBlob {
  readonly blob_id: string;
  readonly line?: number;
  readonly offset?: number;
  readonly max_bytes?: number;
}

/** Reads a part of a blob on character boundaries, and returns the offset of the next part. */
export async function readBlob(blobs: Readable, wanted: ReadBlob): Promise<JsonObject> {
  const info = await known(blobs, wanted.blob_id);
  const start =
    wanted.line === undefined ? startOf(info, wanted.offset ?? 0) : await lineStart(blobs, info, wanted.line);
  const bytes = await blobs.read(info.blob_id, start, wanted.max_bytes ?? MOST_READ);
  const whole = wholeText(bytes);
  const next = start + (whole.end > whole.start ? whole.end : bytes.length);
  return {
    blob_id: info.blob_id,
    kind: info.kind,
    size_bytes: info.size_bytes,
    offset: start + whole.start,
    next_offset: next < info.size_bytes ? next : null,
    text: whole.text,
  };
}

export type Readable = Pick<Blobs, "info" | "read">;

async function known(blobs: Readable, id: string): Promise<BlobInfo> {
  const info = await blobs.info(id);
  if (info && isImage(info)) throw inputError(`${id} is an image without text`);
  if (info) return info;
  throw new SkillflowError("blob.unknown", `there is no blob ${id}`);
}

function startOf({ size_bytes }: BlobInfo, offset: number): number {
  return offset < 0 ? Math.max(0, size_bytes + offset) : Math.min(offset, size_bytes);
}

async function lineStart(blobs: Readable, info: BlobInfo, line: number): Promise<number> {
  let left = line - 1;
  for (let offset = 0; left > 0 && offset < info.size_bytes; ) {
    const bytes = await blobs.read(info.blob_id, offset, CHUNK);
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) {
      if (--left === 0) return offset + at + 1;
    }
    offset += bytes.length;
  }
  return left > 0 ? info.size_bytes : 0;
}

interface SearchBlob {
  readonly blob_id: string;
  readonly query: string;
  readonly regex?: boolean;
  readonly ignore_case?: boolean;
  readonly context?: number;
  readonly max_matches?: number;
}

const MOST_MATCHES = 20;
const MOST_LINE = 500;
/** Longer lines are searched in pieces. */
const LONGEST_LINE = 64 * 1024;

interface Line {
  readonly number: number;
  readonly offset: number;
  readonly text: string;
}

/** Returns the lines that contain a text or match a pattern, in order, and their total. */
export async function searchBlob(blobs: Readable, wanted: SearchBlob): Promise<JsonObject> {
  const info = await known(blobs, wanted.blob_id);
  const find = finderOf(wanted);
  const most = wanted.max_matches ?? MOST_MATCHES;
  const around = keepAround(wanted.context ?? 0);
  const matches: Match[] = [];
  let total = 0;
  for await (const lines of linesOf(blobs, info)) {
    const places = find(lines.map((line) => line.text));
    for (const [index, line] of lines.entries()) {
      const at = places[index] ?? -1;
      if (at < 0) around.pass(line);
      else if (++total <= most) matches.push(around.match(line, at));
    }
  }
  return { blob_id: info.blob_id, total, matches };
}

/** Number of bytes of a blob that are searched for a quote. */
const MOST_QUOTED = 256 * 1024 * 1024;

/** Returns the text of a blob, or undefined if it is not text or is missing. */
export async function blobText(blobs: Blobs, id: string): Promise<string | undefined> {
  const info = await blobs.info(id);
  if (!info || !/^text\/|json|xml|yaml|javascript/.test(info.kind)) return undefined;
  return wholeText(await blobs.read(id, 0, Math.min(info.size_bytes, MOST_QUOTED))).text;
}

/** Returns the bytes of an image for a model, or undefined if it is unusable or missing. */
export async function imageBytes(blobs: Blobs, { blob_id }: BlobInfo): Promise<Uint8Array | undefined> {
  const info = await blobs.info(blob_id);
  if (!info || !isImage(info)) return undefined;
  const bytes = await blobs.read(blob_id, 0, info.size_bytes);
  return imageFault(bytes, info.kind) === undefined ? bytes : undefined;
}

type Match = { line: number; offset: number; text: string; before?: string[]; after?: string[] };

function keepAround(count: number) {
  let before: string[] = [];
  let last: Match | undefined;
  const pass = ({ text }: Line) => {
    if (count === 0) return;
    const shown = clipAt(text, 0);
    if (last?.after && last.after.length < count) last.after.push(shown);
    before = [...before, shown].slice(-count);
  };
  return {
    pass,
    match(line: Line, at: number): Match {
      const match = { line: line.number, offset: line.offset, text: clipAt(line.text, at) };
      const found: Match = count === 0 ? match : { ...match, before, after: [] };
      pass(line);
      last = found;
      return found;
    },
  };
}

/** Returns the position of the match in each line, or -1. */
type Finder = (lines: readonly string[]) => readonly number[];

function finderOf({ query, regex, ignore_case }: SearchBlob): Finder {
  if (regex) return patternFinder(query, ignore_case ? "i" : "");
  if (!ignore_case) return (lines) => lines.map((line) => line.indexOf(query));
  const lower = query.toLowerCase();
  return (lines) => lines.map((line) => line.toLowerCase().indexOf(lower));
}

function patternFinder(source: string, flags: string): Finder {
  const fault = faultOfPattern(source, flags);
  if (fault !== undefined) throw inputError(`the pattern is not a regular expression: ${fault}`);
  const pattern = new RegExp(source, flags);
  return (lines) => {
    const places = withinSecond(() => lines.map((line) => line.search(pattern)));
    if (places) return places;
    throw inputError(`the pattern takes too long on these lines; search for a string (${PATTERN_TOO_SLOW})`);
  };
}

async function* linesOf(blobs: Readable, info: BlobInfo): AsyncGenerator<readonly Line[]> {
  let rest: Uint8Array = new Uint8Array();
  let number = 1;
  let start = 0;
  for (let offset = 0; offset < info.size_bytes || rest.length > 0; ) {
    const chunk = await blobs.read(info.blob_id, offset, CHUNK);
    offset += chunk.length;
    const bytes = Buffer.concat([rest, chunk]);
    const lines: Line[] = [];
    let from = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      lines.push(...piecesOf(bytes.subarray(from, end), number++, start + from));
      from = end + 1;
    }
    const isLast = offset >= info.size_bytes;
    const open = bytes.length - from;
    if ((isLast && open > 0) || open > LONGEST_LINE) {
      const cut = isLast ? bytes.length : from + wholeText(bytes.subarray(from)).end;
      lines.push(...piecesOf(bytes.subarray(from, cut), number, start + from));
      from = cut;
    }
    rest = bytes.subarray(from);
    start += from;
    yield lines;
    if (isLast) return;
  }
}

function piecesOf(bytes: Buffer, number: number, offset: number): Line[] {
  if (bytes.length <= LONGEST_LINE) return [{ number, offset, text: bytes.toString("utf8") }];
  const pieces = Math.ceil(bytes.length / LONGEST_LINE);
  return Array.from({ length: pieces }, (_, index) => ({
    number,
    offset: offset + index * LONGEST_LINE,
    text: bytes.toString("utf8", index * LONGEST_LINE, (index + 1) * LONGEST_LINE),
  }));
}

function clipAt(line: string, at: number): string {
  if (line.length <= MOST_LINE) return line;
  const from = Math.max(0, Math.min(at - MOST_LINE / 4, line.length - MOST_LINE));
  return `${from > 0 ? "…" : ""}${line.slice(from, from + MOST_LINE)}${from + MOST_LINE < line.length ? "…" : ""}`;
}
