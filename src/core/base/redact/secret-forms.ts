import type { Json } from "../values.ts";
import { withoutUnseen } from "./unseen.ts";

/** How a secret may be written in a text whose escapes are undone: as it is, in base64 and in hexadecimal digits. */

export interface Secret {
  readonly name: string;
  readonly value: string;
}

/** One way in which a secret is written. */
export interface Form {
  readonly text: string;
  readonly mark: string;
}

/** Shorter values would blank out ordinary text. */
export const MIN_LENGTH = 8;
const MIN_LINE = 16;
/** Too short to hold a form of any secret. */
export const LAST_MARK = "***";

/** Each secret's forms, and the mark that stands for it: one in which no secret can be read. */
export function formsOf(secrets: readonly Secret[]): readonly Form[] {
  const names = new Map<string, string>();
  for (const { name, value } of secrets) {
    for (const text of partsOf(value).flatMap(spellings)) if (!names.has(text)) names.set(text, name);
  }
  const texts = [...names.keys()];
  const marks = new Map(secrets.map(({ name }) => [name, markOf(name, texts)]));
  return [...names].map(([text, name]) => ({ text, mark: marks.get(name) ?? LAST_MARK }));
}

function markOf(name: string, forms: readonly string[]): string {
  const marks = [`[redacted:${name}]`, "[redacted]"];
  return marks.find((mark) => !forms.some((form) => mark.includes(form))) ?? LAST_MARK;
}

/** Counts the marks in a redacted value by the names of the variables; undefined if redacting changed nothing. */
export function countDotenvMarks(given: Json, redacted: Json): Record<string, number> | undefined {
  if (redacted === given) return undefined;
  const counts = new Map<string, number>();
  for (const [, name = ""] of JSON.stringify(redacted).matchAll(/\[redacted:\.env (\w{1,100})\]/g)) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts.size === 0 ? undefined : Object.fromEntries(counts);
}

/**
 * The secret, without the white space around it too, and its long lines, also where a line ends in a written `\n`; of an
 * address what makes it secret, as of a webhook.
 */
function partsOf(value: string): readonly string[] {
  const lines = value.split(/[\r\n]+|(?:\\r)?\\n/).map((line) => line.trim());
  const long = lines.length > 1 ? lines.filter((line) => line.length >= MIN_LINE) : [];
  const parts = [value, value.trim(), ...long, ...segmentsOf(value)];
  return [...new Set([...parts, ...parts.map(withoutUnseen)])].filter((part) => part.length >= MIN_LENGTH);
}

/** Of its path and its query; short ones and words are no secrets. */
function segmentsOf(value: string): readonly string[] {
  const [, rest = ""] = /^\s*[a-z][a-z\d+.-]*:\/\/[^/?#]*(.*)$/is.exec(value) ?? [];
  return rest.split(/[/?#&=\s]/).filter((part) => part.length >= MIN_LINE && /\d/.test(part) && /[a-z]/i.test(part));
}

/** In forms a blank is written as `+`. */
function spellings(text: string): readonly string[] {
  const bytes = new TextEncoder().encode(text);
  return [
    ...new Set([
      text,
      text.replaceAll(" ", "+"),
      ...base64Forms(bytes, 0),
      ...base64Forms(bytes, 1),
      ...base64Forms(bytes, 2),
      ...twiceEncoded(bytes),
      hex(bytes),
      hex(bytes).toUpperCase(),
    ]),
  ];
}

/** Base64 of base64, wherever either begins: what depends on no byte before or after. */
function twiceEncoded(bytes: Uint8Array): readonly string[] {
  const once = openForms(bytes).map((form) => new TextEncoder().encode(form));
  return once.flatMap(openForms);
}

function openForms(bytes: Uint8Array): readonly string[] {
  const forms = OFFSETS.map((offset) => openForm(bytes, offset));
  return [...new Set([...forms, ...forms.map(urlSafe)])];
}

const OFFSETS = [0, 1, 2] as const;

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What base64 always makes of `bytes` after `offset` others (modulo 3): also with the end, bare and padded, where nothing follows. */
function base64Forms(bytes: Uint8Array, offset: 0 | 1 | 2): readonly string[] {
  const ended = endedForm(bytes, offset);
  const padding = "=".repeat((3 - ((offset + bytes.length) % 3)) % 3);
  const forms = [openForm(bytes, offset), ended, ended + padding];
  return [...forms, ...forms.map(urlSafe)];
}

/** The characters that depend on no byte before or after. */
function openForm(bytes: Uint8Array, offset: 0 | 1 | 2): string {
  const ended = endedForm(bytes, offset);
  return (offset + bytes.length) % 3 === 0 ? ended : ended.slice(0, -1);
}

function endedForm(bytes: Uint8Array, offset: 0 | 1 | 2): string {
  return base64([...new Uint8Array(offset), ...bytes]).slice(offset === 0 ? 0 : offset + 1);
}

function urlSafe(text: string): string {
  return text.replaceAll("+", "-").replaceAll("/", "_");
}

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function base64(bytes: Iterable<number>): string {
  let text = "";
  let pending = 0;
  let width = 0;
  for (const byte of bytes) {
    pending = ((pending << 8) | byte) & 0xffff;
    for (width += 8; width >= 6; width -= 6) text += BASE64.charAt((pending >> (width - 6)) & 63);
  }
  return width === 0 ? text : text + BASE64.charAt((pending << (6 - width)) & 63);
}
