import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startLoopback } from "../src/testing.ts";
import { type BenchRow, median, ROUNDS, row, timed } from "./measure.ts";

/** The built program as a process: what it takes to start, and what it takes from there on. */

const PROGRAM = resolve("dist/bin.js");

export async function benchCommandLine(): Promise<readonly BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-command-line-"));
  try {
    return [
      await startRow("skillflow --help", ["--help"], 1.15),
      await startRow("validate incident-triage.yml", ["validate", resolve("workflows/incident-triage.yml")], 2.5),
      await firstRequestRow(folder),
      await furtherNodeRow(folder),
      await longChainRow(folder),
      await listRow(folder),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whole processes, in turn. */
async function startRow(name: string, args: readonly string[], most: number): Promise<BenchRow> {
  const ratios: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const bare = await timed(() => ended(["-e", "0"]));
    const ours = await timed(() => ended([PROGRAM, ...args]));
    if (round > 0) ratios.push(ours / bare);
  }
  const ratio = median(ratios);
  return row(`${name} against node -e 0`, `${ratio.toFixed(2)}x`, `${most}x`, most / ratio);
}

/** From the start of `run` until a model is asked. */
async function firstRequestRow(folder: string): Promise<BenchRow> {
  let asked = Number.NaN;
  const service = await startLoopback((_request, response) => {
    asked = performance.now();
    answerStream(response);
  });
  const args = [PROGRAM, "run", writeChain(folder, 1), "--model", "openai-compatible:m"];
  const times: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const bare = await timed(() => ended(["-e", "0"]));
    const start = performance.now();
    await ended(args, folder, { OPENAI_BASE_URL: service.url });
    if (round > 0) times.push(asked - start);
    if (round > 0) ratios.push((asked - start) / bare);
  }
  await service.close();
  const ms = median(times);
  const value = `${ms.toFixed(0)} ms, ${median(ratios).toFixed(2)}x of node -e 0`;
  return row("first model request of run", value, "130 ms", 130 / ms);
}

const SHORT = 10;
const LONG = 210;

/** What a node more costs with a model that answers at once: a long chain against a short one. */
async function furtherNodeRow(folder: string): Promise<BenchRow> {
  const service = await startLoopback((_request, response) => answerStream(response));
  const env = { OPENAI_BASE_URL: service.url };
  const model = ["--model", "openai-compatible:m", "--max-steps", String(LONG)];
  const run = (length: number) => ended([PROGRAM, "run", writeChain(folder, length), ...model], folder, env);
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const short = await timed(() => run(SHORT));
    const long = await timed(() => run(LONG));
    if (round > 0) times.push((long - short) / (LONG - SHORT));
  }
  await service.close();
  const ms = median(times);
  return row("a further node by the command line", `${ms.toFixed(2)} ms`, "2.5 ms", 2.5 / ms);
}

function answerStream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const part of ANSWER) response.write(`data: ${typeof part === "string" ? part : JSON.stringify(part)}\n\n`);
  response.end();
}

const ANSWER = [
  { choices: [{ delta: { content: "It went as it should." } }] },
  { choices: [{ delta: {}, finish_reason: "stop" }] },
  { choices: [], usage: { prompt_tokens: 90, completion_tokens: 6 } },
  "[DONE]",
];

async function longChainRow(folder: string): Promise<BenchRow> {
  const length = 5000;
  const script = join(folder, "script.yml");
  const replies = Array.from({ length }, () => ({ text: "It went as it should." }));
  writeFileSync(script, JSON.stringify({ replies }));
  const bounds = ["--max-steps", String(length)];
  const args = [PROGRAM, "run", writeChain(folder, length), "--model", `script:${script}`, ...bounds];
  const seconds = (await timed(() => ended(args, folder))) / 1000;
  return row("a chain of 5,000 nodes with script:", `${seconds.toFixed(1)} s`, "8 s", 8 / seconds);
}

async function listRow(folder: string): Promise<BenchRow> {
  const store = join(folder, "many");
  mkdirSync(store);
  const { run, events } = await oneRun(folder);
  for (let n = 0; n < 1000; n++) {
    const id = `run-${n}`;
    writeFileSync(join(store, `${id}.jsonl`), `${JSON.stringify({ ...run, run: id })}\n${events}`);
  }
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    times.push(await timed(() => ended([PROGRAM, "runs", "list", "--store", store], folder)));
  }
  const seconds = median(times) / 1000;
  return row("listing 1,000 runs", `${seconds.toFixed(2)} s`, "0.5 s", 0.5 / seconds);
}

/** Of ten nodes, as the program records it. */
async function oneRun(folder: string) {
  const script = join(folder, "script.yml");
  const args = ["--model", `script:${script}`, "--run-id", "one"];
  await ended([PROGRAM, "run", writeChain(folder, SHORT), ...args], folder);
  const [first = "", ...lines] = readFileSync(join(folder, ".skillflow/runs/one.jsonl"), "utf8").split("\n");
  return { run: JSON.parse(first), events: lines.join("\n") };
}

function writeChain(folder: string, length: number): string {
  const ids = Array.from({ length }, (_, index) => `n${index}`);
  const instruction = "Look at what came before, and say what comes next.";
  const workflow = {
    id: "chain",
    name: "Chain",
    entry: "n0",
    nodes: Object.fromEntries(ids.map((id) => [id, { name: id, instruction }])),
    edges: ids.slice(1).map((to, index) => ({ from: `n${index}`, to })),
  };
  const path = join(folder, `chain-${length}.json`);
  writeFileSync(path, JSON.stringify(workflow));
  return path;
}

async function ended(args: readonly string[], cwd = process.cwd(), env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, args, { stdio: "ignore", cwd, env: { ...process.env, ...env } });
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`${args.slice(0, 3).join(" ")} ended with ${code}`);
}
