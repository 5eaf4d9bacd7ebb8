import { optionRow } from "../../app/options.ts";
import { usageError } from "../../core/base/errors.ts";
import { asFlag, type OptionWriter } from "../../core/base/options.ts";
import type { Environment } from "../../core/document/config.ts";
import { splitWords } from "./words.ts";

/** Inputs of the step (`with:`), named as in action.yml. */
export type Inputs = Readonly<Record<InputName, string>>;

const NAMES = [
  "workflow",
  "input",
  "model",
  "writes",
  "max-cost",
  "plan",
  "plan-digest",
  "record-digest",
  "out",
  "store",
  "args",
  "trust",
  "allow-actors",
  "comment",
  "github-token",
  "anthropic-federation-rule",
  "anthropic-organization",
  "anthropic-service-account",
  "anthropic-workspace",
  "anthropic-audience",
  "openai-federation",
  "openai-service-account",
  "openai-audience",
] as const;
export const INPUT_NAMES: readonly string[] = NAMES;
type InputName = (typeof NAMES)[number];

/** Writes an option as an input, such as `model: NAME`, or as `args: --state DIR` if there is no input. */
export const asInput: OptionWriter = (option, value) => {
  const input = [option, optionRow(option)?.[2]?.library].find((name) => NAMES.some((known) => known === name));
  return input === undefined ? `args: ${asFlag(option, value)}` : `${input}: ${value ?? "…"}`;
};

export function readInputs(env: Environment): Inputs {
  const entries = NAMES.map((name) => [name, (env[variableOf(name)] ?? "").trim()]);
  return Object.fromEntries(entries) as Inputs;
}

/** Removes the inputs from the environment, because the program gets them as flags. */
export function withoutInputs(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("INPUT_")));
}

function variableOf(name: string): string {
  return `INPUT_${name.toUpperCase().replaceAll("-", "_")}`;
}

/** Task of the step: run a workflow or apply a plan. */
export type Errand =
  | { readonly kind: "run"; readonly argv: readonly string[]; readonly workflow: string }
  | {
      readonly kind: "apply";
      readonly argv: readonly string[];
      readonly plan: string;
      readonly recordDigest: string;
      readonly store: readonly string[];
    };

export function errandOf(inputs: Inputs): Errand {
  const { workflow, plan } = inputs;
  if ((workflow === "") === (plan === "")) {
    throw usageError("exactly one of the inputs workflow and plan is required");
  }
  const store = flag("--store", inputs.store);
  const shared = [...store, ...listOf(inputs.trust).map((id) => `--trust-skill=${id}`), ...splitWords(inputs.args)];
  if (plan !== "") {
    for (const name of OF_RUN) if (inputs[name] !== "") throw usageError(`${name} cannot be used with plan`);
    for (const name of OF_APPLY) {
      if (inputs[name] !== "") continue;
      throw usageError(
        `${name} is missing: both digests are required to apply a plan`,
        `pass the output ${name} of the job that planned it`,
      );
    }
    const argv = ["apply", "--yes", ...flag("--plan-digest", inputs["plan-digest"]), ...shared, "--", plan];
    return { kind: "apply", argv, plan, recordDigest: inputs["record-digest"], store };
  }
  for (const name of OF_APPLY) if (inputs[name] !== "") throw usageError(`${name} cannot be used with workflow`);
  if (inputs.input === "-") throw usageError("input must be JSON or @FILE: a step has no standard input");
  const said = OF_RUN.flatMap((name) => flag(`--${name}`, inputs[name]));
  return { kind: "run", argv: ["run", ...said, ...shared, "--", workflow], workflow };
}

const OF_RUN = ["input", "model", "writes", "max-cost", "out"] as const;
const OF_APPLY = ["plan-digest", "record-digest"] as const;

/** Joins a flag and its value into one argument, so that the value cannot be read as a flag. */
function flag(name: string, value: string): string[] {
  return value === "" ? [] : [`${name}=${value}`];
}

export function listOf(text: string): string[] {
  return text.split(/[\n,]/).flatMap((part) => (part.trim() === "" ? [] : [part.trim()]));
}

export function isCommented({ comment, plan }: Inputs): boolean {
  if (/^(?:|false|False|FALSE)$/.test(comment)) return false;
  if (!/^(?:true|True|TRUE)$/.test(comment))
    throw usageError(`comment must be true or false, not ${JSON.stringify(comment)}`);
  if (plan !== "") throw usageError("comment cannot be used with plan");
  return true;
}
