import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startPostgres, whyNoPostgres } from "../../test/services/postgres.ts";
import {
  type Bench,
  type Contestant,
  type Effort,
  ended,
  interleave,
  lastLine,
  type Measured,
  type Values,
} from "../measure.ts";
import { type Peer, PROGRAMS, placeOf } from "../peers.ts";
import { type Cell, type Column, median, relation } from "../results.ts";

/** Chains of nodes in skillflow and in programs that a user would choose instead. */
export const executor: Bench = {
  name: "executor",
  title: "The executor next to its peers",
  how: `A chain of nodes. Each is two replies of a model that answers at once, and two calls of a tool whose input and output are checked
against their schemas (ajv, and zod in the tool, with us; zod with the others); the answer is checked too, and the next node sees it. Each
measurement is a process of its own, which first runs short chains for three seconds, so that V8 has compiled what it runs often; then it
builds the chain and runs it, and the number of replies and calls is counted. *cold* is a run of 100 nodes without any before it. Ours is assembled as the program does it, with a redactor of twelve secrets and observers. Peers without
a model loop (flowcraft, Mastra's steps, DBOS) do the node by hand; all of them keep only the last answer, the least that they need. Nodes
of LangGraph call its \`ToolNode\`. In memory nothing outlives the process: \`MemorySaver\` is not durable. Durable is what is on disk before
the next step begins: our file store writes at once, and waits for the disk before what cannot be undone; \`SqliteSaver\` writes once a node (\`durability: "sync"\`), DBOS
once a step, in a Postgres of this machine that waits for its disk. Memory is the peak of the process, Node's own 45 MB or so included.
A contestant that takes longer than 20 seconds for a size (180 with \`--thorough\`) is ended, and rests; 10,000 nodes take half of the rounds.`,
  async measure(effort) {
    const folder = mkdtempSync(join(tmpdir(), "bench-executor-"));
    const postgres = whyNoPostgres() === undefined ? await startPostgres({ listens: true, syncs: true }) : undefined;
    try {
      return await measureSizes(effort, { folder, database: postgres?.url });
    } finally {
      await postgres?.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

interface Runner extends Contestant {
  /** Folder of the installed peer. Without one, it runs with the bench's own packages. */
  readonly peer?: Peer;
  readonly module: string;
  readonly run: string;
}

const NODE = { most: 0.12 };
const RUNNERS: readonly Runner[] = [
  { name: "a plain loop", kind: "limit", group: "memory", module: `${PROGRAMS}/loop.mjs`, run: "loop" },
  {
    name: "skillflow, in memory",
    kind: "ours",
    group: "memory",
    module: "bench/dist/ours.js",
    run: "memory",
    promises: {
      "100 nodes": NODE,
      "1,000 nodes": NODE,
      "10,000 nodes": NODE,
      "10,000 against 100": { most: 1.1 },
      "peak at 10,000": { most: 200 },
    },
  },
  peerRow("flowcraft 2.10.1, function nodes", "memory", "flowcraft", "functions"),
  peerRow("Mastra 0.24.9, workflow without an agent", "memory", "mastra", "steps"),
  peerRow("Vercel AI SDK 6.0.326, a loop", "memory", "ai", "loop"),
  peerRow("OpenAI Agents 0.20.0, a loop", "memory", "agents", "loop"),
  peerRow("LangGraph 1.4.18", "memory", "langgraph", "toolNode"),
  peerRow("LangGraph 1.4.18 with MemorySaver (not durable)", "memory", "langgraph", "memorySaver"),
  {
    name: "skillflow, file store",
    kind: "ours",
    group: "durable",
    module: "bench/dist/ours.js",
    run: "files",
    promises: { "1,000 nodes": { most: 0.5 } },
  },
  peerRow("LangGraph 1.4.18 with SqliteSaver", "durable", "langgraph-sqlite", "sqliteSaver"),
  { name: "DBOS 5.3.0, bare steps", kind: "peer", group: "durable", module: `${PROGRAMS}/dbos.mjs`, run: "steps" },
];

function peerRow(name: string, group: string, peer: Peer, run: string): Runner {
  return { name, kind: "peer", group, peer, module: `${peer.replace("-sqlite", "")}.mjs`, run };
}

interface Contest {
  readonly folder: string;
  /** Address of Postgres. Undefined without Postgres. */
  readonly database: string | undefined;
}

async function measureSizes(effort: Effort, contest: Contest): Promise<Measured> {
  const sizes = effort.isThorough ? [10, 100, 1000, 4000, 10_000] : [10, 100, 1000, 10_000];
  const capMs = effort.isThorough ? 180_000 : 20_000;
  const rounds = effort.rounds(3);
  const cells = new Map<Runner, Record<string, Cell>>(RUNNERS.map((runner) => [runner, {}]));
  const cold = await interleave(RUNNERS, [COLD], rounds, (one) =>
    runOnce(one, { size: 100, warmMs: 0, capMs, contest }),
  );
  for (const [one, own] of cells) Object.assign(own, cold.get(one));
  for (const [index, size] of sizes.entries()) {
    const names = [timeColumn(size), peakColumn(size)];
    const reasons = new Map(RUNNERS.map((one) => [one, whyNot(cells.get(one), sizes[index - 1], size, capMs)]));
    const able = RUNNERS.filter((one) => reasons.get(one) === undefined);
    const turns = size === 10_000 ? Math.ceil(rounds / 2) : rounds;
    const measured = await interleave(able, names, turns, (one) =>
      runOnce(one, { size, warmMs: 3000, capMs, contest }),
    );
    for (const [one, own] of cells) {
      const without = Object.fromEntries(names.map((name) => [name, reasons.get(one) ?? "–"]));
      Object.assign(own, measured.get(one) ?? without);
    }
  }
  const rows = RUNNERS.map(({ module: _, run: _run, peer: _peer, ...row }, index) => {
    const own = cells.get(RUNNERS[index] as Runner) ?? {};
    return { ...row, cells: { ...own, [GROWTH]: growth(own[timeColumn(10_000)], own[timeColumn(100)]) } };
  });
  return { columns: columnsFor(sizes), rows, rounds };
}

const COLD = "100 nodes, cold";
const GROWTH = "10,000 against 100";
const timeColumn = (size: number) => `${size.toLocaleString("en")} nodes`;
const peakColumn = (size: number) => `peak at ${size.toLocaleString("en")}`;

function columnsFor(sizes: readonly number[]): Column[] {
  return [
    { name: COLD, unit: "ms/node", better: "less" },
    ...sizes.map((size): Column => ({ name: timeColumn(size), unit: "ms/node", better: "less" })),
    { name: GROWTH, unit: "x", better: "neither" },
    ...sizes.slice(2).map((size): Column => ({ name: peakColumn(size), unit: "MB", better: "less" })),
  ];
}

function growth(long: Cell | undefined, short: Cell | undefined): Cell {
  const ratio = relation(long, short);
  return ratio === undefined ? "–" : [ratio];
}

/** Reason why a size is left out: the time of the size before, or because that could not run. */
function whyNot(own: Record<string, Cell> = {}, before: number | undefined, size: number, capMs: number) {
  if (before === undefined) return undefined;
  const cell = own[timeColumn(before)];
  if (typeof cell === "string") return cell;
  return median(cell ?? []) * size > capMs ? `skipped: over ${capMs / 1000} s a run` : undefined;
}

interface Trial {
  readonly size: number;
  readonly warmMs: number;
  readonly capMs: number;
  readonly contest: Contest;
}

async function runOnce(runner: Runner, { size, warmMs, capMs, contest: { folder, database } }: Trial): Promise<Values> {
  const place = runner.peer ? await placeOf(runner.peer) : { folder: "." };
  if ("why" in place) return place.why;
  if (runner.name.startsWith("DBOS") && database === undefined) return "no Postgres here";
  const repeats = warmMs === 0 ? 1 : Math.max(1, Math.floor(300 / size));
  const numbers = [size, repeats].map(String);
  const contest = [resolve(place.folder, runner.module), runner.run, ...numbers, folder, String(warmMs)];
  const env = { BENCH_DATABASE_URL: database ?? "" };
  const { code, output } = await ended([`${PROGRAMS}/contest.mjs`, ...contest], {
    env,
    mostMs: capMs + START_MS + warmMs,
  });
  if (code === null) return `over ${capMs / 1000} s a run`;
  if (code !== 0) return `failed: ${lastLine(output)}`;
  const { ms, megabytes } = JSON.parse(output) as { readonly ms: number; readonly megabytes: number };
  return [ms, megabytes];
}

/** Most time that a process may take to start, in addition to its runs. */
const START_MS = 5000;
