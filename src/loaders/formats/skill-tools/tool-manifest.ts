import { type Diagnostic, hasErrors } from "../../../core/base/diagnostic.ts";
import { isObject, type Json, type JsonSchema } from "../../../core/base/values.ts";
import { RESERVED_TOOLS } from "../../../core/engine/tools/own-tools.ts";
import {
  below,
  doubtful,
  isText,
  skippedTool,
  translateParameters,
} from "../../../core/skill/formats/parameter-map.ts";
import { readReach } from "../../../core/skill/formats/tool-reach.ts";
import type { ToolReach } from "../../../core/skill/skill.ts";
import { type JsonText, parseJsonText } from "../../text/json-text.ts";

/** Parser for the tools.json of Skill Tools 1.0.0. */

/** Tool that a manifest declares. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  /** Path relative to the folder. Undefined if the tool only has the skill's instructions. */
  readonly script: string | undefined;
  readonly reach: ToolReach;
  /** Effect that the author states. */
  readonly effect: unknown;
}

export interface Manifest {
  readonly tools: readonly ToolDeclaration[];
  /** Findings without a file name. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Reports why a script cannot be called. Paths outside the folder are `refused`; a missing file may still appear. */
export type CheckScript = (script: string) => { readonly refused: boolean; readonly message: string } | undefined;

/** Parses the tools of a tools.json. An invalid tool is skipped. An invalid manifest has no tools. */
export function parseManifest(text: string, checkScript: CheckScript): Manifest {
  const json = parseJsonText(text);
  if (json.problem) {
    const { message, ...place } = json.problem;
    return { tools: [], diagnostics: [{ ...invalidManifest([], `it is no JSON: ${message}`), ...place }] };
  }
  const { tools, diagnostics } = checkManifest(json.value as Json, checkScript);
  return { tools, diagnostics: diagnostics.map((found) => located(found, json)) };
}

// ---- the manifest

function checkManifest(root: Json, checkScript: CheckScript): Manifest {
  if (!Array.isArray(root)) return { tools: [], diagnostics: [invalidManifest([], "it must be an array of tools")] };
  const entries: readonly Json[] = root;
  const tools = new Map<string, ToolDeclaration>();
  const diagnostics = entries.flatMap((entry, index) => {
    const { tool, diagnostics } = checkTool(entry, { before: tools, checkScript });
    if (tool) tools.set(tool.name, tool);
    return diagnostics.map((found) => below(index, found));
  });
  return { tools: [...tools.values()], diagnostics };
}

interface ToolSurroundings {
  /** Earlier tools by name. */
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
  const { reach, faults } = readReach(entry);
  const diagnostics = [
    ...nameProblems(name, before),
    ...(isText(description) ? [] : [skippedTool(["description"], "a tool must have a description")]),
    ...scriptProblems(script, checkScript),
    ...found.map((diagnostic) => below("parameters", diagnostic)),
    ...faults.map(({ path, message }) => doubtful([...path], `says nothing: ${message}`)),
  ];
  if (hasErrors(diagnostics) || !schema) return { diagnostics };
  const tool = {
    name: String(name),
    description: String(description),
    input_schema: schema,
    reach,
    effect: entry.effect,
  };
  return { tool: { ...tool, script: typeof script === "string" ? script : undefined }, diagnostics };
}

function nameProblems(name: unknown, before: ReadonlyMap<string, unknown>): Diagnostic[] {
  const refuse = (message: string) => [skippedTool(["name"], message)];
  if (!isText(name)) return refuse("a tool must have a name");
  if (!TOOL_NAME.test(name))
    return refuse(`"${name}" is no tool name: lowercase letters, digits and _, a letter first`);
  if (RESERVED_TOOLS.includes(name)) return refuse(`"${name}" is the name of a built-in tool`);
  return before.has(name) ? refuse(`a tool before it is named "${name}" too`) : [];
}

const TOOL_NAME = /^[a-z][a-z0-9_]*$/;

function scriptProblems(script: unknown, checkScript: CheckScript): Diagnostic[] {
  if (script === undefined) return [];
  if (!isText(script)) return [skippedTool(["script"], "the script must be a path relative to the skill's folder")];
  const problem = checkScript(script);
  if (!problem) return [];
  const message = `the script ${script} ${problem.message}`;
  return [problem.refused ? skippedTool(["script"], message) : doubtful(["script"], message)];
}

// ---- findings

/** Reports that the whole manifest is unusable. */
export function invalidManifest(path: Diagnostic["path"], message: string): Diagnostic {
  const text = `no tools: ${message}; the skill's instructions stay`;
  return { severity: "error", code: "TOOLS_INVALID", path, message: text };
}

function located(found: Diagnostic, { position }: JsonText): Diagnostic {
  return { ...found, ...position(found.path) };
}
