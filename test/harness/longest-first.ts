import { existsSync } from "node:fs";
import { join } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files whose tests take long. They start first, so that no processor waits for one of them at the end. */
const LONGEST = [
  "stores/state/git",
  "skills/git",
  "adversary/sandbox",
  "cli/dbos",
  "workflows/triage-plan",
  "repository/installation",
  "stores/dbos",
  "adversary/compromised-model",
  "reports/page",
  "adversary/injections",
  "workflows/triage-services",
  "workflows/triage-live",
  "protocol/serve",
  "cli/listen",
  "cli/code",
  "skills/local",
  "docs/examples",
  "repository/mutations",
  "entry/action/bundle",
  "docs/readme",
  "workflows/triage-orders",
  "workflows/workflows",
  "workflows/board-demo",
];
for (const name of LONGEST) {
  const path = `test/${name}.test.ts`;
  if (!existsSync(join(import.meta.dirname, "..", "..", path)))
    throw new Error(`LONGEST names ${path}, which is missing`);
}

/**
 * Folders whose tests run next to no test that starts programs: starting one takes longer, the larger the starting
 * process is.
 */
const ALONE = /\/test\/(core|models|reports|run|skills)\//;

/**
 * Vitest's own order, by size or by the last run's times, except for the `LONGEST` and those `ALONE` of each project.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...new Set(sorted.map(({ project }) => project.name))].flatMap((name) => {
      const own = sorted.filter(({ project }) => project.name === name);
      return own.sort((one, other) => placeOf(one) - placeOf(other));
    });
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  if (place !== -1) return place;
  return ALONE.test(moduleId) ? LONGEST.length + 1 : LONGEST.length;
}
