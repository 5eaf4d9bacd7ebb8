import { SkillflowError, usageError } from "../base/errors.ts";
import type { Hint } from "../base/options.ts";
import { defined, nearest } from "../base/values.ts";
import { hasForm, wantedOf } from "../skill/availability/config-form.ts";
import type { Environment } from "./config.ts";
import { type InnerWorkflows, nodePath } from "./inner/place.ts";
import { isUnique, type ModelChoice, modelsOf } from "./model-list.ts";
import needs from "./provider-needs.json" with { type: "json" };
import type { WorkflowNode } from "./workflow/node.ts";
import type { Workflow } from "./workflow/workflow.ts";

export const PROVIDERS = [
  "anthropic",
  "openai",
  "openai-compatible",
  "bedrock",
  "vertex",
  "azure",
  "replay",
  "script",
] as const;
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

/** Parses the value of `--model`: `A`, or `A,B`. A file of answers serves a whole run, so its path keeps its commas. */
export function parseModels(text: string): ModelChoice {
  const names = text.split(",").map((name) => name.trim());
  const isList = names.length > 1 && (!isOffline(text) || names.slice(1).some((name) => parseModel(name).provider));
  return isList ? checkedModels(names) : text;
}

/** Checks a list of models from outside a document. */
export function checkedModels(names: readonly string[]): string[] {
  const refuse = (problem: string, hint: Hint) => usageError(`the list of models ${problem}`, hint);
  if (names.length === 0) throw refuse("is empty", howToName());
  if (names.includes("")) throw refuse("has an empty name", `${howToName()}; separate several by commas`);
  if (!isUnique(names)) throw refuse("names a model twice", "name each model once");
  const file = names.length > 1 ? names.find(isOffline) : undefined;
  if (!file) return [...names];
  throw refuse(`contains ${file}, which answers a whole run`, ["name it alone: ", { option: "model", value: file }]);
}

function howToName(own: OwnPrefixes = NONE): string {
  const prefixes = new Set([...own, ...PROVIDERS]);
  return `write PROVIDER:NAME, as in ${DEFAULT_MODELS.anthropic}; providers: ${[...prefixes].join(", ")}`;
}

/** Suggests the name with the provider that its prefix probably meant. */
export function nearProvider(text: string, own: OwnPrefixes = NONE): string | undefined {
  const end = text.indexOf(":");
  if (end < 0 || parseModel(text, own).provider !== undefined) return undefined;
  const near = nearest(text.slice(0, end), [...own, ...PROVIDERS]);
  return near === undefined ? undefined : `${near}${text.slice(end)}`;
}

export function isOffline(model: ModelChoice): boolean {
  return ["replay", "script"].includes(parseModel(firstOf(model)).provider ?? "");
}

/** Returns the first model of a list. Its provider serves bare names. */
export function firstOf(model: ModelChoice): string {
  return modelsOf(model)[0] ?? "";
}

const DEFAULT_MODELS = { anthropic: "anthropic:claude-sonnet-4-5", openai: "openai:gpt-5" };

/** Chooses the default model. `named` is the workflow's own model, used if no provider has a key. */
export function defaultModel(env: Environment, named?: ModelChoice, own?: OwnPrefixes): ModelChoice {
  if (env.ANTHROPIC_API_KEY) return DEFAULT_MODELS.anthropic;
  if (env.OPENAI_API_KEY) return DEFAULT_MODELS.openai;
  if (named !== undefined && parseModel(firstOf(named), own).provider !== undefined) return named;
  throw new SkillflowError("config.missing", "no model is configured", {
    hint: [
      "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name one: ",
      { option: "model", value: "openai-compatible:NAME" },
      ", bedrock:NAME, vertex:NAME, azure:NAME, replay:FILE or script:FILE",
    ],
  });
}

const DEFAULT_JUDGE = "claude-haiku-4-5";

/** Chooses the default judges, one for each model: the model itself if its provider has no model of that name. */
export function defaultJudge(model: ModelChoice, own: OwnPrefixes = NONE): ModelChoice {
  if (typeof model === "string") return judgeFor(model, own, DEFAULT_JUDGE);
  return [...new Set(model.map((name) => judgeFor(name, own, `anthropic:${DEFAULT_JUDGE}`)))];
}

function judgeFor(model: string, own: OwnPrefixes, judge: string): string {
  const { provider = "anthropic" } = parseModel(model, own);
  return !own.has(provider) && ["anthropic", "replay", "script"].includes(provider) ? judge : model;
}

/**
 * Checks whether a workflow asks a model: not if it has only steps and approvals, edges without `when`, and inner workflows
 * of this kind. An inner workflow that is not known counts as asking. `at` is the path of the workflow in `inner`.
 */
export function asksModel({ nodes, edges }: Asking, inner: InnerWorkflows = new Map(), at?: string): boolean {
  const isAsking = Object.entries(nodes).some(([id, node]) => {
    if (node.steps || node.approval) return false;
    // A model writes the advice for the retry.
    if (typeof node.retry?.instruction === "object") return true;
    const path = nodePath(at, id);
    const inside = node.nodes ? { nodes: node.nodes, edges: node.edges ?? [] } : inner.get(path)?.workflow;
    return !inside || asksModel(inside, inner, path);
  });
  return isAsking || edges.some(({ when }) => when?.trim());
}

interface Asking extends Pick<Workflow, "edges"> {
  readonly nodes: Readonly<Record<string, WorkflowNode>>;
}

/** Returns the providers whose models a node asks. `run` is the run's model, which also serves names without a provider. */
export function providersOf(
  { model, steps, approval, map, call }: WorkflowNode,
  workflow: Workflow,
  run: ModelChoice = workflow.model ?? [],
): ReadonlySet<string | undefined> {
  if (steps || approval || map || call !== undefined) return new Set();
  const serving = parseModel(firstOf(run)).provider;
  return new Set(modelsOf(model ?? workflow.model ?? run).map((name) => parseModel(name).provider ?? serving));
}

export interface ModelAccess {
  readonly env: Environment;
  readonly own?: OwnPrefixes | undefined;
  /** Returns true if an optional package is installed. Default: all are. */
  readonly hasPackage?: ((name: string) => boolean) | undefined;
  readonly judge?: ModelChoice | undefined;
  /** Inner workflows of the workflow, as far as they are known. */
  readonly inner?: InnerWorkflows | undefined;
}

/** Checks before a run that each of its lists has a model that can be asked. */
export function checkModels(model: ModelChoice, workflow: Workflow | undefined, access: ModelAccess): void {
  for (const name of checkedModels(modelsOf(model))) checkModel(name, access.own);
  for (const lacks of lacksOf(model, workflow, access)) {
    // A name without a provider can be the same model as one with it.
    const names = lacks.map(({ name, provider }) => `${provider}:${parseModel(name, access.own).name}`);
    if (!isUnique(names)) throw usageError("the list of models names a model twice", "name each model once");
    const [first, ...others] = new Map(lacks.flatMap(({ provider, lack }) => (lack ? [[provider, lack]] : [])));
    if (!first || !lacks.every(({ lack }) => lack)) continue;
    if (others.length === 0) throw lackError(...first);
    const all = [first, ...others];
    const hint = `${all.map(([, { fix }]) => fix).join(", or ")}: one model of the list is enough`;
    throw new SkillflowError("config.missing", all.map((each) => lackError(...each).message).join("; "), { hint });
  }
}

/** Describes the models of lists that cannot be asked here. Other models of the same lists can. */
export function fallbackLacks(model: ModelChoice, workflow: Workflow, access: ModelAccess): string[] {
  const found = lacksOf(model, workflow, access).flatMap((lacks) => (lacks.length > 1 ? lacks : []));
  return [...new Set(found.flatMap(({ name, lack }) => (lack ? [`${name} cannot be asked: ${lack.reason}`] : [])))];
}

function lacksOf(
  model: ModelChoice,
  workflow: Workflow | undefined,
  { own = NONE, judge, inner, ...access }: ModelAccess,
) {
  if (isOffline(model) || (workflow && !asksModel(workflow, inner))) return [];
  const serving = parseModel(firstOf(model), own).provider;
  return [model, ...choicesIn(workflow, judge)].map((choice) =>
    modelsOf(choice).map((name) => {
      const provider = (parseModel(name, own).provider ?? serving ?? "anthropic") as Provider;
      return { name, provider, lack: own.has(provider) ? undefined : lackOf(provider, access) };
    }),
  );
}

/** Returns the models that a workflow names for its nodes and judges. `judge` is the one of judges without their own. */
export function choicesIn(workflow: Workflow | undefined, judge: ModelChoice = []): ModelChoice[] {
  const nodes = Object.values(workflow?.nodes ?? {});
  const named = [...(workflow ? [workflow] : []), ...nodes].flatMap((place) => [place.model, place.judge_model]);
  const evaluators = nodes.flatMap((node) => node.eval ?? []);
  const judges = evaluators.flatMap((each) => (each.kind === "judge" ? [each.model ?? judge] : []));
  return [...named, ...judges].flatMap((choice) => (choice === undefined ? [] : [choice]));
}

/** Returns the provider of the run's model. Throws if the name has none. */
export function checkModel(model: string, own: OwnPrefixes = NONE): string {
  const { provider } = parseModel(model, own);
  if (provider) return provider;
  const near = nearProvider(model, own);
  throw usageError(`"${model}" has no provider`, `${near ? `did you mean ${near}? ` : ""}${howToName(own)}`);
}

export function requireKey(provider: Provider, access: ModelAccess): void {
  const lack = lackOf(provider, access);
  if (lack) throw lackError(provider, lack);
}

function lackError(provider: Provider, { needs, reason, fix, hint = fix }: ProviderLack): SkillflowError {
  if (needs === undefined) return new SkillflowError("config.invalid", reason, { hint });
  return new SkillflowError("config.missing", `${provider} needs ${needs}`, { hint });
}

interface ProviderNeeds {
  readonly variables: Readonly<Record<string, "token" | "base_url">>;
  /** Variables that must be set. One of an inner list is enough. */
  readonly required?: readonly (readonly string[])[];
  readonly package?: string;
}

/** Packages and variables that each provider needs. The clouds find their credentials themselves. */
const NEEDS = needs.providers as Readonly<Partial<Record<Provider, ProviderNeeds>>>;
const EXAMPLES: Readonly<Record<string, string>> = needs.examples;

interface ProviderLack {
  /** Missing package or variable. Undefined if a variable is malformed. */
  readonly needs: string | undefined;
  readonly reason: string;
  readonly fix: string;
  /** Longer advice for the error of a run. */
  readonly hint?: string;
}

/** Finds what a provider lacks: its package, or a variable that is malformed or missing. */
function lackOf(provider: Provider, { env, hasPackage = () => true }: ModelAccess): ProviderLack | undefined {
  const { variables = {}, required = [], package: name } = NEEDS[provider] ?? {};
  if (name !== undefined && !hasPackage(name)) {
    const needs = `the package ${name}, which is not installed`;
    return { needs, reason: `the package ${name} is not installed`, fix: `npm install ${name}` };
  }
  for (const [variable, format] of Object.entries(variables)) {
    if (!env[variable] || hasForm(env[variable], { format }, () => "none")) continue;
    const wanted = wantedOf({ format });
    return { needs: undefined, reason: `${variable} is not ${wanted}`, fix: `set ${variable} to ${wanted}` };
  }
  const missing = required.filter((names) => !names.some((each) => env[each]));
  if (missing.length === 0) return undefined;
  const names = missing.map((each) => each.join(" or ")).join(", and ");
  const [first = ""] = missing[0] ?? [];
  const verb = missing.flat().length > 1 ? "are" : "is";
  return {
    needs: `${names}, which ${verb} not set`,
    reason: `${names} ${verb} not set`,
    fix: `set ${names}`,
    hint: EXAMPLES[first] ?? `export ${first}=…`,
  };
}

/** Returns what each provider lacks: nothing if its package and variables are there. */
export function modelAvailability(access: ModelAccess): { readonly id: Provider; readonly lack?: ProviderLack }[] {
  return (Object.keys(NEEDS) as Provider[]).map((id) => ({ id, ...defined("lack", lackOf(id, access)) }));
}
