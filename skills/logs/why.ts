import type { ToolContext } from "skillflow";
import { limitOf } from "skillflow/internal";
import type { Condition } from "./line/condition.ts";
import { compileConditions, isComparison } from "./line/condition.ts";
import { type Fields, fieldNames, fieldOf, fieldValues, parseRecord } from "./line/record.ts";
import { shortened } from "./line/text.ts";
import { briefTime } from "./line/timestamp.ts";
import { readEnds } from "./read/excerpt.ts";
import { type LogFile, withLog } from "./read/files.ts";
import { instantOf, type Selector } from "./selector.ts";

export interface Asked extends Selector {
  /** Fields requested for a table, count or series. */
  readonly named?: readonly string[] | undefined;
  /** Checks whether a line has a number to sum up. */
  readonly isNumeric?: (fields: Fields) => boolean;
}

/** Explains why nothing was found, judging by the beginnings and ends of the files. */
export async function explain(
  asked: Asked,
  files: readonly LogFile[],
  context: ToolContext,
): Promise<readonly string[]> {
  const seen = await lookAt(files, context);
  if (seen.lines.length === 0) return [];
  const told = [
    ...compileConditions(asked.where).flatMap((condition) => explainCondition(condition, seen)),
    ...(asked.named ?? []).flatMap((name) => explainName(name, seen)),
    ...explainNumbers(asked, seen),
    ...explainTimes(asked, seen),
    ...explainTexts(asked, seen),
  ];
  return [...new Set(told)];
}

interface Seen {
  readonly lines: readonly { readonly text: string; readonly fields: Fields; readonly time: number | undefined }[];
  /** True if `lines` has all lines of the files. */
  readonly areAll: boolean;
}

const MOST_FILES = 10;
const MOST_LINES = 4000;
const SHOWN = 20;

async function lookAt(files: readonly LogFile[], context: ToolContext): Promise<Seen> {
  const chosen = files.slice(0, MOST_FILES);
  const looks = [];
  for (const file of chosen) looks.push(await withLog(file, context, [], readEnds));
  const share = Math.ceil(MOST_LINES / chosen.length);
  const lines = looks.flatMap((parts) => parts.flatMap((part) => part.lines.slice(0, share)));
  const isWhole = looks.every(([head]) => head?.isEnd && head.lines.length <= share);
  return {
    lines: lines
      .filter(({ time }) => !(time !== undefined && time > limitOf(context)))
      .map(({ text, time }) => ({ text, time, fields: parseRecord(text).fields })),
    areAll: isWhole && chosen.length === files.length,
  };
}

/** Returns "no line" if all lines were examined. */
function none({ lines, areAll }: Seen): string {
  return areAll ? "no line" : `none of the ${lines.length} lines checked`;
}

function explainCondition(condition: Condition, seen: Seen): readonly string[] {
  const { field, wanted } = condition;
  const values = seen.lines.flatMap(({ fields }) => fieldValues(fields, field));
  if (values.length === 0) return explainName(field, seen);
  if (seen.lines.some(({ fields }) => condition.holds(fields))) return [];
  const near = [wanted].flat().some((each) => typeof each === "string" && isOtherCase(each, values));
  const hint = near ? "; values are case-sensitive" : "";
  return [`${field} is ${JSON.stringify(wanted)} in ${none(seen)}; it is ${valuesTold(values, wanted)}${hint}`];
}

/** Returns true if a value differs only by case, or all values have a case that the wanted one lacks. */
function isOtherCase(wanted: string, values: readonly string[]): boolean {
  if (values.some((value) => value.toLowerCase() === wanted.toLowerCase())) return true;
  const isLower = values.every((value) => value === value.toLowerCase());
  const isUpper = values.every((value) => value === value.toUpperCase());
  return isLower !== isUpper && (isLower ? wanted !== wanted.toLowerCase() : wanted !== wanted.toUpperCase());
}

/** Describes the most frequent values, or the range of numbers if the request compares them. */
function valuesTold(values: readonly string[], wanted: unknown): string {
  const numbers = values.map(Number).filter(Number.isFinite);
  if (numbers.length === values.length && [wanted].flat().some((each) => isComparison(String(each)))) {
    const [low, high] = [numbers.reduce((a, b) => Math.min(a, b)), numbers.reduce((a, b) => Math.max(a, b))];
    return `from ${low} to ${high}`;
  }
  const sorted = mostFrequent(values);
  const shown = sorted.slice(0, SHOWN / 2).map(([value, count]) => `${shortened(value, 60)} (${count})`);
  return [...shown, ...(sorted.length > shown.length ? [`${sorted.length - shown.length} others`] : [])].join(", ");
}

/** Returns the different values with their counts, the most frequent first. */
function mostFrequent(values: readonly string[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}

function explainName(name: string, seen: Seen): readonly string[] {
  if (seen.lines.some(({ fields }) => fieldOf(fields, name) !== undefined)) return [];
  return explainLack(`the field ${name}`, seen, (each) => isNear(each, name));
}

function explainNumbers({ isNumeric }: Asked, seen: Seen): readonly string[] {
  if (!isNumeric || seen.lines.some(({ fields }) => isNumeric(fields))) return [];
  return explainLack("a number in a field", seen);
}

/** Describes what every line lacks, with the fields that the lines have, the most frequent first. */
function explainLack(what: string, seen: Seen, fits: (name: string) => boolean = () => false): readonly string[] {
  const counts = mostFrequent(seen.lines.flatMap(({ fields }) => fieldNames(fields)));
  const names = counts.map(([each]) => shortened(each, 80));
  if (names.length === 0) return [`${none(seen)} has ${what}: the lines have no fields; use contains or matches`];
  const near = names.filter(fits).slice(0, 3);
  const hint = near.length > 0 ? ` (near: ${near.join(", ")})` : "";
  const more = names.length > SHOWN ? ", …" : "";
  return [`${none(seen)} has ${what}${hint}; fields: ${names.slice(0, SHOWN).join(", ")}${more}`];
}

function isNear(there: string, wanted: string): boolean {
  const plain = (name: string) => name.toLowerCase().replace(/[_.@-]/g, "");
  const [a, b] = [plain(there), plain(wanted)];
  const last = plain(there.split(".").at(-1) ?? "");
  return a === b || last === b || (b.length > 3 && a.includes(b)) || (a.length > 3 && b.includes(a));
}

function explainTimes({ since, until }: Selector, seen: Seen): readonly string[] {
  if (since === undefined && until === undefined) return [];
  const times = seen.lines.flatMap(({ time }) => (time === undefined ? [] : [time]));
  if (times.length === 0) return [`${none(seen)} has a time, so since and until do not work`];
  const from = times.reduce((a, b) => Math.min(a, b));
  const to = times.reduce((a, b) => Math.max(a, b));
  const isInside = (since === undefined || instantOf(since) <= to) && (until === undefined || instantOf(until) >= from);
  return isInside
    ? []
    : [`times of ${seen.areAll ? "the lines" : "the checked lines"} are from ${briefTime(from)} to ${briefTime(to)}`];
}

function explainTexts({ contains, ignore_case: ignoresCase }: Selector, seen: Seen): readonly string[] {
  if (ignoresCase) return [];
  return [contains ?? []].flat().flatMap((text) => {
    if (seen.lines.some((line) => line.text.includes(text))) return [];
    const found = seen.lines.find((line) => line.text.toLowerCase().includes(text.toLowerCase()));
    return found ? [`${JSON.stringify(text)} occurs only in other upper or lower case; set ignore_case: true`] : [];
  });
}
