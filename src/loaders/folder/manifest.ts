import { parse as parseToml, TomlError } from "smol-toml";
import type { ZodType } from "zod";
import { type Diagnostic, type DiagnosticCode, fieldPath } from "../../core/base/diagnostic.ts";
import { messageOf } from "../../core/base/errors.ts";
import type { Hint } from "../../core/base/options.ts";
import { isObject, nearest } from "../../core/base/values.ts";
import { inFolder } from "../../files/files.ts";
import { keysAt } from "../documents/schema-findings.ts";
import { parseJsonText } from "../text/json-text.ts";
import { type Place, parseYaml } from "../text/yaml-text.ts";
import { type SkillFolder, skipped } from "./skill-folder.ts";

export type Path = readonly (string | number)[];
export type Fields = { readonly [key: string]: unknown };

export interface Manifest<Value = unknown> {
  readonly file: string;
  readonly text: string;
  readonly value: Value;
  /** Reports a problem at the deepest existing part of the path. */
  readonly problem: Complain;
  /** Reports the error SKILL_MANIFEST. The message is a clause whose subject is the manifest. */
  finding(path: Path, message: string, hint?: Hint): Diagnostic;
}
export type Complain = (
  severity: Diagnostic["severity"],
  code: DiagnosticCode,
  path: Path,
  said: string | Pick<Diagnostic, "message" | "hint">,
) => Diagnostic;

export interface Unreadable {
  readonly file: string;
  readonly fault: string;
  readonly place: Place;
  /** True if the file may not be used for another reason than its syntax. */
  readonly isRefused?: true;
}

export function openManifest(
  { directory, read }: Pick<SkillFolder, "directory" | "read">,
  name: string,
  syntax: "json" | "toml" | "yaml",
): Manifest | Unreadable {
  const file = inFolder(directory, name);
  try {
    const text = read(name);
    if (text === undefined) return { file, fault: "it is not a file", place: {} };
    const parsed = PARSERS[syntax](text);
    if ("fault" in parsed) return { file, ...parsed };
    const problem = complainer(file, parsed.position);
    const finding: Manifest["finding"] = (path, message, hint) =>
      problem("error", "SKILL_MANIFEST", path, { message: `${name} ${message}`, hint });
    return { file, text, value: parsed.value, problem, finding };
  } catch (error) {
    return { file, fault: messageOf(error), place: {} };
  }
}

/** Reads a manifest that must be a mapping. The YAML parser also reads JSON. */
export function openMapping(
  folder: SkillFolder,
  name: string,
  syntax: "toml" | "yaml" = "yaml",
): Manifest<Fields> | Unreadable {
  const manifest = openManifest(folder, name, syntax);
  if ("fault" in manifest) return manifest;
  const { file, value } = manifest;
  if (!isObject(value)) {
    return { file, fault: "it must be a mapping of fields", place: { line: 1, column: 1 }, isRefused: true };
  }
  return { ...manifest, value };
}

export function skippedManifest({ file, fault, place }: Unreadable): Diagnostic {
  return { ...skipped(file, fault), ...place };
}

/** Reports an unreadable manifest to the lint. */
export function unreadable({ file, fault, place }: Unreadable): Diagnostic {
  return { severity: "error", code: "MANIFEST_UNREADABLE", path: [], message: fault, file, ...place };
}

export function complainer(file: string, position: (path: Path) => Place): Complain {
  return (severity, code, path, said) => {
    const { message, hint } = typeof said === "string" ? { message: said } : said;
    return { severity, code, path, message, ...(hint ? { hint } : {}), file, ...position(path) };
  };
}

type Parsed = { readonly value: unknown; position(path: Path): Place } | Omit<Unreadable, "file">;

const PARSERS: Readonly<Record<"json" | "toml" | "yaml", (text: string) => Parsed>> = {
  yaml(text) {
    const { value, problems, position } = parseYaml(text);
    const [first] = problems;
    return first ? faulty(first) : { value, position };
  },
  json(text) {
    const { value, problem, position } = parseJsonText(text);
    return problem ? faulty(problem) : { value, position };
  },
  toml(text) {
    try {
      return { value: parseToml(text), position: (path) => tomlPlace(text, path) };
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      return faulty({ message: (error.message.split("\n")[0] ?? "").trim(), line: error.line, column: error.column });
    }
  },
};

function faulty({ message, ...place }: Place & { readonly message: string }): Parsed {
  return { fault: message, place };
}

/** Returns the line that sets a key of the root or of a table, or else the table's line, or else the first one. */
function tomlPlace(text: string, path: Path): Place {
  const [table = "", key] = path.map(String);
  let section = "";
  let best: number | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    section = /^\s*\[([^\]]+)\]/.exec(line)?.[1]?.trim() ?? section;
    const name = /^\s*"?([\w.-]+)"?\s*=/.exec(line)?.[1];
    const isTable = section === table || section.startsWith(`${table}.`) || (section === "" && name === table);
    if (isTable) best ??= index;
    if (key !== undefined && section === table && name === key) return { line: index + 1, column: 1 };
  }
  return { line: (best ?? 0) + 1, column: 1 };
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
    const known = keysAt(schema, issue.path as Path);
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
  const hint = near ? `did you mean "${near}"?` : `use one of ${known.join(", ")}`;
  const place = [...path, key];
  const message = `${fieldPath(place)} is not a key of this format`;
  return problem(severity, "MANIFEST_KEY_UNKNOWN", place, { message, hint });
}
