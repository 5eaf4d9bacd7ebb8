import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FLOW, SMALL, scriptOf, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, resultOf, runProgram } from "./program.ts";

const RUN = ["run", "flow.yml", "--model", "script:script.json"];

describe("the exit code", () => {
  it("is 0 when the run did what was asked", async () => {
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING });
    expect(await runProgram(RUN, { cwd })).toMatchObject({ code: 0 });
  });

  it("is 1 when a node failed", async () => {
    const failing = SMALL.replace(
      "Say something.",
      "Say something.\n    requires: { output_required: [input.service] }",
    );
    const cwd = makeProject({ "flow.yml": failing, "script.json": WORKING });
    const ended = await runProgram([...RUN, "--json"], { cwd });
    expect(ended.code).toBe(1);
    expect(resultOf(ended)).toMatchObject({
      status: "failed",
      exitCode: 1,
      error: { code: "node.failed", node: "only" },
    });
  });

  it("is 1 when an eval failed", async () => {
    const rule = "rule: { output_matches: [{ path: summary, matches: yes }] }";
    const judged = SMALL.replace(
      "Say something.",
      `Say something.\n    eval: [{ name: agrees, kind: value, ${rule} }]`,
    );
    const cwd = makeProject({ "flow.yml": judged, "script.json": scriptOf({ text: "no" }) });
    const ended = await runHere([...RUN, "--json"], { cwd });
    expect(ended.code).toBe(1);
    expect(resultOf(ended).results.only).toMatchObject({ status: "failed", evals: [{ name: "agrees", pass: false }] });
  });

  it("is 1 when no route could be chosen", async () => {
    const forked = FLOW.replace("to: post }", "to: post, when: it is bad }");
    const lost = { node: "look", choice: "nowhere" };
    const cwd = makeProject({ "flow.yml": forked, "script.json": scriptOf({ text: "looked" }, lost, lost) });
    const ended = await runHere([...RUN, "--json"], { cwd });
    expect(ended.code).toBe(1);
    expect(resultOf(ended).error).toMatchObject({ code: "route.unresolved", node: "look" });
  });

  it("is 1 when every visited node was skipped", async () => {
    const requires = "requires: { output_required: [input.service], on_fail: skip }";
    const skipped = SMALL.replace("Say something.", `Say something.\n    ${requires}`);
    const cwd = makeProject({ "flow.yml": skipped, "script.json": WORKING });
    const ended = await runHere([...RUN, "--json"], { cwd });
    expect(ended.code).toBe(1);
    expect(resultOf(ended).error).toMatchObject({ code: "run.no_work" });
    expect(ended.stderr).toContain("no work was done: every visited node was skipped");
  });

  it("is 2 when the workflow is wrong, and nothing ran", async () => {
    const cwd = makeProject({ "flow.yml": FLOW.replace("entry: look", "entry: lok"), "script.json": WORKING });
    const ended = await runProgram(RUN, { cwd });
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toMatch(/flow\.yml:4:1 error MISSING_ENTRY .*"lok".*\n +did you mean "look"\?/);
    expect(existsSync(join(cwd, ".skillflow"))).toBe(false);
  });

  it("is 3 when there is no model to ask, and nothing ran", async () => {
    const cwd = makeProject({ "flow.yml": FLOW });
    const ended = await runProgram(["run", "flow.yml"], { cwd });
    expect(ended).toMatchObject({ code: 3, stdout: "" });
    expect(ended.stderr).toContain("set ANTHROPIC_API_KEY or OPENAI_API_KEY");
    expect(existsSync(join(cwd, ".skillflow"))).toBe(false);
  });

  it("is 3 with --require-skills when a skill is unavailable, and nothing ran", async () => {
    const cwd = makeProject({ "flow.yml": FLOW.replaceAll("[desk]", "[desk, github]"), "script.json": WORKING });
    const ended = await runHere([...RUN, "--require-skills"], { cwd });
    expect(ended).toMatchObject({ code: 3, stdout: "" });
    expect(ended.stderr).toContain("github (GITHUB_TOKEN is not set)");
    expect(existsSync(join(cwd, ".skillflow"))).toBe(false);
  });

  it("is 3 when every visited node lost all of its skills", async () => {
    const cwd = makeProject({ "flow.yml": FLOW.replaceAll("[desk]", "[github]"), "script.json": texts() });
    const ended = await runHere([...RUN, "--json"], { cwd });
    expect(ended.code).toBe(3);
    expect(resultOf(ended)).toMatchObject({ status: "failed", error: { code: "skills.missing" } });
    expect(ended.stderr).toMatch(/next: \S*skillflow doctor flow\.yml/);
  });

  it("is 0 for a dry run of a node whose only skill is an MCP server, which a dry run does not connect", async () => {
    const flow = {
      id: "f",
      name: "F",
      entry: "use",
      edges: [],
      skills: { served: { name: "S", mcp: { command: "no" } } },
    };
    const nodes = { use: { name: "Use", instruction: "Use it.", skills: ["served"] } };
    const cwd = makeProject({
      "flow.yml": JSON.stringify({ ...flow, nodes }),
      "script.json": { replies: [{ text: "done" }] },
    });
    const ended = await runHere([...RUN, "--dry-run", "--trust-skill", "served"], { cwd });
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain("a dry run does not connect to MCP servers");
    const real = await runHere([...RUN, "--trust-skill", "served"], { cwd });
    expect(real.code).toBe(3);
  });

  it("is 0, degraded and with one warning, when a node has a skill left", async () => {
    const cwd = makeProject({ "flow.yml": FLOW.replaceAll("[desk]", "[desk, github]"), "script.json": WORKING });
    const ended = await runHere([...RUN, "--json"], { cwd });
    expect(ended.code).toBe(0);
    const reason = "GITHUB_TOKEN is not set";
    expect(resultOf(ended).degraded).toEqual([
      { skill: "github", node: "look", reason },
      { skill: "github", node: "post", reason },
    ]);
    const warnings = ended.stderr.split("\n").filter((line) => line.startsWith("warning"));
    expect(warnings).toEqual([`warning skills left out: github (${reason})`]);
  });

  it("is 4 when the model cannot be reached", async () => {
    const cwd = makeProject({ "flow.yml": SMALL });
    const model = ["--model", "openai-compatible:test", "--offline"];
    const env = { OPENAI_BASE_URL: "http://model.example/v1" };
    const ended = await runHere(["run", "flow.yml", ...model, "--json"], { cwd, env });
    expect(ended.code).toBe(4);
    expect(resultOf(ended).error).toMatchObject({ code: "offline.refused", node: "only" });
  });

  it("is 4 when the result cannot be written", async () => {
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING, "taken/result.json/is/a": "folder" });
    const ended = await runHere([...RUN, "--out", "taken"], { cwd });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain("cannot write a result");
    expect(ended.stderr, "the result is printed all the same").toContain("✔ succeeded");
  });

  it("is 4 when the result has no valid place, and nothing ran", async () => {
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING, taken: "a file" });
    const ended = await runProgram([...RUN, "--out", "taken/folder"], { cwd });
    expect(ended).toMatchObject({ code: 4, stdout: "", stderr: expect.stringContaining("nothing ran") });
    expect(existsSync(join(cwd, ".skillflow"))).toBe(false);
  });

  it.each([
    [["--report", "md=same", "--report", "html=./same"], /same would be written as md and as html/],
    [["--out", "d", "--report", "md=d/result.json"], /result\.json would be written as json and as md/],
  ])("is 2 when two reports have one file, and nothing ran: %j", async (args, message) => {
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING });
    const ended = await runHere([...RUN, ...args], { cwd });
    expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
    expect(existsSync(join(cwd, ".skillflow/runs"))).toBe(false);
  });

  it("is 5 when a limit stopped the run, whose results so far are stored", async () => {
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING });
    const ended = await runProgram([...RUN, "--max-steps", "1", "--json", "--run-id", "short"], { cwd });
    expect(ended.code).toBe(5);
    expect(resultOf(ended)).toMatchObject({ status: "stopped", error: { code: "limit.reached" } });
    expect(resultOf(ended).results.look).toMatchObject({ status: "success" });
    expect(ended.stderr).toMatch(/skillflow resume short/);
    const again = await runProgram(["resume", "short", "--max-steps", "9", "--json"], { cwd });
    expect(again.code).toBe(0);
    expect(resultOf(again).trace.steps.map((step) => step.node)).toEqual(["look", "post"]);
  });
});

function texts() {
  return scriptOf({ node: "look", text: "nothing to look with" }, { node: "post", text: "nothing to post with" });
}
