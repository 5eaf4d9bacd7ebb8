import { defineTool, type JsonObject, NothingDone, refusalOf, type ToolContext } from "skillflow";
import { LASTING, resultSchema, trim } from "skillflow/internal";
import * as z from "zod";
import { type Channel, redactorFor, type Send } from "./channel.ts";
import { discordChannel } from "./channels/discord.ts";
import { emailChannel } from "./channels/email.ts";
import { consoleChannel, fileChannel } from "./channels/file.ts";
import { opsgenieChannel } from "./channels/opsgenie.ts";
import { pagerdutyChannel } from "./channels/pagerduty.ts";
import { teamsChannel } from "./channels/teams.ts";
import { webhookChannel } from "./channels/webhook.ts";
import { createNotice, type Notice, noticeInput } from "./notice.ts";

const NAMES = ["console", "file", "webhook", "discord", "teams", "email", "pagerduty", "opsgenie"] as const;
type Name = (typeof NAMES)[number];

const CHANNELS: Readonly<Record<Name, Channel>> = {
  console: consoleChannel,
  file: fileChannel,
  webhook: webhookChannel,
  discord: discordChannel,
  teams: teamsChannel,
  email: emailChannel,
  pagerduty: pagerdutyChannel,
  opsgenie: opsgenieChannel,
};

export const notificationTools = [
  defineTool({
    name: "send",
    description:
      "Sends one message to channels and returns the outcome for each. pagerduty and opsgenie wake the person on call.",
    effect: "write",
    targets: ["channels"],
    input_schema: z.strictObject({ channels: z.array(z.enum(NAMES)).min(1).max(NAMES.length), ...noticeInput }),
    output_schema: resultSchema(
      "delivered channels",
      "delivered:number channels:[{ channel outcome reason receipt:{} }]",
    ),
    handler: async ({ channels, ...input }, context) => {
      context.signal.throwIfAborted();
      const notice = createNotice(input);
      const names = [...new Set(channels)];
      const doubts = new Set<Name>();
      const deliveries = names.map((name) => deliver(name, notice, { context, doubts }));
      const outcomes = await Promise.all(deliveries);
      const delivered = outcomes.filter(({ outcome }) => outcome === "delivered").length;
      if (delivered === 0) {
        const reasons = outcomes.map((each) => (each.outcome === "delivered" ? "" : `${each.channel}: ${each.reason}`));
        const message = `Nothing was delivered. ${reasons.join(" ")}`;
        throw doubts.size === 0 ? new NothingDone(message) : new Error(message);
      }
      return trim({ delivered, channels: outcomes });
    },
  }),
  defineTool({
    name: "channels",
    description: "Lists the channels, and what those that cannot be used lack. Sends nothing.",
    ...LASTING,
    input_schema: z.strictObject({}),
    output_schema: resultSchema("channels", "channels:[{ channel state reason }]"),
    handler: async (_input, context) => {
      context.signal.throwIfAborted();
      const states = NAMES.map(async (name) => {
        const opened = await openChannel(name, context);
        return { channel: name, state: opened.state, ...("reason" in opened ? { reason: opened.reason } : {}) };
      });
      return { channels: await Promise.all(states) };
    },
  }),
];

type Opened =
  | { readonly state: "configured"; readonly send: Send }
  | { readonly state: "not_configured" | "misconfigured"; readonly reason: string };

type Outcome =
  | { readonly channel: Name; readonly outcome: "delivered"; readonly receipt?: JsonObject }
  | { readonly channel: Name; readonly outcome: "failed" | "not_configured"; readonly reason: string };

interface Delivery {
  readonly context: ToolContext;
  /** Channels that failed but may have delivered. */
  readonly doubts: Set<Name>;
}

/** Delivers to one channel. A failure becomes its outcome and does not affect other channels. */
async function deliver(channel: Name, notice: Notice, { context, doubts }: Delivery): Promise<Outcome> {
  const opened = await openChannel(channel, context);
  if (opened.state !== "configured") {
    const outcome = opened.state === "misconfigured" ? "failed" : opened.state;
    return { channel, outcome, reason: opened.reason };
  }
  try {
    const receipt = await opened.send(notice);
    return { channel, outcome: "delivered", ...(Object.keys(receipt).length > 0 ? { receipt } : {}) };
  } catch (error) {
    if (!refusalOf(error)) doubts.add(channel);
    return { channel, outcome: "failed", reason: reasonOf(error, context) };
  }
}

async function openChannel(name: Name, context: ToolContext): Promise<Opened> {
  const { needs, open } = CHANNELS[name];
  const missing = needs.filter((key) => !context.config[key]?.trim());
  if (missing.length > 0) return { state: "not_configured", reason: `Not set: ${missing.join(", ")}.` };
  try {
    return { state: "configured", send: await open(context) };
  } catch (error) {
    return { state: "misconfigured", reason: reasonOf(error, context) };
  }
}

/** Returns why delivery failed, without secrets. Throws if the call itself was aborted. */
function reasonOf(error: unknown, context: ToolContext): string {
  context.signal.throwIfAborted();
  return redactorFor(context).text(error instanceof Error ? error.message : String(error));
}
