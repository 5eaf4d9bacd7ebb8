import entities from "./entities.json" with { type: "json" };
import { hasUnseen, UNSEEN_RUN } from "./unseen.ts";

export interface Codes {
  /** Matches each code, in linear time. */
  readonly codes: RegExp;
  /** Returns the decoded characters. Default: none. */
  readonly decode?: (code: string) => string;
}

/** An encoding that represents a character by others, or hides it. */
export interface Escape extends Codes {
  /** Share of a view's depth that it uses. Rarer encodings are combined with only one other. */
  readonly depth: 0 | 1 | 2;
  /** Reports whether a text may contain this encoding. */
  isIn(text: string): boolean;
}

const HEX = String.raw`[\da-fA-F]`;

/** Matches a non-ASCII character in UTF-8. `byte` writes a byte, given by its hexadecimal and its octal digits. */
function utf8(byte: (hex: string, octal: string) => string): string {
  const more = byte(`[89abAB]${HEX}`, "2[0-7]{2}");
  const characters = [
    byte(`(?:[cC][2-9a-fA-F]|[dD]${HEX})`, "3(?:0[2-7]|[1-3][0-7])") + more,
    byte("[eE]0", "340") + byte(`[abAB]${HEX}`, "2[4-7][0-7]") + more,
    byte("[eE][1-9a-cA-CefEF]", "3(?:4[1-7]|5[0-467])") + more + more,
    byte("[eE][dD]", "355") + byte(`[89]${HEX}`, "2[0-3][0-7]") + more,
    byte("[fF]0", "360") + byte(`[9abAB]${HEX}`, "2[2-7][0-7]") + more + more,
    byte("[fF][1-3]", "36[1-3]") + more + more + more,
    byte("[fF]4", "364") + byte(`8${HEX}`, "2[01][0-7]") + more + more,
  ];
  return characters.join("|");
}

/** Escapes of JSON or source code: `\n`, `\x73`, `\u0073`, `\u{73}`, `\U00000073`, `\163`. */
const BACKSLASH = String.raw`\\(?:u${HEX}{4}|u\{${HEX}{1,6}\}|x${HEX}{2}|U${HEX}{8}|[0-3][0-7]{2}|["'\\/bfnrt])`;
/** A non-ASCII character whose bytes are escaped one by one. */
const BACKSLASH_CHARACTER = utf8((hex, octal) => String.raw`\\(?:(?:[xX]|[uU]00)${hex}|${octal})`);
const MAYBE_CHARACTER = /\\(?:x|u00|3)[\da-f]{2}\\(?:x|u00|2)[\da-f]{2}/i;

/** Does not match assignments in a log. */
const QUOTED_PRINTABLE = /=(?:3D|\r?\n)|(?:=[\dA-F]{2}){2}/i;
const ENTITY = /&(?:#0{0,32}\d{1,7}|#x0{0,32}[\da-f]{1,6}|[a-z]{2,16}(?=;));?/gi;

export const ESCAPES: readonly Escape[] = [
  { depth: 1, isIn: containing("\\"), codes: new RegExp(BACKSLASH, "g"), decode: decodeBackslash },
  {
    depth: 1,
    isIn: containing("\\", MAYBE_CHARACTER),
    codes: new RegExp(`${BACKSLASH_CHARACTER}|${BACKSLASH}`, "g"),
    decode: (code) => (code.includes("\\", 2) ? decodeBytes(code) : decodeBackslash(code)),
  },
  { depth: 1, isIn: containing("%"), codes: bytesAfter("%"), decode: decodeURIComponent },
  { depth: 2, isIn: containing("&"), codes: ENTITY, decode: decodeEntity },
  {
    depth: 2,
    isIn: containing("=", QUOTED_PRINTABLE),
    codes: bytesAfter("=", "=\r?\n"),
    decode: (code) => (code.endsWith("\n") ? "" : decodeURIComponent(code.replaceAll("=", "%"))),
  },
];

export const UNSEEN: Escape = { depth: 0, isIn: hasUnseen, codes: UNSEEN_RUN };

/** Unicode tag characters: invisible, each encoding one ASCII character. */
export const TAGS: Escape = {
  depth: 0,
  isIn: containing("\udb40"),
  codes: /\udb40[\udc20-\udc7e]/g,
  decode: (code) => String.fromCharCode(code.charCodeAt(1) - 0xdc00),
};

/** Detects codes that start with a mark. `only` confirms them where the mark is common in text. */
function containing(mark: string, only?: RegExp): Escape["isIn"] {
  return (text) => text.includes(mark) && (only === undefined || only.test(text));
}

/** Matches UTF-8 bytes, each written as two hexadecimal digits after a mark, and other codes. */
function bytesAfter(mark: string, ...others: readonly string[]): RegExp {
  const bytes = [`${mark}[0-7]${HEX}`, utf8((hex) => mark + hex)];
  return new RegExp([...others, ...bytes].join("|"), "g");
}

function decodeBackslash(code: string): string {
  const letter = LETTERS[code.charAt(1)];
  if (letter !== undefined) return letter;
  const isInOctal = code.charCodeAt(1) < 58;
  return characterOf(isInOctal ? Number.parseInt(code.slice(1), 8) : Number.parseInt(code.replace(/^\\.\{?/, ""), 16));
}

function decodeBytes(code: string): string {
  const percent = code.replace(/\\(?:x|u00|([23][0-7]{2}))/gi, (_, octal: string | undefined) => {
    return `%${octal === undefined ? "" : Number.parseInt(octal, 8).toString(16)}`;
  });
  return decodeURIComponent(percent);
}

function decodeEntity(code: string): string {
  const [, digits = "", hexadecimal = ""] = /^&#(?:(\d+)|x(.+?));?$/i.exec(code) ?? [];
  if (digits + hexadecimal !== "") return characterOf(Number(digits || `0x${hexadecimal}`));
  const name = code.slice(1, -1);
  return ENTITIES.get(name) ?? ENTITIES.get(name.toLowerCase()) ?? code;
}

function characterOf(point: number): string {
  return point > 0x10ffff ? "\ufffd" : String.fromCodePoint(point);
}

const LETTERS: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** HTML entities for the punctuation that a secret may contain, and for invisible characters. */
const ENTITIES = new Map(Object.entries(entities));
