import { missingForTool } from "../../core/document/config.ts";
import type { Unavailable } from "../../core/skill/availability/unavailable.ts";
import { exposedName } from "../../core/skill/skill.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import type { Workspace } from "../host.ts";

/** What keeps a skill or a model from being used, or that nothing does: a row of `doctor --json`. */
export interface SkillState {
  readonly id: string;
  /**
   * `configured`: it needs config, which is there; `available`: it needs none, or was asked and answered;
   * `plannable`: required config is missing for all but writes that are planned;
   * `not_configured`: required config is missing, or a value has the wrong form; `unavailable`: something else keeps it away.
   */
  readonly state: "plannable" | "not_configured" | "configured" | "available" | "unavailable";
  /** Why it cannot be used, by kind; absent if it can, or only its planned writes can. */
  readonly cause?: Unavailable["kind"];
  /** Why it cannot be used, or what of it is held back; null where nothing is to be said. */
  readonly reason: string | null;
  /** What to do about it; null where nothing is to be done. */
  readonly fix: string | null;
  /** Ids of the nodes of the workflow in question that list it; empty where none is. */
  readonly nodes: readonly string[];
  /** Of a skill that can be used. */
  readonly tools?: readonly ToolState[];
}

/** A tool that its skill's config leaves out although the skill is there, and such as it offers. */
interface ToolState {
  readonly name: string;
  readonly state: "not_configured" | "configured";
  readonly reason: string | null;
}

/** The state of every skill there is, as far as it is known without asking anybody. */
export async function skillStates(workspace: Workspace): Promise<SkillState[]> {
  return (await allSkills(workspace)).map((entry) => examineSkill(entry.skill.id, entry, []));
}

export async function allSkills({ skills }: Workspace): Promise<SkillEntry[]> {
  const found = await Promise.all([...skills.ids].sort().map((id) => skills.find(id)));
  return found.filter((entry) => entry !== undefined);
}

/** Why a skill, or the part of it that waits for trust, cannot be used. */
export function faultOf({ unavailable, withheld }: SkillEntry): string | undefined {
  return unavailable?.reason ?? withheld;
}

/** What is said of a skill whose scripts wait for trust. */
export const HELD_SCRIPTS = "its scripts are not trusted";

/** Undefined is what nobody declares; `nodes` are those that list it. */
export function examineSkill(id: string, entry: SkillEntry | undefined, nodes: readonly string[]): SkillState {
  if (!entry) {
    const reason = "no skill has this id";
    return { id, state: "unavailable", cause: "unknown", reason, fix: "skillflow skills list", nodes };
  }
  const { unavailable, withheld, holdsScripts, fields, plannable } = entry;
  if (plannable) return { id, state: "plannable", reason: plannable.reason, fix: plannable.fix ?? null, nodes };
  const reason = faultOf(entry) ?? (holdsScripts ? HELD_SCRIPTS : null);
  const trust = withheld !== undefined || holdsScripts ? `--trust-skill ${id}` : null;
  if (unavailable === undefined) {
    return {
      id,
      state: entry.skill.mcp || fields.some((field) => field.field.required) ? "configured" : "available",
      reason,
      fix: trust,
      nodes,
      tools: entry.skill.tools.map((tool) => examineTool(entry, tool)),
    };
  }
  const { kind } = unavailable;
  return {
    id,
    state: kind === "config_missing" || kind === "config_form" ? "not_configured" : "unavailable",
    cause: kind,
    reason,
    fix: unavailable.fix ?? (withheld === undefined ? null : trust),
    nodes,
  };
}

function examineTool({ skill, fields }: SkillEntry, tool: SkillEntry["skill"]["tools"][number]): ToolState {
  const reason = missingForTool(tool, fields) ?? null;
  return { name: exposedName(skill.id, tool.name), state: reason === null ? "configured" : "not_configured", reason };
}
