import { defineTool, SkillflowError, type ToolContext } from "skillflow";
import { clip, jsonSize, resultSchema, SNAPSHOT, trim } from "skillflow/internal";
import * as z from "zod";
import { getPage, type Page } from "./request.ts";

const address = z
  .string()
  .min(8)
  .max(2000)
  .regex(/^https?:\/\/[^\s]+$/);

const CHECK = "url status:number ok:flag milliseconds:number error redirects:[text] note";

export const pageTools = [
  defineTool({
    name: "check",
    description:
      "Checks up to ten addresses in parallel: status, time, redirects, or why there was no response (DNS, connection, certificate, timeout of 20 seconds). Call this first.",
    ...SNAPSHOT,
    reads: "private",
    live: true,
    input_schema: z.strictObject({ urls: z.array(address).min(1).max(10) }),
    output_schema: resultSchema("checks answering", `checks:[{ ${CHECK} }] answering:number`),
    handler: async ({ urls }, context) => {
      const checks = await Promise.all(urls.map((url) => check(url, context)));
      context.signal.throwIfAborted();
      return trim({ checks, answering: checks.filter(({ ok }) => ok).length });
    },
  }),
  defineTool({
    name: "get",
    description:
      "Reads one page by GET, whatever its status: status, time, some headers and the text. Use it for health and version pages and status APIs. Up to 12,000 characters per call: `contains` keeps the lines with a word, `offset` reads on.",
    ...SNAPSHOT,
    reads: "private",
    live: true,
    selects: ["contains"],
    input_schema: z.strictObject({
      url: address,
      contains: z.string().min(1).max(200).optional().describe("Only lines that contain it. Case-insensitive."),
      offset: z.int().min(0).max(1_000_000).optional().describe("Characters to skip."),
    }),
    output_schema: resultSchema(
      "url status",
      `url status:number milliseconds:number headers:any content_type text lines_matching:number next_offset:number
        redirects:[text] note`,
    ),
    handler: async (input, context) => {
      const page = await getPage(input.url, context);
      const { note, ...content } = textOf(page, input);
      const redirect = page.notFollowed && `The last redirect was not followed: ${page.notFollowed}`;
      const notes = [redirect, note].filter((part) => part !== undefined).join(" ");
      return trim({ ...briefOf(page), ...content, note: notes || undefined });
    },
  }),
];

async function check(url: string, context: ToolContext) {
  const began = Date.now();
  try {
    const page = await getPage(url, context);
    const ok = page.status < 400 && page.notFollowed === undefined;
    return { ...briefOf(page), headers: undefined, ok, error: page.notFollowed, note: page.cut };
  } catch (error) {
    if (error instanceof SkillflowError) throw error;
    const words = error instanceof Error ? error.message : String(error);
    return { url: clip(url.replace(/[?#].*$/s, ""), 300), ok: false, milliseconds: Date.now() - began, error: words };
  }
}

const TOLD = [
  "server",
  "date",
  "age",
  "cache-control",
  "retry-after",
  "location",
  "via",
  "x-cache",
  "x-request-id",
  "last-modified",
];

function briefOf({ url, status, milliseconds, headers, redirects }: Page) {
  const told = TOLD.flatMap((name) => {
    const value = headers.get(name);
    return value === null
      ? []
      : [[name, clip(name === "location" ? value.replace(/[?#].*$/s, "") : value, 200)] as const];
  });
  return {
    url,
    status,
    milliseconds,
    headers: told.length > 0 ? Object.fromEntries(told) : undefined,
    redirects: redirects.length > 0 ? redirects : undefined,
  };
}

const MOST_CHARACTERS = 12_000;
/** Room for the text of a page as JSON, next to its headers and redirects. */
const MOST_BYTES = 14_000;

function textOf(
  { body, headers, cut }: Page,
  { contains, offset = 0 }: { contains?: string | undefined; offset?: number | undefined },
) {
  const type = headers.get("content-type") ?? "";
  if (body.length === 0) return { content_type: type, note: cut ?? "The body is empty." };
  if (body.includes(0))
    return { content_type: type, note: `The body is not text: ${body.length}${cut ? " or more" : ""} bytes.` };
  const text = /html/i.test(type) ? withoutMarkup(body.toString("utf8")) : body.toString("utf8");
  const lines = contains === undefined ? undefined : linesWith(text, contains);
  const whole = lines ? lines.join("\n") : text;
  const start = characterStart(whole, offset);
  const end = endOfPart(whole, start);
  return {
    content_type: type,
    text: whole.slice(start, end),
    lines_matching: lines?.length,
    next_offset: end < whole.length ? end : undefined,
    note: cut,
  };
}

/** Returns the end of a part that fits into a result as JSON: what `trim` cuts would lie before the next offset. */
function endOfPart(text: string, start: number): number {
  let end = Math.min(start + MOST_CHARACTERS, text.length);
  while (jsonSize(text.slice(start, end)) > MOST_BYTES) end -= Math.ceil((end - start) / 10);
  return characterStart(text, end);
}

/** Returns the start of the character at a place, because half a character is not valid text. */
function characterStart(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}

function linesWith(text: string, words: string): readonly string[] {
  return text.split(/\r?\n/).filter((line) => line.toLowerCase().includes(words.toLowerCase()));
}

function withoutMarkup(html: string): string {
  return html
    .replace(/<(script|style)\b[^>]*(?:>[\s\S]*?(?:<\/\1\s*>|$)|$)/gi, " ")
    .replace(/<[^>]*(?:>|$)/g, " ")
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n\s*/g, "\n")
    .trim();
}
