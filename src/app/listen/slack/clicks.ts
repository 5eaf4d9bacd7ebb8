import * as z from "zod";
import { SkillflowError } from "../../../core/base/errors.ts";
import { type Fitting, lazy, parseJson } from "../../../core/base/values.ts";
import type { Operation } from "../../../core/engine/event/operation.ts";
import { stateOf } from "../../../core/engine/fold/fold.ts";
import { applicationsOf } from "../../../core/engine/plan/standing.ts";
import type { StoredRun } from "../../../core/engine/ports.ts";
import { plannedIn } from "../../../core/engine/result/approval.ts";
import { waitsIn } from "../../../core/engine/result/waiting.ts";
import { JUDGEMENTS, type Judgement, judgementBy, withdrawalOf } from "../../../core/engine/state/feedback.ts";
import type { Workspace } from "../../host.ts";
import { appendFeedback, feedbackOf, recordFeedback } from "../../runs/afterwards/feedback.ts";
import { type ReviewedPlan, reviewPlan } from "../../runs/apply.ts";
import { applyReviewed } from "../../runs/apply-operations.ts";
import { recordRefusal } from "../../runs/drive.ts";
import { ifKnown } from "../kept.ts";
import { wordBefore } from "../links.ts";
import { type Click, type Desk, say } from "./desk.ts";
import { renderInputs } from "./message.ts";

/** Handles clicks. A button's value may be old or altered, so it is compared with the run's record. */

interface Pressed {
  readonly click: Click;
  readonly stored: StoredRun;
  readonly about: Fitting<typeof aboutSchema>;
}

const aboutSchema = lazy(() =>
  z.object({
    run: z.string(),
    op: z.string().optional(),
    node: z.string().optional(),
    since: z.string().optional(),
    digest: z.string().optional(),
  }),
);

export async function handleClick(desk: Desk, click: Click): Promise<void> {
  const { workspace, state, messages } = desk;
  const about = aboutSchema().safeParse(parseJson(click.value)).data;
  const thread = about && (await state.threadOf(about.run, click.channel));
  const stored = thread && (await ifKnown(() => workspace.store.read(thread.run)));
  if (!stored) return say(desk, click, "This button belongs to no run of this channel. Nothing was changed.");
  const pressed = { click, stored, about };
  const judgement = JUDGEMENTS.find((one) => one === click.action);
  const told = await explained(() => {
    if (judgement) return judge(desk, pressed, judgement);
    if (click.action === "show") return show(desk, pressed);
    if (click.action === "approve" || click.action === "deny") return decide(desk, pressed);
    return Promise.resolve("This button is unknown. Nothing was changed.");
  });
  messages.refresh(thread);
  if (told !== undefined) await say(desk, click, told);
}

/** Returns what to say about an error that the person may understand. Rethrows others, so that the click is repeated. */
async function explained(work: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SkillflowError) || error.code === "store.failed") throw error;
    if (error.code === "store.locked") return "The run is busy. Nothing was changed: try again in a moment.";
    return `Nothing was changed: ${error.message}${error.hint === undefined ? "" : ` (${error.hint})`}`;
  }
}

async function judge({ workspace }: Desk, { click, stored, about }: Pressed, judgement: Judgement) {
  const { lines } = await feedbackOf(workspace);
  const before = judgementBy(click.user, about.run, lines);
  if (before?.judgement === judgement) {
    return `You judged this run ${judgement} at ${before.at}. Nothing was changed.`;
  }
  await recordFeedback(workspace, stored.record.run, { judgement, by: click.user, id: click.mark });
  const more = judgement === "right" ? "" : " Write cause: and the true cause in this thread to add it.";
  return `Recorded: ${judgement}.${more}`;
}

async function show(desk: Desk, { click, stored, about }: Pressed): Promise<string | undefined> {
  const operations = planIn(stored);
  const wait = waitIn({ stored, about });
  const named = operations.filter(({ id, digest }) => id === about.op && digest === about.digest);
  if (!wait && named.length === 0) return "The run no longer has this.";
  const planned = wait?.digest === undefined ? [] : operations;
  const title = wait ? `${wait.ask}${wait.digest === undefined ? "" : ` (plan ${wait.digest})`}` : "Input";
  for (const page of renderInputs(title, wait ? planned : named)) await say(desk, click, page);
  return undefined;
}

async function decide(desk: Desk, pressed: Pressed): Promise<string | undefined> {
  const { click, stored, about } = pressed;
  const refusal = await refusalOf(desk, click);
  if (refusal !== undefined) return refuse(desk, pressed, refusal);
  if (about.op !== undefined) return click.action === "approve" ? approve(desk, pressed) : withdraw(desk, pressed);
  const wait = waitIn(pressed);
  if (!wait) return `Nothing was changed: ${wordBefore(stored, about.node ?? "")}.`;
  const { node, since } = wait;
  const approved = click.action === "approve";
  const over = await desk.links.answer(about.run, { node, since, approved, by: click.user });
  return over === undefined ? undefined : `Nothing was changed: ${over}.`;
}

/** Finds the approval that the button names. Undefined if the run does not wait for exactly this one. */
function waitIn({ stored, about }: Pick<Pressed, "stored" | "about">) {
  return waitsIn(stored.events).find(({ node, since, digest }) => {
    return node === about.node && since === about.since && digest === about.digest;
  });
}

/** Returns why a person may not decide in the channel. Undefined if they may. */
async function refusalOf({ api, channelOf }: Desk, { channel, user }: Click): Promise<string | undefined> {
  const approvers = channelOf(channel)?.approvers ?? [];
  if (approvers.includes(user)) return undefined;
  const failed: string[] = [];
  for (const usergroup of approvers.filter((id) => id.startsWith("S"))) {
    const answer = await api.patiently("usergroups.users.list", { usergroup });
    if (answer.kind !== "ok") failed.push(`the members of ${usergroup} cannot be read: ${answer.error}`);
    else if (Array.isArray(answer.body.users) && answer.body.users.includes(user)) return undefined;
  }
  return [`${user} is not an approver of ${channel}`, ...failed].join("; ");
}

/** Records a refused decision: in a waiting run as an event, otherwise with the feedback. */
async function refuse({ workspace }: Desk, { click, stored, about }: Pressed, why: string): Promise<string> {
  const { run } = stored.record;
  const by = click.user;
  const reason = `${why}: ${click.action} ${about.op ?? about.node ?? ""}`.slice(0, 500);
  const waits = waitsIn(stored.events);
  const [first] = waits;
  if (first) {
    const node = waits.find((wait) => wait.node === about.node)?.node ?? first.node;
    await recordRefusal(workspace, run, { node, by, reason });
  } else {
    const { lines } = await feedbackOf(workspace);
    const isKnown = lines.some((line) => {
      return line.kind === "refusal" && line.run === run && line.by === by && line.reason === reason;
    });
    const operation = planIn(stored).find(({ id }) => id === about.op);
    const of = operation ? { operation: operation.id, digest: operation.digest } : {};
    const line = { kind: "refusal" as const, run, ...of, by, reason, at: new Date().toISOString() };
    if (!isKnown) await appendFeedback(workspace, line, click.mark);
  }
  return `You may not decide here: ${why}. Nothing was changed. The attempt was recorded.`;
}

async function approve({ workspace, loggerFor }: Desk, pressed: Pressed): Promise<string | undefined> {
  const reviewed = reviewPlan(pressed.stored);
  const operation = await openOperation(workspace, pressed, reviewed);
  if (typeof operation === "string") return operation;
  const { id, digest } = operation;
  const outcomes = await applyReviewed(workspace, reviewed, {
    approved: [{ id, digest }],
    by: pressed.click.user,
    signal: new AbortController().signal,
    loggerFor,
  });
  const { status = "unknown", error } = outcomes.find((one) => one.id === id) ?? {};
  return status === "applied" ? undefined : `${id}: ${status.replaceAll("_", " ")}${error ? `: ${error}` : ""}`;
}

/** Withdraws one operation of a finished run. The run's lock keeps `apply` away in the meantime. */
async function withdraw({ workspace }: Desk, pressed: Pressed): Promise<string | undefined> {
  const { click, about } = pressed;
  const opened = await workspace.store.open(about.run);
  try {
    const operation = await openOperation(workspace, pressed, reviewPlan(opened));
    if (typeof operation === "string") return operation;
    const { id, digest } = operation;
    const line = { kind: "withdrawn" as const, run: about.run, operation: id, digest, by: click.user };
    await appendFeedback(workspace, { ...line, at: new Date().toISOString() }, click.mark);
    return undefined;
  } finally {
    await opened.journal.close();
  }
}

/** Finds the operation that was clicked. Returns a message if there is nothing to decide about it. */
async function openOperation(
  workspace: Workspace,
  { about }: Pressed,
  { stored, operations }: ReviewedPlan,
): Promise<string | Operation> {
  const found = operations.find(({ id, digest }) => id === about.op && digest === about.digest);
  if (!found) return "Nothing was changed: the plan has no operation with this digest.";
  const { id, digest } = found;
  const { lines } = await feedbackOf(workspace);
  const { standing, by, at } = applicationsOf(stored.events).get(id) ?? {};
  if (standing === "applied") return `Nothing was changed: ${id} was applied by ${by} at ${at}.`;
  if (standing === "denied") return `Nothing was changed: ${id} was denied by ${by} at ${at}.`;
  if (standing === "in_doubt") return `Nothing was changed: ${id} was started, and its outcome is unknown.`;
  const withdrawal = withdrawalOf(lines, { run: stored.record.run, id, digest });
  return withdrawal ? `Nothing was changed: ${id} was denied by ${withdrawal.by} at ${withdrawal.at}.` : found;
}

/** Returns the plan of a run in any state. Throws if the record was altered. */
function planIn(stored: StoredRun) {
  return plannedIn(stateOf(stored));
}
