import { slackText } from "../../../core/base/inert.ts";
import type { JsonObject } from "../../../core/base/values.ts";
import type { Observer } from "../../../core/engine/ports.ts";
import type { Logger } from "../../../core/skill/skill.ts";
import type { Workspace } from "../../host.ts";
import type { openAcceptance } from "../acceptance.ts";
import type { Day } from "../day.ts";
import type { Links } from "../links.ts";
import type { SlackChannel } from "../setting.ts";
import type { AskedRun } from "./message.ts";
import type { Messages, SlackState } from "./threads.ts";
import { INERT, type SlackApi } from "./web-api.ts";

/** An event whose signature was verified. `id` is the same for every attempt. */
export type SlackEvent = SaidInSlack | Click;

export interface SaidInSlack {
  readonly kind: "mention" | "message";
  readonly id: string;
  readonly channel: string;
  readonly user: string;
  readonly ts: string;
  /** First message of the thread. Undefined outside a thread. */
  readonly thread?: string;
  /** Text as Slack sent it. */
  readonly text: string;
}

export interface Click {
  readonly kind: "click";
  readonly id: string;
  /** Identifies the action. Unlike `id`, it is the same if a request is replayed. */
  readonly mark: string;
  readonly channel: string;
  readonly user: string;
  readonly thread: string;
  readonly action: string;
  readonly value: string;
}

/** Asks a finished run a question. `observer` sees the events of the question's own run. */
export type AskFinished = (run: string, question: string, observer: Observer) => Promise<AskedRun>;

export interface Desk {
  readonly workspace: Workspace;
  readonly api: SlackApi;
  readonly state: SlackState;
  readonly messages: Messages;
  readonly day: Day;
  readonly links: Links;
  readonly start: ReturnType<typeof openAcceptance>["start"];
  /** Undefined if this installation cannot ask finished runs. */
  readonly ask?: AskFinished | undefined;
  readonly loggerFor: (skill: string) => Logger;
  readonly onFault: (error: unknown) => void;
  readonly channelOf: (id: string) => SlackChannel | undefined;
}

export async function reply({ api, onFault }: Desk, event: SaidInSlack, message: JsonObject): Promise<void> {
  const to = { channel: event.channel, thread_ts: event.thread ?? event.ts };
  const answer = await api.patiently("chat.postMessage", { ...to, ...message, ...INERT });
  if (answer.kind !== "ok") onFault(new Error(`a reply in Slack was not sent: ${answer.error}`));
}

export async function say(
  { api, onFault }: Desk,
  { channel, user, thread }: Pick<Click, "channel" | "user" | "thread">,
  message: string | JsonObject,
): Promise<void> {
  const content = typeof message === "string" ? { text: slackText(message) } : message;
  const answer = await api.patiently("chat.postEphemeral", { channel, user, thread_ts: thread, ...content });
  if (answer.kind !== "ok") onFault(new Error(`a message to ${user} in Slack was not sent: ${answer.error}`));
}
