import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents } from "./program.ts";

/** Items that a map skips because earlier runs have judged them (`unseen`). */

const BOARD = `
id: board
name: Board
entry: each
state: { board: { keep: 90d } }
inputs: { list: { type: string } }
nodes:
  each:
    name: Each
    map:
      over: input.issues
      as: issue
      key: issue.id
      unseen: { state: board, within: 14d, unless_changed: [issue.level] }
    workflow: ./one.yml
  sum: { name: Sum, instruction: Sum up. }
edges:
  - { from: each, to: sum }
`.replace("inputs: { list: { type: string } }\n", "");
const ONE = `
id: one
name: One
entry: look
verdict: look.verdict
nodes:
  look:
    name: Look
    instruction: Judge it.
    output: { type: object, properties: { verdict: { type: string } }, required: [verdict] }
edges: []
`;
const SCRIPT = {
  replies: [
    ...Array.from({ length: 4 }, () => ({ node: "look", data: { verdict: "noise" } })),
    { node: "sum", text: "done" },
    { node: "sum", text: "done again" },
  ],
};

interface Entry {
  readonly key: string;
  readonly seen: number;
  readonly runs: number;
  readonly data: Record<string, unknown>;
}

function projectWith() {
  const cwd = makeProject({ "board.yml": BOARD, "one.yml": ONE, "s.json": SCRIPT });
  return {
    cwd,
    async run(id: string, issues: readonly object[]) {
      const args = ["run", "board.yml", "--model", "script:s.json", "--run-id", id, "--json"];
      const { code, stdout, stderr } = await runHere([...args, "--input", JSON.stringify({ issues })], { cwd });
      expect(code, stderr).toBe(0);
      const { results, usage } = JSON.parse(stdout);
      return { items: results.each.data.items as { status: string; skipped_reason?: string }[], usage };
    },
    entries: (): Entry[] =>
      readFileSync(join(cwd, ".skillflow/state/board.jsonl"), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
  };
}

const ISSUES = [
  { id: "a", level: "error" },
  { id: "b", level: "warning" },
];

describe("a map with unseen", () => {
  it("judges items again if a resume repeats the visit that judged them", async () => {
    const { cwd, run } = projectWith();
    await run("r1", ISSUES);
    const args = ["resume", "r1", "--from", "each", "--model", "script:s.json", "--json"];
    const { code, stdout, stderr } = await runHere(args, { cwd });
    expect(code, stderr).toBe(0);
    const { items } = JSON.parse(stdout).results.each.data;
    expect(items.map(({ status }: { status: string }) => status)).toEqual(["success", "success"]);
  });

  it("judges all once, stores what it judged, and then skips what has not changed", async () => {
    const { run, entries } = projectWith();
    const first = await run("r1", ISSUES);
    expect(first.items.map(({ status }) => status)).toEqual(["success", "success"]);
    expect(entries()).toMatchObject([
      { key: "a", seen: 1, runs: 1, data: { "issue.level": "error", verdict: "noise", judged_at: expect.any(String) } },
      { key: "b", seen: 1, runs: 1, data: { "issue.level": "warning", verdict: "noise" } },
    ]);
    const second = await run("r2", ISSUES);
    expect(second.usage.modelCalls).toBe(1);
    expect(second.items.map(({ status }) => status)).toEqual(["skipped", "skipped"]);
    expect(second.items[0]?.skipped_reason).toMatch(/^seen .* ago, issue.level unchanged \(was: noise\)$/);
    expect(entries().map(({ key, seen, runs }) => ({ key, seen, runs }))).toEqual([
      { key: "a", seen: 2, runs: 1 },
      { key: "b", seen: 2, runs: 1 },
    ]);
  });

  it("judges again the one that got worse, and one that is new", async () => {
    const { run } = projectWith();
    await run("r1", ISSUES);
    const again = await run("r2", [{ id: "a", level: "fatal" }, ISSUES[1] ?? {}, { id: "c", level: "error" }]);
    expect(again.items.map(({ status }) => status)).toEqual(["success", "skipped", "success"]);
  });

  it("is replayed as recorded, whatever later runs have stored", async () => {
    const { cwd, run } = projectWith();
    await run("r1", ISSUES);
    const replayed = await runHere(["replay", "r1", "--run-id", "p", "--json"], { cwd });
    expect(replayed.code, replayed.stderr).toBe(0);
    const kinds = (id: string) => readEvents(cwd, id).map(({ type, key }) => `${type} ${key}`);
    expect(kinds("p").filter((kind) => !kind.startsWith("state:"))).toEqual(
      kinds("r1").filter((kind) => !kind.startsWith("state:")),
    );
  });

  it("marks what was judged from untrusted text", async () => {
    const { run, entries } = projectWith();
    await run("r1", ISSUES);
    expect(entries()).toMatchObject([{ tainted: true }, { tainted: true }]);
  });
});
