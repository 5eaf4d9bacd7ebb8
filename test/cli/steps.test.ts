import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/**
 * A workflow with steps nodes, for each command. No model is called, so no key is needed. Untrusted tools count as
 * writes.
 */

const SKILL = `export default {
  id: "gadget", name: "Desk", description: "d", category: "general", config: {},
  tools: [
    { name: "look", description: "d", effect: "read", input_schema: { type: "object" }, handler: ({ id }) => ({ found: "issue " + id }) },
    { name: "file", description: "d", effect: "write", targets: ["team"], input_schema: { type: "object" }, handler: () => ({ url: "https://gadget.test/1" }) },
  ],
};`;
const WORKFLOW = `id: w
name: W
entry: look
nodes:
  look:
    name: Look
    skills: [gadget]
    steps:
      - { id: found, tool: gadget_look, with: { id: "{{input.id}}" } }
      - { id: issue, tool: file, with: { team: OPS, title: "{{steps.found.found}}" } }
  tell:
    name: Tell
    skills: [gadget]
    steps:
      - { id: again, tool: look, with: { id: "{{look.issue.url}}" }, on_error: skip }
edges:
  - { from: look, to: tell }
`;
const TEST = `workflow: ./w.yml
tools:
  gadget_look: [{ output: { found: it } }]
  gadget_file: [{ output: { url: "https://gadget.test/2" } }]
cases:
  - name: plans
    writes: plan
    input: { id: 7 }
    expect: { steps: { look.found: planned, look.issue: planned, tell.again: planned }, planned: [{ tool: gadget_file }] }
  - name: writes
    input: { id: 7 }
    expect: { steps: { look.issue: success, tell.again: success }, called: [gadget_look, gadget_file] }
`;

let cwd = "";
const here = (...argv: string[]) => runHere(argv, { cwd });
beforeAll(async () => {
  cwd = makeProject({ "w.yml": WORKFLOW, "w.test.yml": TEST, ".claude/skills/gadget/skill.js": SKILL });
  const ended = await here(
    "run",
    "w.yml",
    "--input",
    '{"id":7}',
    "--run-id",
    "one",
    "--trust-skill",
    "gadget",
    "--json",
  );
  expect([ended.code, ended.stderr]).toEqual([0, expect.any(String)]);
});

describe("a run of steps", () => {
  it.each([
    [["validate", "w.yml"], /valid|no findings|w\.yml/],
    [["graph", "w.yml"], /\[\["Look<br\/>gadget#95;look<br\/>file<br\/>tainted"\]\]/],
    [["runs", "list"], /one/],
    [["runs", "export", "one", "--format", "atif"], /gadget_look/],
    [["test", "w.test.yml"], /2 passed/],
    [["schema", "workflow"], /"show"/],
  ])("%j", async (argv, expected) => {
    const { code, stdout, stderr } = await here(...argv);
    expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(expected)]);
  });

  it.each([
    ["html", /gadget_file/],
    ["junit", /testcase/],
    ["md", /Look/],
    ["sarif", /runs/],
    ["mermaid", /gadget#95;look/],
  ])("is in the report %s", async (kind, expected) => {
    const file = join(cwd, `report.${kind}`);
    expect((await here("report", "one", "--report", `${kind}=${file}`)).code).toBe(0);
    expect(readFileSync(file, "utf8")).toMatch(expected);
  });

  it("replays", async () => {
    const file = join(cwd, "one.jsonl");
    writeFileSync(file, readFileSync(join(cwd, ".skillflow/runs/one.jsonl")));
    expect((await here("replay", file)).code).toBe(0);
  });
});

it("ends a dry run before the first node of steps without a model, although a later node asks one", async () => {
  const judged = WORKFLOW.replace(
    "edges:",
    "  judge: { name: Judge, instruction: Say what it is. }\nedges:\n  - { from: tell, to: judge }",
  );
  writeFileSync(join(cwd, "judged.yml"), judged);
  const dry = await here("run", "judged.yml", "--input", '{"id":7}', "--dry-run", "--store", "dry runs");
  expect(dry).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^ {2}a dry run ends before the steps node \w+$/m),
  });
  expect(dry.stderr).toMatch(/^next: skillflow runs show \S+ --store 'dry runs'$/m);
  expect((await here("run", "judged.yml", "--input", '{"id":7}', "--json")).code).toBe(3);
});
