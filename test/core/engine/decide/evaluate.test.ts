import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/core/base/values.ts";
import { checkValues } from "../../../../src/core/document/value-rule.ts";
import type { Evaluator, FunctionRule } from "../../../../src/core/document/workflow/evaluator.ts";
import type { ValueRule } from "../../../../src/core/document/workflow/rule.ts";
import {
  evalError,
  evalsByName,
  evaluateByCode,
  failureLines,
  parseVerdict,
} from "../../../../src/core/engine/decide/judging/evaluate.ts";
import { callFailure, type ToolCall } from "../../../../src/core/engine/event/node-result.ts";

const exactly = (written: string, called: string) => written === called;
const call = (tool: string, rest: Partial<ToolCall> = { output: "ok" }): ToolCall => ({ tool, input: {}, ...rest });
const byRule = (rule: FunctionRule, calls: readonly ToolCall[]) =>
  evaluateByCode({ name: "e", kind: "function", rule }, {}, calls, exactly);

describe("a value rule", () => {
  const data: JsonObject = {
    url: "https://example.test/1",
    count: 7,
    nothing: null,
    none: [],
    rows: [{ id: 1 }, { id: 2 }],
    nested: { b: [1, { c: null }], a: 1 },
    text: "7",
  };

  test.each<[string, ValueRule]>([
    ["a required value", { output_required: ["url", "count"] }],
    ["an empty array under all:", { output_required: ["none[*].id", "none"] }],
    ["every element", { output_required: ["rows[*].id"] }],
    [
      "a deep equal, key order ignored",
      { output_matches: [{ path: "nested", equals: { a: 1, b: [1, { c: null }] } }] },
    ],
    ["equals null", { output_matches: [{ path: "nothing", equals: null }] }],
    ["one of several", { output_matches: [{ path: "count", in: ["7", 7] }] }],
    ["a pattern on a text", { output_matches: [{ path: "url", matches: "^https://" }] }],
    ["a pattern anywhere in a text", { output_matches: [{ path: "url", matches: "test" }] }],
    ["a pattern on a number's JSON text", { output_matches: [{ path: "count", matches: "^7$" }] }],
    ["a pattern on an object's JSON text", { output_matches: [{ path: "rows", matches: '^\\[\\{"id":1\\}' }] }],
    ["a pattern on null's JSON text", { output_matches: [{ path: "nothing", matches: "^null$" }] }],
    ["any: one element is enough", { output_matches: [{ path: "any:rows[*].id", equals: 2 }] }],
    ["all: every element fits", { output_matches: [{ path: "all:rows[*].id", in: [1, 2, 3] }] }],
  ])("%s passes", (_, rule) => {
    expect(checkValues(rule, data)).toEqual([]);
  });

  test.each<[string, ValueRule, string]>([
    ["a missing value", { output_required: ["cause"] }, "cause is missing"],
    ["a null value", { output_required: ["nothing"] }, "nothing is null"],
    ["an empty array under any:", { output_required: ["any:none[*]"] }, "any:none[*]: the list is empty"],
    ["a text is not a number", { output_matches: [{ path: "text", equals: 7 }] }, 'text is "7", not 7'],
    ["none of several", { output_matches: [{ path: "count", in: [1, 2] }] }, "count is 7, not one of [1,2]"],
    ["nothing is in an empty list", { output_matches: [{ path: "count", in: [] }] }, "count is 7, not one of []"],
    [
      "a pattern without flags",
      { output_matches: [{ path: "url", matches: "HTTPS" }] },
      'url is "https://example.test/1", which does not match HTTPS',
    ],
    ["a missing path to match", { output_matches: [{ path: "a.b", equals: 1 }] }, "a is missing"],
    ["all: one element differs", { output_matches: [{ path: "rows[*].id", equals: 1 }] }, "rows[*].id is 2, not 1"],
    ["any: no element fits", { output_matches: [{ path: "any:rows[*].id", equals: 9 }] }, "any:rows[*].id is 1, not 9"],
  ])("%s fails", (_, rule, reason) => {
    expect(checkValues(rule, data)).toEqual([reason]);
  });

  test("an invalid pattern is a failed check, not a crash", () => {
    const [reason] = checkValues({ output_matches: [{ path: "url", matches: "(" }] }, data);
    expect(reason).toContain("Invalid regular expression");
  });

  test("both parts are joined by AND, and every failure is reported", () => {
    const rule: ValueRule = { output_required: ["url", "x"], output_matches: [{ path: "count", equals: 8 }] };
    expect(checkValues(rule, data)).toEqual(["x is missing", "count is 7, not 8"]);
  });
});

describe("a function rule", () => {
  const good = call("good");
  const bad = call("bad", { error: "no" });
  const soft = call("soft", { output: { error: "no" } });

  test.each<[string, FunctionRule, boolean]>([
    ["any: one of two was called", { any_tool_called: ["good", "x"] }, true],
    ["any: none was called", { any_tool_called: ["x"] }, false],
    ["any: the one called failed", { any_tool_called: ["bad"] }, false],
    ["any: its output says error", { any_tool_called: ["soft"] }, false],
    ["all: each was called", { all_tools_called: ["good"] }, true],
    ["all: one was not", { all_tools_called: ["good", "x"] }, false],
    ["all: one failed", { all_tools_called: ["good", "bad"] }, false],
    ["no: it was not called", { no_tool_called: ["x"] }, true],
    ["no: it was called", { no_tool_called: ["x", "good"] }, false],
    ["no: a failed call still violates", { no_tool_called: ["bad"] }, false],
    ["all three hold", { any_tool_called: ["good"], all_tools_called: ["good"], no_tool_called: ["x"] }, true],
    [
      "one of three does not (AND)",
      { any_tool_called: ["good"], all_tools_called: ["good"], no_tool_called: ["bad"] },
      false,
    ],
  ])("%s", (_, rule, pass) => {
    expect(byRule(rule, [good, bad, soft])?.pass).toBe(pass);
  });

  test("a later successful call compensates for a failed one", () => {
    expect(byRule({ all_tools_called: ["t"] }, [call("t", { error: "no" }), call("t")])?.pass).toBe(true);
  });

  test("the reasoning names each tool that is missing or failed", () => {
    const rule = { any_tool_called: ["x", "y"], all_tools_called: ["x", "bad"], no_tool_called: ["good"] };
    expect(byRule(rule, [good, bad])?.reasoning).toBe(
      "none of x, y was called with success; x was not called; bad was called and failed; good was called",
    );
  });

  test("no calls at all satisfy only no_tool_called", () => {
    expect(byRule({ no_tool_called: ["x"] }, [])?.pass).toBe(true);
    expect(byRule({ any_tool_called: ["x"] }, [])?.pass).toBe(false);
  });
});

describe("whether a call succeeded", () => {
  test.each([
    [{ output: "ok" }, true],
    [{ output: null }, true],
    [{ output: { error: null } }, true],
    [{ output: { error: false } }, true],
    [{ output: { error: "" } }, true],
    [{ output: { error: "no" } }, false],
    [{ output: { error: { code: 1 } } }, false],
    [{ output: ["error"] }, true],
    [{ error: "no" }, false],
    [{ error: "" }, false],
  ] as const)("%j: %s", (rest, succeeded) => {
    expect(callFailure(call("t", rest)) === undefined).toBe(succeeded);
  });
});

describe("a verdict", () => {
  test.each([
    ["VERDICT: yes\nREASONING: fine", "yes", true, "fine"],
    ["verdict: YES\nreasoning: fine", "yes", true, "fine"],
    ["VERDICT: yes.\nREASONING: fine", "yes", true, "fine"],
    ["VERDICT: Yes!!\nREASONING: fine", "yes", true, "fine"],
    ["**VERDICT: yes**\n**REASONING:** fine", "yes", true, "fine"],
    ["**VERDICT:** yes\nREASONING: fine", "yes", true, "fine"],
    ["Let me think.\n\nVERDICT: yes\n\nREASONING: one\ntwo", "yes", true, "one\ntwo"],
    ["VERDICT: no\nREASONING: bad", "yes", false, "bad"],
    ["VERDICT: yesterday\nREASONING: x", "yes", false, "x"],
    ["VERDICT: maybe", "yes", false, "verdict maybe"],
    ["VERDICT: pass\nREASONING: x", "pass", true, "x"],
    ["VERDICT: yes\nREASONING: x", "pass", false, "x"],
    ["VERDICT: A+\nREASONING: x", "a+", true, "x"],
    ["VERDICT: no\nVERDICT: yes", "yes", false, "verdict no"],
  ])("%j under pass_when %s: %s", (text, passWhen, pass, reasoning) => {
    expect(parseVerdict(text, passWhen)).toEqual({ pass, reasoning });
  });

  test.each([
    "",
    "yes",
    "The verdict is: yes",
    "VERDICT yes",
    "VERDICT:",
    "VERDICT:\nREASONING: none",
    "REASONING: yes",
  ])("%j contains no verdict", (text) => {
    expect(parseVerdict(text)).toBeUndefined();
  });

  test("a long answer without a verdict is read in linear time", () => {
    expect(parseVerdict(`${"\n".repeat(200_000)}${" *".repeat(100_000)}`)).toBeUndefined();
  });
});

describe("reports about evaluators", () => {
  const results = [
    { name: "a", kind: "value", pass: true },
    { name: "b", kind: "judge", pass: false, reasoning: "bad" },
    { name: "c", kind: "function", pass: false },
  ] as const;

  test("the error lists each failure on a line", () => {
    expect(evalError([...results])).toBe(
      "eval failed (policy: all_pass):\n  - b (judge): bad\n  - c (function): failed",
    );
  });

  test("feedback lists each failure", () => {
    expect(failureLines([...results])).toEqual(["b (judge): bad", "c (function): failed"]);
  });

  test("paths refer to results by name, and to the last of the same name", () => {
    const twice = [...results, { name: "b", kind: "value", pass: true } as const];
    expect(evalsByName(twice)).toMatchObject({ a: { pass: true }, b: { pass: true, kind: "value" } });
  });

  test("reasoning is cut at 500 characters", () => {
    const evaluator: Evaluator = { name: "v", kind: "value", rule: { output_required: [`a${"b".repeat(900)}`] } };
    const result = evaluateByCode(evaluator, {}, [], exactly);
    expect(result?.reasoning).toHaveLength(500);
  });

  test("a passing evaluator has no empty reasoning", () => {
    expect(byRule({ no_tool_called: ["x"] }, [])).toEqual({ name: "e", kind: "function", pass: true });
  });
});
