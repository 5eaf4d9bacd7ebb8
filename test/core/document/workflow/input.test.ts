import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hasErrors } from "../../../../src/core/base/diagnostic.ts";
import { checkInput } from "../../../../src/core/document/check/workflow.ts";
import type { InputField } from "../../../../src/core/document/workflow/input.ts";
import { workflowOf } from "../../../harness/harness.ts";

type Inputs = { readonly [name: string]: InputField };
const check = (inputs: Inputs | undefined, input: unknown) =>
  checkInput(workflowOf({ a: {} }, [], inputs ? { inputs } : {}), input);
const messages = (inputs: Inputs | undefined, input: unknown) =>
  check(inputs, input).diagnostics.map(({ message }) => message);

describe("valid input", () => {
  test.each<[string, Inputs, unknown, unknown]>([
    ["a text", { x: { type: "string" } }, { x: "" }, { x: "" }],
    ["a number", { x: { type: "number" } }, { x: -0.5 }, { x: -0.5 }],
    ["false", { x: { type: "boolean", required: true } }, { x: false }, { x: false }],
    ["an empty list", { x: { type: "string[]", required: true } }, { x: [] }, { x: [] }],
    ["an absent optional field", { x: { type: "string" } }, {}, {}],
    ["a null optional field", { x: { type: "string" } }, { x: null }, { x: null }],
    ["an absent field takes its default", { x: { type: "number", default: 0 } }, {}, { x: 0 }],
    ["a null field takes its default", { x: { type: "boolean", default: false } }, { x: null }, { x: false }],
    ["the caller's value wins", { x: { type: "string", default: "d" } }, { x: "" }, { x: "" }],
    [
      "an undeclared key passes through",
      { x: { type: "string" } },
      { dryRun: true, rules: ["r"] },
      { dryRun: true, rules: ["r"] },
    ],
    ["an allowed value", { x: { type: "string", enum: ["a", "b"] } }, { x: "b" }, { x: "b" }],
    ["an allowed list", { x: { type: "string[]", enum: [["a"], ["a", "b"]] } }, { x: ["a", "b"] }, { x: ["a", "b"] }],
    [
      "names that objects already have",
      { constructor: { type: "string" as const, default: "c" } },
      { toString: 1 },
      { toString: 1, constructor: "c" },
    ],
  ])("%s is accepted", (_, inputs, input, expected) => {
    const found = check(inputs, input);
    expect(hasErrors(found.diagnostics)).toBe(false);
    expect(found.input).toEqual(expected);
  });

  test("without `inputs` any object is accepted", () => {
    expect(check(undefined, { anything: [1] })).toEqual({ input: { anything: [1] }, diagnostics: [] });
  });
});

describe("invalid input", () => {
  test.each<[string, Inputs, unknown, string]>([
    ["a missing required field", { x: { type: "string", required: true } }, {}, 'input "x" is missing'],
    ["a null required field", { x: { type: "string", required: true } }, { x: null }, 'input "x" is missing'],
    [
      "an inherited name is not given",
      { toString: { type: "string" as const, required: true } },
      {},
      'input "toString" is missing',
    ],
    [
      "its description is shown",
      { x: { type: "string", required: true, description: "the alert" } },
      {},
      'input "x" is missing (the alert)',
    ],
    ["a number for a text", { x: { type: "string" } }, { x: 1 }, 'input "x" must be a string, not number'],
    ["a text for a number", { x: { type: "number" } }, { x: "1" }, 'input "x" must be a number, not string'],
    ["a text for a boolean", { x: { type: "boolean" } }, { x: "true" }, 'input "x" must be a boolean, not string'],
    ["NaN", { x: { type: "number" } }, { x: Number.NaN }, 'input "x" must be a finite number'],
    ["1e999", { x: { type: "number" } }, JSON.parse('{"x": 1e999}'), 'input "x" must be a finite number'],
    ["a text for a list", { x: { type: "string[]" } }, { x: "a" }, 'input "x" must be a list of strings, not string'],
    [
      "an element of a list",
      { x: { type: "string[]" } },
      { x: ["a", "b", 3] },
      'input "x" must hold only strings, but element 2 is number',
    ],
    [
      "a null element",
      { x: { type: "string[]" } },
      { x: [null] },
      'input "x" must hold only strings, but element 0 is null',
    ],
    [
      "a value outside enum",
      { x: { type: "string", enum: ["a", "b"] } },
      { x: "c" },
      'input "x" is "c"; allowed are "a", "b"',
    ],
    ["a number outside enum", { x: { type: "number", enum: [1, 2] } }, { x: 3 }, 'input "x" is 3; allowed are 1, 2'],
    [
      "a list outside an enum of lists",
      { x: { type: "string[]", enum: [["a"]] } },
      { x: [] },
      'input "x" is []; allowed are ["a"]',
    ],
  ])("%s is refused", (_, inputs, input, message) => {
    expect(messages(inputs, input)).toEqual([message]);
  });

  test.each([[null], [[]], ["text"], [1], [true], [undefined]])(
    "%o is not a valid root, with or without `inputs`",
    (input) => {
      for (const inputs of [undefined, { x: { type: "string" } } as const]) {
        expect(messages(inputs, input)).toEqual(["the input must be a JSON object"]);
      }
    },
  );

  test("all errors are reported at once", () => {
    const inputs: Inputs = {
      a: { type: "string", required: true },
      b: { type: "number" },
      c: { type: "string", enum: ["x"] },
    };
    expect(messages(inputs, { b: "1", c: "y" })).toHaveLength(3);
  });
});

test("a key __proto__ never alters an object", () => {
  const input = JSON.parse('{"__proto__": {"polluted": true, "x": "evil"}}');
  const found = check({ x: { type: "string", default: "mine" }, polluted: { type: "boolean" } }, input);
  expect(hasErrors(found.diagnostics)).toBe(false);
  expect((found.input as { x: unknown }).x).toBe("mine");
  expect((found.input as { polluted?: unknown }).polluted).toBeUndefined();
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

test("an input without declared fields passes through unchanged", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (input) => {
      expect(check(undefined, input).input).toEqual(input);
    }),
  );
});
