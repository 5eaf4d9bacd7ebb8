/**
 * Matches a path against a glob: `*` and `?` within a name, `**` across directories, `{a,b}` for choices. A leading
 * wildcard does not match a dot. Time is at most pattern length times path length.
 */
export function matchesGlob(glob: string, path: string): boolean {
  return expandBraces(glob).some((pattern) => matchesSegments(pattern.split("/"), path.split("/")));
}

export function isGlob(text: string): boolean {
  return /[*?{]/.test(text);
}

/** Returns the directory that contains all matches of a glob, and how deep they can be. */
export function globBase(glob: string): { readonly folder: string; readonly depth: number } {
  const segments = glob.split("/");
  const fixed = segments.findIndex(isGlob);
  const wild = segments.slice(fixed);
  // A choice may contain a slash, so the segments do not limit the depth.
  const unbounded = wild.some((segment) => segment === "**" || segment.includes("{"));
  return { folder: segments.slice(0, fixed).join("/"), depth: unbounded ? Number.POSITIVE_INFINITY : wild.length };
}

const MOST_CHOICES = 64;

function expandBraces(glob: string): readonly string[] {
  const braces = glob.split("{").length - 1;
  if (braces > MOST_CHOICES) throw new Error(`the pattern has ${braces} brace choices; write at most ${MOST_CHOICES}`);
  let patterns = [glob];
  for (;;) {
    const next = patterns.flatMap(expandFirst);
    if (next.length > MOST_CHOICES) throw new Error(`the pattern ${glob} has more than ${MOST_CHOICES} brace choices`);
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

function matchesSegments(pattern: readonly string[], path: readonly string[]): boolean {
  return matchesWithStar(
    pattern,
    path,
    (segment) => segment === "**",
    (segment, name, starred) => (starred ? !name.startsWith(".") : matchesName(segment, name)),
  );
}

function matchesName(pattern: string, name: string): boolean {
  if (name.startsWith(".") && !pattern.startsWith(".")) return false;
  return matchesWithStar(
    [...pattern],
    [...name],
    (character) => character === "*",
    (character, actual, starred) => starred || character === "?" || character === actual,
  );
}

/** Matches items to a pattern in which a star stands for any sequence. Only the last star is ever extended. */
function matchesWithStar(
  pattern: readonly string[],
  items: readonly string[],
  isStar: (part: string) => boolean,
  fits: (part: string, item: string, starred: boolean) => boolean,
): boolean {
  let at = 0;
  let part = 0;
  let star = -1;
  let resume = 0;
  while (at < items.length) {
    const wanted = pattern[part];
    const item = items[at] ?? "";
    if (wanted !== undefined && isStar(wanted)) {
      star = part++;
      resume = at;
    } else if (wanted !== undefined && fits(wanted, item, false)) {
      part++;
      at++;
    } else if (star >= 0 && fits("", items[resume] ?? "", true)) {
      part = star + 1;
      at = ++resume;
    } else return false;
  }
  return pattern.slice(part).every(isStar);
}
