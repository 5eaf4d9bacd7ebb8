import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";
import { copyParts, interpreter, licencesOf, shape, skills, program as whole } from "./bundle.mjs";
import { chunksOf, frequentChunks, lazyEntries, lazyPackages, stampChunks, writeChunks } from "./chunks.mjs";
import { digestOfSources, STAMP } from "./sources.mjs";

/**
 * Bundles the program, the public entries and the built-in skills into dist/program/, so that they share modules. The
 * bundle includes almost every package, so that an installation needs few others. The entries that load it are in dist/.
 * dist/vendor/ has packages that few runs need, and code that runs in a sandbox or a thread.
 */

// Before the build: a file that changes meanwhile makes the build stale.
const sources = digestOfSources();
rmSync("dist", { recursive: true, force: true });
/** Files in dist/vendor/: the imported paths of each package, with the names that the sources take from them. */
const apart = new Map();
const ENTRIES = {
  builtin: "src/loaders/registry/builtin.ts",
  commandLine: "src/entry/command-line.ts",
  commands: "src/cli/table/commands.ts",
  index: "src/index.ts",
  internal: "src/kit/internal.ts",
  main: "src/cli/main.ts",
  processHost: "src/entry/process-host.ts",
  testing: "src/testing.ts",
};
const skillChunk = (id) => `skill-${id}`;
/** Loaded by its path too, by code in a sandbox (src/sandbox/isolation/relay.ts). */
const WHOLE = "undici";
const program = await build({
  ...shape,
  plugins: [packagesApart(), lazyPackages()],
  entryPoints: {
    ...ENTRIES,
    ...Object.fromEntries(skills.map((id) => [skillChunk(id), `skills/${id}/skill.ts`])),
    ...lazyEntries(),
  },
  format: "esm",
  splitting: true,
  write: false,
  outdir: "dist",
  define: { ...whole.define, __PARTS__: '"."' },
  alias: whole.alias,
});
const vendored = await build({
  ...shape,
  ...interpreter,
  entryPoints: { ...interpreter.entryPoints, ...Object.fromEntries([...apart.keys()].map((file) => [file, file])) },
  plugins: [usedParts()],
  // Not for the program: its reports of internal errors contain names.
  minifyIdentifiers: true,
  outdir: "dist/vendor",
  // Uses require for everything: code that src/entry/load.ts compiles has no import().
  supported: { "dynamic-import": false },
});
// Large, and loaded by few runs. src/entry/load.ts unpacks them.
for (const name of [
  ...["modelcontextprotocol-client", "modelcontextprotocol-server", "octokit-rest", "zod-to-json-schema", "pg"],
  ...["viz-js-viz", "supabase-supabase-js", "nodemailer", "sentry-node", WHOLE],
])
  pack(`dist/vendor/${name}.cjs`);
copyParts("dist");
const compiler = "dist/vendor/jiti/dist/babel.cjs";
pack(compiler);
writeFileSync(
  compiler,
  'module._compile(require("node:zlib").brotliDecompressSync(require("node:fs").readFileSync(`${__filename}.br`)).toString(),__filename);\n',
);
writeFileSync("dist/package.json", JSON.stringify({ type: "commonjs" }));
mkdirSync("dist/types");
writeFileSync("dist/types/package.json", JSON.stringify({ type: "module" }));
const chunks = await chunksOf(program, parts);
await buildLoader(writeChunks(chunks));
const { loadProgram } = createRequire(import.meta.url)("../dist/load.js");
const { COMMANDS, main, builtin, ...entries } = loadProgram();
for (const entry of ["index", "internal", "testing"])
  writeFileSync(join("dist", `${entry}.js`), exportsOf(entry, entries[entry]));
for (const id of skills) {
  // The skill finder expects the id in plain text.
  const source = `module.exports=Object.assign(require("../../load.js").loadProgram().skill("${id}"),{id:"${id}"});\n`;
  writeFileSync(join("dist/skills", id, "skill.js"), source);
  writeFileSync(join("dist/skills", id, "skill.json"), await builtin.tellBuiltinSkill(join("dist/skills", id)));
}
await buildLoader(writeChunks(chunks, frequentChunks()));
writeFileSync("dist/answers.json", JSON.stringify(await answers()));
await build({
  ...shape,
  entryPoints: { bin: "src/entry/bin.ts" },
  outdir: "dist",
  define: { __COMMANDS__: JSON.stringify(COMMANDS.map(({ usage }) => nameOf(usage))) },
  // Uses require, so that Node does not load its ECMAScript module loader.
  supported: { "dynamic-import": false },
  plugins: [loadedOnce()],
});
chmodSync("dist/bin.js", 0o755);
writeFileSync(
  "dist/LICENSES.txt",
  licencesOf([...Object.keys({ ...program.metafile.inputs, ...vendored.metafile.inputs }), "node_modules/jiti"]),
);
// Registries of MCP servers look for it at the root of a package.
copyFileSync("scripts/release/server.json", "server.json");
writeFileSync(STAMP, sources);

function pack(path) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path), { params }));
  rmSync(path);
}

async function buildLoader(code) {
  const digest = digestOf(code);
  stampChunks(digest);
  const define = { __BUILD__: JSON.stringify(digest) };
  await build({ ...shape, entryPoints: { load: "src/entry/load.ts" }, outdir: "dist", define });
}

/** Returns the digest of the program and everything loaded with it. V8 identifies cached code only by its length. */
function digestOf(code) {
  const digest = createHash("sha256").update(code);
  const files = readdirSync("dist/vendor").filter((name) => /\.cjs(?:\.br)?$/.test(name));
  for (const name of files.sort()) digest.update(readFileSync(join("dist/vendor", name)));
  return digest.digest("hex").slice(0, 16);
}

/** Exports of the program. Each is loaded on demand. */
function parts(load) {
  return `
    const skills = { ${skills.map((id) => `"${id}": () => ${load(skillChunk(id))}.default`).join(", ")} };
    Object.assign(exports, {
      commandLine: async () => ${load("commandLine")}.commandLine(),
      endProcess: (code) => ${load("processHost")}.endProcess(code),
      main: async (...given) => ${load("main")}.main(...given),
      skill: (id) => skills[id](),
    });
    const parts = { ${["index", "internal", "testing", "builtin"].map((name) => `${name}: () => ${load(name)}`).join(", ")} };
    for (const name in parts) Object.defineProperty(exports, name, { enumerable: true, get: parts[name] });
    Object.defineProperty(exports, "COMMANDS", { enumerable: true, get: () => ${load("commands")}.COMMANDS });`;
}

/** Writes exports in a form in which Node finds their names. */
function exportsOf(entry, exported) {
  const lines = Object.keys(exported).map((name) => `exports.${name}=own.${name};`);
  return `"use strict";const own=require("./load.js").loadProgram().${entry};\n${lines.join("\n")}\n`;
}

/** Puts each package that few runs need into its own file. Its exports are the same as those of the package. */
function packagesApart() {
  return {
    name: "packages-apart",
    setup({ onResolve }) {
      onResolve({ filter: /^[^./]/, namespace: "file" }, ({ path, kind, importer }) => {
        if (kind !== "dynamic-import" || path.startsWith("node:") || importer.includes("node_modules"))
          return undefined;
        const file = fileOf(path);
        const paths = apart.get(file) ?? new Map();
        apart.set(file, paths.set(path, [...(paths.get(path) ?? []), ...namesTaken(importer, path)]));
        return { path: `./vendor/${file}.cjs`, external: true };
      });
    },
  };
}

function fileOf(path) {
  return /^(?:@[^/]+\/)?[^/]+/.exec(path)[0].replace("@", "").replace("/", "-");
}

/** Returns the names that a source uses of a package: `*` if it uses all. */
function namesTaken(source, path) {
  const imports = [
    ...readFileSync(source, "utf8").matchAll(/(?:const \{([^{}]*)\} = await |(typeof )|)import\("([^"]+)"\)/g),
  ];
  return imports
    .filter(([, , isType, target]) => target === path && !isType)
    .flatMap(([, names = "*"]) => names.split(",").map((name) => name.split(":")[0].trim()));
}

/** Bundles only what the sources use of each package. */
function usedParts() {
  return {
    name: "used-parts",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^/ }, ({ path, kind }) =>
        kind === "entry-point" && apart.has(path) ? { path, namespace: "whole" } : undefined,
      );
      // Constructors create its documents. esbuild would keep them although nothing uses them.
      onLoad({ filter: /@linear[/\\]sdk[/\\].*\.mjs$/ }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replace(
          /^(?:const|var|let) \w+ = (?=new |.*function)/gm,
          "$&/* @__PURE__ */ ",
        ),
      }));
      onLoad(
        { filter: /(?:openai|@anthropic-ai[/\\]sdk)[/\\](?:client|internal[/\\](?:headers|utils[/\\]log))\.mjs$/ },
        ({ path }) => ({
          // Bodies of model requests are strings, and the first use of this class loads all of Node's web streams.
          contents: `import { FormData, Headers } from ${JSON.stringify(resolve("scripts/headers.mjs"))};${readFileSync(path, "utf8").replaceAll("globalThis.ReadableStream", "undefined")}`,
        }),
      );
      // The other half of the package measures the process and its cluster.
      onLoad({ filter: /prom-client[/\\]index\.js$/ }, () => ({
        contents: ["Registry", "Counter", "Gauge", "Histogram"]
          .map((name) => `exports.${name}=require("./lib/${name.toLowerCase()}");`)
          .join(""),
      }));
      onLoad({ filter: /^/, namespace: "whole" }, async ({ path }) => {
        const lines = [...apart.get(path)].map(async ([name, taken]) => {
          if (!taken.includes("*") && path !== WHOLE)
            return `export { ${[...new Set(taken)].join(", ")} } from "${name}";`;
          const main = "default" in (await import(name)) ? `export { default } from "${name}";` : "";
          return `export * from "${name}";${main}`;
        });
        return { contents: (await Promise.all(lines)).join(""), resolveDir: "." };
      });
    },
  };
}

/** Resolves every import of load.ts to the one shared loader. */
function loadedOnce() {
  return {
    name: "loaded-once",
    setup({ onResolve }) {
      onResolve({ filter: /\/load\.ts$/ }, () => ({ path: "./load.js", external: true }));
    },
  };
}

/** Help texts of the program, by terminal width and by command line. */
async function answers() {
  const asked = [
    [],
    ...COMMANDS.flatMap(({ usage, commands = [] }) => {
      const name = nameOf(usage);
      return [[name], ...commands.map((inner) => [name, nameOf(inner.usage)])];
    }),
  ].map((words) => [...words, "--help"]);
  const byWidth = [80, 110].map(async (columns) => {
    const answered = [["--version"], ...asked].map(async (argv) => [argv.join(" "), await said(argv, columns)]);
    return [columns, Object.fromEntries(await Promise.all(answered))];
  });
  return Object.fromEntries(await Promise.all(byWidth));
}

async function said(argv, columns) {
  let text = "";
  const nothing = () => undefined;
  const out = async (more) => {
    text += more;
  };
  await main(argv, {
    runtime: {},
    host: { env: {} },
    out,
    err: out,
    isTerminal: false,
    columns,
    onFault: nothing,
    onInterrupt: nothing,
  });
  return text;
}

function nameOf(usage) {
  return usage.split(" ")[0];
}
