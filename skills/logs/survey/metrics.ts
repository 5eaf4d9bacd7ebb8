import type { Fields } from "../line/record.ts";
import { briefTime, isTimeName } from "../line/timestamp.ts";
import { createSeries, measuresOf, numberOf, type Series, stepTold } from "../series.ts";
import type { Step } from "../steps.ts";
import type { Group } from "./counts.ts";
import { isLate } from "./split.ts";

interface Origin {
  readonly time: number | undefined;
  /** True for a row of an export, whose other fields identify the series. */
  readonly isExport: boolean;
  readonly groups: readonly Group[];
}

const MOST_SERIES = 400;
const MOST_LABELS = 8;
const LONGEST_LABEL = 60;
/** Fields that differ from record to record, and parts of histograms. */
const NO_LABEL = /(?:^|[._])(?:msg|message|event|body|line|log|text|error|stack)$|id$|^metric$/i;
const PART = /^(?:buckets|quantiles)\./;
const BUCKET = /_bucket$/;
const COUNTER = /_(?:total|sum|count)$/;

/** Tells whether a record is one sample of a metric. All of its other fields are labels. */
export function isSample(fields: Fields): boolean {
  return typeof fields["metric"] === "string" && "value" in fields;
}

/** Gathers series of all measurements, by metric and labels, or by service for the measurements of log lines. */
export function createMetrics() {
  const all = new Map<string, { readonly name: string; readonly own: string; readonly series: Series }>();
  let other = 0;
  return {
    add(fields: Fields, { time, isExport, groups }: Origin) {
      if (time === undefined) return;
      const measures = measuresOf(fields).filter(({ name }) => name === "value" || !isSample(fields));
      if (measures.length === 0) return;
      const metric = typeof fields["metric"] === "string" ? fields["metric"] : undefined;
      if (metric !== undefined && BUCKET.test(metric)) return;
      const labels = isExport || metric !== undefined ? labelsOf(fields) : groups.slice(0, 1);
      const suffix = labels.map(([key, value]) => ` ${key}=${value}`).join("");
      for (const { name, value } of measures) {
        if (PART.test(name)) continue;
        const own = metric === undefined ? name : name === "value" ? metric : `${metric}.${name}`;
        const key = `${own.slice(0, LONGEST_LABEL)}${suffix}`;
        const known = all.get(key);
        if (!known && all.size >= MOST_SERIES) {
          other++;
          continue;
        }
        const each = known ?? { name: key, own, series: createSeries([], own) };
        each.series.add(value, time);
        all.set(key, each);
      }
    },
    /** Returns the series that changed: those with a step near the instant first, the strongest first. */
    result(centre: number | undefined, reach: number): readonly object[] {
      const told = [...all.values()].map(({ name, own, series }) => {
        const isCounter = COUNTER.test(own) && series.isRising();
        const { row, steps, weight, times } = series.result(isCounter);
        const [from = 0, to = 0] = times;
        const range = Number(row[MAX]) - Number(row[MIN]);
        const strengths = steps.map((step) => {
          // At first, everything begins. A drift over all of the time has no instant.
          const isDated =
            isLate(step.time, { from, to }) && (step.from === undefined || isLate(step.from, { from, to }));
          const isNear = isDated && centre !== undefined && Math.abs(step.time - centre) <= reach;
          return isNear ? NEAR + strengthOf(step, range, { centre, reach }) : weight;
        });
        return { name, own, isCounter, row, steps, rank: strengths.reduce((a, b) => Math.max(a, b), 0) };
      });
      const sorted = told
        .filter(({ steps }) => steps.length > 0)
        .sort((a, b) => b.rank - a.rank || (a.name < b.name ? -1 : 1));
      const [near, others] = [sorted.filter(({ rank }) => rank >= NEAR), sorted.filter(({ rank }) => rank < NEAR)];
      return [...eachFirst(near), ...eachFirst(others)].map(({ name, isCounter, row, steps }) => {
        const [min, max, , first, last] = row.slice(MIN);
        const told = steps.map((step) => stepTold(step, briefTime));
        return { series: name, ...(isCounter && { per: "second" }), min, max, first, last, steps: told };
      });
    },
    /** Returns the number of values whose series was not kept. */
    other: () => other,
  };
}

/** Rank of a step near the instant, above the weight of any other. */
const NEAR = 1000;
/** Columns of a series' row. */
const MIN = 3;
const MAX = 4;

/** Returns how strongly a step changed a series: as a share of its level and of its range, less far from the instant. */
function strengthOf(
  { time, from, before, after }: Step,
  range: number,
  near: { centre: number; reach: number },
): number {
  const change = Math.abs(after - before);
  const level = Math.max(Math.abs(before), Math.abs(after)) || 1;
  const strength = (change / level) * Math.min(1, change / (range || 1));
  // A drift is weaker than a jump.
  return (strength / (from === undefined ? 1 : 2)) * (1 - Math.abs(time - near.centre) / near.reach / 2);
}

/** Moves the first series of each metric before the second ones, so that a metric of many instances hides no other. */
function eachFirst<Item extends { readonly own: string }>(items: readonly Item[]): readonly Item[] {
  const seen = new Map<string, number>();
  const placed = items.map((item) => {
    const place = seen.get(item.own) ?? 0;
    seen.set(item.own, place + 1);
    return { item, place };
  });
  return placed.sort((a, b) => a.place - b.place).map(({ item }) => item);
}

function labelsOf(fields: Fields): readonly Group[] {
  const labels: Group[] = [];
  for (const [key, value] of Object.entries(fields)) {
    if (labels.length === MOST_LABELS) break;
    if (typeof value !== "string" || value === "" || value.length > LONGEST_LABEL) continue;
    const isLabel = isSample(fields) ? key !== "value" : numberOf(value) === undefined;
    if (isLabel && !NO_LABEL.test(key) && !isTimeName(key)) labels.push([key, value]);
  }
  return labels;
}
