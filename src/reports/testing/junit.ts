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

export interface Coverage {
  readonly workflow: string;
  readonly parts: Readonly<Record<string, { readonly reached: number; readonly total: number }>>;
  readonly missed: readonly Finding[];
}

/** Creates JUnit XML for workflow tests, with a suite for each file, and one for the coverage of each workflow. */
export function testsJunit(tested: readonly TestedCase[], coverage: readonly Coverage[] = []): string {
  const files = [...new Set(tested.map(({ file }) => file))];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: "skillflow test", ...countsOf(tested) })}>`,
    ...files.flatMap((file) => {
      const cases = tested.filter((one) => one.file === file);
      return [`  <testsuite${attributes({ name: file, ...countsOf(cases) })}>`, ...cases.map(caseOf), "  </testsuite>"];
    }),
    ...coverage.map(coverageSuite),
    "</testsuites>",
    "",
  ].join("\n");
}

function coverageSuite({ workflow, parts, missed }: Coverage): string {
  const counts = Object.entries(parts).map(([name, { reached, total }]) => ({ name, value: `${reached} of ${total}` }));
  const lines = missed.map(({ file, line, message }) => `${file}:${line}: ${message}`).join("\n");
  return [
    `  <testsuite${attributes({ name: `coverage of ${workflow}`, ...countsOf([]) })}>`,
    "    <properties>",
    ...counts.map((count) => `      <property${attributes(count)}/>`),
    "    </properties>",
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
