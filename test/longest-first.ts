import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Small files whose tests take long: begun first, so that no processor waits for one of them at the end. */
const LONGEST = [
  "reports/page",
  "triage-plan",
  "installation",
  "triage-services",
  "cli/dbos",
  "stores/dbos",
  "scoreboard",
  "triage-live",
  "cli/code",
  "skills/local",
  "examples",
  "mutations",
  "action/bundle",
  "readme",
  "triage-orders",
  "workflows",
  "board-demo",
  "stores/memory",
];

/** What vitest does on its own, by size or by the last run's times, but for the `LONGEST` of each project. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...new Set(sorted.map(({ project }) => project.name))].flatMap((name) => {
      const own = sorted.filter(({ project }) => project.name === name);
      return [...own.filter(isLong), ...own.filter((each) => !isLong(each))];
    });
  }
}

function isLong({ moduleId }: TestSpecification): boolean {
  return LONGEST.some((name) => moduleId.endsWith(`/test/${name}.test.ts`));
}
