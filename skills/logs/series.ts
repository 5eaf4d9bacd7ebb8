import type { ToolContext } from "skillflow";
import { fitting, isObject } from "skillflow/internal";
import { labelTimes, lengthText } from "./buckets.ts";
import { type Fields, fieldOf, fieldValues, parseRecord } from "./line/record.ts";
import { shortened } from "./line/text.ts";
import { briefTime, isTimeName } from "./line/timestamp.ts";
import type { Files } from "./read/files.ts";
import { scanFiles } from "./scan.ts";
import type { Selector } from "./selector.ts";
import { createPoints, ratesOf, type Step, stepsOf } from "./steps.ts";
import { createAliases } from "./view.ts";

interface SeriesInput extends Selector {
  readonly files: Files;
  /** Default: all measurements of each record. */
  readonly fields?: string | readonly string[] | undefined;
  readonly by?: string | readonly string[] | undefined;
  readonly rate?: boolean | undefined;
  readonly limit?: number | undefined;
}

const MOST_SERIES = 400;
const NAME_SHOWN = 100;

export async function summarizeSeries(input: SeriesInput, context: ToolContext) {
  const fields = input.fields === undefined ? undefined : [input.fields].flat();
  // Rows of exports have the metric's name in a field of its own.
  const by = input.by === undefined ? (fields ? [] : ["metric"]) : [input.by].flat();
  const measured = await gather(input, { fields, by, isAny: false }, context);
  // The only numbers may have a name that seldom measures, such as `v` or `level`.
  const isAny = fields === undefined && measured.numbers === 0 && measured.scan.matched > 0;
  const { scan, series, numbers, other } = isAny ? await gather(input, { fields, by, isAny }, context) : measured;
  const told = [...series.values()].map((each) => each.result(input.rate ?? false));
  const sorted = told.sort((a, b) => b.weight - a.weight);
  const times = told.flatMap((each) => each.times);
  const labels = labelTimes(
    told.flatMap(({ steps }) => steps.flatMap(({ time, from = time }) => [from, time])),
    1000,
  );
  const rows = sorted
    .slice(0, input.limit ?? 30)
    .map(({ row, steps }) => [...row, steps.map((step) => stepTold(step, labels.of))]);
  const fit = fitting(rows);
  const truncated = fit.length < told.length || other > 0;
  return {
    matched: scan.matched,
    series: told.length,
    returned: fit.length,
    truncated,
    ...(times.length > 0 ? { from: briefTime(least(times)), to: briefTime(most(times)) } : {}),
    ...(labels.day && rows.length > 0 ? { day: labels.day } : {}),
    columns: [...by, "field", ...STATISTICS, "steps"],
    rows: fit,
    ...(truncated
      ? { more: "those that change most come first; raise limit, or narrow `by`, `fields` or the filters" }
      : {}),
    ...(other > 0 ? { values_left_out: other } : {}),
    ...(await scan.report(createAliases(), numbers > 0)),
  };
}

interface Wanted {
  /** Undefined for all that measure something, or for all numbers if `isAny` is set. */
  readonly fields: readonly string[] | undefined;
  readonly by: readonly string[];
  readonly isAny: boolean;
}

/** Reads the lines once and adds their numbers to series by group and field. */
async function gather(input: SeriesInput, { fields, by, isAny }: Wanted, context: ToolContext) {
  const series = new Map<string, Series>();
  let other = 0;
  let numbers = 0;
  const named = [...(fields ?? []), ...(input.by === undefined ? [] : by)];
  const isNumeric = (record: Fields) => measuresOf(record, { isAny: true }).length > 0;
  const asked = { ...input, named, ...(fields ? {} : { isNumeric }) };
  const scan = await scanFiles(asked, { times: true }, context, ({ selected }) => {
    for (let index = 0; index < selected.count; index++) {
      const line = selected.line(index);
      const record = parseRecord(line.text).fields;
      const group = by.map((name) => {
        const [value] = fieldValues(record, name);
        return value === undefined ? null : shortened(value, NAME_SHOWN);
      });
      const measures =
        fields?.map((name) => ({ name, value: numberOf(fieldOf(record, name)) })) ?? measuresOf(record, { isAny });
      for (const { name: field, value } of measures) {
        if (value === undefined) continue;
        numbers++;
        const key = JSON.stringify([...group, field]);
        const known = series.get(key);
        if (!known && series.size >= MOST_SERIES) {
          other++;
          continue;
        }
        const each = known ?? createSeries(group, field);
        each.add(value, line.time);
        series.set(key, each);
      }
    }
  });
  return { scan, series, numbers, other };
}

const STATISTICS = ["count", "every", "min", "max", "mean", "first", "last"];

/** Statistics and steps of one field of one group. */
export type Series = ReturnType<typeof createSeries>;

/** Gathers statistics and steps of one field of one group. */
export function createSeries(group: readonly (string | null)[], field: string) {
  const points = createPoints();
  const values = { count: 0, sum: 0, min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };
  let first: { readonly time: number; readonly value: number } | undefined;
  let last: { readonly time: number; readonly value: number } | undefined;
  let isUntimed = true;
  return {
    add(value: number, time: number | undefined): void {
      values.count++;
      values.sum += value;
      values.min = Math.min(values.min, value);
      values.max = Math.max(values.max, value);
      // Values without times count only if no value has one, in the order of the lines.
      const at = time ?? values.count - Number.MAX_SAFE_INTEGER;
      if (time !== undefined && isUntimed) [first, last, isUntimed] = [undefined, undefined, false];
      if (time === undefined && !isUntimed) return;
      if (!first || at < first.time) first = { time: at, value };
      if (!last || at >= last.time) last = { time: at, value };
      if (time !== undefined) points.add(time, value);
    },
    /** Returns true if the values rise like a counter's, which only falls when it begins again. */
    isRising(): boolean {
      const all = points.all();
      const falls = all.slice(1).filter(({ last }, index) => last < (all[index]?.last ?? last));
      return falls.length * 10 <= all.length;
    },
    result(isRate: boolean) {
      const all = points.all();
      const shown = isRate ? ratesOf(all) : all;
      const steps = stepsOf(shown);
      const times = all.length > 0 && first && last ? [first.time, last.time] : [];
      const [from = 0, to = 0] = times;
      const every = values.count > 1 ? (to - from) / (values.count - 1) : 0;
      const means = shown.map(({ mean }) => mean);
      const { count, sum, min, max } = isRate
        ? { count: means.length, sum: means.reduce((a, b) => a + b, 0), min: least(means), max: most(means) }
        : values;
      const ends = isRate ? [means[0], means.at(-1)] : [first?.value, last?.value];
      const statistics = [min, max, sum / count, ...ends].map((each) => brief(each));
      // A counter always drifts, so a drift counts half.
      const step = most(
        steps.map(({ before, after, from }) => Math.abs(after - before) / (from === undefined ? 1 : 2)),
      );
      const scale = Math.max(Math.abs(min), Math.abs(max)) || 1;
      return {
        row: [...group, field, count, every > 0 ? lengthText(every) : null, ...statistics],
        steps,
        times,
        /** Sort key: how much the series changes. */
        weight: Math.max(0, step) / scale + (max - min) / scale / 1000,
      };
    },
  };
}

/** Describes a step: `10:05 2 → 10`, or `10:00..10:05 2 → 10` for a drift. */
export function stepTold({ time, from, before, after }: Step, label: (time: number) => string): string {
  return `${from === undefined ? "" : `${label(from)}..`}${label(time)} ${brief(before)} → ${brief(after)}`;
}

/** Rounds to four digits, except whole numbers. */
function brief(value: number | undefined): number | null {
  if (value === undefined || !Number.isFinite(value)) return null;
  return Number.isInteger(value) ? value : Number(value.toPrecision(4));
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

function most(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

/** Numeric field of a record, dotted if nested. */
export interface Measure {
  readonly name: string;
  readonly value: number;
}

interface MeasureOptions {
  readonly prefix?: string;
  readonly depth?: number;
  /** Returns all numbers except times. */
  readonly isAny?: boolean;
}

const MOST_MEASURES = 30;
const DEEPEST = 4;
const NUMERIC_START = /^[\s\d.+-]/;

/** Returns the numbers that measure something, in the order of the fields: no ids, times, statuses or positions. */
export function measuresOf(
  fields: Fields,
  { prefix = "", depth = DEEPEST, isAny = false }: MeasureOptions = {},
  found: Measure[] = [],
): readonly Measure[] {
  for (const key of Object.keys(fields)) {
    if (found.length === MOST_MEASURES) break;
    const value = fields[key];
    if (isObject(value)) {
      if (depth > 1) measuresOf(value, { prefix: `${prefix}${key}.`, depth: depth - 1, isAny }, found);
      continue;
    }
    const isCandidate = typeof value === "number" || (typeof value === "string" && NUMERIC_START.test(value));
    if (!isCandidate || !(isAny ? !isTimeName(key) : isMeasure(key))) continue;
    const number = numberOf(value);
    if (number !== undefined) found.push({ name: `${prefix}${key}`, value: number });
  }
  return found;
}

/** Parses a number, optionally followed by a unit as in 812ms. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.length > LONGEST_NUMBER) return undefined;
  const match = /^\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s?[a-zµ%]{0,3}\s*$/i.exec(value);
  return match ? Number(match[1]) : undefined;
}

const LONGEST_NUMBER = 60;
const MOST_KNOWN = 2000;
const known = new Map<string, boolean>();

function isMeasure(name: string): boolean {
  const told = known.get(name);
  if (told !== undefined) return told;
  const is = !isTimeName(name) && !NOT_MEASURED.test(name);
  if (known.size < MOST_KNOWN) known.set(name, is);
  return is;
}

/** Names of numbers that identify, order or classify. */
const NOT_MEASURED =
  /(?:^|[._-])(?:id|ids|pid|tid|uid|gid|port|line|lineno|status|code|version|v|seq|sequence|offset|index|severity|level|lvl|year|month|flags|commit|sha|hash|build|pod|host|node|shard|partition|order|claim|invoice|ticket|customer|account)$|[a-z](?:I[dD]|Status|Code|Port|Number)$|status|severity|(?:^|_)(?:line|port)_?(?:no|number)?$/i;
