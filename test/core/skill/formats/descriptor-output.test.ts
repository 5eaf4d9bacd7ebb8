import { describe, expect, test } from "vitest";
import { addHints, limitLines } from "../../../../src/core/skill/formats/descriptor-output.ts";
import type { HintCondition } from "../../../../src/core/skill/formats/descriptor-shapes.ts";

const hinted = (
  condition: Omit<HintCondition, "hint">,
  result: { output?: string; code?: number; input?: object } = {},
) => {
  const { output = "out\n", code = 0, input = {} } = result;
  return addHints({ hintConditions: [{ ...condition, hint: "do it" }] }, { output, code, input: input as never });
};
const HINT = "out\n\nhint: do it\n";

describe("a hint", () => {
  test.each<[Omit<HintCondition, "hint">, object, boolean]>([
    [{}, {}, false],
    [{ match: "ou" }, {}, true],
    [{ match: "OU" }, {}, false],
    [{ exitCode: "nonzero" }, { code: 1 }, true],
    [{ exitCode: "nonzero" }, { code: 0 }, false],
    [{ exitCode: 0 }, { code: 0 }, true],
    [{ exitCode: 128 }, { code: 1 }, false],
    [{ notEmpty: true }, {}, true],
    [{ whenArg: { a: true } }, { input: { a: true } }, true],
    [{ whenArg: { a: "true" } }, { input: { a: true } }, true],
    [{ whenArg: { a: "5" } }, { input: { a: 5 } }, true],
    [{ whenArg: { a: true } }, { input: { a: "true" } }, false],
    [{ whenArg: { a: true } }, { input: { a: null } }, false],
    [{ whenArg: { toString: "x" } }, {}, false],
    [{ whenArg: { a: 1, b: 2 } }, { input: { a: 1, b: 3 } }, false],
    [{ match: "out", exitCode: "nonzero" }, { code: 0 }, false],
    [{ match: "out", exitCode: "nonzero" }, { code: 2 }, true],
  ])("with %j for %j: %j", (condition, result, isThere) => {
    expect(hinted(condition, result)).toBe(isThere ? HINT : "out\n");
  });

  test("is not given for an empty output if it requires content", () => {
    expect(hinted({ notEmpty: true }, { output: "" })).toBe("");
    expect(hinted({ exitCode: 0 }, { output: "" })).toBe("\nhint: do it\n");
  });

  test("is one of several, each on a separate line, with the values of parameters", () => {
    const hintConditions = [
      { match: "x", hint: "no" },
      { exitCode: 0, hint: "at {ref}, {gone}{{as it is}}" },
      { exitCode: 0, hint: "{n} times" },
    ];
    const input = { ref: "main", n: 2 };
    expect(addHints({ hintConditions }, { output: "out", code: 0, input })).toBe(
      "out\n\nhint: at main, {as it is}\n\nhint: 2 times\n",
    );
  });
});

describe("a limit of lines", () => {
  const NUMBERED = "501\ta\n502\tb\n503\tc\n";
  test.each<[string, object, string, string]>([
    ["no limit", {}, "1\n2\n", "1\n2\n"],
    ["as many as there are", { maxOutputLines: 2 }, "1\n2\n", "1\n2\n"],
    ["fewer", { maxOutputLines: 1 }, "1\n2\n", "1\n[… 1 of 2 lines left out]"],
    ["hints are kept", { maxOutputLines: 1 }, "1\n2\n\nhint: x\n", "1\n[… 2 of 4 lines left out]\nhint: x"],
    [
      "numbers of lines",
      { maxOutputLines: 2, truncationHint: "{kept} of {total}, {omitted} more, from {next_start} {else}" },
      NUMBERED,
      "501\ta\n502\tb\n[… 1 of 3 lines left out]\n2 of 3, 1 more, from 503 {else}",
    ],
    ["no numbers", { maxOutputLines: 1, truncationHint: "{next_start}" }, "a\nb", "a\n[… 1 of 2 lines left out]\n2"],
  ])("%s", (_, limits, output, expected) => {
    expect(limitLines(limits, output)).toBe(expected);
  });
});
