import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileSchema, fillValue } from "../../../../src/core/base/schema/schema.ts";
import type { Json, JsonSchema } from "../../../../src/core/base/values.ts";
import { describeMisfit, readHints, relaxDefaults } from "../../../../src/core/skill/formats/contract.ts";
import { runsOf } from "../../../harness/long.ts";

const SEARCH: JsonSchema = {
  type: "object",
  properties: {
    query: { type: "string" },
    recursive: { type: "boolean", default: true },
    limit: { type: "integer", minimum: 1, maximum: 100, default: 10 },
  },
  required: ["query"],
};
const NESTED: JsonSchema = {
  type: "object",
  properties: {
    page: { type: "object", properties: { size: { default: 20 }, from: { default: 0 } }, required: ["size"] },
    sort: { type: "object", default: {}, properties: { by: { default: "name" } } },
    items: { type: "array", items: { type: "object", properties: { on: { default: false } } } },
  },
};

describe("defaults", () => {
  it.each<[string, JsonSchema, Json, Json]>([
    ["are given to absent properties", SEARCH, { query: "a" }, { query: "a", recursive: true, limit: 10 }],
    [
      "leave what is there",
      SEARCH,
      { query: "a", limit: 5, recursive: false },
      { query: "a", limit: 5, recursive: false },
    ],
    ["leave what does not fit", SEARCH, { limit: "x" }, { limit: "x", recursive: true }],
    ["leave null", SEARCH, { limit: null }, { limit: null, recursive: true }],
    ["reach into objects that are there", NESTED, { page: {} }, { page: { size: 20, from: 0 }, sort: { by: "name" } }],
    ["reach into a default", NESTED, {}, { sort: { by: "name" } }],
    [
      "reach into lists",
      NESTED,
      { items: [{}, { on: true }] },
      { items: [{ on: false }, { on: true }], sort: { by: "name" } },
    ],
    ["leave values that are not objects", SEARCH, ["a"], ["a"]],
    [
      "reach through references",
      { type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { properties: { b: { default: 1 } } } } },
      { a: {} },
      { a: { b: 1 } },
    ],
    ["of a schema without any change nothing", { type: "object" }, { a: 1 }, { a: 1 }],
  ])("%s", (_, schema, given, filled) => {
    expect(fillValue(schema, given).value).toEqual(filled);
  });

  it("never change the given value", () => {
    const given = { page: {} };
    fillValue(NESTED, given);
    expect(given).toEqual({ page: {} });
  });

  it("are the same when applied again", () => {
    fc.assert(
      fc.property(schemas, values, (schema, value) => {
        const once = fillValue(schema, value).value;
        expect(fillValue(schema, once).value).toEqual(once);
      }),
    );
  });
});

describe("a schema that is offered", () => {
  it.each<[string, JsonSchema, JsonSchema]>([
    ["without defaults is the whole one", { type: "object", required: ["a"] }, { type: "object", required: ["a"] }],
    [
      "no longer requires what has a default",
      { type: "object", properties: { a: { default: 1 }, b: {} }, required: ["a", "b"] },
      { type: "object", properties: { a: { default: 1 }, b: {} }, required: ["b"] },
    ],
    [
      "requires a namesake elsewhere that has none",
      { properties: { a: { default: 1 }, o: { properties: { a: {} }, required: ["a"] } }, required: ["a"] },
      { properties: { a: { default: 1 }, o: { properties: { a: {} }, required: ["a"] } }, required: [] },
    ],
    [
      "keeps a condition about other properties",
      { properties: { a: { default: 1 } }, anyOf: [{ required: ["x"] }, { required: ["y"] }] },
      { properties: { a: { default: 1 } }, anyOf: [{ required: ["x"] }, { required: ["y"] }] },
    ],
    [
      "leaves out a condition about what has a default",
      { properties: { a: { default: 1 } }, anyOf: [{ required: ["x"] }, { required: ["a"] }] },
      { properties: { a: { default: 1 } } },
    ],
    [
      "leaves out a count of properties",
      { properties: { a: { default: 1 } }, minProperties: 1 },
      { properties: { a: { default: 1 } } },
    ],
    [
      "keeps bounds and choices",
      { properties: { a: { default: 1, enum: [1, 2], maximum: 2 } } },
      { properties: { a: { default: 1, enum: [1, 2], maximum: 2 } } },
    ],
  ])("%s", (_, whole, offered) => {
    expect(relaxDefaults(whole)).toEqual(offered);
  });

  it("accepts every value that fits the full schema once defaults are applied", () => {
    let fitting = 0;
    fc.assert(
      fc.property(fc.oneof(schemas, joined), values, (schema, value) => {
        if (fillValue(schema, value).problems.length > 0) return;
        fitting++;
        expect(compileSchema(relaxDefaults(schema))(value)).toEqual([]);
      }),
      { numRuns: runsOf(300) },
    );
    expect(fitting).toBeGreaterThan(runsOf(30));
  });
});

describe("metadata", () => {
  it.each<[unknown, "read" | "write", boolean]>([
    [{ side_effects: false, idempotent: true, latency: "low" }, "read", true],
    [{ side_effects: true }, "write", false],
    [{}, "write", false],
    [undefined, "write", false],
    [{ side_effects: "false", idempotent: "true" }, "write", false],
    ["none", "write", false],
  ])("%j counts as %s", (metadata, effect, idempotent) => {
    expect(readHints(metadata)).toEqual({ effect, idempotent });
  });
});

describe("a validation error", () => {
  it.each<[Json, string]>([
    [{ query: "a", limit: 101 }, "limit"],
    [{ limit: 5 }, "query"],
    [{ query: 7 }, "query"],
    [["a"], ""],
  ])("of %j names the path %j", (value, path) => {
    const { problems } = fillValue(SEARCH, value);
    const [sentence = "", data = ""] = describeMisfit("invalid_input", problems).split("\n");
    expect(sentence).toContain("invalid input: ");
    expect(JSON.parse(data)).toEqual({ errors: [{ type: "invalid_input", message: expect.any(String), path }] });
  });

  it("names positions in lists", () => {
    const schema: JsonSchema = { properties: { items: { items: { properties: { on: { type: "boolean" } } } } } };
    expect(fillValue(schema, { items: [{}, { on: 1 }] }).problems).toEqual([
      { message: "items.1.on must be boolean", path: "items[1].on", value: 1 },
    ]);
  });
});

/** Few names, so that parts of a schema refer to the same properties. */
const names = fc.constantFrom("a", "b", "c");
const someNames = fc.uniqueArray(names, { maxLength: 2 });
const scalars = fc.constantFrom<Json>(0, 1, "x");
const requirements = fc.array(fc.record({ required: someNames }), { minLength: 1, maxLength: 2 });
const plainProperty = fc.record({ default: scalars }, { requiredKeys: [] });
const condition: fc.Arbitrary<object> = fc.oneof(
  fc.constant({}),
  fc.record({ required: someNames }),
  fc.record({ required: someNames, anyOf: requirements }),
  fc.record({ oneOf: requirements }),
  fc.record({ minProperties: fc.nat(2) }),
  fc.record({ not: fc.record({ required: fc.uniqueArray(names, { minLength: 1, maxLength: 2 }) }) }),
  fc.record({ dependentRequired: fc.dictionary(names, someNames, { maxKeys: 1 }) }),
);
const schemaOf = (property: fc.Arbitrary<object>) =>
  fc
    .tuple(fc.dictionary(names, property, { maxKeys: 3 }), condition)
    .map(([properties, more]) => ({ type: "object", properties, ...more }) as JsonSchema);
const flat = schemaOf(plainProperty);
const schemas = schemaOf(
  fc.oneof(
    plainProperty,
    flat,
    flat.map((inner) => ({ ...inner, default: {} })),
  ),
);
const joined = fc.tuple(schemas, schemas).map(([one, other]): JsonSchema => ({ ...one, allOf: [other] }));
const flatValues = fc.dictionary(names, scalars, { maxKeys: 3 });
const values = fc.dictionary(names, fc.oneof(scalars, flatValues), { maxKeys: 3 }) as fc.Arbitrary<Json>;
