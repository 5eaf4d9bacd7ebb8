import { spawnSync } from "node:child_process";
import { build } from "esbuild";

/** Bundles the benchmarks as the program itself is bundled, and runs them: `npm run bench`. */

await build({
  entryPoints: ["bench/main.ts", "bench/executor-memory.ts", "bench/logs-search.ts", "bench/serve-load.ts"],
  outdir: "bench/dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  alias: { skillflow: "./src/index.ts" },
  logLevel: "warning",
});
process.exitCode = spawnSync(process.execPath, ["bench/dist/main.js"], { stdio: "inherit" }).status ?? 1;
