import { spawnSync } from "node:child_process";
import { build } from "esbuild";

/**
 * Bundles the benchmarks as the program itself is bundled, and runs them, or the named parts: `npm run bench`, `npm run
 * bench -- executor`. Other variables of the environment would slow bare Node as well, and make every start look
 * better.
 */

await build({
  entryPoints: ["bench/main.ts", "bench/ours.ts", "bench/ours-dbos.ts", "bench/logs-search.ts", "bench/serve-load.ts"],
  outdir: "bench/dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  define: { __PARTS__: '"../../dist"' },
  alias: { "skillflow/internal": "./src/kit/internal.ts", skillflow: "./src/index.ts" },
  logLevel: "warning",
});
const { PATH = "", HOME = "", TMPDIR = "/tmp" } = process.env;
const program = ["bench/dist/main.js", ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, program, { stdio: "inherit", env: { PATH, HOME, TMPDIR } }).status ?? 1;
