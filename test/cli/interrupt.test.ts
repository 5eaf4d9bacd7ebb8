import type { ChildProcess } from "node:child_process";
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect } from "vitest";
import { oneOf } from "../harness/long.ts";
import { type ChatRequest, startChat } from "../services/chat.ts";
import type { Scripted } from "../services/script.ts";
import { FLOW, isPosting, scriptOf, work } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { linesOf, makeProject, readEvents, resultOf, runFile, runProgram } from "./program.ts";

const it = oneOf(6);

const MODEL = ["--model", "openai-compatible:test"];
const RUN = ["run", "flow.yml", ...MODEL, "--run-id", "r"];

/** A program whose model hangs at the second node; `act` is what happens to it then. */
async function runHanging(cwd: string, args: readonly string[], act: (child: ChildProcess) => unknown) {
  let child: ChildProcess | undefined;
  const service = await startChat((body: ChatRequest): Scripted => {
    if (!isPosting(body)) return work(body);
    if (child) act(child);
    return { instead: "silence" };
  });
  const env = { OPENAI_BASE_URL: service.url };
  const onStart = (started: ChildProcess) => {
    child = started;
  };
  return runProgram(args, { cwd, env, onStart }).finally(service.close);
}

async function resumeHealthy(cwd: string, start = runHere) {
  const service = await startChat(work);
  return start(["resume", "r", "--json"], { cwd, env: { OPENAI_BASE_URL: service.url } }).finally(service.close);
}

function expectWhole(cwd: string, ended: Awaited<ReturnType<typeof runProgram>>) {
  expect(ended.code).toBe(0);
  expect(resultOf(ended).trace.steps).toEqual([
    { node: "look", status: "success", iteration: 1 },
    { node: "post", status: "success", iteration: 1 },
  ]);
  expect(linesOf(cwd, "looks.txt")).toHaveLength(1);
  expect(linesOf(cwd, "posts.txt")).toHaveLength(1);
}

describe("a run", () => {
  it.each([
    ["SIGINT", "interrupted (Ctrl-C)"],
    ["SIGTERM", "interrupted (terminated)"],
  ] as const)(
    "that gets %s records it, prints how to continue, ends with 130 and can be resumed",
    async (signal, reason) => {
      const cwd = makeProject({ "flow.yml": FLOW });
      const ended = await runHanging(cwd, [...RUN, "--json"], (child) => child.kill(signal));
      expect(ended).toMatchObject({ code: 130, signal: null });
      expect(resultOf(ended)).toMatchObject({
        status: "interrupted",
        exitCode: 130,
        error: { code: "run.interrupted" },
      });
      expect(ended.stderr).toMatch(/next: \S*skillflow resume r\n/);
      expect(ended.stderr).toContain("■ interrupted");
      expect(ended.stderr).toContain("node:exit post stopped");
      expect(ended.stderr).not.toContain("✘");
      expect(readEvents(cwd, "r").slice(-3)).toMatchObject([
        { type: "run:interrupt", reason },
        { type: "node:exit", node: "post", unfinished: true },
        { type: "workflow:end", status: "interrupted" },
      ]);
      expectWhole(cwd, await resumeHealthy(cwd, runProgram));
    },
  );

  it("prints how to continue with --quiet too, and nothing else", async () => {
    const cwd = makeProject({ "flow.yml": FLOW });
    const ended = await runHanging(cwd, [...RUN, "--quiet"], (child) => child.kill("SIGINT"));
    expect(ended).toMatchObject({ code: 130, stdout: "" });
    expect(ended.stderr).toMatch(/^■ interrupted interrupted \(Ctrl-C\)\nnext: \S*skillflow resume r\n$/);
  });

  it("ends at once on a second signal, and can be resumed", async () => {
    const cwd = makeProject({ "flow.yml": FLOW });
    const ended = await runHanging(cwd, RUN, (child) => {
      child.kill("SIGINT");
      child.kill("SIGTERM");
    });
    expect(ended).toMatchObject({ code: 130, signal: null });
    expectWhole(cwd, await resumeHealthy(cwd));
  });

  it("does not wait for a tool that never stops", async () => {
    const hang = { calls: [{ tool: "desk_look" }, { tool: "desk_hang" }] };
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": scriptOf(hang) });
    const interrupt = (child: ChildProcess) => {
      child.stderr?.on("data", (text: string) => {
        if (text.includes("tool:result look desk_look ok")) child.kill("SIGINT");
      });
    };
    const run = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r"];
    const ended = await runProgram(run, { cwd, onStart: interrupt });
    expect(ended).toMatchObject({ code: 130, signal: null });
    const after = ["--json", "--tool-timeout", "100ms", "--max-tokens", "1"];
    const resumed = await runProgram(["resume", "r", ...after], { cwd });
    expect(resumed.code).toBe(5);
    const results = readEvents(cwd, "r").filter((event) => event.type === "tool:result");
    expect(results.map(({ tool, error }) => ({ tool, error }))).toEqual([
      { tool: "desk_look", error: undefined },
      { tool: "desk_hang", error: "the call took longer than 0.1 s" },
    ]);
  });

  it("that succeeded ends even if one of its tools still hangs", async () => {
    const hang = { node: "look", calls: [{ tool: "desk_hang" }] };
    const texts = [
      { node: "look", text: "gave up" },
      { node: "post", text: "nothing to post" },
    ];
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": scriptOf(hang, ...texts) });
    const run = ["run", "flow.yml", "--model", "script:script.json", "--tool-timeout", "100ms"];
    expect(await runProgram(run, { cwd })).toMatchObject({ code: 0 });
  });

  it("continues when a tool throws an unhandled error: that call has failed", async () => {
    const burst = { node: "look", calls: [{ tool: "desk_burst", input: { text: "thrown of sk-canary-0123456789" } }] };
    const texts = [
      { node: "look", text: "looked" },
      { node: "post", text: "nothing to post" },
    ];
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": scriptOf(burst, ...texts) });
    const env = { OPENAI_API_KEY: "sk-canary-0123456789" };
    const run = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r", "--json"];
    const { code, stdout, stderr } = await runProgram(run, { cwd, env });
    expect(code, stderr).toBe(0);
    expect(readEvents(cwd, "r").filter((event) => event.type === "tool:result")).toMatchObject([
      { tool: "desk_burst", error: "thrown of [redacted:OPENAI_API_KEY]" },
    ]);
    expect(stdout + stderr).not.toMatch(/\n\s+at |canary/);
  });

  it("belongs to one process at a time: another is refused with 4 while the first lives", async () => {
    const cwd = makeProject({ "flow.yml": FLOW });
    const refused: Promise<void>[] = [];
    const other = async (first: ChildProcess) => {
      const second = await runProgram(["resume", "r", ...MODEL], {
        cwd,
        env: { OPENAI_BASE_URL: "http://127.0.0.1:1" },
      });
      expect(second).toMatchObject({ code: 4, stdout: "" });
      expect(second.stderr).toContain(`run r is being driven by process ${first.pid} on `);
    };
    const killed = await runHanging(cwd, RUN, (child) => {
      refused.push(other(child).finally(() => child.kill("SIGKILL")));
    });
    await Promise.all(refused);
    expect(killed).toMatchObject({ code: null, signal: "SIGKILL" });
    expectWhole(cwd, await resumeHealthy(cwd));
  });

  it.skipIf(!existsSync("/proc/self/stat"))(
    "is not locked by a process that has the id of the one that died",
    async () => {
      const cwd = makeProject({ "flow.yml": FLOW });
      await runHanging(cwd, RUN, (child) => child.kill("SIGKILL"));
      const lock = join(dirname(runFile(cwd, "r")), "r.lock");
      const [owner = ""] = readdirSync(lock);
      const [, host, ...rest] = owner.split("@");
      renameSync(join(lock, owner), join(lock, [process.pid, host, ...rest].join("@")));
      expectWhole(cwd, await resumeHealthy(cwd, runProgram));
    },
  );

  it("of another machine is refused, with the file to delete if that machine is gone", async () => {
    const cwd = makeProject({ "flow.yml": FLOW });
    await runHanging(cwd, RUN, (child) => child.kill("SIGKILL"));
    const lock = join(dirname(runFile(cwd, "r")), "r.lock");
    const [owner = ""] = readdirSync(lock);
    const [pid, , ...rest] = owner.split("@");
    renameSync(join(lock, owner), join(lock, [pid, "far-away", ...rest].join("@")));
    const refused = await resumeHealthy(cwd);
    expect(refused.code).toBe(4);
    expect(resultOf(refused)).toMatchObject({ run: null, status: "refused", error: { code: "store.locked" } });
    expect(refused.stderr).toContain(`run r is being driven by process ${pid} on far-away`);
    expect(refused.stderr).toContain(`if that machine is gone, delete ${lock}`);
    rmSync(lock, { recursive: true });
    expectWhole(cwd, await resumeHealthy(cwd));
  });

  it("of an id that is taken is refused with 2, whether or not that run is alive", async () => {
    const cwd = makeProject({ "flow.yml": FLOW });
    const refused: Promise<void>[] = [];
    const again = async () => {
      const other = await runProgram(RUN, { cwd, env: { OPENAI_BASE_URL: "http://127.0.0.1:1" } });
      expect(other).toMatchObject({ code: 2, stdout: "" });
      expect(other.stderr).toContain("there is a run r already");
    };
    await runHanging(cwd, RUN, (child) => {
      refused.push(again().finally(() => child.kill("SIGKILL")));
    });
    await Promise.all(refused);
    await again();
  });

  it("that is resumed with another model or limit uses it, even after a crash", async () => {
    const cwd = makeProject({ "flow.yml": FLOW });
    await runHanging(cwd, RUN, (child) => child.kill("SIGKILL"));
    const service = await startChat(work);
    const env = { OPENAI_BASE_URL: service.url };
    const limited = await runHere(["resume", "r", "--max-tokens", "1", "--json"], { cwd, env });
    expect(limited.code).toBe(5);
    const other = ["--model", "openai-compatible:other", "--max-tokens", "100000"];
    const ended = await runHere(["resume", "r", ...other, "--json"], { cwd, env }).finally(service.close);
    expectWhole(cwd, ended);
    expect(service.bodies.map((body) => body.model)).toEqual(["other", "other"]);
  });
});
