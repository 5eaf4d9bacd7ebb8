import { readFileSync, statSync } from "node:fs";
import { type Document, isAlias, isMap, isPair, isScalar, LineCounter, type Node, parseDocument, visit } from "yaml";
import * as z from "zod";
import { checkWorkflow } from "../core/check.ts";
import { type Diagnostic, fieldPath, messageOf } from "../core/errors.ts";
import { isObject, nearest } from "../core/values.ts";
import { type Workflow, workflowSchema } from "../core/workflow.ts";

export interface LoadedWorkflow {
  /** Undefined when the document has errors. */
  readonly workflow: Workflow | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

const MOST_BYTES = 5 * 1024 * 1024;
const MOST_DEPTH = 200;

/** Reads a workflow document: every finding, each with its place in the file (W1). */
export function loadWorkflow(path: string, knownSkills: ReadonlySet<string>, shownAs = path): LoadedWorkflow {
  const read = readDocument(path, shownAs);
  if (typeof read !== "string") return { workflow: undefined, diagnostics: [{ ...read, file: shownAs }] };
  return parseWorkflow(read, knownSkills, shownAs);
}

function readDocument(path: string, file: string): string | Diagnostic {
  const refuse = (message: string): Diagnostic => ({ severity: "error", code: "IO", path: [], message });
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) return refuse(`${file} is a directory, not a workflow`);
    if (stat.size > MOST_BYTES) {
      return refuse(`${file} has ${(stat.size / 1024 / 1024).toFixed(1)} MB; a workflow may have 5 MB at most`);
    }
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
    return text.includes("\0") ? refuse(`${file} is a binary file, not a workflow`) : text;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return refuse(`there is no file ${file}`);
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return refuse(`${file} is no UTF-8 text, so no workflow`);
    return refuse(`${file} cannot be read: ${messageOf(error)}`);
  }
}

/** Parses a workflow from YAML 1.2 core or JSON text (D1). */
export function parseWorkflow(text: string, knownSkills: ReadonlySet<string>, file?: string): LoadedWorkflow {
  const parsed = parseText(text);
  const place = (diagnostic: Diagnostic) => ({
    ...diagnostic,
    ...parsed.position(diagnostic.path),
    ...(file ? { file } : {}),
  });
  if (parsed.diagnostics.length > 0) {
    return {
      workflow: undefined,
      diagnostics: parsed.diagnostics.map((found) => ({ ...found, ...(file ? { file } : {}) })),
    };
  }
  const checked = workflowSchema.safeParse(parsed.value);
  const schemaFindings = [
    ...verifyFindings(parsed.value),
    ...(checked.success ? [] : checked.error.issues.flatMap((issue) => describeIssue(issue, parsed.value))),
  ];
  const sketch = checked.success ? checked.data : sketchOf(parsed.value);
  const structure = sketch ? checkWorkflow(sketch, knownSkills) : [];
  const diagnostics = [...schemaFindings, ...structure].map(place).sort(byPlace);
  const sound = checked.success && !diagnostics.some((found) => found.severity === "error");
  return { workflow: sound ? checked.data : undefined, diagnostics };
}

function byPlace(a: Diagnostic, b: Diagnostic): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** What can be said of the graph although some fields are wrong; undefined where nodes or edges are unclear. */
function sketchOf(value: unknown): Workflow | undefined {
  if (!isObject(value) || !isObject(value.nodes) || typeof value.entry !== "string" || !Array.isArray(value.edges))
    return;
  const { entry, edges, skills } = value;
  if (!edges.every((edge) => isObject(edge) && typeof edge.from === "string" && typeof edge.to === "string")) return;
  const inline = isObject(skills) ? Object.keys(skills).map((id) => [id, { instruction: "known" }]) : [];
  const nodes = Object.entries(value.nodes).map(([id, node]) => {
    const listed = isObject(node) && Array.isArray(node.skills) ? node.skills : [];
    return [id, { name: id, instruction: id, skills: listed.filter((skill) => typeof skill === "string") }];
  });
  const sketch = {
    id: entry,
    name: entry,
    entry,
    edges,
    nodes: Object.fromEntries(nodes),
    skills: Object.fromEntries(inline),
  };
  return sketch as Workflow;
}

interface ParsedText {
  readonly value: unknown;
  readonly diagnostics: readonly Diagnostic[];
  position(path: Diagnostic["path"]): { line?: number; column?: number };
}

function parseText(text: string): ParsedText {
  const lines = new LineCounter();
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const failed = (diagnostics: readonly Diagnostic[]): ParsedText => ({
    value: undefined,
    diagnostics,
    position: () => ({}),
  });
  const finding = (message: string, offset: number | undefined): Diagnostic => ({
    severity: "error",
    code: "PARSE",
    path: [],
    message,
    ...(offset === undefined ? {} : at(offset)),
  });

  const deep = tooDeepAt(text);
  if (deep !== undefined)
    return failed([{ ...finding(`nested more than ${MOST_DEPTH} levels deep`, undefined), line: deep }]);
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
  });
  const problems = document.errors.map((error) => finding(error.message.split("\n")[0] ?? error.message, error.pos[0]));
  problems.push(...keyFindings(document, finding));
  if (problems.length > 0) return failed(problems);
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    if (!isObject(value))
      return failed([finding("a workflow is a map of fields, such as id, entry, nodes and edges", 0)]);
    return { value, diagnostics: [], position: (path) => positionOf(document, path, at) };
  } catch (error) {
    return failed([finding(messageOf(error), 0)]);
  }
}

/** The first line where brackets or indentation nest too deep, before a parser would recurse there. */
function tooDeepAt(text: string): number | undefined {
  const indents: number[] = [];
  let brackets = 0;
  for (const [index, line] of text.split("\n").entries()) {
    const indent = line.search(/[^ ]/);
    if (indent >= 0) {
      while ((indents.at(-1) ?? -1) >= indent) indents.pop();
      indents.push(indent);
    }
    brackets += count(line, /[[{]/g) - count(line, /[\]}]/g);
    const dashes = /^\s*((?:- )+)/.exec(line)?.[1]?.length ?? 0;
    if (Math.max(brackets, indents.length, dashes / 2) > MOST_DEPTH) return index + 1;
    if (count(line, /[[{]/g) > MOST_DEPTH && deepestIn(line) > MOST_DEPTH) return index + 1;
  }
  return undefined;
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

function deepestIn(line: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of line) {
    if (character === "[" || character === "{") deepest = Math.max(deepest, ++depth);
    if (character === "]" || character === "}") depth--;
  }
  return deepest;
}

/** Keys that stand twice in a map, and such as could alter an object; in linear time, which the parser's own check is not. */
function keyFindings(
  document: Document,
  finding: (message: string, offset: number | undefined) => Diagnostic,
): Diagnostic[] {
  const found: Diagnostic[] = [];
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? String(key.value) : String(key);
        const offset = (key as Node | null)?.range?.[0];
        if (name === "__proto__") found.push(finding('the key "__proto__" is not allowed', offset));
        if (seen.has(name)) found.push(finding(`the key "${name}" stands twice in one map`, offset));
        seen.add(name);
      }
    },
  });
  return found;
}

/** The place of the deepest part of a path that the document has; of its key where there is one. */
function positionOf(
  document: Document,
  path: Diagnostic["path"],
  at: (offset: number) => { line: number; column: number },
) {
  let node: unknown = document.contents;
  let offset: number | undefined = (node as Node | null)?.range?.[0];
  for (const key of path) {
    if (isAlias(node)) node = node.resolve(document);
    const pair = isMap(node)
      ? node.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(key))
      : undefined;
    const child = pair
      ? pair.value
      : isMap(node)
        ? undefined
        : (node as { get?: (key: unknown, keep: boolean) => unknown })?.get?.(key, true);
    if (child === undefined && !pair) break;
    offset = (pair?.key as Node | undefined)?.range?.[0] ?? (child as Node).range?.[0] ?? offset;
    node = child;
  }
  return offset === undefined ? {} : at(offset);
}

/** W12. */
function verifyFindings(value: unknown): Diagnostic[] {
  if (!isObject(value)) return [];
  const message = '"verify" is not part of the format';
  const refuse = (path: Diagnostic["path"]): Diagnostic => ({
    severity: "error",
    code: "SCHEMA",
    path,
    message,
    hint: "use eval on a node",
  });
  const nodes = isObject(value.nodes) ? Object.entries(value.nodes) : [];
  const onNodes = nodes.filter(([, node]) => isObject(node) && Object.hasOwn(node, "verify"));
  return [
    ...(Object.hasOwn(value, "verify") ? [refuse(["verify"])] : []),
    ...onNodes.map(([id]) => refuse(["nodes", id, "verify"])),
  ];
}

type Issue = z.core.$ZodIssue;

function describeIssue(issue: Issue, root: unknown, base: Diagnostic["path"] = []): Diagnostic[] {
  const path = [...base, ...(issue.path as (string | number)[])];
  const finding = (message: string, at = path, hint?: string): Diagnostic => {
    const field = fieldPath(at);
    return {
      severity: "error",
      code: "SCHEMA",
      path: at,
      message: field ? `${field} ${message}` : message,
      ...(hint ? { hint } : {}),
    };
  };
  if (issue.code === "unrecognized_keys") {
    const known = knownKeys(path);
    const keys = issue.keys.filter((key) => key !== "verify");
    return keys.map((key) => {
      const near = nearest(key, known);
      return finding("is not a known field", [...path, key], near ? `did you mean "${near}"?` : undefined);
    });
  }
  if (issue.code === "invalid_union") return describeUnion(issue, root, path, finding);
  return [{ ...finding(issueText(issue, valueAt(root, path))), ...sourceCode(path, root) }];
}

/** The branch that came closest tells more than "invalid input". */
function describeUnion(
  issue: Extract<Issue, { code: "invalid_union" }>,
  root: unknown,
  path: Diagnostic["path"],
  finding: (message: string) => Diagnostic,
): Diagnostic[] {
  if (isSourceField(path)) return [{ ...finding(SOURCE_HELP), ...sourceCode(path, root) }];
  const value = valueAt(root, path);
  const branches = (issue.errors as Issue[][]).filter(
    (errors) => !errors.some((found) => found.path.length === 0 && found.code === "invalid_type"),
  );
  const closest = branches.sort((a, b) => a.length - b.length)[0];
  if (closest && closest.length > 0) return closest.flatMap((inner) => describeIssue(inner, root, path));
  if (value === undefined) return [finding("is required")];
  if (issue.errors.length === 0) {
    const allowed = quoted(issue.message);
    const given = valueAt(root, [...path]);
    return given === undefined
      ? [finding("is required")]
      : [finding(`must be one of ${allowed.join(", ")}${suggestion(given, allowed)}`)];
  }
  const wanted = (issue.errors as Issue[][])
    .flat()
    .flatMap((found) => (found.code === "invalid_type" ? [found.expected] : []));
  return [finding(`must be ${[...new Set(wanted)].map(article).join(" or ")}, not ${typeName(value)}`)];
}

function quoted(text: string): string[] {
  return [...text.matchAll(/'([^']+)'/g)].map((match) => match[1] ?? "");
}

const SOURCE_HELP = "must be text, a ./path, an https:// address, or exactly one of {inline}, {file} and {url}";

/** Instructions, rules and context are Sources; what is wrong with their tags has codes of its own. */
function isSourceField(path: Diagnostic["path"]): boolean {
  const [last, before] = [path.at(-1), path.at(-2)];
  return (
    (last === "instruction" && path[0] === "nodes" && path.length === 3) ||
    (typeof last === "number" && (before === "rules" || before === "context" || before === "sources"))
  );
}

function sourceCode(path: Diagnostic["path"], root: unknown): { code?: string } {
  const value = valueAt(root, path);
  if (!isSourceField(path) || !isObject(value)) return {};
  return {
    code:
      value.type !== undefined && value.type !== "fetch" && value.url !== undefined
        ? "SOURCE_INVALID_TYPE"
        : "SOURCE_INVALID_SHAPE",
  };
}

function issueText(issue: Issue, value: unknown): string {
  if (value === undefined) return "is required";
  if (issue.code === "invalid_type") return `must be ${article(issue.expected)}, not ${typeName(value)}`;
  if (issue.code === "invalid_value")
    return `must be one of ${issue.values.map(String).join(", ")}${suggestion(value, issue.values)}`;
  if (issue.code === "too_small")
    return issue.origin === "number" ? `must be at least ${issue.minimum}` : "must not be empty";
  return issue.message;
}

function suggestion(value: unknown, allowed: readonly unknown[]): string {
  const near = typeof value === "string" ? nearest(value, allowed.map(String)) : undefined;
  return near ? ` (did you mean "${near}"?)` : "";
}

const ARTICLES: Readonly<Record<string, string>> = {
  int: "a whole number",
  array: "a list",
  object: "a map",
  record: "a map",
};

function article(type: string): string {
  return ARTICLES[type] ?? `a ${type}`;
}

function typeName(value: unknown): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  return isObject(value) ? "a map" : `the ${typeof value} ${JSON.stringify(value)}`;
}

function valueAt(root: unknown, path: Diagnostic["path"]): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/** The fields that the schema knows at a place, for suggestions. */
function knownKeys(path: Diagnostic["path"]): string[] {
  let schema: z.ZodType | undefined = workflowSchema;
  for (const key of path) schema = memberOf(schema, key);
  return alternatives(schema).flatMap((option) => (option instanceof z.ZodObject ? Object.keys(option.shape) : []));
}

function memberOf(schema: z.ZodType | undefined, key: string | number): z.ZodType | undefined {
  for (const option of alternatives(schema)) {
    if (option instanceof z.ZodObject && Object.hasOwn(option.shape, key)) return option.shape[key] as z.ZodType;
    if (option instanceof z.ZodRecord) return option.valueType as z.ZodType;
    if (option instanceof z.ZodArray && typeof key === "number") return option.element as z.ZodType;
  }
  return undefined;
}

function alternatives(schema: z.ZodType | undefined): z.ZodType[] {
  if (schema instanceof z.ZodOptional) return alternatives(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodUnion) return (schema.options as z.ZodType[]).flatMap(alternatives);
  return schema ? [schema] : [];
}
