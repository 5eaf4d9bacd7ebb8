import { isObject, type JsonObject } from "../../base/values.ts";
import type { Degraded } from "../event/end.ts";
import { callFailure } from "../event/node-result.ts";
import type { ChangedSkills } from "../event/record.ts";
import type { Outcome } from "../event/skim.ts";
import { OWN_TOOLS } from "../tools/own-tools.ts";

interface Outlined {
  readonly nodes: {
    readonly [id: string]: { readonly skills?: readonly string[] | undefined; readonly map?: unknown };
  };
}

export interface Degradable {
  readonly workflow: Outlined;
  /** The workflows that nodes run, by the path of the node. */
  readonly inner?: { readonly [path: string]: { readonly workflow: Outlined } } | undefined;
  readonly skills: readonly {
    readonly id: string;
    readonly available: boolean;
    readonly reason?: string | undefined;
    readonly cause?: string | undefined;
    readonly tools: readonly { readonly exposed: string; readonly effect: "read" | "write" }[];
  }[];
}

interface Way {
  readonly visited: Iterable<string>;
  /** The nodes of inner runs that were visited: `each/look`. */
  readonly inside: Iterable<string>;
  /** The node that was entered last: nothing came after it, so no edge took its failure. */
  readonly last: string | undefined;
  /** The last result of each node. */
  readonly results: ReadonlyMap<string, Outcome>;
  /** The skills that differed from the record when a node was last visited, by the path of the node. */
  readonly changed?: ReadonlyMap<string, ChangedSkills>;
}

/**
 * The nodes that did less than they are for, although the run went on. A skill was missing, an edge took the node's failure,
 * `fail_soft` softened it, its calls failed, or no claim of it was found in the results.
 */
export function degradedNodes(run: Degradable, { visited, inside, last, results, changed }: Way): Degraded[] {
  const entered = [...new Set(inside)];
  return [...visited].flatMap((node) => {
    const paths = [node, ...entered.filter((path) => path.startsWith(`${node}/`))];
    const lacks = new Map(paths.flatMap((path) => lackingAt(run, path, changed?.get(path))));
    const result = results.get(node);
    const reason = result && shortfallOf(run, node, lacks.size === 0 ? result : begunOnly(result), node === last);
    const missing = [...lacks].map(([skill, why]): Degraded => ({ skill, node, reason: why }));
    return reason === undefined ? missing : [...missing, { node, reason }];
  });
}

/** Without the calls that were never started: a node that lacks a skill names tools that it does not have. */
function begunOnly(result: Outcome): Outcome {
  return { ...result, toolCalls: result.toolCalls.filter(({ ref }) => ref !== undefined) };
}

/** The skills that a visited node lacks. One that does not apply here counts only if the node has no other skill. */
function lackingAt(run: Degradable, path: string, changed: ChangedSkills = []): (readonly [string, string])[] {
  const missing = new Map(
    skillsNow(run, changed).flatMap((skill) => {
      return skill.available && skill.reason === undefined ? [] : [[skill.id, skill] as const];
    }),
  );
  const listed = skillsAt(run, path);
  const hasOther = hasSkill(run, path, changed);
  return listed.flatMap((id) => {
    const skill = missing.get(id);
    if (!skill || (skill.cause === "not_applicable" && hasOther)) return [];
    return [[id, skill.reason ?? "unavailable"] as const];
  });
}

/** The skills of a run, as they are after it was resumed. */
export function skillsNow<Skill extends Pick<Degradable["skills"][number], "id" | "available" | "reason">>(
  { skills }: { readonly skills: readonly Skill[] },
  changed: ChangedSkills,
): readonly Skill[] {
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
export function hasSkill(run: Degradable, path: string, changed: ChangedSkills = []): boolean {
  const available = new Set(skillsNow(run, changed).flatMap(({ id, available }) => (available ? id : [])));
  return skillsAt(run, path).some((id) => available.has(id));
}

/** The skills that a node lists, by its path: `notify`, `each/look`. */
export function skillsAt({ workflow, inner = {} }: Degradable, path: string): readonly string[] {
  const cut = path.lastIndexOf("/");
  const document = path.slice(0, Math.max(0, cut));
  const around = document === "" ? workflow : Object.hasOwn(inner, document) ? inner[document]?.workflow : undefined;
  return around?.nodes[path.slice(cut + 1)]?.skills ?? [];
}

/** Why a result is less than it looks; undefined if it is what it says, or ended the run. */
export function shortfallOf(
  run: Pick<Degradable, "workflow" | "skills">,
  node: string,
  result: Outcome,
  isLast: boolean,
): string | undefined {
  const { status, data, evidence } = result;
  if (status === "failed") return isLast ? undefined : `it failed, and the run went on: ${textOf(data.error)}`;
  if (status === "skipped") return undefined;
  if (data.fail_soft === true) return `it failed softly: ${textOf(data.error)}`;
  const lost = run.workflow.nodes[node]?.map === undefined ? undefined : lostItems(data);
  const failed = lost ?? failedCalls(run, result);
  if (failed !== undefined || !hasNothingShown(result)) return failed;
  const isOne = evidence?.claims === 1;
  return isOne ? "its claim is not shown by evidence" : `none of its ${evidence?.claims} claims is shown by evidence`;
}

/** Whether evidence was checked and no claim of the answer is shown by it. */
export function hasNothingShown({ evidence }: Pick<Outcome, "evidence">): boolean {
  return evidence !== undefined && evidence.claims > 0 && evidence.supported === 0;
}

/** Why the work of a node's tools failed: no write succeeded, or no call at all did. */
function failedCalls({ skills }: Pick<Degradable, "skills">, { toolCalls }: Outcome): string | undefined {
  const writers = new Set(
    skills.flatMap(({ tools }) => tools.flatMap(({ exposed, effect }) => (effect === "write" ? exposed : []))),
  );
  const writes = toolCalls.filter(({ tool }) => writers.has(tool));
  const failure = (calls: Outcome["toolCalls"], one: string, noun: string) => {
    const [first] = calls;
    const why = first && callFailure(first);
    if (why === undefined || calls.some((call) => callFailure(call) === undefined)) return undefined;
    return `${calls.length === 1 ? one : `none of its ${calls.length} ${noun} succeeded`}: ${first?.tool}: ${why}`;
  };
  const calls = toolCalls.filter(({ tool }) => !OWN_TOOLS.includes(tool));
  return failure(writes, "its write did not succeed", "writes") ?? failure(calls, "its only call failed", "calls");
}

/** A map succeeds whatever became of its items: those that failed, and those that wait, are told. */
function lostItems({ items, left }: JsonObject): string | undefined {
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
  return told.filter((part) => part !== "").join("; ") || undefined;
}

function textOf(error: unknown): string {
  return typeof error === "string" ? error : "failed";
}
