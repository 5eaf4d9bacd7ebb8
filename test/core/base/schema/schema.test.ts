import { describe, expect, test } from "vitest";
import { compileSchema } from "../../../../src/core/base/schema/schema.ts";
import type { JsonSchema } from "../../../../src/core/base/values.ts";
import { checkOutputSchemas } from "../../../../src/core/document/check/output-schemas.ts";
import { workflowOf } from "../../../harness/harness.ts";

const problems = (schema: JsonSchema, value: unknown) => compileSchema(schema)(value);

describe("a JSON Schema", () => {
  test("is 2020-12 by default", () => {
    expect(problems({ prefixItems: [{ type: "string" }] }, [7])).toEqual(["0 must be string"]);
    expect(problems({ type: "object", dependentRequired: { a: ["b"] } }, { a: 1 })).toHaveLength(1);
  });

  test.each([
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft-07/schema#",
  ])("of draft-07 is interpreted as such: %s", ($schema) => {
    const schema = { $schema, type: "array", items: [{ type: "string" }], additionalItems: false };
    expect(problems(schema, ["a", 1])).toHaveLength(1);
    expect(problems(schema, ["a"])).toEqual([]);
  });

  test("formats are checked", () => {
    expect(problems({ type: "string", format: "date-time" }, "yesterday")).toHaveLength(1);
  });

  test("of more than 200,000 characters is refused before it is compiled", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, id) => [`property_${id}`, { type: "string" }]),
    );
    expect(() => compileSchema({ type: "object", properties })).toThrow(/characters of JSON; the maximum is 200000/);
  });

  test("unknown keywords are ignored", () => {
    expect(problems({ type: "string", "x-color": "red" }, "a")).toEqual([]);
  });

  test("all problems are reported, each once", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" }, b: { enum: [1, 2] }, c: { const: 3 } },
      required: ["d"],
    };
    expect(problems(schema, { a: 1, b: 5, c: 4 })).toEqual([
      "the value must have required property 'd'",
      "a must be string",
      "b must be one of [1,2]",
      "c must be 3",
    ]);
  });

  test("too many problems are truncated", () => {
    const found = problems({ items: { type: "string" } }, Array(100).fill(1));
    expect(found).toHaveLength(21);
    expect(found.at(-1)).toBe("and 80 more");
  });

  test("values are not coerced and defaults are not filled in", () => {
    const value = { a: "1" };
    expect(problems({ properties: { a: { type: "number" }, b: { default: 1 } } }, value)).toEqual(["a must be number"]);
    expect(value).toEqual({ a: "1" });
  });

  test.each<[string, JsonSchema]>([
    ["an unknown type", { type: "nonsense" }],
    ["a reference to nothing", { $ref: "#/$defs/nope" }],
    ["a reference to the network", { $ref: "https://example.test/schema.json" }],
    ["a bad pattern", { pattern: "(" }],
  ])("with %s is refused with a reason, every time", (_, schema) => {
    expect(() => compileSchema(schema)).toThrow();
    expect(() => compileSchema(schema)).toThrow();
  });

  test("two schemas may have the same $id", () => {
    expect(problems({ $id: "https://x.test/a", type: "string" }, 1)).toHaveLength(1);
    expect(problems({ $id: "https://x.test/a", type: "number" }, 1)).toEqual([]);
  });

  test("the $id of a meta-schema cannot be used again", () => {
    const $id = "https://json-schema.org/draft/2020-12/schema";
    expect(() => compileSchema({ $id, type: "string" })).toThrow("is already used");
    expect(problems({ $schema: $id, type: "boolean" }, 1)).toEqual(["the value must be boolean"]);
  });

  test("a schema may refer to itself by its $id", () => {
    const tree: JsonSchema = {
      $id: "https://x.test/tree",
      properties: { next: { $ref: "https://x.test/tree" }, n: { type: "null" } },
    };
    expect(problems(tree, { next: { next: { n: 1 } } })).toEqual(["next.next.n must be null"]);
  });

  test("one schema does not see another", () => {
    expect(problems({ $id: "https://x.test/other", $defs: { t: { type: "string" } } }, 1)).toEqual([]);
    expect(() => compileSchema({ $ref: "https://x.test/other#/$defs/t" })).toThrow();
  });

  test("a schema may refer to itself", () => {
    const tree: JsonSchema = { type: "object", properties: { next: { $ref: "#" }, n: { type: "number" } } };
    expect(problems(tree, { n: 1, next: { n: "x" } })).toEqual(["next.n must be number"]);
  });
});

test("an `output` that is not a JSON Schema is reported before any model is called", () => {
  const workflow = workflowOf({ a: { output: { type: "nope" } }, b: { output: { type: "object" } } }, ["a -> b"]);
  expect(checkOutputSchemas(workflow, "f.yml")).toMatchObject([
    { severity: "error", code: "INVALID_OUTPUT_SCHEMA", path: ["nodes", "a", "output"], file: "f.yml" },
  ]);
});
