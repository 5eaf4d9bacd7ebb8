import type { OptionRow } from "../../app/options.ts";
import type { OptionName } from "../../core/base/options.ts";
import type { Action } from "../io.ts";

/** The command line as data. The code of a command is loaded when the command is called. */
export interface CommandSpec {
  /** Name and positional arguments, as the help shows them. */
  readonly usage: string;
  readonly summary: string;
  readonly details?: string;
  /** Names of shared options, and options that only this command has. */
  readonly options?: readonly (OptionName | OptionSpec)[];
  readonly commands?: readonly CommandSpec[];
  readonly load?: () => Promise<Action>;
  /** Continues the recorded run that its first argument names: the run itself, or its plan. */
  readonly continues?: "run" | "plan";
}

export type OptionSpec = OptionRow;
