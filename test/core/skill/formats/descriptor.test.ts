import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject } from "../../../../src/core/base/values.ts";
import { parseDescriptor, refusedBy } from "../../../../src/core/skill/formats/descriptor.ts";
import type { DescriptorProfile } from "../../../../src/core/skill/formats/descriptor-shapes.ts";

const TOOL = {
  name: "find",
  description: "Finds",
  parameters: { type: "object", properties: { q: { type: "string" } } },
};
const RUN = { tool: "find", binary: "notes", subcommand: "search", args: [{ param: "q" }] };
const WHOLE = { tools: [TOOL], allowlist: { notes: ["search"] }, execution: [RUN] };

const parse = (more: object = {}, profile: DescriptorProfile = "current", group?: number) => {
  const { descriptor, findings } = parseDescriptor({ ...WHOLE, ...more }, profile, group);
  return {
    names: descriptor?.tools.map(({ name }) => name),
    codes: findings.map(({ code }) => code),
    said: findings.map(({ message }) => message),
    places: findings.map(({ part, path }) => [part, ...path]),
    descriptor,
  };
};

describe("a descriptor", () => {
  test.each(["current", "seed"] as const)("returns its tools with their schema unchanged (%s)", (profile) => {
    const { descriptor, said } = parse({}, profile);
    expect(said).toEqual([]);
    expect(descriptor?.tools).toMatchObject([{ name: "find", description: "Finds", input_schema: TOOL.parameters }]);
    expect(descriptor?.tools[0]?.executions).toMatchObject([{ args: [{ param: "q", kind: "positional" }] }]);
  });

  test("has no required part", () => {
    expect(parse({ tools: undefined, allowlist: undefined, execution: undefined })).toMatchObject({
      names: [],
      said: [],
    });
  });

  test.each<[string, object, string]>([
    ["an unknown key of a tool", { tools: [{ ...TOOL, extra: 1 }] }, "tools[0].extra is not a key of the format"],
    ["an unknown key of an execution", { execution: [{ ...RUN, timeout: 1 }] }, "execution[0].timeout is not a key"],
    [
      "an unknown key of an argument",
      { execution: [{ ...RUN, args: [{ param: "q", hint: 1 }] }] },
      "execution[0].args[0].hint is not a key of the format",
    ],
    [
      "an unknown key of a helper",
      { execution: [{ ...RUN, args: [{ param: "q", resolveCommand: { shell: "x" } }] }] },
      "execution[0].args[0].resolveCommand.shell is not a key of the format",
    ],
  ])("%s invalidates the descriptor in the seed, and is ignored today", (_, more, message) => {
    expect(parse(more, "seed")).toMatchObject({ names: undefined, said: [expect.stringContaining(message)] });
    const place = message.split(" ")[0] ?? "";
    expect(parse(more)).toMatchObject({
      names: ["find"],
      codes: ["MANIFEST_KEY_UNKNOWN"],
      said: [`${place} is not a key that this version knows; it is ignored`],
    });
  });

  test("ignores an unknown key, but not an error next to it", () => {
    const found = parse({ execution: [{ ...RUN, timeout: 1, args: [{ param: 7 }] }] });
    expect(found.names).toEqual([]);
    expect(found.codes).toEqual(["MANIFEST_KEY_UNKNOWN", "DESCRIPTOR_INVALID", "DESCRIPTOR_MISMATCH"]);
  });

  test.each<[string, object]>([
    ["hints", { hintConditions: [{ match: "x", exitCode: "nonzero", notEmpty: true, whenArg: { q: 1 }, hint: "h" }] }],
    ["a file next to the output", { sideRead: { pathParam: "q", filename: "AGENTS.md", oncePerSession: true } }],
    ["a value in a file", { args: [{ param: "q", kind: "tempfile", flag: "from" }] }],
    ["a separator after what is left out", { args: [{ param: "q", disambiguateAfterSkippedPositionals: true }] }],
    ["a filter whose empty output counts", { postProcess: { script: "x", emptyIsResult: true } }],
    ["a denial that is looked up in no case", { args: [{ param: "q", denyPattern: "x", denyAlwaysResolve: false }] }],
  ])("of version 0.5.0 may have %s", (_, change) => {
    expect(parse({ execution: [{ ...RUN, ...change }] })).toMatchObject({ names: ["find"], said: [] });
  });

  test.each([{ denyResolveCommand: { script: "x" } }, { denyAlwaysResolve: true }])(
    "ignores %j if no pattern compares with it",
    (denial) => {
      const found = parse({ execution: [{ ...RUN, args: [{ param: "q", ...denial }] }] });
      expect(found).toMatchObject({ names: ["find"], codes: ["MANIFEST_KEY_UNKNOWN"] });
    },
  );

  const other = { ...TOOL, name: "other" };
  const otherRun = { ...RUN, tool: "other" };
  test.each<[string, object, string]>([
    ["a kind in camel case", { args: [{ param: "q", kind: "flagIfBoolean" }] }, "execution[0].args[0].kind"],
    ["no program", { binary: undefined }, "execution[0].binary"],
    ["a program without a name", { binary: "" }, "execution[0].binary"],
    ["no subcommand", { subcommand: undefined }, "execution[0].subcommand"],
    ["arguments that are not a list", { args: {} }, "execution[0].args"],
    ["a flag without a name", { args: [{ param: "q", kind: "flag", flag: "--" }] }, "is not a flag name"],
    ["an argument without a parameter", { args: [{ kind: "flag" }] }, "execution[0].args[0].param"],
  ])("%s removes the tool today, the descriptor in the seed", (_, change, message) => {
    const more = { tools: [TOOL, other], execution: [{ ...RUN, ...change }, otherRun] };
    const current = parse(more);
    expect(current.names).toEqual(["other"]);
    expect(current.said.join("\n")).toContain(message);
    expect(current.said.join("\n")).toContain('tool "find" is left out: one of its execution entries is malformed');
    expect(parse(more, "seed").names).toBeUndefined();
  });

  test.each<[string, object, string]>([
    [
      "denyResolveCommand",
      { args: [{ param: "q", denyPattern: "x", denyResolveCommand: {} }] },
      "execution[0].args[0].denyResolveCommand is not supported",
    ],
    [
      "denyAlwaysResolve",
      { args: [{ param: "q", denyPattern: "x", denyAlwaysResolve: true }] },
      "execution[0].args[0].denyAlwaysResolve is not supported",
    ],
  ])("%s removes the tool, because it could be misunderstood", (_, change, message) => {
    const found = parse({ execution: [{ ...RUN, ...change }] });
    expect(found.names).toEqual([]);
    expect(found.codes).toContain("DESCRIPTOR_UNSUPPORTED");
    expect(found.said.join("\n")).toContain(message);
  });

  test.each<[string, object, string]>([
    ["a pattern that is none", { args: [{ param: "q", denyPattern: "(" }] }, "is not a regular expression"],
    ["split words of a flag", { args: [{ param: "q", kind: "flag", split: true }] }, "needs a positional"],
    ["another subcommand by a text", { args: [{ param: "q", subcommandOverride: "x" }] }, "needs a flagifboolean"],
    ["a literal without a value", { args: [{ kind: "literal" }] }, "args[0].value is required"],
    [
      "two standard inputs",
      {
        args: [
          { param: "q", kind: "stdin" },
          { param: "r", kind: "stdin" },
        ],
      },
      "two arguments for the standard input",
    ],
    ["a wrapper without a program", { binaryWrapper: [] }, "execution[0].binaryWrapper"],
    ["a hint without a text", { hintConditions: [{ match: "x" }] }, "execution[0].hintConditions[0].hint"],
    ["a file that is in another folder", { sideRead: { pathParam: "q", filename: "../x" } }, "without folders"],
  ])("%s removes the tool", (_, change, message) => {
    const found = parse({ execution: [{ ...RUN, ...change }] });
    expect(found.names).toEqual([]);
    expect(found.said.join("\n")).toContain(message);
  });

  test.each<[string, object, readonly (string | number)[], string]>([
    [
      "a tool without an execution entry",
      { execution: [] },
      ["tools", 0],
      'tool "find" fails when it is called: it has no execution entry',
    ],
    ["an execution entry without a tool", { tools: [] }, ["execution", 0], 'there is no tool "find"'],
    [
      "a tool that stands twice",
      { tools: [TOOL, TOOL] },
      ["tools", 1],
      'tool "find" is defined twice; the first is used',
    ],
    ["two ways to run a tool", { execution: [RUN, RUN] }, ["tools", 0], "it has two execution entries"],
    ["a program that is not allowlisted", { allowlist: {} }, ["execution", 0], "binary not allowlisted: notes"],
    [
      "a subcommand that is not allowlisted",
      { allowlist: { notes: ["Search"] } },
      ["execution", 0],
      "subcommand not allowlisted: notes search",
    ],
    ["an allowlist that is a list", { allowlist: ["notes"] }, ["allowlist"], "allowlist must be a map of programs"],
    [
      "an allowlist of texts",
      { allowlist: { notes: "search" } },
      ["allowlist", "notes"],
      "must be a list of subcommands",
    ],
    ["tools that are not a list", { tools: {}, execution: [] }, ["tools"], "tools must be a list"],
    [
      "a schema that is none",
      { tools: [{ ...TOOL, parameters: 1 }] },
      ["tools", 0, "parameters"],
      "must be a JSON Schema",
    ],
    [
      "a schema of a list",
      { tools: [{ ...TOOL, parameters: { type: "array" } }] },
      ["tools", 0, "parameters", "type"],
      "must be object",
    ],
    [
      "a schema with a misspelt type",
      { tools: [{ ...TOOL, parameters: { properties: { q: { type: "strin" } } } }] },
      ["tools", 0, "parameters", "properties", "q", "type"],
      "must be one of string",
    ],
  ])("%s is reported at its place", (_, more, place, message) => {
    const found = parse(more);
    expect(found.places).toContainEqual(place);
    expect(found.said.join("\n")).toContain(message);
  });

  test("a command that the allowlist lacks keeps the tool: its call reports the error", () => {
    const { names, descriptor } = parse({ allowlist: {} });
    expect(names).toEqual(["find"]);
    expect(descriptor && refusedBy(descriptor.allowlist, "notes", "search")).toBe("binary not allowlisted: notes");
  });

  test("names of the allowlist are the literal ones", () => {
    expect(refusedBy(new Map([["notes", ["search"]]]), "notes", "search ")).toBe(
      "subcommand not allowlisted: notes search ",
    );
    expect(parse({ allowlist: {}, execution: [{ ...RUN, binary: "constructor" }] }).said).toEqual([
      'tool "find": binary not allowlisted: constructor',
    ]);
  });

  test.each(["sh", "bash", "env", "xargs", "python", "python3.11", "node", "sudo"])(
    "an allowlist with %s causes a warning",
    (binary) => {
      expect(parse({ allowlist: { notes: ["search"], [binary]: ["-c"] } })).toMatchObject({
        names: ["find"],
        codes: ["DESCRIPTOR_LAUNCHER"],
      });
    },
  );

  test.each(["./notes", "/usr/bin/notes", "bin\\notes"])("an allowlist with the path %s causes a warning", (binary) => {
    expect(parse({ allowlist: { notes: ["search"], [binary]: [""] } }).said).toEqual([
      `allowlist: "${binary}" is a path, not a program's bare name`,
    ]);
  });

  test.each<[number | undefined, readonly string[] | undefined]>([
    [0, undefined],
    [1, ["nix"]],
  ])("the group of installed programs selects the execution: %s", (group, wrapper) => {
    const execution = [
      { ...RUN, condition: { binGroup: 0 } },
      { ...RUN, condition: { binGroup: 1 }, binaryWrapper: ["nix"] },
    ];
    const { descriptor } = parse({ execution }, "current", group);
    expect(descriptor?.tools[0]?.executions.map((each) => each.binaryWrapper)).toEqual([wrapper]);
    expect(parse({ execution }).names).toEqual([]);
  });

  test("any JSON gives a descriptor or findings, and every tool that is offered has a schema", () => {
    const entry = fc.oneof(fc.constantFrom(TOOL, RUN, null, 1, "x", []), fc.jsonValue());
    const part = fc.oneof(fc.array(entry), fc.jsonValue(), fc.dictionary(fc.constantFrom("notes", "__proto__"), entry));
    fc.assert(
      fc.property(part, part, part, fc.constantFrom("current", "seed"), (tools, allowlist, execution, profile) => {
        const { descriptor, findings } = parseDescriptor({ tools, allowlist, execution }, profile, undefined);
        expect(descriptor !== undefined || findings.length > 0).toBe(true);
        for (const tool of descriptor?.tools ?? []) expect(isObject(tool.input_schema)).toBe(true);
      }),
    );
  });
});
