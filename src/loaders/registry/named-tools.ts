import type { Diagnostic } from "../../core/base/diagnostic.ts";
import { nearest } from "../../core/base/values.ts";
import { toolsNamed } from "../../core/engine/tools/disclosure.ts";
import type { Skill, Tool } from "../../core/skill/skill.ts";

/** Warns about `{{tool}}` names in a skill's text that match none of its tools, unless a server may have them. */
export function unknownToolsNamed(
  { instruction = "", mcp }: Skill,
  tools: readonly Pick<Tool, "name">[],
  at: Pick<Diagnostic, "file" | "line" | "column">,
): Diagnostic[] {
  if (mcp || tools.length === 0) return [];
  const names = tools.map(({ name }) => name);
  const unknown = toolsNamed(instruction).filter((name) => !names.includes(name));
  return unknown.map((name) => {
    const message = `its text names {{${name}}}, which is not one of its tools`;
    const near = nearest(name, names);
    const hint = near === undefined ? `its tools are ${names.join(", ")}` : `did you mean {{${near}}}?`;
    return { severity: "warning", code: "SKILL_TOOL_UNKNOWN", path: [], message, hint, ...at };
  });
}
