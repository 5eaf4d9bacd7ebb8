import { expect, test } from "vitest";
import { limitWarnings } from "../../src/app/runs/warnings.ts";
import { workflowOf } from "../harness/harness.ts";

const PRICED = "openai:gpt-4o-mini";
const judged = { eval: [{ name: "e", kind: "judge", rule: "right?", model: "openai:unpriced" }] };

test.each<[string, Record<string, number>, Record<string, unknown>, readonly string[]]>([
  ["no limit", {}, { model: "openai:unpriced" }, []],
  ["priced models", { max_cost_usd: 1 }, { model: PRICED }, []],
  ["a node's model", { max_cost_usd: 1 }, { model: "openai:unpriced" }, ["openai:unpriced is unknown: max_cost_usd"]],
  ["a node's judge", { max_cost_usd: 1 }, { judge_model: "openai:dear" }, ["openai:dear is unknown: max_cost_usd"]],
  ["an evaluator's judge", { max_cost_usd: 1 }, judged, ["openai:unpriced is unknown: max_cost_usd"]],
  [
    "the limit of a day",
    { max_cost_usd_per_day: 1 },
    { model: "openai:unpriced" },
    ["openai:unpriced is unknown: per_day.max_cost_usd"],
  ],
])("a cost limit that cannot count a model's calls causes a warning: %s", (_, limits, node, told) => {
  const settings = { limits, model: PRICED } as never;
  const expected = told.map((each) => `the price of ${each} cannot count its calls`);
  expect(limitWarnings(settings, workflowOf({ a: node }, []))).toEqual(expected);
});
