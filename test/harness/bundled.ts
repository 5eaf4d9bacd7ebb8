import { join } from "node:path";
import { buildSync } from "esbuild";

/** Bundles a program of the tests into one file, which Node runs without a loader. */
export function bundled(source: string, folder: string): string {
  const outfile = join(folder, "program.mjs");
  buildSync({ entryPoints: [source], outfile, bundle: true, format: "esm", platform: "node", banner: { js: REQUIRE } });
  return outfile;
}

/** Bundled code may be CommonJS. */
const REQUIRE =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';
