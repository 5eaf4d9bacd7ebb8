import { LONGEST, PATH, parseCondition } from "../condition.ts";
import type { Condition, OutputMatch, ValueRule } from "../workflow/rule.ts";

/** Common mistakes in the short form of a condition, each with a fix. */

interface Mistake {
  readonly message: string;
  readonly hint: string;
}

const JOINED = /\s(and|or|&&|\|\|)(?=\s|$)|(&&|\|\|)/i;
const QUOTED = /(?<=^|[\s=[,{(])(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/g;
const LIST = /\[[^\][*]*\]/g;

const SIGNS = String.raw`===?|!==|=!|<>|=>|=<|=~(?=\s*\S)|!~|~=|:=|:(?=\s)|>(?!=)|<(?!=)`;
const WORDS = String.raw`is\s+not|is|equals?|eq|neq?|gte?|lte?|gt|lt|not\s+in|not\s+exists|contains|includes|matches|like|starts\s?with|ends\s?with`;
const OPERATOR = new RegExp(`^(${PATH})(?:\\s*(${SIGNS})|\\s+(${WORDS})(?=\\s|$))\\s*(\\S[\\s\\S]*)?$`, "i");

/** Operators, each with what it is called elsewhere. A condition has no `>` and `<`. */
const MEANT: Readonly<Record<string, readonly string[]>> = {
  "=": ["==", "===", ":", ":=", "is", "equal", "equals", "eq"],
  "!=": ["!==", "=!", "<>", "is not", "ne", "neq"],
  ">=": ["=>", "gte"],
  "<=": ["=<", "lte"],
  ">": [">", "gt"],
  "<": ["<", "lt"],
};

/** Parses a condition. Returns a problem if it is invalid, with a fix for a common mistake. `roots` are the nodes and `input`. */
export function readCondition(
  written: Condition,
  roots: ReadonlySet<string>,
): ValueRule | (Partial<Mistake> & Pick<Mistake, "message">) {
  const mistake = typeof written === "string" ? conditionMistake(written, roots) : undefined;
  const rule = parseCondition(written);
  return mistake ?? (typeof rule === "string" ? { message: rule } : rule);
}

function conditionMistake(written: string, roots: ReadonlySet<string>): Mistake | undefined {
  const text = written.trim();
  if (text === "" || text.length > LONGEST) return undefined;
  const bare = text.replace(QUOTED, '""').replace(LIST, "[]");
  return (
    templateIn(bare) ??
    joinedIn(text, bare) ??
    operatorIn(text) ??
    wrongStart(text, bare) ??
    wrongValue(text, bare, roots)
  );
}

function templateIn(bare: string): Mistake | undefined {
  const braces = /\{\{|\$\{|<%/.exec(bare)?.[0];
  if (braces === undefined) return undefined;
  const hint = "write the path without braces, and compare it with a fixed value: PATH = VALUE";
  return { message: `has the template "${braces}", which is not filled in`, hint };
}

function joinedIn(text: string, bare: string): Mistake | undefined {
  const found = JOINED.exec(bare);
  if (!found) return undefined;
  const word = (found[1] ?? found[2] ?? "").toLowerCase();
  const isAnd = word === "and" || word === "&&";
  const message = `joins with "${word}": a condition is one comparison`;
  const fixed = "if this is one string, put it in quotes";
  if (!isAnd) {
    return {
      message,
      hint: `write one edge for each part, or PATH in [A, B] for several values of one path; ${fixed}`,
    };
  }
  const rules = text.split(/\sand\s|&&/i).map((part) => parseCondition(part.trim()));
  const all = rules.some((rule) => typeof rule === "string") ? undefined : (rules as ValueRule[]);
  return { message, hint: `write ${all ? longForm(all) : "the long form: output_matches: [A, B]"}; ${fixed}` };
}

function longForm(rules: readonly ValueRule[]): string {
  const required = rules.flatMap((rule) => rule.output_required ?? []);
  const matches = rules.flatMap((rule) => rule.output_matches ?? []);
  const parts = [
    ...(required.length > 0 ? [`output_required: [${required.join(", ")}]`] : []),
    ...(matches.length > 0 ? [`output_matches: [${matches.map(showEntry).join(", ")}]`] : []),
  ];
  return `if: { ${parts.join(", ")} }`;
}

function showEntry(match: Partial<OutputMatch>): string {
  return `{ ${Object.entries(match)
    .map(([key, value]) => `${key}: ${key === "path" ? String(value) : JSON.stringify(value)}`)
    .join(", ")} }`;
}

function operatorIn(text: string): Mistake | undefined {
  const [, path = "", sign, word, rest = ""] = OPERATOR.exec(text) ?? [];
  const shown = sign ?? word;
  if (shown === undefined) return undefined;
  const operator = shown.toLowerCase().replace(/\s+/g, " ");
  const message = `uses "${shown}", which is not an operator`;
  const [meant] = Object.entries(MEANT).find(([, words]) => words.includes(operator)) ?? [];
  if (meant === ">" || meant === "<") return { message, hint: strictHint(path, meant, rest) };
  if (meant !== undefined) return { message, hint: `write ${path} ${meant} ${rest || "VALUE"}` };
  if (operator === "not in") {
    return { message, hint: `write if: { output_matches: [{ path: ${path}, in: ${rest || "[A, B]"}, not: true }] }` };
  }
  if (operator === "not exists") {
    return {
      message,
      hint: `add another edge with "if: ${path} exists", and omit "if" here: this edge is the default`,
    };
  }
  const turned = operator === "!~" ? ", not: true" : "";
  return { message, hint: `write if: { output_matches: [{ path: ${path}, matches: "PATTERN"${turned} }] }` };
}

function strictHint(path: string, sign: ">" | "<", rest: string): string {
  const value = rest === "" ? Number.NaN : Number(rest);
  const next = sign === ">" ? value + 1 : value - 1;
  const bound = sign === ">" ? "at_most" : "at_least";
  const exact = `if: { output_matches: [{ path: ${path}, ${bound}: ${rest || "N"}, not: true }] }`;
  return Number.isSafeInteger(next)
    ? `write ${path} ${sign}= ${next} for whole numbers, or ${exact}`
    : `write ${path} ${sign}= ${rest || "N"} to include the bound, or ${exact}`;
}

const ONLY_PATH = new RegExp(`^${PATH}$`);
const MISPLACED = new RegExp(`^(${PATH})\\s+(exists|in)(?=\\s|$|\\[)`, "i");
const STARTS = [
  [/^(not\s|!)/i, 'begins with "not"', "write PATH != VALUE, or PATH = false"],
  [/^[\w.]*\(/, "has parentheses", "write one comparison without them: PATH = VALUE"],
  [/^["'`“‘]/, "begins with a quote", "write the path without quotes: PATH = VALUE"],
  [/^(true|false|always|otherwise|else|default)$/i, "names no path", "omit if: an edge without it is the default"],
] as const;
const INDEX = /^((?:all:|any:)?[\w.-]+)\[\d+\]/;

function wrongStart(text: string, bare: string): Mistake | undefined {
  const [, message, hint] = STARTS.find(([pattern]) => pattern.test(text)) ?? [];
  if (message !== undefined && hint !== undefined) return { message, hint };
  if (/^[$.@]/.test(text))
    return { message: `begins with "${text[0]}"`, hint: "begin the path with a node or with input" };
  const [indexed, list] = INDEX.exec(text) ?? [];
  if (indexed !== undefined) {
    return {
      message: `has the index ${indexed}`,
      hint: `write any:${list?.replace(/^(all|any):/, "")}[*] for one of the elements`,
    };
  }
  if (ONLY_PATH.test(text)) return { message: "has no comparison", hint: `write ${text} = true, or ${text} exists` };
  const [, path, word = ""] = MISPLACED.exec(bare) ?? [];
  if (word !== word.toLowerCase())
    return { message: `has "${word}"`, hint: `write ${word.toLowerCase()} in lower case` };
  if (word === "exists" && bare.length > `${path} exists`.length) {
    return { message: "has text after exists", hint: `write ${path} exists, and nothing after it` };
  }
  return undefined;
}

const VALUE = new RegExp(`^(${PATH})\\s*(!=|>=|<=|=)\\s*(\\S[\\s\\S]*)$`);
const TYPED = /^(true|false|null|~|[-+]?\d+(?:\.\d+)?)(\s*[;,]|\s+#.*|\s*;.*)$/i;

function wrongValue(text: string, bare: string, roots: ReadonlySet<string>): Mistake | undefined {
  const [, path, sign, value = ""] = VALUE.exec(text) ?? [];
  if (/^[“”‘’]/.test(value)) {
    return { message: "has typographic quotes", hint: `write ${path} ${sign} "TEXT"` };
  }
  const [, typed] = TYPED.exec(value) ?? [];
  if (typed !== undefined) {
    return { message: `has text after the value ${typed}`, hint: `write ${path} ${sign} ${typed}` };
  }
  if (/^""\s*\S/.test(VALUE.exec(bare)?.[3] ?? "")) {
    return { message: "has text after its value", hint: "put the whole string in one pair of quotes" };
  }
  const root = /^(?:all:|any:)?([A-Za-z_][\w-]*)[.[]/.exec(value)?.[1];
  if (root !== undefined && roots.has(root) && ONLY_PATH.test(value)) {
    const hint = `${path} can only be compared with a fixed value; if this is a string, put it in quotes`;
    return { message: `has the path ${value} as its value`, hint };
  }
  return undefined;
}
