import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { toJson } from "../../core/base/values.ts";
import { canonicalJson } from "../../core/engine/event/operation.ts";
import type { McpServerConfig } from "../../core/skill/skill.ts";
import { isWithin } from "../../files/files.ts";
import { projectRoot } from "../documents/project-config.ts";
import { type Contents, openContents } from "../folder/skill-contents.ts";

/**
 * Opens a server's contents: its JSON, and the files of the checkout that its command line names. `path` is the file
 * that declares the server, unless that is a skill.
 */
export function openServerContents(config: McpServerConfig, cwd: string, path = cwd): Contents {
  return openContents({ path, instead: { text: canonicalJson(toJson(config)), files: () => namedFiles(config, cwd) } });
}

/** Lists the files of the checkout that the command line names, directly or through a package manager or `-m`. */
function namedFiles({ command, args = [] }: McpServerConfig, cwd: string): string[] {
  if (command === undefined) return [];
  const words = [command, ...args].flatMap((text) => [text, ...text.split(/[\s=,;|&()<>"'`]+/)]).filter(Boolean);
  const root = realpathSync.native(projectRoot(cwd));
  const named = words.flatMap((word) => [...spelledOut(resolve(cwd, word)), ...modulesOf(word, cwd)]);
  const programs = words.map((word) => basename(word));
  const implied = IMPLIED.flatMap(([program, files]) => (programs.some((name) => program.test(name)) ? files : []));
  const crates = named.filter((path) => basename(path) === "Cargo.toml").map((path) => dirname(path));
  const settings = implied.flatMap((name) => [cwd, root, ...crates].map((folder) => join(folder, name)));
  const around = named
    .filter((path) => isWithin(path, cwd))
    .flatMap((folder) => ENTRIES.map((name) => join(folder, name)));
  // `node .` runs one file of the working directory, not all files.
  return [...new Set([...named, ...settings, ...around])].filter(
    (path) => isOfCheckout(path, root) && !isWithin(path, cwd),
  );
}

/** Files that decide what a program runs or installs, although its command line does not name them. */
const IMPLIED: readonly (readonly [program: RegExp, files: readonly string[]])[] = [
  [
    /^(?:npm|npx|pnpm|pnpx|yarn|bun|bunx)(?:\.cmd)?$/,
    ["package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", "bunfig.toml"],
  ],
  [/^(?:tsx|ts-node)$/, ["package.json", "tsconfig.json"]],
  [/^deno$/, ["deno.json", "deno.jsonc", "package.json"]],
  [/^(?:uv|poetry|pdm|hatch)$/, ["pyproject.toml", "uv.toml"]],
  [/^g?make$/, ["GNUmakefile", "makefile", "Makefile"]],
  [/^cargo$/, ["Cargo.toml", "Cargo.lock", "build.rs", "rust-toolchain", "rust-toolchain.toml", ".cargo", "src"]],
  [/^(?:just|task)$/, ["justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml"]],
  [/^(?:docker-)?compose$/, ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"]],
];

const ENDINGS = ["js", "mjs", "cjs", "ts", "mts", "cts", "json", "node"];

/** Returns a path, and the files that Node and similar programs run for it: `server` may mean `server.js`. */
function spelledOut(path: string): string[] {
  return [path, path.replace(/\.([cm]?)js$/, ".$1ts"), ...ENDINGS.map((ending) => `${path}.${ending}`)];
}

/** Lists candidates for a program that is installed in the checkout, and for a Python module. */
function modulesOf(word: string, cwd: string): string[] {
  if (!/^[@\w][\w./@-]*$/.test(word)) return [];
  const module = join(cwd, ...word.split("."));
  return [
    join(cwd, "node_modules", ".bin", word),
    join(cwd, "node_modules", word),
    `${module}.py`,
    join(module, "__main__.py"),
  ];
}

/** Files that Node runs for a folder. */
const ENTRIES = ["package.json", "index.js", "index.mjs", "index.cjs", "index.ts", "index.mts", "server.js"];

function isOfCheckout(path: string, root: string): boolean {
  return existsSync(path) && (isWithin(root, path) || isWithin(root, realpathSync.native(path)));
}
