import { isUtf8 } from "node:buffer";
import { setImmediate as nextRound } from "node:timers/promises";
import { attempt, inputError, messageOf } from "../../../core/base/errors.ts";
import { PATTERN_TOO_SLOW, withinSecond } from "../../../core/base/schema/time-bound.ts";
import { checkedAs, defined, type Json, type JsonObject } from "../../../core/base/values.ts";
import type { Copy } from "./copy.ts";
import { matching, type PathRules, segmentsOf, shown, whyClosed } from "./paths.ts";

interface FileCall {
  readonly input: JsonObject;
  readonly copy: Copy;
  readonly rules: PathRules;
  readonly signal: AbortSignal;
}

interface Input {
  readonly path?: string;
  readonly glob?: string;
  readonly line?: number;
  readonly lines?: number;
  readonly pattern?: string;
  readonly context?: number;
  readonly old?: string;
  readonly new?: string;
  readonly all?: boolean;
  readonly content?: string;
}

type FileTool = (call: FileCall, input: Input) => Json | Promise<Json>;

const FILE_TOOLS: Readonly<Record<string, FileTool>> = {
  list_files: listFiles,
  read_file: readFile,
  search_files: searchFiles,
  edit_file: editFile,
  write_file: (call, { path = "", content = "" }) => put(call, openPath(call, path), content),
  delete_file: (call, { path = "" }) => put(call, openPath(call, path), undefined),
  diff: showDiff,
};

export function callFileTool(name: string, call: FileCall): Json | Promise<Json> {
  call.signal.throwIfAborted();
  const tool = FILE_TOOLS[name];
  if (!tool) throw inputError(`workspace has no tool ${name}`);
  return tool(call, checkedAs<Input>(call.input));
}

const MOST_LISTED = 1000;

function selected({ copy }: FileCall, { path, glob }: Input): readonly string[] {
  const inside = copy.paths().filter(isIn(path));
  return glob === undefined ? inside : matching(inside, [glob]);
}

/** Returns a check for paths that are in a folder, or are the path itself. */
function isIn(path = ""): (each: string) => boolean {
  const folder = segmentsOf(path).join("/");
  return (each) => folder === "" || each === folder || each.startsWith(`${folder}/`);
}

function listFiles(call: FileCall, input: Input): Json {
  const found = selected(call, input);
  const { leftOut } = call.copy;
  if (found.length === 0 && input.path !== undefined && input.glob === undefined) {
    throw inputError(`there is no folder ${shown(input.path)} in the copy`);
  }
  return {
    files: found.slice(0, MOST_LISTED),
    total: found.length,
    ...(leftOut.length > 0 ? { left_out: leftOut.slice(0, 100).map((each) => ({ ...each })) } : {}),
  };
}

const MOST_LINES = 2000;
const MOST_LINE = 2000;
const MOST_READ = 50 * 1024;

function textOf({ copy }: FileCall, path: string): string {
  const content = copy.read(path);
  if (!isText(content)) throw inputError(`${shown(path)} is a binary file of ${content.length} bytes`);
  return content.toString("utf8");
}

function isText(content: Buffer): boolean {
  return isUtf8(content) && !content.includes(0);
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function cutLine(line: string): string {
  return line.length <= MOST_LINE ? line : `${line.slice(0, MOST_LINE)}… (${line.length} characters)`;
}

function readFile(call: FileCall, { path = "", line = 1, lines = MOST_LINES }: Input): Json {
  const all = linesOf(textOf(call, path));
  if (line > Math.max(1, all.length))
    throw inputError(`${shown(path)} has ${all.length} lines, so there is no line ${line}`);
  const taken: string[] = [];
  let size = 0;
  for (const each of all.slice(line - 1, line - 1 + Math.min(lines, MOST_LINES))) {
    const cut = cutLine(each);
    size += Buffer.byteLength(cut) + 1;
    if (size > MOST_READ && taken.length > 0) break;
    taken.push(cut);
  }
  const next = line + taken.length;
  return { path, line, total_lines: all.length, text: taken.join("\n"), ...(next <= all.length ? { next } : {}) };
}

const MOST_MATCHES = 200;
const MOST_SEARCHED = 2 * 1024 * 1024;

async function searchFiles(call: FileCall, { pattern = "", context = 0, ...where }: Input): Promise<Json> {
  const expression = compile(pattern);
  const matches: Json[] = [];
  const skipped: string[] = [];
  let isMore = false;
  for (const path of selected(call, where)) {
    await nextRound();
    call.signal.throwIfAborted();
    const content = attempt(() => call.copy.read(path)); // undefined for a link on the way
    if (content === undefined || !isText(content)) continue;
    if (content.length > MOST_SEARCHED) {
      skipped.push(path);
      continue;
    }
    const lines = linesOf(content.toString("utf8"));
    const found = withinSecond(() => indexesOf(lines, expression, MOST_MATCHES - matches.length + 1));
    if (found === undefined) throw inputError(`the ${PATTERN_TOO_SLOW}: make it simpler`);
    for (const index of found.slice(0, MOST_MATCHES - matches.length)) {
      const around = (from: number, to: number) => lines.slice(Math.max(0, from), to).map(cutLine);
      const before = around(index - context, index);
      const after = around(index + 1, index + 1 + context);
      const match = { path, line: index + 1, text: cutLine(lines[index] ?? "") };
      matches.push(context > 0 ? { ...match, before, after } : match);
    }
    isMore = matches.length === MOST_MATCHES && found.length > 0;
    if (matches.length === MOST_MATCHES) break;
  }
  return {
    matches,
    ...(isMore ? { more: true } : {}),
    ...(skipped.length > 0 ? { too_large: skipped.slice(0, 20) } : {}),
  };
}

function compile(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch (error) {
    throw inputError(`the pattern is not a regular expression: ${messageOf(error)}`);
  }
}

function indexesOf(lines: readonly string[], expression: RegExp, most: number): number[] {
  const found: number[] = [];
  for (let index = 0; index < lines.length && found.length < most; index += 1) {
    if (expression.test(lines[index] ?? "")) found.push(index);
  }
  return found;
}

function openPath({ rules }: FileCall, path: string): string {
  const segments = segmentsOf(path);
  if (segments.length === 0) throw inputError(`${shown(path)} is a folder`);
  const why = whyClosed(segments, rules);
  if (why !== undefined) throw inputError(`${shown(path)} ${why}`);
  return segments.join("/");
}

const MOST_FILE = 400 * 1024;

function put({ copy }: FileCall, path: string, text: string | undefined): JsonObject {
  checkSize(path, text === undefined ? 0 : Buffer.byteLength(text));
  const { mode: _, ...told } = copy.put(path, text === undefined ? undefined : Buffer.from(text, "utf8"));
  return told;
}

function checkSize(path: string, size: number): void {
  if (size > MOST_FILE) throw inputError(`${shown(path)} would have ${size} bytes, but a file may have ${MOST_FILE}`);
}

function editFile(call: FileCall, { path: given = "", old = "", new: next = "", all = false }: Input): Json {
  const path = openPath(call, given);
  const text = textOf(call, path);
  if (text.length > MOST_SEARCHED) throw inputError(`${shown(path)} is too large to edit: ${text.length} characters`);
  const places = placesOf(text, old);
  if (places.length === 0) throw inputError(`${shown(path)} does not contain the text of old. Read it again`);
  if (places.length > 1 && !all) {
    const lines = places.slice(0, 10).map((place) => text.slice(0, place).split("\n").length);
    const where = `at lines ${lines.join(", ")}${places.length > 10 ? " …" : ""}`;
    const hint = "give more of the text around it, or set all";
    throw inputError(`${shown(path)} contains the text ${places.length} times, ${where}: ${hint}`);
  }
  checkSize(path, text.length + places.length * (next.length - old.length));
  return { ...put(call, path, text.split(old).join(next)), ...(all ? { replaced: places.length } : {}) };
}

function placesOf(text: string, part: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) places.push(at);
  return places;
}

async function showDiff({ copy }: FileCall, { path }: Input): Promise<Json> {
  const { base, diff, files } = await copy.change();
  const isShown = isIn(path);
  const parts = diff.split(/^(?=diff --git )/m);
  const told = files.flatMap((file, index) => (isShown(file.path) ? [{ file, part: parts[index] ?? "" }] : []));
  return {
    base,
    ...defined("path", path),
    files: told.map(({ file }) => ({ ...file })),
    // A list for the field `files` of run_command in a steps node, so that no model names them.
    paths: told.flatMap(({ file }) => (file.change === "deleted" ? [] : [file.path])),
    diff: told.map(({ part }) => part).join(""),
  };
}
