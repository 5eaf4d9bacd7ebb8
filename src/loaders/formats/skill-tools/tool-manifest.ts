import { type Diagnostic, hasErrors } from "../../../core/base/diagnostic.ts";
import { isObject, type JsonSchema } from "../../../core/base/values.ts";
import { describeReserved, RESERVED_TOOLS } from "../../../core/engine/tools/own-tools.ts";
import {
  below,
  doubtful,
  isText,
  skippedTool,
  type ToolFinding,
  translateParameters,
} from "../../../core/skill/formats/parameter-map.ts";
import { readReach } from "../../../core/skill/formats/tool-reach.ts";
import type { ToolReach } from "../../../core/skill/skill.ts";
import { type Manifest, type Unreadable, unreadable } from "../../folder/manifest.ts";

export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly input_schema: JsonSchema;
  /** Path relative to the folder. Undefined if the tool only has the skill's instructions. */
  readonly script: string | undefined;
  readonly reach: ToolReach;
  readonly effect: unknown;
}

/** `diagnostics` are findings as a run reports them, `strict` returns them as the lint does. */
export type ReadTools = ReturnType<typeof readTools>;

/** Reports why a script cannot be called. Paths outside the folder are `refused`; a missing file may still appear. */
export type CheckScript = (script: string) => { readonly refused: boolean; readonly message: string } | undefined;

/** Reads the tools of a tools.json (sections 4 and 5). An invalid tool is skipped. An invalid manifest has no tools. */
export function readTools(manifest: Manifest | Unreadable, checkScript: CheckScript) {
  if ("fault" in manifest) {
    const { file, fault, place } = manifest;
    const message = noTools(place.line === undefined ? fault : `it is not JSON: ${fault}`);
    const found: Diagnostic = { severity: "error", code: "TOOLS_INVALID", path: [], message, file, ...place };
    return { tools: [], diagnostics: [found], strict: () => [unreadable(manifest)] };
  }
  const { value, problem } = manifest;
  if (!Array.isArray(value)) {
    const fault = "it must be an array of tools";
    const found = problem("error", "TOOLS_INVALID", [], noTools(fault));
    return {
      tools: [],
      diagnostics: [found],
      strict: () => [problem("error", "TOOLS_SHAPE", [], `tools.json: ${fault}`)],
    };
  }
  const { tools, findings } = checkTools(value, checkScript);
  return {
    tools,
    diagnostics: findings.map(({ severity, code, path, message }) =>
      problem(severity, code, path, severity === "error" ? `tool skipped: ${message}` : message),
    ),
    strict: () =>
      findings.map(({ severity, strict, code, rule, path, message }) =>
        problem(strict ?? severity, rule ?? code, path, message),
      ),
  };
}

function noTools(fault: string): string {
  return `no tools: ${fault}; the skill's instructions stay`;
}

function checkTools(entries: readonly unknown[], checkScript: CheckScript) {
  const tools = new Map<string, ToolDeclaration>();
  const findings = entries.flatMap((entry, index) => {
    const { tool, findings } = checkTool(entry, { before: tools, checkScript });
    if (tool) tools.set(tool.name, tool);
    return findings.map((found) => below(index, found));
  });
  return { tools: [...tools.values()], findings };
}

function checkTool(
  entry: unknown,
  { before, checkScript }: { before: ReadonlyMap<string, ToolDeclaration>; checkScript: CheckScript },
): { readonly tool?: ToolDeclaration; readonly findings: readonly ToolFinding[] } {
  if (!isObject(entry)) return { findings: [skippedTool([], "a tool must be an object", "TOOLS_SHAPE")] };
  const { name, description, script, parameters = {} } = entry;
  const { schema, diagnostics: found } = translateParameters(parameters);
  const { reach, faults } = readReach(entry);
  const findings = [
    ...nameProblems(name, before),
    ...(isText(description)
      ? []
      : [skippedTool(["description"], "a tool must have a description", "TOOL_DESCRIPTION")]),
    ...scriptProblems(script, checkScript),
    ...found.map((each) => below("parameters", each)),
    ...faults.map(({ path, message }) => doubtful([...path], `ignored: ${message}`)),
  ];
  if (hasErrors(findings) || !schema) return { findings };
  const tool = {
    name: String(name),
    description: String(description),
    input_schema: schema,
    reach,
    effect: entry.effect,
    script: typeof script === "string" ? script : undefined,
  };
  return { tool, findings };
}

function nameProblems(name: unknown, before: ReadonlyMap<string, unknown>): ToolFinding[] {
  const refuse = (message: string, code?: "TOOL_NAME" | "TOOL_NAME_TWICE") => [skippedTool(["name"], message, code)];
  if (!isText(name)) return refuse("a tool must have a name", "TOOL_NAME");
  if (!/^[a-z][a-z0-9_]*$/.test(name)) {
    return refuse(`"${name}" is not a tool name: use a-z, 0-9 and _, and start with a letter`, "TOOL_NAME");
  }
  if (RESERVED_TOOLS.includes(name)) {
    return [{ ...skippedTool(["name"], describeReserved(name)), code: "TOOL_RESERVED" }];
  }
  return before.has(name) ? refuse(`an earlier tool has the name "${name}" too`, "TOOL_NAME_TWICE") : [];
}

function scriptProblems(script: unknown, checkScript: CheckScript): ToolFinding[] {
  const path = ["script"];
  if (script === undefined) return [];
  if (!isText(script)) {
    return [skippedTool(path, "the script must be a path relative to the skill's folder", "TOOL_SCRIPT")];
  }
  const problem = checkScript(script);
  if (!problem) return [];
  const message = `the script ${script} ${problem.message}`;
  if (problem.refused) return [skippedTool(path, message, "TOOL_SCRIPT")];
  return [{ ...doubtful(path, message, "TOOL_SCRIPT"), strict: "error" }];
}
