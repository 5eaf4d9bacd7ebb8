import type { Usage } from "../core/engine/event/prompt.ts";
import prices from "./prices.json" with { type: "json" };

/** USD per million tokens. */
interface Price {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  /** What each token of a call costs whose input is longer than so many tokens. */
  readonly long?: {
    readonly above: number;
    readonly input: number;
    readonly cachedInput: number;
    readonly output: number;
  };
}

const MODELS: Readonly<Record<string, Price>> = prices.models;

/** What an input token costs more that is put into the cache for five minutes, as a part of its price. */
const CACHE_WRITE_SURCHARGE = 0.25;

/** What one call's tokens cost in USD at list price; null for a model whose price we do not know. */
export function priceOf(model: string, usage: Usage): number | null {
  const name = [model, model.replace(DATE, "")].find((known) => Object.hasOwn(MODELS, known));
  const price = MODELS[name ?? ""];
  if (price === undefined) return null;
  const { input, cachedInput, output } = price.long && usage.inputTokens > price.long.above ? price.long : price;
  const fresh = usage.inputTokens - usage.cachedTokens + (usage.cacheWriteTokens ?? 0) * CACHE_WRITE_SURCHARGE;
  return (fresh * input + usage.cachedTokens * cachedInput + usage.outputTokens * output) / 1_000_000;
}

/** `-20250929`, `-2025-09-29` */
const DATE = /-\d{4}-?\d{2}-?\d{2}$/;
