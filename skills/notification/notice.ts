import { NothingDone } from "skillflow";
import { clip, textLike } from "skillflow/internal";
import * as z from "zod";
import { ADDRESS_PATTERN, plainLine, plainText } from "./plain.ts";

const SEVERITIES = ["info", "warning", "error", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Notification for all channels, already stripped of what no channel should show. */
export interface Notice {
  readonly title: string;
  readonly text: string;
  readonly severity?: Severity;
  readonly fields: readonly Field[];
  readonly link?: string;
}

export interface Field {
  readonly name: string;
  readonly value: string;
}

export const noticeInput = {
  title: z.string().min(1).max(150),
  text: z.string().min(1).max(3500).describe("Plain text. Discord shows *emphasis* and `code`."),
  severity: z.enum(SEVERITIES).optional(),
  fields: z
    .array(z.strictObject({ name: z.string().min(1).max(60), value: z.string().min(1).max(300) }))
    .max(10)
    .optional()
    .describe("Short facts."),
  link: textLike(new RegExp(`^${ADDRESS_PATTERN}$`), 500)
    .optional()
    .describe("One http or https address."),
} as const;

const noticeObject = z.strictObject(noticeInput);

export function createNotice(input: z.infer<typeof noticeObject>): Notice {
  return {
    title: visible("title", plainLine(input.title)),
    text: visible("text", plainText(input.text)),
    ...(input.severity ? { severity: input.severity } : {}),
    fields: (input.fields ?? []).map(({ name, value }) => ({
      name: visible("field's name", plainLine(name)),
      value: plainLine(value) || "-",
    })),
    ...(input.link ? { link: input.link } : {}),
  };
}

export function heading({ severity, title }: Notice): string {
  return severity ? `[${severity}] ${title}` : title;
}

/** Length of the mark that `clip` appends. */
const CLIP_MARK = "… [3500 more characters]".length;

/** Shortens a text to what a channel takes, with its mark. */
export function fitted(text: string, longest: number): string {
  return text.length <= longest ? text : clip(text, longest - CLIP_MARK);
}

/** Returns fields as an object. Fields of the same name share a line each. */
export function factsOf(fields: readonly Field[]): Readonly<Record<string, string>> {
  const facts = new Map<string, string>();
  for (const { name, value } of fields) facts.set(name, [facts.get(name), value].filter(Boolean).join("\n"));
  return Object.fromEntries(facts);
}

/** Returns everything below the heading as plain text. */
export function bodyText({ text, fields, link }: Notice): string {
  const facts = fields.map(({ name, value }) => `${name}: ${value}`).join("\n");
  return [text, facts, link ?? ""].filter((part) => part !== "").join("\n\n");
}

function visible(what: string, text: string): string {
  if (text) return text;
  throw new NothingDone(`The ${what} contains nothing visible. Write some text.`);
}
