#!/usr/bin/env -S node --
import { existsSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

/**
 * Where the program begins. What it says of itself was written down when it was built; all else is loaded. The `--` of
 * the first line keeps Node from obeying flags of ours that it knows by the same name.
 */

const argv = process.argv.slice(2);
const answer = readyAnswer();
if (answer === undefined) void work();
else process.stdout.on("error", () => undefined).write(answer); // nobody has to read it to its end

/** Help, as wide as it would be made, or the version; not where lines of it would have to be broken. */
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
  // What a tool left running must not keep us.
  endProcess(code);
}

/** The user's folder for what can be made again; undefined where there is none, or Node's variable turns caches off. */
function cacheFolder(): string | undefined {
  const { HOME = "", LOCALAPPDATA, NODE_DISABLE_COMPILE_CACHE, XDG_CACHE_HOME = "" } = process.env;
  const inHome = process.platform === "darwin" ? "Library/Caches" : ".cache";
  const usual = process.platform === "win32" ? LOCALAPPDATA : join(HOME, inHome);
  const folder = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : (usual ?? "");
  const isUsable = !NODE_DISABLE_COMPILE_CACHE && isAbsolute(folder) && !isInCheckout(folder);
  return isUsable ? join(folder, "skillflow") : undefined;
}

/** A CI job may have its cache folder in the checkout, whose author could put code there. */
function isInCheckout(folder: string): boolean {
  if (existsSync(join(folder, ".git"))) return true;
  return dirname(folder) !== folder && isInCheckout(dirname(folder));
}

declare const __COMMANDS__: readonly string[];
