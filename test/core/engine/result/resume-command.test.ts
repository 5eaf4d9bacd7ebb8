import { describe, expect, test } from "vitest";
import { describeVerdict } from "../../../../src/cli/terminal/verdict.ts";
import { resumeCommand } from "../../../../src/core/engine/result/commands.ts";
import { describeResult } from "../../../../src/core/engine/result/result.ts";
import { summaryMarkdown } from "../../../../src/reports/markdown.ts";
import {
  type Answer,
  breaks,
  INTERRUPT,
  type PlayOptions,
  play,
  recordOf,
  says,
  workflowOf,
} from "../../../harness/harness.ts";

const chain = workflowOf({ a: {}, b: {}, c: {} }, ["a -> b", "b -> c"]);
const played = (limits: object, options: PlayOptions) => {
  const record = recordOf(chain, { settings: { limits } });
  const { events, state } = play(record, options);
  return { record, events, state, result: describeResult(record, state) };
};

describe("the command that resumes a run", () => {
  test.each<[string, object, PlayOptions, string]>([
    ["node visits", { max_steps: 2 }, {}, "--max-steps 4"],
    ["tokens, by far", { max_tokens: 10 }, { answers: () => says("t", { tokens: 4_321 }) }, "--max-tokens 4400"],
    ["tokens, just", { max_tokens: 10 }, { answers: () => says("t", { tokens: 5 }) }, "--max-tokens 20"],
    ["money", { max_cost_usd: 0.3 }, { answers: () => says("t", { costUsd: 0.32 }) }, "--max-cost 0.62"],
    ["time", { timeout_ms: 2_000 }, { tick: 1_000 }, "--timeout 4s"],
    ["a moment", { timeout_ms: 7 }, { tick: 3 }, "--timeout 14ms"],
  ])("raises the limit of %s that stopped it", (_, limits, options, flag) => {
    const report = played(limits, options);
    expect(report.result.exitCode).toBe(5);
    expect(resumeCommand(report)).toBe(`resume r1 ${flag}`);
    expect(summaryMarkdown(report)).toContain(`skillflow resume r1 ${flag}`);
    const verdict = describeVerdict(report, { paint: (_format, text) => text, width: 80, program: "skillflow" });
    expect(verdict).toContain(`next: skillflow resume r1 ${flag}\n`);
  });

  test.each<[string, Answer | ReturnType<typeof breaks>]>([
    ["was interrupted", INTERRUPT],
    ["failed", breaks()],
  ])("has no options if the run %s", (_, answer) => {
    expect(resumeCommand(played({ max_steps: 3 }, { answers: [answer] }))).toBe("resume r1");
  });

  test("has no options once a stopped run was resumed and failed for another reason", () => {
    const first = played({ max_steps: 1 }, {});
    const { events, state } = play(first.record, {
      past: first.events,
      epoch: 1,
      resume: { settings: { limits: { max_steps: 9 } } },
      answers: [breaks()],
    });
    expect(resumeCommand({ ...first, events, result: describeResult(first.record, state) })).toBe("resume r1");
  });
});

describe("the command that examines what a run lacked", () => {
  test.each([
    ["w.yml; touch x", "'w.yml; touch x'"],
    ["$(touch x)", "'$(touch x)'"],
    ["--allow-scripts", "./--allow-scripts"],
  ])("quotes the file %s as one word", (file, word) => {
    const failed = played({ max_steps: 3 }, { answers: [breaks()] });
    const result = { ...failed.result, error: { code: "skills.missing" as const, message: "no skills" } };
    const report = { ...failed, record: { ...failed.record, file }, result };
    const verdict = describeVerdict(report, { paint: (_format, text) => text, width: 80, program: "skillflow" });
    expect(verdict).toContain(`next: skillflow doctor ${word}\n`);
  });
});
