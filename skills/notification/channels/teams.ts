import { clip, jsonSize } from "skillflow/internal";
import { webhookAddress } from "../address.ts";
import type { Channel } from "../channel.ts";
import { heading, type Notice, type Severity } from "../notice.ts";
import { type Answer, post } from "../post.ts";

const FIELD = "TEAMS_WEBHOOK_URL";
/** Hosts of workflows (Azure Logic Apps, Power Platform) and of incoming webhooks (Office). */
const VENDOR = {
  name: "Microsoft Teams",
  hosts: ["*.logic.azure.com", "*.api.powerplatform.com", "*.webhook.office.com"],
} as const;

export const teamsChannel: Channel = {
  needs: [FIELD],
  open: (context) => {
    const url = webhookAddress(context, FIELD, VENDOR);
    return async (notice) => {
      const body = JSON.stringify(teamsMessage(notice));
      await post({ service: "Teams", field: FIELD, url, body, statusOf }, context);
      return {};
    };
  },
};

/** Returns the actual status. An incoming webhook reports failures with 200: "… endpoint returned HTTP error 429 …". */
function statusOf({ status, text }: Answer): number {
  const told = /delivery failed with error[\s\S]{0,500}?HTTP error (\d{3})/i.exec(text.slice(0, 4000))?.[1];
  if (status !== 200) return status;
  if (told) return Number(told);
  return /delivery failed/i.test(text) ? 502 : status;
}

/** Teams refuses messages over 28 KB, which leaves about 21 KB for the card. */
const LARGEST_MESSAGE = 20_000;
const TEXT_CAPS = [3500, 2500, 1500, 700] as const;
const SHORTEST_CAP = 300;

function teamsMessage(notice: Notice) {
  const fitting = TEXT_CAPS.map((cap) => messageWith(notice, cap)).find((each) => jsonSize(each) <= LARGEST_MESSAGE);
  return fitting ?? messageWith(notice, SHORTEST_CAP);
}

function messageWith(notice: Notice, cap: number) {
  const color: Readonly<Record<string, string>> = notice.severity ? { color: COLOURS[notice.severity] } : {};
  const card = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [
      line([run(heading(notice), { weight: "Bolder", size: "Large", ...color })]),
      ...linesOf(clip(notice.text, cap)).map((text) => line([run(text)])),
      ...notice.fields.map(({ name, value }) => line([run(`${name}: `, { weight: "Bolder" }), run(value)])),
      ...(notice.link ? [line([run(notice.link)])] : []),
    ],
    msteams: { width: "Full" },
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content: card };
  return { type: "message", attachments: [attachment] };
}

const MOST_LINES = 80;

function linesOf(text: string): readonly string[] {
  const lines = text.split(/(?<!\s)\s*\n\s*/);
  if (lines.length <= MOST_LINES) return lines;
  return [...lines.slice(0, MOST_LINES), `… [${lines.length - MOST_LINES} more lines]`];
}

/**
 * Renders a line as rich text, because TextBlock and FactSet render Markdown, which could hide a link's target. Without
 * `msteams.entities` there are no mentions, and the card has no actions.
 */
function line(inlines: readonly Run[]) {
  return { type: "RichTextBlock", inlines } as const;
}

type Run = ReturnType<typeof run>;

function run(text: string, style: Readonly<Record<string, string>> = {}) {
  // Clients replace `{{DATE(…)}}` even in rich text.
  return { type: "TextRun", text: text.replace(/\{(?=\{)/g, "{ "), ...style } as const;
}

const COLOURS: Readonly<Record<Severity, string>> = {
  info: "Accent",
  warning: "Warning",
  error: "Attention",
  critical: "Attention",
};
