import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { type Bench, type Effort, resultOf } from "./measure.ts";
import { benchPages, readResults, writeResult } from "./pages.ts";
import { section } from "./performance.ts";
import { ciLogs } from "./tables/ci-logs.ts";
import { commandLine } from "./tables/command-line.ts";
import { dbos } from "./tables/dbos.ts";
import { executor } from "./tables/executor.ts";
import { hello } from "./tables/hello.ts";
import { journal } from "./tables/journal.ts";
import { logs } from "./tables/logs.ts";
import { requests } from "./tables/requests.ts";
import { serve } from "./tables/serve.ts";
import { skills } from "./tables/skills.ts";
import { start } from "./tables/start.ts";
import { tokens } from "./tables/tokens.ts";

/** Every table, in the order of the page. */
const BENCHES: readonly Bench[] = [
  executor,
  start,
  commandLine,
  requests,
  hello,
  tokens,
  journal,
  dbos,
  logs,
  ciLogs,
  skills,
  serve,
];

const words = process.argv.slice(2);
const names = words.filter((word) => !word.startsWith("--"));
const isThorough = words.includes("--thorough");
const effort: Effort = { isThorough, rounds: (usual) => (isThorough ? usual * 3 : usual) };

const unknown = names.filter((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown.length > 0)
  throw new Error(`no table ${unknown.join(", ")}: ${BENCHES.map(({ name }) => name).join(", ")}`);

/** Highest load of the machine, over the last minute, at which results are kept. */
const MOST_LOAD = 1;

const [load = 0] = loadavg();
console.log(`load of the last minute: ${load.toFixed(2)}\n`);
const chosen = BENCHES.filter(({ name }) => names.length === 0 || names.includes(name));
if (words.includes("--write") && load > MOST_LOAD && !chosen.every(({ isCounted }) => isCounted))
  throw new Error(`the load is above ${MOST_LOAD}, so results would not count: wait, or leave out --write`);

for (const bench of chosen) {
  try {
    const result = await resultOf(bench, effort);
    console.log(`${section(result)}\n`);
    if (words.includes("--write")) writeResult(result);
  } catch (error) {
    // Earlier results of it are kept, and the other tables are measured.
    console.error(`${bench.name} could not be measured:`, error);
    process.exitCode = 1;
  }
}
if (words.includes("--write")) for (const [path, text] of benchPages(readResults())) writeFileSync(path, text);
