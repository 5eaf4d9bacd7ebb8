import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Code shared by the bundles of the package (build.mjs) and of the action (build-action.mjs). */

export const skills = existsSync("skills")
  ? readdirSync("skills").filter((id) => existsSync(join("skills", id, "skill.ts")))
  : [];

export const shape = {
  bundle: true,
  platform: "node",
  target: "node20.19",
  format: "cjs",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
};

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

export const program = {
  define: { __VERSION__: JSON.stringify(version), "import.meta.url": "__url" },
  alias: {
    "skillflow/internal": "./src/kit/internal.ts",
    skillflow: "./src/index.ts",
    yaml: "./node_modules/yaml/browser/index.js",
  },
};

const INTERPRETER = "@jitl/quickjs-wasmfile-release-sync";

/** JavaScript interpreter. It is a separate file because it runs in a separate thread. */
export const interpreter = {
  entryPoints: { quickjs: "quickjs-emscripten" },
  outExtension: { ".js": ".cjs" },
  define: { "import.meta.url": "__url" },
  banner: { js: "const __url=require('node:url').pathToFileURL(__filename).href;" },
  // Only one variant of the interpreter: those for debugging and for asynchronous code are never loaded.
  alias: Object.fromEntries(
    ["debug-sync", "debug-asyncify", "release-asyncify"].map((kind) => [`@jitl/quickjs-wasmfile-${kind}`, INTERPRETER]),
  ),
};

/** Files next to the code: run by other programs, already compiled, or read as text. */
export function copyParts(folder) {
  const wasm = "emscripten-module.wasm";
  cpSync(join("node_modules", INTERPRETER, "dist", wasm), join(folder, "vendor", wasm));
  for (const path of ["package.json", "lib/jiti.mjs", "dist/jiti.cjs", "dist/babel.cjs"]) {
    cpSync(join("node_modules/jiti", path), join(folder, "vendor/jiti", path));
  }
  for (const id of skills) {
    const document = join("skills", id, "SKILL.md");
    if (existsSync(document)) cpSync(document, join(folder, document));
  }
  cpSync("src/loaders/programs/runners", join(folder, "runners"), { recursive: true });
  cpSync("src/protocol/skills-protocol/guide", join(folder, "guide"), { recursive: true });
  cpSync("src/cli/templates", join(folder, "templates"), { recursive: true, filter: (path) => !path.endsWith(".ts") });
}

/** Returns the licences of the bundled packages, which must accompany their code. A text of several packages is there once. */
export function licencesOf(inputs) {
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  const packages = new Map();
  for (const folder of [...new Set(folders)].sort()) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const lines = (file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), "utf8")).split(
      /\r?\n/,
    );
    const text = lines
      .filter((line) => !isNotice(line))
      .join("\n")
      .trim();
    const key = text.replace(/\s+/g, " ");
    const known = packages.get(key) ?? { text, named: [] };
    known.named.push([`${name} ${version}`, ...lines.filter(isNotice).map((line) => `  ${line.trim()}`)].join("\n"));
    packages.set(key, known);
  }
  const parts = [...packages.values()].map(({ named, text }) => `${named.join("\n")}\n\n${text}\n`);
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}

/** Whether a line of a licence names who holds the copyright, and not a clause about it. */
function isNotice(line) {
  return /^\s*(?:copyright|\(c\)|©)\s*(?:\(c\)|©|\d)/i.test(line);
}
