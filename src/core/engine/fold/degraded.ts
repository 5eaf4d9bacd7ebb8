import { shortText } from "../../base/preview.ts";
import { defined, isObject, type JsonObject, mapped, memberAt } from "../../base/values.ts";
import { nodePath } from "../../document/inner/place.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import type { Degraded, Shortfall } from "../event/end.ts";
import { callFailure, type EvidenceCounts, type NodeResult, type ToolCall } from "../event/node-result.ts";
import { type ChangedSkills, nodeAt, type RunRecord, type SkillRecord } from "../event/record.ts";
import { OWN_TOOLS } from "../tools/own-tools.ts";
import type { State } from "./state.ts";
import type { Visit } from "./visit.ts";

export type Skilled = Pick<RunRecord, "workflow" | "skills" | "inner">;

type Skill = Pick<SkillRecord, "id" | "available" | "reason" | "cause"> & {
  readonly tools: readonly Pick<SkillRecord["tools"][number], "exposed" | "effect">[];
};

interface Ending {
  readonly node: Pick<WorkflowNode, "skills" | "map">;
  readonly result: Outcome;
  /** Skills that differ from the record. */
  readonly changed: ChangedSkills;
}

type Outcome = Pick<NodeResult, "status" | "data"> & {
  readonly toolCalls: readonly Pick<ToolCall, "ref" | "tool" | "error" | "output">[];
  readonly evidence?: Pick<EvidenceCounts, "claims" | "supported"> | undefined;
};

/**
 * Returns why a visit did less than its node asks for: a missing skill, a failure hidden by `fail_soft`, failed calls
 * or unsupported claims. A failed visit counts only once an edge follows it.
 */
export function shortfallsOf(skills: readonly Skill[], { node, result, changed }: Ending): Shortfall[] {
  const lacks = lackingAt(skillsNow({ skills }, changed), node.skills);
  // A node that lacks a skill may call tools that it does not have.
  const begun = result.toolCalls.filter(({ ref }) => ref !== undefined);
  const own = shortfallOf(skills, node, lacks.length === 0 ? result : { ...result, toolCalls: begun });
  return own ? [...lacks, own] : lacks;
}

/** Returns the missing skills. Skills that do not apply here count only if the node has no other skill. */
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

/** Returns the skills of a run with the changes since it was recorded. */
export function skillsNow<Known extends Pick<Skill, "id">>(
  { skills }: { readonly skills: readonly Known[] },
  changed: ChangedSkills,
): readonly Known[] {
  if (changed.length === 0) return skills;
  const known = new Map(changed.map((skill) => [skill.id, skill]));
  return skills.map((skill) => ({ ...skill, ...known.get(skill.id) }));
}

/** Returns the skills that differ from the record since the last resume. */
export function changedSkillsIn(events: readonly object[]): ChangedSkills {
  const last = events.findLast((event) => "skills" in event && event.skills !== undefined);
  return last && "skills" in last ? (last.skills as ChangedSkills) : [];
}

export function hasSkill(run: Skilled, path: string, changed: ChangedSkills = []): boolean {
  const available = new Set(skillsNow(run, changed).flatMap(({ id, available }) => (available ? id : [])));
  return skillsAt(run, path).some((id) => available.has(id));
}

/** Returns the skills that a node lists. The path is `notify` or `each/look`, for example. */
export function skillsAt(run: Skilled, path: string): readonly string[] {
  const cut = path.lastIndexOf("/");
  return nodeAt(run, cut < 0 ? undefined : path.slice(0, cut), path.slice(cut + 1))?.skills ?? [];
}

function shortfallOf(skills: readonly Skill[], { map }: Ending["node"], result: Outcome): Shortfall | undefined {
  const { status, data, evidence } = result;
  if (status !== "success") return undefined;
  if (data.fail_soft === true) return { reason: `it failed (fail_soft): ${textOf(data.error)}` };
  const failed = (map && lostItems(data)) ?? failedCalls(skills, result);
  if (failed !== undefined || !evidence || evidence.claims === 0 || evidence.supported > 0) return failed;
  const isOne = evidence?.claims === 1;
  const reason = isOne
    ? "its claim is not supported by evidence"
    : `none of its ${evidence?.claims} claims is supported by evidence`;
  return { reason };
}

/** Returns a shortfall if none of the writes succeeded, or none of the calls. */
function failedCalls(skills: readonly Skill[], { toolCalls }: Outcome): Shortfall | undefined {
  if (toolCalls.every((call) => callFailure(call) === undefined)) return undefined;
  const tools = skills.flatMap((skill) => skill.tools);
  const writers = new Set(tools.flatMap(({ exposed, effect }) => (effect === "write" ? exposed : [])));
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

/** Reports the failed and postponed items of a map, which succeeds regardless of them. */
function lostItems({ items, left }: JsonObject): Shortfall | undefined {
  const all = Array.isArray(items) ? items.filter(isObject) : [];
  const failed = all.filter(({ status }) => status === "failed");
  const [first] = failed;
  const told: string[] = [];
  if (first) {
    const noun = all.length === 1 ? "item" : "items";
    told.push(
      `${failed.length} of ${all.length} ${noun} failed: ${first.key}: ${textOf(memberAt(first, "data", "error"))}`,
    );
  }
  if (typeof left === "number" && left > 0)
    told.push(`${left} ${left === 1 ? "item was" : "items were"} left for the next run`);
  return told.length === 0 ? undefined : { reason: told.join("; ") };
}

function textOf(error: unknown): string {
  return typeof error === "string" ? error : "failed";
}

/** Returns the shortfalls of each node's last visit on the path, including its inner runs. */
export function degradedIn({ run, path, visit }: Pick<State, "run" | "path" | "visit">): Degraded[] {
  const last = new Map(path.map((step) => [step.node, step.degraded]));
  if (visit) last.set(visit.node, degradedInside(run, visit));
  return [...last.values()].flat();
}

/** Returns the shortfalls of a visit's inner runs, including those still running. */
export function degradedInside({ inner }: State["run"], { items }: Visit): Degraded[] {
  if (!items) return [];
  const open = [...items.running.keys()].flatMap((at) => inner.get(at) ?? []);
  return distinct([...items.degraded, ...open.flatMap(degradedIn)]);
}

/** Assigns shortfalls to the outermost node. Reasons from inner runs begin with the path, except for missing skills. */
export function placed({ inside }: State, node: string, shortfalls: readonly Shortfall[] = []): Degraded[] {
  const [outer = node] = inside?.at.split(/[[/]/, 1) ?? [];
  return mapped(shortfalls, ({ reason, ...shortfall }) => {
    const isPlaced = inside !== undefined && shortfall.skill === undefined;
    const text = isPlaced ? `${nodePath(inside.at, node)}: ${reason}` : reason;
    return { node: outer, ...shortfall, reason: shortText(text, LONGEST_REASON) };
  });
}

/** Maximum length of a reason. The text is already redacted, so no part of a secret can remain. */
const LONGEST_REASON = 300;

/** Keeps each missing skill once per node, because all items of a map lack the same ones. */
function distinct(all: readonly Degraded[]): Degraded[] {
  const seen = new Set<string>();
  return all.filter(({ node, skill }) => {
    if (skill === undefined) return true;
    const key = JSON.stringify([node, skill]);
    return !seen.has(key) && seen.add(key);
  });
}
