import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { plainlyFits } from "../../../../src/core/base/schema/plain-fit.ts";
import { compileSchema } from "../../../../src/core/base/schema/schema.ts";
import type { JsonSchema } from "../../../../src/core/base/values.ts";
import { runsOf } from "../../../harness/long.ts";

describe("plainFit", () => {
  test.each<[schema: unknown, value: unknown]>([
    [{}, 1],
    [{ type: "string", description: "A word", minLength: 1, maxLength: 4 }, "abcd"],
    [{ type: ["integer", "null"], minimum: 1, maximum: 3 }, null],
    [{ enum: ["a", { b: [1] }] }, { b: [1] }],
    [{ type: "array", items: { type: "string" }, minItems: 1 }, ["a"]],
    [
      { type: "object", properties: { a: { type: "boolean" } }, required: ["a"], additionalProperties: false },
      { a: true },
    ],
  ])("accepts with the schema %j the value %j", (schema, value) => {
    expect(plainlyFits(schema, value)).toBe(true);
  });

  test.each<[schema: unknown, value: unknown]>([
    [undefined, 1],
    [{ type: "string" }, 1],
    [{ type: "integer" }, Number.NaN],
    [{ type: "toString" }, 1],
    [{ toString: 1 }, 1],
    [{ type: "string", pattern: "a" }, "a"],
    [{ $ref: "#/$defs/a" }, 1],
    [{ type: "string", maxLength: 2 }, "abc"],
    [{ type: "object", additionalProperties: { type: "string" } }, {}],
    [{ type: "object", properties: {}, additionalProperties: false }, { toString: 1 }],
  ])("leaves with the schema %j the value %j to the compiled schema", (schema, value) => {
    expect(plainlyFits(schema, value)).toBe(false);
  });

  test("accepts no value that the compiled schema refuses", () => {
    const leaf = fc.constantFrom<unknown>(null, true, 0, 1.5, 3, "", "ab", "😀", "abc");
    const value = fc.oneof(
      leaf,
      fc.array(leaf, { maxLength: 2 }),
      fc.dictionary(fc.constantFrom("a", "b", "toString"), leaf),
    );
    const type = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object");
    const size = fc.integer({ min: 0, max: 3 });
    const { schema } = fc.letrec<{ schema: object }>((tie) => ({
      schema: fc
        .tuple(
          fc.record(
            {
              type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
              enum: fc.uniqueArray(leaf, { minLength: 1, maxLength: 3 }),
              const: value,
              minimum: size,
              maximum: size,
              minLength: size,
              maxLength: size,
              minItems: size,
              maxItems: size,
              items: tie("schema"),
              properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 }),
              required: fc.uniqueArray(fc.constantFrom("a", "b", "toString"), { maxLength: 2 }),
              additionalProperties: fc.boolean(),
              pattern: fc.constantFrom("b"),
            },
            { requiredKeys: [] },
          ),
          fc.uniqueArray(fc.nat({ max: 13 }), { minLength: 1, maxLength: 4 }),
        )
        .map(([full, kept]) => Object.fromEntries(Object.entries(full).filter((_, index) => kept.includes(index)))),
    }));
    let fits = 0;
    fc.assert(
      fc.property(schema, value, (given, one) => {
        if (!plainlyFits(given, one)) return;
        fits++;
        expect(compileSchema(given as JsonSchema)(one)).toEqual([]);
      }),
      { numRuns: runsOf(2_000) },
    );
    expect(fits).toBeGreaterThan(runsOf(20));
  });
});
