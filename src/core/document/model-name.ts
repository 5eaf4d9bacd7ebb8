import { SkillflowError } from "../base/errors.ts";
import { nearest } from "../base/values.ts";
import { type ConfigForm, hasForm, wantedOf } from "../skill/availability/config-form.ts";
import type { Environment } from "./config.ts";
import type { Workflow } from "./workflow/workflow.ts";

export const PROVIDERS = ["anthropic", "openai", "openai-compatible", "replay", "script"] as const;
export type Provider = (typeof PROVIDERS)[number];

/** Providers with short-lived keys. The function returns the current key and is called before each model call. */
export type ShortLivedKeys = Readonly<Partial<Record<"anthropic" | "openai", () => Promise<string>>>>;

interface ModelName {
  /** Our provider or a program's own prefix. Undefined for a bare name, which the run's provider serves. */
  readonly provider: string | undefined;
  readonly name: string;
}

/** Prefixes that the calling program handles itself. They need no key and override our providers. */
export type OwnPrefixes = ReadonlySet<string>;
const NONE: OwnPrefixes = new Set();

/** Splits `anthropic:claude-…`. A name without a known prefix is passed on unchanged, including colons. */
export function parseModel(text: string, own: OwnPrefixes = NONE): ModelName {
  const provider = [...own, ...PROVIDERS].find((known) => text.startsWith(`${known}:`));
  return provider ? { provider, name: text.slice(provider.length + 1) } : { provider: undefined, name: text };
}

/** Suggests the name with the provider that its prefix probably meant. */
export function nearProvider(text: string, own: OwnPrefixes = NONE): string | undefined {
  const end = text.indexOf(":");
  if (end < 0 || parseModel(text, own).provider !== undefined) return undefined;
  const near = nearest(text.slice(0, end), [...own, ...PROVIDERS]);
  return near === undefined ? undefined : `${near}${text.slice(end)}`;
}

export function isOffline(model: string): boolean {
  return ["replay", "script"].includes(parseModel(model).provider ?? "");
}

const DEFAULT_MODELS = { anthropic: "anthropic:claude-sonnet-4-5", openai: "openai:gpt-5" };

/** Chooses the default model. `named` is the workflow's own model, used if no provider has a key. */
export function defaultModel(env: Environment, named?: string, own?: OwnPrefixes): string {
  if (env.ANTHROPIC_API_KEY) return DEFAULT_MODELS.anthropic;
  if (env.OPENAI_API_KEY) return DEFAULT_MODELS.openai;
  if (named !== undefined && parseModel(named, own).provider !== undefined) return named;
  throw new SkillflowError("config.missing", "no model is configured", {
    hint: [
      "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name one: ",
      { option: "model", value: "openai-compatible:NAME" },
      ", ",
      { option: "model", value: "replay:FILE" },
    ],
  });
}

const DEFAULT_JUDGE = "claude-haiku-4-5";

/** Chooses the default judge: the run's own model if its provider has no Claude. */
export function defaultJudge(model: string, own: OwnPrefixes = NONE): string {
  const { provider = "" } = parseModel(model, own);
  return own.has(provider) || provider.startsWith("openai") ? model : DEFAULT_JUDGE;
}

/** Checks whether a workflow asks a model: not if it has only steps and approvals, and edges without `when`. */
export function asksModel({ nodes, edges }: Pick<Workflow, "nodes" | "edges">): boolean {
  const isAsking = Object.values(nodes).some(({ steps, approval }) => !steps && !approval);
  return isAsking || edges.some(({ when }) => when?.trim());
}

/** Checks before a run that every provider the workflow needs has a key. */
export function checkModels(model: string, workflow: Workflow, env: Environment, own: OwnPrefixes = NONE): void {
  const serving = checkModel(model, own);
  if (isOffline(model) || !asksModel(workflow)) return;
  const named = [workflow, ...Object.values(workflow.nodes)].flatMap((place) => [place.model, place.judge_model]);
  const judges = Object.values(workflow.nodes).flatMap((node) => node.eval ?? []);
  const used = [...named, ...judges.map((judge) => (judge.kind === "judge" ? judge.model : undefined))];
  const providers = new Set([
    serving,
    ...used.flatMap((name) => (name ? [parseModel(name, own).provider ?? serving] : [])),
  ]);
  for (const provider of providers) if (!own.has(provider)) requireKey(provider as Provider, env);
}

/** Returns the provider of the run's model. Throws if the name has none. */
export function checkModel(model: string, own: OwnPrefixes = NONE): string {
  const { provider } = parseModel(model, own);
  if (provider) return provider;
  const prefixes = [...own, ...PROVIDERS.filter((known) => !own.has(known))];
  const near = nearProvider(model, own);
  throw new SkillflowError("usage.invalid", `"${model}" has no provider`, {
    hint: near ? `did you mean ${near}?` : `write PROVIDER:NAME, where PROVIDER is one of ${prefixes.join(", ")}`,
  });
}

export function requireKey(provider: Provider, env: Environment): void {
  const lack = lackOf(provider, env);
  if (!lack) return;
  const { name, isMissing, reason, fix } = lack;
  if (!isMissing) throw new SkillflowError("config.invalid", reason, { hint: fix });
  const hint = name === "OPENAI_BASE_URL" ? "for example http://localhost:11434/v1 for Ollama" : `export ${name}=…`;
  throw new SkillflowError("config.missing", `${provider} needs ${name}, which is not set`, { hint });
}

const ADDRESS: ConfigForm = { format: "base_url" };
const KEY: ConfigForm = { format: "token" };

/** Variables of the providers with their forms. The first one is required. */
const VARIABLES = {
  anthropic: { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: ADDRESS },
  openai: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: ADDRESS },
  "openai-compatible": { OPENAI_BASE_URL: ADDRESS, OPENAI_API_KEY: KEY },
} as const;

/** Finds a variable of the provider that is malformed or missing. */
function lackOf(provider: Provider, env: Environment) {
  const forms: readonly [string, ConfigForm][] =
    provider === "replay" || provider === "script" ? [] : Object.entries(VARIABLES[provider]);
  const malformed = forms.find(([name, form]) => env[name] && !hasForm(env[name], form, () => "none"));
  const [required = ""] = forms[0] ?? [];
  const [name, form] = malformed ?? [required];
  if (!malformed && (required === "" || env[required])) return undefined;
  const reason = form ? `${name} is not ${wantedOf(form)}` : `${name} is not set`;
  return { name, isMissing: !form, reason, fix: form ? `set ${name} to ${wantedOf(form)}` : `set ${name}` };
}

interface ModelAvailability {
  readonly id: Provider;
  /** Reason why the provider cannot be used, and the fix. Undefined if its variables are set and valid. */
  readonly lack: { readonly reason: string; readonly fix: string } | undefined;
}

export function modelAvailability(env: Environment): ModelAvailability[] {
  return (["anthropic", "openai", "openai-compatible"] as const).map((id) => {
    const lack = lackOf(id, env);
    return { id, lack: lack && { reason: lack.reason, fix: lack.fix } };
  });
}
