import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents } from "./program.ts";

/** Files that a checkout names as workflows of its nodes, of any kind. */

function calling(id: string, file: string, count = 1): string {
  const nodes = Array.from({ length: count }, (_, index) => `  n${index}: { name: N, call: ${file} }`);
  const edges = nodes.slice(1).map((_, index) => `  - { from: n${index}, to: n${index + 1} }`);
  return [`id: ${id}`, "name: W", "entry: n0", "nodes:", ...nodes, "edges:", ...edges, "  []"]
    .filter((line) => line !== "  []" || edges.length === 0)
    .join("\n");
}

const LAST = "id: last\nname: L\nentry: a\nnodes: { a: { name: A, instruction: Do. } }\nedges: []\n";

describe("the workflows that nodes run", () => {
  it("do not block if they are not regular files", async () => {
    const cwd = makeProject({ "w.yml": calling("w", "./pipe.yml") });
    execFileSync("mkfifo", [join(cwd, "pipe.yml")]);
    const { code, stderr } = await runHere(["validate", "w.yml"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("./pipe.yml is not a file");
  });

  it("can be inspected and resumed after a script that ended inside one", async () => {
    const cwd = makeProject({ "w.yml": calling("w", "./last.yml"), "last.yml": LAST, "s.json": { replies: [] } });
    await runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r"], { cwd });
    expect(readEvents(cwd, "r")).toContainEqual(expect.objectContaining({ type: "run:fail", node: "a", at: "n0" }));
    expect(await runHere(["runs", "verify", "r"], { cwd })).toMatchObject({ code: 0 });
    const { stdout } = await runHere(["runs", "show", "r", "--json"], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ status: "failed", error: { code: "script.exhausted" } });
  });

  it("have their errors reported where they are written", async () => {
    const cwd = makeProject({ "w.yml": calling("w", "./mid.yml", 2), "mid.yml": calling("mid", "./gone.yml") });
    const { stdout } = await runHere(["validate", "w.yml", "--json"], { cwd });
    const faults = JSON.parse(stdout).diagnostics.filter(({ severity }: { severity: string }) => severity === "error");
    expect(faults).toMatchObject([
      { code: "INNER_WORKFLOW", file: "mid.yml", line: 5, message: "there is no file ./gone.yml" },
    ]);
  });

  it("cannot define a skill with the id of a different one", async () => {
    const skills = (instruction: string) => `skills: { tone: { instruction: ${instruction} } }\n`;
    const cwd = makeProject({
      "w.yml": skills("Short.") + calling("w", "./last.yml", 2),
      "last.yml": skills("Long.") + LAST,
    });
    for (const command of ["validate", "run"]) {
      const { code, stdout } = await runHere([command, "w.yml", "--json"], { cwd });
      const { diagnostics } = JSON.parse(stdout);
      const faults = diagnostics.filter(({ severity }: { severity: string }) => severity === "error");
      expect([code, faults]).toMatchObject([2, [{ code: "INVALID_INLINE_SKILL", file: "last.yml", line: 1 }]]);
    }
    writeFileSync(join(cwd, "last.yml"), skills("Short.") + LAST);
    expect(await runHere(["validate", "w.yml"], { cwd })).toMatchObject({ code: 0 });
  });

  it("have data that the paths of the calling workflow can refer to", async () => {
    const edges = "edges: [{ from: n0, to: n1, if: n0.results.a.sumary exists }]";
    const main = calling("w", "./last.yml", 2).replace(/edges:[\s\S]*/, edges);
    const cwd = makeProject({ "w.yml": main, "last.yml": LAST });
    const { stdout } = await runHere(["validate", "w.yml", "--json"], { cwd });
    expect(JSON.parse(stdout).diagnostics).toMatchObject([
      { code: "UNKNOWN_PATH", file: "w.yml", line: 7, hint: 'did you mean "summary"?' },
    ]);
  });

  it("are replayed from the record if their files are gone", async () => {
    const files = {
      "w.yml": calling("w", "./in/mid.yml"),
      "in/mid.yml": calling("mid", "./last.yml"),
      "in/last.yml": LAST,
    };
    const cwd = makeProject({ ...files, "s.json": { replies: [{ text: "done" }] } });
    await runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r"], { cwd });
    rmSync(join(cwd, "in"), { recursive: true });
    expect(await runHere(["replay", "r"], { cwd })).toMatchObject({ code: 0 });
    writeFileSync(join(cwd, "w.yml"), calling("w", "./other.yml"));
    const other = await runHere(["replay", "r"], { cwd });
    expect(other).toMatchObject({ code: 2 });
    expect(other.stderr).toContain("w.yml, which the run's record names, cannot be used");
  });

  it("need their skills too with --require-skills", async () => {
    const needing = LAST.replace("instruction: Do.", "instruction: Do., skills: [absent]");
    const cwd = makeProject({ "w.yml": calling("w", "./last.yml"), "last.yml": needing, "s.json": { replies: [] } });
    const run = ["run", "w.yml", "--model", "script:s.json", "--require-skills"];
    const { code, stderr } = await runHere(run, { cwd });
    expect(code).toBe(3);
    expect(stderr).toContain("absent");
  });
});
