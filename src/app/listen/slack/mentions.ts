import { messageOf, SkillflowError } from "../../../core/base/errors.ts";
import { slackText } from "../../../core/base/inert.ts";
import type { RunEvent } from "../../../core/engine/event/event.ts";
import type { StoredRun } from "../../../core/engine/ports.ts";
import { waitsIn } from "../../../core/engine/result/waiting.ts";
import { judgementBy } from "../../../core/engine/state/feedback.ts";
import { feedbackOf, MOST_CAUSE, recordFeedback } from "../../runs/afterwards/feedback.ts";
import { hasEnded } from "../../runs/afterwards/verify.ts";
import { runIdOf } from "../acceptance.ts";
import { ifKnown } from "../kept.ts";
import type { SlackChannel } from "../setting.ts";
import { type Desk, reply, type SaidInSlack, say } from "./desk.ts";
import { renderAnswer } from "./message.ts";

/** Handles messages: mentions start a run or ask the thread's run, and `cause:` adds to a judgement. */

const NO_TEXT = { text: "Write a question after the mention." };

export async function handleMention(desk: Desk, event: SaidInSlack): Promise<void> {
  const { workspace, state, messages, channelOf } = desk;
  const channel = channelOf(event.channel);
  if (!channel) return;
  const run = runIdOf(channel, `${event.channel}/${event.ts}`);
  const thread = event.thread ?? event.ts;
  const place = { run, channel: event.channel, thread };
  const known = await state.threadAt(place);
  if (known && known.run !== run && causeIn(event.text) !== undefined) return addCause(desk, event);
  const stored = known && (await ifKnown(() => workspace.store.read(known.run)));
  if (known && stored && known.run !== run) return answerThread(desk, event, stored);
  if (plainText(event.text) === "") return reply(desk, event, NO_TEXT);
  // After a crash, the thread may have the message already.
  const mine = known?.run === run ? known : place;
  if (mine === place) await state.saveThread(place);
  const refusal = stored ? undefined : await startRun(desk, event, channel);
  if (refusal === undefined) return messages.refresh(mine);
  await state.forgetThread(place);
  await reply(desk, event, { text: slackText(refusal) });
}

/** Starts the run of a mention. Returns why it was not started. */
async function startRun(desk: Desk, event: SaidInSlack, channel: SlackChannel): Promise<string | undefined> {
  const { channel: id, ts, user } = event;
  const answer = await desk.api.patiently("chat.getPermalink", { channel: id, message_ts: ts });
  const permalink = answer.kind === "ok" && typeof answer.body.permalink === "string" ? answer.body.permalink : "";
  const whole = { text: plainText(event.text), channel: id, thread_ts: event.thread ?? ts, user, permalink };
  const input = Object.fromEntries(channel.fields.map((field) => [field, whole[field]]));
  try {
    const taken = await desk.start(channel, `${id}/${ts}`, input);
    if ("reason" in taken) return `Not started: ${taken.reason}`;
    return taken.kind === "joined" ? `Not started: run ${taken.run} is about the same` : undefined;
  } catch (error) {
    if (!(error instanceof SkillflowError) || error.code.startsWith("store.")) throw error;
    desk.onFault(error);
    return `Not started: ${error.message}`;
  }
}

async function answerThread(desk: Desk, event: SaidInSlack, stored: StoredRun): Promise<void> {
  const { run } = stored.record;
  const question = plainText(event.text);
  const [wait] = waitsIn(stored.events);
  if (wait) return reply(desk, event, { text: slackText(`Run ${run} waits for a decision: ${wait.ask}`) });
  if (!hasEnded(stored)) return reply(desk, event, { text: slackText(`Run ${run} is still running.`) });
  if (!desk.ask) return reply(desk, event, { text: slackText(`Run ${run} cannot be asked by this installation.`) });
  if (question === "") return reply(desk, event, NO_TEXT);
  // A question counts like a run, because each costs money, and a thread may have any number.
  const counted = `slack-${event.id}`;
  const full = (await desk.day.full()) ?? (await desk.day.begin(counted, {}));
  if (full !== undefined) return reply(desk, event, { text: slackText(`Not asked: ${full}`) });
  const events: RunEvent[] = [];
  try {
    return reply(desk, event, {
      ...renderAnswer(await desk.ask(run, question, { onEvent: (one) => void events.push(one) })),
    });
  } catch (error) {
    return reply(desk, event, { text: slackText(`Not answered: ${messageOf(error)}`) });
  } finally {
    await desk.day.spend(counted, events);
  }
}

/** Adds the true cause to the judgement that the same person gave before. */
export async function addCause(desk: Desk, event: SaidInSlack): Promise<void> {
  const { workspace, state, messages } = desk;
  const cause = causeIn(event.text);
  const { channel, thread } = event;
  const known = thread === undefined ? undefined : await state.threadAt({ channel, thread });
  if (!known || cause === undefined) return;
  const { lines } = await feedbackOf(workspace);
  const judged = judgementBy(event.user, known.run, lines);
  if (!judged || judged.judgement === "right") {
    return say(desk, { ...event, thread: known.thread }, "Press Wrong first: the cause was not recorded.");
  }
  const { judgement } = judged;
  await recordFeedback(workspace, known.run, { judgement, cause, by: event.user, id: event.id });
  messages.refresh(known);
  await say(desk, { ...event, thread: known.thread }, "The cause was recorded.");
}

function causeIn(text: string): string | undefined {
  const plain = plainText(text);
  if (!/^cause:/i.test(plain)) return undefined;
  return plain.slice("cause:".length).trim().slice(0, MOST_CAUSE) || undefined;
}

/** Removes the mention of the app from the start, and decodes Slack's three entities. */
function plainText(text: string): string {
  const rest = text.trimStart().replace(/^<@[A-Z0-9]+(?:\|[^<>]*)?>/, "");
  return rest.replace(/&(amp|lt|gt);/g, (_, name: string) => ({ amp: "&", lt: "<" })[name] ?? ">").trim();
}
