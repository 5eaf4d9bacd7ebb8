import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { messageOf } from "../../core/base/errors.ts";
import { parsePath } from "../../core/base/path.ts";
import { isObject, type Json, parseJson } from "../../core/base/values.ts";
import { matcherProblems } from "../../core/outward/testing/matcher.ts";
import { type Script, scriptSchema } from "../../core/outward/testing/script.ts";
import { type TestFile, testFileSchema } from "../../core/outward/testing/test-file.ts";
import { isWithin, readPlainNow } from "../../files/files.ts";
import { type Place, parseYaml } from "../text/yaml-text.ts";
import { parseDocument } from "./document-text.ts";
import { nearFile } from "./near-file.ts";
import { describeIssues } from "./schema-findings.ts";

/** Reads test documents and the scripts that they name, and reports all findings with their places. */

export interface LoadedTest {
  /** Name for messages. */
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
  const nothing = {
    file: shownAs,
    path,
    text: "",
    test: undefined,
    sketch: undefined,
    files: [],
    position: () => ({}),
  };
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

/** Names that a test refers to, with their places. */
export interface TestSketch {
  readonly workflow: string | undefined;
  readonly model: string | undefined;
  readonly tools: readonly NamedAt[];
  readonly nodes: readonly NamedAt[];
  readonly steps: readonly NamedAt[];
  /** Places that compare prompts. */
  readonly prompts: readonly Diagnostic["path"][];
}

export interface NamedAt {
  readonly name: string;
  readonly path: Diagnostic["path"];
}

function sketchOf(value: unknown): TestSketch | undefined {
  if (!isObject(value)) return undefined;
  const { workflow, model, tools, cases } = value;
  const listed = (names: unknown, path: Diagnostic["path"]) =>
    Array.isArray(names) ? names.flatMap((name, n) => nameAt(name, [...path, n])) : [];
  const keysOf = (map: unknown, path: Diagnostic["path"]) =>
    (isObject(map) ? Object.keys(map) : []).map((name) => ({ name, path: [...path, name] }));
  const all = (Array.isArray(cases) ? cases : []).map((each, index) => ({ each, at: ["cases", index] }));
  const expected = all.flatMap(({ each, at }) =>
    isObject(each) && isObject(each.expect) ? [{ of: each.expect, at: [...at, "expect"] }] : [],
  );
  const planned = expected.flatMap(({ of, at }) =>
    Array.isArray(of.planned)
      ? of.planned.flatMap((one, n) => (isObject(one) ? [{ one, at: [...at, "planned", n] }] : []))
      : [],
  );
  return {
    workflow: typeof workflow === "string" && workflow !== "" ? workflow : undefined,
    model: typeof model === "string" && model !== "" ? model : undefined,
    tools: [
      ...keysOf(tools, ["tools"]),
      ...expected.flatMap(({ of, at }) => listed(of.called, [...at, "called"])),
      ...expected.flatMap(({ of, at }) => listed(of.not_called, [...at, "not_called"])),
      ...planned.flatMap(({ one, at }) => nameAt(one.tool, [...at, "tool"])),
    ],
    steps: expected.flatMap(({ of, at }) => keysOf(of.steps, [...at, "steps"])),
    nodes: [
      ...all.flatMap(({ each, at }) => (isObject(each) ? keysOf(each.approvals, [...at, "approvals"]) : [])),
      ...expected.flatMap(({ of, at }) => listed(of.path, [...at, "path"])),
      ...expected.flatMap(({ of, at }) =>
        (isObject(of.data) ? Object.keys(of.data) : []).flatMap((key) =>
          nameAt(parsePath(key)?.segments[0]?.key, [...at, "data", key]),
        ),
      ),
      ...planned.flatMap(({ one, at }) => nameAt(one.node, [...at, "node"])),
    ],
    prompts: expected.flatMap(({ of, at }) => (of.prompts === "unchanged" ? [[...at, "prompts"]] : [])),
  };
}

function nameAt(name: unknown, path: Diagnostic["path"]): NamedAt[] {
  return typeof name === "string" ? [{ name, path }] : [];
}

/** Reports schema errors, invalid matchers and duplicate names. */
function shapeFindings(value: unknown): Diagnostic[] {
  const cases = isObject(value) && Array.isArray(value.cases) ? value.cases : [];
  const matchers = cases.flatMap((each, index) => {
    const expected = isObject(each) ? each.expect : undefined;
    return isObject(expected) ? expectedFindings(expected, ["cases", index, "expect"]) : [];
  });
  const known = new Set(matchers.map(({ path }) => JSON.stringify(path.slice(0, 4))));
  const shape = describeIssues(testFileSchema(), value).filter(
    ({ path }) => !known.has(JSON.stringify(path.slice(0, 4))),
  );
  const names = cases.map((each) => (isObject(each) ? each.name : undefined));
  const twice = names.flatMap((name, index) => {
    if (typeof name !== "string" || names.indexOf(name) === index) return [];
    return [wrong(["cases", index, "name"], `an earlier case has the name "${name}"`)];
  });
  return [...shape, ...matchers, ...twice];
}

function expectedFindings(expected: { readonly [key: string]: unknown }, path: Diagnostic["path"]): Diagnostic[] {
  return Object.entries(expected).flatMap(([key, wanted]) => {
    const isMap = key === "data" || key === "evidence";
    const parts: (readonly [(string | number)[], unknown])[] =
      isMap && isObject(wanted) ? Object.entries(wanted).map(([at, one]) => [[key, at], one]) : [[[key], wanted]];
    return parts.flatMap(([at, one]) =>
      matcherProblems(one as Json, [...path, ...at]).map(
        ({ message, hint, path: place }): Diagnostic => ({
          ...wrong(place, message, hint),
          code: "TEST_MATCHER",
        }),
      ),
    );
  });
}

function wrong(path: Diagnostic["path"], message: string, hint?: string): Diagnostic {
  return { severity: "error", code: "SCHEMA", path, message, ...(hint === undefined ? {} : { hint }) };
}

/** Replaces `@file` names in outputs and inputs with the files' content. */
function fillIn(value: unknown, read: (named: string) => { readonly value: Json; readonly path: string } | Problem) {
  const problems: Diagnostic[] = [];
  const filled = (given: unknown, path: Diagnostic["path"]): unknown => {
    if (typeof given !== "string" || !/^@./.test(given)) return given;
    const found = read(given.slice(1));
    if (!("code" in found)) return found.value;
    problems.push({ severity: "error", path, ...found });
    return null;
  };
  if (!isObject(value)) return { value, problems };
  const tools = mapMembers(value.tools, (rows, tool) =>
    mapItems(rows, (row, index) =>
      isObject(row) && "output" in row ? { ...row, output: filled(row.output, ["tools", tool, index, "output"]) } : row,
    ),
  );
  const cases = mapItems(value.cases, (each, index) => {
    if (!isObject(each) || typeof each.input !== "string") return each;
    const path = ["cases", index, "input"];
    const input = filled(each.input, path);
    if (input !== null && !isObject(input)) problems.push(wrong(path, `${each.input} does not contain a map`));
    return { ...each, input };
  });
  return { value: { ...value, ...(value.tools === undefined ? {} : { tools }), cases }, problems };
}

function mapMembers(value: unknown, change: (member: unknown, key: string) => unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, change(member, key)]));
}

function mapItems(value: unknown, change: (item: unknown, index: number) => unknown): unknown {
  return Array.isArray(value) ? value.map(change) : value;
}

/** Reads a file that a document names: JSON or YAML by its extension, and otherwise text. */
export function readValue(
  path: string,
  named: string,
  root: string,
): { readonly value: Json; readonly path: string } | Problem {
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
    return { code: "SOURCE_FILE_NOT_FOUND", message: `there is no file ${named}`, ...(hint ? { hint } : {}) };
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

export function readNamed(
  path: string,
  named: string,
  root: string,
): { readonly text: string; readonly path: string } | Problem {
  const place = placeNamed(path, named, root);
  if ("code" in place) return place;
  try {
    const bytes = readPlainNow(place.path, MOST_BYTES);
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), path: place.path };
  } catch (error) {
    const why = error instanceof TypeError ? "it is not UTF-8 text" : messageOf(error);
    return { code: "SOURCE_FILE_READ_FAILED", message: `${named} cannot be read: ${why}` };
  }
}

/** Loads a script that a test names. Errors have their places in the script. */
export function loadScript(
  path: string,
  named: string,
  root: string,
): { readonly script: Script } | { readonly diagnostics: Diagnostic[] } {
  const read = readNamed(path, named, root);
  if ("code" in read) return { diagnostics: [{ severity: "error", path: [], ...read }] };
  return parseScript(read.text, named);
}

/** Parses a script. Errors have their places in it. */
export function parseScript(
  text: string,
  named: string,
): { readonly script: Script } | { readonly diagnostics: Diagnostic[] } {
  const { value, faults, place } = parseDocument(text, named);
  if (faults.length > 0) return { diagnostics: [...faults] };
  const found = describeIssues(scriptSchema(), value);
  return found.length > 0 ? { diagnostics: place(found) } : { script: scriptSchema().parse(value) };
}
