import { pathToFileURL } from "node:url";

/**
 * One measurement of one contestant, in a separate process: `contest.mjs MODULE EXPORT NODES REPEATS FOLDER WARM_MS`
 * runs chains of this many nodes, after WARM_MS of short ones, and prints the milliseconds per node and the peak memory
 * in MB.
 */

const WARM_NODES = 20;

const [module, name, nodes, repeats, folder, warmMs] = process.argv.slice(2);
const { [name]: run, done, close } = await import(pathToFileURL(module).href);
const begun = performance.now();
while (performance.now() - begun < Number(warmMs)) await run(WARM_NODES, folder);
const before = { ...done };
const start = performance.now();
for (let times = 0; times < Number(repeats); times++) await run(Number(nodes), folder);
const ms = (performance.now() - start) / (Number(nodes) * Number(repeats));
for (const [work, times] of Object.entries(done)) {
  const wanted = 2 * Number(nodes) * Number(repeats);
  if (times - before[work] !== wanted) throw new Error(`${times - before[work]} ${work}, and not ${wanted}`);
}
await close?.();
console.log(JSON.stringify({ ms, megabytes: process.resourceUsage().maxRSS / 1024 }));
process.exit(0);
