import type { Json } from "../base/values.ts";

/** File or folder of this machine as a foreign program sees it. */
export interface Mount {
  /** Absolute path on this machine. */
  readonly source: string;
  /** Absolute path that the program sees. */
  readonly target: string;
  readonly writable: boolean;
  /**
   * Names in a writable folder that the program can neither change nor create. If one is a link, the program is not
   * run.
   */
  readonly protect?: readonly string[];
  /** True if the folder is deleted after the program, so that its files may change owner. */
  readonly disposable?: boolean;
}

/** Mounts a file or folder that the program can only read, by default at its own path. */
export function readOnly(source: string, target = source): Mount {
  return { source, target, writable: false };
}

/**
 * Limits that apply together. Reaching one ends the program and all its processes. A sandbox that isolates also has
 * default limits for memory, processes and disk.
 */
export interface SandboxLimits {
  readonly wallMs: number;
  /** Limit for standard output and standard error, each. Excess is cut and marked. Far more ends the program. */
  readonly outputBytes: number;
  readonly memoryBytes?: number;
  readonly cpuSeconds?: number;
  readonly processes?: number;
  /** Size limit of each file that it writes. */
  readonly fileBytes?: number;
  /** Total bytes written to disk, if the system counts them. */
  readonly diskBytes?: number;
}

/** Complete description of a foreign program to run. Nothing else reaches it. */
export interface ForeignCommand {
  /** Program and arguments, without a shell. A bare program name is looked up in its PATH. */
  readonly argv: readonly [program: string, ...args: string[]];
  readonly stdin: string;
  /** Variables in addition to PATH, HOME, LANG and its own TMPDIR. */
  readonly env: Readonly<Record<string, string>>;
  /** Mounts in addition to the system's programs and libraries, which are read-only. */
  readonly mounts: readonly Mount[];
  /** Working directory, as the program sees it. */
  readonly cwd: string;
  /**
   * True for this machine's network, false for none. A list allows only these hosts, by HTTP and HTTPS through the
   * proxy in its environment. A sandbox without isolation refuses a list with `sandbox.failed`.
   */
  readonly network: boolean | readonly string[];
  readonly limits: SandboxLimits;
  readonly signal: AbortSignal;
}

/** Input for a program that was started in advance. */
export interface Turn extends Pick<ForeignCommand, "stdin" | "signal"> {
  readonly wallMs: number;
}

export interface ForeignResult {
  /** Cause of the end. `exit` includes signals of its own. `time` is wall time or CPU time. */
  readonly ended: "exit" | "time" | "memory" | "processes" | "disk" | "output" | "aborted";
  /** Undefined if a signal ended the program. */
  readonly code: number | undefined;
  readonly stdout: string;
  /** Output with quoted lines that imitate ours. Our own lines about refused hosts follow. */
  readonly stderr: string;
  /** True if either output was cut at `outputBytes`. */
  readonly truncated: boolean;
}

export function codeOfEnding(ended: ForeignResult["ended"]): "tool.timeout" | "sandbox.limit" {
  return ended === "time" ? "tool.timeout" : "sandbox.limit";
}

/**
 * Runs one foreign program to its end.
 *
 * - When `run` resolves, its whole process tree is gone, including processes that left the group.
 * - With `isolates`, it sees only the environment, files and network that the command names. Otherwise only the
 *   environment and limits apply, and the files are the user's.
 * - A program that cannot start throws `sandbox.failed`. Anything else, including a failing exit status, is a result.
 * - With a `turn`, it starts at once and waits for input. The turn supplies input, time limit and signal. An
 *   `undefined` turn aborts it. If it ends before its turn, `run` throws `sandbox.failed`.
 * - Unread input and output held open by other processes do not block.
 */
export interface Sandbox {
  /** `process`, `bubblewrap`, `unshare` or similar. */
  readonly name: string;
  readonly isolates: boolean;
  run(command: ForeignCommand, turn?: Promise<Turn | undefined>): Promise<ForeignResult>;
}

/** Call of a function that an ES module exports. */
export interface JavaScriptCall {
  /** Source of the module, which cannot import anything. */
  readonly module: string;
  /** Name of the exported function, which may be asynchronous. */
  readonly name: string;
  readonly input: Json;
  readonly limits: Pick<SandboxLimits, "wallMs" | "outputBytes" | "memoryBytes">;
  readonly signal: AbortSignal;
}

export type JavaScriptEnd =
  | { readonly ended: "returned"; readonly value: Json }
  | { readonly ended: "threw"; readonly message: string }
  | { readonly ended: "time" | "memory" | "output" | "aborted" };
