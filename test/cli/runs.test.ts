import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FLOW, SMALL, scriptOf, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { forgedRecord, makeProject, runFile } from "./program.ts";

const LOOK = { node: "look", calls: [{ tool: "desk_look", input: { text: "a" } }] };
const OTHER = {
  replies: [
    { node: "look", calls: [{ tool: "desk_look", input: { text: "z" } }] },
    { node: "look", text: "all is well" },
    { node: "post", calls: [{ tool: "desk_post", input: { text: "b" } }] },
    { node: "post", text: "it is posted" },
  ],
};
const LOOP = `
id: loop
name: Loop
entry: look
nodes:
  look:
    name: Look
    instruction: Look at the desk.
    skills: [desk]
    output: { type: object, properties: { again: { type: boolean } }, required: [again] }
edges:
  - { from: look, to: look, if: look.again = true, max_iterations: 3 }
`;
const files = { "flow.yml": FLOW, "script.json": WORKING, "other.json": OTHER, "small.yml": SMALL, "loop.yml": LOOP };

async function project(...runs: readonly (readonly string[])[]): Promise<string> {
  const cwd = makeProject(files);
  for (const [id = "", script = "script.json", ...flags] of runs) {
    await runHere(["run", "flow.yml", "--model", `script:${script}`, "--run-id", id, ...flags], { cwd });
  }
  return cwd;
}

const parse = (text: string) => JSON.parse(text);

describe("runs show of a node", () => {
  it("shows prompts, answers, calls and costs", async () => {
    const cwd = await project(["r"]);
    const { code, stdout } = await runHere(["runs", "show", "r", "look", "--json"], { cwd });
    expect(code).toBe(0);
    const { visits, ...head } = parse(stdout);
    expect(head).toEqual({ schema: "skillflow.node/1", run: "r", node: "look", name: "Look" });
    expect(visits).toEqual([
      expect.objectContaining({
        visit: 1,
        status: "success",
        usage: expect.objectContaining({ modelCalls: 2, costUsd: 0 }),
        data: { summary: "it is broken" },
        route: { to: "post", reason: "only path" },
        calls: [
          expect.objectContaining({ ref: "r1", tool: "desk_look", input: { text: "a" }, output: expect.anything() }),
        ],
      }),
    ]);
    const [first, second] = visits[0].asks;
    expect(first.prompt).toMatchObject({ continues: false, tools: expect.arrayContaining(["desk_look"]) });
    expect(first.prompt.opening.join("\n")).toContain("Look at the desk.");
    expect(second.prompt).toMatchObject({
      continues: true,
      opening: [],
      turns: [{ role: "assistant" }, { role: "tools" }],
    });
    expect(second.reply.parts).toEqual([{ type: "text", text: "it is broken" }]);
  });

  it("is printed in chronological order", async () => {
    const cwd = await project(["r"]);
    const { stdout } = await runHere(["runs", "show", "r", "look"], { cwd });
    const places = [
      "Look · look#1 · ✔ succeeded",
      "Look at the desk.",
      'calls desk_look {"text":"a"}',
      "✔ r1 desk_look",
      "it is broken",
      "→ post: only path",
    ];
    const found = places.map((place) => stdout.indexOf(place));
    expect(found).toEqual([...found].sort((a, b) => a - b));
    expect(found).not.toContain(-1);
  });

  it("shows the one visit of a loop that is named by its number", async () => {
    const cwd = makeProject({
      ...files,
      "loop.json": scriptOf({ node: "look", data: { again: true } }, { node: "look", data: { again: false } }),
    });
    await runHere(["run", "loop.yml", "--model", "script:loop.json", "--run-id", "l"], { cwd });
    const visits = async (node: string) => {
      const { stdout } = await runHere(["runs", "show", "l", node, "--json"], { cwd });
      return parse(stdout).visits.map(({ visit, data }: { visit: number; data: object }) => [visit, data]);
    };
    expect(await visits("look")).toEqual([
      [1, { again: true }],
      [2, { again: false }],
    ]);
    expect(await visits("look#2")).toEqual([[2, { again: false }]]);
    const { code, stderr } = await runHere(["runs", "show", "l", "look#3"], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining("visited look 2 times")]);
  });

  it.each([
    ["lok", "did you mean look?"],
    ["nothing-like-it", "choose one of its nodes: look, post"],
  ])("names the existing nodes instead of %s", async (node, hint) => {
    const { code, stderr } = await runHere(["runs", "show", "r", node], { cwd: await project(["r"]) });
    expect([code, stderr]).toEqual([2, expect.stringContaining(hint)]);
  });

  it("shows recorded prompts, not what this version would ask", async () => {
    const cwd = await project(["r"]);
    const path = runFile(cwd, "r");
    const text = readFileSync(path, "utf8").replaceAll("Look at the desk.", "Look under the desk.");
    writeFileSync(path, forgedRecord(text));
    const { stdout } = await runHere(["runs", "show", "r", "look", "--json"], { cwd });
    expect(parse(stdout).visits[0].asks[0].prompt).toBeNull();
  });
});

describe("runs diff", () => {
  it("reports a replay as the same, in words", async () => {
    const cwd = await project(["a"]);
    await runHere(["replay", "a", "--run-id", "b"], { cwd });
    const { code, stdout } = await runHere(["runs", "diff", "a", "b", "--json", "--exit-code"], { cwd });
    expect([code, parse(stdout)]).toMatchObject([
      0,
      {
        schema: "skillflow.diff/1",
        same: true,
        path: { first: null, a: ["look", "post"], b: ["look", "post"] },
        nodes: {},
      },
    ]);
    expect((await runHere(["runs", "diff", "a", "b"], { cwd })).stdout).toContain("✔ same path");
  });

  it("shows differing results, calls and prompts, node by node", async () => {
    const cwd = await project(["a"], ["b", "other.json"]);
    const { stdout } = await runHere(["runs", "diff", "a", "b", "--json"], { cwd });
    const { same, runs, path, nodes } = parse(stdout);
    expect([same, path.first]).toEqual([false, null]);
    expect(runs).toEqual([
      expect.objectContaining({
        id: "a",
        status: "succeeded",
        verdict: null,
        model: "script:script.json",
        costUsd: 0,
        tokens: 60,
      }),
      expect.objectContaining({ id: "b", model: "script:other.json" }),
    ]);
    expect(nodes.look).toMatchObject({
      status: { a: "success", b: "success" },
      data: [{ path: "summary", a: "it is broken", b: "all is well" }],
      calls: [
        { tool: "desk_look", input: { text: "a" }, a: { output: expect.anything() } },
        { tool: "desk_look", input: { text: "z" }, b: { output: expect.anything() } },
      ],
      prompt: null,
    });
    expect(nodes.post).toMatchObject({ data: [], calls: [] });
    expect(nodes.post.prompt).toMatch(/^-.*it is broken.*\n\+.*all is well/m);
  });

  it("names the first node that the other run did not enter", async () => {
    const cwd = makeProject({ ...files, "short.json": scriptOf(LOOK, { node: "look", text: "it is broken" }) });
    for (const [id, script] of [
      ["a", "script"],
      ["b", "short"],
    ]) {
      await runHere(["run", "flow.yml", "--model", `script:${script}.json`, "--run-id", id ?? ""], { cwd });
    }
    await runHere(["run", "flow.yml", "--model", "script:script.json", "--run-id", "c", "--max-steps", "1"], { cwd });
    const { stdout } = await runHere(["runs", "diff", "a", "c", "--json"], { cwd });
    expect(parse(stdout)).toMatchObject({
      same: false,
      path: { first: "post", a: ["look", "post"], b: ["look"] },
      nodes: { post: { status: { a: "success", b: null }, data: [], calls: [], prompt: null } },
    });
  });

  it("ends with 1 only if requested and if they differ", async () => {
    const cwd = await project(["a"], ["b", "other.json"]);
    const codes = [[], ["--exit-code"], ["--exit-code", "--json"]].map(async (flags) => {
      return (await runHere(["runs", "diff", "a", "b", ...flags], { cwd })).code;
    });
    expect(await Promise.all(codes)).toEqual([0, 1, 1]);
  });

  it("fits into 80 columns", async () => {
    const cwd = await project(["a"], ["b", "other.json"]);
    const { stdout } = await runHere(["runs", "diff", "a", "b"], { cwd, isTerminal: true, env: { NO_COLOR: "1" } });
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(stdout).toContain("path  look → post\n");
    expect(stdout).toMatch(/ {4}summary\n {6}- "it is broken"\n {6}\+ "all is well"\n/);
  });

  it("accepts recordings that are files", async () => {
    const cwd = await project(["a"]);
    copyFileSync(runFile(cwd, "a"), `${cwd}/kept.jsonl`);
    const { code, stdout } = await runHere(["runs", "diff", "a", "kept.jsonl", "--json"], { cwd });
    expect([code, parse(stdout).same]).toEqual([0, true]);
  });
});

describe("runs list", () => {
  it("shows the kind, the end, the usage and the time of each run", async () => {
    const cwd = await project(
      ["a"],
      ["dry", "script.json", "--dry-run"],
      ["stopped", "script.json", "--max-steps", "1"],
    );
    await runHere(["replay", "a", "--run-id", "again"], { cwd });
    const { stdout } = await runHere(["runs", "list", "--json"], { cwd });
    const { schema, runs } = parse(stdout);
    expect(schema).toBe("skillflow.runs/1");
    const rows = runs.map(({ id, kind, status, exitCode }: Record<string, unknown>) => [id, kind, status, exitCode]);
    expect(rows).toEqual([
      ["again", "replay", "succeeded", 0],
      ["stopped", "run", "stopped", 5],
      ["dry", "dry-run", "succeeded", 0],
      ["a", "run", "succeeded", 0],
    ]);
    expect(runs[3]).toEqual({
      id: "a",
      kind: "run",
      workflow: "flow",
      name: "Look and post",
      status: "succeeded",
      exitCode: 0,
      unrouted: null,
      verdict: null,
      degraded: [],
      model: "script:script.json",
      costUsd: 0,
      inputTokens: 0,
      outputTokens: 60,
      startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      endedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      durationMs: expect.any(Number),
    });
  });

  it("uses the newest real run as latest", async () => {
    const cwd = await project(["a"], ["b", "other.json"], ["dry", "script.json", "--dry-run"]);
    await runHere(["replay", "a", "--run-id", "again"], { cwd });
    const { stdout } = await runHere(["runs", "show", "latest", "--json"], { cwd });
    expect(parse(stdout).run).toBe("b");
  });

  it("fits a terminal of 80 columns, and shows a long id in full", async () => {
    const long = `a-very-long-name-of-a-run-${"x".repeat(90)}`;
    const cwd = await project(["a"], [long]);
    const { stdout } = await runHere(["runs", "list"], { cwd, isTerminal: true, env: { NO_COLOR: "1" } });
    const lines = stdout.split("\n");
    expect(lines.filter((line) => line.length > 80)).toEqual([expect.stringContaining(long)]);
    expect(stdout).toContain("✔ succeeded a · flow\n");
  });
});
