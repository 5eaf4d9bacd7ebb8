import { existsSync, realpathSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { McpServerConfig } from "../../core/skill/skill.ts";
import { isWithin } from "../../files/files.ts";
import { projectRoot } from "../documents/project-config.ts";
import { type Contents, openContents } from "../folder/skill-contents.ts";

/**
 * What a server is: its JSON, and the files of the checkout that its command or arguments name (trust 6). `path` is the
 * file that says the server, where it is no skill's own.
 */
export function openServerContents(config: McpServerConfig, cwd: string, path = cwd): Contents {
  return openContents({ path, instead: { text: canonical(config), files: () => namedFiles(config, cwd) } });
}

/** Keys in order, whoever wrote them. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    const isMap = typeof inner === "object" && inner !== null && !Array.isArray(inner);
    return isMap ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner;
  });
}

/** Words of the command line that are files of the checkout, and what a package manager or `-m` makes of them. */
function namedFiles({ command, args = [] }: McpServerConfig, cwd: string): string[] {
  if (command === undefined) return [];
  const words = [command, ...args].flatMap((text) => [text, ...text.split(/[\s=,;|&()<>"'`]+/)]).filter(Boolean);
  const root = realpathSync.native(projectRoot(cwd));
  const named = words.flatMap((word) => [resolve(cwd, word), ...modulesOf(word, cwd)]);
  const implied = MANAGERS.test(basename(command)) ? [join(cwd, "package.json"), join(root, "package.json")] : [];
  const around = named
    .filter((path) => isAround(path, cwd))
    .flatMap((folder) => ENTRIES.map((name) => join(folder, name)));
  return [...new Set([...named, ...implied, ...around])].filter(
    (path) => isOfCheckout(path, root) && !isAround(path, cwd),
  );
}

const MANAGERS = /^(?:npm|npx|pnpm|pnpx|yarn|bun|bunx)(?:\.cmd)?$/;

/** A program that is installed in the checkout, and a module of Python. */
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

/** What Node starts of a folder. */
const ENTRIES = ["package.json", "index.js", "index.mjs", "index.cjs", "server.js"];

/** `node .` names a file of the folder, not all of it. */
function isAround(path: string, cwd: string): boolean {
  return isWithin(path, cwd);
}

function isOfCheckout(path: string, root: string): boolean {
  return existsSync(path) && (isWithin(root, path) || isWithin(root, realpathSync.native(path)));
}
