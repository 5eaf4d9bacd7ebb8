import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { transform } from "esbuild";
import { shape } from "./bundle.mjs";
import { sourceFiles } from "./sources.mjs";

/**
 * Writes esbuild's chunks of the program into dist/program/, as functions that src/entry/load.ts calls on first use. One
 * file has the chunks that frequent commands load. So a command reads and compiles little that it does not use.
 */

const MAIN = "program";
/** Chunk that exports what src/entry/load.ts returns. */
const PARTS = "parts";

/** Packages that few commands use. What sources import of them is loaded on first use. */
const LAZY = /^(?:ajv|ajv-formats|semver|smol-toml|yaml)(?:\/|$)/;
const lazyChunk = (path) => `lazy-${path.replace(/\W/g, "-")}`;

/** Entry points that export what the sources import of lazy packages. */
export function lazyEntries() {
  return Object.fromEntries([...lazyNames().keys()].map((path) => [lazyChunk(path), `lazy:${path}`]));
}

function lazyNames() {
  const names = new Map();
  for (const file of sourceFiles().filter((each) => each.endsWith(".ts")))
    for (const [line, main, inner, other, path] of readFileSync(file, "utf8").matchAll(IMPORT)) {
      if (!LAZY.test(path) || other?.startsWith("type ")) continue;
      if (other) throw new Error(`${file}: list what is imported in: ${line}`);
      const taken = main ? ["default"] : inner.split(",").map((each) => each.trim().split(" as ")[0]);
      const values = taken.filter((name) => name && !name.startsWith("type "));
      names.set(path, new Set([...(names.get(path) ?? []), ...values]));
    }
  return names;
}

const IMPORT = /^(?:import|export) (?:(\w+)|\{([^}]*)\}|(.*)) from "([^"]+)";/gm;

/** Makes imports of lazy packages external to chunks. `insideOf` replaces them. */
export function lazyPackages() {
  return {
    name: "lazy-packages",
    setup({ onResolve, onLoad }) {
      const names = lazyNames();
      onResolve({ filter: /^lazy:/ }, ({ path }) => ({ path: path.slice("lazy:".length), namespace: "lazy" }));
      onResolve({ filter: LAZY, namespace: "file" }, ({ path, importer }) =>
        importer.includes("node_modules") ? undefined : { path: `./${lazyChunk(path)}`, external: true },
      );
      onLoad({ filter: /^/, namespace: "lazy" }, ({ path }) => ({
        contents: `export { ${[...names.get(path)].join(", ")} } from "${path}";`,
        resolveDir: ".",
      }));
    },
  };
}

/** Takes the imports and exports of other chunks out of each chunk. The rest imports only what Node has. */
export async function chunksOf({ outputFiles, metafile }, parts) {
  for (const path of Object.keys(metafile.inputs).filter((each) => /^(?:src|skills)[/\\].*\.ts$/.test(each)))
    if (/^export (?:let|var) /m.test(readFileSync(path, "utf8")))
      throw new Error(`${path} exports a variable, but chunks import values`);
  const chunks = outputFiles.map(async ({ path, text }) => {
    const [head] = /^(?:import(?:\{[^}]*\}from)?"\.\/[^"]+\.js";)*/.exec(text);
    const [tail, exported = ""] = /(?:export\{([^}]*)\};)?\s*$/.exec(text);
    const body = text.slice(head.length, text.length - tail.length);
    const { code } = await transform(body, { format: "cjs", ...pick(shape) });
    const render = (load) => importsOf(head, load) + insideOf(code, load) + exportsOf(exported);
    return { name: basename(path, ".js"), render };
  });
  return [...(await Promise.all(chunks)), { name: PARTS, render: parts }];
}

function pick({ target, platform, minifySyntax, minifyWhitespace }) {
  return { target, platform, minifySyntax, minifyWhitespace };
}

function importsOf(head, load) {
  const imports = [...head.matchAll(/import(?:\{([^}]*)\}from)?"\.\/([^"]+)\.js";/g)];
  return imports
    .map(([, names, from]) => `${names ? `const{${names.replaceAll(" as ", ":")}}=` : ""}${load(from)};`)
    .join("");
}

function exportsOf(exported) {
  const names = exported.split(",").filter(Boolean);
  return names
    .map((name) => name.split(" as "))
    .map(([inner, outer = inner]) => `exports.${outer}=${inner};`)
    .join("");
}

/** Replaces dynamic imports, but not the types that the template of a new skill names. */
function insideOf(code, load) {
  return code
    .trim()
    .replace(/(?<![\w.$])import\("\.\/([\w-]+)\.js"\)/g, (_, name) => `__later(()=>${load(name)})`)
    .replace(/(?:__toESM\()?require\("\.\/(lazy-[\w-]+)"\)(?:\)(?=[,;]))?/g, (_, name) => `__lazily(()=>${load(name)})`)
    .replace(/(?<![\w.$])import\("(\.\/vendor\/[\w-]+\.cjs)"\)/g, '__later(()=>require("$1"))')
    .replace(/(?<![\w.$])import\((?!"skillflow"\))/g, "__import(");
}

/** Writes the chunks into files. `files` has the names of the files of frequent chunks. Returns the code. */
export function writeChunks(chunks, files = new Map(chunks.map(({ name }) => [name, MAIN]))) {
  rmSync("dist/program", { recursive: true, force: true });
  mkdirSync("dist/program");
  const fileOf = (name) =>
    files.get(name) ?? (name === PARTS ? MAIN : name.replace(/^(?!chunk-)(.*)-[A-Z\d]{8}$/, "$1"));
  const load = (name) => `__load("${fileOf(name)}","${name}")`;
  const written = new Map();
  for (const { name, render } of chunks)
    written.set(fileOf(name), [...(written.get(fileOf(name)) ?? []), `"${name}":exports=>{${render(load)}}`]);
  return [...written]
    .map(([file, functions]) => {
      const code = `(function(__load,__lazily,require,__import,__filename,__dirname){const __url=require("node:url").pathToFileURL(__filename).href,__later=run=>Promise.resolve().then(run);return{${functions.join(",\n")}}})`;
      // ASCII only, also in regular expressions and templates: Node reads and compiles it in half the time.
      const plain = code.replace(/[^\0-\x7f]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
      writeFileSync(join("dist/program", `${file}.js`), plain);
      return plain;
    })
    .join("");
}

/** Writes the digest of the build before each file, so that a running program notices that another build replaced it. */
export function stampChunks(digest) {
  for (const name of readdirSync("dist/program")) {
    const path = join("dist/program", name);
    writeFileSync(path, `/*${digest}*/${readFileSync(path, "latin1")}`);
  }
}

/** Returns the files of the chunks that frequent commands load: one for what several of them load, and one for each. */
export function frequentChunks() {
  const cwd = mkdtempSync(join(tmpdir(), "skillflow-build-"));
  const nodes = { greet: { name: "Greet", instruction: "Say hello." } };
  writeFileSync(
    join(cwd, "hello.json"),
    JSON.stringify({ id: "hello", name: "Hello", entry: "greet", nodes, edges: [] }),
  );
  writeFileSync(join(cwd, "replies.json"), JSON.stringify({ replies: [{ text: "Hello." }] }));
  const commands = [
    ["validate", "hello.json"],
    ["run", "hello.json", "--model", "script:replies.json"],
    ["runs", "list"],
    ["skills", "list"],
  ];
  const files = new Map();
  try {
    for (const argv of commands)
      for (const name of loadedBy(argv, cwd))
        files.set(name, files.has(name) ? MAIN : argv.join("-").replace(/\W.*/, ""));
    return files;
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

function loadedBy(argv, cwd) {
  const code = `
    process.argv.splice(1, 0, "skillflow");
    const { loadProgram, loadedChunks } = require(${JSON.stringify(resolve("dist/load.js"))});
    loadProgram().commandLine().then((code) => {
      require("node:fs").writeFileSync(3, JSON.stringify({ code, chunks: loadedChunks() }));
      process.exit();
    });`;
  const { output, stderr } = spawnSync(process.execPath, ["-e", code, "--", ...argv], {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: cwd },
  });
  const { code: exit, chunks } = JSON.parse(output[3] || "{}");
  if (exit !== 0) throw new Error(`skillflow ${argv.join(" ")} failed: ${stderr}`);
  return chunks;
}
