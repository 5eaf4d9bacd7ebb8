import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { statsSchema } from "../../src/core/engine/record/stats.ts";
import { filesOfRun } from "../../src/stores/file/store.ts";
import { runHere } from "./in-process.ts";
import { forgedRecord, makeProject, readEvents, runFile, runProgram } from "./program.ts";
import { plannedRun } from "./sink.ts";

/** After a run: a person's judgement, counts over runs, and a new run that starts from an earlier one. */

const LOOK = `
id: look
name: Look
entry: look
inputs: { level: { type: number } }
verdict: look.verdict
report: { headline: look.headline, cause: look.cause }
nodes:
  look:
    name: Look
    instruction: Look.
    output: { type: object, properties: { verdict: { type: string }, headline: { type: string }, cause: { type: string } } }
edges: []
`;
const ASK = {
  id: "ask",
  name: "Ask",
  entry: "ask",
  nodes: { ask: { name: "Ask", approval: { ask: "Go?" } } },
  edges: [],
};
const answer = (data: object) => ({ replies: [{ node: "look", data }] });
const EVIL = "pool\u001b[31m\u202e\nis full <img src=x>";

async function project(): Promise<string> {
  const cwd = makeProject({
    "look.yml": LOOK,
    "ask.json": ASK,
    "real.json": answer({ verdict: "real", headline: "The pool is full", cause: "pool" }),
    "empty.json": { replies: [] },
  });
  await run(cwd, "r1");
  return cwd;
}

function run(cwd: string, id: string, ...args: string[]) {
  return runHere(["run", "look.yml", "--model", "script:real.json", "--run-id", id, ...args], { cwd });
}

const inputOf = (cwd: string, id: string) =>
  JSON.parse(readFileSync(runFile(cwd, id), "utf8").split("\n")[0] ?? "").input;
const linesIn = (cwd: string) => readFileSync(join(cwd, ".skillflow/state/_feedback.jsonl"), "utf8").split("\n");
const feedback = (cwd: string, ...args: string[]) => runHere(["feedback", ...args], { cwd, env: { USER: "kim" } });
async function statsOf(cwd: string, ...args: string[]) {
  const { code, stdout } = await runHere(["stats", "--json", ...args], { cwd });
  expect(code).toBe(0);
  return statsSchema().parse(JSON.parse(stdout));
}

describe("run --from-run", () => {
  it("passes the verdict, finding and results of the earlier run as input.run", async () => {
    const cwd = await project();
    const { code, stderr } = await run(cwd, "r2", "--from-run", "r1", "-i", "level=2");
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("declares no input")]);
    const shown = await runHere(["runs", "show", "r1", "--json"], { cwd });
    const { finding, results } = JSON.parse(shown.stdout);
    const added = { title: "The pool is full", markdown: expect.stringContaining("pool") };
    expect(inputOf(cwd, "r2")).toEqual({
      level: 2,
      run: { id: "r1", verdict: "real", finding: { ...finding, ...added }, results },
    });
  });

  it("passes no title if the earlier run has neither a headline nor a cause nor a verdict", async () => {
    const cwd = await project();
    writeFileSync(join(cwd, "bare.json"), JSON.stringify(answer({ ruled_out: ["a release"] })));
    expect((await run(cwd, "bare", "--model", "script:bare.json")).code).toBe(0);
    expect((await run(cwd, "r2", "--from-run", "bare")).code).toBe(0);
    const { finding } = inputOf(cwd, "r2").run;
    expect(finding.markdown).toContain("a release");
    expect(finding).not.toHaveProperty("title");
  });

  it("accepts a failed run, which may have found nothing", async () => {
    const cwd = await project();
    expect((await run(cwd, "bad", "--model", "script:empty.json")).code).not.toBe(0);
    expect((await run(cwd, "r2", "--from-run", "bad")).code).toBe(0);
    expect(inputOf(cwd, "r2").run).toMatchObject({ id: "bad", verdict: null });
  });

  const edit = (change: (text: string) => string) => async (cwd: string) => {
    writeFileSync(runFile(cwd, "r1"), change(readFileSync(runFile(cwd, "r1"), "utf8")));
  };
  it.each<readonly [string, readonly string[], number, (cwd: string) => Promise<unknown>]>([
    ["an unknown run", ["--from-run", "none"], 2, async () => undefined],
    ["run in the input, too", ["--from-run", "r1", "--input", '{"run":{}}'], 2, async () => undefined],
    [
      "a run that waits",
      ["--from-run", "w"],
      2,
      (cwd) => runHere(["run", "ask.json", "--model", "script:real.json", "--run-id", "w"], { cwd }),
    ],
    ["a changed record", ["--from-run", "r1"], 4, edit((text) => text.replace("The pool", "The disk"))],
    ["a record without its last line", ["--from-run", "r1"], 4, edit((text) => text.replace(/[^\n]*\n$/, ""))],
    [
      "a run whose process was killed",
      ["--from-run", "r1"],
      2,
      async (cwd) => {
        await edit((text) => text.replace(/[^\n]*\n$/, ""))(cwd);
        mkdirSync(filesOfRun(join(cwd, ".skillflow/runs"), "r1").lock);
      },
    ],
    ["a record that is cut within a line", ["--from-run", "r1"], 4, edit((text) => text.slice(0, -40))],
    [
      "a record without digests",
      ["--from-run", "r1"],
      4,
      edit((text) => text.replace(/,"(seal|record)":"[0-9a-f]+"/g, "")),
    ],
  ])("refuses %s", async (_, args, code, prepare) => {
    const cwd = await project();
    await prepare(cwd);
    const ended = await run(cwd, "r2", ...args);
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining("error: ")]);
    expect(() => readEvents(cwd, "r2")).toThrow();
  });
});

describe("feedback", () => {
  it("keeps each judgement as a line next to the states, and nothing in the run's record", async () => {
    const cwd = await project();
    const before = readFileSync(runFile(cwd, "r1"), "utf8");
    expect((await feedback(cwd, "r1", "right")).code).toBe(0);
    const { code, stdout } = await feedback(cwd, "r1", "wrong", "--cause", EVIL, "--by", "ada\u001b[2J");
    expect([code, stdout]).toEqual([0, expect.stringContaining("r1: wrong, says ada")]);
    expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    const common = { kind: "judgement", run: "r1", workflow: "look", at, verdict: "real" };
    expect(
      linesIn(cwd)
        .slice(0, 2)
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { ...common, judgement: "right", by: expect.stringMatching(/^kim@/) },
      { ...common, judgement: "wrong", cause: EVIL, by: "ada\u001b[2J" },
    ]);
    expect(readFileSync(runFile(cwd, "r1"), "utf8")).toBe(before);
    expect((await statsOf(cwd)).rows).toMatchObject([{ right: 0, partly: 0, wrong: 1 }]);
    const shown = await runHere(["state", "show", "_feedback"], { cwd });
    expect(shown.stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  });

  it("names the user of a CI job, and judges failed runs", async () => {
    const cwd = await project();
    await run(cwd, "bad", "--model", "script:empty.json");
    const env = { USER: "runner", GITHUB_ACTIONS: "true", GITHUB_ACTOR: "octocat" };
    const { code, stdout } = await runHere(["feedback", "bad", "partly", "--json"], { cwd, env });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { run: "bad", by: "octocat@github-actions", verdict: null }]);
  });

  it.each([
    [["none", "right"], 'there is no run "none"'],
    [["r1", "rigth"], "did you mean right?"],
    [["r1", "wrong", "--cause", " "], "--cause is empty"],
    [["r1", "wrong", "--by", ""], "--by is empty"],
    [["w", "right"], "run w has not ended"],
  ])("with %j records nothing and exits with 2", async (args, message) => {
    const cwd = await project();
    await runHere(["run", "ask.json", "--model", "script:real.json", "--run-id", "w"], { cwd });
    const { code, stderr } = await feedback(cwd, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(() => linesIn(cwd)).toThrow();
  });

  it("accepts a cause of 2,000 characters, and no longer one", async () => {
    const cwd = await project();
    const { code, stderr } = await feedback(cwd, "r1", "wrong", "--cause", "x".repeat(2001));
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("the cause has 2001 characters; at most 2000 are allow"),
    ]);
    expect(() => linesIn(cwd)).toThrow();
    expect((await feedback(cwd, "r1", "wrong", "--cause", "x".repeat(2000))).code).toBe(0);
  });

  it("exits with 4 if the end of the record is missing", async () => {
    const cwd = await project();
    writeFileSync(runFile(cwd, "r1"), readFileSync(runFile(cwd, "r1"), "utf8").slice(0, -40));
    const { code, stderr } = await feedback(cwd, "r1", "right");
    expect([code, stderr]).toEqual([4, expect.stringContaining("run r1 cannot be used")]);
    expect(() => linesIn(cwd)).toThrow();
  });

  it("loses no line if two processes write, and none after a truncated line", async () => {
    const cwd = await project();
    expect((await feedback(cwd, "r1", "right")).code).toBe(0);
    appendFileSync(join(cwd, ".skillflow/state/_feedback.jsonl"), '{"kind":"judgement","run":"r1","judg');
    expect((await statsOf(cwd)).skipped).toEqual([{ line: 2, reason: "the line is not JSON" }]);
    const names = ["a", "b"];
    const both = names.map((by) => runProgram(["feedback", "r1", "partly", "--by", by], { cwd }));
    expect((await Promise.all(both)).map(({ code }) => code)).toEqual([0, 0]);
    const lines = linesIn(cwd);
    expect([lines.length, lines[1], lines[4]]).toEqual([5, '{"kind":"judgement","run":"r1","judg', ""]);
    expect(
      lines
        .slice(2, 4)
        .map((line) => JSON.parse(line).by)
        .sort(),
    ).toEqual(names);
    expect(await statsOf(cwd)).toMatchObject({ rows: [{ right: 0, partly: 1 }], skipped: [{ line: 2 }] });
  });

  it("stays when the run is pruned", async () => {
    const cwd = await project();
    await feedback(cwd, "r1", "right");
    await runHere(["runs", "prune", "--keep", "0"], { cwd });
    expect(linesIn(cwd)).toHaveLength(2);
    expect(await statsOf(cwd)).toMatchObject({ rows: [], skipped: [] });
  });

  it("is stored in the place that --state names", async () => {
    const cwd = await project();
    expect((await feedback(cwd, "r1", "right", "--state", "other")).code).toBe(0);
    expect(readFileSync(join(cwd, "other/_feedback.jsonl"), "utf8")).toContain('"judgement":"right"');
    expect((await statsOf(cwd, "--state", "other")).rows).toMatchObject([{ right: 1 }]);
  });
});

describe("stats", () => {
  let cwd = "";
  beforeAll(async () => {
    cwd = await project();
    await run(cwd, "r2");
    await run(cwd, "bad", "--model", "script:empty.json");
    await run(cwd, "dry", "--dry-run");
    await feedback(cwd, "r2", "partly");
    await feedback(cwd, "bad", "wrong");
  });

  it("counts real runs per workflow and model", async () => {
    const { rows, since, skipped } = await statsOf(cwd);
    expect([skipped, Math.round((Date.now() - Date.parse(since)) / 86_400_000)]).toEqual([[], 30]);
    const none = { right: 0, partly: 0, wrong: 0, planned: 0, applied: 0, rejected: 0 };
    const rechecks = { held: 0, not_held: 0, inconclusive: 0 };
    const row = { workflow: "look", ...none, rechecks, costUsd: 0, medianMs: expect.any(Number) };
    expect(rows).toEqual([
      { ...row, model: "script:empty.json", runs: 1, verdicts: {}, wrong: 1, tokens: { input: 0, output: 0 } },
      {
        ...{ ...row, model: "script:real.json", runs: 2, verdicts: { real: 2 }, partly: 1 },
        tokens: { input: 0, output: expect.any(Number) },
      },
    ]);
    const listed = await runHere(["runs", "list", "--json"], { cwd });
    const costs = (JSON.parse(listed.stdout).runs as { kind: string; outputTokens: number }[])
      .filter(({ kind }) => kind === "run")
      .reduce((sum, { outputTokens }) => sum + outputTokens, 0);
    expect(rows[1]?.tokens.output).toBe(costs);
    const { stdout } = await runHere(["stats"], { cwd });
    expect(stdout).toContain("0 right, 1 partly, 0 wrong");
  });

  it("leaves out runs that began before --since, and reports what it cannot read", async () => {
    const old = makeProject();
    const text = readFileSync(runFile(cwd, "r2"), "utf8");
    const earlier = new Date(Date.now() - 3 * 86_400_000).toISOString();
    await runHere(["run", join(cwd, "look.yml"), "--model", `script:${cwd}/real.json`, "--run-id", "new"], {
      cwd: old,
    });
    writeFileSync(runFile(old, "r2"), forgedRecord(text.replace(/"at":"[^"]*"/, `"at":"${earlier}"`)));
    writeFileSync(runFile(old, "torn"), "nothing\n");
    expect((await statsOf(old)).rows.map(({ runs }) => runs)).toEqual([1, 1]);
    const { rows, skipped } = await statsOf(old, "--since", "2d");
    expect([rows.map(({ runs }) => runs), skipped]).toEqual([[1], [{ run: "torn", reason: expect.any(String) }]]);
    expect((await statsOf(old, "--since", "9999999d")).since).toBe(new Date(0).toISOString());
    rmSync(old, { recursive: true });
  });

  it("counts planned writes: applied, refused at apply, and withdrawn", async () => {
    const { cwd: planned, apply } = await plannedRun(
      { title: "one" },
      { title: "two", link: "${op-1.nothing}" },
      { title: "three", link: "${op-1.nothing}" },
      { title: "boom" },
    );
    expect((await statsOf(planned)).rows).toMatchObject([{ planned: 4, applied: 0, rejected: 0 }]);
    await apply("--approve", "op-1,op-2,op-4");
    await apply("--approve", "op-2");
    expect((await statsOf(planned)).rows).toMatchObject([{ planned: 4, applied: 1, rejected: 1 }]);
    await feedback(planned, "r", "right");
    const line = {
      kind: "withdrawn",
      run: "r",
      workflow: "w",
      operation: "op-3",
      by: "kim",
      at: "2026-01-01T00:00:00Z",
    };
    appendFileSync(join(planned, ".skillflow/state/_feedback.jsonl"), `${JSON.stringify(line)}\n`);
    expect((await statsOf(planned)).rows).toMatchObject([{ planned: 4, applied: 1, rejected: 2, right: 1 }]);
    expect((await runHere(["runs", "verify", "r"], { cwd: planned })).code).toBe(0);
  });
});
