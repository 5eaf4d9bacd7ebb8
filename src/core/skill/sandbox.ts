import type { Json } from "../base/values.ts";

/** A file or folder of this machine as a foreign program sees it. */
export interface Mount {
  /** Absolute, on this machine. */
  readonly source: string;
  /** Absolute, as the program sees it. */
  readonly target: string;
  readonly writable: boolean;
  /**
   * Of a writable folder: names in it that the program can neither change nor make, there or not. One that is a link keeps
   * the program from being run.
   */
  readonly protect?: readonly string[];
  /** Made for this program alone and thrown away after it, so that its files may be given to another user. */
  readonly disposable?: boolean;
}

/**
 * All of them hold together; what is reached ends the program and all that it started. A sandbox that isolates bounds
 * memory, processes and disk also where the command does not.
 */
export interface SandboxLimits {
  readonly wallMs: number;
  /** Of standard output and of standard error, each; what goes beyond is cut and marked, and far beyond ends it. */
  readonly outputBytes: number;
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  readonly processes?: number;
  /** Of any one file that it writes. */
  readonly fileBytes?: number;
  /** Written to disk by all of it together, where the system counts that. */
  readonly diskBytes?: number;
}

/** One foreign program to run, whole: what is not named here does not reach it. */
export interface ForeignCommand {
  /** The program and its arguments, each one argument, never a shell's text. A bare name is looked up on its PATH. */
  readonly argv: readonly [program: string, ...args: string[]];
  readonly stdin: string;
  /** Variables beside the minimal base: PATH, HOME, LANG and a TMPDIR of its own. */
  readonly env: Readonly<Record<string, string>>;
  /** Beside what every program needs to start (the system's programs and libraries, read-only). */
  readonly mounts: readonly Mount[];
  /** Where it starts, as it sees it. */
  readonly cwd: string;
  /**
   * None, this machine's, or these hosts alone (core/declared-host.ts) by HTTP and HTTPS, through the proxy that its
   * environment names. A sandbox that does not isolate cannot keep to hosts, and refuses them with `sandbox.failed`.
   */
  readonly network: boolean | readonly string[];
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
}

/** What a program is given that was started before there was anything for it to do. */
export interface Turn extends Pick<ForeignCommand, "stdin" | "signal"> {
  readonly wallMs: number;
}

export interface ForeignResult {
  /** What ended it. `exit` is also a signal of its own making; `time` is the wall clock or the processor's. */
  readonly ended: "exit" | "time" | "memory" | "processes" | "disk" | "output" | "aborted";
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  /** What it printed, with lines quoted that pass for ours (core/voice.ts); behind it ours, one for each refused place. */
  readonly stderr: string;
  /** Whether either was cut at `outputBytes`. */
  readonly truncated: boolean;
}

/** The code of a call whose program was ended before its own end. */
export function codeOfEnding(ended: ForeignResult["ended"]): "tool.timeout" | "sandbox.limit" {
  return ended === "time" ? "tool.timeout" : "sandbox.limit";
}

/**
 * Runs one foreign program to its end.
 *
 * - Nothing of it outlives the call: when `run` resolves, its whole process tree is gone, also one that left its group.
 * - It sees the environment, files and network that the command names, and nothing else of this machine, where
 *   `isolates`; otherwise the command's environment, limits and end hold, and files are the user's.
 * - A program that cannot be started throws `sandbox.failed`; what a program does, its exit status included, is a result.
 * - With a `turn` it is started at once and waits for its input. That, the clock and the signal are the turn's then, and
 *   the limits hold from there on; an `undefined` one ends it (`aborted`). One that ends before its turn throws `sandbox.failed`.
 * - `stdin` that is never read, and output that is never read by anyone else, do not hold it up.
 */
export interface Sandbox {
  /** `process`, `bubblewrap`, `unshare`, … */
  readonly name: string;
  readonly isolates: boolean;
  run(command: ForeignCommand, turn?: Promise<Turn | undefined>): Promise<ForeignResult>;
}

/** One call of a function that an ES module exports. */
export interface JavaScriptCall {
  /** The module's text. It can import nothing. */
  readonly module: string;
  /** Of the exported function; it may be asynchronous. */
  readonly name: string;
  readonly input: Json;
  readonly limits: Pick<SandboxLimits, "wallMs" | "outputBytes" | "memoryBytes">;
  readonly signal: AbortSignal;
}

export type JavaScriptEnd =
  | { readonly ended: "returned"; readonly value: Json }
  | { readonly ended: "threw"; readonly message: string }
  | { readonly ended: "time" | "memory" | "output" | "aborted" };
