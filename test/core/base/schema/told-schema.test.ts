import { expect, test } from "vitest";
import { schemaAsTold } from "../../../../src/core/base/schema/told-schema.ts";

test("a tool's schema for the model omits bounds that are checked anyway, whatever its fields are called", () => {
  const text = { type: "string", minLength: 1, maxLength: 9, pattern: "^x", description: "as in {pattern}" };
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      pattern: text,
      maxLength: { type: "array", items: text, minItems: 1, default: [{ pattern: "kept" }] },
      map: { type: "object", additionalProperties: text, maxProperties: 3 },
      one: { anyOf: [text, { type: "integer", minimum: 1, maximum: 100 }] },
      id: { type: "integer", minimum: 2, maximum: 9007199254740991 },
      choice: { enum: ["minLength", { pattern: "kept" }] },
    },
    required: ["pattern"],
    additionalProperties: false,
  };
  const told = { type: "string", description: "as in {pattern}" };
  expect(schemaAsTold(schema)).toEqual({
    type: "object",
    properties: {
      pattern: told,
      maxLength: { type: "array", items: told, default: [{ pattern: "kept" }] },
      map: { type: "object", additionalProperties: told },
      one: { anyOf: [told, { type: "integer", maximum: 100 }] },
      id: { type: "integer", minimum: 2 },
      choice: { enum: ["minLength", { pattern: "kept" }] },
    },
    required: ["pattern"],
  });
});

test("a tool's schema for the model omits the parameters that config sets", () => {
  const repository = { type: "string", description: "owner/name" };
  const schema = { type: "object", properties: { repository, number: { type: "integer" } }, required: ["number"] };
  expect(schemaAsTold(schema, ["repository"])).toEqual({
    type: "object",
    properties: { number: { type: "integer" } },
    required: ["number"],
  });
  expect(schemaAsTold(schema)).toEqual(schema);
});
