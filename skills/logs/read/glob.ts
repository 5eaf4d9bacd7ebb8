import { expandBraces } from "skillflow/internal";

/**
 * Matches a path against a glob: `*` and `?` within a name, `**` across directories, `{a,b}` for choices. A leading
 * wildcard does not match a dot. Time is at most pattern length times path length.
 */
export function matchesGlob(glob: string, path: string): boolean {
  const patterns = expandBraces(glob);
  if (!patterns) throw new Error("the pattern has more than 64 brace choices");
  return patterns.some((pattern) => matchesSegments(pattern.split("/"), path.split("/")));
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
