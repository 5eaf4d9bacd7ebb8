import { checkPath, followPath } from "../base/path.ts";
import { shortText } from "../base/preview.ts";
import { faultOfPattern, PATTERN_TOO_SLOW, withinSecond } from "../base/schema/time-bound.ts";
import { deepEqual, type JsonObject } from "../base/values.ts";
import type { OutputMatch, ValueRule } from "./workflow/rule.ts";

/** Rules of required paths and matches, used by `requires`, value evaluators and `if` on an edge. */

/** Lists the rule's failures. A pattern that takes too long counts as a failure and is passed to `onUndecided`. */
export function checkValues(
  rule: ValueRule,
  root: JsonObject,
  onUndecided: (complaint: string) => void = () => undefined,
): string[] {
  const required = (rule.output_required ?? []).map((path) =>
    checkPath(path, root, (value) => (value === null || value === undefined ? `${path} is null` : undefined)),
  );
  const matches = (rule.output_matches ?? []).map((match) => {
    if (typeof match.in !== "string")
      return checkPath(match.path, root, (value) => matchComplaint(match, value, onUndecided));
    const found = followPath(match.in, root);
    if ("missing" in found) return found.missing;
    const [first] = found;
    const accepted: readonly unknown[] = found.length === 1 && Array.isArray(first) ? first : found;
    const known = new Set(accepted);
    const isListed = (value: unknown) =>
      known.has(value) || (typeof value === "object" && accepted.some((one) => deepEqual(value, one)));
    const complaint = `${match.path} is ${match.not ? "" : "not "}one of ${match.in}`;
    return checkPath(match.path, root, (value) => (isListed(value) === !match.not ? undefined : complaint));
  });
  return [...required, ...matches].filter((complaint) => complaint !== undefined);
}

export function pathsOf(rule: ValueRule): string[] {
  const compared = (rule.output_matches ?? []).flatMap(({ path, in: accepted }) =>
    typeof accepted === "string" ? [path, accepted] : path,
  );
  return [...(rule.output_required ?? []), ...compared];
}

/** Returns why a value does not match. `not` inverts comparisons, except a pattern that cannot be decided. */
export function matchComplaint(
  match: OutputMatch,
  value: unknown,
  onUndecided?: (complaint: string) => void,
): string | undefined {
  const { holds, missed, excluded, undecided } = compare(match, value);
  if (undecided !== undefined) {
    onUndecided?.(`${match.path}${undecided}`);
    return `${match.path}${undecided}`;
  }
  if (holds !== (match.not ?? false)) return undefined;
  const shown = shortText(JSON.stringify(value) ?? "undefined", 120);
  return `${match.path} is ${shown}, ${match.not ? excluded : missed}`;
}

interface Comparison {
  readonly holds: boolean;
  /** Description of the values that hold, without and with `not`. */
  readonly missed: string;
  readonly excluded: string;
  readonly undecided?: string;
}

function compare({ equals, in: list, at_least, at_most, matches = "" }: OutputMatch, value: unknown): Comparison {
  if (equals !== undefined) {
    return { holds: deepEqual(value, equals), missed: `not ${JSON.stringify(equals)}`, excluded: "and must not be" };
  }
  if (Array.isArray(list)) {
    const words = `one of ${JSON.stringify(list)}`;
    return { holds: list.some((one) => deepEqual(one, value)), missed: `not ${words}`, excluded: words };
  }
  const isNumber = typeof value === "number";
  if (at_least !== undefined) return { holds: isNumber && value >= at_least, ...bound(`at least ${at_least}`) };
  if (at_most !== undefined) return { holds: isNumber && value <= at_most, ...bound(`at most ${at_most}`) };
  return comparePattern(matches, value);
}

function bound(words: string) {
  return { missed: `not ${words}`, excluded: `which is ${words}` };
}

/** Tests a JavaScript regex without flags on a string, or on the JSON text of any other value. */
function comparePattern(pattern: string, value: unknown): Comparison {
  const wanted = { missed: `which does not match ${pattern}`, excluded: `which matches ${pattern}` };
  const fault = faultOfPattern(pattern);
  if (fault !== undefined) return { holds: false, ...wanted, undecided: `: ${fault}` };
  const regex = new RegExp(pattern);
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const isMatch = withinSecond(() => regex.test(text));
  if (isMatch === undefined) return { holds: false, ...wanted, undecided: `: ${PATTERN_TOO_SLOW}: ${pattern}` };
  return { holds: isMatch, ...wanted };
}
