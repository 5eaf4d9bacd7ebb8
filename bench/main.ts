import { spawnSync } from "node:child_process";
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunEvent } from "../src/core/event.ts";
import { fileStore } from "../src/stores/file.ts";
import { groupRecords } from "../src/stores/journal.ts";
import { memoryStore } from "../src/stores/memory.ts";
import { sendJson, startLoopback } from "../src/testing.ts";
import { type chainRecord, driveChain } from "./executor.ts";
import { type BenchRow, benchLogs } from "./logs.ts";
import { benchServe } from "./serve.ts";

/** Every promise about speed and memory, each measured beside what a user would compare it with, in one run. */

const ROUNDS = 9;

async function executorRows(): Promise<BenchRow[]> {
  const sizes = [100, 1000, 10_000];
  for (const size of sizes) await driveChain(memoryStore(), size);
  const perNode = new Map<number, number>();
  for (const size of sizes) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const repeats = Math.max(1, 1000 / size);
      times.push(
        (await timed(async () => {
          for (let i = 0; i < repeats; i++) await driveChain(memoryStore(), size);
        })) /
          (size * repeats),
      );
    }
    perNode.set(size, median(times));
  }
  const [short = 0, long = 0] = [perNode.get(100), perNode.get(10_000)];
  const rows = [...perNode].map(([size, ms]) =>
    row(`executor, ${size} nodes`, `${ms.toFixed(3)} ms/node`, "0.05 ms/node", 0.05 / ms),
  );
  const memory = Number(
    spawnSync(process.execPath, ["bench/dist/executor-memory.js", "10000"], { encoding: "utf8" }).stdout,
  );
  return [
    ...rows,
    row("executor, 10,000 nodes against 100", `${(long / short).toFixed(2)}x`, "1.5x", 1.5 / (long / short)),
    row("executor, peak memory of 10,000 nodes", `${memory.toFixed(0)} MB`, "200 MB", 200 / memory),
  ];
}

/** The same records, once through the journal and once as bare writes, waiting for the disk where the journal does. */
async function journalRow(): Promise<BenchRow> {
  const folder = mkdtempSync(join(tmpdir(), "bench-journal-"));
  const source = memoryStore();
  await driveChain(source, 250);
  const { record, events } = await source.read("chain-250");
  const records = groupRecords(events);
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const bare = await timed(async () => writeBare(join(folder, `bare-${round}`), records));
    const journal = await timed(() => writeJournal(folder, `round-${round}`, record, records));
    ratios.push(journal / bare);
  }
  rmSync(folder, { recursive: true });
  const ratio = median(ratios);
  return row("file journal against append and fdatasync", `${ratio.toFixed(2)}x`, "1.5x", 1.5 / ratio);
}

function writeBare(path: string, records: readonly (readonly RunEvent[])[]): void {
  const file = openSync(path, "w");
  for (const events of records) {
    writeSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    if (events.some(({ type }) => type === "model:reply" || type === "workflow:end")) fdatasyncSync(file);
  }
  closeSync(file);
}

async function writeJournal(
  directory: string,
  run: string,
  record: ReturnType<typeof chainRecord>,
  records: readonly (readonly RunEvent[])[],
): Promise<void> {
  const self = { pid: process.pid, host: "bench", started: "" };
  const journal = await fileStore({ directory, self, isAlive: () => true }).create({ ...record, run });
  for (const events of records) await journal.record(events[0]?.key ?? "", async () => events);
  await journal.close();
}

/** Whole processes, in turn. */
function startRow(name: string, args: readonly string[], most: number): BenchRow {
  const ratios: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const bare = process_(["-e", "0"]);
    const ours = process_(["dist/bin.js", ...args]);
    if (round > 0) ratios.push(ours / bare);
  }
  const ratio = median(ratios);
  return row(`${name} against node -e 0`, `${ratio.toFixed(2)}x`, `${most}x`, most / ratio);
}

function process_(args: readonly string[]): number {
  const start = performance.now();
  spawnSync(process.execPath, args, { stdio: "ignore" });
  return performance.now() - start;
}

/** The request that a one-node workflow "Say hello." sends, for each provider. */
async function helloRows(): Promise<BenchRow[]> {
  const { anthropicModel } = await import("../src/models/anthropic.ts");
  const { openaiModel } = await import("../src/models/openai.ts");
  const { compatibleModel } = await import("../src/models/openai-compatible.ts");
  const service = await startLoopback(async (_request, response) =>
    sendJson(response, 400, { error: { message: "no" } }),
  );
  const options = { apiKey: "key", baseURL: service.url };
  const models = [anthropicModel(options), openaiModel(options), compatibleModel(options)];
  for (const model of models) {
    const prompt = { text: "Say hello.", turns: [], tools: [] };
    const signal = new AbortController().signal;
    const call = { key: "1:hello/0/0", purpose: "work", node: "hello", model: "a-model", signal } as const;
    await model.reply(prompt, call).catch(() => undefined);
  }
  await service.close();
  return models.map((model, index) => {
    const bytes = Buffer.byteLength(service.requests[index]?.body ?? "");
    return row(`"Say hello." to ${model.provider}`, `${bytes} bytes`, "2,048 bytes", 2048 / bytes);
  });
}

function row(name: string, value: string, target: string, ratio: number): BenchRow {
  return { name, value, target, ratio };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const rows = [
  ...(await executorRows()),
  await journalRow(),
  startRow("skillflow --help", ["--help"], 1.5),
  startRow("validate incident-triage.yml", ["validate", "workflows/incident-triage.yml"], 3),
  ...(await helloRows()),
  ...(await benchServe()),
  ...benchLogs(1_000_000_000),
];
console.log("| What | Measured | Promise | Reserve |\n| --- | --- | --- | --- |");
for (const { name, value, target, ratio } of rows) {
  const reserve = ratio === undefined ? "–" : `${ratio.toFixed(2)}x${ratio < 1 ? " **missed**" : ""}`;
  console.log(`| ${name} | ${value} | ${target} | ${reserve} |`);
}
