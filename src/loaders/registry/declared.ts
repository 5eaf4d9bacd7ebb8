import type { SkillRecord } from "../../core/engine/event/record.ts";
import type { DeclaredSkill } from "../../core/outward/taint/tools.ts";
import { readReach } from "../../core/skill/formats/tool-reach.ts";
import { describeTools, type Tool, type ToolDescriptor } from "../../core/skill/skill.ts";
import { recordSkill } from "./entry.ts";
import type { SkillEntry } from "./skill-set.ts";

/** Describes a skill from its files and config alone, without running code or connecting to a server. */
export function declareSkill(id: string, entry: SkillEntry): DeclaredSkill {
  const { skill, heldTools, scripts, holdsScripts } = entry;
  const record = (tools: readonly Tool[], effect: SkillRecord["scripts"]): SkillRecord => ({
    ...recordSkill(id, entry),
    available: true,
    tools: describeTools(skill, tools),
    ...(effect ? { scripts: effect } : {}),
  });
  return {
    open: record(skill.tools, scripts?.effect),
    whole: record([...skill.tools, ...heldTools, ...serverTools(entry)], holdsScripts ? "write" : scripts?.effect),
    unknown: entry.isUnopened ? unknownTools(entry) : [],
  };
}

/** Returns the server's tools whose effects the config declares. */
function serverTools({ skill: { mcp = {} }, said }: SkillEntry): Tool[] {
  const { reach } = readReach({ ...mcp });
  return Object.entries(mcp.effects ?? {}).map(([name, effect]) => ({
    ...nobodys(name, effect),
    ...said.get(name),
    ...reach,
  }));
}

/** Returns a tool that reads and one that writes. A remote skill can only be read. */
function unknownTools({ skill, remote }: SkillEntry): ToolDescriptor[] {
  const { reach } = readReach({ ...(remote?.server ?? { skill }).skill.mcp });
  const [reader, writer] = describeTools(skill, [
    { ...nobodys("reads", "read"), ...reach },
    { ...nobodys("writes", "write"), ...reach },
  ]);
  return [reader, ...(remote ? [] : [writer])].flatMap((tool) => (tool ? [{ ...tool, exposed: `${skill.id}_*` }] : []));
}

function nobodys(name: string, effect: Tool["effect"]): Tool {
  return { name, description: "", input_schema: { type: "object" }, effect, handler: () => undefined };
}
