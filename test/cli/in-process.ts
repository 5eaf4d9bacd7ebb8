import { cpSync, existsSync, mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { main, type Terminal } from "../../src/cli/main.ts";
import { type Ended, makeProject } from "./program.ts";

export interface Screen {
  readonly cwd: string;
  /** Beside PATH and a HOME of its own, as with `runProgram`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly columns?: number;
  /** Whether both streams go to a terminal. */
  readonly isTerminal?: boolean;
  /** What the person at the terminal answers, in turn; nobody is there where it is left out. */
  readonly answers?: readonly string[];
}

/**
 * A command line in this process, where nothing depends on the process itself: what `runProgram` gives, of the sources.
 * The desk is there as a skill of the user's own.
 */
export async function runHere(argv: readonly string[], screen: Screen): Promise<Ended> {
  const { cwd, stdin = "", columns = 80, isTerminal = false, answers } = screen;
  const shown = { stdout: "", stderr: "" };
  const env = { PATH: process.env.PATH, HOME: ownHome(), ...screen.env };
  if (relative(cwd, env.HOME).startsWith("..")) bringDesk(env.HOME);
  const waiting = [...(answers ?? [])];
  const terminal: Terminal = {
    runtime: { node: process.version, platform: process.platform },
    host: {
      env,
      cwd,
      self: { pid: process.pid, host: hostname(), started: "" },
      isAlive: ({ pid }) => reaches(pid, 0),
      execPath: process.execPath,
      uid: process.geteuid?.(),
      kill: (pid, signal) => void reaches(pid, signal),
    },
    out: async (text) => {
      shown.stdout += text;
    },
    err: async (text) => {
      shown.stderr += text;
    },
    isTerminal,
    columns,
    outColumns: isTerminal ? columns : undefined,
    readInput: async () => stdin,
    input: () => Readable.from(stdin === "" ? [] : [Buffer.from(stdin)]),
    reserveOutput: () => undefined,
    ask:
      answers &&
      (async (question) => {
        shown.stderr += question;
        const answer = waiting.shift();
        if (answer === undefined) throw new Error(`nobody answers ${question}`);
        return answer;
      }),
    onInterrupt: () => undefined,
    onFault: () => undefined,
  };
  const code = await main(argv, terminal);
  return { code, signal: null, ...shown };
}

function reaches(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

let home: string | undefined;

function ownHome(): string {
  if (home === undefined || !existsSync(home)) home = makeProject();
  return home;
}

function bringDesk(directory: string): void {
  const place = join(directory, ".skillflow", "skills", "desk");
  if (existsSync(place)) return;
  mkdirSync(directory, { recursive: true });
  cpSync(join(import.meta.dirname, "desk"), place, { recursive: true });
}
