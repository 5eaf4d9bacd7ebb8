/** Options that several commands or other surfaces have, by their command-line names. `app/options.ts` describes them. */
export type OptionName =
  | Words<"add-skill allow-changes allow-define-tool allow-public allow-scripts context-mode database-url detach">
  | Words<"detailed-exit-code effect engine env-from file-root from from-ref frozen i input input-sources json">
  | Words<"max-cost max-steps max-tokens model no-color no-cool-down no-discover node-timeout offline otlp-content">
  | Words<"out port quiet report require-skills run-id set skill-env skill-order skills state store stream timeout">
  | Words<"tool-timeout trust-skill verbose workspace-dirty writable-workdir writes">;

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;

/** Advice on how to fix an error. It names options, which each surface writes in its own way. */
export type Hint = string | (string | OptionPart<OptionName>)[];

/** An option in a hint. A record may name an option that this version does not have. */
interface OptionPart<Name extends string = string> {
  readonly option: Name;
  readonly value?: string | undefined;
}

export type OptionWriter = (option: string, value?: string) => string;

export function renderHint(hint: string | readonly (string | OptionPart)[], write: OptionWriter): string {
  if (typeof hint === "string") return hint;
  return hint.map((part) => (typeof part === "string" ? part : write(part.option, part.value))).join("");
}

/** Formats an option for the command line: `--model NAME`. */
export const asFlag: OptionWriter = (option, value) => (value === undefined ? `--${option}` : `--${option} ${value}`);

/** Returns the environment variable that sets an option, such as `SKILLFLOW_MAX_COST`. */
export function variableOf(option: OptionName): string {
  return `SKILLFLOW_${option.toUpperCase().replaceAll("-", "_")}`;
}

/** Modes of tools that write, strictest first. */
export const WRITES = ["deny", "plan", "allow"] as const;
/** Precedence of skill folders. The first one is the default. */
export const SKILL_ORDERS = ["sweny", "skill-tools"] as const;
/** How the instructions of skills reach the model. The first one is the default. */
export const CONTEXT_MODES = ["full", "readOnDemand"] as const;
