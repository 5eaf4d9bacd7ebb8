import { messageOf } from "../../../core/base/errors.ts";
import { checkedAs } from "../../../core/base/values.ts";
import { environmentRedactor } from "../../secrets.ts";
import { turns } from "../kept.ts";
import type { SlackSetting } from "../setting.ts";
import { handleClick } from "./clicks.ts";
import type { Desk, SlackEvent } from "./desk.ts";
import { addCause, handleMention } from "./mentions.ts";
import { openMessages, openSlackState } from "./threads.ts";
import { openSlackApi } from "./web-api.ts";

/** The listener in Slack: saves each event before it is acknowledged, and handles it afterwards, also after a crash. */

type Means = Pick<Desk, "workspace" | "day" | "links" | "start" | "ask" | "loggerFor" | "onFault">;

export function openWorkplace(setting: SlackSetting, means: Means) {
  const { workspace, onFault } = means;
  const state = openSlackState(workspace);
  const stopping = new AbortController();
  const api = openSlackApi(workspace, stopping.signal);
  const messages = openMessages({ workspace, state, api, onFault });
  const desk: Desk = { ...means, state, api, messages, channelOf: (id) => setting.channels.get(id) };
  const redactor = environmentRedactor(workspace);
  const inTurn = turns();
  const handling = new Map<string, Promise<void>>();
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });

  const handle = async (key: string, event: SlackEvent): Promise<void> => {
    try {
      // The queue of runs must be open first.
      await opened;
      await inTurn(turnOf(event), () => handleEvent(desk, event));
      await state.forget(key);
    } catch (error) {
      onFault(new Error(`an event of Slack is handled again at the next start: ${messageOf(error)}`, { cause: error }));
    } finally {
      handling.delete(key);
    }
  };
  const begin = (key: string, event: SlackEvent) => {
    if (!handling.has(key)) handling.set(key, handle(key, event));
  };

  return {
    touch: messages.touch,
    /** Saves an event. Returns a description for the log once the event is on disk. */
    async receive(event: SlackEvent): Promise<string> {
      if (!desk.channelOf(event.channel)) return `ignored: the channel ${event.channel} is not configured`;
      // A message that mentions the app arrives as a mention, too.
      if (event.kind === "message" && !/^\s*cause:/i.test(event.text)) return "ignored: no cause";
      const key = `event/${event.id}`;
      return inTurn("", async () => {
        const isSaved = await state.save(key, redactor.value({ ...event }), event.id);
        if (handling.has(key) || !isSaved) return `a duplicate of ${event.id}`;
        begin(key, event);
        return `saved ${event.kind} ${event.id}`;
      });
    },
    /** Handles the events that an earlier process left, and shows the runs again. */
    restore: () =>
      inTurn("", async () => {
        for (const { key, data } of await state.entries())
          if (key.startsWith("event/")) begin(key, checkedAs<SlackEvent>(data));
        await messages.restore();
        open();
      }),
    async close(): Promise<void> {
      stopping.abort();
      open();
      await Promise.all(handling.values());
      await messages.close();
    },
  };
}

function handleEvent(desk: Desk, event: SlackEvent): Promise<void> {
  if (event.kind === "click") return handleClick(desk, event);
  return event.kind === "mention" ? handleMention(desk, event) : addCause(desk, event);
}

/** Mentions may take long to answer, so clicks do not wait for them. */
function turnOf(event: SlackEvent): string {
  const thread = event.kind === "click" ? event.thread : (event.thread ?? event.ts);
  return `${event.kind === "mention" ? "mention" : "click"} ${event.channel} ${thread}`;
}
