import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileSchema } from "../../../../src/core/base/schema/schema.ts";
import { isObject, type Json, type JsonSchema } from "../../../../src/core/base/values.ts";
import { parameterSchema } from "../../../../src/core/skill/formats/parameter-map.ts";

describe("a parameter map", () => {
  test("becomes an object schema: everything that is not optional is required", () => {
    const map = {
      city: { type: "string", description: "The city" },
      unit: { type: "string", description: "The unit", enum: ["C", "F"], optional: true },
      days: { type: "array", description: "The days" },
      sure: { type: "boolean", description: "Sure?", optional: false },
    };
    expect(parameterSchema(map)).toEqual({
      type: "object",
      properties: {
        city: { type: "string", description: "The city" },
        unit: { type: "string", description: "The unit", enum: ["C", "F"] },
        days: { type: "array", description: "The days", items: {} },
        sure: { type: "boolean", description: "Sure?" },
      },
      required: ["city", "days", "sure"],
    });
  });

  test("may be empty, and may name parameters like keywords of JSON Schema", () => {
    expect(parameterSchema({})).toEqual({ type: "object", properties: {} });
    expect(parameterSchema({ type: { type: "string" }, required: { type: "boolean" } })).toMatchObject({
      required: ["type", "required"],
    });
  });

  test.each<[string, Json, string]>([
    ["a list", [], "must be a map of parameters"],
    ["a JSON Schema", { type: "object", properties: {} }, "are a JSON Schema"],
    ["a parameter that is not an object", { a: "string" }, 'the parameter "a" must be an object with a type'],
    ["a type of JSON Schema alone", { a: { type: "integer" } }, '"a" has the type "integer"'],
    ["a name that providers refuse", { "a b": { type: "string" } }, '"a b" is not a parameter name'],
    ["what every handler gets anyway", { __workDir: { type: "string" } }, "is set by the program"],
    ["an enum that is not a list", { a: { type: "string", enum: "x" } }, 'the enum of "a"'],
  ])("%s is refused", (_, map, message) => {
    expect(parameterSchema(map)).toContain(message);
  });

  test("becomes a valid schema or an error, whatever it contains", () => {
    const parameter = fc.record(
      {
        type: fc.constantFrom("string", "number", "boolean", "object", "array", "text"),
        description: fc.string(),
        enum: fc.array(fc.string(), { maxLength: 2 }),
        optional: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    const map = fc.oneof(fc.dictionary(fc.string(), parameter), fc.jsonValue() as fc.Arbitrary<Json>);
    fc.assert(
      fc.property(map, (value) => {
        const schema = parameterSchema(value as Json);
        if (!isObject(schema)) expect(schema).not.toBe("");
        else if (isObject(value) && Object.values(value).every((one) => isObject(one) && !("enum" in one)))
          expect(typeof compileSchema(schema as JsonSchema)).toBe("function");
      }),
    );
  });
});
