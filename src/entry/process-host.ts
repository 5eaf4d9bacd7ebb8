import { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { hostname } from "node:os";
import type { Host } from "../app/host.ts";
import { claimStray } from "../app/runs/stray.ts";
import { messageOf, SkillflowError } from "../core/base/errors.ts";

/** What the program and the library take of their process: with bin.ts and command-line.ts the only file that touches it. */

interface Said {
  readonly env?: Host["env"];
  readonly directory?: string;
}

/** Environment and working directory as they are now, each where nothing else is said. */
export function processDefaults({ env, directory }: Said): Pick<Host, "env" | "cwd"> {
  return { env: { ...(env ?? process.env) }, cwd: directory ?? process.cwd() };
}

/** Who we are, and how other processes are seen and ended. */
export function processHost(): Omit<Host, "env" | "cwd"> {
  return {
    self: { pid: process.pid, host: hostname(), started: startOf(process.pid) ?? "" },
    isAlive,
    atExit,
    execPath: process.execPath,
    uid: process.geteuid?.(),
    kill,
  };
}

const last: (() => void)[] = [];

function atExit(work: () => void): void {
  if (last.push(work) > 1) return;
  process.once("exit", () => {
    for (const each of last) each();
  });
}

function isAlive(mark: Host["self"]): boolean {
  try {
    process.kill(mark.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  return mark.started === "" || startOf(mark.pid) === mark.started;
}

function kill(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error; // gone already, or not ours any more
  }
}

/** A process's start in clock ticks, where the system tells it: process ids are used again. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

/** The code that the program ends with; undefined while it runs. */
let ending: number | undefined;

/** Ends the program with this exit code, also after `holdExits` and whatever listeners of "exit" do. */
export function endProcess(code: number): never {
  ending = code;
  try {
    return exit(code);
  } finally {
    node.reallyExit(code); // a listener threw
  }
}

/** Makes `process.exit` and the like throw, so that a plug-in fails its own call or import instead of ending the program. */
export function holdExits(): void {
  const { reallyExit } = node;
  process.exit = refusing("exit") as typeof process.exit;
  process.abort = refusing("abort") as typeof process.abort;
  node.reallyExit = refusing("reallyExit", () => reallyExit.call(process, ending));
  syncBuiltinESMExports();
}

const exit = process.exit.bind(process);
/** With the last step of `process.exit`, which the types leave out. */
const node = process as NodeJS.Process & { reallyExit(code?: unknown): void };

/** Throws while the program runs, and then does what `atEnd` does. */
function refusing(name: string, atEnd?: () => void) {
  return function refuse(code?: unknown): void {
    if (ending !== undefined) {
      atEnd?.();
      return;
    }
    const told: { stack?: string } = {};
    Error.captureStackTrace(told, refuse);
    const place = told.stack?.split("\n", 2)[1]?.trim() ?? "in an unknown place";
    const call = `process.${name}(${code === undefined ? "" : String(code)})`;
    throw new SkillflowError("internal.fault", `${call} was called ${place}; only skillflow may end its process`);
  };
}

let holdsStrays = false;

/**
 * Keeps errors that a run's code throws where no caller waits from ending the host's process. The process's other errors
 * take their usual way: no listener is added, because one alone would change what Node does with them.
 */
export function holdStrays(): void {
  if (holdsStrays) return;
  holdsStrays = true;
  const { emit } = process;
  process.emit = (...given: readonly unknown[]) => {
    const [event, error] = given;
    if (event !== "unhandledRejection" && event !== "uncaughtException") return Reflect.apply(emit, process, given);
    const claim = claimStray(error);
    if (claim === "late") {
      const detail = error instanceof Error ? error.stack : undefined;
      process.emitWarning(`no caller waited for this error: ${messageOf(error)}`, { type: "SkillflowWarning", detail });
    }
    return claim !== undefined || Reflect.apply(emit, process, given);
  };
}
