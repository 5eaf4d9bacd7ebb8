import { hasUnseen, unseenFrom, unseenLength } from "./unseen.ts";

/** An encoding that represents a character by others, or hides it. */
export interface Escape {
  /** Share of a view's depth that it uses. Rarer encodings are combined with only one other. */
  readonly depth: 0 | 1 | 2;
  /** Reports whether a text may contain this encoding. */
  isIn(text: string): boolean;
  /** Returns the next possible start of a code, or -1. */
  find(text: string, from: number): number;
  /** Returns the length of the code at a position, or 0. */
  lengthAt(text: string, at: number): number;
  decode(code: string): string;
}

/** A non-ASCII character in percent-encoded UTF-8. */
const CHARACTER =
  /%(?:c[2-9a-f]|d[\da-f])%[89ab][\da-f]|%e(?:0%[ab]|[1-9a-cef]%[89ab]|d%[89])[\da-f]%[89ab][\da-f]|%f(?:0%[9ab]|[1-3]%[89ab]|4%8)[\da-f](?:%[89ab][\da-f]){2}/;

/** Does not match assignments in a log. */
const QUOTED_PRINTABLE = /=(?:3D|\r?\n)|(?:=[\dA-F]{2}){2}/i;
const BACKSLASH_BYTES = /\\(?:x|u00|3)[\da-f]{2}\\(?:x|u00|2)[\da-f]{2}/i;
const ENTITY = /&(?:#0{0,32}\d{1,7}|#x0{0,32}[\da-f]{1,6}|[a-z]{2,16}(?=;));?/iy;

export const ESCAPES: readonly Escape[] = [
  { depth: 1, ...begunBy("\\"), lengthAt: backslashLength, decode: decodeBackslash },
  {
    depth: 1,
    ...begunBy("\\", BACKSLASH_BYTES),
    lengthAt: (text, at) => backslashBytes(text, at)?.length ?? backslashLength(text, at),
    decode: (code) => backslashBytes(code, 0)?.character ?? decodeBackslash(code),
  },
  { depth: 1, ...begunBy("%"), ...byBytes("%") },
  {
    depth: 2,
    ...begunBy("&"),
    lengthAt(text, at) {
      ENTITY.lastIndex = at;
      return ENTITY.exec(text)?.[0].length ?? 0;
    },
    decode(code) {
      const [, digits = "", hexadecimal = ""] = /^&#(?:(\d+)|x(.+?));?$/i.exec(code) ?? [];
      if (digits + hexadecimal !== "") return characterOf(Number(digits || `0x${hexadecimal}`));
      const name = code.slice(1, -1);
      return ENTITIES.get(name) ?? ENTITIES.get(name.toLowerCase()) ?? code;
    },
  },
  { depth: 2, ...begunBy("=", QUOTED_PRINTABLE), ...quotedPrintable() },
];

/** Invisible characters, decoded to nothing. */
export const UNSEEN: Escape = { depth: 0, isIn: hasUnseen, find: unseenFrom, lengthAt: unseenLength, decode: () => "" };

/** Unicode tag characters: invisible, each encoding one ASCII character. */
export const TAGS: Escape = {
  depth: 0,
  ...begunBy("\udb40"),
  lengthAt: (text, at) => (/[\udc20-\udc7e]/.test(text.charAt(at + 1)) ? 2 : 0),
  decode: (code) => String.fromCharCode(code.charCodeAt(1) - 0xdc00),
};

/** Searches for codes that start with a mark. `only` confirms them where the mark is common in text. */
function begunBy(mark: string, only?: RegExp): Pick<Escape, "isIn" | "find"> {
  return {
    isIn: (text) => text.includes(mark) && (only === undefined || only.test(text)),
    find: (text, from) => text.indexOf(mark, from),
  };
}

/** Measures an escape of JSON or source code: `\n`, `\x73`, `\u0073`, `\u{73}`, `\U00000073`, `\163`. */
function backslashLength(text: string, at: number): number {
  const kind = text.charCodeAt(at + 1);
  if (kind === 117) return areHex(text, at + 2, 4) ? 6 : bracedLength(text, at); // u
  if (kind === 120) return areHex(text, at + 2, 2) ? 4 : 0; // x
  if (kind === 85) return areHex(text, at + 2, 8) ? 10 : 0; // U
  if (kind >= 48 && kind <= 51) return isOctal(text, at + 2) && isOctal(text, at + 3) ? 4 : 0;
  return Object.hasOwn(LETTERS, text.charAt(at + 1)) ? 2 : 0;
}

function bracedLength(text: string, at: number): number {
  const [braced] = /^\{[\da-f]{1,6}\}/i.exec(text.slice(at + 2, at + 10)) ?? [""];
  return braced === "" ? 0 : 2 + braced.length;
}

function decodeBackslash(code: string): string {
  const letter = LETTERS[code.charAt(1)];
  if (letter !== undefined) return letter;
  const isInOctal = code.charCodeAt(1) < 58;
  return characterOf(isInOctal ? Number.parseInt(code.slice(1), 8) : Number.parseInt(code.replace(/^\\.\{?/, ""), 16));
}

const BACKSLASH_BYTE = /\\(?:(?:x|u00)([\da-f]{2})|([23][0-7]{2}))/iy;
const WHOLE_CHARACTER = new RegExp(`^(?:${CHARACTER.source})`, "i");

/** Decodes a non-ASCII character whose bytes are escaped one by one. */
function backslashBytes(text: string, at: number) {
  let percent = "";
  let length = 0;
  for (let count = 0; count < 4; count++) {
    BACKSLASH_BYTE.lastIndex = at + length;
    const found = BACKSLASH_BYTE.exec(text);
    if (!found) return undefined;
    const [code, hex, octal = ""] = found;
    length += code.length;
    percent += `%${hex ?? Number.parseInt(octal, 8).toString(16)}`;
    if (WHOLE_CHARACTER.test(percent)) return { length, character: decodeURIComponent(percent) };
  }
  return undefined;
}

function characterOf(point: number): string {
  return point > 0x10ffff ? "\ufffd" : String.fromCodePoint(point);
}

/** Decodes UTF-8 bytes, each written as two hexadecimal digits after a mark. */
function byBytes(mark: string): Pick<Escape, "lengthAt" | "decode"> {
  const character = new RegExp(CHARACTER.source.replaceAll("%", mark), "iy");
  return {
    lengthAt(text, at) {
      if (!areHex(text, at + 1, 2)) return 0;
      if (text.charCodeAt(at + 1) < 56) return 3; // below 80
      character.lastIndex = at;
      return character.exec(text)?.[0].length ?? 0;
    },
    decode: (code) =>
      code.length === 3
        ? String.fromCharCode(Number.parseInt(code.slice(1), 16))
        : decodeURIComponent(code.replaceAll(mark, "%")),
  };
}

/** Decodes quoted-printable text as in email: bytes and soft line breaks. */
function quotedPrintable(): Pick<Escape, "lengthAt" | "decode"> {
  const { lengthAt, decode } = byBytes("=");
  return {
    lengthAt: (text, at) =>
      text.startsWith("\n", at + 1) ? 2 : text.startsWith("\r\n", at + 1) ? 3 : lengthAt(text, at),
    decode: (code) => (code.endsWith("\n") ? "" : decode(code)),
  };
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
const ENTITIES = new Map(
  Object.entries({
    "&": "amp",
    "<": "lt",
    ">": "gt",
    '"': "quot",
    "'": "apos",
    "!": "excl",
    "#": "num",
    $: "dollar",
    "%": "percnt",
    "(": "lpar",
    ")": "rpar",
    "*": "ast midast",
    "+": "plus",
    ",": "comma",
    ".": "period",
    "/": "sol",
    ":": "colon",
    ";": "semi",
    "=": "equals",
    "?": "quest",
    "@": "commat",
    "[": "lbrack lsqb",
    "\\": "bsol",
    "]": "rbrack rsqb",
    "^": "hat",
    _: "lowbar underbar",
    "`": "grave diacriticalgrave",
    "{": "lbrace lcub",
    "|": "verbar vert verticalline",
    "}": "rbrace rcub",
    " ": "nbsp",
    "\n": "newline",
    "\t": "tab",
    "": "shy zwnj zwj lrm rlm zerowidthspace nobreak invisiblecomma invisibletimes",
  }).flatMap(([character, names]) => names.split(" ").map((name) => [name, character] as const)),
);

export function areHex(text: string, from: number, count: number): boolean {
  for (let at = from; at < from + count; at++) {
    const code = text.charCodeAt(at);
    const isHex = (code >= 48 && code <= 57) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102);
    if (!isHex) return false;
  }
  return true;
}

function isOctal(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 55;
}
