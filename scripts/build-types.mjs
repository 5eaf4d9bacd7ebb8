import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/**
 * Writes the declarations of the public entries to dist/types/: only those that they reach. `npm run check` checks the
 * same sources, so the compiler only emits here.
 */

const FOLDER = join("dist", "types");
const TSC = ["node_modules/typescript/bin/tsc", "-p", "scripts/tsconfig.types.json", "--singleThreaded", "--noCheck"];
execFileSync(process.execPath, TSC, { stdio: "inherit" });
const reached = new Set();
for (const entry of ["index.d.ts", "kit/internal.d.ts", "testing.d.ts"]) follow(join(FOLDER, entry));
for (const name of readdirSync(FOLDER, { recursive: true })) {
  const path = join(FOLDER, name);
  if (name.endsWith(".d.ts") && !reached.has(path)) rmSync(path);
}

function follow(path) {
  if (reached.has(path)) return;
  reached.add(path);
  writeFileSync(path, withoutJson(path));
  for (const [, target] of readFileSync(path, "utf8").matchAll(/(?:from |import\()"(\.[^"]+)\.ts"/g)) {
    follow(join(dirname(path), `${target}.d.ts`));
  }
}

/** Declares imported JSON in place: it is not in dist/types/, and a consumer may lack the option `resolveJsonModule`. */
function withoutJson(path) {
  const source = join("src", relative(FOLDER, dirname(path)));
  return readFileSync(path, "utf8").replace(
    /^import (?:type )?(\w+) from "(\..+\.json)".*;$/gm,
    (_whole, name, target) => {
      const value = JSON.stringify(JSON.parse(readFileSync(join(source, target), "utf8")));
      return `declare const ${name}: ${value.replace(/"(?:[^"\\]|\\.)*"(?=[,\]}])/g, "string")};`;
    },
  );
}
