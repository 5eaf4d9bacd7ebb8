import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { attempt } from "../../../core/base/errors.ts";
import { compileSchema } from "../../../core/base/schema/schema.ts";
import { isObject, type JsonSchema, nearest } from "../../../core/base/values.ts";
import {
  type Complain,
  type Fields,
  type Manifest,
  type Path,
  type Unreadable,
  unknownKeys,
  unreadable,
} from "../../folder/manifest.ts";
import { lacksWord, type SkillFolder } from "../../folder/skill-folder.ts";
import { parseJsonText } from "../../text/json-text.ts";

const CONTRACT_KEYS = ["id", "version", "description", "input", "output", "metadata"];
const BINDING_KEYS = ["function", "command", "tool", "mcp", "a2a", "network"];

/** Checks what no run needs to know of a contract: unknown keys, strict JSON, and defaults. */
export function checkDetails(manifest: Manifest<Fields>): Diagnostic[] {
  const { value, problem } = manifest;
  return [
    ...checkJson(manifest),
    ...unknownKeys(problem, value, { known: CONTRACT_KEYS, severity: "error" }),
    ...checkDefaults(problem, value.input, ["input"]),
    ...checkDefaults(problem, value.output, ["output"]),
  ];
}

/** Reports JSON that only a YAML parser accepts. */
function checkJson({ file, text }: Manifest): Diagnostic[] {
  const { problem } = file.endsWith(".json") ? parseJsonText(text) : {};
  if (!problem) return [];
  const { message, ...place } = problem;
  return [unreadable({ file, fault: message, place })];
}

const MOST_DEPTH = 50;

/** Checks that defaults match their own schema, because they are applied to input. */
function checkDefaults(problem: Complain, schema: unknown, path: Path): Diagnostic[] {
  if (path.length > MOST_DEPTH) return [];
  if (Array.isArray(schema)) return schema.flatMap((item, index) => checkDefaults(problem, item, [...path, index]));
  if (!isObject(schema)) return [];
  // Another check reports schemas that do not compile.
  const misfits = "default" in schema ? attempt(() => compileSchema(schema as JsonSchema)(schema.default)) : [];
  const found = (misfits ?? []).slice(0, 1).map((fault) => {
    const message = `the default of ${path.at(-1)} does not fit its schema: ${fault}`;
    return problem("error", "CONTRACT_DEFAULT", [...path, "default"], message);
  });
  const inner = Object.entries(schema).filter(([key]) => !["default", "enum", "const", "examples"].includes(key));
  return [...found, ...inner.flatMap(([key, value]) => checkDefaults(problem, value, [...path, key]))];
}

/** Checks what no run needs to know of a binding. */
export function checkBinding(
  folder: SkillFolder,
  known: ReadonlySet<string>,
  binding: Manifest<Fields> | Unreadable,
): Diagnostic[] {
  if ("fault" in binding) return binding.isRefused ? [] : [unreadable(binding)];
  const { value, problem } = binding;
  return [
    ...checkJson(binding),
    ...unknownKeys(problem, value, { known: BINDING_KEYS, severity: "error" }),
    ...checkExport(folder, problem, value.function),
    ...checkTarget(known, problem, value.tool),
  ];
}

/** Checks the name of the export in the file's text, without running it. */
function checkExport(folder: SkillFolder, problem: Complain, target: unknown): Diagnostic[] {
  const [, file = "", name] = typeof target === "string" ? (/^(?:\.\/)?([^#]+)#(.+)$/.exec(target) ?? []) : [];
  if (name === undefined) return [];
  if (!lacksWord(folder, file, name)) return [];
  return [problem("error", "BINDING_TARGET", ["function"], `${file} exports nothing named ${name}`)];
}

function checkTarget(known: ReadonlySet<string>, problem: Complain, target: unknown): Diagnostic[] {
  const skill = typeof target === "string" ? (target.split("/")[0] ?? "") : undefined;
  if (skill === undefined || known.has(skill)) return [];
  const near = nearest(skill, known);
  const said = { message: `no skill has the id "${skill}"`, hint: near ? `did you mean ${near}?` : undefined };
  return [problem("error", "BINDING_TARGET", ["tool"], said)];
}
