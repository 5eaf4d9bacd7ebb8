import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FLOW, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

const files = { "flow.yml": FLOW, "script.json": WORKING };
const RUN = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r", "--quiet"];
const kinds = ["html", "md", "postmortem", "junit", "sarif", "json", "mermaid"];

async function recorded(...args: string[]): Promise<string> {
  const cwd = makeProject(files);
  expect(await runHere([...RUN, ...args], { cwd })).toMatchObject({ code: 0 });
  return cwd;
}

describe("report", () => {
  it("writes from the record the same reports as the run", async () => {
    const cwd = await recorded("--out", "first");
    const again = await runHere(["report", "latest", "--out", "again"], { cwd });
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(again.stdout.split("\n").filter(Boolean).sort()).toEqual(
      readdirSync(join(cwd, "again"))
        .map((name) => join("again", name))
        .sort(),
    );
    for (const name of readdirSync(join(cwd, "first"))) {
      expect(readFileSync(join(cwd, "again", name), "utf8"), name).toBe(readFileSync(join(cwd, "first", name), "utf8"));
    }
  });

  it("writes each kind, of a run of the store and of a trace alike", async () => {
    const cwd = await recorded();
    const wanted = (from: string) => kinds.flatMap((kind) => ["--report", `${kind}=${from}-${kind}`]);
    expect(await runHere(["report", "r", ...wanted("run")], { cwd })).toMatchObject({ code: 0 });
    expect(await runHere(["report", ".skillflow/runs/r.jsonl", ...wanted("file")], { cwd })).toMatchObject({ code: 0 });
    for (const kind of kinds) {
      const text = readFileSync(join(cwd, `run-${kind}`), "utf8");
      expect(text.length).toBeGreaterThan(50);
      expect(readFileSync(join(cwd, `file-${kind}`), "utf8"), kind).toBe(text);
    }
  });

  it("reports what is missing: a run, a kind, an output", async () => {
    const cwd = await recorded();
    expect(await runHere(["report", "nobody", "--out", "x"], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no run "nobody"'),
    });
    expect(await runHere(["report", "r"], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--out DIR"),
    });
    const near = await runHere(["report", "r", "--report", "postmorten=x"], { cwd });
    expect(near).toMatchObject({ code: 2, stderr: expect.stringContaining("did you mean postmortem=PATH?") });
    expect(existsSync(join(cwd, "x"))).toBe(false);
  });
});
