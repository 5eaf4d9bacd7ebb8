import { extname, join, posix } from "node:path";
import type { Diagnostic, DiagnosticCode } from "../../../core/base/diagnostic.ts";
import { isObject } from "../../../core/base/values.ts";
import { REACH_KEYS } from "../../../core/skill/formats/tool-reach.ts";
import { faultOfFile } from "../../folder/lint-contents.ts";
import { type Complain, openManifest, type Path, unknownKeys } from "../../folder/lint-manifest.ts";
import type { SkillFolder } from "../../folder/skill-folder.ts";
import { isExecutable } from "../../programs/script-handler.ts";

const TOOL_KEYS = ["name", "description", "script", "parameters", "effect", ...REACH_KEYS];
const PARAMETER_KEYS = ["type", "description", "enum", "optional"];
const TYPES = ["string", "number", "boolean", "object", "array"];
const EXTENSIONS = [".js", ".mjs", ".ts", ".mts", ".py", ".sh"];

/** Checks a `tools.json` of Skill Tools 1.0.0, sections 4 to 6. A violated "must" is an error, a "should" a warning. */
export function checkSkillTools(folder: SkillFolder): Diagnostic[] {
  const manifest = openManifest(folder, "tools.json");
  if ("severity" in manifest) return [manifest];
  const { value, problem } = manifest;
  if (!Array.isArray(value)) {
    return [problem("error", "TOOLS_SHAPE", [], "tools.json must be an array of tools, even of one")];
  }
  const tools = value as readonly unknown[];
  return [
    ...tools.flatMap((tool, index) => checkTool({ folder, problem, path: [index] }, tool)),
    ...checkTwice(problem, tools),
  ];
}

/** Value to check, and how to report findings about it. */
interface Place {
  readonly folder: SkillFolder;
  readonly problem: Complain;
  readonly path: Path;
}

function within(place: Place, ...keys: Path): Place {
  return { ...place, path: [...place.path, ...keys] };
}

function checkTool(place: Place, tool: unknown): Diagnostic[] {
  const { problem, path } = place;
  const number = Number(path[0]) + 1;
  if (!isObject(tool)) return [problem("error", "TOOLS_SHAPE", path, `tool ${number} is no object`)];
  const { name, description, script, parameters } = tool;
  const label = typeof name === "string" && name !== "" ? name : `${number}`;
  const found = unknownKeys(problem, tool, { known: TOOL_KEYS, path });
  if (typeof name !== "string" || !/^[a-z][a-z0-9_]*$/.test(name)) {
    const message = name === undefined ? `tool ${label} has no name` : `${JSON.stringify(name)} is no tool name`;
    const hint = "a lowercase letter, then lowercase letters, digits and underscores: count_words";
    found.push(problem("error", "TOOL_NAME", [...path, "name"], { message, hint }));
  }
  if (typeof description !== "string" || description.trim() === "") {
    found.push(problem("error", "TOOL_DESCRIPTION", [...path, "description"], `tool ${label} has no description`));
  }
  if (parameters !== undefined) found.push(...checkParameters(within(place, "parameters"), label, parameters));
  if (script !== undefined) found.push(...checkScript(within(place, "script"), script));
  return found;
}

function checkTwice(problem: Complain, tools: readonly unknown[], base: Path = []): Diagnostic[] {
  const seen = new Set<string>();
  return tools.flatMap((tool, index) => {
    const name = isObject(tool) && typeof tool.name === "string" ? tool.name : undefined;
    if (name === undefined) return [];
    const again = seen.has(name);
    seen.add(name);
    return again ? [problem("error", "TOOL_NAME_TWICE", [...base, index, "name"], `there are two tools ${name}`)] : [];
  });
}

function checkParameters(place: Place, tool: string, parameters: unknown): Diagnostic[] {
  const { problem, path } = place;
  if (!isObject(parameters)) {
    return [problem("error", "TOOL_PARAMETERS", path, `the parameters of tool ${tool} are no map by name`)];
  }
  if (typeof parameters.type === "string") {
    const message = `the parameters of tool ${tool} are a JSON Schema; this format takes a map from name to definition`;
    const hint = "write the schema's properties here, and optional: true where they are not required";
    return [problem("error", "TOOL_PARAMETERS", path, { message, hint })];
  }
  return Object.entries(parameters).flatMap(([name, parameter]) =>
    checkParameter(within(place, name), name, parameter),
  );
}

function checkParameter({ problem, path }: Place, name: string, parameter: unknown): Diagnostic[] {
  if (name === "__workDir") {
    // The definition is ignored, whatever it contains.
    return [problem("warning", "TOOL_PARAMETERS", path, "__workDir is what the runtime adds; take another name")];
  }
  if (!isObject(parameter)) return [problem("error", "TOOL_PARAMETERS", path, `parameter ${name} is no object`)];
  const { type, description, enum: allowed, optional } = parameter;
  const found = unknownKeys(problem, parameter, { known: PARAMETER_KEYS, path });
  const doubt = (code: DiagnosticCode, key: string, said: Parameters<Complain>[3]) =>
    found.push(problem("warning", code, [...path, key], said));
  if (typeof type !== "string") {
    const said = { message: `parameter ${name} has no type`, hint: `known are ${TYPES.join(", ")}` };
    found.push(problem("error", "PARAMETER_TYPE", [...path, "type"], said));
  } else if (!TYPES.includes(type)) {
    const said = { message: `parameter ${name} has no known type`, hint: `known are ${TYPES.join(", ")}` };
    doubt("PARAMETER_TYPE", "type", said);
  }
  if (typeof description !== "string" || description.trim() === "") {
    doubt("PARAMETER_DESCRIPTION", "description", `parameter ${name} has no description`);
  }
  if (allowed !== undefined && !isEnumOf(allowed, type)) {
    doubt("PARAMETER_ENUM", "enum", `the enum of parameter ${name} must be a list of values of its type`);
  }
  if (optional !== undefined && typeof optional !== "boolean") {
    doubt("PARAMETER_OPTIONAL", "optional", `optional of parameter ${name} must be true or false`);
  }
  return found;
}

function isEnumOf(allowed: unknown, type: unknown): boolean {
  const typeOf = (value: unknown) => (Array.isArray(value) ? "array" : typeof value);
  return Array.isArray(allowed) && allowed.length > 0 && allowed.every((value) => typeOf(value) === type);
}

function checkScript(place: Place, script: unknown): Diagnostic[] {
  const { folder, problem, path } = place;
  if (typeof script !== "string") return [problem("error", "TOOL_SCRIPT", path, "script must be a path")];
  const fault = faultOfFile(folder, script.replace(/^\.\//, ""));
  if (fault === "outside") return [problem("error", "TOOL_SCRIPT", path, `${script} leads out of the skill's folder`)];
  if (fault === "missing") return [problem("error", "TOOL_SCRIPT", path, `there is no file ${script}`)];
  const extension = extname(script);
  if (!EXTENSIONS.includes(extension) && !isExecutable(join(folder.directory, script))) {
    const message = `nothing is known to run "${extension}" files, and ${script} is not executable`;
    return [problem("error", "TOOL_SCRIPT", path, { message, hint: `known are ${EXTENSIONS.join(", ")}` })];
  }
  const found: Diagnostic[] = [];
  if (posix.normalize(script).split("/")[0] !== "scripts") {
    found.push(problem("warning", "TOOL_SCRIPT_PLACE", path, `${script} should lie in scripts/`));
  }
  const text = textOf(folder, script);
  const handler = missingHandler(extension, text);
  if (handler) found.push(problem("warning", "TOOL_HANDLER", path, `${script} ${handler}`));
  return [...found, ...checkVariables(place, text)];
}

function textOf(folder: SkillFolder, path: string): string {
  try {
    return folder.read(posix.normalize(path)) ?? "";
  } catch {
    return "";
  }
}

/** Checks the text for a handler, without running it. */
function missingHandler(extension: string, text: string): string | undefined {
  if (extension === ".py") return /^def\s+handler\s*\(/m.test(text) ? undefined : "defines no function handler(args)";
  if (extension === ".sh" || !EXTENSIONS.includes(extension)) return undefined;
  return /\bexport\s+default\b|\bas\s+default\b/.test(text) ? undefined : "has no default export";
}

const VARIABLES =
  /process\.env\.([A-Z]\w*)|(?:process\.env|os\.environ)\[\s*["']([A-Z]\w*)["']|os\.(?:environ\.get|getenv)\(\s*["']([A-Z]\w*)["']/g;
const GIVEN = new Set(["PATH", "HOME", "LANG", "TMPDIR"]);

/** Warns about environment variables that the document does not mention (Skill Tools 1.0.0, section 6). */
function checkVariables({ folder, problem, path }: Place, script: string): Diagnostic[] {
  const document = textOf(folder, "SKILL.md");
  const read = [...script.matchAll(VARIABLES)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
  const untold = [...new Set(read)].filter((name) => !GIVEN.has(name) && !document.includes(name));
  return untold.map((name) => {
    const hint = `name it in a section "Configuration"; a run hands it over with --skill-env ${folder.name}=${name}`;
    return problem("warning", "TOOL_VARIABLE", path, { message: `SKILL.md does not tell that ${name} is read`, hint });
  });
}
