import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, runFile } from "./program.ts";

/** Runs that an earlier version recorded, with a seal on each event. */
const recorded = (run: string) => readFileSync(join(import.meta.dirname, "format-1", `${run}.jsonl`), "utf8");
const MODEL = ["--model", "script:script.json"];

function projectWith(run: string, text = recorded(run)): string {
  const cwd = makeProject({ "script.json": WORKING });
  mkdirSync(dirname(runFile(cwd, run)), { recursive: true });
  writeFileSync(runFile(cwd, run), text);
  return cwd;
}

test("a run of format 1 is read, verified, replayed and compared", async () => {
  const cwd = projectWith("ended");
  for (const args of [
    ["runs", "verify", "ended"],
    ["runs", "show", "ended"],
    ["runs", "list"],
    ["report", "ended", "--out", "out"],
    ["replay", "ended", "--allow-changes", "--run-id", "again"],
    ["runs", "diff", "ended", "again"],
  ]) {
    const { code, stderr } = await runHere(args, { cwd });
    expect({ args, code, stderr: code === 0 ? "" : stderr }).toEqual({ args, code: 0, stderr: "" });
  }
  expect(readFileSync(runFile(cwd, "again"), "utf8")).toMatch(/^\{"schema":"skillflow\.run\/2"/);
  const altered = projectWith("ended", recorded("ended").replace("it is broken", "it is healthy"));
  expect((await runHere(["runs", "verify", "ended"], { cwd: altered })).code).toBe(4);
});

test.each([
  ["stopped", recorded("stopped"), ["--max-steps", "9"]],
  [
    "ended",
    recorded("ended")
      .split("\n", 8)
      .map((line) => `${line}\n`)
      .join(""),
    [],
  ],
] as const)("a run of format 1 that is resumed keeps its format (%s)", async (run, text, args) => {
  const cwd = projectWith(run, text);
  const { code, stderr } = await runHere(["resume", run, ...MODEL, ...args], { cwd });
  expect(code, stderr).toBe(0);
  expect(readFileSync(runFile(cwd, run), "utf8").startsWith(text)).toBe(true);
  const events = readEvents(cwd, run);
  expect(events.every(({ seal }) => seal !== undefined)).toBe(true);
  expect(events.filter(({ type, more }) => more && ["node:exit", "route"].includes(type))).toEqual([]);
  expect((await runHere(["runs", "verify", run], { cwd })).code).toBe(0);
});

test("a new run has one seal in each record, and the exit, the route and the next entry are one record", async () => {
  const cwd = makeProject({ "flow.yml": recordedFlow(), "script.json": WORKING });
  const { code, stdout } = await runHere(["run", "flow.yml", ...MODEL, "--run-id", "r", "--stream"], { cwd });
  expect(code).toBe(0);
  const events = readEvents(cwd, "r");
  expect(events.filter(({ more, seal }) => (more === undefined) !== (seal !== undefined))).toEqual([]);
  const exit = events.findIndex(({ type }) => type === "node:exit");
  expect(events.slice(exit, exit + 3).map(({ type, key, more }) => [type, key, more])).toEqual([
    ["node:exit", "1:look/exit/0/2", true],
    ["route", "1:look/follow/0", true],
    ["node:enter", "2:post", undefined],
  ]);
  const streamed = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(streamed).toEqual(expect.arrayContaining([expect.objectContaining(events[exit + 2] ?? {})]));
});

function recordedFlow(): string {
  return JSON.stringify(JSON.parse(recorded("ended").split("\n", 1)[0] ?? "").workflow);
}
