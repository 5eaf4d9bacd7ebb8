import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { type Plan, planDigest } from "../../src/core/engine/event/operation.ts";
import { FLOW, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, resultOf } from "./program.ts";
import { ENV, plannedRun, SINK, scriptOf, WORKFLOW } from "./sink.ts";

/** The plan of a run in files, outputs and exit codes. */

const RUN = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r"];

function project(...titles: readonly string[]): string {
  const script = scriptOf(titles.map((title) => ({ title })));
  return makeProject({ "w.yml": WORKFLOW, "s.json": script, "skills/sink/skill.ts": SINK });
}

function planIn(cwd: string, ...path: string[]): Plan {
  return JSON.parse(readFileSync(join(cwd, ...path), "utf8")) as Plan;
}

describe("plan.json", () => {
  it("is written by --out as its schema requires: the operations of the result document, and when the run ended", async () => {
    const cwd = project("one", "two");
    const ended = await runHere([...RUN, "--json", "--out", "out"], { cwd, env: ENV });
    const plan = planIn(cwd, "out/plan.json");
    const { stdout } = await runHere(["schema", "plan"], { cwd });
    const ajv = new Ajv2020.default({ strict: false });
    addFormats.default(ajv);
    expect(ajv.validate(JSON.parse(stdout), plan), ajv.errorsText()).toBe(true);
    expect(plan).toEqual({
      schema: "skillflow.plan/1",
      run: "r",
      workflow: "w",
      created: readEvents(cwd, "r").at(-1)?.time,
      digest: planDigest(plan.operations),
      operations: resultOf(ended).plan,
    });
    expect(plan.operations.map(({ id, input }) => [id, input])).toEqual([
      ["op-1", { title: "one" }],
      ["op-2", { title: "two" }],
    ]);
    expect(ended.stderr).toContain("out/plan.json");
  });

  it("is written even if nothing was planned, but not by a run that carries out its writes", async () => {
    const cwd = project();
    await runHere([...RUN, "--out", "out"], { cwd, env: ENV });
    expect(planIn(cwd, "out/plan.json")).toMatchObject({ operations: [], digest: planDigest([]) });
    const free = makeProject({ "flow.yml": FLOW, "script.json": WORKING });
    await runHere(["run", "flow.yml", "--model", "script:script.json", "--out", "out"], { cwd: free });
    expect(readdirSync(join(free, "out"))).not.toContain("plan.json");
  });

  it("can be reviewed and applied unchanged", async () => {
    const { cwd, written } = await plannedRun({ title: "one" });
    await runHere(["replay", "r", "--run-id", "p", "--out", "out"], { cwd, env: ENV });
    const copy = { ...planIn(cwd, "out/plan.json"), run: "r" };
    writeFileSync(join(cwd, "plan.json"), JSON.stringify(copy));
    expect(await runHere(["apply", "plan.json", "--report", "md=plan.md"], { cwd })).toMatchObject({ code: 0 });
    expect(readFileSync(join(cwd, "plan.md"), "utf8")).toContain(copy.operations[0]?.digest);
    expect(written()).toEqual([]);
    expect(await runHere(["apply", "plan.json", "--yes"], { cwd, env: ENV })).toMatchObject({ code: 0 });
    expect(written()).toHaveLength(1);
  });

  it("names the item that planned an operation, which files of earlier versions do not", async () => {
    const flow = {
      ...{ id: "w", name: "W", writes: "plan", entry: "each", edges: [] },
      nodes: {
        each: {
          name: "Each",
          map: { over: "input.list", as: "item" },
          entry: "a",
          nodes: {
            a: {
              name: "A",
              skills: ["sink"],
              steps: [{ id: "s", tool: "sink_file", with: { title: "{{input.item}}" } }],
            },
          },
          edges: [],
        },
      },
    };
    const cwd = makeProject({ "w.yml": JSON.stringify(flow), "skills/sink/skill.ts": SINK });
    await runHere(["run", "w.yml", "--run-id", "r", "--out", "out", "--input", '{"list":["x","y"]}'], {
      cwd,
      env: ENV,
    });
    const plan = planIn(cwd, "out/plan.json");
    expect(plan.operations.map(({ at, node }) => [at, node])).toEqual([
      ["each[0]", "a"],
      ["each[1]", "a"],
    ]);
    const operations = plan.operations.map(({ at: _at, ...operation }) => operation);
    for (const [earlier, code] of [
      [operations, 0],
      [[{ ...operations[0], at: "each[1]" }, operations[1]], 4],
    ] as const) {
      writeFileSync(join(cwd, "plan.json"), JSON.stringify({ ...plan, operations: earlier }));
      const applied = await runHere(["apply", "plan.json", "--report", "md=plan.md"], { cwd });
      expect(applied.code).toBe(code);
    }
    expect(readFileSync(join(cwd, "plan.md"), "utf8")).toContain("**Planned by:** `each[1]/a`");
  });

  it("is written by resume, with the operations that were already applied marked", async () => {
    const cwd = project("one");
    await runHere(RUN, { cwd, env: ENV });
    await runHere(["apply", "r", "--yes"], { cwd, env: ENV });
    const { code } = await runHere(["resume", "r", "--from", "a", "--out", "out"], { cwd, env: ENV });
    expect(code).not.toBe(2);
    expect(planIn(cwd, "out/plan.json").operations[0]).toMatchObject({ id: "op-1", applied: true });
  });
});

describe("on GitHub Actions", () => {
  async function runInActions(cwd: string, ...args: string[]): Promise<Map<string, string>> {
    const file = join(cwd, "outputs.txt");
    writeFileSync(file, "");
    const env = { ...ENV, GITHUB_ACTIONS: "true", GITHUB_OUTPUT: file };
    await runHere([...RUN, ...args], { cwd, env });
    const outputs = readFileSync(file, "utf8").matchAll(/^([a-z-]+)<<(\S+)\n([\s\S]*?)\n?\2\n/gm);
    return new Map([...outputs].map(([, name = "", , value = ""]) => [name, value]));
  }

  it("the plan is written next to the run, and outputs give its path, its count and its digest", async () => {
    const cwd = project("one");
    const outputs = await runInActions(cwd);
    expect(outputs.get("plan-file")).toBe(".skillflow/runs/r/plan.json");
    const plan = planIn(cwd, outputs.get("plan-file") ?? "");
    expect([outputs.get("plan-count"), outputs.get("plan-digest")]).toEqual(["1", plan.digest]);
    expect((await runInActions(project("one"), "--out", "out")).get("plan-file")).toBe("out/plan.json");
  });

  it("outputs name no plan if there is none", async () => {
    const cwd = project();
    writeFileSync(join(cwd, "w.yml"), WORKFLOW.replace("writes: plan", "writes: allow"));
    const outputs = await runInActions(cwd);
    const told = ["plan-file", "plan-count", "plan-digest"].map((name) => outputs.get(name));
    expect(told).toEqual(["", "0", ""]);
  });

  it("the plan's folder is not listed as a run, and prune deletes it only with its run", async () => {
    const cwd = project("one");
    await runInActions(cwd, "--run-id", "x.jsonl");
    await runInActions(cwd, "--run-id", "r.blobs");
    await runInActions(cwd);
    const store = join(cwd, ".skillflow/runs");
    mkdirSync(join(store, "r.blobs"), { recursive: true });
    writeFileSync(join(store, "r.blobs", "kept"), "of another run");
    const { stdout, stderr } = await runHere(["runs", "list", "--json"], { cwd });
    const { runs } = JSON.parse(stdout) as { runs: { id: string }[] };
    expect([runs.map(({ id }) => id).sort(), stderr]).toEqual([["r", "r.blobs", "x.jsonl"], ""]);
    await runHere(["runs", "prune", "--keep", "1"], { cwd });
    expect(existsSync(join(store, "x.jsonl"))).toBe(false);
    expect(readdirSync(join(store, "r.blobs"))).toEqual(["kept"]);
    await runHere(["runs", "prune", "--keep", "0"], { cwd });
    expect(existsSync(join(store, "r"))).toBe(false);
  });
});

describe("--detailed-exit-code", () => {
  const detailed = async (cwd: string, args: readonly string[]) => {
    const ended = await runHere([...args, "--json", "--detailed-exit-code"], { cwd, env: ENV });
    return [ended.code, resultOf(ended).exitCode, resultOf(ended).status];
  };

  it("is 6 if the run succeeded and the plan holds writes to apply, in the result document too", async () => {
    const cwd = project("one");
    expect(await detailed(cwd, RUN)).toEqual([6, 6, "succeeded"]);
    expect(await detailed(cwd, ["replay", "r"])).toEqual([6, 6, "succeeded"]);
  });

  it("is 0 without writes to apply, and without the flag", async () => {
    expect(await detailed(project(), RUN)).toEqual([0, 0, "succeeded"]);
    expect(await runHere(RUN, { cwd: project("one"), env: ENV })).toMatchObject({ code: 0 });
  });

  it("leaves the exit code of a run that failed as it is", async () => {
    const cwd = project("one");
    const requires = "requires: { output_required: [input.nothing] }";
    writeFileSync(
      join(cwd, "w.yml"),
      WORKFLOW.replace("skills: [sink] }", "skills: [sink] }\n  b: { name: B, instruction: More., REQUIRES }")
        .replace("REQUIRES", requires)
        .replace("edges: []", "edges: [{ from: a, to: b }]"),
    );
    expect(await detailed(cwd, RUN)).toEqual([1, 1, "failed"]);
  });
});
