import { parseArgs } from "node:util";
import { type Grounds, openGrounds } from "./grounds.ts";
import { runGroup } from "./group.ts";
import { emptyTally, summaryOf, type Tally } from "./tally.ts";

/** Kills the program at random places, again and again, and reports whether anything was lost or repeated. */

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: process.env["SKILLFLOW_KILLS"] ?? "10000" },
    seed: { type: "string" },
    groups: { type: "string" },
    together: { type: "string", default: "12" },
  },
});
const together = Number(values.together);
const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(grounds: Grounds, tally: Tally): Promise<void> {
  const first = Number(values.seed ?? Date.now() % 1_000_000);
  const last = values.groups === undefined ? Number.POSITIVE_INFINITY : first + Number(values.groups);
  const began = performance.now();
  for (let seed = first; seed < last && tally.kills < Number(values.kills); seed++) {
    const known = tally.failures.length;
    await runGroup(grounds, { seed, together, mostLives: 80 }, tally);
    const seconds = Math.round((performance.now() - began) / 1000);
    say(`seed ${seed}: ${tally.runs} runs, cut off ${tally.kills} times by ${tally.deaths} kills, ${seconds} s`);
    for (const { problem } of tally.failures.slice(known)) say(`  FAILED: ${problem}`);
    if (tally.failures.length > known) say(`  ${againOf(seed)}`);
    else grounds.clear(seed);
  }
}

/** Formats the command that repeats the same run. */
function againOf(seed: number): string {
  return `again: npm run test:chaos -- --seed ${seed} --groups 1 --together ${together}`;
}

function conclude(): void {
  for (const line of summaryOf(tally)) say(line);
  for (const seed of new Set(tally.failures.map((failure) => failure.seed))) say(againOf(seed));
}

const tally = emptyTally();
const grounds = await openGrounds();
process.on("exit", () => grounds.close());
process.on("SIGINT", () => {
  conclude();
  process.exit(130);
});
await main(grounds, tally);
conclude();
process.exitCode = tally.failures.length === 0 ? 0 : 1;
