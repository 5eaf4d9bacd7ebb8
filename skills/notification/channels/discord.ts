import { parseJson } from "skillflow";
import { memberAt } from "skillflow/internal";
import { webhookAddress } from "../address.ts";
import type { Channel } from "../channel.ts";
import { fitted, heading, type Notice, type Severity } from "../notice.ts";
import { replaceAddresses } from "../plain.ts";
import { foreignAnswer, post } from "../post.ts";

const FIELD = "DISCORD_WEBHOOK_URL";
const RECEIVER = { service: "Discord", field: FIELD } as const;
const VENDOR = {
  name: "Discord",
  hosts: ["discord.com", "discordapp.com", "ptb.discord.com", "canary.discord.com"],
} as const;

export const discordChannel: Channel = {
  needs: [FIELD],
  open: (context) => {
    const url = webhookAddress(context, FIELD, VENDOR);
    if (!/^\/api(\/v\d+)?\/webhooks\/\d+\/[\w-]+$/.test(url.pathname)) {
      throw new Error(`${FIELD} is not a webhook address. It looks like https://discord.com/api/webhooks/….`);
    }
    // Makes Discord respond with the message or an error.
    url.searchParams.set("wait", "true");
    return async (notice) => {
      const body = JSON.stringify(discordMessage(notice));
      const { text } = await post({ ...RECEIVER, url, body }, context);
      const id = memberAt(parseJson(text), "id");
      if (typeof id === "string" && /^\d{1,25}$/.test(id)) return { message_id: id };
      throw foreignAnswer(RECEIVER);
    };
  },
};

/** Puts everything into the embed, where Discord neither mentions users nor previews links. */
function discordMessage(notice: Notice) {
  const title = clipped(heading(notice), 256);
  const fields = notice.fields.map(({ name, value }) => ({ name: clipped(name, 80), value: clipped(value, 300) }));
  const link = notice.link ? `\n\n${inert(notice.link)}` : "";
  const used = [title, link, ...fields.flatMap(({ name, value }) => [name, value])].join("").length;
  const room = Math.min(LONGEST_DESCRIPTION - link.length, LONGEST_EMBED - used);
  const color = notice.severity ? { color: COLOURS[notice.severity] } : {};
  const embed = { title, description: clipped(notice.text, room) + link, ...color, fields };
  return { embeds: [embed], allowed_mentions: { parse: [] } };
}

const LONGEST_DESCRIPTION = 4096;
/** Discord's limit for all texts of a message's embeds together. */
const LONGEST_EMBED = 6000;

const COLOURS: Readonly<Record<Severity, number>> = {
  info: 0x3498db,
  warning: 0xf1c40f,
  error: 0xe67e22,
  critical: 0xe74c3c,
};

function clipped(text: string, longest: number): string {
  return fitted(inert(text), longest);
}

/**
 * Disables misleading Markdown: `[text](address)`, mentions and stamps such as `<t:…>`. A space breaks the marks, so
 * that code stays readable. URLs stay intact.
 */
function inert(text: string): string {
  return replaceAddresses(text, encodeMarks)
    .replace(/\](?=\()/g, "] ")
    .replace(/<(?=[@#:/!&]|\w+:)/g, "< ")
    .replace(/@(?=everyone|here)/gi, "@ ");
}

/** Encodes characters of a URL that Discord would read as Markdown. */
function encodeMarks(address: string): string {
  const punctuation = /(?<![.,;:!?)\]}*_~])[.,;:!?)\]}*_~]+$/.exec(address)?.[0] ?? "";
  const target = address.slice(0, address.length - punctuation.length);
  return target.replace(/[[\]()*~@]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`) + punctuation;
}
