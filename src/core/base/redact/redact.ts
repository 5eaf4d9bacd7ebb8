import type { Json, JsonObject } from "../values.ts";
import { isByte, joinedDigits, LEAST_BYTES } from "./broken-digits.ts";
import { CUT_MARK, createEdgeSearch } from "./cut-edges.ts";
import { createFormSearch, type Found } from "./form-search.ts";
import { mayHoldRow } from "./hex-dumps.ts";
import { type Form, formsOf, LAST_MARK, MIN_LENGTH, type Secret } from "./secret-forms.ts";
import { type View, viewsOf } from "./text-view.ts";

export type { Secret } from "./secret-forms.ts";

/** Removes secrets from everything that is sent to a model, recorded, printed, reported or thrown. */
export interface Redactor {
  /** Redacts a string. Returns the same string if it contains no secret. Redacting twice changes nothing more. */
  text(text: string): string;
  /**
   * Redacts every string, including secrets that are split over adjacent strings. Returns the same value if nothing
   * changed. Redacts a key only if the secret cannot be a field name. If two keys become equal, the last wins.
   */
  value<Value extends Json>(value: Value): Value;
  /** Secrets that are not searched for, because they would hide ordinary text. */
  readonly unsearched: readonly Unsearched[];
}

interface Unsearched {
  readonly name: string;
  readonly why: "short" | "word";
}

/**
 * Creates a redactor, which replaces each secret by `[redacted:NAME]`. It finds secrets as they are, in base64 (also
 * doubly encoded), in hexadecimal digits, in byte arrays, and in dumps by `xxd`, `hexdump` and `od`. It decodes URL,
 * JSON, source code, HTML and quoted-printable escapes. Line breaks and invisible characters inside a secret do not
 * hide it.
 * Long lines of a secret are found too, and parts of 8 or more characters next to a `…`. Overlapping secrets share the
 * mark of the longest. The mark is shorter if it contains a secret. A secret listed in `words` is searched for only if
 * it cannot be an ordinary word.
 */
export function createRedactor(secrets: readonly Secret[], words: ReadonlySet<string> = NO_WORDS): Redactor {
  const given = secrets.filter(({ value }) => value !== "");
  const unsearched = given.flatMap(({ name, value }) => whyUnsearched(name, value, words));
  const searched = given.filter(({ name, value }) => whyUnsearched(name, value, words).length === 0);
  const forms = formsOf(searched);
  if (forms.length === 0) return { text: (text) => text, value: (value) => value, unsearched };
  const stained = stainFinder(forms);
  const inKeys = searched.filter(({ value }) => !MAYBE_A_NAME.test(value));
  const text = (given: string) => redactText(given, stained);
  // Most secrets cannot be names. Both searches are then the same, and building one takes long.
  const stainedKeys = inKeys.length === searched.length ? stained : stainFinder(formsOf(inKeys));
  const key = inKeys.length === 0 ? (name: string) => name : keyRedactor(stainedKeys);
  const inNumbers = searched.some(({ value }) => MAYBE_A_NUMBER.test(value));
  const cleaned = lately();
  return {
    text,
    unsearched,
    value(value) {
      if (typeof value === "string") return text(value) as typeof value;
      if (typeof value !== "object" || value === null || cleaned.has(value)) return value;
      const redacted = redactValue(value, { stained, text, key, inNumbers });
      cleaned.add(redacted as object);
      return redacted;
    },
  };
}

/** Largest number of calls in a turn. Each result is redacted twice: for its call and for its record. */
const LATELY = 64;

/** Remembers the last few objects. A weak set of all objects would slow down garbage collection. */
function lately() {
  const kept: object[] = [];
  let next = 0;
  return {
    has: (value: object) => kept.includes(value),
    add(value: object) {
      kept[next] = value;
      next = (next + 1) % LATELY;
    },
  };
}

const NO_WORDS: ReadonlySet<string> = new Set();
const MAYBE_A_NUMBER = /^\s*-?\d[\d.]*\s*$/;
const MAYBE_A_NAME = /^[A-Za-z]+(?:[-_. :/][A-Za-z]+)*$/;

function whyUnsearched(name: string, value: string, words: ReadonlySet<string>): Unsearched[] {
  if (value.trim().length < MIN_LENGTH) return [{ name, why: "short" }];
  return words.has(value.trim()) && !isUnmistakable(value) ? [{ name, why: "word" }] : [];
}

/** Reports whether a value cannot be an ordinary word. */
export function isUnmistakable(value: string): boolean {
  return value.length >= 20 && /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value);
}

/** Returns the words in a document's keys and strings, separated by white space and punctuation. */
export function wordsOf(document: object): ReadonlySet<string> {
  const words = new Set<string>();
  const read = (text: string) => {
    for (const [word] of text.matchAll(/[\p{L}\p{N}\p{M}\-_./:]+/gu)) words.add(word).add(word.replace(EDGES, ""));
  };
  const { leaves, containers } = walk(document as Container);
  for (const { text } of leaves) read(text);
  for (const container of containers)
    if (!Array.isArray(container)) for (const name of Object.keys(container)) read(name);
  return words;
}

const EDGES = /^[-_./:]+|(?<![-_./:])[-_./:]+$/g;

/** A range of text covered by one form, or by several that overlap. */
interface Stain {
  readonly start: number;
  readonly end: number;
  readonly mark: string;
}

type StainFinder = (text: string) => readonly Stain[];

function stainFinder(forms: readonly Form[]): StainFinder {
  const search = createFormSearch(forms);
  const searchEdges = createEdgeSearch(forms);
  const note = (found: Marked[], view: View, forms: readonly Found[]) => {
    for (const { start, end, form } of forms) {
      const [from, to] = view.toSource(start, end);
      found.push({ start: from, end: to, mark: form.mark, form });
    }
  };
  const look = (found: Marked[], view: View) => {
    note(found, view, search(view.text));
    if (view.text.includes(CUT_MARK)) note(found, view, searchEdges(view.text));
  };
  return (text) => {
    if (text.length < search.least && !text.includes(CUT_MARK)) return [];
    const found: Marked[] = [];
    for (const view of viewsOf(text)) {
      look(found, view);
      const joined = joinedDigits(view, search.least);
      if (joined) look(found, joined);
    }
    return found.length < 2 ? found : merge(found);
  };
}

type Marked = Stain & { readonly form: Form };

function merge(found: Marked[]): readonly Stain[] {
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: Marked[] = [];
  for (const next of found) {
    const last = merged.at(-1);
    if (!last || next.start >= last.end) merged.push(next);
    else {
      const longest = next.form.text.length > last.form.text.length ? next : last;
      merged[merged.length - 1] = { ...longest, start: last.start, end: Math.max(last.end, next.end) };
    }
  }
  return merged;
}

const PASSES = 4;

/** Redacts until the text is clean, because a mark and the text next to it may form another secret. */
function redactText(text: string, stained: StainFinder): string {
  let redacted = text;
  for (let pass = 0; pass < PASSES; pass++) {
    const stains = stained(redacted);
    if (stains.length === 0) return redacted;
    redacted = withMarks(redacted, stains);
  }
  return LAST_MARK;
}

function withMarks(text: string, stains: readonly Stain[]): string {
  let done = 0;
  const pieces = stains.flatMap(({ start, end, mark }) => {
    const before = text.slice(done, start);
    done = end;
    return [before, mark];
  });
  return [...pieces, text.slice(done)].join("");
}

/** Redacts keys and caches the clean ones, because keys repeat. Each redactor has its own secrets. */
function keyRedactor(stained: StainFinder): (name: string) => string {
  const clean = new Set<string>();
  return (name) => {
    if (clean.has(name)) return name;
    const redacted = redactText(name, stained);
    if (redacted !== name || name.length > LONGEST_KNOWN) return redacted;
    if (clean.size === MOST_KNOWN) clean.clear();
    clean.add(name);
    return name;
  };
}

const LONGEST_KNOWN = 256;
const MOST_KNOWN = 1000;

interface Means {
  readonly stained: StainFinder;
  text(text: string): string;
  key(name: string): string;
  /** True if a secret may be a number. Numbers are then searched as text. */
  readonly inNumbers: boolean;
}

type Container = Extract<Json, object>;

interface Leaf {
  readonly owner: Container;
  readonly key: string | number;
  readonly text: string;
}

function redactValue<Value extends Json>(root: Value, means: Means): Value {
  let redacted: Container = root as Container;
  for (let pass = 0; pass < PASSES; pass++) {
    const next = redactOnce(redacted, means);
    if (next === redacted) break;
    redacted = next;
  }
  return redacted as Value;
}

function redactOnce(root: Container, means: Means): Container {
  const { leaves, containers, names, lists } = walk(root, means.inNumbers);
  const stains = means.stained(joined(leaves, ""));
  // Programs that print lists of lines put each row of a dump into its own string.
  const lines = leaves.length > 1 ? joined(leaves, "\n") : "";
  const rows = mayHoldRow(lines) ? means.stained(lines) : [];
  const numbers = lists.length === 0 ? [] : lists.flatMap((list) => numbersChanged(list, means.stained));
  const isClean = stains.length + rows.length === 0 && numbers.length === 0 && !leaves.some(isOpen);
  if (isClean && means.key(names) === names) return root;
  const marks = new Map([...splitMarks(leaves, stains), ...splitMarks(leaves, rows, 1)]);
  const texts = leaves.map((leaf, index) => ({ ...leaf, now: marks.get(index) ?? means.text(leaf.text) }));
  const changed = [...texts.filter(({ text, now }) => now !== text), ...numbers];
  return rebuild(root, containers, { changed, key: means.key });
}

function joined(leaves: readonly Leaf[], gap: string): string {
  let text = leaves[0]?.text ?? "";
  for (let index = 1; index < leaves.length; index++) text += gap + leaves[index]?.text;
  return text;
}

/** Redacts byte arrays: a mark replaces the first byte of a secret. A list loses the other bytes. */
function numbersChanged(owner: Container, stained: StainFinder): readonly Change[] {
  const keys = Array.isArray(owner) ? undefined : Object.keys(owner);
  const numbers = Object.values(owner).map((member) => (typeof member === "number" ? String(member) : "-"));
  const stains = stained(numbers.join(" "));
  const changed: Change[] = [];
  let start = 0;
  let next = 0;
  for (const [index, text] of numbers.entries()) {
    while ((stains[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next++;
    const stain = stains[next];
    if (stain && stain.start < start + text.length && text !== "-") {
      const isRest = keys === undefined && stain.start < start;
      changed.push({ owner, key: keys?.[index] ?? index, now: isRest ? undefined : stain.mark });
    }
    start += text.length + 1;
  }
  return changed;
}

function isOpen({ text }: Leaf, index: number, leaves: readonly Leaf[]): boolean {
  if (OPEN_ESCAPE.test(text.slice(-LONGEST_ESCAPE))) return true;
  const code = text.charCodeAt(text.length - 1);
  return code >= 48 && code <= 57 && NUMBERS.test(leaves[index + 1]?.text.slice(0, 8) ?? "");
}

/** Matches the end of a string whose escape may continue in the next string. */
const OPEN_ESCAPE =
  /(?:\\(?:[uUx]?[\da-fA-F]{0,7}|u\{[\da-fA-F]{0,6})|[%=][\da-fA-F]?|=\r|&#?\w{0,16}|\udb40|[^\P{Cc}\n\r\t].{0,9})$/u;
const LONGEST_ESCAPE = 18;
const NUMBERS = /^\d{1,3}[\s,;]/;

const MOST_NEIGHBOURS = 8;
const LEAST_PIECE = 4;

/** Returns marks, by index, for the strings that contain a part of a split secret. */
function splitMarks(leaves: readonly Leaf[], stains: readonly Stain[], gap = 0): ReadonlyMap<number, string> {
  const lengthAt = (index: number) => (leaves[index]?.text.length ?? Number.POSITIVE_INFINITY) + gap;
  const marks = new Map<number, string>();
  let index = 0;
  let begin = 0;
  for (const { start, end, mark } of stains) {
    for (; begin + lengthAt(index) <= start; index++) begin += lengthAt(index);
    const pieces: { readonly index: number; readonly length: number }[] = [];
    for (let at = index, from = begin; from < end; from += lengthAt(at++)) {
      const length = Math.min(end, from + lengthAt(at)) - Math.max(start, from);
      pieces.push({ index: at, length });
    }
    if (pieces.length < 2 || pieces.length > MOST_NEIGHBOURS) continue;
    for (const piece of pieces) if (piece.length >= LEAST_PIECE) marks.set(piece.index, mark);
  }
  return marks;
}

interface Walked {
  /** Non-empty strings, in JSON order. */
  readonly leaves: readonly Leaf[];
  /** Children before their parents. */
  readonly containers: readonly Container[];
  /** All keys, joined by a character that no secret contains. */
  readonly names: string;
  /** Containers whose numbers may be the bytes of text. */
  readonly lists: readonly Container[];
}

/** Walks a value without recursion, because untrusted JSON may be very deep. Visits shared containers once. */
function walk(root: Container, inNumbers = false): Walked {
  const leaves: Leaf[] = [];
  const containers: Container[] = [];
  const names: string[] = [];
  const lists: Container[] = [];
  const seen = new Set<Container>([root]);
  const open = [frameOf(root)];
  for (let frame = open.at(-1); frame; frame = open.at(-1)) {
    if (frame.next === frame.size) {
      containers.push(frame.owner);
      if (frame.keys) names.push(frame.keys.join("\0"));
      if (frame.size >= LEAST_BYTES && isOfBytes(frame.owner)) lists.push(frame.owner);
      open.pop();
      continue;
    }
    const at = frame.next++;
    const key = frame.keys?.[at] ?? at;
    const child = (frame.owner as JsonObject)[key];
    if (typeof child === "string") {
      if (child !== "") leaves.push({ owner: frame.owner, key, text: child });
    } else if (inNumbers && typeof child === "number") {
      leaves.push({ owner: frame.owner, key, text: String(child) });
    } else if (typeof child === "object" && child !== null && !seen.has(child)) {
      seen.add(child);
      open.push(frameOf(child));
    }
  }
  return { leaves, containers, names: names.join("\0"), lists };
}

/** Detects byte arrays, including buffers and `Uint8Array` as `JSON.stringify` writes them. */
function isOfBytes(owner: Container): boolean {
  const members = Array.isArray(owner) ? owner : Object.hasOwn(owner, "0") ? Object.values(owner) : [];
  let count = 0;
  for (const member of members) {
    count = isByte(member) ? count + 1 : 0;
    if (count === LEAST_BYTES) return true;
  }
  return false;
}

function frameOf(owner: Container) {
  const keys = Array.isArray(owner) ? undefined : Object.keys(owner);
  return { owner, keys, size: keys?.length ?? (owner.length as number), next: 0 };
}

/** A new value for a member. Undefined removes it. */
interface Change extends Pick<Leaf, "owner" | "key"> {
  readonly now: string | undefined;
}

interface Changes {
  readonly changed: readonly Change[];
  key(name: string): string;
}

/** Rebuilds the value, reusing the containers in which nothing changed. */
function rebuild(root: Container, containers: readonly Container[], { changed, key }: Changes): Container {
  const texts = new Map<Container, Map<string | number, string | undefined>>();
  for (const { owner, key: at, now } of changed) texts.set(owner, (texts.get(owner) ?? new Map()).set(at, now));
  const rebuilt = new Map<Json, Json>();
  for (const container of containers) {
    const now = texts.get(container);
    const member: Member = (at, value) => (now?.has(at) ? now.get(at) : (rebuilt.get(value) ?? value));
    const next = Array.isArray(container)
      ? rebuildList(container, member)
      : rebuildObject(container as JsonObject, member, key);
    if (next !== container) rebuilt.set(container, next);
  }
  return (rebuilt.get(root) ?? root) as Container;
}

type Member = (at: string | number, value: Json) => Json | undefined;

function rebuildList(list: readonly Json[], member: Member): readonly Json[] {
  const items = list.map((item, index) => member(index, item));
  return items.some((item, index) => item !== list[index]) ? items.filter((item) => item !== undefined) : list;
}

function rebuildObject(object: JsonObject, member: Member, key: (name: string) => string): JsonObject {
  const entries = Object.entries(object);
  const members = entries.map(([name, value]) => [key(name), member(name, value) ?? null] as const);
  const isSame = members.every(([name, value], index) => name === entries[index]?.[0] && value === entries[index]?.[1]);
  return isSame ? object : Object.fromEntries(members);
}
