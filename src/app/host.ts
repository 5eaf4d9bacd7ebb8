import type { Environment } from "../core/config.ts";
import type { ProcessMark } from "../core/ports.ts";
import type { Processes } from "../loaders/mcp/process.ts";
import { followProcess } from "../sandbox/processes.ts";

/** What a program knows of the world around it; the command line takes it from its process. */
export interface Host {
  readonly env: Environment;
  /** Absolute. */
  readonly cwd: string;
  readonly self: ProcessMark;
  readonly isAlive: (mark: ProcessMark) => boolean;
  /** The Node program that runs us. */
  readonly execPath: string;
  /** Undefined where users have no number (Windows). */
  readonly uid: number | undefined;
  /** Sends a signal to a process, or to a group by its negative id; one that is gone is no error. */
  readonly kill: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
}

/** What MCP servers are ended with. */
export function processesOf({ self, kill, isAlive }: Host): Processes {
  return { self, kill, isAlive: (pid) => isAlive({ ...self, pid, started: "" }), follow: followProcess };
}
