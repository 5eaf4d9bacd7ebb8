import { SkillflowError } from "../../../core/base/errors.ts";
import { asFlag, renderHint } from "../../../core/base/options.ts";
import { nearest } from "../../../core/base/values.ts";
import type { Unavailable } from "../../../core/skill/availability/unavailable.ts";
import { type ConfigField, describeTools, type Skill } from "../../../core/skill/skill.ts";
import type { InstanceChoice, SkillEntry, SkillSetOptions } from "../skill-set.ts";

interface Base {
  /** Skill with the instance's id and the fields of all instances. */
  readonly skill: Skill;
  readonly serves: boolean;
  /** True if the fields are not all known, because they are in code that is not trusted. */
  readonly isHeld: boolean;
}

/**
 * Gives a skill the config of its instance. Fields that the instance does not name have no value. An instance that cannot
 * be used, by its `lack`, has no config at all.
 */
export function deriveInstance(base: Base, choice: InstanceChoice | undefined, options: SkillSetOptions) {
  const { skill } = base;
  if (!choice) return { skill, overrides: options.overrides, lack: undefined };
  const said = new Map(Object.entries(choice.config));
  const lack = mistakeIn(base, choice, options) ?? waitOf(skill, choice, options);
  const fields = Object.entries(skill.config).map(([key, { env: _, ...field }]): [string, ConfigField] => {
    const value = lack ? undefined : said.get(key);
    return [key, typeof value === "object" ? { ...field, env: value.env } : field];
  });
  const literals = [...said].flatMap(([key, value]) =>
    typeof value === "string" ? [[`${skill.id}.${key}`, value] as const] : [],
  );
  const names = new Map(fields.map(([key, { env }]) => [key, env ?? `${key} of ${skill.id}`]));
  const tools = skill.tools.map((tool) => ({ ...tool, handler: withOwnNames(tool.handler, names) }));
  const probe = skill.probe && withOwnNames(skill.probe, names);
  const own = { name: `${skill.name}@${choice.name}`, config: Object.fromEntries(fields), tools, probe };
  return {
    skill: { ...skill, ...own },
    overrides: lack ? new Map() : new Map([...literals, ...options.overrides]),
    lack,
  };
}

/** Makes the errors of an instance name its own variables. The skill's code knows only the names of its fields. */
function withOwnNames<Given extends unknown[], Value>(
  work: (...given: Given) => Value | Promise<Value>,
  names: ReadonlyMap<string, string>,
): (...given: Given) => Promise<Value> {
  return async (...given) => {
    try {
      return await work(...given);
    } catch (error) {
      if (error instanceof Error) error.message = error.message.replace(/\w+/g, (word) => names.get(word) ?? word);
      throw error;
    }
  };
}

/** Finds what makes an instance unusable, even if it is trusted. */
function mistakeIn({ skill, serves, isHeld }: Base, choice: InstanceChoice, options: SkillSetOptions) {
  const { path, trusted, name } = choice;
  const invalid = (why: string): Unavailable => ({ kind: "invalid", reason: `skills.instances in ${path}: ${why}` });
  const given = (options.given ?? []).map(({ id }) => id);
  const isOwn = options.own.some((own) => own.skill.id === choice.skill) && !given.includes(choice.skill);
  if (isOwn) return invalid(`the skill ${choice.skill} has no instances`);
  if (serves) return invalid(`${choice.skill} has an MCP server: declare another server in mcpServers for ${name}`);
  const fields = Object.keys(skill.config);
  const unknown = isHeld ? undefined : Object.keys(choice.config).find((key) => !fields.includes(key));
  if (unknown !== undefined) {
    const near = nearest(unknown, fields);
    const hint = near === undefined ? "" : ` (did you mean ${near}?)`;
    return invalid(`${unknown} is not a config field of ${choice.skill}${hint}`);
  }
  const open = Object.entries(choice.config).find(
    ([key, value]) => !trusted && typeof value === "string" && isSecret(skill.config[key]),
  );
  return open && invalid(`${open[0]} is secret: name the variable that holds it, { env: NAME }`);
}

function isSecret(field: ConfigField | undefined): boolean {
  return field?.secret !== false;
}

/** Formats of values that choose a place on this machine, or several hosts. */
const PLACES: ReadonlySet<string | undefined> = new Set(["file", "directory", "path", "host_list"]);
/** Formats of values that may choose who receives what the skill sends. */
const RECEIVERS: ReadonlySet<string | undefined> = new Set(["url", "base_url", "host", "text", undefined]);

/**
 * Returns why an instance in a file of the checkout waits for trust: an untrusted author could name any variable, and
 * could have the skill's secrets or writes sent to any address. A skill that depends on the machine may find secrets there.
 */
function waitOf(skill: Skill, choice: InstanceChoice, options: SkillSetOptions): Unavailable | undefined {
  const { trust, variables, overrides, write = asFlag } = options;
  if (choice.trusted || (trust.ids.has(skill.id) && !trust.onlyPinned)) return undefined;
  const listed = [choice.skill, skill.id].flatMap((id) => variables.get(id) ?? []);
  const said = Object.entries(choice.config);
  const foreign = said.find(
    ([key, value]) => typeof value === "object" && !value.env.startsWith(key) && !listed.includes(value.env),
  );
  const isSet = (key: string) => Object.hasOwn(choice.config, key) || overrides.has(`${skill.id}.${key}`);
  const sends =
    skill.lacks !== undefined ||
    skill.tools.some(({ effect }) => effect === "write") ||
    Object.entries(skill.config).some(([key, field]) => isSecret(field) && isSet(key));
  const place = said.find(([key, value]) => {
    const format = skill.config[key]?.format;
    return typeof value === "string" && (PLACES.has(format) || (sends && RECEIVERS.has(format)));
  });
  if (!foreign && !place) return undefined;
  const why = foreign ? `it names a variable that does not begin with ${foreign[0]}` : `it sets ${place?.[0]}`;
  const option = renderHint([{ option: "trust-skill", value: skill.id }], write);
  return {
    kind: "untrusted",
    reason: `its config in ${choice.path} is not trusted, because ${why}: ${option}`,
    fix: option,
  };
}

/** Throws if two instances of skills, or an instance and its skill, have tools with the same name. */
export function refuseSameTools(entries: readonly (SkillEntry | undefined)[]): void {
  const taken = new Map<string, string>();
  for (const { skill, heldTools } of entries.flatMap((entry) => entry ?? [])) {
    for (const { exposed } of describeTools(skill, [...skill.tools, ...heldTools])) {
      const other = taken.get(exposed) ?? skill.id;
      taken.set(exposed, other);
      if (other === skill.id) continue;
      const what = `${other} and ${skill.id} have a tool with the same name, ${exposed}`;
      throw new SkillflowError("config.invalid", what, { hint: "rename an instance in skills.instances" });
    }
  }
}
