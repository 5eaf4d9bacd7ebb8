import type { ProcessMark } from "../core/engine/ports.ts";

export interface SandboxHost {
  /** Only PATH, HOME and LANG are read. No other variable reaches a program. */
  readonly env: { readonly [name: string]: string | undefined };
  readonly execPath: string;
  readonly self: ProcessMark;
  /** Undefined on systems without numeric user ids. */
  readonly uid: number | undefined;
  /** Sends a signal to a process, or to a group by its negative id. Ignores processes that are gone. */
  readonly kill: (pid: number, signal: "SIGTERM" | "SIGKILL") => void;
}
