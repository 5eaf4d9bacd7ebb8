import { missingForTool } from "../../core/document/config.ts";
import { TOOL_MAKER } from "../../core/engine/tools/tool-maker.ts";
import { WORKSPACE } from "../../core/engine/tools/workspace.ts";
import type { Unavailable } from "../../core/skill/availability/unavailable.ts";
import { exposedName } from "../../core/skill/tool-names.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import { type Host, hintText, type Workspace } from "../host.ts";

/** Availability of a skill or a model, a row of `doctor --json`. */
export interface SkillState {
  readonly id: string;
  /**
   * `configured`: required config is present. `available`: no config is required, or the service answered.
   * `plannable`: required config is missing, but the skill can plan writes.
   * `not_configured`: required config is missing or malformed. `unavailable`: any other reason.
   */
  readonly state: "plannable" | "not_configured" | "configured" | "available" | "unavailable";
  /** Kind of the reason. Absent if the skill can be used, or at least plan writes. */
  readonly cause?: Unavailable["kind"];
  /** Reason why the skill, or a part of it, cannot be used. Null if it is fully usable. */
  readonly reason: string | null;
  readonly fix: string | null;
  /** Ids of the workflow's nodes that list it. Empty without a workflow. */
  readonly nodes: readonly string[];
  readonly tools?: readonly ToolState[];
}

/** Availability of a skill's tool, which may lack config that the other tools do not need. */
interface ToolState {
  readonly name: string;
  readonly state: "not_configured" | "configured";
  readonly reason: string | null;
}

/** Returns the state of all skills without contacting any service. */
export async function skillStates(workspace: Workspace): Promise<SkillState[]> {
  return (await allSkills(workspace)).map((entry) => examineSkill(entry.skill.id, entry, workspace.host));
}

export async function allSkills({ skills }: Workspace): Promise<SkillEntry[]> {
  const found = await Promise.all([...skills.ids].sort().map((id) => skills.find(id)));
  return found.filter((entry) => entry !== undefined);
}

/** Returns the skills whose tools other programs can call. Skills that work on a run's own state fail outside of a run. */
export async function callableSkills(workspace: Workspace): Promise<SkillEntry[]> {
  return (await allSkills(workspace)).filter(({ skill }) => {
    return skill.id !== TOOL_MAKER && !skill.tools.some(({ contained }) => contained);
  });
}

export function faultOf({ unavailable, withheld }: SkillEntry): string | undefined {
  return unavailable?.reason ?? withheld;
}

export const HELD_SCRIPTS = "its scripts are not trusted";

/** Config without which a tool is offered, but refuses every call. */
const REFUSING = new Map([[exposedName(WORKSPACE, "run_command"), ["commands"]]]);

/** Describes whether a skill can be used, and how to fix it otherwise. */
export function examineSkill(
  id: string,
  entry: SkillEntry | undefined,
  host: Pick<Host, "writeOption">,
  nodes: readonly string[] = [],
): SkillState {
  if (!entry) {
    const reason = "no skill has this id";
    return { id, state: "unavailable", cause: "unknown", reason, fix: "skillflow skills list", nodes };
  }
  const { unavailable, withheld, holdsScripts, fields, plannable } = entry;
  if (plannable) return { id, state: "plannable", reason: plannable.reason, fix: plannable.fix ?? null, nodes };
  const reason = faultOf(entry) ?? (holdsScripts ? HELD_SCRIPTS : null);
  const trust = withheld !== undefined || holdsScripts ? hintText(host, [{ option: "trust-skill", value: id }]) : null;
  if (unavailable) {
    const { kind, fix = withheld === undefined ? null : trust } = unavailable;
    const isUnset = kind === "config_missing" || kind === "config_form";
    return { id, state: isUnset ? "not_configured" : "unavailable", cause: kind, reason, fix, nodes };
  }
  const tools = entry.skill.tools.map((tool): ToolState => {
    const name = exposedName(id, tool.name);
    const lack = missingForTool(tool, fields) ?? missingForTool({ needs: REFUSING.get(name) }, fields) ?? null;
    return { name, state: lack === null ? "configured" : "not_configured", reason: lack };
  });
  const isSet = entry.skill.mcp !== undefined || fields.some(({ field }) => field.required);
  return { id, state: isSet ? "configured" : "available", reason, fix: trust, nodes, tools };
}
