import type { Action } from "../io.ts";

/** The command line as data. Nothing here is loaded before it is asked for. */
export interface CommandSpec {
  /** Name and positional arguments, as the help shows them. */
  readonly usage: string;
  readonly summary: string;
  readonly details?: string;
  readonly options?: readonly OptionSpec[];
  readonly commands?: readonly CommandSpec[];
  readonly load?: () => Promise<Action>;
  /** It goes on with the recorded run that its first argument names, by itself or by its plan. */
  readonly continues?: "run" | "plan";
}

export type OptionSpec = readonly [
  flags: string,
  description: string,
  extra?: { readonly choices?: readonly string[]; readonly repeatable?: boolean },
];
