import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LONG } from "../harness/long.ts";
import { FLOW, scriptOf, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { linesOf, makeProject, resultOf, runFile, runProgram } from "./program.ts";

const files = { "flow.yml": FLOW, "script.json": WORKING };
const RUN = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r", "--json"];

/** A process that may write only so many bytes to a file. To the process, this looks like a full disk. */
const within = (bytes: number) => ["prlimit", `--fsize=${bytes}`];

describe.skipIf(!existsSync("/usr/bin/prlimit"))("a disk that is full", () => {
  it("before a run is recorded leaves nothing behind, so that the same run can start again", async () => {
    const cwd = makeProject(files);
    const ended = await runProgram(RUN, { cwd, through: within(100) });
    expect(ended.code).toBe(4);
    expect(resultOf(ended)).toMatchObject({ run: null, status: "refused", error: { code: "store.full" } });
    expect(ended.stderr).toMatch(
      /error: .*r\.jsonl cannot be written: the disk is full|cannot be recorded: the disk is full/,
    );
    expect(readdirSync(join(cwd, ".skillflow", "runs"))).toEqual([".gitignore"]);
    expect(await runHere(RUN, { cwd })).toMatchObject({ code: 0 });
  });

  it("in the middle of a record stops the run with 4, and it can be resumed once there is space", async () => {
    const calm = makeProject(files);
    const undisturbed = await runHere(RUN, { cwd: calm });
    const lines = readFileSync(runFile(calm, "r"), "utf8").trimEnd().split("\n");
    let size = Buffer.byteLength(`${lines[0]}\n`);
    for (const [index, line] of lines.slice(1).entries()) {
      const before = size;
      size += Buffer.byteLength(`${line}\n`);
      if (index % (LONG ? 2 : 4) > 0) continue;
      const cwd = makeProject(files);
      const limit = before + Math.floor(Buffer.byteLength(line) / 2);
      const full = await runProgram(RUN, { cwd, through: within(limit) });
      const told = { run: "r", status: "interrupted", exitCode: 4, error: { code: "store.full" } };
      expect(full.code, `within ${limit} bytes`).toBe(4);
      expect(resultOf(full), `within ${limit} bytes`).toMatchObject(told);
      expect(full.stderr).toContain("error: the run cannot be recorded: the disk is full");
      expect(full.stderr).toContain("free some space, then resume the run");
      const resumed = await runHere(["resume", "r", "--json"], { cwd });
      expect(resumed.code, resumed.stderr).toBe(0);
      expect(resultOf(resumed).trace).toEqual(resultOf(undisturbed).trace);
      expect(linesOf(cwd, "posts.txt").length, "no write happens twice").toBeLessThanOrEqual(1);
    }
  }, 60_000);

  it("does not keep a slow tool of the run alive", async () => {
    const look = { tool: "desk_look", input: { text: "x".repeat(9000) } };
    const both = scriptOf({ node: "look", calls: [{ tool: "desk_hang" }, look] });
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": both });
    const ended = await runProgram(RUN, { cwd, through: within(27_000) });
    expect(ended.code).toBe(4);
    expect(linesOf(cwd, "hangs.txt")).toHaveLength(1);
  });
});
