import { OPTIONS, type OptionRow } from "../../app/options.ts";
import { usageError } from "../../core/base/errors.ts";
import type { OptionName } from "../../core/base/options.ts";
import { amountOf, countOf, durationOf } from "../../core/engine/settings/bounds.ts";
import type { Action } from "../io.ts";

/** The command line as data. The code of a command is loaded when the command is called. */
export interface CommandSpec {
  /** Name and positional arguments, as the help shows them. */
  readonly usage: string;
  readonly summary: string;
  readonly details?: string;
  /** Names of shared options, and options that only this command has. */
  readonly options?: Listed;
  readonly commands?: readonly CommandSpec[];
  readonly load?: () => Promise<Action>;
  /** Continues the recorded run that its first argument names: the run itself, or its plan. */
  readonly continues?: "run" | "plan";
}

export type Listed = readonly (OptionName | OptionRow)[];
type Names = readonly OptionName[];

/** Returns the options of a command, also those that all commands have. */
export function optionsOf({ options = [] }: CommandSpec): readonly OptionRow[] {
  return [...options, ...SHARED].map((option) => (typeof option === "string" ? OPTIONS[option] : option));
}

/** Returns an option of a command that describes it in its own words. */
export function reworded(name: OptionName, help: string): OptionRow {
  const [flags, , extra]: OptionRow = OPTIONS[name];
  return [flags, help, extra];
}

const SHARED: Names = ["quiet", "verbose", "no-color", "env-from"];
const PROJECT: Names = [
  ...(["trust-skill", "set", "skills", "no-discover", "skill-env", "effect", "skill-order", "context-mode"] as const),
  ...(["allow-scripts", "allow-define-tool"] as const),
];
const ENGINE: Names = ["engine", "database-url"];
const STORE: Names = ["store", ...ENGINE];
/** Output of commands that drive a run. */
const DRIVING = [
  reworded("json", "Print the result document"),
  ...(["out", "report", "stream", "detailed-exit-code", "otlp-content"] as const),
];
const CHOICES: Names = [
  ...(["file-root", "input-sources", "model", "max-cost", "timeout", "max-tokens", "max-steps"] as const),
  ...(["node-timeout", "tool-timeout", "writes", "require-skills", "allow-public", "offline", "frozen"] as const),
];
/** Options of commands that drive a workflow to its end. */
const RUNNING = [
  ...([...CHOICES, "from-ref", ...PROJECT, "writable-workdir"] as const),
  ...([...DRIVING, ...STORE, "state"] as const),
];

/** Options that several commands have together, by the name that `commands.json` uses. */
export const GROUPS: Readonly<Record<string, Listed>> = { PROJECT, ENGINE, STORE, DRIVING, CHOICES, RUNNING };

/** Readers of values by the form that an option declares. They throw usage errors. */
const FORMS = { pair: splitPair, amount: amountOf, count: countOf, whole: wholeOf, duration: durationOf };

/** Returns the reader of an option's values. Values of a repeatable option are a list. */
export function readerOf([flags, , { form, repeatable } = {}]: OptionRow): (value: string, before: unknown) => unknown {
  const [flag = ""] = flags.split(" ");
  const pair = /<(\w+=\w+)>/.exec(flags)?.[1]?.toUpperCase();
  const read = (value: string) => (form ? FORMS[form](flag, value, pair) : value);
  return (value, before = []) => (repeatable ? [...(before as unknown[]), read(value)] : read(value));
}

function splitPair(flag: string, pair: string, form = "KEY=VALUE"): [string, string] {
  const at = pair.indexOf("=");
  if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
  throw usageError(`${flag} takes ${form}, not "${pair}"`);
}

function wholeOf(flag: string, given: string): number {
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw usageError(`${flag} takes a whole number, not "${given}"`);
}
