import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { backtestResultSchema } from "../../../src/core/outward/testing/backtest-result.ts";
import { runHere } from "../in-process.ts";
import { makeProject, runProgram } from "../program.ts";

/** `skillflow backtest`, with a tool that knows what happened after the case's time. */

const WORKFLOW = `id: triage
name: Triage
entry: look
verdict: look.verdict
report: { headline: look.cause, cause: look.cause }
nodes:
  look:
    name: Look
    instruction: Judge.
    skills: [oracle]
    output:
      type: object
      properties: { verdict: { type: string }, cause_kind: { type: string }, cause: { type: string }, seen: { type: string } }
edges: []
`;
const tool = (name: string, clock: string) => `{
  name: "${name}", description: "Events.", input_schema: { type: "object" }, effect: "read"${clock},
  handler: (_, context) => ({ now: new Date(context.now()).toISOString(), dir: context.workDir, events: [
    { at: "2026-03-01T11:00:00Z", text: "it broke" }, { at: "2026-03-01T13:00:00Z", text: "it was the disk" } ] }) }`;
const SKILL = `export default { id: "oracle", name: "Oracle", description: "Knows all", category: "general", config: {},
  tools: [${tool("events", ', clock: "range"')}, ${tool("state", ', clock: "snapshot"')}] };`;
const reply = (data: object) => [
  {
    node: "look",
    calls: [
      { tool: "oracle_events", input: {} },
      { tool: "oracle_state", input: {} },
    ],
  },
  { node: "look", data },
];
const RIGHT = { verdict: "incident", cause_kind: "infrastructure", cause: "the disk is full" };
const CASE = `id: disk
input: { service: api }
as_of: 2026-03-01T12:00:00Z
files: evidence
truth: { verdict: incident, cause_kind: infrastructure, cause_matches: [disk], decoys: [deploy] }
`;
const project = (data: object = RIGHT) =>
  makeProject({
    "triage.yml": WORKFLOW,
    "skills/oracle/skill.mjs": SKILL,
    "skills/oracle/SKILL.md": "---\nname: oracle\ndescription: Knows all\n---\nAsk.",
    "script.json": { replies: reply(data) },
    "cases/disk/case.yml": CASE,
    "cases/disk/evidence/log.txt": "full",
  });
const args = ["backtest", "cases", "--model", "script:script.json", "--trust-skill", "oracle"];

it("grades cases, stops the clock, removes later content, and names what it cannot remove", async () => {
  const cwd = project();
  const ended = await runHere([...args, "--json", "--out", "out"], { cwd });
  expect(ended.code, ended.stderr).toBe(0);
  const { cases, total } = JSON.parse(ended.stdout);
  expect(total).toMatchObject({ score: 1, right: 3, agreement: 1, decoys: 0 });
  expect(cases[0]).toMatchObject({ id: "disk", unbounded: [{ tool: "oracle_state", calls: 3 }] });
  expect(readdirSync(join(cwd, "out/runs"))).toEqual(["disk.1.jsonl", "disk.2.jsonl", "disk.3.jsonl"]);
  expect(existsSync(join(cwd, "out/backtest.md"))).toBe(true);
  const lines = readFileSync(join(cwd, "out/runs/disk.1.jsonl"), "utf8").trim().split("\n");
  const results = lines
    .map((line) => JSON.parse(line))
    .flatMap((event) => (event.type === "tool:result" ? [event] : []));
  const outputs = Object.fromEntries(results.map(({ tool: name, output }) => [name, output]));
  expect(outputs.oracle_events).toMatchObject({ now: "2026-03-01T12:00:00.000Z", events: [{ text: "it broke" }] });
  expect(outputs.oracle_events.events).toHaveLength(1);
  expect(outputs.oracle_state.events).toHaveLength(2);
  expect(outputs.oracle_state.dir).not.toBe(cwd);
  // Such runs are not runs of the project.
  expect(JSON.parse((await runHere(["runs", "list", "--json"], { cwd })).stdout).runs).toEqual([]);
  expect(
    JSON.parse((await runHere(["runs", "list", "--json", "--kind", "backtest"], { cwd })).stdout).runs,
  ).toHaveLength(3);
  expect((await runHere(["runs", "show", "latest"], { cwd })).code).toBe(2);
  const again = await runHere(
    ["backtest", "cases/disk", "--model", "replay:out", "--trust-skill", "oracle", "--runs", "1", "--json"],
    { cwd },
  );
  expect(JSON.parse(again.stdout).total).toMatchObject({ right: 1 });
  const more = ["backtest", "cases/disk", "--model", "replay:out", "--trust-skill", "oracle", "--runs", "4"];
  const missing = await runHere(more, { cwd });
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringMatching(/disk\.4\.jsonl[\s\S]*--runs 3/)]);
});

it("leaves out tools without a clock, if asked", async () => {
  const ended = await runHere([...args, "--json", "--runs", "1", "--strict-clock"], { cwd: project() });
  expect(JSON.parse(ended.stdout).cases[0]).toMatchObject({ unbounded: [], right: 1 });
});

it("exits with 1 if the score fell below the baseline (as a process)", async () => {
  const cwd = project();
  const first = await runHere([...args, "--runs", "1", "--out", "before"], { cwd });
  expect(first.code, first.stderr).toBe(0);
  expect(first.stdout).toContain("disk");
  const worse = { replies: reply({ ...RIGHT, verdict: "false_alarm" }) };
  writeFileSync(join(cwd, "script.json"), JSON.stringify(worse));
  const second = await runProgram([...args, "--runs", "1", "--baseline", "before/backtest.json", "--json"], { cwd });
  expect(second.code).toBe(1);
  const { total, baseline, cases } = backtestResultSchema().strict().parse(JSON.parse(second.stdout));
  expect([total.wrong, cases.length]).toEqual([1, 1]);
  expect(baseline).toMatchObject({ before: 1, now: 0, spread: 0, fell: true });
});

test.each<[string, string, string[], RegExp]>([
  ["a pattern that is none", CASE.replace("[disk]", "['(']"), [], /case\.yml:5/],
  ["no pattern at all", CASE.replace("[disk]", "[]"), [], /cause_matches must not be empty/],
  [
    "a short commit",
    CASE.replace("cause_matches: [disk]", "commit: a1"),
    [],
    /commit must be a commit id of at least 7/,
  ],
  ["an input that is a text", CASE.replace("{ service: api }", "alert.json"), [], /input must be a map or "@file"/],
  ["results at the place of a file", CASE, ["--out", "triage.yml"], /nothing ran: .*triage\.yml is not a folder/],
  ["records at the place of a file", CASE, ["--out", "cases/disk/evidence"], /nothing ran: .*runs is not a folder/],
  ["a time without a zone", CASE.replace("12:00:00Z", "12:00:00"), [], /case\.yml:3/],
  ["an unknown field", `${CASE}more: 1\n`, [], /case\.yml:6/],
  ["files that are not there", CASE.replace("evidence", "nothing"), [], /case\.yml:4/],
  ["a baseline that is none", CASE, ["--baseline", "triage.yml"], /baseline|backtest\.json/],
  ["writes", CASE, ["--writes", "allow"], /never writes/],
])("exits with 2 for %s", async (_, text, more, told) => {
  const cwd = project();
  writeFileSync(join(cwd, "cases/disk/case.yml"), text);
  writeFileSync(join(cwd, "cases/disk/evidence/runs"), "");
  const ended = await runHere([...args, ...more], { cwd });
  expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(told)]);
});

it("creates cases from the runs that users judged", async () => {
  const cwd = project();
  const run = ["run", "triage.yml", "--model", "script:script.json", "--trust-skill", "oracle", "--run-id", "one"];
  expect((await runHere(run, { cwd })).code).toBe(0);
  expect((await runHere(["feedback", "one", "right"], { cwd })).code).toBe(0);
  mkdirSync(join(cwd, "none"));
  const given = [
    "backtest",
    "--from-feedback",
    "--model",
    "script:script.json",
    "--trust-skill",
    "oracle",
    "--runs",
    "1",
  ];
  const ended = await runHere([...given, "--json"], { cwd });
  expect(ended.code, ended.stderr).toBe(0);
  expect(JSON.parse(ended.stdout).cases[0]).toMatchObject({ id: "one", right: 1, truth: { verdict: "incident" } });
});
