import type { Json } from "./values.ts";

/** Keeps secrets out of what the model sees and of what is recorded, printed, reported and thrown (trust 5). */
export interface Redactor {
  /** The text itself when it holds no secret. Redacting twice changes nothing more. */
  text(text: string): string;
  /** Every string and object key redacted; the very same value when nothing changed. Of keys made equal, the last wins. */
  value<Value extends Json>(value: Value): Value;
  /** Names of secrets shorter than four characters, which are not redacted: they would blank out ordinary text. */
  readonly tooShort: readonly string[];
}

export interface Secret {
  readonly name: string;
  readonly value: string;
}

/**
 * Replaces each secret by `[redacted:NAME]`: as it is, in base64 (wherever it begins in the encoded bytes), URL-encoded
 * and JSON-escaped; of a secret of several lines also each line of 16 or more characters. Secrets that overlap in a text
 * become one mark, with the name of the longest. The mark is shorter if a secret could be read in the mark itself.
 */
export function createRedactor(secrets: readonly Secret[]): Redactor {
  const tooShort = secrets.filter(({ value }) => value !== "" && value.length < MIN_LENGTH).map(({ name }) => name);
  const forms = formsOf(secrets.filter(({ value }) => value.length >= MIN_LENGTH));
  if (forms.length === 0) return { text: (text) => text, value: (value) => value, tooShort };
  const index = indexForms(forms);
  const text = (text: string) => redactText(text, index);
  return { text, value: (value) => redactValue(value, text), tooShort };
}

const MIN_LENGTH = 4;
const MIN_LINE = 16;
/** Too short to hold a form of any secret. */
const LAST_MARK = "***";

/** One way in which a secret is written. */
interface Form {
  readonly text: string;
  readonly mark: string;
}

function formsOf(secrets: readonly Secret[]): readonly Form[] {
  const names = new Map<string, string>();
  for (const { name, value } of secrets) {
    for (const text of partsOf(value).flatMap(plainAndBase64).flatMap(spellings)) {
      if (!names.has(text)) names.set(text, name);
    }
  }
  const texts = [...names.keys()];
  const marks = new Map(secrets.map(({ name }) => [name, markOf(name, texts)]));
  return [...names].map(([text, name]) => ({ text, mark: marks.get(name) ?? LAST_MARK }));
}

function markOf(name: string, forms: readonly string[]): string {
  const marks = [`[redacted:${name}]`, "[redacted]"];
  return marks.find((mark) => !forms.some((form) => mark.includes(form))) ?? LAST_MARK;
}

/** The secret, without the white space around it too, and its long lines, also where a line ends in a written `\n`. */
function partsOf(value: string): readonly string[] {
  const lines = value.split(/[\r\n]+|(?:\\r)?\\n/).map((line) => line.trim());
  const long = lines.length > 1 ? lines.filter((line) => line.length >= MIN_LINE) : [];
  return [...new Set([value, value.trim(), ...long])].filter((part) => part.length >= MIN_LENGTH);
}

function plainAndBase64(text: string): readonly string[] {
  const bytes = new TextEncoder().encode(text);
  return [text, ...base64Forms(bytes, 0), ...base64Forms(bytes, 1), ...base64Forms(bytes, 2)];
}

/**
 * What base64 always makes of `bytes` after `offset` other bytes (modulo 3): the characters that depend on no byte
 * before or after; and those with the end, bare and padded, where nothing follows.
 */
function base64Forms(bytes: Uint8Array, offset: 0 | 1 | 2): readonly string[] {
  const length = offset + bytes.length;
  const ended = base64([...new Uint8Array(offset), ...bytes]).slice(offset === 0 ? 0 : offset + 1);
  const open = length % 3 === 0 ? ended : ended.slice(0, -1);
  const forms = [open, ended, ended + "=".repeat((3 - (length % 3)) % 3)];
  return [...forms, ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_"))];
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

/** The text as it stands in URLs, forms and JSON. */
function spellings(text: string): readonly string[] {
  const encoded = UNENCODED.map((kept) => percentEncode(text, kept));
  const forms = encoded.map((form) => form.replaceAll("%20", "+"));
  const lower = [...encoded, ...forms].map((form) => form.replace(/%../g, (code) => code.toLowerCase()));
  return [...new Set([text, ...encoded, ...forms, ...lower, ...jsonEscapes(text)])];
}

/** What encoders leave as it is: encodeURIComponent, RFC 3986, forms, RFC 3986 paths, encodeURI, the URL parser's query. */
const UNENCODED = [
  /[\w\-.!~*'()]/,
  /[\w\-.~]/,
  /[\w\-.*]/,
  /[\w\-.~/]/,
  /[\w\-.!~*'();/?:@&=+$,#]/,
  /[\w\-.!~*();/?:@&=+$,%[\]\\^`{|}]/,
];

function percentEncode(text: string, kept: RegExp): string {
  return text.replace(/[^\w\-.]/gu, (character) => (kept.test(character) ? character : percentCodes(character)));
}

function percentCodes(character: string): string {
  const bytes = [...new TextEncoder().encode(character)];
  return bytes.map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}

/** In a JSON string, as encoders differ: with `/`, markup or all beyond ASCII escaped; and in a JSON string within one. */
function jsonEscapes(text: string): readonly string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const slashed = plain.replaceAll("/", "\\/");
  const once = [plain, slashed, ...[plain, slashed].flatMap(unicodeEscapes)];
  return [...once, ...once.map((form) => JSON.stringify(form).slice(1, -1))];
}

function unicodeEscapes(text: string): readonly string[] {
  const hex = (character: string) => character.charCodeAt(0).toString(16).padStart(4, "0");
  const lower = text.replace(/[^ -~]/g, (character) => `\\u${hex(character)}`);
  const upper = text.replace(/[^ -~]/g, (character) => `\\u${hex(character).toUpperCase()}`);
  const markup = (form: string) => form.replace(/[<>&']/g, (character) => `\\u${hex(character)}`);
  return [lower, upper, markup(text), markup(lower)];
}

/** Forms by the slot of their first three characters, the longest first; `taken` tells at a glance that a slot is empty. */
interface FormIndex {
  readonly taken: Uint8Array;
  readonly slots: ReadonlyMap<number, readonly Form[]>;
}

function indexForms(forms: readonly Form[]): FormIndex {
  const slots = new Map<number, Form[]>();
  const taken = new Uint8Array(0x10000);
  for (const form of [...forms].sort((a, b) => b.text.length - a.text.length)) {
    const slot = slotAt(form.text, 0);
    taken[slot] = 1;
    const sharing = slots.get(slot);
    if (sharing) sharing.push(form);
    else slots.set(slot, [form]);
  }
  return { taken, slots };
}

function slotAt(text: string, at: number): number {
  return ((text.charCodeAt(at) << 10) ^ (text.charCodeAt(at + 1) << 5) ^ text.charCodeAt(at + 2)) & 0xffff;
}

const PASSES = 4;

/** A mark beside other text may by chance read as another secret; so the result is searched again until it is clean. */
function redactText(text: string, index: FormIndex): string {
  let redacted = text;
  for (let pass = 0; pass < PASSES; pass++) {
    const next = replaceForms(redacted, index);
    if (next === undefined) return redacted;
    redacted = next;
  }
  return LAST_MARK;
}

/** Undefined when the text holds no form. */
function replaceForms(text: string, index: FormIndex): string | undefined {
  const pieces: string[] = [];
  let done = 0;
  for (let found = nextStain(text, 0, index); found; found = nextStain(text, found.end, index)) {
    pieces.push(text.slice(done, found.start), found.mark);
    done = found.end;
  }
  return done === 0 ? undefined : [...pieces, text.slice(done)].join("");
}

/** A stretch of text covered by one form or by several that overlap. */
interface Stain {
  readonly start: number;
  readonly end: number;
  readonly mark: string;
}

function nextStain(text: string, from: number, index: FormIndex): Stain | undefined {
  const start = nextForm(text, from, text.length, index);
  if (!start) return undefined;
  let longest = start.form;
  let end = start.at + longest.text.length;
  for (let next = nextForm(text, start.at + 1, end, index); next; next = nextForm(text, next.at + 1, end, index)) {
    end = Math.max(end, next.at + next.form.text.length);
    if (next.form.text.length > longest.text.length) longest = next.form;
  }
  return { start: start.at, end, mark: longest.mark };
}

/** The longest form at the first place in `from..before` where one begins. */
function nextForm(text: string, from: number, before: number, { taken, slots }: FormIndex) {
  const last = Math.min(before, text.length - MIN_LENGTH + 1);
  for (let at = from; at < last; at++) {
    const slot = slotAt(text, at);
    const form = taken[slot] === 1 ? slots.get(slot)?.find((form) => text.startsWith(form.text, at)) : undefined;
    if (form) return { at, form };
  }
  return undefined;
}

/** Children before their parents, without recursion: JSON from outside may be very deep. */
function redactValue<Value extends Json>(root: Value, text: (text: string) => string): Value {
  const done = new Map<Json, Json>();
  const redacted = (value: Json): Json => (typeof value === "string" ? text(value) : (done.get(value) ?? value));
  const open = new Set<Json>();
  const pending: Json[] = [root];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value !== "object" || value === null || done.has(value)) continue;
    if (open.has(value)) {
      done.set(value, rebuild(value, redacted));
    } else {
      open.add(value);
      pending.push(value);
      for (const child of Object.values(value)) if (typeof child === "object") pending.push(child);
    }
  }
  return redacted(root) as Value;
}

type Container = Extract<Json, object>;

/** The same container when nothing in it changed. */
function rebuild(value: Container, redacted: (value: Json) => Json): Json {
  if (Array.isArray(value)) {
    const items = value.map(redacted);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const entries = Object.entries(value);
  const members = entries.map(([key, member]) => [redacted(key) as string, redacted(member)] as const);
  const isSame = members.every(([key, member], index) => key === entries[index]?.[0] && member === entries[index]?.[1]);
  return isSame ? value : Object.fromEntries(members);
}
