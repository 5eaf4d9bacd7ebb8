import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileSchema } from "../../../../src/core/base/schema/schema.ts";
import {
  isPackageName,
  isPackageVersion,
  namespaceOf,
  readInputSchema,
  unimportableSegments,
} from "../../../../src/core/skill/formats/skill-package.ts";

describe("a package", () => {
  it.each<[unknown, boolean]>([
    ["salesforce.leads.sync", true],
    ["a", true],
    ["2fa.check", true],
    ["Salesforce.leads", false],
    ["a-b", false],
    ["a_b", false],
    ["a..b", false],
    [".a", false],
    ["a.", false],
    ["../a", false],
    ["", false],
    [7, false],
  ])("may be named %j: %j", (name, isName) => {
    expect(isPackageName(name)).toBe(isName);
  });

  it.each<[unknown, boolean]>([
    ["0.1.0", true],
    ["10.20.30", true],
    ["1.0", false],
    ["1.0.0-beta", false],
    ["v1.0.0", false],
    ["01.0.0", false],
    [1, false],
  ])("may have the version %j: %j", (version, isVersion) => {
    expect(isPackageVersion(version)).toBe(isVersion);
  });

  it.each<[string, string[]]>([
    ["a.b.c", []],
    ["mail.import.class", ["import", "class"]],
    ["2fa.check", ["2fa"]],
    ["none.true", []],
  ])("%s has the segments %j that Python cannot import", (name, segments) => {
    expect(unimportableSegments(name)).toEqual(segments);
  });

  it("belongs to the namespace that it names, otherwise to its first segment", () => {
    expect([namespaceOf("a.b", undefined), namespaceOf("a.b", "x.y"), namespaceOf("a", "")]).toEqual(["a", "x.y", "a"]);
  });
});

describe("the input of an action", () => {
  it.each<[string, unknown, unknown]>([
    ["that is absent is any object", undefined, { type: "object" }],
    [
      "as JSON Schema stays as it is",
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
    ],
    ["as JSON Schema may leave out its type", { properties: { a: {} } }, { type: "object", properties: { a: {} } }],
    [
      "may be a flat map",
      { query: { type: "string", description: "q", required: true }, limit: { type: "integer", optional: true } },
      {
        type: "object",
        properties: { query: { type: "string", description: "q" }, limit: { type: "integer" } },
        required: ["query"],
      },
    ],
    ["may be a flat map of types", { query: "string" }, { type: "object", properties: { query: { type: "string" } } }],
    ["as a list is neither", ["query"], undefined],
    ["as a map of numbers is neither", { query: 1 }, undefined],
  ])("%s", (_, input, schema) => {
    expect(readInputSchema(input)).toEqual(schema);
  });

  it("as a flat map of types is always a valid schema", () => {
    const types = fc.constantFrom("string", "integer", "number", "boolean", "object", "array");
    const field = fc.record({ type: types, required: fc.boolean() }, { requiredKeys: ["type"] });
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{2,8}$/), field), (input) => {
        const schema = readInputSchema(input);
        expect(schema && compileSchema(schema)([])).toEqual(["the value must be object"]);
      }),
    );
  });
});
