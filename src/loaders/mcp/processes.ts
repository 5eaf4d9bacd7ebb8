import type { ProcessMark } from "../../core/engine/ports.ts";

/** What ending a process takes. A negative id means the group of a process. */
export interface Processes {
  /** Ours: the names of temporary folders tell it. */
  readonly self: ProcessMark;
  /** One that is gone is no error. */
  readonly kill: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
  readonly isAlive: (pid: number) => boolean;
  /** Tells again and again who lives of a process and all that it started, or that has this in its environment. */
  readonly follow: (pid: number, mark: string) => () => readonly number[];
}
