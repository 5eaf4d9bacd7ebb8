import { inputError } from "../base/errors.ts";

/**
 * Matches a path with `*`, `?`, `**`, the choices `{a,b}` and the classes `[ab]`, `[a-c]` and `[!a]`. A glob without `/`
 * matches the name at any depth. Takes time proportional to both lengths. Throws `input.invalid` for too many choices.
 */
export function matchesGlob(glob: string, path: string): boolean {
  const patterns = expandBraces(glob);
  if (!patterns) throw inputError(`the glob ${JSON.stringify(glob.slice(0, 300))} has more than 64 choices in braces`);
  return patterns.some((each) => {
    const written = each.replace(/^\.?\//, "").replace(/\/$/, "/**");
    const pattern = (written.includes("/") ? written : `**/${written}`).split("/");
    return matchesWords(pattern, path.split("/"), matchesName);
  });
}

/**
 * Matches words with a pattern in which `**` stands for any number of words, and `match` decides on the others.
 * Backtracks only to the last `**`, to stay fast.
 */
export function matchesWords(
  pattern: readonly string[],
  words: readonly string[],
  match: (pattern: string, word: string) => boolean = (part, word) => part === word,
): boolean {
  let [at, word, star, from] = [0, 0, -1, 0];
  while (word < words.length) {
    const part = pattern[at];
    if (part === "**") [star, from, at] = [at, word, at + 1];
    else if (part !== undefined && match(part, words[word] ?? "")) [at, word] = [at + 1, word + 1];
    else if (star === -1) return false;
    else [at, word, from] = [star + 1, from + 1, from + 1];
  }
  return pattern.slice(at).every((rest) => rest === "**");
}

/** Matches a name with a pattern in which `*` stands for any characters. */
export function matchesPattern(pattern: string, name: string): boolean {
  return matchesWords(withStars([...pattern]), [...name]);
}

function withStars(parts: readonly string[]): readonly string[] {
  return parts.map((part) => (part === "*" ? "**" : part));
}

/** A name such as `[id].tsx` also matches itself. */
function matchesName(pattern: string, name: string): boolean {
  if (pattern === name) return true;
  const parts = pattern.match(/\[!?[^[\]]+\]|./gsu) ?? [];
  return matchesWords(withStars(parts), [...name], (part, character) => {
    return part === "?" || part === character || (part.length > 2 && isInClass(part, character));
  });
}

function isInClass(part: string, character: string): boolean {
  const isNot = part.startsWith("[!");
  const ranges = part.slice(isNot ? 2 : 1, -1).match(/.-.|./gsu) ?? [];
  const isIn = ranges.some((range) => {
    const [from = "", , to = from] = range;
    return from <= character && character <= to;
  });
  return isIn !== isNot;
}

const MOST_CHOICES = 64;

/** Expands the choices `{a,b}` of a glob, which may be nested. Returns undefined for more than 64. */
export function expandBraces(glob: string): readonly string[] | undefined {
  if (glob.split("{").length - 1 > MOST_CHOICES) return undefined;
  let patterns = [glob];
  for (;;) {
    const next = patterns.flatMap(expandFirst);
    if (next.length > MOST_CHOICES) return undefined;
    if (next.length === patterns.length && next.every((pattern, index) => pattern === patterns[index])) return next;
    patterns = next;
  }
}

/** Expands the first innermost pair of braces. Later rounds expand the outer ones. */
function expandFirst(pattern: string): readonly string[] {
  const match = /\{([^{}]*)\}/.exec(pattern);
  if (!match) return [pattern];
  const before = pattern.slice(0, match.index);
  const after = pattern.slice(match.index + match[0].length);
  return (match[1] ?? "").split(",").map((choice) => before + choice + after);
}
