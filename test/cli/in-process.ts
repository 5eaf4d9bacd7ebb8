import { hostname } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import type { main, Terminal } from "../../src/cli/main.ts";
import type { ShortLivedKeys } from "../../src/core/document/model-name.ts";
import { type Ended, installation } from "./program.ts";

export interface Screen {
  readonly cwd: string;
  /** In addition to PATH and a separate HOME, as with `runProgram`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Input that arrives in pieces, instead of `stdin`. */
  readonly input?: AsyncIterable<Uint8Array>;
  /** Receives output as it is printed. */
  readonly onText?: (stream: "stdout" | "stderr", text: string) => void;
  readonly columns?: number;
  /** Whether both streams go to a terminal. */
  readonly isTerminal?: boolean;
  /** Keys of models that change while the program works. */
  readonly keys?: ShortLivedKeys;
  /** The user's answers at the terminal, in turn. If undefined, there is no user. */
  readonly answers?: readonly string[];
  /** Format of options in hints. */
  readonly writeOption?: Terminal["host"]["writeOption"] | undefined;
}

/**
 * Runs the built program in this process, for tests that do not depend on the process itself, with the result of
 * `runProgram`. The working directory applies to the program alone: `process.cwd()` remains that of the tests.
 */
export async function runHere(argv: readonly string[], screen: Screen): Promise<Ended> {
  const { cwd, stdin = "", columns = 80, isTerminal = false, answers } = screen;
  const shown = { stdout: "", stderr: "" };
  const show = (stream: "stdout" | "stderr") => async (text: string) => {
    shown[stream] += text;
    screen.onText?.(stream, text);
  };
  const waiting = [...(answers ?? [])];
  const terminal: Terminal = {
    runtime: { node: process.version, platform: process.platform },
    host: {
      env: { PATH: process.env.PATH, HOME: join(installation().directory, "home"), ...screen.env },
      cwd,
      self: { pid: process.pid, host: hostname(), started: "" },
      isAlive: ({ pid }) => reaches(pid, 0),
      execPath: process.execPath,
      uid: process.geteuid?.(),
      kill: (pid, signal) => void reaches(pid, signal),
      keys: screen.keys,
      writeOption: screen.writeOption,
    },
    out: show("stdout"),
    err: show("stderr"),
    isTerminal,
    columns,
    outColumns: isTerminal ? columns : undefined,
    readInput: async () => stdin,
    input: () => screen.input ?? Readable.from(stdin === "" ? [] : [Buffer.from(stdin)]),
    ask:
      answers &&
      (async (question) => {
        shown.stderr += question;
        const answer = waiting.shift();
        if (answer === undefined) throw new Error(`no answer is scripted for ${question}`);
        return answer;
      }),
    onInterrupt: () => undefined,
    onFault: () => undefined,
    onIdle: () => undefined,
  };
  const main = await builtMain();
  const code = await main(argv, terminal);
  return { code, signal: null, ...shown };
}

/**
 * Loaded by Node itself, as in vitest.config.ts: the tests' own loader transforms a module, so that it would not be the
 * installed one.
 */
async function builtMain(): Promise<typeof main> {
  const file = join(installation().directory, "dist", "load.js");
  return (await import(pathToFileURL(file).href)).loadProgram().main;
}

/** Returns true if the signal can be sent to the process, or to the group if the number is negative. */
export function reaches(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
