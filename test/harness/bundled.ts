import { join } from "node:path";
import { buildSync } from "esbuild";

/** A program of the tests in one file of this folder, which Node runs without a loader. */
export function bundled(source: string, folder: string): string {
  const outfile = join(folder, "program.mjs");
  buildSync({ entryPoints: [source], outfile, bundle: true, format: "esm", platform: "node", banner: { js: REQUIRE } });
  return outfile;
}

/** What is bundled may be of the older kind of modules. */
const REQUIRE =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';
