import { OPTIONS } from "../../app/options.ts";
import type { OptionName } from "../../core/base/options.ts";
import type { CommandSpec, OptionSpec } from "./command.ts";

/** Options that several commands share. */

type Names = readonly OptionName[];

/** Returns the options of a command, also those that all commands have. */
export function optionsOf({ options = [] }: CommandSpec): readonly OptionSpec[] {
  return [...options, ...SHARED].map((option) => (typeof option === "string" ? OPTIONS[option] : option));
}

/** Returns an option of a command that describes it in its own words. */
export function reworded(name: OptionName, help: string): OptionSpec {
  const [flags, , extra]: OptionSpec = OPTIONS[name];
  return [flags, help, extra];
}

const SHARED: Names = ["quiet", "verbose", "no-color", "env-from"];
export const PROJECT: Names = [
  ...(["trust-skill", "set", "skills", "no-discover", "skill-env", "effect", "skill-order", "context-mode"] as const),
  ...(["allow-scripts", "allow-define-tool"] as const),
];
export const ENGINE: Names = ["engine", "database-url"];
export const STORE: Names = ["store", ...ENGINE];
/** Output of commands that drive a run. */
export const DRIVING = [
  reworded("json", "Print the result document"),
  ...(["out", "report", "stream", "detailed-exit-code", "otlp-content"] as const),
];
export const CHOICES: Names = [
  ...(["file-root", "input-sources", "model", "max-cost", "timeout", "max-tokens", "max-steps"] as const),
  ...(["node-timeout", "tool-timeout", "writes", "require-skills", "allow-public", "offline", "frozen"] as const),
];
/** Options of commands that drive a workflow to its end. */
export const RUNNING = [
  ...([...CHOICES, "from-ref", ...PROJECT, "writable-workdir"] as const),
  ...([...DRIVING, ...STORE, "state"] as const),
];
