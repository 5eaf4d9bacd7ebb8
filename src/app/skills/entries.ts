import { stringsIn } from "../../core/base/values.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import { askForLack } from "../../loaders/registry/entry.ts";
import type { InlineSkills, SkillEntry, SkillSet } from "../../loaders/registry/skill-set.ts";

export type SkillEntries = ReadonlyMap<string, SkillEntry | undefined>;

export function mapEntries(entries: SkillEntries, change: (entry: SkillEntry) => SkillEntry): SkillEntries {
  return new Map([...entries].map(([id, entry]) => [id, entry && change(entry)]));
}

export async function gatherAll(
  set: SkillSet,
  documents: readonly { readonly workflow: Workflow; readonly inline: InlineSkills }[],
): Promise<SkillEntries> {
  const found = documents.flatMap(({ workflow: { nodes }, inline }) => {
    const ids = new Set(Object.values(nodes).flatMap((node) => node.skills ?? []));
    return [...ids].map(async (id) => [id, await set.find(id, inline)] as const);
  });
  return new Map(await Promise.all(found));
}

/** Finds skills and all skills that they call, directly or not. The run may need the secrets of all of them. */
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

/** Returns all skills whose handlers may run: the given ones, those that they call, and those with their servers. */
export async function reachedSkills(
  set: SkillSet,
  entries: SkillEntries,
): Promise<readonly (SkillEntry | undefined)[]> {
  const called = [...entries.values()].flatMap((entry) => entry?.calls ?? []);
  const servers = [...entries.values()].map((entry) => entry?.remote?.server);
  return [...entries.values(), ...servers, ...(await gatherCalled(set, called)).values()];
}

/** Asks the skills again what they lack, now that the run's input and sources are known. */
export async function leaveOutUseless(
  entries: SkillEntries,
  workDir: string,
  { input, sources }: Pick<RunRecord, "input" | "sources">,
): Promise<SkillEntries> {
  const texts = [...stringsIn(input), ...Object.values(sources).map(({ content }) => content)];
  const asked = [...entries].map(
    async ([id, entry]) => [id, entry && (await askForLack(entry, { workDir, texts }))] as const,
  );
  return new Map(await Promise.all(asked));
}

/**
 * Returns the skills of a run that plans its writes. A skill without config keeps its write tools, because they need
 * the config only when the plan is applied.
 */
export function plannableSkills(entries: SkillEntries): SkillEntries {
  return mapEntries(entries, plannable);
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
