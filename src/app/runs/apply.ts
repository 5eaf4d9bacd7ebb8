import { SkillflowError, usageError } from "../../core/base/errors.ts";
import type { Redactor } from "../../core/base/redact/redact.ts";
import { isObject, type Json } from "../../core/base/values.ts";
import { missingForTool } from "../../core/document/config.ts";
import { isOpen } from "../../core/engine/decide/admit.ts";
import type { Operation, Plan } from "../../core/engine/event/operation.ts";
import { patchOf } from "../../core/engine/event/patch.ts";
import { stateOf } from "../../core/engine/fold/fold.ts";
import type { PlannedOperation } from "../../core/engine/fold/state.ts";
import type { ApplyStatus } from "../../core/engine/plan/standing.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { isUnchained } from "../../core/engine/record/recording.ts";
import { type Approved, approvedIn, holdToRecord, plannedIn } from "../../core/engine/result/approval.ts";
import { shellWord } from "../../core/engine/result/commands.ts";
import { endOf, laterWords, waitsIn } from "../../core/engine/result/waiting.ts";
import { isStatePut } from "../../core/engine/tools/state.ts";
import { WORKSPACE } from "../../core/engine/tools/workspace.ts";
import { EXECUTOR, type Logger } from "../../core/skill/skill.ts";
import { handlerConfig } from "../../loaders/registry/entry.ts";
import type { SkillEntry } from "../../loaders/registry/skill-set.ts";
import { connectServers, type Person, type Servers } from "../adapters/mcp-connections.ts";
import { refuseDriven } from "../adapters/stores.ts";
import { apiProblem, describeTarget, findTarget, type Target } from "../calls/patches/target.ts";
import { recordedSkills } from "../documents.ts";
import { type Host, hintText, type Workspace } from "../host.ts";
import { runRedactor, secretsOf } from "../secrets.ts";
import { leaveOutUseless, reachedSkills, type SkillEntries } from "../skills/entries.ts";
import { faultOf, HELD_SCRIPTS } from "../skills/states.ts";

/** Applies what a run planned. Each operation is carried out at most once, even if the process is killed. */

export interface ApplyRequest {
  readonly approved: Approved;
  readonly planDigest?: string | undefined;
  /** The user's answers for operations in doubt: true if the operation was applied. */
  readonly resolved?: ReadonlyMap<string, boolean>;
  /** Repeats writes that another run's plan has already made. */
  readonly again?: boolean;
  /** Fails before any write if the tools of an MCP server differ from the lock. */
  readonly frozen?: boolean;
  readonly person?: Person | undefined;
  readonly by: string;
  readonly signal: AbortSignal;
  readonly loggerFor: (skill: string) => Logger;
  readonly onOutcome?: (outcome: AppliedOperation) => void;
}

export interface AppliedOperation {
  readonly id: string;
  readonly digest: string;
  readonly status: ApplyStatus;
  readonly result?: Json;
  readonly existing?: true;
  readonly error?: string;
}

export interface ReviewedPlan {
  readonly stored: StoredRun;
  readonly operations: readonly Operation[];
  readonly planned: readonly PlannedOperation[];
}

/** Reviews the plan of a run. Throws `store.locked` if a process drives the run, because its plan may still change. */
export async function reviewRun(workspace: Workspace, stored: StoredRun, copy?: Plan): Promise<ReviewedPlan> {
  if (!endOf(stored.events)) await refuseDriven(workspace, stored.record.run);
  return reviewPlan(stored, copy);
}

/** Returns the plan of a recorded run. Throws if the reviewed copy differs from it. */
export function reviewPlan(stored: StoredRun, copy?: Plan): ReviewedPlan {
  const { record, events } = stored;
  if (isUnchained(stored)) {
    throw new SkillflowError("run.altered", `run ${record.run} is unchained: changes to its plan cannot be detected`, {
      hint: "run it again: only a plan that matches its record can be applied",
    });
  }
  const state = stateOf(stored);
  const operations = plannedIn(state);
  if (copy) holdToRecord(copy, record, operations);
  if (record.kind !== "run") {
    throw usageError(`${record.run} is a ${record.kind}: its plan cannot be applied`, "apply the plan of a real run");
  }
  const [wait] = waitsIn(events);
  if (wait) {
    const signal = `skillflow signal ${record.run} ${shellWord(wait.node)} --approve`;
    throw usageError(`run ${record.run} waits for a decision at ${wait.node}`, `decide first: ${signal}, or --deny`);
  }
  if (!endOf(events) || laterWords(events).length > 0) {
    throw usageError(`run ${record.run} has not ended`, `continue it first: skillflow resume ${record.run}`);
  }
  return { stored, operations, planned: state.run.operations.filter(({ withdrawn }) => !withdrawn) };
}

/** Returns the operations that are still to be approved: those not known to be applied, and not denied. */
export function openOperations({ planned }: ReviewedPlan): readonly Operation[] {
  return planned.filter(isOpen).map(({ operation }) => operation);
}

export function refuseDeniedPlan({ planned }: ReviewedPlan): void {
  const denied = planned[0]?.application.denied;
  if (!denied || planned.some(({ application }) => application.standing !== "denied")) return;
  throw usageError(`the plan was denied by ${denied.by} at ${denied.at}`, "run the workflow again for a new plan");
}

/** Approved plan with its skills connected. Nothing has been written yet. */
export interface PreparedApply {
  readonly reviewed: ReviewedPlan;
  readonly approved: ReadonlySet<string>;
  readonly entries: SkillEntries;
  readonly target: Target | undefined;
  readonly redactor: Redactor;
  readonly differences: Servers["differences"];
  close(): Promise<void>;
}

/** Connects the skills of the approved operations. Throws if something is missing or unreachable. */
export async function prepareApply(
  workspace: Workspace,
  reviewed: ReviewedPlan,
  request: ApplyRequest,
): Promise<PreparedApply> {
  refuseWrites(workspace);
  const { stored, operations, planned } = reviewed;
  const approved = approvedIn({ record: stored.record, operations }, request.approved, request.planDigest);
  checkResolved(planned, request.resolved);
  const wanted = planned.filter((one) => approved.has(one.operation.id) && isOpen(one));
  const { target, entries } = await gather(workspace, stored, wanted);
  const reached = await reachedSkills(workspace.skills, entries);
  const redactor = runRedactor(secretsOf(workspace, reached), stored.record.workflow);
  const servers = await connectServers(entries, {
    host: workspace.host,
    redactor,
    frozen: request.frozen,
    signal: request.signal,
    person: request.person,
  });
  const unreached = unreachedIn(servers.entries);
  if (unreached === undefined) return { reviewed, approved, ...servers, target, redactor };
  await servers.close();
  throw unreached;
}

/** Finds the skills of operations, and the place where their changes of files go. Throws if something is missing. */
async function gather({ skills, host }: Workspace, { record }: StoredRun, wanted: readonly PlannedOperation[]) {
  const all = wanted.map(({ operation }) => operation);
  const target = all.some(patchOf) ? findTarget(host.cwd, host.env) : undefined;
  const operations = all.filter((operation) => !isStatePut(bareOf(operation)));
  const inline = recordedSkills(record.workflow);
  // The recorded workflow's skill counts only if the installed one lacks a tool.
  const findOne = async (id: string) => {
    const installed = await skills.find(id);
    const tools = new Set(installed?.skill.tools.map(({ name }) => name));
    const hasAll = operations.every(({ skill, tool }) => skill !== id || tools.has(tool));
    return installed && (hasAll || installed.isUnopened) ? installed : skills.find(id, inline);
  };
  const ids = [...new Set(operations.flatMap((operation) => neededBy(operation, target)))];
  const found = new Map(await Promise.all(ids.map(async (id) => [id, await findOne(id)] as const)));
  const input = { run: record.input, writes: operations.map((operation) => operation.input) };
  const entries = await leaveOutUseless(found, host.cwd, { input, sources: record.sources });
  refuseMissing(host, { entries, target }, all);
  return { target, entries };
}

/** Returns the skills that an operation needs. `git push` delivers a patch without another one. */
function neededBy(operation: Operation, target: Target | undefined): readonly string[] {
  if (!patchOf(operation)) return [skillOf(operation)];
  return target?.skill === undefined ? [WORKSPACE] : [WORKSPACE, target.skill];
}

export function skillOf({ skill, input }: Operation): string {
  return skill === EXECUTOR && isObject(input) ? String(input.skill_name) : skill;
}

/** Returns the tool that an operation calls, by the skill's own name for it. */
export function bareOf({ skill, tool }: Operation) {
  return { skill, name: tool };
}

/** Refuses to write if a policy, the user's config (also one in the checkout) or the environment says `writes: deny`. */
export function refuseWrites({ user, host }: Workspace): void {
  const denying = host.policies?.find(({ policy }) => policy.writes === "deny");
  if (denying) throw usageError(`writes are disabled: the policy ${denying.path} sets writes: deny`);
  if (user?.config.writes === "deny") throw usageError("writes are disabled: your own config file sets writes: deny");
  if (host.env.SKILLFLOW_WRITES === "deny") throw usageError("writes are disabled: SKILLFLOW_WRITES is deny");
}

function checkResolved(planned: readonly PlannedOperation[], resolved: ApplyRequest["resolved"]): void {
  for (const id of resolved?.keys() ?? []) {
    const operation = planned.find((one) => one.operation.id === id);
    if (operation?.application.standing !== "in_doubt")
      throw usageError(`${id} is not in doubt: there is nothing to resolve`);
  }
}

/**
 * Throws if open operations need something that is missing, before the user is asked to approve them. Describes the place
 * where their changes of files go.
 */
export async function checkOpen(workspace: Workspace, { stored, planned }: ReviewedPlan): Promise<string | undefined> {
  const { target, entries } = await gather(workspace, stored, planned.filter(isOpen));
  const entry = target?.skill && entries.get(target.skill);
  return target && describeTarget(target, entry ? handlerConfig(entry) : {});
}

function refuseMissing(
  host: Host,
  { entries, target }: Pick<PreparedApply, "entries" | "target">,
  operations: readonly Operation[],
): void {
  const missing = new Map<string, string[]>();
  for (const operation of operations) {
    if (isStatePut(bareOf(operation))) continue;
    for (const id of neededBy(operation, target)) {
      const entry = entries.get(id);
      const misled = entry && target?.skill === id ? apiProblem(target, handlerConfig(entry)) : undefined;
      const reason = lackOf(entry, operation, host) ?? misled;
      if (reason === undefined) continue;
      const lack = `the skill ${id}: ${reason}`;
      missing.set(lack, [...(missing.get(lack) ?? []), operation.id]);
    }
  }
  if (missing.size === 0) return;
  const lacks = [...missing].map(([lack, ids]) => `${ids.join(", ")} ${ids.length === 1 ? "needs" : "need"} ${lack}`);
  const lacking = new Set([...missing.values()].flat());
  const others = operations.some(({ id }) => !lacking.has(id)) ? ", or approve only the other operations" : "";
  throw new SkillflowError("skills.missing", lacks.join("; "), {
    hint: `set what is missing and apply again${others}: nothing was applied`,
  });
}

function lackOf(entry: SkillEntry | undefined, { skill, tool }: Operation, host: Host): string | undefined {
  if (!entry) return "no skill has this id";
  if (skill === EXECUTOR && entry.holdsScripts) {
    return `${HELD_SCRIPTS}: ${hintText(host, [{ option: "trust-skill", value: entry.skill.id }])}`;
  }
  const declared = entry.skill.tools.find(({ name }) => name === tool);
  return entry.unavailable?.reason ?? entry.withheld ?? (declared && missingForTool(declared, entry.fields));
}

function unreachedIn(entries: SkillEntries): SkillflowError | undefined {
  const [id, entry] = [...entries].find(([, each]) => each && faultOf(each) !== undefined) ?? [];
  if (!entry) return undefined;
  return new SkillflowError("server.failed", `the plan needs the skill ${id}: ${faultOf(entry)}`, {
    hint: "apply again when it can be reached: nothing was applied",
  });
}
