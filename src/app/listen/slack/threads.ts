import { createHash, randomUUID } from "node:crypto";
import { checkedAs, defined, isObject, type Json } from "../../../core/base/values.ts";
import type { Workspace } from "../../host.ts";
import { feedbackOf } from "../../runs/afterwards/feedback.ts";
import { entriesIn, ifKnown, savedEntry, turns } from "../kept.ts";
import { renderMessage } from "./message.ts";
import { INERT, type SlackAnswer, type SlackApi } from "./web-api.ts";

export interface Thread {
  readonly run: string;
  readonly channel: string;
  readonly thread: string;
  readonly ts?: string;
  readonly shown?: string;
  /** The message was being posted, and may exist. */
  readonly posting?: true;
  /** The run is over, and no planned write waits for a decision. */
  readonly isFinal?: boolean;
}

/** State of the listener's threads and of the events that it has not handled yet. */
const STATE = "_listen_slack";
const KEPT = { keepMs: 365 * 24 * 60 * 60 * 1000, maxEntries: 20_000 };

/** Opens the state of threads and events. Keys of threads begin with `thread/`. */
export function openSlackState({ state }: Pick<Workspace, "state">) {
  const keyOf = ({ channel, thread }: Pick<Thread, "channel" | "thread">) => `thread/${channel}/${thread}`;
  const entries = () => entriesIn(state, STATE);
  const threads = async () => {
    return (await entries()).flatMap(({ key, data }) => (key.startsWith("thread/") ? checkedAs<Thread>(data) : []));
  };
  /** Saves an entry, unless a change with this id was applied before. Returns whether the entry exists afterwards. */
  const save = async (key: string, data: Json, id: string = randomUUID()): Promise<boolean> => {
    const states = { [STATE]: { changes: [savedEntry(key, data)], limits: KEPT } };
    const saved = await state.apply({ id: `slack/${id}`, states });
    return (saved.get(STATE) ?? []).some((entry) => entry.key === key);
  };
  return {
    ...{ entries, threads, save },
    saveThread: async (thread: Thread) => save(keyOf(thread), { ...thread }),
    forget: (key: string) => state.forget(STATE, [key]),
    forgetThread: (thread: Thread) => state.forget(STATE, [keyOf(thread)]),
    threadAt: async (at: Pick<Thread, "channel" | "thread">) =>
      (await threads()).find((one) => keyOf(one) === keyOf(at)),
    threadOf: async (run: string, channel: string) =>
      (await threads()).find((one) => one.run === run && one.channel === channel),
  };
}
export type SlackState = ReturnType<typeof openSlackState>;

/** Usual time between two edits of a message. Changes in between are sent together. */
const GAP_MS = 1200;
/** Some edits may follow each other at once, such as answers to a person's clicks. */
const BURST_MS = 4 * GAP_MS;
const FIRST_PAUSE_MS = 1000;
const MOST_PAUSE_MS = 60_000;
/** Interval for runs that other processes may drive. */
const LOOK_MS = 5000;

interface Live {
  thread: Thread;
  timer?: NodeJS.Timeout | undefined;
  isBusy: boolean;
  isOver: boolean;
  isWanted: boolean;
  /** Time before which Slack is not called. */
  notBefore: number;
  /** Time at which all edits so far would have been sent at the usual pace. */
  paidUntil: number;
  failures: number;
}

interface Means {
  readonly workspace: Workspace;
  readonly state: SlackState;
  readonly api: SlackApi;
  readonly onFault: (error: unknown) => void;
}

export type Messages = ReturnType<typeof openMessages>;

/** Keeps the messages of the runs up to date. A failure of Slack delays a message, and never affects the run. */
export function openMessages(means: Means) {
  const lives = new Map<string, Live>();
  const underWay = new Set<Promise<void>>();
  const inTurn = turns();
  let isClosed = false;

  const touch = (run: string) => {
    const live = lives.get(run);
    if (!live || isClosed) return;
    live.isWanted = true;
    if (live.isBusy || live.timer) return;
    const begin = () => {
      const work = step(live).finally(() => underWay.delete(work));
      underWay.add(work);
    };
    live.timer = setTimeout(begin, Math.max(0, live.notBefore - Date.now()));
  };
  const step = async (live: Live): Promise<void> => {
    Object.assign(live, { timer: undefined, isWanted: false, isBusy: true });
    try {
      const pause = await inTurn("", () => show(live, means));
      if (pause !== undefined) live.isWanted = true;
      live.notBefore = Math.max(Date.now() + (pause ?? 0), live.paidUntil - BURST_MS);
    } catch (error) {
      means.onFault(error);
    }
    live.isBusy = false;
    if (live.isWanted) touch(live.thread.run);
    else if (live.thread.isFinal) lives.delete(live.thread.run);
  };
  // Runs in a database are driven by any worker, so their events do not all arrive here.
  const look = () => {
    for (const [run, { isOver }] of lives) if (!isOver) touch(run);
  };
  const looking = means.workspace.queue && setInterval(look, LOOK_MS).unref();
  const refresh = (thread: Thread) => {
    const idle = { isBusy: false, isOver: false, isWanted: false, notBefore: 0, paidUntil: 0, failures: 0 };
    if (!lives.has(thread.run)) lives.set(thread.run, { thread, ...idle });
    touch(thread.run);
  };
  return {
    ...{ touch, refresh },
    async restore(): Promise<void> {
      for (const thread of await means.state.threads()) if (!thread.isFinal) refresh(thread);
    },
    /** Sends what is left once, without retries. */
    async close(): Promise<void> {
      isClosed = true;
      clearInterval(looking);
      for (const { timer } of lives.values()) clearTimeout(timer);
      await Promise.all(underWay);
      await Promise.all([...lives.values()].filter(({ isWanted }) => isWanted).map(step));
    },
  };
}

/** Sends the message if it changed. Returns the pause before the next attempt if Slack could not take it. */
async function show(live: Live, { workspace, state, api, onFault }: Means): Promise<number | undefined> {
  const { run, channel, thread, ts: known, shown: before } = live.thread;
  const stored = await ifKnown(() => workspace.store.read(run));
  if (!stored) return undefined;
  const { text, blocks, isOver, isFinal } = renderMessage(stored, (await feedbackOf(workspace)).lines);
  const shown = createHash("sha256")
    .update(JSON.stringify([text, blocks]))
    .digest("hex");
  if (shown === before) return undefined;
  live.isOver = isOver;
  live.paidUntil = Math.max(live.paidUntil, Date.now()) + GAP_MS;
  const found = known ?? (await findPosted(live.thread, api));
  if (isObject(found)) return pauseAfter(live, found);
  if (found === undefined) {
    // Saved first, so that a message that Slack took is found again if this process dies before it hears of it.
    live.thread = { ...live.thread, posting: true };
    await state.saveThread(live.thread);
  }
  const answer =
    found === undefined
      ? await api.once("chat.postMessage", { channel, thread_ts: thread, text, blocks, ...INERT })
      : await api.once("chat.update", { channel, ts: found, text, blocks });
  if (answer.kind === "later") return pauseAfter(live, answer);
  live.failures = 0;
  if (answer.kind === "refused") {
    onFault(new Error(`Slack refused the message of run ${run}: ${answer.error}`));
    return undefined;
  }
  const ts = found ?? (typeof answer.body.ts === "string" ? answer.body.ts : undefined);
  live.thread = { run, channel, thread, shown, isFinal, ...defined("ts", ts) };
  await state.saveThread(live.thread);
  return undefined;
}

type Later = Extract<SlackAnswer, { kind: "later" }>;

/** Looks for the message in the thread if it may have been posted. */
async function findPosted(at: Thread, api: SlackApi): Promise<string | Later | undefined> {
  if (!at.posting) return undefined;
  const answer = await api.once("conversations.replies", { channel: at.channel, ts: at.thread, limit: 200 });
  if (answer.kind === "later") return answer;
  const messages = answer.kind === "ok" && Array.isArray(answer.body.messages) ? answer.body.messages : [];
  const ours = messages.find((one: Json) => {
    return isObject(one) && one.bot_id !== undefined && typeof one.text === "string" && one.text.includes(at.run);
  });
  return isObject(ours) && typeof ours.ts === "string" ? ours.ts : undefined;
}

function pauseAfter(live: Live, { acted, afterMs }: Later): number {
  return acted ? Math.min(FIRST_PAUSE_MS * 2 ** Math.min(live.failures++, 10), MOST_PAUSE_MS) : afterMs;
}
