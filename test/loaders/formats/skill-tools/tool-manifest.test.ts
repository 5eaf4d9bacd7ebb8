import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileSchema } from "../../../../src/core/base/schema/schema.ts";
import { translateParameters } from "../../../../src/core/skill/formats/parameter-map.ts";
import { openManifest } from "../../../../src/loaders/folder/manifest.ts";
import { type CheckScript, readTools } from "../../../../src/loaders/formats/skill-tools/tool-manifest.ts";
import { runsOf } from "../../../harness/long.ts";

const anyScript: CheckScript = () => undefined;
const parseManifest = (text: string, checkScript: CheckScript) => {
  const { strict: _, ...read } = readTools(
    openManifest({ directory: "/", read: () => text }, "tools.json", "json"),
    checkScript,
  );
  return read;
};
const parse = (manifest: unknown, checkScript = anyScript) => parseManifest(JSON.stringify(manifest), checkScript);
const codes = ({ diagnostics }: { readonly diagnostics: readonly { readonly code: string }[] }) =>
  diagnostics.map(({ code }) => code);
const tool = (parts: object = {}) => ({ name: "go", description: "Goes", script: "scripts/go.js", ...parts });
const text = { type: "string", description: "Text" };

describe("a manifest", () => {
  test("lists the tools in their order", () => {
    const { tools, diagnostics } = parse([
      tool(),
      { name: "stay", description: "Stays", parameters: { why: text, how: { ...text, optional: true } } },
    ]);
    expect(diagnostics).toEqual([]);
    expect(tools).toEqual([
      {
        name: "go",
        description: "Goes",
        script: "scripts/go.js",
        input_schema: { type: "object", properties: {} },
        reach: {},
      },
      {
        name: "stay",
        description: "Stays",
        script: undefined,
        input_schema: { type: "object", properties: { why: text, how: text }, required: ["why"] },
        reach: {},
      },
    ]);
  });

  test("declares the origin and the audience of a tool, and an unknown value causes a warning", () => {
    const said = parse([tool({ origin: "team", audience: "public", reads: "open" })]);
    expect(said).toMatchObject({
      tools: [{ reach: { origin: "team", audience: "public", reads: "open" } }],
      diagnostics: [],
    });
    expect(parse([tool({ origin: "us", reads: null })])).toMatchObject({
      tools: [{ reach: {} }],
      diagnostics: [{ severity: "warning", path: [0, "origin"], line: expect.any(Number) }],
    });
  });

  test("may be empty, and may have unknown keys", () => {
    expect(parse([])).toEqual({ tools: [], diagnostics: [] });
    const odd = parse([tool({ version: 2, tags: ["a"] })]);
    expect([odd.tools.length, odd.diagnostics]).toEqual([1, []]);
  });

  test.each([
    ['[\n  { "name": "go" }\n  { "name": "stay" }\n]', "it is not JSON: , or ] is expected before", 3, 3],
    ["", "it is not JSON: a value is expected where the text ends", 1, 1],
    ["[\n1, ]", "it is not JSON: a value is expected before ]", 2, 4],
    ["[".repeat(100_000), "it is not JSON: nested more than 100 levels deep", 1, 101],
    ["{}", "it must be an array of tools", 1, 1],
    ["null", "it must be an array of tools", 1, 1],
    ['\n "tools"', "it must be an array of tools", 2, 2],
  ])("that contains %j has no tools, and the place is reported", (manifest, message, line, column) => {
    const { tools, diagnostics } = parseManifest(manifest, anyScript);
    expect(tools).toEqual([]);
    expect(diagnostics).toMatchObject([{ severity: "error", code: "TOOLS_INVALID", line, column }]);
    expect(diagnostics[0]?.message).toContain(message);
  });

  test("loses a tool whose parameters are a JSON Schema, and keeps the others", () => {
    const parameters = { type: "object", properties: { q: text }, required: ["q"] };
    const manifest = `[\n ${JSON.stringify(tool())},\n ${JSON.stringify(tool({ name: "find", parameters }))}]`;
    const { tools, diagnostics } = parseManifest(manifest, anyScript);
    expect(tools.map(({ name }) => name)).toEqual([tool().name]);
    expect(diagnostics).toMatchObject([
      {
        severity: "error",
        code: "TOOL_SKIPPED",
        path: [1, "parameters"],
        line: 3,
        message: expect.stringContaining("are a JSON Schema"),
      },
    ]);
  });

  test("may have parameters called type, properties and required", () => {
    const { tools, diagnostics } = parse([tool({ parameters: { type: text, properties: text, required: text } })]);
    expect(diagnostics).toEqual([]);
    expect(tools[0]?.input_schema.required).toEqual(["type", "properties", "required"]);
  });

  test.each<[string, unknown, (string | number)[], string]>([
    ["is not an object", "go", [], "must be an object"],
    ["has no name", { description: "d" }, ["name"], "must have a name"],
    ["has a name that is not a string", tool({ name: 7 }), ["name"], "must have a name"],
    ["has no description", { name: "go" }, ["description"], "must have a description"],
    ["has an empty description", tool({ description: " " }), ["description"], "must have a description"],
    [
      "has a description that is not a string",
      tool({ description: ["d"] }),
      ["description"],
      "must have a description",
    ],
    ["has a script that is not a string", tool({ script: true }), ["script"], "must be a path"],
    ["has an empty script", tool({ script: "" }), ["script"], "must be a path"],
    ["has a list of parameters", tool({ parameters: [text] }), ["parameters"], "must be a map"],
    ["has null for parameters", tool({ parameters: null }), ["parameters"], "must be a map"],
    ["has a parameter that is not an object", tool({ parameters: { a: "string" } }), ["parameters", "a"], "an object"],
    ["has a parameter without a type", tool({ parameters: { a: {} } }), ["parameters", "a", "type"], "have a type"],
    [
      "has a list of types",
      tool({ parameters: { a: { type: ["string"] } } }),
      ["parameters", "a", "type"],
      "have a type",
    ],
    ["has a parameter without a name", tool({ parameters: { "": text } }), ["parameters", ""], "not a parameter name"],
    [
      "has a parameter's name with a space",
      tool({ parameters: { "a b": text } }),
      ["parameters", "a b"],
      "not a parameter",
    ],
    ...["Go", "9go", "_go", "go-on", "go.on", "gö", "go ", "run__it\n"].map(
      (name): [string, unknown, string[], string] => [
        `is named ${name}`,
        tool({ name }),
        ["name"],
        "is not a tool name",
      ],
    ),
  ])("loses a tool that %s, and keeps the others", (_, bad, path, message) => {
    const { tools, diagnostics } = parse([bad, tool({ name: "other" })]);
    expect(tools.map(({ name }) => name)).toEqual(["other"]);
    expect(diagnostics[0]).toMatchObject({ severity: "error", code: "TOOL_SKIPPED", path: [0, ...path], line: 1 });
    expect(diagnostics[0]?.message).toContain(message);
  });

  test.each(["read_skill", "read_blob", "search_blob", "define_tool", "remove_tool", "run_code"])(
    "loses a tool with skillflow's own name %s, and keeps the others",
    (name) => {
      const { tools, diagnostics } = parse([tool({ name }), tool({ name: "other" })]);
      expect(tools.map((each) => each.name)).toEqual(["other"]);
      expect(diagnostics).toMatchObject([{ severity: "error", code: "TOOL_RESERVED", path: [0, "name"], line: 1 }]);
    },
  );

  test("keeps the first of two tools with one name", () => {
    const { tools, diagnostics } = parse([tool(), tool({ description: "again" })]);
    expect(tools).toMatchObject([{ description: "Goes" }]);
    expect(diagnostics).toMatchObject([{ code: "TOOL_SKIPPED", path: [1, "name"] }]);
  });

  test("reports everything that is wrong with a tool", () => {
    const bad = parse([{ name: "Go", script: 7, parameters: { a: { description: "a" }, b: 7 } }]);
    expect(bad.diagnostics.map(({ path }) => path.join("."))).toEqual([
      "0.name",
      "0.description",
      "0.script",
      "0.parameters.a.type",
      "0.parameters.b",
    ]);
  });

  test("loses a tool whose script is refused, and keeps one whose script is missing", () => {
    const check: CheckScript = (script) =>
      script === "here.js" ? undefined : { refused: script === "../out.js", message: "is not there" };
    const { tools, diagnostics } = parse(
      ["here.js", "../out.js", "gone.js"].map((script, index) => tool({ name: `t${index}`, script })),
      check,
    );
    expect(tools.map(({ script }) => script)).toEqual(["here.js", "gone.js"]);
    expect(diagnostics).toMatchObject([
      { severity: "error", code: "TOOL_SKIPPED", path: [1, "script"] },
      { severity: "warning", code: "TOOL_DOUBTFUL", path: [2, "script"] },
    ]);
  });

  test("of any JSON never throws, and its tools are valid", () => {
    const parameter = fc.record(
      {
        type: fc.oneof(fc.constantFrom("string", "number", "array", "object", "integer", "str"), fc.jsonValue()),
        description: fc.oneof(fc.string(), fc.jsonValue()),
        enum: fc.jsonValue(),
        optional: fc.jsonValue(),
        required: fc.jsonValue(),
        items: fc.jsonValue(),
        pattern: fc.jsonValue(),
        $ref: fc.jsonValue(),
        $id: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const entry = fc.record(
      {
        name: fc.oneof(fc.constantFrom("a", "b", "__proto__", "constructor"), fc.jsonValue()),
        description: fc.oneof(fc.constant("d"), fc.jsonValue()),
        script: fc.oneof(fc.constant("x.js"), fc.jsonValue()),
        parameters: fc.oneof(
          fc.dictionary(fc.oneof(fc.constantFrom("p", "__proto__", "toString"), fc.string()), parameter),
          fc.jsonValue(),
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.array(entry), fc.jsonValue()), (manifest) => {
        const { tools, diagnostics } = parse(manifest);
        for (const { name, input_schema } of tools) {
          expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
          expect(() => compileSchema(input_schema)).not.toThrow();
        }
        for (const { path, line } of diagnostics) expect([path.length >= 0, line]).toEqual([true, 1]);
      }),
      { numRuns: runsOf(200) },
    );
    fc.assert(
      fc.property(fc.string(), (any) => {
        expect(() => parseManifest(any, anyScript)).not.toThrow();
      }),
    );
  });
});

describe("parameters", () => {
  test.each<[string, object, object]>([
    ["nothing", {}, { type: "object", properties: {} }],
    [
      "every type",
      {
        s: { type: "string", description: "s" },
        n: { type: "number", description: "n" },
        b: { type: "boolean", description: "b" },
        o: { type: "object", description: "o" },
        a: { type: "array", description: "a" },
      },
      {
        type: "object",
        properties: {
          s: { type: "string", description: "s" },
          n: { type: "number", description: "n" },
          b: { type: "boolean", description: "b" },
          o: { type: "object", description: "o" },
          a: { type: "array", description: "a", items: {} },
        },
        required: ["s", "n", "b", "o", "a"],
      },
    ],
    [
      "an enum and optional ones",
      {
        unit: { ...text, enum: ["c", "f"] },
        may: { ...text, optional: true },
        must: { ...text, optional: false },
      },
      {
        type: "object",
        properties: { unit: { ...text, enum: ["c", "f"] }, may: text, must: text },
        required: ["unit", "must"],
      },
    ],
    ["all of them optional", { a: { ...text, optional: true } }, { type: "object", properties: { a: text } }],
    [
      "more of JSON Schema",
      { tags: { type: "array", description: "t", items: { type: "string" }, maxItems: 3, default: [] } },
      {
        type: "object",
        properties: { tags: { type: "array", description: "t", items: { type: "string" }, maxItems: 3, default: [] } },
        required: ["tags"],
      },
    ],
  ])("of %s become a schema", (_, parameters, schema) => {
    expect(translateParameters(parameters)).toEqual({ schema, diagnostics: [] });
  });

  test("accept further parameters", () => {
    const { schema } = translateParameters({ a: text });
    expect(compileSchema(schema ?? {})({ a: "x", __workDir: "/w" })).toEqual([]);
    expect(compileSchema(schema ?? {})({})).toEqual(["the value must have required property 'a'"]);
  });

  test.each<[string, object, object]>([
    ["an unknown type", { type: "str", description: "d" }, { description: "d" }],
    ["a type of JSON Schema", { type: "integer", description: "d" }, { type: "integer", description: "d" }],
    ["no description", { type: "string" }, { type: "string" }],
    ["an enum that is not a list", { ...text, enum: "a" }, text],
    ["an empty enum", { ...text, enum: [] }, text],
    ["an optional that is not a boolean", { ...text, optional: "true" }, text],
    ["what is no JSON Schema", { ...text, required: true, maxLength: 3 }, { ...text, maxLength: 3 }],
    ["a reference", { ...text, $ref: "https://example.com/schema" }, text],
    ["what JSON Schema knows no more", { ...text, id: "a", maxLength: 3 }, { ...text, maxLength: 3 }],
    ["a regular expression that is none", { ...text, pattern: "(" }, text],
  ])("with %s remain, with a warning", (_, parameter, property) => {
    const { schema, diagnostics } = translateParameters({ a: parameter });
    expect(schema).toEqual({ type: "object", properties: { a: property }, required: ["a"] });
    expect(diagnostics).toMatchObject([{ severity: "warning", code: "TOOL_DOUBTFUL" }]);
  });

  test("do not ask the model for the working directory", () => {
    const { schema, diagnostics } = translateParameters({ __workDir: text, a: text });
    expect(schema).toEqual({ type: "object", properties: { a: text }, required: ["a"] });
    expect(codes({ diagnostics })).toEqual(["TOOL_DOUBTFUL"]);
  });
});
