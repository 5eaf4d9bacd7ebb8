import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { type Diagnostic, fieldPath } from "../../core/base/diagnostic.ts";
import { hasCode, messageOf } from "../../core/base/errors.ts";
import type { Hint } from "../../core/base/options.ts";
import type { Json, JsonObject } from "../../core/base/values.ts";
import { parseSource, type SourceField, type SourceProblem, sourceFields } from "../../core/document/check/sources.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { ResolvedSource } from "../../core/engine/event/record.ts";
import { digestOf, isWithin, PLAIN_FILE } from "../../files/files.ts";
import { type EgressOptions, type Fetched, fetchText } from "./source-fetch.ts";

export interface SourceOptions extends EgressOptions {
  /** Base of the document's relative paths: its own folder, or the working directory if it has none. */
  readonly baseDir: string;
  /** Base of the input's relative paths. */
  readonly workDir: string;
  /** Folder that the document's files must be in, by real path. */
  readonly documentRoot: string;
  /** Folder that the input's files must be in. Undefined if the input's `rules` and `context` are data. */
  readonly inputRoot: string | undefined;
  /** Returns the checkout's path for one in a copy of a commit. Undefined if the document is not in one. */
  readonly inCheckout?: ((path: string) => string) | undefined;
  /** Makes URL Sources fail. */
  readonly offline: boolean | undefined;
}

/**
 * Resolves all Sources of a run and reports all problems together. Each file and URL is read once. Returns the Sources by
 * field path, such as `nodes.collect.context[1]`. Fields with a problem are missing.
 */
export async function loadSources(workflow: Workflow, input: JsonObject, options: SourceOptions) {
  return loadFields(sourceFields(workflow, options.inputRoot === undefined ? {} : input), options);
}

/** Reports problems with the files that a document names, without fetching URLs. */
export async function checkFiles(workflow: Workflow, options: SourceOptions): Promise<readonly Diagnostic[]> {
  const isFile = ({ value }: SourceField) => {
    const form = parseSource(value);
    return "kind" in form && form.kind === "file";
  };
  const { diagnostics } = await loadFields(sourceFields(workflow, {}).filter(isFile), options);
  return diagnostics;
}

async function loadFields(fields: readonly SourceField[], options: SourceOptions) {
  const outside: Outside = {
    options,
    read: once(readText),
    fetch: once(async (url) => ({ fetchedAt: new Date().toISOString(), ...(await fetchText(url, options)) })),
  };
  const outcomes = await mapSome(fields, (field) => resolveSource(field, outside));
  /** Sources by field path, such as `nodes.collect.context[1]`. Fields with a problem are missing. */
  const sources: [string, ResolvedSource][] = [];
  const diagnostics: Diagnostic[] = [];
  for (const [{ path }, outcome] of outcomes) {
    const field = fieldPath(path);
    const isBlank = path.at(-1) === "instruction" && "content" in outcome && outcome.content.trim() === "";
    if (isBlank) diagnostics.push({ severity: "error", code: "SCHEMA", path, message: `${field} must not be empty` });
    else if ("content" in outcome) sources.push([field, outcome]);
    else diagnostics.push({ severity: "error", ...outcome, message: `${field}: ${outcome.message}`, path });
  }
  return { sources: Object.fromEntries(sources), diagnostics };
}

interface Outside {
  readonly options: SourceOptions;
  readonly read: (path: string) => string;
  readonly fetch: (url: string) => Promise<Fetched & { readonly fetchedAt: string }>;
}

/** Calls with the same key share one result. */
function once<Value>(work: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    const result = known.get(key) ?? work(key);
    known.set(key, result);
    return result;
  };
}

const AT_A_TIME = 16;

/** Maps items with limited concurrency and returns them with their results in order. */
async function mapSome<Item, Value>(items: readonly Item[], work: (item: Item) => Value | Promise<Value>) {
  const outcomes: [Item, Value][] = [];
  const rest = items.entries();
  const lane = async () => {
    for (const [index, item] of rest) outcomes[index] = [item, await work(item)];
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  return outcomes;
}

type Outcome = ResolvedSource | SourceProblem;

function resolveSource(field: SourceField, outside: Outside): Outcome | Promise<Outcome> {
  const form = parseSource(field.value);
  if (!("kind" in form)) return form;
  const origin = field.value as Json;
  if (form.kind === "inline") return resolved(form.text, { kind: "inline", resolver: "inline", origin });
  return form.kind === "file" ? resolveFile(field, form, outside) : resolveUrl(field, form, outside);
}

function resolved(content: string, rest: Omit<ResolvedSource, "content" | "hash">): ResolvedSource {
  return { content, hash: digestOf(content).slice(0, 16), ...rest };
}

async function resolveUrl(field: SourceField, { url }: { readonly url: string }, outside: Outside): Promise<Outcome> {
  if (outside.options.offline) {
    const hint: Hint = ["Run without ", { option: "offline" }, ", or keep a copy as a file."];
    return { code: "SOURCE_OFFLINE_REQUIRES_FETCH", message: `${url} is not fetched while offline`, hint };
  }
  const fetched = await outside.fetch(url);
  if ("problem" in fetched) return fetched.problem;
  const { content, fetchedAt } = fetched;
  return resolved(content, { kind: "url", resolver: "fetch", origin: field.value as Json, fetchedAt });
}

function resolveFile(field: SourceField, form: { readonly path: string }, { options, read }: Outside): Outcome {
  const { baseDir, workDir, inCheckout } = options;
  const from = field.from === "input" ? workDir : baseDir;
  const missing = (path: string) => (field.from === "input" ? notFound(path, from) : notFound(path, from, inCheckout));
  const sourcePath = resolve(from, form.path);
  if (sourcePath.includes("\0")) return unreadable(JSON.stringify(sourcePath), "its name contains a NUL character");
  try {
    const { realPath, isMissing } = locate(sourcePath);
    const refused = refusal(field, { sourcePath, realPath, written: form.path }, options);
    if (refused) return refused;
    if (isMissing) return missing(sourcePath);
    return resolved(read(realPath), { kind: "file", resolver: "file", origin: field.value as Json, sourcePath });
  } catch (error) {
    if (hasCode(error, ...MISSING)) return missing(sourcePath);
    return unreadable(sourcePath, error instanceof TypeError ? "it is not UTF-8 text" : messageOf(error));
  }
}

const MISSING = ["ENOENT", "ENOTDIR"];

/** Returns the real path of a file. For a missing one, resolves its existing folders, so that it can be checked too. */
function locate(path: string): { readonly realPath: string; readonly isMissing: boolean } {
  try {
    return { realPath: realpathSync(path), isMissing: false };
  } catch (error) {
    if (!hasCode(error, ...MISSING) || dirname(path) === path) throw error;
    return { realPath: join(locate(dirname(path)).realPath, basename(path)), isMissing: true };
  }
}

/** Explains why a file is refused, without revealing whether it exists. */
function refusal(
  { from }: SourceField,
  named: Record<"sourcePath" | "realPath" | "written", string>,
  { documentRoot, inputRoot, workDir }: SourceOptions,
): SourceProblem | undefined {
  const root = from === "input" ? (inputRoot ?? workDir) : documentRoot;
  const { realPath: realRoot } = locate(root);
  if (!isWithin(realRoot, named.realPath)) return outsideRoot(named.sourcePath, root, from);
  if (from === "document") return undefined;
  const paths = [relative(realRoot, named.realPath), isAbsolute(named.written) ? "" : named.written];
  return paths.some(hasDotSegment) ? hiddenFile(named.sourcePath) : undefined;
}

function hasDotSegment(path: string): boolean {
  return path.split(/[/\\]/).some((segment) => segment.startsWith(".") && segment !== ".");
}

const MAX_BYTES = 5 * 1024 * 1024;

/** Reads UTF-8 without the byte-order mark. Throws if that is not possible. */
function readText(realPath: string): string {
  const file = openSync(realPath, constants.O_RDONLY | PLAIN_FILE);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error(stats.isDirectory() ? "it is a directory" : "it is not a regular file");
    const bytes = stats.size > MAX_BYTES ? undefined : readFileSync(file);
    if (!bytes || bytes.length > MAX_BYTES) throw new Error("it is larger than 5 MiB");
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } finally {
    closeSync(file);
  }
}

function notFound(path: string, from: string, inCheckout?: (path: string) => string): SourceProblem {
  const shown = inCheckout ?? ((same: string) => same);
  const links = inCheckout ? " Links of a commit are not followed." : "";
  const hint = `Paths start in ${shown(from)}.${links} Write text that begins like a path as {inline: …}.`;
  const where = inCheckout ? " in the commit" : "";
  return { code: "SOURCE_FILE_NOT_FOUND", message: `there is no file ${shown(path)}${where}`, hint };
}

function unreadable(path: string, reason: string): SourceProblem {
  const hint = "A file Source must be readable UTF-8 text of at most 5 MiB.";
  return { code: "SOURCE_FILE_READ_FAILED", message: `${path} cannot be read: ${reason}`, hint };
}

function outsideRoot(path: string, root: string, from: SourceField["from"]): SourceProblem {
  const what = from === "input" ? "Files named by the input" : "Files named by the document";
  const option = { option: "file-root", value: "DIR" } as const;
  const hint: Hint = [`${what} must be in ${root} after links are resolved. Name another folder with `, option, "."];
  return { code: "SOURCE_FILE_OUTSIDE_ROOT", message: `${path} is outside ${root}`, hint };
}

function hiddenFile(path: string): SourceProblem {
  const hint = "Name a file without .. and without a name that begins with a dot.";
  return { code: "SOURCE_FILE_OUTSIDE_ROOT", message: `${path} is not a file that the input may name`, hint };
}
