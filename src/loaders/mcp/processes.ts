import type { ProcessMark } from "../../core/engine/ports.ts";

/** System calls to end processes. A negative id means a process group. */
export interface Processes {
  /** Mark of this process, which is part of its temporary folders' names. */
  readonly self: ProcessMark;
  /** Sends a signal. Ignores processes that no longer exist. */
  readonly kill: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
  readonly isAlive: (pid: number) => boolean;
  /** Returns a function that lists living descendants of a process, and processes with `mark` in their environment. */
  readonly follow: (pid: number, mark: string) => () => readonly number[];
}
