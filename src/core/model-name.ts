import type { Environment } from "./config.ts";
import { SkillflowError } from "./errors.ts";
import { nearest } from "./values.ts";
import type { Workflow } from "./workflow.ts";

const PROVIDERS = ["anthropic", "openai", "openai-compatible", "replay", "script"] as const;
export type Provider = (typeof PROVIDERS)[number];

export interface ModelName {
  /** Undefined for a bare name, which the run's default provider serves. */
  readonly provider: Provider | undefined;
  readonly name: string;
}

/** `anthropic:claude-…`; a name without a known prefix is forwarded as it is, colons included (N7). */
export function parseModel(text: string): ModelName {
  const provider = PROVIDERS.find((known) => text.startsWith(`${known}:`));
  return provider ? { provider, name: text.slice(provider.length + 1) } : { provider: undefined, name: text };
}

export function isOffline(model: string): boolean {
  return ["replay", "script"].includes(parseModel(model).provider ?? "");
}

const DEFAULT_MODELS = { anthropic: "anthropic:claude-sonnet-4-5", openai: "openai:gpt-5" };

export function defaultModel(env: Environment): string {
  if (env.ANTHROPIC_API_KEY) return DEFAULT_MODELS.anthropic;
  if (env.OPENAI_API_KEY) return DEFAULT_MODELS.openai;
  throw new SkillflowError("config.missing", "there is no model to ask", {
    hint: "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name one: --model openai-compatible:NAME, --model replay:FILE",
  });
}

const DEFAULT_JUDGE = "claude-haiku-4-5";

/** N26, D61: where the provider has no Claude, the run's model judges. */
export function defaultJudge(model: string): string {
  return parseModel(model).provider?.startsWith("openai") ? model : DEFAULT_JUDGE;
}

/** Every provider that the workflow needs has its key, before anything runs. */
export function checkModels(model: string, workflow: Workflow, env: Environment): void {
  const { provider: serving } = parseModel(model);
  if (!serving) {
    const near = model.includes(":") ? nearest(model.split(":")[0] ?? "", PROVIDERS) : undefined;
    throw new SkillflowError("usage.invalid", `"${model}" names no provider`, {
      hint: near
        ? `did you mean ${near}:${model.slice(model.indexOf(":") + 1)}?`
        : `write PROVIDER:NAME, where PROVIDER is one of ${PROVIDERS.join(", ")}`,
    });
  }
  if (isOffline(model)) return;
  const named = [workflow, ...Object.values(workflow.nodes)].flatMap((place) => [place.model, place.judge_model]);
  const judges = Object.values(workflow.nodes).flatMap((node) => node.eval ?? []);
  const used = [...named, ...judges.map((judge) => (judge.kind === "judge" ? judge.model : undefined))];
  const providers = new Set([serving, ...used.flatMap((name) => (name ? [parseModel(name).provider ?? serving] : []))]);
  for (const provider of providers) requireKey(provider, env);
}

export function requireKey(provider: Provider, env: Environment): void {
  const missing = missingVariable(provider, env);
  if (missing === undefined) return;
  const hint =
    missing === "OPENAI_BASE_URL" ? "for example http://localhost:11434/v1 for Ollama" : `export ${missing}=…`;
  throw new SkillflowError("config.missing", `${provider} needs ${missing}, which is not set`, { hint });
}

const VARIABLES: Readonly<Record<Provider, string | undefined>> = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  "openai-compatible": "OPENAI_BASE_URL",
  replay: undefined,
  script: undefined,
};

function missingVariable(provider: Provider, env: Environment): string | undefined {
  const variable = VARIABLES[provider];
  return variable === undefined || env[variable] ? undefined : variable;
}

/** The variable that each provider lacks, for `doctor`; undefined where it can be asked. */
export function modelAvailability(env: Environment): { readonly id: Provider; readonly missing: string | undefined }[] {
  return (["anthropic", "openai", "openai-compatible"] as const).map((id) => ({
    id,
    missing: missingVariable(id, env),
  }));
}
