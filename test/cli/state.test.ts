import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

const FLOW = `
id: board
name: Board
entry: look
inputs: { fingerprint: { type: string, enum: [fp-1, fp-2] } }
state: { board: { keep: 90d } }
cool_down: { for: 6h, key: input.fingerprint }
verdict: look.verdict
nodes:
  look:
    name: Look
    instruction: Look.
    state: [board]
    output: { type: object, properties: { verdict: { type: string } } }
edges: []
`;

const put = (key: string, data: unknown) => ({ node: "look", calls: [{ tool: "state_put", input: { key, data } }] });
const DONE = { node: "look", data: { verdict: "noise" } };
const EVIL = "=cmd|'/c calc'!A1\u001b[2J";
const SCRIPT = { replies: [put("fp-81", { cause: "pool" }), put(EVIL, "\u001b[31mred"), DONE] };
const RUN = ["run", "flow.yml", "--model", "script:script.json"];

function makeBoard(): string {
  return makeProject({ "flow.yml": FLOW, "script.json": SCRIPT, "plan.json": SCRIPT });
}

async function filled(): Promise<string> {
  const cwd = makeBoard();
  const { code, stderr } = await runHere([...RUN, "--run-id", "r1"], { cwd });
  expect([code, stderr]).toEqual([0, expect.stringContaining("succeeded")]);
  return cwd;
}

const state = (cwd: string, ...args: string[]) => runHere(["state", ...args], { cwd });

describe("skillflow state", () => {
  it("lists the stored entries", async () => {
    const cwd = await filled();
    const { code, stdout } = await state(cwd, "list", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ schema: "skillflow.states/1", states: [{ name: "board", entries: 2 }] });
    expect((await state(cwd, "list")).stdout).toMatch(/board {2}2 entries · last seen/);
    expect((await state(makeBoard(), "list")).stderr).toMatch(/no states yet/);
  });

  it("shows entries, without control characters on a terminal and unabridged as JSON", async () => {
    const cwd = await filled();
    const shown = await state(cwd, "show", "board");
    expect(shown.stdout).toMatch(/fp-81 .*written by 1 run · seen 1 time/);
    expect(shown.stdout).not.toContain("\u001b");
    const { entries } = JSON.parse((await state(cwd, "show", "board", "fp-81", "--json")).stdout);
    expect(entries).toMatchObject([{ key: "fp-81", data: { cause: "pool" } }]);
    const missing = await state(cwd, "show", "board", "fp-82");
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("did you mean fp-81?")]);
    const unknown = await state(cwd, "show", "bord");
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("did you mean board?")]);
  });

  it("deletes some keys, and all of them with confirmation", async () => {
    const cwd = await filled();
    expect((await state(cwd, "forget", "board")).code).toBe(2);
    expect((await state(cwd, "forget", "board", "fp-81", "--all")).code).toBe(2);
    expect((await state(cwd, "forget", "board", "nobody")).code).toBe(2);
    const forgotten = await state(cwd, "forget", "board", "fp-81", "--json");
    expect(JSON.parse(forgotten.stdout)).toEqual({ state: "board", forgotten: ["fp-81"] });
    expect((await state(cwd, "forget", "board", "--all")).code).toBe(2);
    const asked = { cwd, isTerminal: true, answers: ["n"] };
    expect((await runHere(["state", "forget", "board", "--all"], asked)).stderr).toMatch(/nothing was forgotten/);
    expect((await state(cwd, "forget", "board", "--all", "--yes")).code).toBe(0);
    expect(JSON.parse((await state(cwd, "show", "board", "--json")).stdout).entries).toEqual([]);
  });

  it("exports for programs and for spreadsheets, where nothing is a formula", async () => {
    const cwd = await filled();
    expect(JSON.parse((await state(cwd, "export", "board")).stdout).entries).toHaveLength(2);
    const lines = (await state(cwd, "export", "board", "--format", "jsonl")).stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).key)).toEqual(["fp-81", EVIL]);
    const table = (await state(cwd, "export", "board", "--format", "csv")).stdout;
    expect(table.split("\r\n")[0]).toBe("key,first_seen,last_seen,runs,seen,tainted,data");
    expect(table).toContain("\"'=cmd|'/c calc'!A1 [2J\"");
    expect(table).not.toContain("\u001b");
  });

  it("exports nothing that the log of a CI system takes as a command", async () => {
    const key = "  ::add-path::x";
    const data = { said: "##[stop-commands]x ##vso[task.prependpath]y" };
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": { replies: [put(key, data), DONE] } });
    expect((await runHere([...RUN], { cwd })).code).toBe(0);
    for (const format of ["json", "jsonl", "csv"]) {
      const { stdout } = await state(cwd, "export", "board", "--format", format);
      expect(stdout).not.toMatch(/^[\s"]*::|##(vso)?\[/m);
      expect(stdout).toContain("task.prependpath");
    }
  });

  it("completes the names of states and keys", async () => {
    const cwd = await filled();
    const words = (...line: string[]) =>
      runHere(["completion", "--words", String(line.length - 1), "--", ...line], { cwd });
    expect((await words("skillflow", "state", "show", "b")).stdout).toContain("board");
    expect((await words("skillflow", "state", "show", "board", "fp")).stdout).toContain("fp-81");
  });

  it("uses the place that --state names", async () => {
    const cwd = makeBoard();
    await runHere([...RUN, "--state", "memory"], { cwd });
    expect(existsSync(join(cwd, "memory", "board.jsonl"))).toBe(true);
    expect((await state(cwd, "list", "--state", "memory")).stdout).toMatch(/board/);
    expect((await state(cwd, "list", "--state", "git:a b")).code).toBe(2);
    expect((await runHere([...RUN, "--state", "git:memory"], { cwd })).code).toBe(4);
  });
});

describe("a run with a state", () => {
  it("fetches nothing of a remote while it is offline, and works with a place on this machine", async () => {
    const cwd = makeBoard();
    const git = (...args: string[]) => execFileSync("git", args, { cwd, stdio: "pipe" });
    git("init", "--quiet", ".");
    git("remote", "add", "origin", "https://git.invalid/board.git");
    const offline = [...RUN, "--offline", "--state", "git:memory"];
    const refused = await runHere(offline, { cwd });
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringMatching(/origin.*the run is offline/)]);
    expect(refused.stderr).toContain("--state DIR");
    const origin = makeProject();
    execFileSync("git", ["init", "--quiet", "--bare", origin], { stdio: "pipe" });
    git("remote", "set-url", "origin", origin);
    expect(await runHere(offline, { cwd })).toMatchObject({ code: 0 });
  });

  it("is skipped within its cool-down, and reports when the last one was and what it found", async () => {
    const cwd = makeBoard();
    const once = [...RUN, "-i", "fingerprint=fp-1"];
    expect((await runHere([...once, "--run-id", "r1"], { cwd })).code).toBe(0);
    const again = await runHere([...once, "--run-id", "r2", "--json"], { cwd });
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({
      status: "skipped",
      exitCode: 0,
      skipped: { run: "r1", verdict: "noise" },
    });
    expect(again.stderr).toMatch(/run r1 with the same key ended \d+ s ago .*\. Verdict: noise/);
    expect((await runHere(["resume", "r2"], { cwd })).code).toBe(2);
    expect((await runHere([...once, "--no-cool-down"], { cwd })).code).toBe(0);
    expect((await runHere([...RUN, "-i", "fingerprint=fp-2"], { cwd })).code).toBe(0);
    const runs = JSON.parse((await runHere(["runs", "list", "--json"], { cwd })).stdout).runs;
    expect(runs.map(({ status }: { status: string }) => status)).toContain("skipped");
  });

  it("writes planned entries once they are applied, in the given place, and once", async () => {
    const cwd = makeBoard();
    const planned = await runHere([...RUN, "--writes", "plan", "--run-id", "p1", "--json"], { cwd });
    expect(JSON.parse(planned.stdout).plan).toHaveLength(2);
    expect(existsSync(join(cwd, ".skillflow", "state", "board.jsonl"))).toBe(false);
    for (const _ of [1, 2]) expect((await runHere(["apply", "p1", "--yes"], { cwd })).code).toBe(0);
    const { entries } = JSON.parse((await state(cwd, "show", "board", "--json")).stdout);
    expect(entries).toHaveLength(2);
    expect(entries).toMatchObject([
      { runs: 1, seen: 1 },
      { runs: 1, seen: 1 },
    ]);
  });

  it.each(["allow", "plan"])("counts once for a key that it puts twice: --writes %s", async (writes) => {
    const replies = [put("fp-81", { cause: "pool" }), put("fp-81", { cause: "disk" }), DONE];
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": { replies } });
    await runHere([...RUN, "--writes", writes, "--run-id", "r"], { cwd });
    if (writes === "plan") expect((await runHere(["apply", "r", "--yes"], { cwd })).code).toBe(0);
    const { entries } = JSON.parse((await state(cwd, "show", "board", "--json")).stdout);
    expect(entries).toMatchObject([{ key: "fp-81", runs: 1, seen: 2, data: { cause: "disk" } }]);
  });

  it("ends with 4 if a line of its state is broken, and calls no model", async () => {
    const cwd = await filled();
    const file = join(cwd, ".skillflow", "state", "board.jsonl");
    const text = readFileSync(file, "utf8");
    const { writeFileSync } = await import("node:fs");
    writeFileSync(file, `broken\n${text}`);
    const ended = await runHere([...RUN, "--run-id", "r2"], { cwd });
    expect([ended.code, ended.stderr]).toEqual([4, expect.stringContaining("board.jsonl:1")]);
    expect(existsSync(join(cwd, ".skillflow", "runs", "r2.jsonl"))).toBe(false);
  });
});

describe("a state that came with the checkout", () => {
  it("is ignored by default, because it could keep runs from looking. One that the operator names is used", async () => {
    const cwd = await filled();
    rmSync(join(cwd, ".git"), { recursive: true, force: true });
    execFileSync("git", ["init", "-q"], { cwd });
    expect((await runHere([...RUN, "--run-id", "r2"], { cwd })).code).toBe(0);
    execFileSync("git", ["add", "--force", ".skillflow/state/board.jsonl"], { cwd });
    const { code, stderr } = await runHere([...RUN, "--run-id", "r3"], { cwd });
    expect(code).toBe(4);
    expect(stderr).toContain('the state was committed to the checkout: ".skillflow/state/board.jsonl"');
    expect((await runHere([...RUN, "--run-id", "r4", "--state", ".skillflow/state"], { cwd })).code).toBe(0);
  });
});
