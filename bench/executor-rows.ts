import { spawnSync } from "node:child_process";
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunEvent } from "../src/core/event.ts";
import type { Store } from "../src/core/ports.ts";
import { fileStore } from "../src/stores/file.ts";
import { groupRecords } from "../src/stores/journal.ts";
import { memoryStore } from "../src/stores/memory.ts";
import { chainRecord, driveChain } from "./executor.ts";
import { type BenchRow, median, row, timed } from "./measure.ts";

/** The executor over chains of nodes, in memory and with the file store. */

const ROUNDS = 5;
const SIZES = [100, 1000, 10_000] as const;

export async function benchExecutor(): Promise<readonly BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-executor-"));
  try {
    return [...(await memoryRows(folder)), peakRow(), await fileRow(folder), await journalRow(folder)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The sizes in turn, so that all meet the same machine. */
async function memoryRows(folder: string): Promise<BenchRow[]> {
  const times = new Map<number, number[]>(SIZES.map((size) => [size, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const size of SIZES) {
      const repeats = Math.max(1, 1000 / size);
      const took = await timed(async () => {
        for (let i = 0; i < repeats; i++) await driveChain(memoryStore(), folder, size);
      });
      if (round > 0) times.get(size)?.push(took / (size * repeats));
    }
  }
  const [short = 0, , long = 0] = SIZES.map((size) => median(times.get(size) ?? []));
  return [
    ...[...times].map(([size, all]) => {
      const ms = median(all);
      return row(`executor, ${size} nodes`, `${ms.toFixed(3)} ms/node`, "0.08 ms/node", 0.08 / ms);
    }),
    row("executor, 10,000 nodes against 100", `${(long / short).toFixed(2)}x`, "1.2x", 1.2 / (long / short)),
  ];
}

function peakRow(): BenchRow {
  const memory = Number(
    spawnSync(process.execPath, ["bench/dist/executor-memory.js", "10000"], { encoding: "utf8" }).stdout,
  );
  return row("executor, peak memory of 10,000 nodes", `${memory.toFixed(0)} MB`, "200 MB", 200 / memory);
}

async function fileRow(folder: string): Promise<BenchRow> {
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const took = await timed(() => driveChain(storeIn(join(folder, `runs-${round}`)), folder, 250));
    if (round > 0) times.push(took / 250);
  }
  const ms = median(times);
  return row("executor with the file store", `${ms.toFixed(2)} ms/node`, "0.9 ms/node", 0.9 / ms);
}

/** The same records, once through the journal and once as bare writes, waiting for the disk where the journal does. */
async function journalRow(folder: string): Promise<BenchRow> {
  const source = memoryStore();
  await driveChain(source, folder, 250);
  const { events } = await source.read("chain-250");
  const records = groupRecords(events);
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const bare = await timed(() => writeBare(join(folder, `bare-${round}`), records));
    const journal = await timed(() => writeJournal(storeIn(folder), `round-${round}`, records));
    ratios.push(journal / bare);
  }
  const ratio = median(ratios);
  return row("file journal against append and fdatasync", `${ratio.toFixed(2)}x`, "1.5x", 1.5 / ratio);
}

function storeIn(directory: string): Store {
  return fileStore({ directory, self: { pid: process.pid, host: "bench", started: "" }, isAlive: () => true });
}

const SYNCED: ReadonlySet<string> = new Set(["model:reply", "tool:call", "tool:result", "workflow:end"]);

function writeBare(path: string, records: readonly (readonly RunEvent[])[]): void {
  const file = openSync(path, "w");
  for (const events of records) {
    writeSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    if (events.some(({ type }) => SYNCED.has(type))) fdatasyncSync(file);
  }
  closeSync(file);
}

async function writeJournal(store: Store, run: string, records: readonly (readonly RunEvent[])[]): Promise<void> {
  const journal = await store.create({ ...chainRecord(250), run });
  for (const events of records) await journal.record(events[0]?.key ?? "", async () => events);
  await journal.close();
}
