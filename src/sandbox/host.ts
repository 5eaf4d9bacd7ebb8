import type { ProcessMark } from "../core/engine/ports.ts";

/** Properties of the process that runs the sandboxes. */
export interface SandboxHost {
  /** Only PATH, HOME and LANG are read. No other variable reaches a program. */
  readonly env: { readonly [name: string]: string | undefined };
  /** Path of the Node executable. */
  readonly execPath: string;
  /** Mark of this process, used in the names of temporary folders. */
  readonly self: ProcessMark;
  /** Undefined on systems without numeric user ids. */
  readonly uid: number | undefined;
  /** Sends a signal to a process, or to a group by its negative id. Ignores processes that are gone. */
  readonly kill: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
}
