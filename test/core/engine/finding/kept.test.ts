import { expect, test } from "vitest";
import type { Evaluator } from "../../../../src/core/document/workflow/evaluator.ts";
import { keptClaims } from "../../../../src/core/engine/finding/kept.ts";
import {
  type AskStep,
  calls,
  gives,
  inline,
  play,
  recordOf,
  skillOf,
  toolOf,
  workflowOf,
} from "../../../harness/harness.ts";

const OPS = skillOf("ops", [toolOf("ops", "logs")]);
const EVIDENCE: Evaluator = { name: "shown", kind: "evidence", rule: { claims: "claims[*]" }, on_unsupported: "drop" };
const LOG = "2026-11-20T14:35:01Z ERROR pool exhausted";

test("only the last visit's inner runs count", () => {
  const judge = { skills: ["ops"], output: { type: "object" }, eval: [EVIDENCE] };
  const each = { map: { over: "input.list", as: "item" }, ...inline({ judge }) };
  const outer = workflowOf({ each, again: {} }, [
    "each -> again",
    { from: "again", to: "each", if: "input.list exists", max_iterations: 1 },
  ]);
  const record = recordOf(outer, { skills: [OPS], input: { list: ["a", "b"] } });
  let answers = 0;
  const played = play(record, {
    tools: () => ({ output: LOG }),
    answers: (step: AskStep) => {
      if (step.node !== "judge") return "done";
      if (step.prompt.turns.length === 0) return calls(["ops_logs", {}]);
      answers += 1;
      return gives({
        claims: [{ claim: "abcd"[answers - 1] ?? "", evidence: [{ ref: "r1", quote: "ERROR pool exhausted" }] }],
      });
    },
  });
  expect(keptClaims({ record, events: played.events }).map(({ text }) => text)).toEqual(["c", "d"]);
});
