import { defined, isObject, type JsonObject } from "../../base/values.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import type { Shortfall } from "../event/end.ts";
import { callFailure, type EvidenceCounts, type NodeResult, type ToolCall } from "../event/node-result.ts";
import type { ChangedSkills, RunRecord, SkillRecord } from "../event/record.ts";
import { OWN_TOOLS } from "../tools/own-tools.ts";

export type Skilled = Pick<RunRecord, "workflow" | "skills" | "inner">;

type Skill = Pick<SkillRecord, "id" | "available" | "reason" | "cause"> & {
  readonly tools: readonly Pick<SkillRecord["tools"][number], "exposed" | "effect">[];
};

/** A visit as it ends. */
interface Ending {
  readonly node: Pick<WorkflowNode, "skills" | "map">;
  readonly result: Outcome;
  /** The skills that differ from the record by now. */
  readonly changed: ChangedSkills;
}

type Outcome = Pick<NodeResult, "status" | "data"> & {
  readonly toolCalls: readonly Pick<ToolCall, "ref" | "tool" | "error" | "output">[];
  readonly evidence?: Pick<EvidenceCounts, "claims" | "supported"> | undefined;
};

/**
 * Returns why a visit did less than its node is for: a skill is missing, `fail_soft` softened its failure, its calls failed, or
 * no claim of it was found in the results. A failure counts only once an edge takes it.
 */
export function shortfallsOf(skills: readonly Skill[], { node, result, changed }: Ending): Shortfall[] {
  const lacks = lackingAt(skillsNow({ skills }, changed), node.skills);
  // A node that lacks a skill names tools that it does not have.
  const begun = result.toolCalls.filter(({ ref }) => ref !== undefined);
  const own = shortfallOf(skills, node, lacks.length === 0 ? result : { ...result, toolCalls: begun });
  return own ? [...lacks, own] : lacks;
}

/** The listed skills that are missing. One that does not apply here counts only if the node has no other skill. */
function lackingAt(skills: readonly Skill[], listed: readonly string[] = []): Shortfall[] {
  const known = new Map(skills.map((skill) => [skill.id, skill]));
  const hasOther = listed.some((id) => known.get(id)?.available);
  return [...new Set(listed)].flatMap((id) => {
    const skill = known.get(id);
    if (!skill || (skill.available && skill.reason === undefined)) return [];
    if (skill.cause === "not_applicable" && hasOther) return [];
    return { skill: id, ...(skill.available ? { partial: true } : {}), reason: skill.reason ?? "unavailable" };
  });
}

/** The skills of a run, as they are after it was resumed. */
export function skillsNow<Known extends Pick<Skill, "id">>(
  { skills }: { readonly skills: readonly Known[] },
  changed: ChangedSkills,
): readonly Known[] {
  if (changed.length === 0) return skills;
  const known = new Map(changed.map((skill) => [skill.id, skill]));
  return skills.map((skill) => ({ ...skill, ...known.get(skill.id) }));
}

/** The skills that differ from the record since the run was last resumed. */
export function changedSkillsIn(events: readonly object[]): ChangedSkills {
  const last = events.findLast((event) => "skills" in event && event.skills !== undefined);
  return last && "skills" in last ? (last.skills as ChangedSkills) : [];
}

/** Whether a node of a run, or of a run inside it, has one of the skills that it lists. */
export function hasSkill(run: Skilled, path: string, changed: ChangedSkills = []): boolean {
  const available = new Set(skillsNow(run, changed).flatMap(({ id, available }) => (available ? id : [])));
  return skillsAt(run, path).some((id) => available.has(id));
}

/** The skills that a node lists, by its path: `notify`, `each/look`. */
export function skillsAt({ workflow, inner = {} }: Skilled, path: string): readonly string[] {
  const cut = path.lastIndexOf("/");
  const document = path.slice(0, Math.max(0, cut));
  const around = document === "" ? workflow : Object.hasOwn(inner, document) ? inner[document]?.workflow : undefined;
  return around?.nodes[path.slice(cut + 1)]?.skills ?? [];
}

function shortfallOf(skills: readonly Skill[], { map }: Ending["node"], result: Outcome): Shortfall | undefined {
  const { status, data, evidence } = result;
  if (status !== "success") return undefined;
  if (data.fail_soft === true) return { reason: `it failed softly: ${textOf(data.error)}` };
  const failed = (map && lostItems(data)) ?? failedCalls(skills, result);
  if (failed !== undefined || !hasNothingShown(result)) return failed;
  const isOne = evidence?.claims === 1;
  const reason = isOne
    ? "its claim is not shown by evidence"
    : `none of its ${evidence?.claims} claims is shown by evidence`;
  return { reason };
}

/** Whether evidence was checked and no claim of the answer is shown by it. */
export function hasNothingShown({ evidence }: Pick<Outcome, "evidence">): boolean {
  return evidence !== undefined && evidence.claims > 0 && evidence.supported === 0;
}

/** Why the work of a node's tools failed: no write succeeded, or no call at all did. */
function failedCalls(skills: readonly Skill[], { toolCalls }: Outcome): Shortfall | undefined {
  const writers = new Set(
    skills.flatMap(({ tools }) => tools.flatMap(({ exposed, effect }) => (effect === "write" ? exposed : []))),
  );
  const writes = toolCalls.filter(({ tool }) => writers.has(tool));
  const failure = (calls: Outcome["toolCalls"], one: string, noun: string): Shortfall | undefined => {
    const [first] = calls;
    const why = first && callFailure(first);
    if (why === undefined || calls.some((call) => callFailure(call) === undefined)) return undefined;
    const what = calls.length === 1 ? one : `none of its ${calls.length} ${noun} succeeded`;
    return { ...defined("ref", first?.ref), reason: `${what}: ${first?.tool}: ${why}` };
  };
  const calls = toolCalls.filter(({ tool }) => !OWN_TOOLS.includes(tool));
  return failure(writes, "its write did not succeed", "writes") ?? failure(calls, "its only call failed", "calls");
}

/** A map succeeds whatever became of its items: those that failed, and those that wait, are told. */
function lostItems({ items, left }: JsonObject): Shortfall | undefined {
  const all = Array.isArray(items) ? items.filter(isObject) : [];
  const failed = all.filter(({ status }) => status === "failed");
  const [first] = failed;
  const told = [
    first === undefined
      ? ""
      : `${failed.length} of ${all.length} ${all.length === 1 ? "item" : "items"} failed: ${first.key}: ${textOf(isObject(first.data) ? first.data.error : undefined)}`,
    typeof left === "number" && left > 0
      ? `${left} ${left === 1 ? "item was" : "items were"} left for the next run`
      : "",
  ];
  const reason = told.filter((part) => part !== "").join("; ");
  return reason === "" ? undefined : { reason };
}

function textOf(error: unknown): string {
  return typeof error === "string" ? error : "failed";
}
