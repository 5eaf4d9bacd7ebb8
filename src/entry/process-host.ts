import { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { hostname } from "node:os";
import type { Host } from "../app/host.ts";
import type { ProjectOptions } from "../app/library/contract.ts";
import { claimStray, runsSkill } from "../app/runs/stray.ts";
import { messageOf, SkillflowError } from "../core/base/errors.ts";

/** Access to the process. Only this file, bin.ts and command-line.ts touch it. */

/** Returns the environment and working directory, by default those of the process. */
export function processDefaults({ env, directory }: Pick<ProjectOptions, "env" | "directory">) {
  return { env: { ...(env ?? process.env) }, cwd: directory ?? process.cwd() };
}

export function processHost(): Omit<Host, "env" | "cwd"> {
  return {
    namedPolicy: process.env.SKILLFLOW_POLICY,
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
    if (code !== "ESRCH" && code !== "EPERM") throw error; // already gone, or not ours
  }
}

/** Returns a running process's start time in clock ticks, if the system reports it. Ids alone are reused. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended, and waits for its parent. While it has other threads, one of them may still be writing.
    const isOver = /^[ZX]$/.test(fields[0] ?? "") && Number(fields[17]) <= 1;
    return isOver ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

let ending: number | undefined;

/** Exits with this code, even after `holdExits` and if an "exit" listener throws. */
export function endProcess(code: number): never {
  ending = code;
  try {
    return exit(code);
  } finally {
    node.reallyExit(code); // a listener threw
  }
}

/** Makes `process.exit` and similar functions throw, so that a plug-in's call fails instead of ending the program. */
export function holdExits(): void {
  const { reallyExit } = node;
  process.exit = refusing("exit") as typeof process.exit;
  process.abort = refusing("abort") as typeof process.abort;
  node.reallyExit = refusing("reallyExit", () => reallyExit.call(process, ending));
  syncBuiltinESMExports();
}

const exit = process.exit.bind(process);
/** Includes `reallyExit`, the last step of `process.exit`, which the types omit. */
const node = process as NodeJS.Process & { reallyExit(code?: unknown): void };

/** Returns a function that throws while the program runs and calls `atEnd` afterwards. */
function refusing(name: string, atEnd?: () => void) {
  return function refuse(code?: unknown): void {
    if (ending !== undefined) {
      atEnd?.();
      return;
    }
    const trace: { stack?: string } = {};
    Error.captureStackTrace(trace, refuse);
    const place = trace.stack?.split("\n", 2)[1]?.trim() ?? "in an unknown place";
    const call = `process.${name}(${code === undefined ? "" : String(code)})`;
    throw new SkillflowError("internal.fault", `${call} was called ${place}; only skillflow may end this process`);
  };
}

/** Time after the end of a handler during which its background code may still fail. */
const LINGER_MS = 1000;

let working = 0;
let restoring: NodeJS.Timeout | undefined;
let restore: (() => void) | undefined;

/**
 * Keeps code of skills from ending the host process while work is in progress, and one second longer. Returns the
 * function to call when the work has ended.
 */
export function holdProcess(): () => void {
  clearTimeout(restoring);
  working += 1;
  restore ??= replaceProcess();
  return () => {
    working -= 1;
    if (working === 0) restoring = setTimeout(() => restore?.(), LINGER_MS).unref();
  };
}

/** Replaces `process.exit` and `process.emit`. Adds no listener, because a listener changes how Node handles errors. */
function replaceProcess(): () => void {
  const { emit, exit: leave } = process;
  const exiting = (code?: number | string | null): never => {
    if (!runsSkill()) return leave.call(process, code);
    throw new Error(`the plug-in tried to end the process (exit code ${code ?? process.exitCode ?? 0})`);
  };
  const emitting = (...given: readonly unknown[]) => {
    const [event, error] = given;
    if (event !== "unhandledRejection" && event !== "uncaughtException") return Reflect.apply(emit, process, given);
    const claim = claimStray(error);
    if (claim === "late") {
      const detail = error instanceof Error ? error.stack : undefined;
      process.emitWarning(`no caller waited for this error: ${messageOf(error)}`, { type: "SkillflowWarning", detail });
    }
    return claim !== undefined || Reflect.apply(emit, process, given);
  };
  process.exit = exiting;
  process.emit = emitting;
  syncBuiltinESMExports();
  return () => {
    restore = undefined;
    if (process.exit === exiting) process.exit = leave;
    if (process.emit === emitting) process.emit = emit;
    syncBuiltinESMExports();
  };
}
