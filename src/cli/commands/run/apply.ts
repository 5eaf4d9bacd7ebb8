import { closeSync, lstatSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { personAtWork } from "../../../app/adapters/person.ts";
import { recordedSkills } from "../../../app/documents.ts";
import type { Workspace } from "../../../app/host.ts";
import {
  type AppliedOperation,
  type ApplyRequest,
  checkOpen,
  openOperations,
  prepareApply,
  type ReviewedPlan,
  refuseDeniedPlan,
  refuseWrites,
  reviewPlan,
  reviewRun,
  skillOf,
} from "../../../app/runs/apply.ts";
import {
  applyDocument,
  applyPlan,
  approvedBefore,
  exitCodeOf,
  parseResolutions,
} from "../../../app/runs/apply-operations.ts";
import { PLAN_REPORTS, renderPlan } from "../../../app/views/reports.ts";
import { messageOf, type SkillflowError, usageError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import { isObject, parseJson } from "../../../core/base/values.ts";
import type { Operation, Plan } from "../../../core/engine/event/operation.ts";
import type { StoredRun } from "../../../core/engine/ports.ts";
import { type Approved, checkDigest, parseApprovals } from "../../../core/engine/result/approval.ts";
import { withOptions } from "../../../core/engine/result/commands.ts";
import { openPlainNow } from "../../../files/files.ts";
import { type PlanView, viewPlan } from "../../../reports/model/plan.ts";
import { githubActions, hideSecrets, isCi } from "../../ci/ci.ts";
import { list, openGuarded, text } from "../../flags.ts";
import { continuedRun, type Flags, type Io, interruptSignal } from "../../io.ts";
import { checkPlaces, chooseReports, type ReportFile, writeReport } from "../../outputs.ts";
import { type Starting, tellingRefusal } from "../../refused.ts";
import {
  countOutcomes,
  describeLosses,
  describeOutcome,
  describePlan,
  describeStandings,
} from "../../terminal/plan-view.ts";
import { keepDrawing, spinning } from "../../terminal/progress/live.ts";
import { headingOf } from "../../terminal/progress/tree.ts";
import { amount, duration, isLive, jsonText, type Paint, painter, programName } from "../../terminal/terminal.ts";
import { personAt as browserAt, openTrusted } from "../../terminal/trust.ts";
import { skillLogger } from "./run.ts";

export const apply = tellingRefusal(async (io, [given = ""], flags) => {
  const isWhole = isCi(io.host.env);
  const said = approvalOf(flags, isWhole);
  const digest = text(flags, "planDigest");
  if (digest !== undefined) checkDigest(digest, isWhole);
  const reports = chooseReports(flags, PLAN_REPORTS);
  checkPlaces(io, { out: undefined, reports });
  if (reports.length > 0 && said === undefined) return reportPlan(io, flags, given, reports);
  const paint = painter(io, flags);
  const resolved = parseResolutions(list(flags, "resolve"));
  const planFile = planAt(io.host.cwd, given);
  let reviewed: ReviewedPlan | undefined;
  const workspace = await openTrusted(io, flags, async (opened) => {
    reviewed = await reviewRun(opened, continuedRun(io), planFile);
    return usedBy(reviewed, opened.skills.ids);
  });
  await hideSecrets(io, workspace);
  reviewed ??= await reviewRun(workspace, continuedRun(io), planFile);
  const { stored, operations } = reviewed;
  const open = openOperations(reviewed);
  const isDone = open.length === 0 && said === undefined;
  if (isDone) refuseDeniedPlan(reviewed);
  else refuseWrites(workspace);
  const plan = viewPlan({ ...stored, operations });
  // Users must see what they approve, even with --quiet.
  const isShown = said === undefined || flags.quiet !== true;
  if (isLive(io) && isShown) await io.err(`${headingOf(paint, stored.record, ["apply"])}\n`);
  if (!isDone) await io.err(isShown ? describePlan(plan, paint) : describeLosses(plan, paint));
  const worded = said === undefined && !isDone ? approvedBefore(reviewed, open) : undefined;
  if (worded) {
    const ids = worded.operations.map(({ id }) => id).join(", ");
    await io.err(`${paint("dim", `approved during the run by ${plainLine(worded.by)}: ${ids}`)}\n`);
  }
  const check = checkOpen.bind(undefined, workspace, reviewed);
  const approved = isDone ? [] : (said ?? worded?.operations ?? (await askFor(io, { open, check }, paint)));
  if (approved === undefined) return leaveUnapproved(io, flags, reviewed);
  const choice = { approved, planDigest: digest, resolved };
  return carryOut(io, flags, { workspace, reviewed, path: planFile ? given : "", reports, choice });
});

interface Agreed {
  readonly workspace: Workspace;
  readonly reviewed: ReviewedPlan;
  /** Path of the plan file. Empty if a run was named. */
  readonly path: string;
  readonly reports: PlanReports;
  readonly choice: Pick<ApplyRequest, "approved" | "planDigest" | "resolved">;
}

async function carryOut(io: Starting, flags: Flags, { workspace, reviewed, path, reports, choice }: Agreed) {
  const { stored, operations } = reviewed;
  const { run } = stored.record;
  const paint = painter(io, flags);
  const signal = interruptSignal(io);
  const summaries = new Map(operations.map(({ id, summary }) => [id, summary]));
  let progress: ReturnType<typeof applyProgress> | undefined;
  const request: ApplyRequest = {
    ...choice,
    again: flags.again === true,
    frozen: flags.frozen === true,
    person: browserAt(io),
    by: personAtWork(io),
    signal,
    loggerFor: (skill) => skillLogger(io, flags, skill),
    onOutcome(outcome) {
      io.beginning.recorded ??= async () => stored;
      progress?.onOutcome();
      const isQuiet = flags.quiet === true || (outcome.status === "not_approved" && operations.length > 20);
      if (!isQuiet) void io.err(describeOutcome(outcome, summaries.get(outcome.id) ?? "", paint));
    },
  };
  const prepared = await prepareApply(workspace, reviewed, request);
  try {
    io.protect(prepared.redactor);
    if (flags.quiet !== true && isLive(io)) progress = applyProgress(io, paint, operations);
    const outcomes = await applyPlan(workspace, prepared, request).finally(progress?.close);
    const exitCode = signal.aborted ? 130 : exitCodeOf(outcomes);
    if (flags.json === true) await io.out(jsonText(applyDocument(run, exitCode, outcomes)));
    await io.err(concluding(applyCommand(io, flags, stored), outcomes, signal.aborted, paint));
    io.beginning.isTold = true;
    const { events } = await workspace.store.read(run);
    const after = viewPlan({ ...stored, operations, events, outcomes });
    await writeReports(io, reports, after);
    await githubActions(io)?.applied(await renderPlan("md", after), {
      "run-id": run,
      status: exitCode === 130 ? "interrupted" : exitCode === 0 ? "succeeded" : "failed",
      "plan-file": path,
      "plan-count": operations.length,
      "plan-digest": after.digest,
      "record-digest": events.at(-1)?.seal,
    });
    return exitCode;
  } finally {
    await prepared.close();
  }
}

function applyProgress(io: Io, paint: Paint, operations: readonly Operation[]) {
  let done = 0;
  const started = Date.now();
  const describe = () => {
    const now = operations[done];
    if (!now) return [];
    const about = `${now.id} ${now.skill} ${now.tool} · ${done + 1} of ${operations.length}`;
    return [spinning(`${about} · ${duration(Date.now() - started)}`, { paint, columns: io.columns, now: Date.now })];
  };
  const { draw, close } = keepDrawing((lines) => void io.redraw(lines), describe);
  draw();
  return { close, onOutcome: () => void done++ };
}

/** Writes the reports of a plan. Applies nothing. */
async function reportPlan(io: Io, flags: Flags, given: string, reports: PlanReports): Promise<number> {
  openGuarded(io, flags);
  const { stored, operations } = reviewPlan(continuedRun(io), planAt(io.host.cwd, given));
  const { run } = stored.record;
  const plan = viewPlan({ ...stored, operations });
  await writeReports(io, reports, plan);
  if (flags.json === true)
    await io.out(jsonText({ ...applyDocument(run, 0, unapproved(operations)), plan: operations }));
  if (flags.quiet === true) return 0;
  const written = `written: ${reports.map(({ path }) => path).join(", ")}`;
  const paint = painter(io, flags);
  const next = `${paint("dim", "next:")} ${applyCommand(io, flags, stored)}`;
  await io.err([...describeStandings(plan, paint, { most: 6 }), written, next, ""].join("\n"));
  return 0;
}

/** Returns the command that applies the plan in another process, with the options that it needs. */
function applyCommand(io: Io, flags: Flags, stored: StoredRun): string {
  const trusted = list(flags, "trustSkill");
  return `${programName(io)} ${plainLine(withOptions(`apply ${stored.record.run}`, { ...stored, trusted }))}`;
}

type PlanReports = readonly ReportFile<(typeof PLAN_REPORTS)[number]>[];

async function writeReports(io: Io, reports: PlanReports, plan: PlanView): Promise<void> {
  for (const { kind, path } of reports) {
    await writeReport(io, resolve(io.host.cwd, path), await renderPlan(kind, plan));
  }
}

/** Reads a plan file. Returns undefined if there is none: `given` is then a run, even if a folder has the same name. */
export function planAt(directory: string, given: string): Plan | undefined {
  const path = resolve(directory, given);
  const found = given === "" ? undefined : lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.isDirectory()) return undefined;
  const plan = parseJson(readPlainText(path, given));
  if (isPlan(plan)) return plan;
  throw noPlan(given, "its schema is not skillflow.plan/1");
}

/** Checks only the fields needed to compare the plan with the run's record. */
function isPlan(value: unknown): value is Plan {
  if (!isObject(value) || value.schema !== "skillflow.plan/1" || typeof value.run !== "string") return false;
  return Array.isArray(value.operations) && value.operations.every(isObject);
}

const MOST_PLAN = 64 * 1024 * 1024;

/** Reads a regular file with a size limit. In a checkout, the path could be anything. */
function readPlainText(path: string, given: string): string {
  let opened: ReturnType<typeof openPlainNow> | undefined;
  try {
    opened = openPlainNow(path);
    if (opened.stats.size <= MOST_PLAN) return readFileSync(opened.file, "utf8");
  } catch (error) {
    throw noPlan(given, messageOf(error));
  } finally {
    if (opened) closeSync(opened.file);
  }
  throw noPlan(given, "the file is larger than 64 MB");
}

function noPlan(given: string, why: string): SkillflowError {
  return usageError(`${given} is not a plan: ${why}`, "pass a run, or the plan.json that it wrote");
}

/** Returns the skills that the plan needs. Installed skills replace recorded ones, so the user is not asked about those. */
function usedBy({ stored, operations }: ReviewedPlan, installed: ReadonlySet<string>) {
  const { workflow } = stored.record;
  const needed = new Set(operations.map(skillOf));
  const nodes = Object.entries(workflow.nodes).map(([id, node]) => {
    return [id, { ...node, skills: node.skills?.filter((skill) => needed.has(skill)) ?? [] }] as const;
  });
  const brought = Object.entries(workflow.skills ?? {}).filter(([id]) => !installed.has(id));
  const inline = recordedSkills({ ...workflow, skills: Object.fromEntries(brought) });
  return { workflow: { ...workflow, nodes: Object.fromEntries(nodes) }, inline };
}

function approvalOf(flags: Flags, isWhole: boolean): Approved | undefined {
  const named = list(flags, "approve");
  if (flags.yes === true && named.length > 0) throw usageError("--yes and --approve cannot be used together");
  if (flags.yes === true) return "all";
  return named.length > 0 ? parseApprovals(named, isWhole) : undefined;
}

/** Asks the user what to apply. Returns undefined in CI or without a terminal. */
async function askFor(
  io: Io,
  { open, check }: { readonly open: readonly Operation[]; readonly check: () => Promise<string | undefined> },
  paint: Paint,
): Promise<Approved | undefined> {
  if (!io.ask || isCi(io.host.env)) return undefined;
  const place = await check();
  if (place !== undefined) await io.err(`${paint("dim", `changes of files go to ${plainLine(place)}`)}\n`);
  const ids = open.length > 8 ? "op-1,op-2,…" : open.map(({ id }) => id).join(",");
  const question = `${paint("yellow", "?")} Apply ${amount(open.length, "write")}? [y/N, or ${ids}] `;
  const answer = (await io.ask(question)).trim();
  if (/^y(es)?$/i.test(answer)) return "all";
  return answer.startsWith("op-") ? parseApprovals([answer], false) : [];
}

/** Throws a usage error because nothing was approved and no user can be asked. */
async function leaveUnapproved(io: Starting, flags: Flags, { stored, operations }: ReviewedPlan): Promise<number> {
  Object.assign(io.beginning, { recorded: async () => stored, isTold: true });
  const { run } = stored.record;
  if (flags.json === true)
    await io.out(jsonText({ ...applyDocument(run, 2, unapproved(operations)), plan: operations }));
  const some = operations.slice(0, 2).map(({ id }) => id);
  throw usageError(
    "no operation was approved, and this is not a terminal",
    `approve all with --yes, or some with --approve ${some.join(",")}`,
  );
}

function unapproved(operations: readonly Operation[]): AppliedOperation[] {
  return operations.map(({ id, digest }) => ({ id, digest, status: "not_approved" }));
}

const AGAIN: ReadonlySet<AppliedOperation["status"]> = new Set(["failed", "refused", "skipped"]);

/** Summarizes the outcomes. The command applies the rest. */
function concluding(
  command: string,
  outcomes: readonly AppliedOperation[],
  isInterrupted: boolean,
  paint: Paint,
): string {
  if (outcomes.length === 0) return "nothing to apply: the run planned no writes\n";
  const mark = exitCodeOf(outcomes) === 0 ? paint("green", "●") : paint("red", "✘");
  const doubted = outcomes.filter(({ status }) => status === "in_doubt").map(({ id }) => id);
  const next: string[] = [];
  if (doubted.length > 0) {
    const answers = `${command} --resolve ${doubted[0]}=applied, or ${doubted[0]}=not-applied`;
    next.push(`check whether the service has ${doubted.join(", ")}, then answer: ${answers}`);
  }
  if (outcomes.some(({ status }) => AGAIN.has(status)))
    next.push(`try ${doubted.length === 0 ? "" : "the others "}again: ${command}`);
  const hints = next.map((line) => `\n  ${paint("dim", line)}`).join("");
  return `${isInterrupted ? paint("yellow", "■ interrupted:") : mark} ${countOutcomes(outcomes)}${hints}\n`;
}
