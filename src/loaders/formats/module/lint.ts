import { join } from "node:path";
import type { Diagnostic, DiagnosticCode } from "../../../core/base/diagnostic.ts";
import { faultOfSchema } from "../../../core/base/schema/schema.ts";
import { defined, isObject, type JsonSchema } from "../../../core/base/values.ts";
import { describeReserved, isReservedTool } from "../../../core/engine/tools/own-tools.ts";
import { type DefinitionFault, definitionFaults } from "../../../core/skill/formats/skill-definition.ts";
import type { SkillFolder } from "../../folder/skill-folder.ts";
import { readDefinition, type ToldDefinition, UNTOLD } from "./module-source.ts";

/** Checks a skill module from its source text. Imports nothing. */
export function checkModule({ directory, name: id }: SkillFolder, name: string, text: string): Diagnostic[] {
  const refuse = (code: DiagnosticCode, message: string, hint?: string): Diagnostic => {
    return { severity: "error", code, path: [], message, ...defined("hint", hint), file: join(directory, name) };
  };
  const hint = "export default defineSkill({ id, name, description, category, config, tools })";
  if (!/\bexport\s+default\b|\bas\s+default\b|\bmodule\.exports\b|\bexport\s*\{[^{}]*\bdefault\b/.test(text)) {
    return [refuse("MODULE_EXPORT", `${name} exports nothing by default`, hint)];
  }
  const told = readDefinition(text);
  if (told?.isClosed === false) {
    return [refuse("MODULE_UNREADABLE", `${name} has a syntax error: its definition is not closed`)];
  }
  const faults = told ? toldFaults(told) : [];
  const others = faults.filter(({ path }) => path[0] !== "id" || hasId(told?.value));
  const unsaid = refuse("MODULE_ID", `the id of the skill is not in ${name}`, `id: "${id}"`);
  const isSaid = hasId(told?.value) || /\bid\s*:\s*["'`][^"'`]+["'`]/.test(told ? "" : text);
  const ids = others.length < faults.length ? [unsaid] : isSaid ? [] : [{ ...unsaid, severity: "warning" as const }];
  return [
    ...ids,
    ...others.map(({ message }) => refuse("MODULE_DEFINITION", `${name}: ${message}`)),
    ...reservedTools(told?.value, id).map((tool) => refuse("TOOL_RESERVED", describeReserved(tool))),
  ];
}

function reservedTools(value: unknown, folder: string): string[] {
  if (!isObject(value) || !Array.isArray(value.tools)) return [];
  const id = typeof value.id === "string" ? value.id : folder;
  const names = (value.tools as unknown[]).map((tool) => (isObject(tool) ? tool.name : undefined));
  return names.filter((name) => typeof name === "string").filter((name) => isReservedTool(id, name));
}

function hasId(value: unknown): boolean {
  return isObject(value) && Object.hasOwn(value, "id") && value.id !== UNTOLD;
}

/** Returns the loader's findings as far as the text shows them. Values known only at run time are not checked. */
function toldFaults({ value, open }: ToldDefinition): readonly DefinitionFault[] {
  const found = definitionFaults(value).filter(({ path }) => isTold(value, open, path));
  return found.length > 0 ? found : schemaFaults(value);
}

function isTold(value: unknown, open: ReadonlySet<unknown>, path: readonly PropertyKey[]): boolean {
  let inner = value;
  for (const key of path) {
    if (inner === UNTOLD) return false;
    if (typeof inner !== "object" || inner === null) return true;
    if (!Object.hasOwn(inner, key)) return !open.has(inner);
    inner = (inner as Record<PropertyKey, unknown>)[key];
  }
  return inner !== UNTOLD && !open.has(inner);
}

/** Reports schemas that are complete in the text and do not compile. */
function schemaFaults(value: unknown): DefinitionFault[] {
  const tools = isObject(value) && Array.isArray(value.tools) ? (value.tools as unknown[]) : [];
  return tools.flatMap((tool, index) =>
    ["input_schema", "output_schema"].flatMap((key): DefinitionFault[] => {
      const schema = isObject(tool) ? tool[key] : undefined;
      const fault = isObject(schema) && !hasUntold(schema) ? faultOfSchema(schema as JsonSchema) : undefined;
      if (fault === undefined) return [];
      return [{ path: ["tools", index, key], message: `tools[${index}].${key} is not a JSON Schema: ${fault}` }];
    }),
  );
}

function hasUntold(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === UNTOLD;
  return Object.values(value).some(hasUntold);
}
