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

export const SENT = resultSchema("sent via", "sent:flag via channel ts");

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

// No user name, quotes or Slack delimiters, so that the visible URL is the one that opens.
const ADDRESS = /(https?:\/\/[A-Za-z0-9.-]+(?::\d+)?(?:[/?#][^\s<>|"'`\\]*)?)/;

/**
 * Converts a model's text to Slack's mrkdwn. It cannot contain mentions (`<!channel>`, `<@U1>`) or links that show a
 * different URL. Bare URLs become links to themselves.
 */
export function markup(text: string): string {
  return text
    .split(ADDRESS)
    .map((part, index) => (index % 2 === 1 ? link(part) : escaped(part)))
    .join("");
}

/** Escapes the three characters that have a meaning in mrkdwn. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function link(address: string): string {
  const punctuation = /(?<![.,;:!?)\]}*_~])[.,;:!?)\]}*_~]+$/.exec(address)?.[0] ?? "";
  const target = address.slice(0, address.length - punctuation.length);
  return `<${escaped(target)}>${punctuation}`;
}
