import type { Terminal } from "../cli/main.ts";
import { endProcess, holdExits, processHost } from "./process-host.ts";

/** What the command line takes of its process: arguments, environment, streams, signals. */

/** Ours alone once the output is reserved. */
const printOut = process.stdout.write.bind(process.stdout);
const printErr = process.stderr.write.bind(process.stderr);

/** What somebody else calls the command line with, in place of the process's own. */
export interface Call extends Pick<Terminal["host"], "env" | "cwd" | "keys"> {
  readonly argv: readonly string[];
  /** How hints name options. Undefined: as flags. */
  readonly writeOption?: Terminal["writeOption"];
}

/** Works on the process's arguments, or on those given, and gives the exit code once all output is handed over. */
export async function commandLine(call?: Call): Promise<number> {
  if (!call) for (const stream of [process.stdout, process.stderr]) stream.on("error", toldToTheWriter);
  const cwd = call?.cwd ?? workingDirectory();
  if (cwd === undefined) {
    await write(printErr, "error: the working directory is gone\n  change into one that is there\n");
    return 4;
  }
  holdExits();
  const { main } = await import("../cli/main.ts");
  const code = await main(call?.argv ?? process.argv.slice(2), {
    runtime: { node: process.version, platform: process.platform },
    host: { ...processHost(), env: call?.env ?? process.env, cwd, keys: call?.keys },
    out: (text) => write(printOut, text),
    err: (text) => write(printErr, text).catch(toldToTheWriter),
    writeOption: call?.writeOption,
    isTerminal: process.stderr.isTTY === true,
    columns: process.stderr.columns || 80, // a terminal may not know its size, and say 0
    outColumns: process.stdout.isTTY === true ? process.stdout.columns || 80 : undefined,
    readInput,
    input: () => process.stdin,
    reserveOutput: () => {
      process.stdout.write = printErr;
    },
    ask: process.stdin.isTTY === true && process.stderr.isTTY === true ? ask : undefined,
    onInterrupt,
    onFault: (tell) => process.on("uncaughtException", tell),
  });
  await Promise.allSettled([write(printOut, ""), write(printErr, "")]);
  return code;
}

/** A stream that breaks is told to whoever writes to it, and ends nothing by itself. */
const toldToTheWriter = () => undefined;

/** Somebody may have deleted it. */
function workingDirectory(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/** Resolves once the text is handed over, so that a slow pipe holds us back instead of losing the end. */
function write(print: NodeJS.WriteStream["write"], text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    print(text, (error) => (error ? reject(error) : resolve()));
  });
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** What is typed until Enter; nothing where the input ends before. Ctrl-C ends the program, as nothing runs yet. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  lines.on("SIGINT", () => endProcess(130));
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    return await Promise.race([lines.question(question), ended]);
  } finally {
    lines.close();
  }
}

/** The first signal asks for a clean end, the second ends at once. */
function onInterrupt(stop: (reason: string) => void): void {
  let asked = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (asked) endProcess(130);
      asked = true;
      stop(signal === "SIGINT" ? "interrupted (Ctrl-C)" : "interrupted (terminated)");
    });
  }
}
