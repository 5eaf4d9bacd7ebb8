/**
 * Normalized text for comparing quotes: collapsed white space, plain quotes and dashes, numbers by value. Numbers and
 * redaction marks match only as a whole.
 */
export type Folded = Uint16Array;

const SPACE = 0x20;
const MINUS = 0x2d;
const DOT = 0x2e;
const ARROW = 0x2192;
const GREATER = 0x3e;

/** Private-use codes for our own marks. The same codes in a text become U+FFFD. */
const OWN_FIRST = 0xe000;
const OWN_LAST = 0xe3ff;
const MARKER = 0xe100;
const MARKER_END = 0xe101;
const NUMBER = 0xe102;
const NUMBER_END = 0xe103;
/** Codes for the name in a redaction mark, so that no quote matches inside it. */
const NAME = 0xe200;
const NAME_END = 0xe300;

export function foldText(text: string): Folded {
  const out = new Codes(text.length + 16);
  out.text(text);
  return out.taken();
}

/** Returns normalized text as a string. Equal strings match. */
export function stringOf(text: string): string {
  const codes = foldText(text.trim());
  const parts: string[] = [];
  for (let at = 0; at < codes.length; at += 8192) parts.push(String.fromCharCode(...codes.subarray(at, at + 8192)));
  return parts.join("");
}

/** Counts the significant characters of normalized text: the digits of a number, nothing of a redaction mark. */
export function shownIn(folded: Folded): number {
  return folded.reduce((count, code) => count + (code === SPACE || (code >= MARKER && code < NAME_END) ? 0 : 1), 0);
}

/** Normalizes what starts at a position, and returns the next position. */
function foldNext(text: string, at: number, out: Codes): number {
  if (text.charCodeAt(at) === ARROW) {
    out.push(MINUS);
    out.push(GREATER);
    return at + 1;
  }
  const code = foldCode(text.charCodeAt(at));
  if (code === SPACE) {
    let end = at + 1;
    while (end < text.length && foldCode(text.charCodeAt(end)) === SPACE) end++;
    out.push(SPACE);
    return end;
  }
  if (code === 0x5b) {
    const marker = markerAt(text, at);
    if (marker !== undefined) {
      out.push(MARKER);
      for (let i = 0; i < marker.length; i++) out.push(NAME + (marker.charCodeAt(i) & 0xff));
      out.push(MARKER_END);
      return at + marker.length;
    }
  }
  if (isDigit(code)) return foldNumber(text, at, out, "");
  if (code === MINUS && isDigit(text.charCodeAt(at + 1)) && mayBeSigned(text, at)) {
    return foldNumber(text, at + 1, out, "-");
  }
  if (code !== 0) out.push(code);
  return at + 1;
}

const MARKER_TEXT = /\[redacted(?::(?:\.env )?[^\]\s]{1,200})?\]/y;

export function markerAt(text: string, at: number): string | undefined {
  if (text.charCodeAt(at + 1) !== 0x72) return undefined;
  MARKER_TEXT.lastIndex = at;
  return MARKER_TEXT.exec(text)?.[0];
}

/** Normalizes a character code. Returns zero for invisible characters. */
function foldCode(code: number): number {
  if (code < 0x7f) return code > SPACE || code < 9 || (code > 13 && code < SPACE) ? code : SPACE;
  if (code === 0xa0 || code === 0x1680 || code === 0x202f || code === 0x205f || code === 0x3000) return SPACE;
  if (code === 0xad || code === 0x2060 || code === 0xfeff || (code >= 0x200b && code <= 0x200d)) return 0;
  if (code >= 0x2000 && code <= 0x2044) return foldPunctuation(code);
  if (code === 0x2212 || code === 0xfe58 || code === 0xfe63 || code === 0xff0d) return MINUS;
  if (code === 0xab || code === 0xbb) return 0x22;
  return code >= OWN_FIRST && code <= OWN_LAST ? 0xfffd : code;
}

function foldPunctuation(code: number): number {
  if (code <= 0x200a || code === 0x2028 || code === 0x2029) return SPACE;
  if (code >= 0x2010 && code <= 0x2015) return MINUS;
  if ((code >= 0x2018 && code <= 0x201b) || code === 0x2032 || code === 0x2039 || code === 0x203a) return 0x27;
  return (code >= 0x201c && code <= 0x201f) || code === 0x2033 ? 0x22 : code;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isWord(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a) || code === 0x5f;
}

/** Reports whether a minus is a sign: it is not after a word or a number. */
function mayBeSigned(text: string, at: number): boolean {
  return at === 0 || " \t\r\n([{:=,<>\"'+*/|".includes(text[at - 1] ?? "");
}

const EXPONENT = /[eE][+-]?\d{1,6}(?![\w.])/y;

/** Normalizes a number. In names and versions (`v1.20`, `10.0.0.1`), the digits stay as written. */
function foldNumber(text: string, at: number, out: Codes, sign: string): number {
  let end = at;
  let dots = 0;
  for (;;) {
    while (isDigit(text.charCodeAt(end))) end++;
    if (text.charCodeAt(end) !== DOT || !isDigit(text.charCodeAt(end + 1))) break;
    dots++;
    end++;
  }
  const isNamed = at > 0 && sign === "" && isWord(text.charCodeAt(at - 1));
  let written = text.slice(at, end);
  if (dots > 1 || (isNamed && dots > 0)) {
    out.token(sign + written);
    return end;
  }
  if (!isNamed) {
    EXPONENT.lastIndex = end;
    const exponent = EXPONENT.exec(text)?.[0] ?? "";
    written += exponent;
    end += exponent.length;
  }
  out.token(sign + numberOf(written));
  return end;
}

/** Returns equal text for equal values of any length: `1500`, `1500.0`, `1.5e3`. */
function numberOf(written: string): string {
  if (written.length < 16 && !/[.eE]/.test(written)) return String(Number(written));
  const [, whole = "", fraction = "", exponent = "0"] = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(written) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const kept = digits.replace(/(?<!0)0+$/, "");
  if (kept === "") return "0";
  const power = Number(exponent) - fraction.length + (digits.length - kept.length);
  if (power === 0) return kept;
  if (power > 0 && power + kept.length < 16) return kept + "0".repeat(power);
  return `${kept}e${power}`;
}

/** Reports whether white space next to a code does not count: `:`, `,` and brackets, as in JSON. */
function isTight(code: number | undefined): boolean {
  return code === 0x2c || code === 0x3a || code === 0x5b || code === 0x5d || code === 0x7b || code === 0x7d;
}

/** A growable list of normalized text. */
export class Codes {
  length = 0;
  #codes: Uint16Array;

  constructor(room: number) {
    this.#codes = new Uint16Array(room);
  }

  text(text: string): void {
    for (let at = 0; at < text.length; ) at = foldNext(text, at, this);
  }

  push(code: number): void {
    const last = this.length > 0 ? this.#codes[this.length - 1] : undefined;
    if (code === SPACE && (last === SPACE || isTight(last))) return;
    if (last === SPACE && isTight(code)) this.length -= 1;
    this.#add(code);
  }

  /** Adds a number between marks, so that it never matches in part. */
  token(value: string): void {
    this.#add(NUMBER);
    for (let i = 0; i < value.length; i++) this.#add(value.charCodeAt(i));
    this.#add(NUMBER_END);
  }

  #add(code: number): void {
    if (this.length === this.#codes.length) {
      const larger = new Uint16Array(this.length * 2 + 16);
      larger.set(this.#codes);
      this.#codes = larger;
    }
    this.#codes[this.length++] = code;
  }

  /** Returns the position before white space at the end, which counts as part of what follows. */
  boundary(): number {
    return this.length > 0 && this.#codes[this.length - 1] === SPACE ? this.length - 1 : this.length;
  }

  taken(): Folded {
    return this.#codes.subarray(0, this.length);
  }
}
