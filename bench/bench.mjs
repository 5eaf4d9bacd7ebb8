import { spawnSync } from "node:child_process";
import { build } from "esbuild";

/**
 * Bundles the benchmarks as the program itself is bundled, and runs them, or the parts that are named: `npm run bench`,
 * `npm run bench -- executor`. What else the environment holds would slow bare Node as well, and flatter every start.
 */

await build({
  entryPoints: ["bench/main.ts", "bench/ours.ts", "bench/ours-dbos.ts", "bench/logs-search.ts", "bench/serve-load.ts"],
  outdir: "bench/dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  define: { __PARTS__: '"../../dist"' },
  alias: { "skillflow/internal": "./src/kit/internal.ts", skillflow: "./src/index.ts" },
  logLevel: "warning",
});
const { PATH = "", HOME = "", TMPDIR = "/tmp" } = process.env;
const program = ["bench/dist/main.js", ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, program, { stdio: "inherit", env: { PATH, HOME, TMPDIR } }).status ?? 1;
