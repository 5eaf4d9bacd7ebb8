import type { Diagnostic } from "../../../core/base/diagnostic.ts";
import { compileSchema } from "../../../core/base/schema/schema.ts";
import { isObject, type Json, type JsonSchema, nearest } from "../../../core/base/values.ts";
import { type Complain, openManifest, type Path, unknownKeys } from "../../folder/lint-manifest.ts";
import type { SkillFolder } from "../../folder/skill-folder.ts";

const CONTRACT_FILES = ["contract.yml", "contract.yaml", "contract.json"];
const BINDING_FILES = ["binding.yml", "binding.yaml", "binding.json"];
const CONTRACT_KEYS = ["id", "version", "description", "input", "output", "metadata"];
const BINDING_KEYS = ["function", "command", "tool", "mcp", "a2a", "network"];

/** Checks what the contract loader does not. `known` are the ids of the skills that a binding may name. */
export function checkContract(folder: SkillFolder, known: ReadonlySet<string>): Diagnostic[] {
  const name = CONTRACT_FILES.find((file) => folder.names.has(file)) ?? "contract.yml";
  const manifest = openManifest(folder, name);
  if ("severity" in manifest) return [manifest];
  const { value, problem } = manifest;
  if (!isObject(value)) return [problem("error", "CONTRACT_SHAPE", [], `${name} must be a map of fields`)];
  return [
    ...unknownKeys(problem, value, { known: CONTRACT_KEYS, severity: "error" }),
    ...checkDefaults(problem, value.input, ["input"]),
    ...checkDefaults(problem, value.output, ["output"]),
    ...checkBinding(folder, known, problem),
  ];
}

const MOST_DEPTH = 50;

/** Checks that defaults match their own schema, because they are applied to input. */
function checkDefaults(problem: Complain, schema: unknown, path: Path): Diagnostic[] {
  if (path.length > MOST_DEPTH) return [];
  if (Array.isArray(schema)) return schema.flatMap((item, index) => checkDefaults(problem, item, [...path, index]));
  if (!isObject(schema)) return [];
  const found =
    "default" in schema
      ? misfits(schema as JsonSchema).map((fault) => {
          const message = `the default of ${path.at(-1)} does not fit its schema: ${fault}`;
          return problem("error", "CONTRACT_DEFAULT", [...path, "default"], message);
        })
      : [];
  const inner = Object.entries(schema).filter(([key]) => !["default", "enum", "const", "examples"].includes(key));
  return [...found, ...inner.flatMap(([key, value]) => checkDefaults(problem, value, [...path, key]))];
}

/** Ignores schemas that do not compile, which another check reports. */
function misfits(schema: JsonSchema): readonly string[] {
  try {
    return compileSchema(schema)(schema.default as Json).slice(0, 1);
  } catch {
    return [];
  }
}

function checkBinding(folder: SkillFolder, known: ReadonlySet<string>, contract: Complain): Diagnostic[] {
  const name = BINDING_FILES.find((file) => folder.names.has(file));
  if (!name) {
    const said = { message: "nothing carries the contract out", hint: "write a binding.yml beside it" };
    return [contract("warning", "BINDING_MISSING", [], said)];
  }
  const manifest = openManifest(folder, name);
  if ("severity" in manifest) return [manifest];
  const { value, problem } = manifest;
  if (!isObject(value)) return [];
  return [
    ...unknownKeys(problem, value, { known: BINDING_KEYS, severity: "error" }),
    ...checkExport(folder, problem, value.function),
    ...checkTarget(known, problem, value.tool),
  ];
}

/** Checks the name of the export in the file's text, without running it. */
function checkExport(folder: SkillFolder, problem: Complain, target: unknown): Diagnostic[] {
  const [, file = "", name] = typeof target === "string" ? (/^(?:\.\/)?([^#]+)#(.+)$/.exec(target) ?? []) : [];
  if (name === undefined) return [];
  const text = textOf(folder, file);
  if (text === undefined || new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`).test(text)) return [];
  return [problem("error", "BINDING_TARGET", ["function"], `${file} exports nothing named ${name}`)];
}

function textOf(folder: SkillFolder, file: string): string | undefined {
  try {
    return folder.read(file);
  } catch {
    return undefined;
  }
}

function checkTarget(known: ReadonlySet<string>, problem: Complain, target: unknown): Diagnostic[] {
  const skill = typeof target === "string" ? (target.split("/")[0] ?? "") : undefined;
  if (skill === undefined || known.has(skill)) return [];
  const near = nearest(skill, known);
  const said = { message: `no skill has the id "${skill}"`, hint: near ? `did you mean ${near}?` : undefined };
  return [problem("error", "BINDING_TARGET", ["tool"], said)];
}
