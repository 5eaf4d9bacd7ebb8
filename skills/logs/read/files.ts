import { type Dirent, promises } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Inside, openInside, resolveInside, type ToolContext } from "skillflow";
import { type Layout, layoutOf, readRows } from "../rows/rows.ts";
import { type Block, blocksOf, type Fill, readPieces, readPlain, unpacked } from "./blocks.ts";
import { globBase, isGlob, matchesGlob } from "./glob.ts";

/** One or more paths or globs. */
export type Files = string | readonly string[];

export interface LogFile {
  /** Path relative to the working directory or LOGS_ROOT. */
  readonly name: string;
  readonly place: Inside;
}

export interface OpenLog {
  readonly name: string;
  /** Size on disk in bytes. */
  readonly size: number;
  readonly packed: boolean;
  readonly layout: Layout;
  /** The first 64 KB of the unpacked file, or all of it if it is shorter. */
  readonly head: Buffer;
  /** True if reading can start at any line. Offsets are then those of the file itself. */
  readonly seekable: boolean;
  /** Last modification time in Unix milliseconds. */
  readonly modified: number;
  /**
   * Reads blocks of lines from an offset. For a seekable file it must be the start of a line. Other files are read from
   * the start, with offsets in the uncompressed and converted text.
   */
  blocks(from?: number): AsyncGenerator<Block>;
}

const MOST_ENTRIES = 50_000;

/** Finds the log files for paths and globs, sorted by name. Throws an Error that lists existing files. */
export async function chooseFiles(
  wanted: string | readonly string[],
  context: ToolContext,
): Promise<readonly LogFile[]> {
  const chosen = new Map<string, LogFile>();
  for (const name of typeof wanted === "string" ? [wanted] : wanted) {
    const found = isGlob(name) ? await expandGlob(name, context) : [await chooseFile(name, context)];
    for (const file of found) chosen.set(file.place.path, file);
  }
  if (chosen.size === 0) throw new Error(`no file matches ${wanted}. ${await whatIsThere(context)}`);
  return [...chosen.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export async function chooseFile(name: string, context: ToolContext): Promise<LogFile> {
  let refusal = "does not exist";
  for (const root of rootsOf(context)) {
    const place = await resolveInside(root, name);
    const reason = place.inside ? await withheldFrom(root, place, context) : place.message;
    if (place.inside && reason === undefined) {
      return { name: name.startsWith("/") ? place.relative : tidy(name), place };
    }
    if (reason !== undefined && (place.inside || place.reason !== "missing")) refusal = reason;
  }
  if (/^f\d+$/.test(name) && refusal === "does not exist") {
    throw new Error(
      `the alias ${name} is only valid in one result; give the file's path from \`files\` of that result`,
    );
  }
  throw new Error(`${name} ${refusal}. ${await whatIsThere(context)}`);
}

/** Opens a file for `use` and closes it afterwards. Adds a note about damage. */
export async function withLog<T>(
  file: LogFile,
  context: ToolContext,
  notes: string[],
  use: (log: OpenLog) => Promise<T>,
): Promise<T> {
  const opened = await openInside(file.place);
  if (!("file" in opened)) throw new Error(`${file.name} ${opened.message}`);
  const { file: handle, stats } = opened;
  try {
    const packed = await beginsLikeGzip(file.name, (into) => handle.read(into, 0, into.length, 0));
    const onDamage = (reason: string) =>
      notes.push(`${file.name} is damaged or truncated (${reason}); read up to that point`);
    const plain = (from = 0) => readPlain(handle, from, stats.size);
    const text = () => (packed ? readPieces(unpacked(plain(), onDamage)) : plain());
    const head = await headOf(packed ? unpacked(plain(), () => undefined) : text());
    const layout = layoutOf(file.name, head);
    const rows = () => (layout === "lines" ? text() : readPieces(readRows(text(), layout, file.name, context.signal)));
    const seekable = !packed && layout === "lines";
    return await use({
      name: file.name,
      size: stats.size,
      packed,
      layout,
      head,
      seekable,
      modified: stats.mtimeMs,
      blocks: (from = 0) =>
        seekable ? blocksOf(plain(from), context.signal, { offset: from }) : blocksOf(rows(), context.signal),
    });
  } finally {
    await handle.close();
  }
}

const HEAD = 64 * 1024;

async function headOf(source: Fill | AsyncGenerator<Buffer>): Promise<Buffer> {
  const head = Buffer.alloc(HEAD);
  if (typeof source === "function") return head.subarray(0, await source(head));
  let filled = 0;
  for await (const piece of source) {
    filled += piece.copy(head, filled);
    if (filled === HEAD) break;
  }
  return head.subarray(0, filled);
}

async function beginsLikeGzip(name: string, read: (into: Buffer) => Promise<unknown>): Promise<boolean> {
  if (!name.endsWith(".gz")) return false;
  const head = Buffer.alloc(2);
  await read(head);
  return head[0] === 0x1f && head[1] === 0x8b;
}

function rootsOf(context: ToolContext): readonly string[] {
  const extra = context.config["LOGS_ROOT"];
  return extra ? [context.workDir, extra] : [context.workDir];
}

/** Returns why a file is withheld. Earlier runs directly in LOGS_ROOT are not: the operator chose that folder. */
function withheldFrom(root: string, place: Inside, context: ToolContext): Promise<string | undefined> {
  return withheld(place, root === context.config["LOGS_ROOT"]);
}

function tidy(name: string): string {
  return name
    .split("/")
    .filter((segment) => segment !== "" && segment !== ".")
    .join("/");
}

async function expandGlob(glob: string, context: ToolContext): Promise<readonly LogFile[]> {
  if (glob.startsWith("/")) throw new Error(`${glob} is absolute; write patterns relative to the working directory`);
  const pattern = tidy(glob);
  const found: LogFile[] = [];
  for (const root of rootsOf(context)) {
    for (const name of await filesBelow(root, pattern, context)) {
      if (!matchesGlob(pattern, name)) continue;
      const place = await resolveInside(root, name);
      if (place.inside && (await withheldFrom(root, place, context)) === undefined) found.push({ name, place });
    }
  }
  return found;
}

/** Lists files and links below a root that a pattern might match. Does not follow linked directories. */
async function filesBelow(root: string, pattern: string, context: ToolContext): Promise<readonly string[]> {
  const { folder, depth } = globBase(pattern);
  const base = await resolveInside(root, folder);
  if (!base.inside) {
    if (base.reason === "missing") return [];
    throw new Error(`${folder} ${base.message}`);
  }
  const names: string[] = [];
  const folders = [{ name: folder, path: base.path, depth: 1 }];
  let entries = 0;
  for (let at = folders.shift(); at; at = folders.shift()) {
    context.signal.throwIfAborted();
    for (const entry of await entriesOf(at.path)) {
      if (++entries > MOST_ENTRIES) throw new Error(`${pattern} matches more than ${MOST_ENTRIES} files; narrow it`);
      const name = at.name ? `${at.name}/${entry.name}` : entry.name;
      if (!entry.isDirectory()) names.push(name);
      else if (at.depth < depth && entry.name !== "node_modules" && !isHidden(entry.name)) {
        folders.push({ name, path: join(at.path, entry.name), depth: at.depth + 1 });
      }
    }
  }
  return names;
}

/** Lists a directory. One that cannot be read counts as empty. */
async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    const entries = await promises.readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile() || entry.isDirectory() || entry.isSymbolicLink());
  } catch (error) {
    if (error instanceof Error && "code" in error) return [];
    throw error;
  }
}

const SUGGESTED = 20;

async function whatIsThere(context: ToolContext): Promise<string> {
  const files = [...(await expandGlob("*", context)), ...(await expandGlob("*/*", context))];
  const names = files.map((file) => file.name);
  const logs = names.filter((name) => /log|\.(?:txt|json|jsonl|ndjson|out|err|gz)/i.test(name));
  const shown = (logs.length > 0 ? logs : names).sort().slice(0, SUGGESTED);
  return shown.length > 0 ? `Files: ${shown.join(", ")}` : "The working directory has no files.";
}

/**
 * Returns why a file may not be read, or undefined. Hidden files may contain credentials, and skillflow's own files
 * contain earlier runs. Users who want them set LOGS_ROOT to their folder.
 */
export async function withheld(place: Inside, named: boolean): Promise<string | undefined> {
  if (/^\/(?:proc|sys)\//.test(place.path)) return "is a system file, not a log file";
  if (isHidden(place.relative))
    return "is in a hidden folder, or its name starts with a dot; set LOGS_ROOT to its folder to read it";
  const direct = named && !place.relative.includes("/");
  if (direct || !(await isOurs(place))) return undefined;
  return "was written by a skillflow run; set LOGS_ROOT to its folder to read it";
}

export function isHidden(path: string): boolean {
  return path.split("/").some((segment) => segment.startsWith(".") && segment !== ".");
}

/** Returns true for skillflow's own files. They carry a mark, or are recognized by marked files next to them. */
async function isOurs(place: Inside): Promise<boolean> {
  const [folder, name = ""] = [dirname(place.path), place.path.split("/").at(-1)];
  const run = /^(.*\/[^/]+)\.blobs\//.exec(place.path)?.[1];
  if (run !== undefined && (await isMarked({ ...place, path: `${run}.jsonl` }))) return true;
  if (/\.jsonl?$/.test(name) && (await isMarked(place))) return true;
  if (!REPORTS.has(name)) return false;
  const beside = (await readdir(folder)).filter((each) => each === "result.json" || each === "trace.jsonl");
  const marks = await Promise.all(beside.map((each) => isMarked({ ...place, path: join(folder, each) })));
  return marks.some(Boolean);
}

const REPORTS: ReadonlySet<string> = new Set(["summary.md", "junit.xml", "report.html", "plan.json"]);
const MARK = /^\s*\{\s*"schema":\s*"skillflow\./;

async function isMarked(place: Inside): Promise<boolean> {
  const opened = await openInside(place);
  if (!("file" in opened)) return false;
  try {
    const { buffer, bytesRead } = await opened.file.read(Buffer.alloc(64), 0, 64, 0);
    return MARK.test(buffer.toString("latin1", 0, bytesRead));
  } finally {
    await opened.file.close();
  }
}
