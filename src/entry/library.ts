import { resolve } from "node:path";
import type { Project, ProjectOptions } from "../app/library/contract.ts";
import { guardWork, markedAsOurs } from "../app/runs/stray.ts";
import { lookUpIn } from "../app/skills/look-up.ts";
import { messageOf, SkillflowError, usageError } from "../core/base/errors.ts";
import { isObject } from "../core/base/values.ts";
import { lackingFields, lackOfConfig, refuseAmbiguous, resolveConfig } from "../core/document/config.ts";
import type { SkillDefinition } from "../core/skill/skill.ts";
import { holdProcess, processDefaults, processHost } from "./process-host.ts";

/** Public library API. Reads its process defaults once, when a project is opened. */

export type * from "../app/library/contract.ts";

/** Opens a directory for running workflows. Rejects with a SkillflowError if a config file or an option is invalid. */
export async function openProject(options: ProjectOptions = {}): Promise<Project> {
  const { env, cwd } = processDefaults(options);
  guardWork(holdProcess);
  try {
    const { createProject } = await import("../app/library/project.ts");
    return await markedAsOurs(() => createProject({ ...processHost(), env, cwd: resolve(cwd) }, options));
  } catch (error) {
    if (error instanceof SkillflowError) throw error;
    throw new SkillflowError("usage.invalid", `the project cannot be opened: ${messageOf(error)}`, { cause: error });
  }
}

/** Skills, grouped by whether their config is complete. */
export interface ResolvedSkills<Given> {
  /** In the given order. */
  readonly available: Given[];
  readonly unavailable: {
    readonly skill: Given;
    /** Human-readable reason, such as `PAGER_TOKEN is not set`. */
    readonly reason: string;
    /** Keys of required config fields without a value. An empty string counts as missing. */
    readonly missing: string[];
    /** Keys of config fields whose value is malformed. */
    readonly malformed: string[];
  }[];
}

/**
 * Resolves the config of skills without running anything. `config` takes precedence over `env`, by key or by
 * `skill.KEY`. `env` defaults to the process's. Throws a SkillflowError if a bare key matches several skills.
 */
export function resolveSkills<Given extends Pick<SkillDefinition, "id" | "config">>(
  skills: readonly Given[],
  { config = {}, env }: Pick<ProjectOptions, "config" | "env"> = {},
): ResolvedSkills<Given> {
  checkGiven(skills);
  const host = processDefaults({ directory: "." });
  const given = { env: env ?? host.env, lookUp: lookUpIn(host.cwd) };
  const said = Object.entries(config).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]));
  const overrides = new Map(said);
  refuseAmbiguous(
    overrides,
    skills.map(({ id, config: fields }) => ({ id, keys: Object.keys(fields) })),
  );
  const resolved: ResolvedSkills<Given> = { available: [], unavailable: [] };
  for (const skill of skills) {
    const fields = resolveConfig(skill, overrides, given);
    const lack = lackOfConfig(fields);
    const missing = lackingFields(fields).map(({ key }) => key);
    const malformed = fields.flatMap((field) => (field.malformed ? [field.key] : []));
    if (!lack) resolved.available.push(skill);
    else resolved.unavailable.push({ skill, reason: lack.reason, missing, malformed });
  }
  return resolved;
}

function checkGiven(skills: unknown): asserts skills is readonly Pick<SkillDefinition, "id" | "config">[] {
  if (!Array.isArray(skills)) throw usageError("skills: must be a list");
  for (const [index, skill] of skills.entries()) {
    const isSkill = isObject(skill) && typeof skill.id === "string" && isObject(skill.config);
    if (isSkill && Object.values(skill.config as object).every(isObject)) continue;
    throw new SkillflowError(
      "skill.invalid",
      `skills[${index}]: a skill must have an id, and a config that maps keys to fields`,
    );
  }
}
