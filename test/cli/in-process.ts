import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { main, type Terminal } from "../../src/cli/main.ts";
import { makeProject } from "./program.ts";

export interface Shown {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Screen {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly isTerminal?: boolean;
}

/** A command line in this process, where nothing depends on the process itself. */
export async function runHere(
  argv: readonly string[],
  { cwd, env, columns = 80, isTerminal = false }: Screen,
): Promise<Shown> {
  const shown = { out: "", err: "" };
  const home = join(makeProject(), "home");
  mkdirSync(home);
  const terminal: Terminal = {
    runtime: { node: process.version, platform: process.platform },
    host: {
      env: { PATH: process.env.PATH, HOME: home, ...env },
      cwd,
      self: { pid: process.pid, host: "test", started: "" },
      isAlive: () => true,
      execPath: process.execPath,
      uid: process.geteuid?.(),
      kill: () => undefined,
    },
    out: async (text) => {
      shown.out += text;
    },
    err: async (text) => {
      shown.err += text;
    },
    isTerminal,
    columns,
    outColumns: isTerminal ? columns : undefined,
    readInput: async () => "",
    input: () => Readable.from([]),
    reserveOutput: () => undefined,
    ask: undefined,
    onInterrupt: () => undefined,
    onFault: () => undefined,
  };
  const code = await main(argv, terminal);
  return { code, ...shown };
}
