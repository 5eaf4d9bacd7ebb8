import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Host } from "./app/host.ts";

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
    execPath: process.execPath,
    uid: process.geteuid?.(),
    kill,
  };
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
