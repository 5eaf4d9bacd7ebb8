import { priceOf } from "../src/models/prices.ts";
import { medianOf, type Result } from "./results.ts";

/** Computes what a thousand runs a minute need, for a section of docs/scale.md. */

const BEGINS = "<!-- made by `npm run bench -- --write` -->";
const ENDS = "<!-- as far as here -->";

/** Generates the page with its section updated. */
export function renderScale(page: string, results: readonly Result[]): string {
  const from = page.indexOf(BEGINS);
  const to = page.indexOf(ENDS);
  if (from === -1 || to < from) throw new Error("docs/scale.md has no place for what is computed");
  return `${page.slice(0, from)}${BEGINS}\n\n${section(results)}\n\n${page.slice(to)}`;
}

const RUNS = 1000;

/** Assumptions that cannot be measured here. The page names them, so that readers can use their own. */
const ASSUMED = {
  /** Duration of the model calls of a run, one after another. */
  secondsPerCall: 4,
  /** Runs that a worker drives at a time. */
  concurrency: 16,
  requestsPerMinute: 4000,
  freshTokensPerMinute: 2_000_000,
  connections: 100,
  models: ["claude-opus-5-5", "claude-sonnet-5-5"],
};

interface Need {
  readonly what: string;
  readonly needed: string;
  readonly there: string;
  /** Above 1 it is not enough. */
  readonly share: number;
  readonly move: string;
}

function section(results: readonly Result[]): string {
  const measured = readMeasured(results);
  if (!measured) return "Not computed: the tables `tokens` and `dbos` have not been measured.";
  const needs = needsOf(measured).sort((a, b) => b.share - a.share);
  const [first] = needs;
  const rows = needs.map(({ what, needed, there, share, move }) => {
    return `| ${what} | ${needed} | ${there} | ${share.toFixed(share < 10 ? 1 : 0)}x | ${move} |`;
  });
  const head =
    "| | 1,000 runs a minute need | There is | Need / there | How to move it |\n| --- | --- | --- | ---: | --- |";
  return [...opening(measured), [head, ...rows].join("\n"), bottleneck(first), money(measured)].join("\n\n");
}

interface Measured {
  /** For the shipped triage. */
  readonly requests: number;
  readonly tokens: number;
  readonly fresh: number;
  readonly answered: number;
  readonly records: number;
  readonly kilobytes: number;
  /** For a run in the table `dbos`. */
  readonly rows: number;
  readonly workerRuns: number;
  readonly bestRuns: number;
  readonly workerConnections: number;
  readonly cores: number;
}

function readMeasured(results: readonly Result[]): Measured | undefined {
  const tokens = results.find(({ name }) => name === "tokens");
  const dbos = results.find(({ name }) => name === "dbos");
  const triage = tokens?.rows.find(({ name }) => name === "all nodes");
  const engine = dbos?.rows.find(({ kind }) => kind === "ours");
  if (!triage || !engine || !dbos) return undefined;
  const of = (row: typeof triage, column: string) => medianOf(row, column) ?? Number.NaN;
  const speeds = dbos.columns.filter(({ unit }) => unit === "runs/s").map(({ name }) => medianOf(engine, name) ?? 0);
  const all = of(triage, "tokens");
  const measured = {
    requests: of(triage, "requests"),
    tokens: all,
    fresh: all * (1 - of(triage, "cacheable") / 100),
    answered: of(triage, "answered"),
    records: of(triage, "records"),
    kilobytes: of(triage, "recorded"),
    rows: of(engine, "rows a run"),
    workerRuns: of(engine, "1 worker"),
    bestRuns: Math.max(...speeds),
    workerConnections: of(engine, "connections a worker"),
    cores: dbos.machine.cores,
  };
  return Object.values(measured).some(Number.isNaN) ? undefined : measured;
}

function needsOf(measured: Measured): Need[] {
  const { requests, fresh, records, rows, workerRuns, bestRuns, workerConnections, cores } = measured;
  const workers = Math.ceil(inFlight(measured) / ASSUMED.concurrency);
  const connections = workers * workerConnections;
  const rowsPerSecond = (RUNS * records) / 60;
  const measuredRows = bestRuns * rows;
  const processors = rowsPerSecond / (workerRuns * rows);
  return [
    {
      what: "requests to the model",
      needed: `${count(RUNS * requests)} a minute`,
      there: `${count(ASSUMED.requestsPerMinute)} a minute (assumed)`,
      share: (RUNS * requests) / ASSUMED.requestsPerMinute,
      move: "a higher limit, or several accounts and providers; fewer nodes in front of a decision",
    },
    {
      what: "fresh input tokens",
      needed: `${count(RUNS * fresh)} a minute`,
      there: `${count(ASSUMED.freshTokensPerMinute)} a minute (assumed)`,
      share: (RUNS * fresh) / ASSUMED.freshTokensPerMinute,
      move: "a higher limit; `--context-mode readOnDemand`, smaller results, a condition in code before the first model",
    },
    {
      what: "connections to Postgres",
      needed: `${count(connections)}, of ${count(workers)} workers`,
      there: `${count(ASSUMED.connections)} (Postgres' default)`,
      share: connections / ASSUMED.connections,
      move: "`max_connections`, at 10 MB each or so; a higher `--concurrency`, so fewer workers",
    },
    {
      what: "rows into Postgres",
      needed: `${count(rowsPerSecond)} a second`,
      there: `${count(measuredRows)} a second (measured, workers and Postgres on ${cores} cores)`,
      share: rowsPerSecond / measuredRows,
      move: "a machine for Postgres with more cores and a fast disk; then a database for each team or service",
    },
    {
      what: "processors of workers",
      needed: `${Math.ceil(processors)}`,
      there: `${cores} (this machine)`,
      share: processors / cores,
      move: "more machines with workers: they need not know of each other",
    },
  ];
}

/** Runs in progress at any moment. */
function inFlight({ requests }: Measured): number {
  return (RUNS / 60) * requests * ASSUMED.secondsPerCall;
}

function opening(measured: Measured): string[] {
  const { requests, tokens, fresh, records, kilobytes } = measured;
  const { secondsPerCall, concurrency } = ASSUMED;
  const gigabytes = (kilobytes * RUNS * 60 * 24) / 1e6;
  return [
    "### A thousand runs a minute",
    `Computed of [what was measured](performance.md), for the triage that comes along: a run has ${requests} requests with ${count(tokens)} input tokens,
${count(fresh)} of them fresh, and leaves ${records} records of ${count(kilobytes)} KB. Assumed, because nobody can measure it here: ${secondsPerCall} seconds a request, ${concurrency} runs
at a time in a worker, and the limits of an account. So ${count(inFlight(measured))} runs are under way at any moment, and the record grows by ${count(gigabytes)} GB
a day, before indexes: \`runs prune\` has to keep up.`,
  ];
}

function bottleneck(first: Need | undefined): string {
  if (!first) return "";
  if (first.share <= 1) return "All of it is there.";
  return `**The first bottleneck is ${first.what}**, by a factor of ${count(first.share)}; the others follow in the order of the table.`;
}

function money({ tokens, fresh, answered }: Measured): string {
  const costs = ASSUMED.models.flatMap((model) => {
    const usd = priceOf(model, { inputTokens: tokens, cachedTokens: tokens - fresh, outputTokens: answered });
    return usd === null ? [] : [`${usd.toFixed(2)} USD a run and ${count(usd * RUNS * 60)} USD an hour with ${model}`];
  });
  return `At list prices that is ${costs.join(", ")}. The workflow's \`max_cost_usd\` bounds a run, \`per_day\` of \`listen\` a day.`;
}

/** More than three digits would not be significant. */
function count(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 2 });
}
