import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import type { SkillEntries } from "./entries.ts";

/**
 * Returns the skills of a run that plans its writes. A skill without config keeps its write tools, because they need
 * the config only when the plan is applied.
 */
export function plannableSkills(entries: SkillEntries): SkillEntries {
  return new Map([...entries].map(([id, entry]) => [id, entry && plannable(entry)] as const));
}

function plannable(entry: SkillEntry): SkillEntry {
  const { skill, unavailable, isLacking } = entry;
  const lacksConfig = unavailable?.kind === "config_missing" || unavailable?.kind === "config_form";
  if (unavailable !== undefined && (isLacking || !lacksConfig)) return entry;
  const writes = skill.tools.filter(({ effect }) => effect === "write").map((tool) => ({ ...tool, needs: [] }));
  if (unavailable === undefined) {
    const tools = skill.tools.map((tool) => writes.find(({ name }) => name === tool.name) ?? tool);
    return { ...entry, skill: { ...skill, tools } };
  }
  if (writes.length === 0) return entry;
  const { mcp: _server, ...rest } = skill;
  return { ...entry, skill: { ...rest, tools: writes }, unavailable: undefined, plannable: unavailable };
}
