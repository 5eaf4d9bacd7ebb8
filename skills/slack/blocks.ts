import type { IncomingWebhookSendArguments } from "@slack/webhook";
import * as z from "zod";
import { escaped, markup } from "./markup.ts";

/**
 * The blocks that only show text. Images would make Slack fetch an address that a model chose; buttons and menus need
 * an app that answers.
 */

const textType = z.enum(["mrkdwn", "plain_text"]).describe("How the text is read.");

const textOf = (longest: number) =>
  z.strictObject({ type: textType, text: z.string().min(1).max(longest).describe("The text.") });

const header = z.strictObject({
  type: z.literal("header").describe("A large heading."),
  text: z
    .strictObject({
      type: z.literal("plain_text").describe("A heading is plain text."),
      text: z.string().min(1).max(150).describe("The heading."),
    })
    .describe("The heading's text object."),
});

const section = z.strictObject({
  type: z.literal("section").describe("A paragraph, or up to ten short fields in two columns."),
  text: textOf(3000).optional().describe("The paragraph's text object."),
  fields: z.array(textOf(2000)).min(1).max(10).optional().describe("Text objects, side by side."),
});

const context = z.strictObject({
  type: z.literal("context").describe("Small print."),
  elements: z.array(textOf(2000)).min(1).max(10).describe("Text objects, one after another."),
});

const divider = z.strictObject({ type: z.literal("divider").describe("A line across.") });

export const blocks = z
  .array(z.union([header, section, context, divider]))
  .min(1)
  .max(20)
  .describe("Block Kit blocks that show text: header, section, context, divider.");

type SentBlock = NonNullable<IncomingWebhookSendArguments["blocks"]>[number];
type PlainText = { readonly type: "plain_text"; readonly text: string };
type Markup = { readonly type: "mrkdwn"; readonly text: string; readonly verbatim: true };

/** Blocks as they are sent; one that Slack would refuse is refused here, by its place. */
export function renderBlocks(input: z.infer<typeof blocks>): SentBlock[] {
  return input.map((block, index): SentBlock => {
    if (block.type === "divider") return { type: "divider" };
    if (block.type === "header") return { type: "header", text: plain(block.text.text, 150, index) };
    if (block.type === "context") {
      return { type: "context", elements: block.elements.map((element) => rendered(element, 2000, index)) };
    }
    if (!block.text && !block.fields) throw new Error(`blocks[${index}]: a section needs text or fields.`);
    return {
      type: "section",
      ...(block.text ? { text: rendered(block.text, 3000, index) } : {}),
      ...(block.fields ? { fields: block.fields.map((field) => rendered(field, 2000, index)) } : {}),
    };
  });
}

type TextInput = z.infer<ReturnType<typeof textOf>>;

function rendered(input: TextInput, longest: number, index: number): Markup | PlainText {
  if (input.type === "plain_text") return plain(input.text, longest, index);
  // verbatim: Slack adds no links and no mentions of its own.
  return { type: "mrkdwn", text: fitting(markup(input.text), longest, index), verbatim: true };
}

function plain(text: string, longest: number, index: number): PlainText {
  return { type: "plain_text", text: fitting(escaped(text), longest, index) };
}

/** Escaping makes text longer, and Slack counts what it gets. */
function fitting(text: string, longest: number, index: number): string {
  if (text.length <= longest) return text;
  throw new Error(`blocks[${index}]: the text is longer than ${longest} characters once escaped; split it.`);
}
