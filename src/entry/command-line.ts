import type { Terminal } from "../cli/main.ts";
import { attempt } from "../core/base/errors.ts";
import { endProcess, holdExits, processHost } from "./process-host.ts";

/** Saved, because other writes to stdout are redirected. */
const printOut = process.stdout.write.bind(process.stdout);
const printErr = process.stderr.write.bind(process.stderr);

export interface Call extends Pick<Terminal["host"], "env" | "cwd" | "keys" | "writeOption"> {
  readonly argv: readonly string[];
}

/** Runs the command line and returns the exit code once all output is flushed. */
export async function commandLine(call?: Call): Promise<number> {
  if (!call) for (const stream of [process.stdout, process.stderr]) stream.on("error", reportedToWriter);
  const cwd = call?.cwd ?? attempt(() => process.cwd());
  if (cwd === undefined) {
    await write(printErr, "error: the working directory no longer exists\n  change to an existing directory\n");
    return 4;
  }
  holdExits();
  // Modules run in this process. What they print must not mix with the requested output.
  process.stdout.write = printErr;
  const { main } = await import("../cli/main.ts");
  const code = await main(call?.argv ?? process.argv.slice(2), {
    runtime: { node: process.version, platform: process.platform },
    host: { ...processHost(), env: call?.env ?? process.env, cwd, keys: call?.keys, writeOption: call?.writeOption },
    out: (text) => write(printOut, text),
    err: (text) => write(printErr, text).catch(reportedToWriter),
    isTerminal: process.stderr.isTTY === true,
    // The user may change the width during a run. Some terminals report 0.
    get columns() {
      return process.stderr.columns || 80;
    },
    get outColumns() {
      return process.stdout.isTTY === true ? process.stdout.columns || 80 : undefined;
    },
    readInput,
    input: () => process.stdin,
    ask: process.stderr.isTTY === true && process.stdin.isTTY === true ? ask : undefined,
    onInterrupt,
    onFault: (tell) => process.on("uncaughtException", tell),
    onIdle: (tell) => process.once("beforeExit", tell),
  });
  await Promise.allSettled([write(printOut, ""), write(printErr, "")]);
  return code;
}

/** Ignores stream errors, because the writer of the stream receives them. */
const reportedToWriter = () => undefined;

/** Resolves once the text is flushed, so that a slow pipe cannot lose the end of the output. */
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

/** Reads a line, or returns an empty string if the input ends. Ctrl-C exits, because nothing is running yet. */
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

/** Stops cleanly on the first signal and exits at once on the second. */
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
