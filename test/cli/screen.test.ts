import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { liveProgress } from "../../src/cli/terminal/progress/live.ts";
import { rowsOf, wrapLines } from "../../src/cli/terminal/wrap.ts";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

const FLOW = {
  id: "flow",
  name: "Look and post",
  entry: "look",
  nodes: {
    look: { name: "Look", instruction: "Look.", skills: ["logs"] },
    post: { name: "Post", instruction: "Post.", skills: ["slack"] },
  },
  edges: [{ from: "look", to: "post" }],
};
const HALF = { replies: [{ node: "look", text: "it is broken" }] };
const WHOLE = { replies: [...HALF.replies, { node: "post", text: "it is posted" }] };

function project() {
  return makeProject({ "flow.yml": FLOW, "half.json": HALF, "whole.json": WHOLE });
}

describe("on a narrow terminal", () => {
  it.each([
    [80, ["doctor"]],
    [60, ["doctor", "flow.yml"]],
    [60, ["skills", "show", "logs"]],
    [80, ["skills", "show", "supabase"]],
    [60, ["skills", "list"]],
    [60, ["run", "flow.yml", "--model", "script:whole.json"]],
    [60, ["run", "flow.yml", "--model", "script:none.json"]],
    [60, ["run", "--help"]],
  ])("no line is wider than its %i columns and no word is broken: %j", async (columns, argv) => {
    const cwd = project();
    const wide = await runHere(argv, { cwd });
    const narrow = await runHere(argv, { cwd, columns, isTerminal: true });
    const words = new Set(`${wide.stdout} ${wide.stderr}`.split(/\s+/));
    const lines = stripVTControlCharacters(`${narrow.stdout}\n${narrow.stderr}`).split(/[\r\n]/);
    for (const line of lines) expect(line.length <= columns || !line.trim().includes(" "), line).toBe(true);
    if (argv[0] === "doctor") for (const word of lines.join(" ").split(/\s+/)) expect(words).toContain(word);
  });

  it("a line is only broken between its words, and nothing is lost", () => {
    const line = fc
      .array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1, maxLength: 30 })
      .map((all) => all.join(" "));
    fc.assert(
      fc.property(line, fc.integer({ min: 24, max: 60 }), fc.nat(8), (text, columns, indent) => {
        const wrapped = wrapLines(" ".repeat(indent) + text, columns);
        expect(wrapped.split(/\s+/).filter(Boolean)).toEqual(text.split(" "));
        for (const each of wrapped.split("\n")) expect(each.length).toBeLessThanOrEqual(columns);
      }),
    );
  });

  it("output that is not on a terminal is not wrapped", async () => {
    const { stdout } = await runHere(["doctor"], { cwd: project(), columns: 40 });
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeGreaterThan(60);
  });
});

describe("a terminal without cursor movement", () => {
  it("gets plain lines", async () => {
    const argv = ["run", "flow.yml", "--model", "script:whole.json"];
    const { stderr } = await runHere(argv, { cwd: project(), isTerminal: true, env: { TERM: "dumb" } });
    expect(stderr).not.toMatch(/\p{Cc}(?<![\n\t])/u);
    expect(stderr).toContain("node:enter look visit=1");
  });
});

describe("a resumed run", () => {
  it.each([
    [true, "Look and post · run r · script:whole.json · resumed at post\n"],
    [false, "resuming r at post\n"],
  ])("begins with its id and the node where it continues (terminal: %s)", async (isTerminal, header) => {
    const cwd = project();
    await runHere(["run", "flow.yml", "--model", "script:half.json", "--run-id", "r"], { cwd });
    const { stderr } = await runHere(["resume", "r", "--model", "script:whole.json"], {
      cwd,
      isTerminal,
      columns: 100,
    });
    expect(stripVTControlCharacters(stderr).trimStart().startsWith(header)).toBe(true);
  });
});

describe("the live line", () => {
  const envelope = { seq: 0, epoch: 0, run: "r", time: "2026-01-01T00:00:00Z", key: "k" };
  const entered = { ...envelope, type: "node:enter", node: "look", iteration: 1 };
  const called = { ...envelope, type: "tool:call", node: "look", id: "c1", tool: "logs_files", input: {} };
  const reply = { ...envelope, type: "model:reply", node: "look", purpose: "work", model: "m", parts: [], usage: null };
  const done = { ...reply, parts: [{ type: "call", id: "c1", tool: "logs_files", input: {} }] };
  const left = { ...envelope, type: "node:exit", node: "look", result: { status: "success", data: {}, toolCalls: [] } };

  it.each<[phase: string, events: object[], node?: { eval?: object[]; when?: string }]>([
    ["asking", [entered]],
    ["calling logs_files", [entered, called]],
    ["calling logs_files, logs_search", [entered, called, { ...called, id: "c2", tool: "logs_search" }]],
    [
      "asking",
      [entered, called, { ...envelope, type: "tool:result", node: "look", id: "c1", tool: "logs_files", output: 1 }],
    ],
    ["asking", [entered, reply]],
    ["finishing", [entered, reply, left]],
    ["judging", [entered, reply], { eval: [{ name: "j", kind: "judge", rule: "Is it true?" }] }],
    ["asking", [entered, done], { eval: [{ name: "j", kind: "judge", rule: "Is it true?" }] }],
    ["checking", [entered, reply], { eval: [{ name: "e", kind: "evidence", rule: { claims: "claims" } }] }],
    ["routing", [entered, reply, left], { when: "it is broken" }],
  ])("shows the current activity: %s %#", (phase, events, { when, ...node } = {}) => {
    const look = { ...FLOW.nodes.look, ...node };
    const flow = { ...FLOW, nodes: { ...FLOW.nodes, look }, edges: [{ from: "look", to: "post", when }] };
    expect(phasesOf((progress) => tell(progress, events), flow).at(-1)).toBe(phase);
  });

  it("shows steps without a turn, and a resumed run from its start", () => {
    const steps = { ...FLOW, nodes: { look: { name: "Look", steps: [] } } };
    expect(linesOf((progress) => tell(progress, [entered, called]), steps)).toEqual([
      expect.stringMatching(/^. look · running steps · /),
      expect.stringMatching(/^. look · calling logs_files · /),
    ]);
    const resumed = { at: "look", events: [entered, called, left] as RunEvent[] };
    expect(linesOf(() => undefined, FLOW, { resumed })).toEqual([
      expect.stringMatching(/^. look · turn 1 · asking · /),
    ]);
  });

  it("follows the width of the terminal", () => {
    let columns = 80;
    const screen = {
      get columns() {
        return columns;
      },
    };
    const name = "n".repeat(90);
    const widths = linesOf(
      (progress) => {
        tell(progress, [{ ...entered, node: name }]);
        columns = 40;
        tell(progress, [called]);
      },
      FLOW,
      screen,
    ).map(({ length }) => length);
    expect(widths).toEqual([78, 38]);
  });

  it.each([
    ["one", 80, 1],
    ["a".repeat(80), 80, 1],
    [`${"a".repeat(81)}\n\u001b[2mb\u001b[22m`, 80, 3],
    [`${"a".repeat(81)}\nb`, 40, 4],
  ])("counts the rows that it occupies: %#", (text, columns, rows) => {
    expect(rowsOf(text, columns)).toBe(rows);
  });

  it("shows that it waits for a model's retry, and then that it calls the model", () => {
    const phases = phasesOf((progress) => {
      tell(progress, [entered]);
      progress.onProgress?.({ node: "look", message: "overloaded; trying again in 5 s" });
      tell(progress, [called]);
    });
    expect(phases).toEqual(["asking", "waiting", "calling logs_files"]);
  });
});

type Progress = ReturnType<typeof liveProgress>;

function tell(progress: Progress, events: readonly object[]): void {
  for (const event of events) progress.onEvent(event as RunEvent);
}

/** The phases that the line showed, one after another. */
function phasesOf(go: (progress: Progress) => void, flow: object = FLOW): string[] {
  return linesOf(go, flow).flatMap((line) => line.split(" · ")[2] ?? []);
}

function linesOf(go: (progress: Progress) => void, flow: object, screen: object = {}): string[] {
  const drawn: string[] = [];
  const options = {
    record: { workflow: flow, run: "r", skills: [] } as unknown as RunRecord,
    model: "m",
    write: () => undefined,
    redraw: (line: string) => void drawn.push(line),
    paint: (_: unknown, text: string) => text,
    columns: 200,
    now: () => 0,
  };
  const progress = liveProgress(Object.defineProperties(options, Object.getOwnPropertyDescriptors(screen)));
  go(progress);
  progress.close();
  return drawn.filter((line) => line !== "");
}

describe("the list of runs", () => {
  it("distinguishes kinds, and latest is the newest that really ran", async () => {
    const cwd = project();
    const run = ["run", "flow.yml", "--model", "script:whole.json", "--run-id"];
    await runHere([...run, "real"], { cwd });
    await runHere([...run, "dry", "--dry-run"], { cwd });
    await runHere(["replay", "real", "--run-id", "again"], { cwd });
    const listed = JSON.parse((await runHere(["runs", "list", "--json"], { cwd })).stdout);
    expect(listed).toMatchObject({ schema: "skillflow.runs/1" });
    const kinds = listed.runs.map(({ id, kind }: { id: string; kind: string }) => `${id} ${kind}`);
    expect(kinds).toEqual(["again replay", "dry dry-run", "real run"]);
    expect(listed.runs[2]).toMatchObject({
      model: "script:whole.json",
      costUsd: 0,
      status: "succeeded",
      verdict: null,
    });
    expect(JSON.parse((await runHere(["runs", "show", "latest", "--json"], { cwd })).stdout)).toMatchObject({
      run: "real",
    });
    const { stdout } = await runHere(["runs", "list"], { cwd, isTerminal: true, columns: 80 });
    expect(stripVTControlCharacters(stdout)).toMatch(/^▲ degraded again · replay · flow$/m);
  });

  it("has no latest run if there are replays alone", async () => {
    const cwd = project();
    await runHere(["run", "flow.yml", "--model", "script:whole.json", "--run-id", "dry", "--dry-run"], { cwd });
    const ended = await runHere(["runs", "show", "latest"], { cwd });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("there is no run yet") });
  });
});
