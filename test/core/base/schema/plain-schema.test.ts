import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPlainSchema } from "../../../../src/core/base/schema/plain-schema.ts";
import { compileSchema } from "../../../../src/core/base/schema/schema.ts";
import { runsOf } from "../../../harness/long.ts";

describe("isPlainSchema", () => {
  test.each<[schema: unknown]>([
    [{}],
    [{ type: "object", properties: { a: { type: ["string", "null"] }, b: true }, required: [] }],
    [{ type: "string", pattern: "^\\d+$", minLength: 1, format: "date" }],
    [{ $defs: { a: { enum: ["a", 1, null] } }, items: { anyOf: [{ $ref: "#/$defs/a" }] } }],
  ])("accepts %j", (schema) => {
    expect(isPlainSchema(schema)).toBe(true);
  });

  test.each<[schema: unknown]>([
    [undefined],
    [null],
    [[]],
    [{ toString: 1 }],
    [{ type: "text" }],
    [{ type: [] }],
    [{ type: ["string", "string"] }],
    [{ enum: [] }],
    [{ enum: [{}, {}] }],
    [{ pattern: "(" }],
    [{ pattern: "a\\Z" }],
    [{ minLength: -1 }],
    [{ maximum: "1" }],
    [{ items: [{ type: "string" }] }],
    [{ properties: { a: 1 } }],
    [{ properties: { a: { type: "text" } } }],
    [{ required: [1] }],
    [{ anyOf: [] }],
    [{ $ref: "#/$defs/a b" }],
    [{ "x-color": "red" }],
  ])("leaves %j to the metaschema", (schema) => {
    expect(isPlainSchema(schema)).toBe(false);
  });

  test("an invalid schema is refused after a plain one was compiled", () => {
    compileSchema({ type: "string", title: "plain" });
    expect(() => compileSchema({ type: "string", title: 1 })).toThrow("schema is invalid: data/title must be string");
  });

  test("accepts no schema that a metaschema refuses", () => {
    const dialects = [new Ajv({ strict: false }), new Ajv2020({ strict: false })];
    for (const ajv of dialects) formats.default(ajv);
    const leaf = fc.constantFrom<unknown>(null, true, -1, 0, 1.5, 3, "", "string", "object", "a\\Z", "[", "#/$defs/a");
    const { schema } = fc.letrec<{ schema: unknown }>((tie) => {
      const some = fc.oneof({ depthSize: "small", withCrossShrink: true }, leaf, tie("schema"));
      const rule = fc.oneof(some, fc.array(some, { maxLength: 2 }), fc.dictionary(fc.constantFrom("a", "b"), some));
      const keywords = ["$defs", "$ref", "title", "format", "default", "const", "type", "enum", "pattern"];
      const limits = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "required", "anyOf"];
      const inner = ["items", "propertyNames", "additionalProperties", "properties"];
      return { schema: fc.dictionary(fc.constantFrom(...keywords, ...limits, ...inner), rule, { maxKeys: 3 }) };
    });
    let plain = 0;
    fc.assert(
      fc.property(schema, (given) => {
        if (!isPlainSchema(given)) return;
        plain++;
        expect(dialects.map((ajv) => ajv.validateSchema(given as object))).toEqual([true, true]);
      }),
      { numRuns: runsOf(4_000) },
    );
    expect(plain).toBeGreaterThan(runsOf(40));
  });
});
