import { expect, it } from "vitest";
import { mutantsOf } from "../../../../src/core/outward/testing/mutants.ts";
import { workflowOf } from "../../../harness/harness.ts";

it.each([
  ["equal to false", { path: "sure.approved", equals: false }],
  ["not equal to true", { path: "sure.approved", equals: true, not: true as const }],
])("leads past a removed approval to where a person's yes leads, also if the denial comes first: %s", (_, denied) => {
  const flow = workflowOf({ look: {}, sure: { approval: { ask: "Send?" } }, stop: {}, send: {} }, ["look -> sure"]);
  const edges = [
    ...flow.edges,
    { from: "sure", to: "stop", if: { output_matches: [denied] } },
    { from: "sure", to: "send" },
  ];
  const [mutant] = mutantsOf({ ...flow, edges }).filter(({ change }) => change === "without the approval sure");
  expect(mutant?.workflow.edges[0]).toEqual({ from: "look", to: "send" });
});
