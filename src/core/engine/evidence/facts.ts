import { countWhile, lazy } from "../../base/values.ts";
import { stringOf } from "./folded.ts";
import { isSameMoment, type Moment, momentAt, momentOfEpoch } from "./moments.ts";
import { matchAt, type Quantity, quantityAt, SIZES, type UnitKind } from "./quantities.ts";

/**
 * Facts of a claim that code can compare with the records that it quotes: numbers with their units, percentages,
 * times, dates, ids, versions, and names in backticks or quotation marks. Number words are not facts.
 */
type Fact = { readonly text: string } & (
  | { readonly kind: "number"; readonly quantity: Quantity }
  | { readonly kind: "moment"; readonly moment: Moment }
  | { readonly kind: "id" | "version" | "name" }
);

const MOST_FACTS = 200;

export type FactCheck = ReturnType<typeof createFactCheck>;

/** Limit on the characters that a check compares. Reading a record costs as much as comparing it many times. */
const MOST_WORK = 1_000_000_000;
const COST_OF_READING = 400;

/**
 * Creates a check that returns the facts of a claim that none of the texts contains, as written and each once. Reads each
 * text once, however many claims quote it. Beyond its limit of work, facts count as missing.
 */
export function createFactCheck(work = MOST_WORK) {
  let left = work;
  const books = new Map<string, Book>();
  const bookOf = (text: string) => {
    const known = books.get(text);
    left -= known ? 0 : text.length * COST_OF_READING;
    const book = known ?? (left < 0 ? undefined : readBook(text));
    if (book) books.set(text, book);
    return book;
  };
  const has = (text: string, fact: Fact) => {
    left -= text.length;
    const book = left < 0 ? undefined : bookOf(text);
    return book !== undefined && hasFact(book, fact);
  };
  return (claim: string, texts: readonly string[]): string[] => {
    left -= claim.length * COST_OF_READING;
    const distinct = new Map(factsIn(claim).map((fact) => [fact.text, fact]));
    const isFound = (fact: Fact) => texts.some((text) => has(text, fact));
    // `67 200` may be one number, or two.
    const parts = ({ kind, text }: Fact) => (kind === "number" ? factsIn(text.replaceAll(" ", " ; ")) : []);
    const facts = [...distinct.values()].filter((fact) => {
      if (isFound(fact)) return false;
      const split = parts(fact);
      return split.length < 2 || !split.every(isFound);
    });
    return facts.map(({ text }) => text);
  };
}

/** Lists the facts of a claim in their order, at most 200. */
export function factsIn(claim: string): Fact[] {
  const facts: Fact[] = [];
  for (let at = 0; at < claim.length && facts.length < MOST_FACTS; ) {
    const found = factAt(claim, at);
    if (found?.fact) facts.push(found.fact);
    at = Math.max(at + 1, found?.end ?? 0);
  }
  return facts;
}

/** An apostrophe within or after a word does not quote. */
const NAME = /`([^`\n]{1,300})`|"([^"\n]{1,300})"|[“„]([^“”\n]{1,300})[“”]|(?<!\w)['‘]([^'‘’\n]{1,300})['’](?!\w)/y;
const REFERENCE = /^\[?r\d+\]?$/i;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!\w)/iy;
const VERSION = /(?:v\d{1,9}(?:\.\d{1,9}){0,5}|\d{1,9}(?:\.\d{1,9}){2,5})(?:-[a-z][\w.]{0,40})?(?!\w|\.\d)/iy;
/** After these words, two parts are a version, and letters alone are an id. */
const SAID_VERSION =
  /(?:(?<=\bversion[ :=]{1,2})\d{1,9}|(?<=\brelease[ :=]{1,2})\d{1,9}\.\d{1,9})(?:\.\d{1,9})?(?!\w|[.,]\d)/iy;
const SAID_ID = /(?<=\bcommit[ :#]{1,2})[a-f]{7,64}(?![\w-])/iy;
const HEX = /(?:0x)?(?=[0-9a-f]{0,63}\d)(?=\d{0,63}[a-f])[0-9a-f]{7,64}(?![\w-])/iy;
/** A word, path or other name, whose digits are not numbers of their own. */
const WORD = /[\p{L}_#@/][\p{L}\p{N}_#@/.:-]{0,300}/uy;

type Found = { readonly fact?: Fact; readonly end: number } | undefined;

/** Reads the fact, or the word that is none, at a position. */
function factAt(text: string, at: number): Found {
  const name = matchAt(NAME, text, at);
  if (name) {
    const inner = (name.slice(1).find((group) => group !== undefined) ?? "").trim();
    const end = at + name[0].length;
    return inner === "" || REFERENCE.test(inner) ? { end } : { fact: { kind: "name", text: inner }, end };
  }
  const marked = versionAt(text, at) ?? timeAt(text, at);
  if (marked) return marked;
  const word = matchAt(WORD, text, at)?.[0];
  if (word) return gluedIn(text, at, word) ?? { end: at + word.length };
  const number = numberAt(text, at);
  // `5xx`, `3rd` and `2x` are words.
  const tail = number && matchAt(WORD, text, number.end);
  return tail ? { end: number.end + tail[0].length } : number;
}

function versionAt(text: string, at: number): Found {
  for (const [kind, pattern] of [
    ["id", UUID],
    ["version", VERSION],
    ["version", SAID_VERSION],
    ["id", SAID_ID],
    ["id", HEX],
  ] as const) {
    const found = matchAt(pattern, text, at)?.[0];
    const end = at + (found?.length ?? 0);
    // In `release 1.5 h ago` the number is a duration.
    const isMeasured = pattern === SAID_VERSION && quantityAt(text, at)?.end !== end;
    if (found !== undefined && !isMeasured) return { fact: { kind, text: found }, end };
  }
  return undefined;
}

function timeAt(text: string, at: number): Found {
  const found = momentAt(text, at);
  return found && { fact: { kind: "moment", text: text.slice(at, found.end), moment: found.moment }, end: found.end };
}

function numberAt(text: string, at: number): Found {
  const found = quantityAt(text, at);
  return (
    found && { fact: { kind: "number", text: text.slice(at, found.end), quantity: found.quantity }, end: found.end }
  );
}

/** Reads the first fact after a mark within a word, as in `app:1.4.2`. Digits in `web-1`, `http/2` and `a.js:5` are none. */
function gluedIn(text: string, at: number, word: string): Found {
  for (const { index, 0: mark } of word.matchAll(/[:@/#-](?=[\da-fv])/gi)) {
    const from = at + index + 1;
    const found = versionAt(text, from) ?? (mark === ":" ? timeAt(text, from) : undefined);
    const isExact = found?.fact?.kind !== "version" || found.fact.text.includes(".");
    const fact = found ? isExact && found : gluedNumber(text, { from, mark, head: word.slice(0, index) });
    if (fact) return { ...fact, end: Math.max(fact.end, at + word.length) };
  }
  return undefined;
}

/** Reads the number that ends a word such as `status:503`, `p99:900ms` or `#4512`. A line number of a file is not a fact. */
function gluedNumber(text: string, { from, mark, head }: Record<"mark" | "head", string> & { from: number }): Found {
  const found = mark === ":" || mark === "#" ? numberAt(text, from) : undefined;
  if (found?.fact?.kind !== "number" || /[\p{L}\p{N}_/:-]/u.test(text.charAt(found.end))) return undefined;
  if (mark === "#") return found.fact.text.length > 1 ? found : undefined;
  return found.fact.quantity.kind || !/[.:/]|^r\d+$/i.test(head) ? found : undefined;
}

type Group = UnitKind | "bare" | "written";

/** Facts of a record. Numbers are grouped by the kind of their unit and ascending. */
interface Book {
  /** In lower case. */
  readonly lower: string;
  readonly folded: () => string;
  readonly numbers: Readonly<Record<Group, number[]>>;
  readonly moments: readonly Moment[];
  /** Ranges of line numbers that the hunks of a diff cover. */
  readonly lines: readonly (readonly [from: number, until: number])[];
}

function hasFact(book: Book, fact: Fact): boolean {
  switch (fact.kind) {
    case "number":
      return hasNumber(book, fact.quantity) || (isDotted(fact.text) && hasWord(book.lower, fact.text, AROUND_VERSION));
    case "moment":
      return book.moments.some((moment) => isSameMoment(fact.moment, moment));
    case "id":
      return hasWord(book.lower, fact.text.toLowerCase().replace(/^0x/, ""), AROUND_ID);
    case "version":
      return hasWord(book.lower, fact.text.toLowerCase().replace(/^v/, ""), AROUND_VERSION);
    case "name":
      return hasName(book.folded(), stringOf(fact.text));
  }
}

/** Searches a name, which may be part of an identifier (`checkout` in `checkout-2`), but not of a word. */
function hasName(text: string, name: string): boolean {
  const before = /^\p{L}/u.test(name) ? /\p{L}/u : NOTHING;
  const after = /\p{L}$/u.test(name) ? /^\p{L}/u : NOTHING;
  return hasWord(text, name, { before, after });
}

const NOTHING = /(?!)/;

/** Two parts such as `4.2` may be a number or the version `v4.2`. */
const isDotted = (text: string) => /^\d+\.\d+$/.test(text);

function hasNumber({ numbers, lines }: Book, { value, step, kind, sizes }: Quantity): boolean {
  const has = (group: Group, unit: number) => isWithin(numbers[group], value * unit, step * unit);
  if (kind) return sizes.some((size) => has(kind, size) || SIZES[kind].some((bare) => has("bare", size / bare)));
  const isLine = step === 1 && lines.some(([from, until]) => value >= from && value < until);
  return isLine || has("written", 1) || has("ratio", 1);
}

function readBook(text: string): Book {
  const numbers: Book["numbers"] = { time: [], bytes: [], ratio: [], bare: [], written: [] };
  const moments: Moment[] = [];
  eachNumber(text, (written, { value, kind, sizes }) => {
    numbers.written.push(written);
    if (kind) numbers[kind].push(...sizes.map((size) => value * size));
    else numbers.bare.push(value);
    if (!kind && value !== written) numbers.written.push(value);
    const moment = kind ? undefined : momentOfEpoch(value);
    if (moment) moments.push(moment);
  });
  eachMoment(text, (moment) => moments.push(moment));
  for (const values of Object.values(numbers)) values.sort((a, b) => a - b);
  return {
    lower: text.toLowerCase(),
    folded: lazy(() => stringOf(text)),
    numbers,
    moments,
    lines: linesOfHunk(text),
  };
}

/**
 * Visits the numbers of a record, as written and with their units. Digits within a word or a date count too. Of a
 * version only the first part is a number.
 */
function eachNumber(text: string, visit: (written: number, quantity: Quantity) => void): void {
  for (const { index, 0: found, 1: v = "", 2: major = "" } of text.matchAll(
    /(?:(\bv)?(\d+)|(?<![\w.])(?=\.\d))(?:\.\d+)*/gi,
  )) {
    const parts = found.split(".");
    const isVersion = parts.length > (v ? 1 : 2);
    const isDate = parts.length === 3 && /^(?:19|20)\d\d$/.test(parts[2] ?? "");
    const number = quantityAt(text, index + v.length);
    // `.25.3` has no first part.
    if (found.startsWith(".") && isVersion) continue;
    if (isVersion || !number) {
      for (const part of isDate ? parts : [major]) visit(Number(part), { value: Number(part), step: 1, sizes: [1] });
    } else visit(Number(found.slice(v.length)), number.quantity);
  }
}

function eachMoment(text: string, visit: (moment: Moment) => void): void {
  for (let at = 0; at < text.length; ) {
    const isBegin = at === 0 || !/[\w.]/.test(text.charAt(at - 1));
    const found = isBegin ? momentAt(text, at) : undefined;
    if (found) visit(found.moment);
    at = found?.end ?? at + 1;
  }
}

function linesOfHunk(text: string): (readonly [from: number, until: number])[] {
  const found = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/.exec(text);
  if (!found) return [];
  const [, before = "", removed = "1", after = "", added = "1"] = found;
  return [
    [Number(before), Number(before) + Number(removed)],
    [Number(after), Number(after) + Number(added)],
  ];
}

/** Reports whether one of the ascending values rounds to a value of this precision. */
function isWithin(values: readonly number[], value: number, step: number): boolean {
  const half = step / 2 + value * 1e-9;
  return (values[countWhile(values, (each) => each < value - half)] ?? Number.POSITIVE_INFINITY) <= value + half;
}

interface Around {
  readonly before: RegExp;
  readonly after: RegExp;
}

/** A short id is the beginning of a long one. */
const AROUND_ID: Around = { before: /[0-9a-z]/, after: /^$/ };
const AROUND_VERSION: Around = { before: /[\d.]/, after: /^(?:\d|\.\d)/ };

function hasWord(text: string, word: string, { before, after }: Around): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const end = at + word.length;
    const isOther =
      (at > 0 && before.test(text.charAt(at - 1))) || (end < text.length && after.test(text.slice(end, end + 2)));
    if (!isOther) return true;
  }
  return false;
}
