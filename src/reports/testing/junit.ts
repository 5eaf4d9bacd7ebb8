import type { Finding } from "../../core/base/diagnostic.ts";
import { xmlText } from "../../core/base/inert.ts";
import { cutMiddle } from "../../core/base/preview.ts";
import type { CaseFailure } from "../../core/outward/testing/expectations.ts";

export interface TestedCase {
  readonly file: string;
  readonly name: string;
  readonly model: string | null;
  readonly passed: boolean;
  readonly runs: readonly { readonly failures: readonly CaseFailure[]; readonly durationMs: number }[];
}

const LONGEST = 4000;

/** Results over all cases: parts of workflows that they reach, and mutants that they notice. */
export interface Measured {
  readonly coverage?: readonly {
    readonly workflow: string;
    readonly parts: Readonly<Record<string, { readonly reached: number; readonly total: number }>>;
    readonly missed: readonly Finding[];
  }[];
  readonly mutation?: readonly {
    readonly workflow: string;
    readonly mutants: number;
    readonly survived: readonly Finding[];
  }[];
}

/** Creates JUnit XML for workflow tests, with a suite for each file, and one for what was measured of each workflow. */
export function testsJunit(tested: readonly TestedCase[], { coverage = [], mutation = [] }: Measured): string {
  const files = [...new Set(tested.map(({ file }) => file))];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: "skillflow test", ...countsOf(tested) })}>`,
    ...files.flatMap((file) => {
      const cases = tested.filter((one) => one.file === file);
      return [`  <testsuite${attributes({ name: file, ...countsOf(cases) })}>`, ...cases.map(caseOf), "  </testsuite>"];
    }),
    ...coverage.map(({ workflow, parts, missed }) => {
      const counts = Object.entries(parts).map(
        ([kind, { reached, total }]) => [kind, `${reached} of ${total}`] as const,
      );
      return measuredSuite(`coverage of ${workflow}`, counts, missed);
    }),
    ...mutation.map(({ workflow, mutants, survived }) => {
      const counts = [["mutants noticed", `${mutants - survived.length} of ${mutants}`]] as const;
      return measuredSuite(`mutants of ${workflow}`, counts, survived);
    }),
    "</testsuites>",
    "",
  ].join("\n");
}

function measuredSuite(
  name: string,
  counts: readonly (readonly [string, string])[],
  findings: readonly Finding[],
): string {
  const properties = counts.map(([key, value]) => `      <property${attributes({ name: key, value })}/>`);
  const lines = findings.map(({ file, line, message }) => `${file}:${line}: ${message}`).join("\n");
  return [
    `  <testsuite${attributes({ name, ...countsOf([]) })}>`,
    ...["    <properties>", ...properties, "    </properties>"],
    ...(lines === "" ? [] : [`    <system-out>${xmlText(cutMiddle(lines, LONGEST))}</system-out>`]),
    "  </testsuite>",
  ].join("\n");
}

function countsOf(cases: readonly TestedCase[]) {
  const time = cases.reduce((sum, one) => sum + timeOf(one), 0);
  return {
    tests: cases.length,
    failures: cases.filter(({ passed }) => !passed).length,
    errors: 0,
    time: (time / 1000).toFixed(3),
  };
}

function timeOf({ runs }: TestedCase): number {
  return runs.reduce((sum, { durationMs }) => sum + durationMs, 0);
}

function caseOf(one: TestedCase): string {
  const isNamed = one.model !== null && !/^(script|replay):/.test(one.model);
  const name = isNamed ? `${one.name} [${one.model}]` : one.name;
  const open = `    <testcase${attributes({ name, classname: one.file, time: (timeOf(one) / 1000).toFixed(3) })}>`;
  const failures = one.passed ? [] : one.runs.flatMap((run) => run.failures);
  return [open, ...failures.map(failureOf), "    </testcase>"].join("\n");
}

function failureOf({ path, message, expected, actual }: CaseFailure): string {
  const sides = [expected, actual].map((side) => (side === undefined ? "nothing" : JSON.stringify(side, undefined, 1)));
  const body = cutMiddle(`expected: ${sides[0]}\nactual: ${sides[1]}`, LONGEST);
  return `      <failure${attributes({ message: `${path}: ${message}`, type: path })}>${xmlText(body)}</failure>`;
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(values);
  return pairs.map(([name, value]) => ` ${name}="${xmlText(cutMiddle(String(value), 1000))}"`).join("");
}
