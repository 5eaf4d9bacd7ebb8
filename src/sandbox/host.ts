import type { ProcessMark } from "../core/engine/ports.ts";

/** What the sandboxes need of the process that they run in. */
export interface SandboxHost {
  /** PATH, HOME and LANG are read; nothing else reaches a program. */
  readonly env: { readonly [name: string]: string | undefined };
  /** The Node program that runs us. */
  readonly execPath: string;
  /** Ours: the names of temporary folders tell it. */
  readonly self: ProcessMark;
  /** Undefined where users have no number. */
  readonly uid: number | undefined;
  /** Sends a signal to a process, or to a group by its negative id; one that is gone is no error. */
  readonly kill: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
}
