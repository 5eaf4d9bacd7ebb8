import type { Action } from "../io.ts";

/** The command line as data. The code of a command is loaded when the command is called. */
export interface CommandSpec {
  /** Name and positional arguments, as the help shows them. */
  readonly usage: string;
  readonly summary: string;
  readonly details?: string;
  readonly options?: readonly OptionSpec[];
  readonly commands?: readonly CommandSpec[];
  readonly load?: () => Promise<Action>;
  /** Continues the recorded run that its first argument names: the run itself, or its plan. */
  readonly continues?: "run" | "plan";
}

export type OptionSpec = readonly [
  flags: string,
  description: string,
  extra?: {
    readonly choices?: readonly string[];
    readonly repeatable?: boolean;
    /** Heading of the help that it is shown below. */
    readonly group?: string;
    /** Shown by --help-all, and by --help only if the command has few options. */
    readonly isRare?: boolean;
  },
];
