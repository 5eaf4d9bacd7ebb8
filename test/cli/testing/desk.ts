import { runHere, type Screen } from "../in-process.ts";
import { makeProject } from "../program.ts";

/** A small workflow with a script and tests, for the tests of `skillflow test`. */

export const WORKFLOW = `id: triage
name: Triage
entry: gather
verdict: assess.verdict
writes: plan
nodes:
  gather:
    name: Gather
    instruction: Look.
    skills: [sentry]
    output: { type: object, properties: { n: { type: integer } }, required: [n] }
  assess:
    name: Assess
    instruction: Judge.
    skills: [linear]
    output: { type: object, properties: { verdict: { type: string } }, required: [verdict] }
edges:
  - { from: gather, to: assess }
`;

export const SCRIPT = `replies:
  - node: gather
    calls: [{ tool: sentry_get_issue, input: { issue: APP-14 } }]
  - node: gather
    data: { n: 3 }
  - node: assess
    calls: [{ tool: linear_create_issue, input: { title: SEV1 leak, team: ENG } }]
  - node: assess
    data: { verdict: incident }
`;

export const HEAD = `workflow: ./triage.yml
model: script:./triage.script.yml
tools: # what stands in for Sentry
  sentry_get_issue: [{ when: { issue: "*-14" }, output: "@fixtures/issue-14.json" }, { error: "404: no such issue" }]
`;

/** The one case of a test, with these expectations in flow style. */
export function caseOf(expect: string, more = ""): string {
  return `${HEAD}cases:\n  - name: a leak is filed once\n${more}    expect: ${expect}\n`;
}

type Files = Readonly<Record<string, unknown>>;

export function makeDesk(files: Files = {}): string {
  return makeProject({
    "triage.yml": WORKFLOW,
    "triage.script.yml": SCRIPT,
    "fixtures/issue-14.json": { id: "14", title: "Pool exhausted" },
    ...files,
  });
}

/** Runs `skillflow test` in a project. */
export function runTest(cwd: string, args: readonly string[] = [], screen: Partial<Screen> = {}) {
  return runHere(["test", ...args], { cwd, ...screen });
}

/** Runs a project with one test, and returns its result document. */
export async function tested(
  test: string,
  { files = {}, args = [] }: { files?: Files; args?: readonly string[] } = {},
) {
  const cwd = makeDesk({ "triage.test.yml": test, ...files });
  const ended = await runTest(cwd, ["--json", ...args]);
  const document = JSON.parse(ended.stdout);
  return { cwd, ended, document, failures: document.files[0]?.cases[0]?.failures };
}
