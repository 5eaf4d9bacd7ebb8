import { type Diagnostic, hasErrors } from "../core/errors.ts";
import { checkJsonSchema } from "../core/json-schema.ts";
import { OWN_TOOLS } from "../core/own-tools.ts";
import { compileSchema } from "../core/schema.ts";
import { MAKER_TOOLS } from "../core/tool-maker.ts";
import { isObject, type Json, type JsonObject, type JsonSchema } from "../core/values.ts";
import { type JsonText, parseJsonText } from "./json-text.ts";

/** The tools.json of Skill Tools 1.0.0 (skill-formats 2). */

/** One tool as a manifest declares it. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  /** From the folder; undefined where the skill's instructions are all there is. */
  readonly script: string | undefined;
}

export interface Manifest {
  readonly tools: readonly ToolDeclaration[];
  /** Without the file's name. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Why a script of the skill cannot be called: what leads out of the folder is refused, others may still appear. */
export type CheckScript = (script: string) => { readonly refused: boolean; readonly message: string } | undefined;

/** The tools of a tools.json. What is wrong costs the tool that it is about; what is no manifest at all, all of them. */
export function parseManifest(text: string, checkScript: CheckScript): Manifest {
  const json = parseJsonText(text);
  if (json.problem) {
    const { message, ...place } = json.problem;
    return { tools: [], diagnostics: [{ ...invalidManifest([], `it is no JSON: ${message}`), ...place }] };
  }
  const { tools, diagnostics } = checkManifest(json.value as Json, checkScript);
  return { tools, diagnostics: diagnostics.map((found) => located(found, json)) };
}

/** What a map of parameters comes to as the JSON Schema of a tool's input; without one where it cannot be understood. */
export function translateParameters(parameters: unknown): {
  readonly schema: JsonSchema | undefined;
  readonly diagnostics: readonly Diagnostic[];
} {
  if (!isObject(parameters)) {
    return { schema: undefined, diagnostics: [skippedTool([], "the parameters must be a map of parameters")] };
  }
  const entries = Object.entries(parameters).filter(([name]) => name !== WORK_DIR);
  const translated = entries.map(([name, definition]) => ({ name, ...translateParameter(name, definition) }));
  const diagnostics = translated.flatMap(({ name, diagnostics }) => diagnostics.map((found) => below(name, found)));
  if (Object.hasOwn(parameters, WORK_DIR)) {
    diagnostics.push(doubtful([WORK_DIR], "is given by the program, and not asked of the model"));
  }
  const sound = translated.flatMap(({ parameter }) => parameter ?? []);
  if (sound.length < entries.length) return { schema: undefined, diagnostics };
  const whole = schemaOf(sound, (parameter) => ({ ...parameter.own, ...parameter.more }));
  const isPlain = sound.every(({ more }) => Object.keys(more).length === 0);
  if (isPlain || isSchema(whole)) return { schema: whole, diagnostics };
  const left = doubtful([], "beside type, description and enum, all is left out: together it is no JSON Schema");
  return { schema: schemaOf(sound, ({ own }) => own), diagnostics: [...diagnostics, left] };
}

interface Parameter {
  readonly name: string;
  readonly optional: boolean;
  /** What the document knows. */
  readonly own: JsonSchema;
  /** What else it says of the value, which the document's successors and JSON Schema know. */
  readonly more: JsonSchema;
}

function schemaOf(parameters: readonly Parameter[], propertyOf: (parameter: Parameter) => JsonSchema): JsonSchema {
  const required = parameters.filter(({ optional }) => !optional).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(parameters.map((parameter) => [parameter.name, propertyOf(parameter)])),
    ...(required.length > 0 ? { required } : {}),
  };
}

function isSchema(schema: JsonSchema): boolean {
  try {
    compileSchema(schema);
    return true;
  } catch {
    return false;
  }
}

/** What every handler gets beside its parameters. */
const WORK_DIR = "__workDir";

// ---- the manifest

function checkManifest(root: Json, checkScript: CheckScript): Manifest {
  if (!Array.isArray(root)) return { tools: [], diagnostics: [invalidManifest([], "it must be an array of tools")] };
  const entries: readonly Json[] = root;
  const foreign = entries.findIndex((entry) => isObject(entry) && hasJsonSchema(entry));
  if (foreign !== -1) {
    const message =
      "these parameters are a JSON Schema, as tool descriptors have it, whose allowlist.json and execution.json are " +
      "missing; Skill Tools take a map: parameter -> {type, description}";
    return { tools: [], diagnostics: [invalidManifest([foreign, "parameters"], message)] };
  }
  const tools = new Map<string, ToolDeclaration>();
  const diagnostics = entries.flatMap((entry, index) => {
    const { tool, diagnostics } = checkTool(entry, { before: tools, checkScript });
    if (tool) tools.set(tool.name, tool);
    return diagnostics.map((found) => below(index, found));
  });
  return { tools: [...tools.values()], diagnostics };
}

/** A parameter called `type` would have an object here (skill-formats 6.1). */
function hasJsonSchema({ parameters }: { readonly [key: string]: unknown }): boolean {
  return isObject(parameters) && parameters.type === "object";
}

interface ToolSurroundings {
  /** By name. */
  readonly before: ReadonlyMap<string, ToolDeclaration>;
  readonly checkScript: CheckScript;
}

function checkTool(
  entry: Json,
  { before, checkScript }: ToolSurroundings,
): { readonly tool?: ToolDeclaration; readonly diagnostics: readonly Diagnostic[] } {
  if (!isObject(entry)) return { diagnostics: [skippedTool([], "a tool must be an object")] };
  const { name, description, script, parameters = {} } = entry;
  const { schema, diagnostics: found } = translateParameters(parameters);
  const diagnostics = [
    ...nameProblems(name, before),
    ...(isText(description) ? [] : [skippedTool(["description"], "a tool must have a description")]),
    ...scriptProblems(script, checkScript),
    ...found.map((diagnostic) => below("parameters", diagnostic)),
  ];
  if (hasErrors(diagnostics) || !schema) return { diagnostics };
  const tool = { name: String(name), description: String(description), input_schema: schema };
  return { tool: { ...tool, script: typeof script === "string" ? script : undefined }, diagnostics };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function nameProblems(name: unknown, before: ReadonlyMap<string, unknown>): Diagnostic[] {
  const refuse = (message: string) => [skippedTool(["name"], message)];
  if (!isText(name)) return refuse("a tool must have a name");
  if (!TOOL_NAME.test(name))
    return refuse(`"${name}" is no tool name: lowercase letters, digits and _, a letter first`);
  if (RESERVED.has(name)) return refuse(`"${name}" is the name of a built-in tool`);
  return before.has(name) ? refuse(`a tool before it is named "${name}" too`) : [];
}

const TOOL_NAME = /^[a-z][a-z0-9_]*$/;

/** Tools of the program itself, which no skill may stand in for. */
const RESERVED = new Set([...OWN_TOOLS, ...MAKER_TOOLS.map((tool) => tool.name), "run_code"]);

function scriptProblems(script: unknown, checkScript: CheckScript): Diagnostic[] {
  if (script === undefined) return [];
  if (!isText(script)) return [skippedTool(["script"], "the script must be a path relative to the skill's folder")];
  const problem = checkScript(script);
  if (!problem) return [];
  const message = `the script ${script} ${problem.message}`;
  return [problem.refused ? skippedTool(["script"], message) : doubtful(["script"], message)];
}

// ---- parameters

function translateParameter(
  name: string,
  definition: unknown,
): { readonly parameter?: Parameter; readonly diagnostics: readonly Diagnostic[] } {
  const refuse = (path: Diagnostic["path"], message: string) => ({ diagnostics: [skippedTool(path, message)] });
  // Providers refuse a whole request for one other name.
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name) || name === "__proto__") {
    return refuse([], `"${name}" is no parameter name: letters, digits, _, . and -, 64 at most`);
  }
  if (!isObject(definition)) return refuse([], `the parameter "${name}" must be an object with a type`);
  const { type, description, enum: values, optional, ...rest } = definition as JsonObject;
  if (typeof type !== "string") {
    return refuse(["type"], `the parameter "${name}" must have a type: ${TYPES.join(", ")}`);
  }
  const own: JsonSchema = {
    ...(KNOWN_TYPES.includes(type) ? { type } : {}),
    ...(typeof description === "string" ? { description } : {}),
    ...(isFilledList(values) ? { enum: values } : {}),
    // Some providers take no array without it.
    ...(type === "array" ? { items: {} } : {}),
  };
  const more = Object.fromEntries(Object.entries(rest).filter(([key, value]) => isPartOfSchema(key, value)));
  const left = Object.keys(rest).filter((key) => !Object.hasOwn(more, key));
  const parameter = { name, optional: optional === true, own, more };
  return { parameter, diagnostics: doubts(name, { type, description, values, optional, left }) };
}

const TYPES = ["string", "number", "boolean", "object", "array"];
/** JSON Schema has two more, which do no harm. */
const KNOWN_TYPES = [...TYPES, "integer", "null"];

function isFilledList(values: Json | undefined): values is readonly Json[] {
  return Array.isArray(values) && values.length > 0;
}

/** References would lead out of the parameter, or nowhere. */
function isPartOfSchema(key: string, value: Json): boolean {
  return !key.startsWith("$") && checkJsonSchema({ [key]: value }, []).length === 0;
}

interface Doubted {
  readonly type: string;
  readonly description: Json | undefined;
  readonly values: Json | undefined;
  readonly optional: Json | undefined;
  readonly left: readonly string[];
}

function doubts(name: string, { type, description, values, optional, left }: Doubted): Diagnostic[] {
  const found: Diagnostic[] = [];
  if (!TYPES.includes(type)) {
    found.push(doubtful(["type"], `"${name}" has the type "${type}", which is none of ${TYPES.join(", ")}`));
  }
  if (!isText(description)) found.push(doubtful(["description"], `the parameter "${name}" has no description`));
  if (values !== undefined && !isFilledList(values)) {
    found.push(doubtful(["enum"], `the enum of "${name}" must be an array of values`));
  }
  if (optional !== undefined && typeof optional !== "boolean") {
    found.push(doubtful(["optional"], `"${name}" is required: only true makes it optional`));
  }
  if (left.length > 0)
    found.push(doubtful([], `of "${name}", this is no JSON Schema and left out: ${left.join(", ")}`));
  return found;
}

// ---- findings

/** The whole manifest is of no use. */
export function invalidManifest(path: Diagnostic["path"], message: string): Diagnostic {
  const text = `no tools: ${message}; the skill's instructions stay`;
  return { severity: "error", code: "TOOLS_INVALID", path, message: text };
}

/** One tool is left out. */
function skippedTool(path: Diagnostic["path"], message: string): Diagnostic {
  return { severity: "error", code: "TOOL_SKIPPED", path, message: `tool skipped: ${message}` };
}

/** The tool stays. */
function doubtful(path: Diagnostic["path"], message: string): Diagnostic {
  return { severity: "warning", code: "TOOL_DOUBTFUL", path, message };
}

function below(key: string | number, found: Diagnostic): Diagnostic {
  return { ...found, path: [key, ...found.path] };
}

function located(found: Diagnostic, { position }: JsonText): Diagnostic {
  return { ...found, ...position(found.path) };
}
