import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasErrors } from "../../../src/core/base/diagnostic.ts";
import { schemaProblems } from "../../../src/core/base/schema/schema.ts";
import type { Json, JsonObject } from "../../../src/core/base/values.ts";
import { checkInput } from "../../../src/core/document/check/workflow.ts";
import { bringsText, describeInputs } from "../../../src/core/document/inputs.ts";
import type { Workflow } from "../../../src/core/document/workflow/workflow.ts";
import { numberNames } from "../../../src/core/skill/tool-names.ts";
import { runsOf } from "../../harness/long.ts";

const workflowOf = (inputs: Workflow["inputs"]): Workflow => ({
  id: "w",
  name: "W",
  entry: "a",
  nodes: {},
  edges: [],
  ...(inputs ? { inputs } : {}),
});

describe("the schema of a workflow's inputs", () => {
  it.each<[string, Workflow["inputs"], object]>([
    ["no inputs", undefined, { type: "object", properties: {}, additionalProperties: true }],
    [
      "a required text",
      { a: { type: "string", required: true, description: "the a" } },
      { properties: { a: { type: "string", description: "the a" } }, required: ["a"] },
    ],
    [
      "a number that has a default",
      { a: { type: "number", default: 2, enum: [1, 2] } },
      { properties: { a: { type: "number", default: 2, enum: [1, 2] } } },
    ],
    [
      "a list of which some are allowed",
      { a: { type: "string[]", enum: [["x"], ["x", "y"]] } },
      { properties: { a: { type: "array", items: { type: "string" }, enum: [["x"], ["x", "y"]] } } },
    ],
  ])("describes %s", (_, inputs, expected) => {
    expect(describeInputs(workflowOf(inputs))).toMatchObject(expected);
  });

  const word = fc.constantFrom("x", "y", "z");
  const field = fc.oneof(
    fc.record(
      { type: fc.constant("string" as const), enum: fc.array(word, { minLength: 1 }) },
      { requiredKeys: ["type"] },
    ),
    fc.record({ type: fc.constant("number" as const), required: fc.boolean() }, { requiredKeys: ["type"] }),
    fc.record({ type: fc.constant("boolean" as const), required: fc.boolean() }, { requiredKeys: ["type"] }),
    fc.record(
      {
        type: fc.constant("string[]" as const),
        enum: fc.array(fc.array(word, { maxLength: 2 }), { minLength: 1, maxLength: 3 }),
      },
      { requiredKeys: ["type"] },
    ),
  );
  const value = fc.oneof(word, fc.integer(), fc.boolean(), fc.array(fc.oneof(word, fc.integer()), { maxLength: 3 }));

  it("accepts the same values as the check of inputs, except null", () => {
    const key = fc.constantFrom("a", "b");
    fc.assert(
      fc.property(fc.dictionary(key, field), fc.dictionary(key, value), (inputs, input) => {
        const workflow = workflowOf(inputs as Workflow["inputs"]);
        const isChecked = !hasErrors(checkInput(workflow, input).diagnostics);
        const fits = schemaProblems(describeInputs(workflow), input as Json).length === 0;
        expect(fits).toBe(isChecked);
      }),
      { numRuns: runsOf(500) },
    );
  });
});

describe("an earlier run at input.run", () => {
  it.each<[string, Workflow["inputs"], JsonObject, boolean]>([
    ["none, and only numbers", { a: { type: "number" } }, { a: 1 }, false],
    ["one that is not declared", { a: { type: "number" } }, { a: 1, run: { id: "r" } }, true],
    ["one that is declared", { run: { type: "boolean" } }, { run: { id: "r" } }, true],
    ["a declaration alone", { run: { type: "boolean" } }, {}, true],
  ])("is untrusted text: %s", (_, inputs, input, expected) => {
    expect(bringsText(inputs, input)).toBe(expected);
    expect(checkInput(workflowOf(inputs), input).diagnostics).toEqual([]);
  });
});

it.each([
  [
    ["a", "b"],
    ["a", "b"],
  ],
  [
    ["a", "a", "a"],
    ["a", "a_2", "a_3"],
  ],
  [
    ["a", "a_2", "a"],
    ["a", "a_2", "a_3"],
  ],
  [
    ["x".repeat(64), "x".repeat(64)],
    ["x".repeat(64), `${"x".repeat(62)}_2`],
  ],
])("the names %j get distinct numbers", (names, expected) => {
  expect(numberNames(names)).toEqual(expected);
});
