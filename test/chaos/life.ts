import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { build } from "esbuild";
import type { Moment } from "./world.ts";

/** One process of the program, from its start to its end. */
export interface Life {
  /** The built program. */
  readonly program: string;
  readonly tasks: readonly Task[];
  /** It kills itself at its nth file operation. */
  readonly fall?: { readonly nth: number; readonly moment: Moment } | undefined;
  /** Its clock is set ahead and back. */
  readonly clock?: { readonly everyMs: number; readonly stepMs: number } | undefined;
}

/** A command line. */
export interface Task {
  readonly id: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A command that ended before its process did. */
export interface Done {
  readonly id: string;
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Ended {
  readonly done: readonly Done[];
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  /** Output of the process itself. */
  readonly said: string;
}

export interface Living {
  readonly ended: Promise<Ended>;
  kill(): Promise<void>;
}

/** Bundles the driver, which each process runs. */
export async function buildDriver(folder: string): Promise<string> {
  const outfile = join(folder, "driver.mjs");
  const shape = { bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "warning" } as const;
  await build({ ...shape, entryPoints: [join(import.meta.dirname, "driver.ts")], outfile });
  return outfile;
}

export interface Place {
  readonly driver: string;
  readonly program: string;
  readonly cwd: string;
}

/** A wrapper command that starts the process, such as `prlimit --fsize=…`. */
export type Through = readonly string[];

export function live({ driver, program, cwd }: Place, life: Omit<Life, "program">, through: Through = []): Living {
  const [command = "", ...rest] = [...through, process.execPath, driver];
  const child = spawn(command, rest, { cwd, env: { PATH: process.env["PATH"] } });
  const ended = endOf(child);
  child.stdin.on("error", () => child.stdin.destroy());
  child.stdin.end(JSON.stringify({ program, ...life } satisfies Life));
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { ended, kill };
}

function endOf(child: ChildProcess): Promise<Ended> {
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const whole = said.stdout.slice(0, said.stdout.lastIndexOf("\n") + 1);
      const done = whole.split("\n").filter((line) => line !== "");
      resolve({ code, signal, said: said.stderr, done: done.map((line) => JSON.parse(line) as Done) });
    });
  });
}
