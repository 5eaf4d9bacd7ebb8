import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { type Database, ENGINE_SCHEMA, openDatabase } from "../../src/stores/dbos/database.ts";
import { type DbosStore, openDbosStore } from "../../src/stores/dbos/store.ts";
import { groupRecords } from "../../src/stores/journal.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { startPostgres, whyNoPostgres } from "../../test/services/postgres.ts";
import { driveChain } from "../chain.ts";
import {
  type Bench,
  type Contestant,
  type Effort,
  ended,
  interleave,
  lastLine,
  succeeded,
  type Values,
} from "../measure.ts";
import { PROGRAMS } from "../peers.ts";
import type { Cell, Column, Row } from "../results.ts";
import { writeChain, writeScript } from "./command-line.ts";

const RECORD = "a record";
const BARE = "DBOS 5.3.0, bare steps";
const NODES = 10;

/** The engine in Postgres: what it adds to a step, and how much workers handle. */
export const dbos: Bench = {
  name: "dbos",
  title: "The engine `dbos`",
  how: `Postgres runs on this machine, waits for its disk, and shares the processors with all that is measured. *a record*: the first 300 records
of a chain, each a step of DBOS with the same text, by one process, one after another; ours in the run that it belongs to, with its digests
and its lock. The rest is ours alone: a queue of runs of ${NODES} nodes each with a scripted model (100 runs, with \`--thorough\` 1,000), taken by so
many processes \`skillflow worker --concurrency 4\`, from the moment when a fifth of them is done; what a run leaves in the database, with
its indexes; and the connections that a worker holds. Two processors are used up by two workers and Postgres: more of them show nothing here.`,
  async measure(effort) {
    const why = whyNoPostgres();
    const rounds = effort.rounds(3);
    if (why !== undefined)
      return { columns: COLUMNS, rows: CONTESTANTS.map((row) => rowOf(row, { [RECORD]: why })), rounds };
    const folder = mkdtempSync(join(tmpdir(), "bench-dbos-"));
    const { url = "", stop } = await startPostgres({ listens: true, syncs: true });
    try {
      const records = await measureRecords(folder, url, rounds);
      const carried = await measureWorkers(folder, url, effort);
      return {
        columns: COLUMNS,
        rows: CONTESTANTS.map((row) => rowOf(row, { ...records.get(row), ...(row.kind === "ours" ? carried : {}) })),
        rounds,
      };
    } finally {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

const WORKERS = [1, 2, 4, 8] as const;
const workersColumn = (count: number) => (count === 1 ? "1 worker" : `${count} workers`);
const COLUMNS: readonly Column[] = [
  { name: RECORD, unit: "ms", better: "less" },
  ...WORKERS.map((count): Column => ({ name: workersColumn(count), unit: "runs/s", better: "more" })),
  { name: "rows a run", unit: "", better: "neither" },
  { name: "disk a run", unit: "KB", better: "less" },
  { name: "connections a worker", unit: "", better: "less" },
];

const CONTESTANTS: readonly Contestant[] = [
  { name: BARE, kind: "limit" },
  { name: "skillflow, engine dbos", kind: "ours", promises: { [RECORD]: { most: 1.2, of: BARE } } },
];

function rowOf(row: Contestant, cells: Readonly<Record<string, Cell>>): Row {
  return { ...row, cells: { ...Object.fromEntries(COLUMNS.map(({ name }) => [name, "–"])), ...cells } };
}

async function measureRecords(folder: string, url: string, rounds: number) {
  const source = memoryStore();
  await driveChain(source, folder, 100);
  const { events } = await source.read("chain-100");
  writeFileSync(join(folder, "records.json"), JSON.stringify(groupRecords(events)));
  return interleave(CONTESTANTS, [RECORD], rounds, async ({ kind }): Promise<Values> => {
    const module = resolve(kind === "ours" ? "bench/dist/ours-dbos.js" : `${PROGRAMS}/dbos-records.mjs`);
    const args = [`${PROGRAMS}/contest.mjs`, module, "records", "300", "1", folder, "500"];
    const { code, output } = await ended(args, { env: { BENCH_DATABASE_URL: url }, mostMs: 60_000 });
    return code === 0 ? [(JSON.parse(output) as { readonly ms: number }).ms] : `failed: ${lastLine(output)}`;
  });
}

async function measureWorkers(folder: string, url: string, effort: Effort): Promise<Record<string, Cell>> {
  const database = openDatabase(url);
  const store = openDbosStore(url, { pid: process.pid, host: "bench", started: "0" });
  try {
    const record = await recordOnce(folder, url, store);
    const runs = effort.isThorough ? 1000 : 100;
    const cells: Record<string, Cell> = {};
    for (const count of WORKERS) {
      if (!effort.isThorough && count > 2) {
        cells[workersColumn(count)] = "with --thorough";
        continue;
      }
      const carried = await measureQueue({ folder, url, database, store, record }, count, runs);
      cells[workersColumn(count)] = [carried.perSecond];
      cells["rows a run"] = [carried.rows];
      cells["disk a run"] = [carried.kilobytes];
      cells["connections a worker"] = [carried.connections];
    }
    return cells;
  } finally {
    await store.close();
    await database.close();
  }
}

/** A run as the command line leaves it for a worker. */
async function recordOnce(folder: string, url: string, store: DbosStore): Promise<RunRecord> {
  const model = ["--model", `script:${writeScript(folder, NODES)}`];
  const detached = ["--engine", "dbos", "--detach", "--run-id", "first"];
  const args = [resolve("dist/bin.js"), "run", writeChain(folder, NODES), ...model, ...detached];
  await succeeded(args, { cwd: folder, env: { SKILLFLOW_DATABASE_URL: url } });
  return (await store.read("first")).record;
}

interface Queue {
  readonly folder: string;
  readonly url: string;
  readonly database: Database;
  readonly store: DbosStore;
  readonly record: RunRecord;
}

/** Runs per second, with this many workers. */
async function measureQueue(queue: Queue, workers: number, runs: number): Promise<Carried> {
  const { folder, url, database, store, record } = queue;
  const ids = Array.from({ length: runs }, (_, index) => `by-${workers}-${index}`);
  const before = await sizeOf(database);
  for (const run of ids) await store.enqueue({ ...record, run });
  const connected = await connections(database);
  const args = [resolve("dist/bin.js"), "worker", "--engine", "dbos", "--concurrency", "4", "--quiet"];
  const env = { ...process.env, SKILLFLOW_DATABASE_URL: url };
  const children = ids
    .slice(0, workers)
    .map(() => spawn(process.execPath, args, { cwd: folder, env, stdio: "ignore" }));
  let most = 0;
  try {
    for (let done = 0; done < runs; done = (await endsOf(database, workers)).length) {
      most = Math.max(most, (await connections(database)) - connected);
      if (children.some(({ exitCode }) => exitCode !== null)) throw new Error("a worker ended");
      await sleep(200);
    }
    const ends = await endsOf(database, workers);
    const first = Math.floor(runs / 5);
    const perSecond = (1000 * (runs - 1 - first)) / ((ends.at(-1) ?? 0) - (ends[first] ?? 0));
    const after = await sizeOf(database);
    return {
      perSecond,
      connections: most / workers,
      rows: (after.rows - before.rows) / runs,
      kilobytes: (after.bytes - before.bytes) / runs / 1000,
    };
  } finally {
    await Promise.all(children.map(stopped));
  }
}

interface Carried {
  readonly perSecond: number;
  readonly connections: number;
  readonly rows: number;
  readonly kilobytes: number;
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const over = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.kill("SIGTERM");
  await over;
}

/** When runs ended, in milliseconds, in order. */
async function endsOf(database: Database, workers: number): Promise<readonly number[]> {
  const found = await database.rows<{ readonly at: string }>(
    `select updated_at as at from ${ENGINE_SCHEMA}.workflow_status
     where status = 'SUCCESS' and workflow_uuid like $1 order by updated_at`,
    `by-${workers}-%`,
  );
  return found.map(({ at }) => Number(at));
}

async function connections(database: Database): Promise<number> {
  const [found] = await database.rows<{ readonly count: string }>(
    "select count(*) from pg_stat_activity where datname = current_database()",
  );
  return Number(found?.count);
}

/** Returns the size of all tables with their indexes. */
async function sizeOf(database: Database): Promise<{ readonly rows: number; readonly bytes: number }> {
  const tables = await database.rows<{ readonly name: string; readonly bytes: string }>(
    `select schemaname || '.' || tablename as name, pg_total_relation_size((schemaname || '.' || tablename)::regclass) as bytes
     from pg_tables where schemaname in ('skillflow', $1)`,
    ENGINE_SCHEMA,
  );
  let rows = 0;
  for (const { name } of tables) {
    const [found] = await database.rows<{ readonly count: string }>(`select count(*) from ${name}`);
    rows += Number(found?.count);
  }
  return { rows, bytes: tables.reduce((sum, { bytes }) => sum + Number(bytes), 0) };
}
