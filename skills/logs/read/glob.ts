/**
 * Whether a path fits a glob: `*` and `?` within a name, `**` across folders, `{a,b}` for choices.
 * A wildcard at the start of a name does not stand for a dot. Time is bounded by pattern length times path length.
 */
export function matchesGlob(glob: string, path: string): boolean {
  return expandBraces(glob).some((pattern) => matchesSegments(pattern.split("/"), path.split("/")));
}

export function isGlob(text: string): boolean {
  return /[*?{]/.test(text);
}

/** The folder in which every match of a glob lies, and how many folders below it one can lie. */
export function globBase(glob: string): { readonly folder: string; readonly depth: number } {
  const segments = glob.split("/");
  const fixed = segments.findIndex(isGlob);
  const wild = segments.slice(fixed);
  // A choice may hold a slash, so its depth is not that of the segments.
  const unbounded = wild.some((segment) => segment === "**" || segment.includes("{"));
  return { folder: segments.slice(0, fixed).join("/"), depth: unbounded ? Number.POSITIVE_INFINITY : wild.length };
}

const MOST_CHOICES = 64;

function expandBraces(glob: string): readonly string[] {
  const braces = glob.split("{").length - 1;
  if (braces > MOST_CHOICES)
    throw new Error(`the pattern has ${braces} choices of names; write at most ${MOST_CHOICES}`);
  let patterns = [glob];
  for (;;) {
    const next = patterns.flatMap(expandFirst);
    if (next.length > MOST_CHOICES) throw new Error(`the pattern ${glob} has more than ${MOST_CHOICES} choices`);
    if (next.length === patterns.length && next.every((pattern, index) => pattern === patterns[index])) return next;
    patterns = next;
  }
}

/** Expands the first innermost pair of braces; nested ones follow in later rounds. */
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

/** Matches items to a pattern whose stars stand for any run of items: only the last star seen is ever widened. */
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
