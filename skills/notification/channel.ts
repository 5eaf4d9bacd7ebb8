import { createRedactor, type JsonObject, type Redactor, type Secret, type ToolContext } from "skillflow";
import { callDigest } from "skillflow/internal";
import type { Notice } from "./notice.ts";

export interface Channel {
  readonly needs: readonly string[];
  /** Reads the channel's config without sending anything. Throws if it is invalid. */
  readonly open: (context: ToolContext) => Send | Promise<Send>;
}

/** Delivers a notice, or throws. The model sees the returned object. */
export type Send = (notice: Notice) => Promise<JsonObject>;

/** Returns a config value, or "". A channel is only opened if its required fields are set. */
export function setting({ config }: ToolContext, key: string): string {
  return config[key]?.trim() ?? "";
}

/**
 * Returns the same key for every attempt of a call, so that receivers recognize repeated messages. The digest separates
 * calls of other runs that have the same id.
 */
export function idempotencyKey(context: ToolContext, notice: Notice): string {
  return `${encodeURIComponent(context.callId).slice(0, 200)}:${callDigest(context, notice).slice(0, 12)}`;
}

const ADDRESSES = ["DISCORD_WEBHOOK_URL", "TEAMS_WEBHOOK_URL", "NOTIFICATION_WEBHOOK_URL", "SMTP_URL"] as const;

const KEYS = ["NOTIFICATION_WEBHOOK_SECRET", "PAGERDUTY_ROUTING_KEY", "OPSGENIE_API_KEY"] as const;

/** Returns a redactor that removes webhook URLs, and the parts that allow posting, from services' messages. */
export function redactorFor(context: ToolContext): Redactor {
  const addresses = ADDRESSES.flatMap((name) => partsOf(setting(context, name)).map((value) => ({ name, value })));
  const keys = KEYS.map((name) => ({ name, value: setting(context, name) }));
  const secrets: readonly Secret[] = [...addresses, ...keys];
  return createRedactor(secrets.filter(({ value }) => value !== ""));
}

const SHORTEST_TOKEN = 12;

function partsOf(text: string): readonly string[] {
  if (!URL.canParse(text)) return [text];
  const { pathname, search, searchParams, username, password } = new URL(text);
  const tokens = [...pathname.split("/"), ...searchParams.values()].filter((part) => part.length >= SHORTEST_TOKEN);
  const path = pathname.length > 1 ? [pathname, pathname + search] : [];
  return [text, ...path, ...tokens, ...[password, username].flatMap(bothForms)];
}

function bothForms(part: string): readonly string[] {
  const plain = part.replace(/(%[0-9a-f]{2})+/gi, (codes) => Buffer.from(codes.replaceAll("%", ""), "hex").toString());
  return [part, plain];
}
