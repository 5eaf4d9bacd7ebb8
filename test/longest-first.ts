import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files whose tests take long: begun first, so that no processor waits for one of them at the end, and so that those who
 * start many programs do so from processes that hold little yet.
 */
const LONGEST = [
  "adversary/compromised-model",
  "stores/state/git",
  "adversary/sandbox",
  "cli/dbos",
  "skills/git",
  "installation",
  "reports/page",
  "adversary/injections",
  "triage-plan",
  "stores/dbos",
  "triage-services",
  "scoreboard",
  "triage-live",
  "protocol/serve",
  "cli/listen",
  "cli/code",
  "skills/local",
  "examples",
  "mutations",
  "action/bundle",
  "readme",
  "triage-orders",
  "workflows",
  "board-demo",
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
