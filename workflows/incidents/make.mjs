// Recreates an incident with real processes, real git history and real load, and stores the results.
//
//   node workflows/incidents/make.mjs NAME [OUTDIR] [--pace 0.2]
//
// OUTDIR defaults to ./NAME-run. A pace below 1 shortens every wait. Needs Node 20.11 or later and git. Every process
// listens on 127.0.0.1 only and ends with the script. Commit ids are the same each time, times are not.
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Stage } from "./make/stage.mjs";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { pace: { type: "string", default: "1" } },
});
const [name, out] = positionals;
const folder = join(import.meta.dirname, name ?? "");
if (!name || !existsSync(join(folder, "make.mjs"))) {
  console.error("usage: node workflows/incidents/make.mjs NAME [OUTDIR] [--pace 0.2]");
  process.exit(2);
}
const stage = await Stage.open({ folder, out: resolve(out ?? `${name}-run`), pace: Number(values.pace) });
try {
  const { make } = await import(join(folder, "make.mjs"));
  await Promise.race([make(stage), stage.processes.failed, interruption()]);
  await stage.collect();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await stage.close();
}
process.exit();

async function interruption() {
  const signal = await Promise.race(["SIGINT", "SIGTERM"].map((given) => once(process, given).then(() => given)));
  throw new Error(`interrupted by ${signal}`);
}
