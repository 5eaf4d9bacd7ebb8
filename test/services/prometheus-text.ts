import { createRequire } from "node:module";

/** The samples of a Prometheus scrape, read by an independent parser of its text format. */

interface Family {
  readonly name: string;
  readonly type: string;
  readonly metrics: readonly {
    readonly value?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly buckets?: Readonly<Record<string, string>>;
    readonly count?: string;
    readonly sum?: string;
  }[];
}

const parse: (text: string) => readonly Family[] = createRequire(import.meta.url)("parse-prometheus-text-format");

/** Types of the metrics by name. */
export function typesIn(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(parse(text).map(({ name, type }) => [name, type]));
}

/** Values of a metric with their labels: `{ "flow succeeded": 2 }`. A histogram has its count. */
export function valuesIn(text: string, metric: string): Readonly<Record<string, number>> {
  const found = parse(text).find(({ name }) => name === metric);
  return Object.fromEntries(
    (found?.metrics ?? []).map(({ value, count, labels = {} }) => [
      Object.values(labels).join(" "),
      Number(value ?? count),
    ]),
  );
}

export function labelsIn(text: string, metric: string): readonly string[] {
  const found = parse(text).find(({ name }) => name === metric);
  return [...new Set((found?.metrics ?? []).flatMap(({ labels = {} }) => Object.keys(labels)))];
}
