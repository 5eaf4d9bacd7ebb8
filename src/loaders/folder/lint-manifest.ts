import { join } from "node:path";
import { parse as parseToml, TomlError } from "smol-toml";
import type { ZodType } from "zod";
import { type Diagnostic, type DiagnosticCode, fieldPath } from "../../core/base/diagnostic.ts";
import { messageOf } from "../../core/base/errors.ts";
import { isObject, nearest } from "../../core/base/values.ts";
import { parseJsonText } from "../text/json-text.ts";
import { type Place, parseYaml } from "../text/yaml-text.ts";
import type { SkillFolder } from "./skill-folder.ts";

export type Path = readonly (string | number)[];

/** Parsed manifest, with a function that reports problems in it. */
export interface Manifest {
  /** Absolute path. */
  readonly file: string;
  readonly value: unknown;
  /** Reports a problem at the deepest existing part of the path. */
  readonly problem: Complain;
}
export type Complain = (
  severity: Diagnostic["severity"],
  code: DiagnosticCode,
  path: Path,
  said: string | Said,
) => Diagnostic;
interface Said {
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Parses JSON, YAML or TOML, depending on the file name. Returns a diagnostic if that fails. */
export function openManifest(folder: SkillFolder, name: string): Manifest | Diagnostic {
  const file = join(folder.directory, name);
  const refuse = (message: string, place: Place = {}): Diagnostic => {
    return { severity: "error", code: "MANIFEST_UNREADABLE", path: [], message: `${name}: ${message}`, file, ...place };
  };
  try {
    const text = folder.read(name);
    if (text === undefined) return refuse("there is no such file");
    const read = name.endsWith(".toml") ? readToml(text) : name.endsWith(".json") ? readJson(text) : readYaml(text);
    if ("message" in read) return refuse(read.message, read.place);
    return { file, value: read.value, problem: complainer(file, read.position) };
  } catch (error) {
    return refuse(messageOf(error));
  }
}

export function complainer(file: string, position: (path: Path) => Place): Complain {
  return (severity, code, path, said) => {
    const { message, hint } = typeof said === "string" ? { message: said } : said;
    return { severity, code, path, message, ...(hint ? { hint } : {}), file, ...position(path) };
  };
}

interface ReadText {
  readonly value: unknown;
  position(path: Path): Place;
}
interface Unreadable {
  readonly message: string;
  readonly place: Place;
}

function readYaml(text: string): ReadText | Unreadable {
  const { value, problems, position } = parseYaml(text);
  const [first] = problems;
  if (!first) return { value, position };
  const { message, ...place } = first;
  return { message: `no YAML: ${message}`, place };
}

function readJson(text: string): ReadText | Unreadable {
  const { value, problem, position } = parseJsonText(text);
  if (!problem) return { value, position };
  const { message, ...place } = problem;
  return { message: `no JSON: ${message}`, place };
}

function readToml(text: string): ReadText | Unreadable {
  try {
    return { value: parseToml(text), position: (path) => tomlPlace(text, path) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = `no TOML: ${error.message.split("\n")[0]}`;
    return { message, place: { line: error.line, column: error.column } };
  }
}

/** Returns the line that sets a key of the root or of a table, or else the table's line. */
function tomlPlace(text: string, path: Path): Place {
  const [table = "", key] = path.map(String);
  let section = "";
  let best: Place = {};
  for (const [index, line] of text.split("\n").entries()) {
    const header = /^\s*\[([^\]]+)\]/.exec(line)?.[1]?.trim();
    section = header ?? section;
    const name = /^\s*"?([\w.-]+)"?\s*=/.exec(line)?.[1];
    const isTable = header === table || (section === "" && name === table);
    if (isTable && best.line === undefined) best = { line: index + 1, column: 1 };
    if (key !== undefined && section === table && name === key) return { line: index + 1, column: 1 };
  }
  return best;
}

/** Reports where a value does not match a schema: unknown keys, missing fields and wrong types. */
export function checkShape(
  { value, problem }: Pick<Manifest, "value" | "problem">,
  schema: ZodType,
  base: Path = [],
): Diagnostic[] {
  const checked = schema.safeParse(value);
  if (checked.success) return [];
  return checked.error.issues.flatMap((issue) => {
    const path = [...base, ...(issue.path as (string | number)[])];
    if (issue.code !== "unrecognized_keys") {
      const said = /received undefined/.test(issue.message)
        ? "is missing"
        : issue.message.replace(/^Invalid input: /, "");
      return [problem("error", "MANIFEST_FIELD", path, `${fieldPath(path) || "the file"}: ${said}`)];
    }
    const known = [...knownKeys(schema, issue.path as Path)];
    return issue.keys.map((key) => unknownKey(problem, key, { known, severity: "error", path }));
  });
}

interface Keys {
  readonly known: readonly string[];
  readonly severity?: Diagnostic["severity"];
  /** Path of the table. Defaults to the root. */
  readonly path?: Path;
}

/** Reports a table's unknown keys. Ignores values that are not tables. */
export function unknownKeys(problem: Complain, table: unknown, keys: Keys): Diagnostic[] {
  const unknown = Object.keys(isObject(table) ? table : {}).filter((key) => !keys.known.includes(key));
  return unknown.map((key) => unknownKey(problem, key, keys));
}

export function unknownKey(problem: Complain, key: string, { known, severity = "warning", path = [] }: Keys) {
  const near = nearest(key, known);
  const hint = near ? `did you mean "${near}"?` : `known are ${known.join(", ")}`;
  const place = [...path, key];
  return problem(severity, "MANIFEST_KEY_UNKNOWN", place, {
    message: `${fieldPath(place)} is no key of this format`,
    hint,
  });
}

/** Returns the keys that a schema allows for the object at a path. */
function knownKeys(schema: unknown, path: Path): string[] {
  let inner = schema;
  for (const key of [...path, undefined]) {
    while (isObject(inner) && "unwrap" in inner) inner = (inner as { unwrap(): unknown }).unwrap();
    if (!isObject(inner) || key === undefined) break;
    if (isObject(inner.shape)) inner = inner.shape[key];
    else inner = inner.element ?? inner.valueType;
  }
  return isObject(inner) && isObject(inner.shape) ? Object.keys(inner.shape) : [];
}
