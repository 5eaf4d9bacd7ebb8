/** A text that may be slow to read: a beginning, a piece that is repeated, and an end that makes the reader go back. */
export interface Pump {
  readonly before: string;
  readonly piece: string;
  readonly after: string;
}

export function pumped({ before, piece, after }: Pump, length: number): string {
  return before + piece.repeat(Math.ceil(length / piece.length)) + after;
}

const END = "\n\u0001";

/** Substrings that patterns and readers of any format look for. */
const PIECES = [
  ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).filter((sign) =>
    /[^A-Za-z1-9]/.test(sign),
  ),
  ..."aA1\n\t\\é",
  ...[
    "\r\n",
    "a ",
    " a",
    "a\n",
    "- ",
    "a: ",
    "a,",
    "1.",
    "a.",
    "a=",
    "((",
    "[a](",
    "![",
    "](",
    "{{",
    "${{",
    "<a",
    "<!--",
    "</",
    "**",
    "``",
    "```\n",
  ],
  ...[
    '"a',
    '\\"',
    "\\\\",
    "a@",
    "://",
    "http://",
    "%a",
    "&a",
    "&amp;",
    "/*",
    "//",
    "# ",
    "\n\n",
    "\n ",
    " \n",
    "|a",
    "---\n",
    "00 ",
    "0x",
    "ab12",
  ],
];

/** Pumps for a function: one in `share` of the general ones, and at least one in three of the words in its own file. */
export function pumpsOfFunction(words: readonly string[], share: number, turn: number): Pump[] {
  const oneIn = (most: number) => (_: string, index: number) => (index + turn) % most === 0;
  const pieces = new Set([...PIECES.filter(oneIn(share)), ...words.filter(oneIn(Math.min(share, 3)))]);
  return [...pieces].map((piece) => ({ before: "", piece, after: END }));
}

const CLASSES: Readonly<Record<string, readonly string[]>> = {
  d: ["1"],
  D: ["a"],
  s: [" ", "\n"],
  S: ["a"],
  w: ["a", "1"],
  W: [" ", "-"],
  n: ["\n"],
  r: ["\r"],
  t: ["\t"],
  b: [],
  B: [],
};

/** The characters that a pattern names, one by one: a sample of each class, each literal; and its runs of literals. */
export function pumpsOfPattern(source: string): Pump[] {
  const { signs, runs } = readPattern(source);
  const alphabet = [...new Set([...signs, "a", " "])].slice(0, 24);
  const sample = runs.join("").slice(0, 60);
  const pieces = new Set([
    ...alphabet,
    ...runs,
    sample,
    ...runs.map((run) => `${run}a`),
    ...runs.map((run) => `${run} `),
  ]);
  for (const [index, sign] of alphabet.entries()) pieces.add(sign + (alphabet[index + 1] ?? "a"));
  const beginnings = new Set(["", runs[0] ?? "", sample]);
  return [...beginnings].flatMap((before) =>
    [...pieces].filter((piece) => piece !== "").map((piece) => ({ before, piece, after: END })),
  );
}

function readPattern(source: string): { signs: string[]; runs: string[] } {
  const signs: string[] = [];
  const runs: string[] = [];
  let run = "";
  const close = () => {
    if (run) runs.push(run);
    run = "";
  };
  for (let at = 0; at < source.length; at++) {
    const sign = source[at] as string;
    if (sign === "\\") {
      const { chars, length, literal } = readEscape(source, at);
      if (literal) run += chars[0];
      else close();
      signs.push(...chars);
      at += length - 1;
    } else if (sign === "[") {
      close();
      const end = endOfClass(source, at);
      signs.push(...samplesOf(source.slice(at + 1, end)));
      at = end;
    } else if (sign === "{") {
      close();
      at = Math.max(at, source.indexOf("}", at));
    } else if (sign === "(" && source[at + 1] === "?") {
      close();
      at = source[at + 2] === "<" && /[\w$]/.test(source[at + 3] ?? "") ? source.indexOf(">", at) : at + 2;
    } else if ("()*+?|^$".includes(sign)) close();
    else if (sign === ".") {
      close();
      signs.push("a");
    } else {
      run += sign;
      signs.push(sign);
    }
  }
  close();
  return { signs, runs };
}

function readEscape(source: string, at: number): { chars: readonly string[]; length: number; literal: boolean } {
  const kind = source[at + 1] ?? "";
  const code = /^\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\})/.exec(source.slice(at, at + 10));
  if (code) {
    const sign = String.fromCodePoint(Number.parseInt(code[1] ?? code[2] ?? code[3] ?? "", 16));
    return { chars: [sign], length: code[0].length, literal: true };
  }
  if (kind === "p" || kind === "P")
    return { chars: ["a", "é", " "], length: source.indexOf("}", at) - at + 1, literal: false };
  if (kind === "k") return { chars: [], length: source.indexOf(">", at) - at + 1, literal: false };
  const chars = CLASSES[kind];
  return { chars: chars ?? [kind], length: 2, literal: !chars };
}

function endOfClass(source: string, from: number): number {
  for (let at = from + 1; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === "]") return at;
  }
  return source.length;
}

/** Some that a class takes; of one that says what it does not take, these too, as they end it. */
function samplesOf(members: string): string[] {
  const found: string[] = members.startsWith("^") ? ["a", " "] : [];
  for (let at = members.startsWith("^") ? 1 : 0; at < members.length; at++) {
    if (members[at] !== "\\") found.push(members[at] as string);
    else {
      const { chars, length } = readEscape(members, at);
      found.push(...chars);
      at += length - 1;
    }
  }
  return found.slice(0, 12);
}
