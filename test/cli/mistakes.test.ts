import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Finding } from "../../src/core/base/diagnostic.ts";
import { SkillflowError } from "../../src/core/base/errors.ts";
import { loadProjectConfig } from "../../src/loaders/documents/project-config.ts";
import { runHere } from "./in-process.ts";
import { makeProject, removeProjects } from "./program.ts";

/** Each mistake has exactly one finding, at its place, that states in plain words what is wrong and what to do. */

afterAll(removeProjects);

const WORKFLOW = `id: triage
name: Triage
entry: look
verdict: judge.verdict
inputs:
  service: { type: string, required: true }
nodes:
  look:
    name: Look
    instruction: Look at the logs.
    skills: [logs]
    effects: read
    timeout: 5m
    output:
      type: object
      properties:
        count: { type: integer }
        claims: { type: array }
      required: [count]
    eval:
      - { name: held, kind: evidence, rule: { claims: "claims[*]", min_supported: 0 } }
  judge:
    name: Judge
    instruction: Judge it.
    output: { type: object, properties: { verdict: { type: string, enum: [bug, noise] } } }
  sure:
    name: Sure
    approval: { ask: "Really?", timeout: 1h }
  send:
    name: Send
    skills: [slack]
    once: judge.verdict
    steps:
      - { id: message, tool: slack_send_message, with: { text: "{{judge.verdict}}" } }
edges:
  - { from: look, to: judge }
  - { from: judge, to: sure, if: judge.verdict = bug }
  - { from: sure, to: send, if: sure.approved = true }
`;

const SCRIPT = `replies:
  - node: look
    calls: [{ tool: logs_search, input: { files: app.log } }]
  - node: look
    data: { count: 3, claims: [] }
  - node: judge
    data: { verdict: noise }
`;

const TEST = `workflow: ./triage.yml
model: script:./triage.script.yml
tools:
  logs_search: [{ when: { files: "*.log" }, output: { lines: 3 } }]
cases:
  - name: noise
    input: { service: shop }
    approvals: { sure: approve }
    expect:
      verdict: noise
      path: [look, judge]
      data: { look.count: { at_least: 2 } }
      called: [logs_search]
`;

const CONFIG = `model: anthropic:claude-sonnet-4-5
writes: plan
limits: { max_cost_usd: 2, timeout: 15m }
skills:
  discover: true
  disabled: [slack]
mcpServers:
  tracker: { url: "https://tracker.example/mcp" }
`;

type Mistake = readonly [what: string, before: string, after: string, at: string, words: string];
type Kind = "workflows" | "scripts" | "tests" | "configs";
const MISTAKES: Readonly<Record<Kind, readonly Mistake[]>> = parse(
  readFileSync(new URL("mistakes.yml", import.meta.url), "utf8"),
);

function wrong(right: string, [what, before, after]: Mistake): string {
  if (before === "") return after;
  if (!right.includes(before)) throw new Error(`${what}: the document has no passage ${before}`);
  return right.replace(before, () => after);
}

function said({ line, column, code, message, hint }: Finding): string {
  return `${line}:${column} ${code} ${message}${hint === undefined ? "" : ` | ${hint}`}`;
}

/** Compares the findings of each document with its row. */
function expectOne(kind: Kind, findings: readonly Finding[], fileOf: (index: number) => string) {
  const found = MISTAKES[kind].map(([what], index) => [
    what,
    ...findings.filter(({ file }) => file === fileOf(index)).map(said),
  ]);
  const expected = MISTAKES[kind].map(([what, , , at, words]) => [what, expect.stringContaining(`${at} ${words}`)]);
  expect(found).toEqual(expected);
}

describe("a mistake in a document has one finding, at its place, in plain words:", () => {
  const files = (kind: Kind, right: string, name: (index: number) => string) =>
    Object.fromEntries(MISTAKES[kind].map((row, index) => [name(index), wrong(right, row)]));

  it("workflows", async () => {
    const written = files("workflows", WORKFLOW, (index) => `w${index}.yml`);
    const { stdout } = await runHere(["validate", "--json", ...Object.keys(written)], { cwd: makeProject(written) });
    expectOne("workflows", JSON.parse(stdout).diagnostics, (index) => `w${index}.yml`);
  });

  it("scripts and tests", async () => {
    const scripts = files("scripts", SCRIPT, (index) => `s${index}.script.yml`);
    const users = MISTAKES.scripts.map((_, index) => [
      `s${index}.test.yml`,
      TEST.replace("triage.script", `s${index}.script`),
    ]);
    const tests = files("tests", TEST, (index) => `t${index}.test.yml`);
    const right = { "triage.yml": WORKFLOW, "triage.script.yml": SCRIPT };
    const cwd = makeProject({ ...right, ...scripts, ...Object.fromEntries(users), ...tests });
    const { stdout } = await runHere(["test", "--json"], { cwd });
    const { diagnostics } = JSON.parse(stdout);
    expectOne("scripts", diagnostics, (index) => `s${index}.script.yml`);
    expectOne("tests", diagnostics, (index) => `t${index}.test.yml`);
    expect(diagnostics).toHaveLength(MISTAKES.scripts.length + MISTAKES.tests.length);
    const fine = makeProject({ ...right, "triage.test.yml": TEST });
    expect(await runHere(["test"], { cwd: fine })).toMatchObject({ code: 0 });
  });

  it("configs", () => {
    const findings = MISTAKES.configs.flatMap((row, index) => {
      try {
        loadProjectConfig(makeProject({ ".skillflow.yml": wrong(CONFIG, row) }));
        return [];
      } catch (error) {
        if (!(error instanceof SkillflowError)) throw error;
        return error.diagnostics.map((found) => ({ ...found, file: `c${index}` }));
      }
    });
    expectOne("configs", findings, (index) => `c${index}`);
  });
});

describe("a mistake that shows only in a run or on the command line is reported once:", () => {
  const SCRIPTED = ["run", "triage.yml", "--model", "script:triage.script.yml"];
  const right = { "triage.yml": WORKFLOW, "triage.script.yml": SCRIPT, "triage.test.yml": TEST };
  const cwd = makeProject({ ...right, "alert.json": "{service:" });

  it.each<[string, string, string, RegExp]>([
    [
      "no input",
      "test",
      TEST.replace("{ service: shop }", "{}"),
      /triage\.test\.yml:7:5 error INPUT_MISSING input "service" is missing/,
    ],
    [
      "input of another type",
      "test",
      TEST.replace("shop }", "3 }"),
      /triage\.test\.yml:7:14 error INPUT_INVALID input "service" must be a string/,
    ],
    [
      "a reply for a misspelled node",
      "script",
      SCRIPT.replace("judge", "jugde"),
      /\(judge: the script has no work reply left for node judge, but one for jugde\)/,
    ],
    [
      "data of another type",
      "script",
      SCRIPT.replace("3, claims", "three, claims"),
      /\(look: the last answer is invalid: count must be integer, not "three"/,
    ],
    ["a value that is not allowed", "script", SCRIPT.replace("noise", "nosie"), /\(judge: .*verdict must be one of/],
  ])("%s", async (_what, kind, text, words) => {
    const { stderr } = await runHere(["test"], { cwd: makeProject({ ...right, [`triage.${kind}.yml`]: text }) });
    expect(stderr).toMatch(words);
  });

  it.each<[readonly string[], string]>([
    [["rnu", "triage.yml"], "unknown command 'rnu'\n(Did you mean run?)"],
    [["run"], "missing required argument 'workflow'"],
    [["run", "triage.yaml"], "there is no file triage.yaml\n    did you mean triage.yml?"],
    [["run", "triage.yml", "--modle", "x"], "unknown option '--modle'\n(Did you mean --model?)"],
    [["run", "triage.test.yml"], "triage.test.yml:1:1 error SCHEMA this is a test, not a workflow"],
    [["run", "triage.yml", "-i", "servce=shop"], 'the workflow declares no input "servce"; did you mean "service"?'],
    [[...SCRIPTED, "-i", "service"], '-i takes KEY=VALUE, not "service"'],
    [
      [...SCRIPTED, "--input", "{service: shop}"],
      "--input is not valid JSON: line 1, column 2: a key or } is expected",
    ],
    [[...SCRIPTED, "--input", "alert.json"], "write @alert.json for the file"],
    [[...SCRIPTED, "--input", "@alrt.json"], "there is no input file alrt.json\n  did you mean alert.json?"],
    [[...SCRIPTED, "--input", "@alert.json"], "alert.json is not valid JSON: line 1, column 2: a key or } is expected"],
    [["run", "triage.yml", "--writes", "dry"], "argument 'dry' is invalid. Allowed choices are allow, plan, deny"],
    [["run", "triage.yml", "--max-cost", "$5"], '--max-cost must be a number above zero, not "$5"'],
    [
      ["run", "triage.yml", "--timeout", "5 minutes"],
      "--timeout must be a duration such as 500ms, 90s, 10m, 2h or 14d",
    ],
    [["run", "triage.yml", "--add-skill", "judeg=logs", "-i", "service=shop"], "did you mean judge?"],
    [["test", "tests"], "there is no file or folder tests"],
    [["test", "--filter", "nosuch"], 'no case\'s name contains "nosuch"\n  the cases: noise'],
    [["test", "--report", "html=x"], '--report takes junit=PATH or md=PATH, not "html=x"'],
    [["test", "--from", "nosuch"], 'there is no run "nosuch"\n  skillflow runs list'],
    [["skills", "show", "slak"], 'there is no skill "slak"\n  did you mean slack?'],
    [["schema", "worklow"], 'there is no schema "worklow"\n  did you mean workflow?'],
    [["validate", "--explain", "SCHEME"], "did you mean SCHEMA?"],
  ])("%j", async (args, words) => {
    const { code, stderr } = await runHere(args, { cwd });
    expect([code, stderr.split(words).length]).toEqual([2, 2]);
  });
});
