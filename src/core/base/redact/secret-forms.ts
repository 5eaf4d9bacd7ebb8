import type { Json } from "../values.ts";
import { UNSEEN_RUN } from "./unseen.ts";

/** The forms of a secret in decoded text: as it is, in base64, and in hexadecimal digits. */

export interface Secret {
  readonly name: string;
  readonly value: string;
}

export interface Form {
  readonly text: string;
  readonly mark: string;
}

/** Shortest secret that is searched for. Shorter ones would hide ordinary text. */
export const MIN_LENGTH = 8;
const MIN_LINE = 16;
/** Fallback mark, too short to contain a form of any secret. */
export const LAST_MARK = "***";

/** Lists the forms of each secret with its mark. No secret can be read in a mark. */
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

/** Counts the marks of `.env` variables in a redacted value. Returns undefined if redaction changed nothing. */
export function countDotenvMarks(given: Json, redacted: Json): Record<string, number> | undefined {
  if (redacted === given) return undefined;
  const counts = new Map<string, number>();
  for (const [, name = ""] of JSON.stringify(redacted).matchAll(/\[redacted:\.env (\w{1,100})\]/g)) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts.size === 0 ? undefined : Object.fromEntries(counts);
}

/**
 * Lists the parts to search for: the secret, its trimmed form, its long lines (also split at a literal `\n`). In a URL,
 * such as a webhook, long segments are secret too.
 */
function partsOf(value: string): readonly string[] {
  const lines = value.split(/[\r\n]+|(?:\\r)?\\n/).map((line) => line.trim());
  const long = lines.length > 1 ? lines.filter((line) => line.length >= MIN_LINE) : [];
  const parts = [value, value.trim(), ...long, ...segmentsOf(value)];
  const seen = parts.map((part) => part.replace(UNSEEN_RUN, ""));
  return [...new Set([...parts, ...seen])].filter((part) => part.length >= MIN_LENGTH);
}

/** Returns the path and query segments of a URL that can be secret. Short ones and words cannot. */
function segmentsOf(value: string): readonly string[] {
  const [, rest = ""] = /^\s*[a-z][a-z\d+.-]*:\/\/[^/?#]*(.*)$/is.exec(value) ?? [];
  return rest.split(/[/?#&=\s]/).filter((part) => part.length >= MIN_LINE && /\d/.test(part) && /[a-z]/i.test(part));
}

/** Lists the encodings of a part. HTML forms encode a space as `+`. */
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

/** Encodes in base64 twice, at every offset, keeping only characters that do not depend on adjacent bytes. */
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

/** Encodes `bytes` after `offset` others (modulo 3) in base64: open-ended, and at the end with and without padding. */
function base64Forms(bytes: Uint8Array, offset: 0 | 1 | 2): readonly string[] {
  const ended = endedForm(bytes, offset);
  const padding = "=".repeat((3 - ((offset + bytes.length) % 3)) % 3);
  const forms = [padding === "" ? ended : ended.slice(0, -1), ended, ended + padding];
  return [...forms, ...forms.map(urlSafe)];
}

/** Encodes in base64 and keeps the characters that do not depend on adjacent bytes. */
function openForm(bytes: Uint8Array, offset: 0 | 1 | 2): string {
  const ended = endedForm(bytes, offset);
  return (offset + bytes.length) % 3 === 0 ? ended : ended.slice(0, -1);
}

function endedForm(bytes: Uint8Array, offset: 0 | 1 | 2): string {
  return base64(bytes, offset).slice(offset === 0 ? 0 : offset + 1);
}

function urlSafe(text: string): string {
  return text.replaceAll("+", "-").replaceAll("/", "_");
}

/** Encodes the bytes after `offset` zeros, without padding. */
function base64(bytes: Uint8Array, offset: number): string {
  const characters = Array.from(bytes, (byte) => String.fromCharCode(byte));
  return btoa("\0".repeat(offset) + characters.join("")).replaceAll("=", "");
}
