import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { vi } from "vitest";
import { prepareRun } from "../../src/app/runs/prepare.ts";
import { openWorkspace } from "../../src/app/workspace.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { summarizeRun } from "../../src/core/engine/record/run-summary.ts";
import { processHost } from "../../src/entry/process-host.ts";
import { openDbosStore } from "../../src/stores/dbos/store.ts";
import type { ChatRequest } from "../services/chat.ts";
import type { Scripted } from "../services/script.ts";
import { programCommand } from "./program.ts";

/** Many runs in the queue of one database, and workers that are killed and replaced. */
export interface Fleet {
  /** Leaves so many runs of the project's flow.yml to the workers. */
  enqueue(prefix: string, count: number): Promise<readonly string[]>;
  start(): Promise<void>;
  /** Kills the worker that lives longest, and puts another in its place. */
  replace(): Promise<void>;
  /** Ends all workers as an orchestrator would. */
  stop(): Promise<void>;
  /** Prometheus metrics of each living worker. */
  metrics(): Promise<readonly string[]>;
  /** Resolves once nothing waits in the queue, and nothing is running. */
  idle(): Promise<void>;
  /** The outcome of each run. */
  statuses(runs: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Number of runs whose record was altered. */
  altered(runs: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

interface Place {
  readonly cwd: string;
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly concurrency: number;
  readonly patienceMs: number;
}

export function openFleet({ cwd, url, env, concurrency, patienceMs }: Place): Fleet {
  const host = { ...processHost(), cwd, env: { SKILLFLOW_DATABASE_URL: url, ...env } };
  const store = openDbosStore(url, host.self);
  const workers: ChildProcess[] = [];
  const scraped = new Map<ChildProcess, string>();
  const start = async () => {
    const command = programCommand(["worker", "--quiet", "--concurrency", String(concurrency), "--metrics-port", "0"]);
    const child = spawn(command.command, command.args, { cwd, env: { ...command.env, ...host.env } });
    workers.push(child);
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    await vi.waitFor(
      () => {
        if (!/^ready/m.test(said)) throw new Error(`the worker does not say that it is ready: ${said}`);
      },
      { timeout: 60_000 },
    );
    scraped.set(child, /^metrics on (http:\S+)$/m.exec(said)?.[1] ?? "");
  };
  const end = async (worker: ChildProcess | undefined, signal: NodeJS.Signals) => {
    if (!worker || worker.exitCode !== null || worker.signalCode !== null) return;
    const closed = once(worker, "close");
    worker.kill(signal);
    await closed;
  };
  let record: RunRecord | undefined;
  return {
    async enqueue(prefix, count) {
      record ??= await recordOf(host);
      const runs = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
      for (const run of runs) await store.enqueue({ ...record, run });
      return runs;
    },
    start,
    async replace() {
      await end(workers.shift(), "SIGKILL");
      await start();
    },
    async stop() {
      await Promise.all(workers.splice(0).map((worker) => end(worker, "SIGTERM")));
    },
    metrics: () => Promise.all(workers.map(async (worker) => (await fetch(scraped.get(worker) ?? "")).text())),
    async idle() {
      const isIdle = async () => {
        const { queued, underWay } = await store.examine();
        if (queued + underWay > 0) throw new Error(`${queued} wait, ${underWay} are under way`);
      };
      await vi.waitFor(isIdle, { timeout: patienceMs, interval: 100 });
    },
    async statuses(runs) {
      const skimmed = await Promise.all(runs.map((run) => store.skim(run)));
      return new Map(skimmed.map(summarizeRun).map(({ id, status }) => [id, status]));
    },
    async altered(runs) {
      let found = 0;
      for (const run of runs) if ((await store.verify(run)).problems.length > 0) found += 1;
      return found;
    },
    async close() {
      await Promise.all(workers.splice(0).map((worker) => end(worker, "SIGKILL")));
      await store.close();
    },
  };
}

async function recordOf(host: Parameters<typeof openWorkspace>[0]): Promise<RunRecord> {
  const place = { engine: "dbos", url: undefined } as const;
  const workspace = openWorkspace(host, { overrides: new Map(), skillDirs: [], discover: true, store: place });
  const prepared = await prepareRun(workspace, {
    document: "flow.yml",
    input: () => ({}),
    runId: "first",
    choices: { model: "openai-compatible:test", offline: false, requireSkills: false, detach: true },
    connect: undefined,
  });
  await prepared.close();
  return prepared.record;
}

/** Looks, then posts twice, at each of two nodes: six calls, and four writes, a run. */
export function workingAnswer({ messages }: ChatRequest): Scripted {
  const turns: readonly Scripted[] = [
    { calls: [{ tool: "desk_look" }] },
    { calls: [{ tool: "desk_post" }, { tool: "desk_post" }] },
    { text: "done here" },
  ];
  return turns[messages.filter(({ role }) => role === "assistant").length] ?? { text: "done here" };
}
