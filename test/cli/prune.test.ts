import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FLOW, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

async function threeRuns(): Promise<string> {
  const cwd = makeProject({ "flow.yml": FLOW, "script.json": WORKING });
  for (const run of ["r1", "r2", "r3"]) {
    await runHere(["run", "flow.yml", "--model", "script:script.json", "--run-id", run], { cwd });
  }
  return cwd;
}

const blobs = (cwd: string, run: string) => join(cwd, ".skillflow/runs", `${run}.blobs`);
const runsOf = async (cwd: string) => {
  const { runs } = JSON.parse((await runHere(["runs", "list", "--json"], { cwd })).stdout) as {
    runs: { id: string }[];
  };
  return runs.map(({ id }) => id).sort();
};

describe("runs prune", () => {
  it("removes all but the newest, with their blobs", async () => {
    const cwd = await threeRuns();
    for (const run of ["r1", "r3"]) {
      mkdirSync(blobs(cwd, run));
      writeFileSync(join(blobs(cwd, run), "x"), "content");
    }
    const ended = await runHere(["runs", "prune", "--keep", "1", "--json"], { cwd });
    expect(ended.code).toBe(0);
    expect((JSON.parse(ended.stdout) as { removed: string[] }).removed.sort()).toEqual(["r1", "r2"]);
    expect(await runsOf(cwd)).toEqual(["r3"]);
    expect([existsSync(blobs(cwd, "r1")), existsSync(blobs(cwd, "r3"))]).toEqual([false, true]);
  });

  it("keeps runs that are younger than the given age", async () => {
    const cwd = await threeRuns();
    const ended = await runHere(["runs", "prune", "--older-than", "72h"], { cwd });
    expect(ended).toMatchObject({ code: 0, stdout: "0 runs removed\n" });
    expect(await runsOf(cwd)).toEqual(["r1", "r2", "r3"]);
  });

  it("keeps a run that waits for approval, and reports it", async () => {
    const asking = {
      id: "w",
      name: "W",
      entry: "ask",
      nodes: { ask: { name: "Ask", approval: { ask: "Go?" } } },
      edges: [],
    };
    const cwd = makeProject({ "w.json": asking, "script.json": WORKING });
    await runHere(["run", "w.json", "--model", "script:script.json", "--run-id", "r1"], { cwd });
    const ended = await runHere(["runs", "prune", "--keep", "0"], { cwd });
    expect(ended).toMatchObject({ code: 0, stdout: "0 runs removed\n" });
    expect(ended.stderr).toContain("r1 is waiting for approval and was kept");
    expect(await runsOf(cwd)).toEqual(["r1"]);
  });

  it.each([
    [[], "no runs were selected"],
    [["--keep", "-1"], "--keep takes a whole number"],
    [["--keep", "some"], "--keep takes a whole number"],
    [["--older-than", "long"], "--older-than must be a duration"],
  ])("with %j removes nothing and gives the reason", async (flags, message) => {
    const cwd = makeProject();
    const ended = await runHere(["runs", "prune", ...flags], { cwd });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(message);
  });
});
