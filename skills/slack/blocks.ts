import type { IncomingWebhookSendArguments } from "@slack/webhook";
import * as z from "zod";
import { escaped, markup } from "./fields.ts";

/**
 * Blocks that only show text. Images would make Slack fetch a URL that a model chose. Buttons and menus need an app
 * that responds.
 */

// The id makes schemas define it only once.
const shown = z
  .strictObject({ type: z.enum(["mrkdwn", "plain_text"]), text: z.string().min(1).max(3000) })
  .meta({ id: "shown" });

// One shape for all blocks, because separate schemas would be four times as long in every request.
const blockShape = z.strictObject({
  type: z.enum(["header", "section", "context", "divider"]),
  text: shown.optional(),
  fields: z.array(shown).min(1).max(10).optional(),
  elements: z.array(shown).min(1).max(10).optional(),
});

export const blocks = z.array(blockShape).min(1).max(20).describe("Block Kit blocks.");

type SentBlock = NonNullable<IncomingWebhookSendArguments["blocks"]>[number];
type PlainText = { readonly type: "plain_text"; readonly text: string };
type Markup = { readonly type: "mrkdwn"; readonly text: string; readonly verbatim: true };

/** Renders blocks for sending. Throws with the index of a block that Slack would refuse. */
export function renderBlocks(input: z.infer<typeof blocks>): SentBlock[] {
  return input.map((block, index): SentBlock => {
    const { type, text, fields, elements } = block;
    checkParts(block, index);
    if (type === "divider") return { type };
    if (type === "header") return { type, text: plain(text?.text ?? "", 150, index) };
    if (type === "context") return { type, elements: elements?.map((each) => rendered(each, 2000, index)) ?? [] };
    return {
      type,
      ...(text ? { text: rendered(text, 3000, index) } : {}),
      ...(fields ? { fields: fields.map((field) => rendered(field, 2000, index)) } : {}),
    };
  });
}

const PARTS = { header: ["text"], section: ["text", "fields"], context: ["elements"], divider: [] } as const;

function checkParts(block: z.infer<typeof blockShape>, index: number): void {
  const { type, text } = block;
  const own: readonly string[] = PARTS[type];
  const given = Object.keys(block).filter((key) => key !== "type");
  const odd = given.find((key) => !own.includes(key));
  if (odd !== undefined) throw new Error(`blocks[${index}]: a ${type} has no ${odd}.`);
  if (own.length > 0 && given.length === 0) throw new Error(`blocks[${index}]: a ${type} needs ${own.join(" or ")}.`);
  if (type === "header" && text?.type !== "plain_text") throw new Error(`blocks[${index}]: a header is plain_text.`);
}

type TextInput = z.infer<typeof shown>;

function rendered(input: TextInput, longest: number, index: number): Markup | PlainText {
  if (input.type === "plain_text") return plain(input.text, longest, index);
  // With `verbatim`, Slack adds no links or mentions itself.
  return { type: "mrkdwn", text: fitting(markup(input.text), longest, index), verbatim: true };
}

function plain(text: string, longest: number, index: number): PlainText {
  return { type: "plain_text", text: fitting(escaped(text), longest, index) };
}

/** Throws if escaped text exceeds the limit, because Slack counts the escaped characters. */
function fitting(text: string, longest: number, index: number): string {
  if (text.length <= longest) return text;
  throw new Error(`blocks[${index}]: the text is longer than ${longest} characters after escaping; split it.`);
}
