import type { JsonObject, ToolContext } from "skillflow";
import { callDigest } from "skillflow/internal";
import type { Notice } from "./notice.ts";

export interface Channel {
  /** Required config fields. */
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
