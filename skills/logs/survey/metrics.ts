import { measuresOf, numberOf } from "../line/measure.ts";
import type { Fields } from "../line/record.ts";
import { briefTime, isTimeName } from "../line/timestamp.ts";
import { createSeries, type Series, stepTold } from "../series.ts";
import type { Group } from "./groups.ts";

interface Origin {
  readonly time: number | undefined;
  /** True for a row of an export, whose other fields identify the series. */
  readonly isExport: boolean;
  readonly groups: readonly Group[];
}

/** Series of all measurements, by metric and labels, or by service for the measurements of log lines. */
export interface Metrics {
  add(fields: Fields, origin: Origin): void;
  /** Returns the series that changed, those with a step near the instant first, the largest steps first. */
  result(centre: number | undefined, reach: number): readonly object[];
  /** Returns the number of values whose series was not kept. */
  other(): number;
}

const MOST_SERIES = 400;
const MOST_LABELS = 8;
const LONGEST_LABEL = 60;
/** Fields that differ from record to record, and parts of histograms. */
const NO_LABEL = /(?:^|[._])(?:msg|message|event|body|line|log|text|error|stack)$|id$|^metric$/i;
const PART = /^(?:buckets|quantiles)\./;
const COUNTER = /_(?:total|bucket)$/;

export function createMetrics(): Metrics {
  const all = new Map<string, { readonly name: string; readonly isCounter: boolean; readonly series: Series }>();
  let other = 0;
  return {
    add(fields, { time, isExport, groups }) {
      if (time === undefined) return;
      const measures = measuresOf(fields);
      if (measures.length === 0) return;
      const metric = typeof fields["metric"] === "string" ? fields["metric"] : undefined;
      const labels = isExport || metric !== undefined ? labelsOf(fields) : groups.slice(0, 1);
      const suffix = labels.map(([key, value]) => ` ${key}=${value}`).join("");
      for (const { name, value } of measures) {
        if (PART.test(name)) continue;
        const own = metric === undefined ? name : name === "value" ? metric : `${metric}.${name}`;
        const key = `${own.slice(0, LONGEST_LABEL)}${suffix}`;
        const known = all.get(key);
        if (known) known.series.add(value, time);
        else if (all.size >= MOST_SERIES) other++;
        else all.set(key, { name: key, isCounter: COUNTER.test(own), series: createSeries([], own).add(value, time) });
      }
    },
    result(centre, reach) {
      const told = [...all.values()].map(({ name, isCounter, series }) => {
        const { row, steps, weight } = series.result(isCounter);
        const isNear = steps.some(({ time }) => centre !== undefined && Math.abs(time - centre) <= reach);
        return { name, isCounter, row, steps, rank: isNear ? weight + NEAR : weight };
      });
      return told
        .filter(({ steps }) => steps.length > 0)
        .sort((a, b) => b.rank - a.rank || (a.name < b.name ? -1 : 1))
        .map(({ name, isCounter, row, steps }) => {
          const [, count, every, min, max, , first, last] = row;
          const kind = isCounter ? { per: "second" } : {};
          return { series: name, ...kind, count, every, min, max, first, last, steps: steps.map(atTime) };
        });
    },
    other: () => other,
  };
}

/** Rank of a step near the instant, above the weight of any other. */
const NEAR = 1000;

function atTime(step: Parameters<typeof stepTold>[0]): string {
  return stepTold(step, briefTime);
}

function labelsOf(fields: Fields): readonly Group[] {
  const labels: Group[] = [];
  for (const [key, value] of Object.entries(fields)) {
    if (labels.length === MOST_LABELS) break;
    if (typeof value !== "string" || value === "" || value.length > LONGEST_LABEL) continue;
    if (!NO_LABEL.test(key) && !isTimeName(key) && numberOf(value) === undefined) labels.push([key, value]);
  }
  return labels;
}
