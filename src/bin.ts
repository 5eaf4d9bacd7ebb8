#!/usr/bin/env -S node --
import { readFileSync } from "node:fs";
import { join } from "node:path";

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
  const use = __COMMANDS__.find((command) => command === argv[0]) ?? "none";
  const { commandLine, endProcess } = loadProgram(use);
  const code = await commandLine();
  keepCompiled({ pid: process.pid, uid: process.geteuid?.() });
  // What a tool left running must not keep us.
  endProcess(code);
}

declare const __COMMANDS__: readonly string[];
