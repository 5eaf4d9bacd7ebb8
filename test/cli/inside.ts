import { readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import type { main, Terminal } from "../../src/cli/main.ts";
import { type Ended, installation, type ProgramOptions } from "./program.ts";

/**
 * The built program as in `runProgram`, but in this process: where nothing that is proven depends on a process of its
 * own, its signals or its terminal. One at a time, as the working directory is the process's.
 */
export function runInside(
  args: readonly string[],
  options: Omit<ProgramOptions, "onStart" | "through">,
): Promise<Ended> {
  const ended = turn.then(() => runBuilt(args, options));
  turn = ended.catch(() => undefined);
  return ended;
}

let turn: Promise<unknown> = Promise.resolve();

async function runBuilt(args: readonly string[], { cwd, env, stdin = "" }: ProgramOptions): Promise<Ended> {
  const run = await builtMain();
  const streams = { stdout: "", stderr: "" };
  const here = process.cwd();
  process.chdir(cwd);
  const terminal: Terminal = {
    runtime: { node: process.version, platform: process.platform },
    host: {
      env: { PATH: process.env.PATH, HOME: join(installation().directory, "home"), ...env },
      cwd: process.cwd(),
      self: { pid: process.pid, host: "here", started: "" },
      isAlive: ({ pid }) => sends(pid, 0),
      execPath: process.execPath,
      uid: process.geteuid?.(),
      kill: (pid, signal) => void sends(pid, signal),
    },
    out: async (text) => {
      streams.stdout += text;
    },
    err: async (text) => {
      streams.stderr += text;
    },
    isTerminal: false,
    columns: 80,
    outColumns: undefined,
    readInput: async () => stdin,
    input: () => Readable.from([Buffer.from(stdin)]),
    reserveOutput: () => undefined,
    ask: undefined,
    onInterrupt: () => undefined,
    onFault: () => undefined,
  };
  try {
    return { code: await run(args, terminal), signal: null, ...streams };
  } finally {
    process.chdir(here);
  }
}

/** Whether the process is there to be told. */
function sends(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Loaded by Node itself: what the tests' own loader makes of a module is not what is installed. */
async function builtMain(): Promise<typeof main> {
  const chunks = join(installation().directory, "dist", "chunks");
  const file = readdirSync(chunks).find((name) => /^main-\w+\.js$/.test(name)) ?? "";
  const loader = join(installation().directory, "load.cjs");
  writeFileSync(loader, "module.exports = (url) => import(url);");
  const load: (url: string) => Promise<{ main: typeof main }> = createRequire(import.meta.url)(loader);
  return (await load(pathToFileURL(join(chunks, file)).href)).main;
}
