import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents } from "./program.ts";

/** Files that a checkout names as workflows of its nodes, whatever they are (trust 8). */

function calling(id: string, file: string, count = 1): string {
  const nodes = Array.from({ length: count }, (_, index) => `  n${index}: { name: N, call: ${file} }`);
  const edges = nodes.slice(1).map((_, index) => `  - { from: n${index}, to: n${index + 1} }`);
  return [`id: ${id}`, "name: W", "entry: n0", "nodes:", ...nodes, "edges:", ...edges, "  []"]
    .filter((line) => line !== "  []" || edges.length === 0)
    .join("\n");
}

const LAST = "id: last\nname: L\nentry: a\nnodes: { a: { name: A, instruction: Do. } }\nedges: []\n";

describe("the workflows that nodes run", () => {
  it("are not waited for where they are no files", async () => {
    const cwd = makeProject({ "w.yml": calling("w", "./pipe.yml") });
    execFileSync("mkfifo", [join(cwd, "pipe.yml")]);
    const { code, stderr } = await runHere(["validate", "w.yml"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("./pipe.yml is no file");
  });

  it("can be looked at and gone on with after a script that ended inside one", async () => {
    const cwd = makeProject({ "w.yml": calling("w", "./last.yml"), "last.yml": LAST, "s.json": { replies: [] } });
    await runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r"], { cwd });
    expect(readEvents(cwd, "r")).toContainEqual(expect.objectContaining({ type: "run:fail", node: "a", at: "n0" }));
    expect(await runHere(["runs", "verify", "r"], { cwd })).toMatchObject({ code: 0 });
    const { stdout } = await runHere(["runs", "show", "r", "--json"], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ status: "failed", error: { code: "script.exhausted" } });
  });
});
