import { createHash, randomUUID } from "node:crypto";
import * as z from "zod";
import type { SlackEvent } from "../../app/listen/listener.ts";
import { isObject, type Json, textAt } from "../../core/base/values.ts";
import { type Kind, signed } from "./kinds.ts";

/** Requests of Slack: signed events as JSON, and signed interactions as a form. */

export const SLACK_PATHS: ReadonlySet<string> = new Set(["/slack/events", "/slack/interactions"]);

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
export const SLACK: Kind = {
  proof: signed("x-slack-signature", /^v0=([0-9a-f]{64})$/i, ({ headers, body }) => [
    `v0:${headers.get("x-slack-request-timestamp") ?? ""}:`,
    body,
  ]),
  sentAt: "x-slack-request-timestamp",
};

/** Content of a request. `reason` describes for the log why an event is ignored. */
type SlackRequest =
  | { readonly kind: "challenge"; readonly challenge: string }
  | { readonly kind: "event"; readonly event: SlackEvent }
  | { readonly kind: "ignored"; readonly reason: string };

const id = z.string().regex(/^[A-Za-z0-9]{1,40}$/);
const stamp = z.string().regex(/^\d{1,12}\.\d{1,9}$/);

const envelope = z.object({
  type: z.literal("event_callback"),
  event_id: z.string().regex(/^[A-Za-z0-9_-]{1,80}$/),
  event: z.object({
    type: z.string(),
    subtype: z.string().optional(),
    bot_id: z.unknown().optional(),
  }),
});
const message = z.object({ user: id, channel: id, ts: stamp, thread_ts: stamp.optional(), text: z.string() });

/** Reads a verified event. Returns undefined if it is malformed. */
export function readEvent(body: Json): SlackRequest | undefined {
  const type = textAt(body, "type");
  if (type === "url_verification") {
    const challenge = textAt(body, "challenge");
    return challenge === undefined ? undefined : { kind: "challenge", challenge };
  }
  const read = envelope.safeParse(body).data;
  if (!read) return type === undefined || type === "event_callback" ? undefined : ignored(`the event ${type}`);
  const { event_id, event } = read;
  const kind = event.type === "app_mention" ? "mention" : event.type === "message" ? "message" : undefined;
  if (kind === undefined) return ignored(`the event ${event.type}`);
  // Otherwise, two bots could answer each other forever. Edited and deleted messages have a subtype too.
  if (event.bot_id !== undefined || event.subtype !== undefined) return ignored("a message of a bot, or a change");
  const said = message.safeParse(isObject(body) ? body.event : undefined).data;
  if (!said) return undefined;
  const { thread_ts: thread, ...rest } = said;
  return { kind: "event", event: { kind, id: event_id, ...rest, ...(thread === undefined ? {} : { thread }) } };
}

const interaction = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id }),
  channel: z.object({ id }),
  container: z.object({ message_ts: stamp, thread_ts: stamp.optional() }).optional(),
  message: z.object({ ts: stamp, thread_ts: stamp.optional() }).optional(),
  actions: z
    .array(z.object({ action_id: z.string().max(255), value: z.string().max(2000), action_ts: z.string().max(40) }))
    .length(1),
});

/** Reads a verified interaction. Returns undefined if it is malformed. */
export function readInteraction(payload: Json): SlackRequest | undefined {
  const type = textAt(payload, "type");
  if (type !== undefined && type !== "block_actions") return ignored(`the interaction ${type}`);
  const read = interaction.safeParse(payload).data;
  const [action] = read?.actions ?? [];
  if (!read || !action) return undefined;
  const { user, channel, container, message: shown } = read;
  const thread = shown?.thread_ts ?? container?.thread_ts ?? shown?.ts ?? container?.message_ts;
  if (thread === undefined) return undefined;
  const { action_id, value, action_ts } = action;
  const parts = JSON.stringify([user.id, channel.id, action_id, value, action_ts]);
  const mark = `slack/${createHash("sha256").update(parts).digest("hex")}`;
  const about = { channel: channel.id, user: user.id, thread, action: action_id, value };
  return { kind: "event", event: { kind: "click", id: randomUUID(), mark, ...about } };
}

function ignored(reason: string): SlackRequest {
  return { kind: "ignored", reason: `ignored: ${reason}` };
}
