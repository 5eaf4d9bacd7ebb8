import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/**
 * Bundles the program, the public entries and the built-in skills into dist/, sharing what they share: with every package
 * that they use, so that those who install us install little else. What runs elsewhere, in a sandbox or a thread, is a
 * file of its own in dist/vendor/.
 */

const skills = existsSync("skills")
  ? readdirSync("skills").filter((id) => existsSync(join("skills", id, "skill.ts")))
  : [];
const INTERPRETER = "@jitl/quickjs-wasmfile-release-sync";
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

rmSync("dist", { recursive: true, force: true });
const shape = {
  plugins: [namedExports()],
  bundle: true,
  platform: "node",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  logLevel: "warning",
  metafile: true,
};
const program = await build({
  ...shape,
  entryPoints: {
    bin: "src/bin.ts",
    index: "src/index.ts",
    testing: "src/testing.ts",
    ...Object.fromEntries(skills.map((id) => [`skills/${id}/skill`, `skills/${id}/skill.ts`])),
  },
  outdir: "dist",
  splitting: true,
  format: "esm",
  define: { __VERSION__: JSON.stringify(version) },
  alias: { skillflow: "./src/index.ts", yaml: "./node_modules/yaml/browser/index.js" },
  chunkNames: "chunks/[name]-[hash]",
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
});
const vendored = await build({
  ...shape,
  entryPoints: { undici: "undici", quickjs: "quickjs-emscripten" },
  outdir: "dist/vendor",
  outExtension: { ".js": ".cjs" },
  format: "cjs",
  define: { "import.meta.url": "__url" },
  banner: { js: "const __url=require('node:url').pathToFileURL(__filename).href;" },
  // One interpreter in place of all: those for debugging, and for code that waits, are never asked for.
  alias: Object.fromEntries(
    ["debug-sync", "debug-asyncify", "release-asyncify"].map((kind) => [`@jitl/quickjs-wasmfile-${kind}`, INTERPRETER]),
  ),
});
const wasm = "emscripten-module.wasm";
cpSync(join("node_modules", INTERPRETER, "dist", wasm), join("dist/vendor", wasm));
for (const path of ["package.json", "lib/jiti.mjs", "dist/jiti.cjs", "dist/babel.cjs"]) {
  cpSync(join("node_modules/jiti", path), join("dist/vendor/jiti", path));
}
for (const id of skills) {
  const document = join("skills", id, "SKILL.md");
  if (existsSync(document)) cpSync(document, join("dist", document));
}
cpSync("src/loaders/folder/runners", "dist/runners", { recursive: true });
cpSync("src/protocol/guide", "dist/guide", { recursive: true });
chmodSync("dist/bin.js", 0o755);
writeFileSync(
  "dist/LICENSES.txt",
  licencesOf([...Object.keys({ ...program.metafile.inputs, ...vendored.metafile.inputs }), "node_modules/jiti"]),
);

/** Node gives the exports of a CommonJS package by their names to what imports it; a bundle, only those written out. */
function namedExports() {
  return {
    name: "named-exports",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^[^./]/, namespace: "file" }, ({ path, kind, importer }) =>
        kind === "dynamic-import" && !path.startsWith("node:") && !importer.includes("node_modules")
          ? { path, namespace: "named" }
          : undefined,
      );
      onLoad({ filter: /^/, namespace: "named" }, async ({ path }) => {
        const names = Object.keys(await import(path)).filter((name) => name !== "module.exports");
        return { contents: `export { ${names.join(", ")} } from "${path}";`, resolveDir: "." };
      });
    },
  };
}

/** What those who wrote the bundled packages ask for: their licence beside their code. */
function licencesOf(inputs) {
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  const parts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), "utf8").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}
