import type { ToolContext } from "skillflow";
import { resultSchema, textLike } from "skillflow/internal";
import * as z from "zod";

/** Parameters and result fields that several tools share. */

const ID = /^[CGD][A-Z0-9]{5,20}$/;
const CHANNEL = /^([CGD][A-Z0-9]{5,20}|#[^\s#@<>,/&]{1,80})$/;

export const channel = textLike(CHANNEL, 81).describe("Id such as C0123456789, or #name.");

export const timestamp = textLike(/^\d{1,12}\.\d{6}$/, 24);

export const text = z.string().min(1).max(3500).describe("Slack's mrkdwn.");

export const userId = textLike(/^[UW][A-Z0-9]{5,20}$/, 24);

export const cursor = textLike(/^[\w+/=:.-]+$/, 300).optional();

export const limit = z.int().min(1).max(100).optional().describe("Default 20.");

export const DEFAULT_LIMIT = 20;

/** Location of a message, which replies, edits and reactions need. */
export const SENT = resultSchema("sent via", "sent:flag via channel ts");

/** Returns the given channel or the configured one. */
export function channelOf(named: string | undefined, { config }: ToolContext): string {
  const place = named ?? config["SLACK_CHANNEL"];
  if (!place) throw new Error("Give the channel: SLACK_CHANNEL sets no default.");
  return checkedChannel(place);
}

export function checkedChannel(place: string): string {
  if (CHANNEL.test(place)) return place;
  throw new Error(`"${place.slice(0, 81)}" is not a channel. Write its id, such as C0123456789, or #name.`);
}

export function isId(place: string): boolean {
  return ID.test(place);
}
