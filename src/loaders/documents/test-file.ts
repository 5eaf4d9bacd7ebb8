import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { messageOf } from "../../core/base/errors.ts";
import { parsePath } from "../../core/base/path.ts";
import { defined, isObject, type Json, parseJson, textAt } from "../../core/base/values.ts";
import { matcherProblems } from "../../core/outward/testing/matcher.ts";
import { type Script, scriptSchema } from "../../core/outward/testing/script.ts";
import { type TestFile, testFileSchema } from "../../core/outward/testing/test-file.ts";
import { isWithin, readPlainNow } from "../../files/files.ts";
import { type Place, parseYaml } from "../text/yaml-text.ts";
import { nearFile, parseDocument } from "./document-text.ts";
import { describeIssues } from "./schema-findings.ts";

export interface LoadedTest {
  readonly file: string;
  readonly path: string;
  readonly text: string;
  /** Test with file names replaced by the files' content. Undefined if it has errors. */
  readonly test: TestFile | undefined;
  /** Names that can be checked even if the test has errors elsewhere. Undefined if there are none. */
  readonly sketch: TestSketch | undefined;
  readonly diagnostics: readonly Diagnostic[];
  /** Other files that the test includes. */
  readonly files: readonly string[];
  readonly position: (path: Diagnostic["path"]) => Place;
}

type Problem = Pick<Diagnostic, "code" | "message" | "hint">;

/** Loads a test. The real paths of files that it names must be in `root`. */
export function loadTestFile(path: string, shownAs: string, root: string): LoadedTest {
  const read = readNamed(path, shownAs, root);
  const about = { file: shownAs, path, text: "" };
  const nothing = { ...about, test: undefined, sketch: undefined, files: [], position: () => ({}) };
  if ("code" in read) return { ...nothing, diagnostics: [{ ...read, severity: "error", path: [], file: shownAs }] };
  const { text } = read;
  const parsed = parseDocument(text, shownAs);
  if (parsed.faults.length > 0) {
    const hint = 'a file is named in quotes: "@file"';
    const isFileName = ({ line = 1, column = 1 }: Place) => text.split("\n")[line - 1]?.[column - 1] === "@";
    const diagnostics = parsed.faults.map((fault) => (isFileName(fault) ? { ...fault, hint } : fault));
    return { ...nothing, text, diagnostics };
  }
  const files: string[] = [];
  const filled = fillIn(parsed.value, (named) => {
    const found = readValue(resolve(dirname(path), named), named, root);
    if (!("code" in found)) files.push(found.path);
    return found;
  });
  const found = [...shapeFindings(parsed.value), ...filled.problems];
  const test = found.length === 0 ? testFileSchema().parse(filled.value) : undefined;
  const sketch = sketchOf(parsed.value);
  const { position, place } = parsed;
  return { file: shownAs, path, text, test, sketch, diagnostics: place(found), files, position };
}

export type TestSketch = NonNullable<ReturnType<typeof sketchOf>>;

function sketchOf(value: unknown) {
  if (!isObject(value)) return undefined;
  const keysAt = (place: string) => partsAt(value, place).map(({ path }) => ({ name: String(path.at(-1)), path }));
  const namesAt = (place: string) => partsAt(value, place).flatMap(({ value: name, path }) => nameAt(name, path));
  return {
    workflow: textAt(value, "workflow"),
    model: textAt(value, "model"),
    tools: [
      ...keysAt("tools.{}"),
      ...namesAt("cases.[].expect.called.[]"),
      ...namesAt("cases.[].expect.not_called.[]"),
      ...namesAt("cases.[].expect.planned.[].tool"),
    ],
    steps: keysAt("cases.[].expect.steps.{}"),
    nodes: [
      ...keysAt("cases.[].approvals.{}"),
      ...namesAt("cases.[].expect.path.[]"),
      ...keysAt("cases.[].expect.data.{}").flatMap(({ name, path }) => nameAt(parsePath(name)?.segments[0]?.key, path)),
      ...namesAt("cases.[].expect.planned.[].node"),
    ],
    /** Places that compare prompts. */
    prompts: partsAt(value, "cases.[].expect.prompts")
      .filter((part) => part.value === "unchanged")
      .map(({ path }) => path),
  };
}

function nameAt(name: unknown, path: Diagnostic["path"]) {
  return typeof name === "string" ? [{ name, path }] : [];
}

/** Part of a document that may be malformed elsewhere. */
interface Part {
  readonly value: unknown;
  readonly path: Diagnostic["path"];
  /** Map or list that contains it. */
  readonly around: unknown;
}

/** Returns the parts at a place such as `cases.[].name`, in which `[]` is any item and `{}` any member. */
function partsAt(root: unknown, place: string, base: Diagnostic["path"] = []): Part[] {
  const start: Part[] = [{ value: root, path: base, around: undefined }];
  return place.split(".").reduce((parts, key) => parts.flatMap((part) => below(part, key)), start);
}

function below({ value: around, path }: Part, key: string): Part[] {
  if (key === "[]") {
    return (Array.isArray(around) ? around : []).map((value, index) => ({ value, path: [...path, index], around }));
  }
  const members = Object.entries(isObject(around) ? around : {}).filter(([name]) => key === "{}" || key === name);
  return members.map(([name, value]) => ({ value, path: [...path, name], around }));
}

function shapeFindings(value: unknown): Diagnostic[] {
  const matchers = partsAt(value, "cases.[].expect.{}")
    .flatMap((part) => {
      const isMap = ["data", "evidence"].includes(String(part.path.at(-1))) && isObject(part.value);
      return isMap ? partsAt(part.value, "{}", part.path) : [part];
    })
    .flatMap(({ value: wanted, path }) => matcherProblems(wanted as Json, path))
    .map(({ message, hint, path }): Diagnostic => ({ ...wrong(path, message, hint), code: "TEST_MATCHER" }));
  const known = new Set(matchers.map(({ path }) => JSON.stringify(path.slice(0, 4))));
  const shape = describeIssues(testFileSchema(), value).filter(
    ({ path }) => !known.has(JSON.stringify(path.slice(0, 4))),
  );
  const names = partsAt(value, "cases.[].name").filter(({ value: name }) => typeof name === "string");
  const twice = names.filter((part, index) => names.findIndex(({ value: name }) => name === part.value) < index);
  return [
    ...shape,
    ...matchers,
    ...twice.map(({ value: name, path }) => wrong(path, `an earlier case has the name "${name}"`)),
  ];
}

function wrong(path: Diagnostic["path"], message: string, hint?: string): Diagnostic {
  return { severity: "error", code: "SCHEMA", path, message, ...defined("hint", hint) };
}

/** Replaces `@file` names in outputs and inputs with the files' content. */
function fillIn(given: unknown, read: (named: string) => ReadValue | Problem) {
  const problems: Diagnostic[] = [];
  const value: unknown = structuredClone(given);
  const inputs = partsAt(value, "cases.[].input");
  for (const part of [...partsAt(value, "tools.{}.[].output"), ...inputs]) {
    const { value: written, path, around } = part;
    if (typeof written !== "string") continue;
    const found = /^@./.test(written) ? read(written.slice(1)) : { value: written };
    if ("code" in found) problems.push({ severity: "error", path, ...found });
    else if (inputs.includes(part) && !isObject(found.value))
      problems.push(wrong(path, `${written} does not contain a map`));
    else (around as Record<string, unknown>)[String(path.at(-1))] = found.value;
  }
  return { value, problems };
}

interface ReadValue {
  readonly value: Json;
  /** Real path of the file. */
  readonly path: string;
}

/** Reads a file that a document names: JSON or YAML by its extension, and otherwise text. */
export function readValue(path: string, named: string, root: string): ReadValue | Problem {
  const read = readNamed(path, named, root);
  if ("code" in read) return read;
  const text = read.text.replace(/^\uFEFF/, "");
  const type = extname(path).toLowerCase();
  if (type === ".json") {
    const value = parseJson(text);
    if (value !== undefined) return { value, path: read.path };
    const [problem] = parseYaml(text).problems;
    return { code: "PARSE", message: `${problem ? placeIn(named, problem) : named}: this is not JSON` };
  }
  if (type !== ".yml" && type !== ".yaml") return { value: text, path: read.path };
  const { value, problems } = parseYaml(text);
  const [problem] = problems;
  if (problem) return { code: "PARSE", message: `${placeIn(named, problem)}: ${problem.message}` };
  return { value: (value ?? null) as Json, path: read.path };
}

function placeIn(named: string, { line = 1, column = 1 }: Place): string {
  return `${named}:${line}:${column}`;
}

const MOST_BYTES = 20 * 1024 * 1024;

/** Returns the real path of a file that a test names. Outside the root, does not even check whether it exists. */
export function placeNamed(path: string, named: string, root: string): { readonly path: string } | Problem {
  const outside: Problem = {
    code: "SOURCE_FILE_OUTSIDE_ROOT",
    message: `${named} is outside ${root}`,
    hint: "name a file in the test's own project, after links are resolved",
  };
  if (path.includes("\0")) return outside;
  const real = realpathSync(root);
  if (!isWithin(real, nearestReal(path))) return outside;
  if (!existsSync(path)) {
    const hint = nearFile(path, named);
    return { code: "SOURCE_FILE_NOT_FOUND", message: `there is no file ${named}`, ...defined("hint", hint) };
  }
  return { path: realpathSync(path) };
}

/** Returns the real path. For a missing file, resolves the folders that exist. */
function nearestReal(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(nearestReal(dirname(path)), basename(path));
  }
}

export function readNamed(path: string, named: string, root: string) {
  const place = placeNamed(path, named, root);
  if ("code" in place) return place;
  try {
    const bytes = readPlainNow(place.path, MOST_BYTES);
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), path: place.path };
  } catch (error) {
    const why = error instanceof TypeError ? "it is not UTF-8 text" : messageOf(error);
    return { code: "SOURCE_FILE_READ_FAILED", message: `${named} cannot be read: ${why}` } as const;
  }
}

type ReadScript = { readonly script: Script } | { readonly diagnostics: Diagnostic[] };

/** Loads a script that a test names. Errors have their places in the script. */
export function loadScript(path: string, named: string, root: string): ReadScript {
  const read = readNamed(path, named, root);
  if ("code" in read) return { diagnostics: [{ severity: "error", path: [], ...read }] };
  return parseScript(read.text, named);
}

export function parseScript(text: string, named: string): ReadScript {
  const { value, faults, place } = parseDocument(text, named);
  if (faults.length > 0) return { diagnostics: [...faults] };
  const found = describeIssues(scriptSchema(), value);
  return found.length > 0 ? { diagnostics: place(found) } : { script: scriptSchema().parse(value) };
}
