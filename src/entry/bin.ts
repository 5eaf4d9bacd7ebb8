#!/usr/bin/env -S node --
import { existsSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

/**
 * Entry point of the program. Help and version come from a file that was made at build time. The `--` of the first line
 * keeps Node from interpreting our flags.
 */

const argv = process.argv.slice(2);
const answer = readyAnswer();
if (answer === undefined) void work();
else process.stdout.on("error", () => undefined).write(answer); // the reader may stop early

/** Returns the prepared help or version, unless the terminal is too narrow for it. */
function readyAnswer(): string | undefined {
  if (!/^(?:-h|--help|-V|--version)$/.test(argv.at(-1) ?? "")) return undefined;
  const width = Math.min(process.stderr.columns || 80, 110);
  const answers = JSON.parse(readFileSync(join(__dirname, "answers.json"), "utf8"));
  const text: string | undefined = answers[width]?.[words()];
  const { isTTY, columns } = process.stdout;
  return isTTY === true && text?.split("\n").some(({ length }) => length > (columns || 80)) ? undefined : text;
}

function words(): string {
  return argv.map((word) => ({ "-h": "--help", "-V": "--version" })[word] ?? word).join(" ");
}

async function work(): Promise<void> {
  const { keepCompiled, loadProgram } = await import("./load.ts");
  const command = __COMMANDS__.find((known) => known === argv[0]) ?? "none";
  const cache = { folder: cacheFolder(), uid: process.geteuid?.(), pid: process.pid, command };
  const { commandLine, endProcess } = loadProgram(cache);
  const code = await commandLine();
  keepCompiled(cache);
  // Do not wait for handles that a tool left open.
  endProcess(code);
}

/** Returns the user's cache folder, or undefined if there is none or NODE_DISABLE_COMPILE_CACHE is set. */
function cacheFolder(): string | undefined {
  const { HOME = "", LOCALAPPDATA, NODE_DISABLE_COMPILE_CACHE, XDG_CACHE_HOME = "" } = process.env;
  const inHome = process.platform === "darwin" ? "Library/Caches" : ".cache";
  const usual = process.platform === "win32" ? LOCALAPPDATA : join(HOME, inHome);
  const folder = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : (usual ?? "");
  const isUsable = !NODE_DISABLE_COMPILE_CACHE && isAbsolute(folder) && !isInCheckout(folder);
  return isUsable ? join(folder, "skillflow") : undefined;
}

/** In CI the cache folder may be in the checkout, where an untrusted author could put code. */
function isInCheckout(folder: string): boolean {
  if (existsSync(join(folder, ".git"))) return true;
  return dirname(folder) !== folder && isInCheckout(dirname(folder));
}

declare const __COMMANDS__: readonly string[];
