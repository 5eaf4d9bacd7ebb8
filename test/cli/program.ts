import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inject } from "vitest";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import type { RunResult } from "../../src/core/engine/result/result.ts";
import { digestOf } from "../../src/files/files.ts";
import { linesOf as sealedLines } from "../../src/stores/chain.ts";

/** Runs the built program as a process, in a separate project. */

export interface ProgramOptions {
  readonly cwd: string;
  /** In addition to PATH and a separate HOME. The tests' environment is not inherited. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly onStart?: (child: ChildProcess) => void;
  /** A wrapper command that starts the program, such as `prlimit --fsize=…`. */
  readonly through?: readonly string[];
  /** The command that executes the file. Node by default. */
  readonly command?: readonly string[];
}

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command to start the program, for other parents, such as a client of a protocol. */
export function programCommand(args: readonly string[]) {
  const env = { PATH: process.env.PATH ?? "", HOME: join(installation().directory, "home") };
  return { command: process.execPath, args: [installation().bin, ...args], env };
}

export function runProgram(args: readonly string[], options: ProgramOptions): Promise<Ended> {
  const { bin, directory } = installation();
  return runAt(bin, args, { ...options, env: { HOME: join(directory, "home"), ...options.env } });
}

/** Another installation of the program. */
export function runAt(bin: string, args: readonly string[], options: ProgramOptions): Promise<Ended> {
  const [command = "", ...rest] = [
    ...(options.through ?? []),
    ...(options.command ?? [process.execPath]),
    bin,
    ...args,
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(command, rest, { cwd: options.cwd, env: { PATH: process.env.PATH, ...options.env } });
    const streams = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        streams[name] += text;
      });
    }
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, ...streams }));
    child.stdin.on("error", () => child.stdin.destroy());
    child.stdin.end(options.stdin ?? "");
    options.onStart?.(child);
  });
}

/** Creates a folder with files. Values that are not text are written as JSON. Removed after the tests of the file. */
export function makeProject(
  files: Readonly<Record<string, unknown>> = {},
  directory = mkdtempSync(join(tmpdir(), "project-")),
): string {
  made.push(directory);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return directory;
}

/** The log of the desk's tools: a line for each action. */
export function linesOf(project: string, file: string): string[] {
  const path = join(project, file);
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
}

export function readEvents(project: string, run: string): RunEvent[] {
  const [, ...lines] = readFileSync(runFile(project, run), "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as RunEvent);
}

export function runFile(project: string, run: string): string {
  return join(project, ".skillflow", "runs", `${run}.jsonl`);
}

/** Rebuilds a record from forged text. Any author of a record can compute its digests. */
export function forgedRecord(text: string): string {
  const [head = "", ...events] = text.trimEnd().split("\n");
  const unsealed = events.map((line): RunEvent => {
    const { seal: _seal, record: _record, ...event } = JSON.parse(line);
    return event;
  });
  const { schema } = JSON.parse(head);
  return `${head}\n${sealedLines(unsealed, { digest: digestOf(head), schema })}`;
}

export function resultOf({ stdout }: Ended): RunResult {
  return JSON.parse(stdout) as RunResult;
}

const made: string[] = [];

export function removeProjects(): void {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
}

/** The built program's location, with the extra skill `desk`, whose tools do what the tests need. */
export function installation(): { readonly directory: string; readonly bin: string } {
  const directory = inject("installation");
  if (directory === undefined) throw new Error(inject("unbuilt") ?? "No test harness is running.");
  return { directory, bin: join(directory, "dist", "bin.js") };
}
