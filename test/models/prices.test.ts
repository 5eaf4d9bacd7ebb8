import { describe, expect, it } from "vitest";
import { priceOf } from "../../src/models/prices.ts";

const usage = { inputTokens: 1_000_000, cachedTokens: 500_000, outputTokens: 100_000 };

describe("the price of a call", () => {
  it.each([
    ["claude-sonnet-4-5", 0.5 * 3 + 0.5 * 0.3 + 0.1 * 15],
    ["claude-sonnet-4-5-20250929", 0.5 * 3 + 0.5 * 0.3 + 0.1 * 15],
    ["gpt-5-mini-2025-08-07", 0.5 * 0.25 + 0.5 * 0.025 + 0.1 * 2],
    ["gpt-4o", 0.5 * 2.5 + 0.5 * 1.25 + 0.1 * 10],
  ])("of %s is %s USD", (model, price) => {
    expect(priceOf(model, usage)).toBeCloseTo(price, 9);
  });

  it("includes the extra cost of cache writes", () => {
    const written = { inputTokens: 1_000_000, cachedTokens: 0, cacheWriteTokens: 400_000, outputTokens: 0 };
    expect(priceOf("claude-sonnet-4-5", written)).toBeCloseTo(0.6 * 3 + 0.4 * 3.75, 9);
  });

  it("is higher for a long input if the vendor charges more", () => {
    const short = { inputTokens: 100_000, cachedTokens: 0, outputTokens: 0 };
    expect(priceOf("claude-haiku-5-5", short)).toBeCloseTo(0.01, 9);
    expect(priceOf("claude-haiku-5-5", { ...short, inputTokens: 200_000 })).toBeCloseTo(0.1, 9);
  });

  it.each(["eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5@20250929"])(
    "of %s is that of the vendor's own model",
    (model) => {
      expect(priceOf(model, usage)).toBe(priceOf("claude-sonnet-4-5", usage));
    },
  );

  it.each(["llama3.3:70b", "gpt-5-miniature", "", "constructor", "claude-sonnet-4-5-2025"])(
    "of %j is unknown",
    (model) => {
      expect(priceOf(model, usage)).toBeNull();
    },
  );
});
