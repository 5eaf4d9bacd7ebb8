import { reportedError } from "../../core/base/errors.ts";
import { defined, type Json } from "../../core/base/values.ts";
import type { Settings, SkillRecord } from "../../core/engine/event/record.ts";
import { TOOL_MAKER } from "../../core/engine/tools/tool-maker.ts";
import { actedIn, type Fixture, type Fixtures, noFixture, openFixtures } from "../../core/outward/testing/fixtures.ts";
import { describeTools, type Tool } from "../../core/skill/skill.ts";
import { alike, exposedName } from "../../core/skill/tool-names.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import { plannableSkills, type SkillEntries } from "../skills/entries.ts";

/** Stand-ins for the skills of a test case. They do not depend on the local configuration. */
export interface Props {
  readonly fixtures: Fixtures;
  readonly named: ReadonlySet<string>;
  /** True if tools without a fixture are the real ones. */
  readonly isLive: boolean;
  readonly disabled: readonly string[];
  readonly recorded: readonly SkillRecord[] | undefined;
}

/**
 * Replaces skills by stand-ins. A skill is available if the test names one of its tools or it needs no config. In a
 * replay, the skills of the recorded run are available.
 */
export function stageSkills(entries: SkillEntries, writes: Settings["writes"], props: Props): SkillEntries {
  const usual = props.isLive && writes === "plan" ? plannableSkills(entries) : entries;
  return new Map([...entries].map(([id, entry]) => [id, entry && (stageSkill(id, entry, props) ?? usual.get(id))]));
}

/** Returns the stand-in for a skill, or undefined if the skill is used as it is. */
function stageSkill(id: string, entry: SkillEntry, props: Props): SkillEntry | undefined {
  const { skill } = entry;
  const { isLive, disabled, recorded, fixtures } = props;
  if (disabled.includes(skill.id)) return undefined;
  const known = recorded?.find((other) => other.id === id);
  const tools = toolsOf(entry, known, props);
  const names = describeTools(skill, tools).map(({ exposed }) => exposed);
  const answered = tools.map((tool, n) => withAnswers(tool, names[n] ?? tool.name, props));
  const { mcp: _server, ...rest } = skill;
  if (isLive) {
    const isPlayed = names.some((name) => Object.hasOwn(fixtures, name));
    return isPlayed ? { ...there(entry), skill: { ...skill, tools: answered } } : undefined;
  }
  const played = { ...entry, skill: { ...rest, tools: answered }, fields: [], scripts: undefined, holdsScripts: false };
  const missing = skill.id === TOOL_MAKER ? NOT_PLAYED : known ? reasonIn(known) : reasonNow(entry, names, props);
  return missing === undefined
    ? there(played)
    : { ...played, unavailable: { kind: "config_missing", reason: missing } };
}

const NOT_PLAYED = "the test names none of its tools";

function there(entry: SkillEntry): SkillEntry {
  const { plannable: _plannable, ...rest } = entry;
  return { ...rest, unavailable: undefined, withheld: undefined };
}

function reasonIn({ available, plannable, reason }: SkillRecord): string | undefined {
  return available || plannable ? undefined : (reason ?? NOT_PLAYED);
}

function reasonNow({ fields, unavailable, withheld }: SkillEntry, names: readonly string[], { named }: Props) {
  if (names.some((name) => named.has(name))) return undefined;
  return fields.some(({ field }) => field.required) ? NOT_PLAYED : (unavailable?.reason ?? withheld);
}

/** Returns the known tools of a skill. A skill with unknown tools also gets those that the test names. */
function toolsOf(
  { skill, heldTools, isUnopened, said }: SkillEntry,
  known: SkillRecord | undefined,
  props: Props,
): Tool[] {
  const declared = [...skill.tools, ...heldTools].map(({ needs: _needs, settled_by: _settled, ...tool }) => tool);
  const has = (name: string) => declared.some((tool) => tool.name === name);
  if (known?.available) {
    const wanted = known.tools.map(({ name }) => name);
    const recorded = known.tools
      .filter(({ name }) => !has(name))
      .map((tool) => ({ ...tool, handler: () => null }) as Tool);
    return [...declared.filter(({ name }) => wanted.includes(name)), ...recorded];
  }
  if (!isUnopened) return declared;
  const { effects = {} } = skill.mcp ?? {};
  const names = new Set([...props.named].flatMap((exposed) => bareName(skill.id, exposed)));
  const unopened = [...names]
    .filter((name) => !has(name))
    .map((name): Tool => {
      const tool = { name, description: "", input_schema: { type: "object" }, effect: effects[name] ?? "write" };
      return { ...tool, handler: () => null, ...said.get(name), ...defined("origin", skill.mcp?.origin) };
    });
  return [...declared, ...unopened];
}

/** Returns the name of the skill's tool that the model sees as `exposed`. Empty if the skill cannot have one. */
export function bareName(id: string, exposed: string): string[] {
  const prefix = `${alike(id)}_`;
  if (!alike(exposed).startsWith(prefix)) return [];
  const name = exposed.slice(prefix.length);
  return name !== "" && exposedName(id, name) === exposed ? [name] : [exposed];
}

/**
 * Answers a tool from fixtures. Drops the output schema of a tool with fixtures, because a fixture may contain only what
 * the case needs. Other tools keep theirs: a planned write needs no fixture, and later steps refer to its output.
 */
function withAnswers(tool: Tool, exposed: string, { fixtures, isLive }: Props): Tool {
  const rows = Object.hasOwn(fixtures, exposed) ? fixtures[exposed] : undefined;
  if (!rows && isLive) return tool;
  const { audience, output_schema, ...rest } = tool;
  const find = openFixtures(rows ?? []);
  const handler = (input: Json) => answer(tool, find(input), exposed);
  const schema = rows ? {} : defined("output_schema", output_schema);
  const reader =
    audience === undefined ? {} : { audience: audience === "team" ? ("team" as const) : ("public" as const) };
  return { ...rest, ...schema, ...reader, handler };
}

function answer(tool: Tool, row: Fixture | undefined, exposed: string): Json {
  if (!row) throw new Error(noFixture(exposed));
  if (row.error !== undefined) throw reportedError(row.error, actedIn(row, tool));
  return row.output ?? null;
}
