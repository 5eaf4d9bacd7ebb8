import type { Workflow } from "../../core/workflow.ts";
import type { InlineSkills, SkillEntry, SkillSet } from "../../loaders/registry/skill-set.ts";

/** By id; undefined where nobody declares the id. */
export type SkillEntries = ReadonlyMap<string, SkillEntry | undefined>;

/** The skills that a workflow refers to, in the order of its nodes; undefined where nobody declares the id. */
export async function gatherSkills(set: SkillSet, workflow: Workflow, inline: InlineSkills): Promise<SkillEntries> {
  const ids = new Set(Object.values(workflow.nodes).flatMap((node) => node.skills ?? []));
  const found = await Promise.all([...ids].map(async (id) => [id, await set.find(id, inline)] as const));
  return new Map(found);
}

/** Skills and those that they call in their turn: whose secrets may be at hand. */
export async function gatherCalled(set: SkillSet, references: Iterable<string>): Promise<SkillEntries> {
  const found = new Map<string, SkillEntry | undefined>();
  const open = [...references];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    const entry = await set.find(next);
    found.set(next, entry);
    open.push(...(entry?.calls ?? []));
  }
  return found;
}

/** All skills whose handlers may run for these: themselves and whom they call. */
export async function reachedSkills(
  set: SkillSet,
  entries: SkillEntries,
): Promise<readonly (SkillEntry | undefined)[]> {
  const called = [...entries.values()].flatMap((entry) => entry?.calls ?? []);
  return [...entries.values(), ...(await gatherCalled(set, called)).values()];
}
