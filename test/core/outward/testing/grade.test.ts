import { expect, it, test } from "vitest";
import type { Truth } from "../../../../src/core/outward/testing/backtest.ts";
import {
  type Answer,
  agreementOf,
  compareScores,
  type Grade,
  gradeAnswer,
} from "../../../../src/core/outward/testing/grade.ts";

const commit = "04fa1ae1e6d7406be2c045d3bec08667de177676";
const truth: Truth = {
  verdict: "incident",
  cause_kind: "change",
  commit,
  cause_matches: ["pool", "connection"],
  decoys: ["timeout"],
};
const right: Answer = {
  verdict: "incident",
  cause_kind: "change",
  commit: "04fa1ae",
  service: "Checkout",
  cause: "The Pool has no connection left",
  refuted: [],
};

test.each<[string, Truth, Partial<Answer>, Grade, number]>([
  ["all parts", truth, {}, "right", 0],
  ["a commit of six characters", truth, { commit: "04fa1a" }, "partly", 0],
  ["another commit", truth, { commit: "2327ca4" }, "partly", 0],
  ["one of the patterns", truth, { cause: "the pool" }, "partly", 0],
  ["the verdict alone", truth, { cause_kind: null, commit: null, cause: null }, "wrong", 0],
  ["another verdict", truth, { verdict: "false_alarm" }, "wrong", 0],
  ["no verdict", truth, { verdict: null }, "wrong", 0],
  ["inconclusive", truth, { verdict: "inconclusive" }, "abstained", 0],
  ["inconclusive, which is true", { verdict: "inconclusive" }, { verdict: "inconclusive" }, "right", 0],
  ["a decoy", truth, { cause: "pool connection timeout" }, "partly", 1],
  [
    "a decoy that it refuted",
    truth,
    { cause: "pool connection, no timeout", refuted: ["The timeout did it"] },
    "right",
    0,
  ],
  ["a service in other case", { service: "checkout" }, {}, "right", 0],
  ["another service", { verdict: "incident", service: "cart" }, {}, "wrong", 0],
])("%s", (_, what, answer, grade, decoys) => {
  const graded = gradeAnswer(what, { ...right, ...answer });
  expect([graded.grade, graded.decoys.length]).toEqual([grade, decoys]);
});

test.each<[string, number[][], number[][], number, boolean]>([
  [
    "a fall without noise",
    [
      [1, 1],
      [1, 1],
    ],
    [
      [1, 1],
      [0.5, 0.5],
    ],
    0,
    true,
  ],
  [
    "a fall within the noise",
    [
      [1, 0],
      [1, 0.5],
    ],
    [
      [0.5, 0],
      [1, 0.5],
    ],
    0.9,
    false,
  ],
  ["a rise", [[0], [0]], [[1], [1]], 0, false],
])("compares %s", (_, before, now, spread, fell) => {
  const scores = (rows: number[][]) => new Map(rows.map((row, index) => [`c${index}`, row]));
  const compared = compareScores(scores(before), scores(now));
  expect(compared?.fell).toBe(fell);
  expect(compared?.spread).toBeCloseTo(spread, 1);
});

it("compares only cases that both have", () => {
  expect(compareScores(new Map([["a", [1]]]), new Map([["b", [0]]]))).toBeUndefined();
});

it("calculates the share of runs that agree", () => {
  expect(agreementOf([right, { ...right, commit }, { ...right, verdict: "false_alarm" }])).toBeCloseTo(2 / 3);
});
