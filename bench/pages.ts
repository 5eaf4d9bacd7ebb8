import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderPerformance } from "./performance.ts";
import { type Result, result } from "./results.ts";
import { renderScale } from "./scale.ts";

/** Stored measurements and the pages made from them. Paths are relative to the project. */

export const RESULTS = "bench/results";

/** The tables, in the order of the page. */
export const NAMES = [
  "executor",
  "start",
  "command-line",
  "requests",
  "hello",
  "tokens",
  "journal",
  "dbos",
  "logs",
  "ci-logs",
  "skills",
  "serve",
] as const;
export type Name = (typeof NAMES)[number];

export function readResults(): readonly Result[] {
  const paths = NAMES.map((name) => join(RESULTS, `${name}.json`)).filter((path) => existsSync(path));
  return paths.map((path) => result.parse(JSON.parse(readFileSync(path, "utf8"))));
}

export function writeResult(measured: Result): void {
  mkdirSync(RESULTS, { recursive: true });
  const text = `${JSON.stringify(result.parse(measured), undefined, 2)}\n`;
  // Rounds on one line, for human readers.
  const lines = text.replace(/\[[\s\d.,e+-]+\]/g, (numbers) =>
    numbers.replace(/\s+/g, " ").replace(/\[ | \]/g, (end) => end.trim()),
  );
  writeFileSync(join(RESULTS, `${measured.name}.json`), lines);
}

/** Every page that is generated from the results, by its path. */
export function benchPages(results: readonly Result[]): [path: string, text: string][] {
  const scale = "docs/scale.md";
  return [
    ["docs/performance.md", renderPerformance(results)],
    [scale, renderScale(readFileSync(scale, "utf8"), results)],
  ];
}
