import type { Usage } from "../core/engine/event/prompt.ts";
import prices from "./prices.json" with { type: "json" };

/** Price in USD per million tokens. */
interface Price {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
  /** Prices for calls whose input exceeds `above` tokens. They apply to all tokens of the call. */
  readonly long?: {
    readonly above: number;
    readonly input: number;
    readonly cachedInput: number;
    readonly output: number;
  };
}

const MODELS: Readonly<Record<string, Price>> = prices.models;

/** Surcharge for writing an input token to the five-minute cache, as a fraction of its price. */
const CACHE_WRITE_SURCHARGE = 0.25;

/** Parts that Amazon Bedrock adds to a model's name: `eu.anthropic.claude-…-v1:0`. */
const CLOUD = /^(?:[a-z]+\.)?anthropic\.|-v\d+(?::\d+)?$/g;

/** Computes the list price of a call in USD. Returns null if the model's price is unknown. */
export function priceOf(model: string, usage: Usage): number | null {
  const plain = model.replace(CLOUD, "").replace("@", "-");
  const name = [model, plain, plain.replace(DATE, "")].find((known) => Object.hasOwn(MODELS, known));
  const price = MODELS[name ?? ""];
  if (price === undefined) return null;
  const { input, cachedInput, output } = price.long && usage.inputTokens > price.long.above ? price.long : price;
  const fresh = usage.inputTokens - usage.cachedTokens + (usage.cacheWriteTokens ?? 0) * CACHE_WRITE_SURCHARGE;
  return (fresh * input + usage.cachedTokens * cachedInput + usage.outputTokens * output) / 1_000_000;
}

/** Date suffix, such as `-20250929` or `-2025-09-29`. */
const DATE = /-\d{4}-?\d{2}-?\d{2}$/;
