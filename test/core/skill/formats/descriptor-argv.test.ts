import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../../../src/core/base/values.ts";
import { parseDescriptor } from "../../../../src/core/skill/formats/descriptor.ts";
import {
  type ArgumentValue,
  buildCommand,
  checkArguments,
  chooseExecution,
  chooseSubcommand,
  helperArguments,
  readArguments,
  splitValue,
  withDefaults,
} from "../../../../src/core/skill/formats/descriptor-argv.ts";
import type { DescriptorProfile } from "../../../../src/core/skill/formats/descriptor-shapes.ts";
import { ANY_CHARACTER } from "../../../harness/any-character.ts";

const PROFILES = ["current", "seed"] as const;

interface Written {
  readonly args: readonly object[];
  readonly more?: object;
  readonly properties?: readonly string[];
}

function toolOf({ args, more = {}, properties = ["p", "q", "r"] }: Written, profile: DescriptorProfile) {
  const { descriptor, findings } = parseDescriptor(
    {
      tools: [
        {
          name: "t",
          parameters: { type: "object", properties: Object.fromEntries(properties.map((name) => [name, {}])) },
        },
      ],
      allowlist: { prog: ["do", "do it", "undo", "do -- it", ""] },
      execution: [{ tool: "t", binary: "prog", subcommand: "do", args, ...more }],
    },
    profile,
    undefined,
  );
  const tool = descriptor?.tools[0];
  if (!tool) throw new Error(JSON.stringify(findings));
  return tool;
}

/** Converts arguments to a command line, without resolving anything. */
function commandOf(written: Written, given: Json, profile: DescriptorProfile = "current") {
  const tool = toolOf(written, profile);
  const input = checkArguments(tool, given, profile);
  const execution = chooseExecution(tool, input);
  const values = readArguments(execution, input, profile);
  const parts = values.flatMap((value): readonly ArgumentValue[] =>
    value.kind === "text" ? splitValue(value, "t") : [value],
  );
  return buildCommand(execution, chooseSubcommand(execution, input), parts, profile);
}

const argvOf = (args: readonly object[], given: Json, profile?: DescriptorProfile) =>
  commandOf({ args }, given, profile).argv.slice(2);

const MISSING = "missing parameter: p";
const TYPE = "parameter p must be a string, number, or boolean";

describe.each(PROFILES)("the argument mapping in the profile %s", (profile) => {
  const positional = { param: "p" };
  const named = { param: "p", kind: "positional" };
  const flag = { param: "p", kind: "flag" };
  const titled = { param: "p", kind: "flag", flag: "title" };
  const switched = { param: "p", kind: "flagifboolean", flagIfTrue: "--overwrite", flagIfFalse: "--append" };

  test.each<[string, object, Json, readonly string[]]>([
    ["a positional text", positional, { p: "a b" }, ["a b"]],
    ["a positional by name", named, { p: "a" }, ["a"]],
    ["an empty positional", positional, { p: "" }, [""]],
    ["a positional number", positional, { p: 7 }, ["7"]],
    ["a positional fraction", positional, { p: 0.5 }, ["0.5"]],
    ["a large number", positional, { p: 1e21 }, ["1e+21"]],
    ["a positional true", positional, { p: true }, ["true"]],
    ["a positional false", positional, { p: false }, ["false"]],
    ["a missing flag", flag, {}, []],
    ["a flag that is null", flag, { p: null }, []],
    ["a flag's text", titled, { p: "a b" }, ["--title", "a b"]],
    ["a flag without a name of its own", flag, { p: "x" }, ["--p", "x"]],
    ["a flag's number", titled, { p: 3 }, ["--title", "3"]],
    ["a flag's boolean", titled, { p: false }, ["--title", "false"]],
    ["a flag's value that begins with a dash", titled, { p: "--x" }, ["--title", "--x"]],
    ["a flag of one character", { ...flag, flag: "n" }, { p: 3 }, ["-n", "3"]],
    ["a flag of one character with its dash", { ...flag, flag: "-n" }, { p: 3 }, ["-n", "3"]],
    ["a flag with its dashes", { ...flag, flag: "--x-y" }, { p: 3 }, ["--x-y", "3"]],
    ["a missing boolean", switched, {}, ["--append"]],
    ["a boolean that is null", switched, { p: null }, ["--append"]],
    ["true", switched, { p: true }, ["--overwrite"]],
    ["false", switched, { p: false }, ["--append"]],
    ["the text True", switched, { p: "True" }, ["--overwrite"]],
    ["the text yes", switched, { p: "yes" }, ["--append"]],
    ["a whole number", switched, { p: -2 }, ["--overwrite"]],
    ["zero", switched, { p: 0 }, ["--append"]],
    ["a fraction", switched, { p: 1.5 }, ["--append"]],
    ["a list as a boolean", switched, { p: [true] }, ["--append"]],
    ["a map as a boolean", switched, { p: { a: 1 } }, ["--append"]],
    ["true without its flag", { ...switched, flagIfTrue: undefined }, { p: true }, []],
    ["false without its flag", { ...switched, flagIfFalse: undefined }, { p: false }, []],
    ["a token that is kept as it is", { ...switched, flagIfTrue: "-a b" }, { p: true }, ["-a b"]],
    ["normalized text", { param: "p", normalizeNewlines: true }, { p: "a\\nb\\tc" }, ["a\nb\tc"]],
    ["text that is left as it is", positional, { p: "a\\nb" }, ["a\\nb"]],
  ])("%s", (_, mapping, input, argv) => {
    expect(argvOf([mapping], input, profile)).toEqual(argv);
  });

  test.each<[string, object, Json, string]>([
    ["no object", positional, [], "arguments must be an object"],
    ["nothing", positional, null, "arguments must be an object"],
    ["a text", positional, "p", "arguments must be an object"],
    ["a missing positional", positional, {}, MISSING],
    ["a positional null", positional, { p: null }, TYPE],
    ["a positional list", positional, { p: ["a"] }, TYPE],
    ["a positional map", positional, { p: {} }, TYPE],
    ["a flag's list", titled, { p: ["a"] }, TYPE],
    ["a flag's map", titled, { p: {} }, TYPE],
    ["a NUL", titled, { p: "a\0b" }, "parameter p contains a NUL character"],
    ["a positional that would be an option", positional, { p: "--vault=x" }, 'parameter p begins with "-"'],
    ["a negative number", positional, { p: -1 }, 'parameter p begins with "-"'],
    ["a single dash", positional, { p: "-" }, 'parameter p begins with "-"'],
  ])("%s is refused", (_, mapping, input, error) => {
    expect(() => argvOf([mapping], input, profile)).toThrow(error);
  });

  test("entries follow one another in the order of the file", () => {
    expect(argvOf([titled, { param: "q" }, switched], { q: "b", p: "a" }, profile)).toEqual([
      "--title",
      "a",
      "b",
      "--append",
    ]);
  });

  test("a positional may start with a dash after a -- of the file, and not after one of the model", () => {
    const ending = { param: "q", kind: "flagifboolean", flagIfTrue: "--" };
    expect(argvOf([ending, positional], { q: true, p: "-x" }, profile)).toEqual(["--", "-x"]);
    expect(() => argvOf([{ ...titled, param: "q" }, positional], { q: "--", p: "-x" }, profile)).toThrow("begins with");
  });

  test("properties of objects are not parameters", () => {
    expect(
      argvOf(
        [
          { param: "constructor", kind: "flag" },
          { param: "toString", kind: "flag" },
        ],
        {},
        profile,
      ),
    ).toEqual([]);
    expect(() => argvOf([{ param: "toString" }], {}, profile)).toThrow("missing parameter: toString");
  });

  test("whatever the values hold, each stays one argument", () => {
    const hostile = fc.oneof(
      fc.string({ unit: ANY_CHARACTER }),
      fc.constantFrom("; rm -rf .", "$(id)", "`id`", "a b", "'", '"', "\n", "*", "--x=y", "-", "|", "&&", "%PATH%"),
    );
    fc.assert(
      fc.property(hostile, hostile, (p, q) => {
        const given = { p: p.replaceAll("\0", ""), q: q.replaceAll("\0", "") };
        const unsafe = profile === "current" ? { unsafePath: true } : {};
        const mappings = [
          { ...titled, ...unsafe },
          { param: "q", ...unsafe },
        ];
        const build = () => argvOf(mappings, given, profile);
        if (given.q.startsWith("-")) expect(build).toThrow("begins with");
        else expect(build()).toEqual(["--title", given.p, given.q]);
      }),
    );
  });

  test("any arguments give a command line or an error with a message", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (input) => {
        try {
          const argv = argvOf([positional, titled, switched], input as Json, profile);
          expect(argv.every((token) => typeof token === "string")).toBe(true);
        } catch (error) {
          expect((error as Error).message).toMatch(/^(arguments|missing|parameter|tool)/);
        }
      }),
    );
  });
});

describe("differences between the profiles", () => {
  const both = (written: Written, input: Json) =>
    PROFILES.map((profile) => {
      try {
        return commandOf(written, input, profile).argv;
      } catch (error) {
        return (error as Error).message;
      }
    });

  test.each<[string, Written, Json, Json, Json]>([
    ["words of a subcommand", { args: [], more: { subcommand: "do it" } }, {}, ["prog", "do", "it"], ["prog", "do it"]],
    ["an empty subcommand", { args: [], more: { subcommand: "" } }, {}, ["prog"], ["prog", ""]],
    [
      "an undeclared parameter",
      { args: [{ param: "p" }] },
      { p: "a", x: 1 },
      "tool t: undeclared parameter 'x' (not in schema)",
      ["prog", "do", "a"],
    ],
    [
      "a -- in a subcommand",
      { args: [{ param: "p" }], more: { subcommand: "do -- it" } },
      { p: "-x" },
      ["prog", "do", "--", "it", "-x"],
      expect.stringContaining("begins with") as Json,
    ],
    ...["/etc/passwd", "~/x", "FILE:///x", "see file://x", "a/../b", "..", "a\\..\\b", ".git/config", "x/.git"].map(
      (path): [string, Written, Json, Json, Json] => [
        `the path ${path}`,
        { args: [{ param: "p" }] },
        { p: path },
        "parameter p looks like a path that leads out of the working directory; use a relative one",
        ["prog", "do", path],
      ],
    ),
    [
      "a relative path",
      { args: [{ param: "p" }] },
      { p: "a/b..c/d" },
      ["prog", "do", "a/b..c/d"],
      ["prog", "do", "a/b..c/d"],
    ],
  ])("%s", (_, written, input, current, seed) => {
    expect(both(written, input)).toEqual([current, seed]);
  });
});

describe("additions of version 0.5.0", () => {
  test.each<[string, readonly object[], Json, readonly string[]]>([
    ["an optional positional that is missing", [{ param: "p", optional: true }], {}, []],
    ["an optional positional that is null", [{ param: "p", optional: true }], { p: null }, []],
    ["an optional positional that is there", [{ param: "p", optional: true }], { p: "" }, [""]],
    ["a default instead of a missing value", [{ param: "p", absentDefault: "HEAD" }], {}, ["HEAD"]],
    ["a default instead of null", [{ param: "p", kind: "flag", absentDefault: 10 }], { p: null }, ["--p", "10"]],
    ["a default that is not needed", [{ param: "p", absentDefault: "HEAD" }], { p: "x" }, ["x"]],
    ["a default boolean", [{ param: "p", kind: "flagifboolean", flagIfTrue: "-a", absentDefault: true }], {}, ["-a"]],
    ["split words", [{ param: "p", split: true }], { p: " a\tb  c " }, ["a", "b", "c"]],
    ["a literal", [{ kind: "literal", value: "--continue" }], {}, ["--continue"]],
    ["a positional after a literal --", [{ kind: "literal", value: "--" }, { param: "p" }], { p: "-x" }, ["--", "-x"]],
    ["a path that may lead anywhere", [{ param: "p", unsafePath: true }], { p: "/etc" }, ["/etc"]],
    ["a value that its pattern lets pass", [{ param: "p", denyPattern: "^main$" }], { p: "mainly" }, ["mainly"]],
    ["a key that is null", [{ param: "p", kind: "flag", flag: null }], { p: "a" }, ["--p", "a"]],
    ["an unknown key", [{ param: "p", colour: "red" }], { p: "a" }, ["a"]],
  ])("%s", (_, args, input, argv) => {
    expect(argvOf(args, input)).toEqual(argv);
  });

  test.each<[string, readonly object[], Json, string]>([
    ["one of the split words", [{ param: "p", split: true }], { p: "a -x" }, "begins with"],
    ["a denied value", [{ param: "p", denyPattern: "^main$" }], { p: "main" }, "parameter 'p' is denied"],
    ["a denied word", [{ param: "p", split: true, denyPattern: "^main$" }], { p: "a main" }, "parameter 'p' is denied"],
    ["a path among split words", [{ param: "p", split: true }], { p: "a ../b" }, "looks like a path"],
    ["an optional map", [{ param: "p", optional: true }], { p: {} }, TYPE],
    ["a missing input", [{ param: "p", kind: "stdin" }], {}, MISSING],
    ["a missing folder", [{ param: "p", kind: "workingdir" }], {}, MISSING],
  ])("%s is refused", (_, args, input, error) => {
    expect(() => argvOf(args, input)).toThrow(error);
  });

  test("the standard input and the working directory are not arguments", () => {
    const args = [
      { param: "p", kind: "stdin" },
      { param: "q", kind: "workingdir" },
    ];
    expect(commandOf({ args }, { p: "-a\nb", q: "sub" })).toEqual({
      argv: ["prog", "do"],
      stdin: "-a\nb",
      directory: "sub",
    });
  });

  test("a boolean may select another subcommand, and adds nothing", () => {
    const args = [{ param: "p", kind: "flagifboolean", flagIfTrue: "-f", subcommandOverride: "undo" }];
    expect(commandOf({ args }, { p: true }).argv).toEqual(["prog", "undo"]);
    expect(commandOf({ args }, {}).argv).toEqual(["prog", "do"]);
  });

  test("a wrapper precedes the program", () => {
    const more = { binaryWrapper: ["nix", "develop", "--command"] };
    expect(commandOf({ args: [{ param: "p" }], more }, { p: "a" }).argv).toEqual([
      "nix",
      "develop",
      "--command",
      "prog",
      "do",
      "a",
    ]);
  });

  test("a -- of the wrapper does not end the program's own options", () => {
    const more = { binaryWrapper: ["env", "--"] };
    expect(() => commandOf({ args: [{ param: "p" }], more }, { p: "-x" })).toThrow("begins with");
  });

  test.each<[string, Json, string]>([
    ["what is present", { p: "a" }, "one"],
    ["what is absent", { q: "a" }, "two"],
    ["nothing: the default", {}, "three"],
    ["null, which is absent: the default", { p: null }, "three"],
    ["several", { p: "a", q: "b", r: "c" }, "several execution entries"],
  ])("the execution is chosen by %s", (_, input, expected) => {
    const entry = (subcommand: string, paramCondition?: object) => ({
      tool: "t",
      binary: "prog",
      subcommand,
      ...(paramCondition ? { paramCondition } : {}),
    });
    const { descriptor } = parseDescriptor(
      {
        tools: [{ name: "t", parameters: {} }],
        allowlist: { prog: ["one", "two", "three"] },
        execution: [entry("one", { present: ["p"] }), entry("two", { present: "q", absent: [] }), entry("three")],
      },
      "current",
      undefined,
    );
    const [tool] = descriptor?.tools ?? [];
    if (!tool) throw new Error("the tool is missing");
    const choose = () => {
      try {
        return chooseExecution(tool, input as never).subcommand;
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(choose()).toContain(expected);
  });

  test("a tool without an execution is unknown, and nothing was done", () => {
    const tool = { ...toolOf({ args: [] }, "current"), executions: [] };
    expect(() => chooseExecution(tool, {})).toThrow(
      expect.objectContaining({ message: "unknown tool: t", acted: "no" }),
    );
  });

  test("without a default, it is an error if no condition fits", () => {
    const tool = toolOf({ args: [], more: { paramCondition: { present: ["p"] } } }, "current");
    expect(() => chooseExecution(tool, {})).toThrow("tool t: no execution entry matches these parameters");
  });
});

describe("the arguments of a helper", () => {
  const input = { day: "monday", count: 3, on: true, no: null };
  const fill = (profile: DescriptorProfile, ...args: readonly string[]) =>
    helperArguments(args, { value: "v$&", input, profile });

  test("today replace whole arguments with values, the current value and others", () => {
    expect(fill("current", "$param", "a$param", "$day", "$count", "$on", "$no", "$none", "$", "$a-b")).toEqual([
      "v$&",
      "a$param",
      "monday",
      "3",
      "true",
      "",
      "",
      "$",
      "$a-b",
    ]);
  });

  test("in the seed insert the current value, also inside of an argument", () => {
    expect(fill("seed", "$param", "a$param-$param", "$day", "$parameter")).toEqual([
      "v$&",
      "av$&-v$&",
      "$day",
      "v$&eter",
    ]);
  });

  test.each(PROFILES)("in the profile %s no value becomes an option", (profile) => {
    expect(() => helperArguments(["$param"], { value: "--x", input: {}, profile })).toThrow(
      "would be read as an option",
    );
    expect(helperArguments(["-v", "--"], { value: "--x", input: {}, profile })).toEqual(["-v", "--"]);
  });
});

describe("a positional after one that was left out", () => {
  const REF = { param: "p", optional: true };
  const PATH = { param: "q", optional: true, disambiguateAfterSkippedPositionals: true };
  test.each<[string, object, readonly string[]]>([
    ["comes after --", { q: "a.md" }, ["--", "a.md"]],
    ["comes after -- also where it begins with a dash", { q: "-a" }, ["--", "-a"]],
    ["comes as it is where none was left out", { p: "main", q: "a.md" }, ["main", "a.md"]],
    ["is left out itself", { p: "main" }, ["main"]],
  ])("%s: %j", (_, given, argv) => {
    expect(argvOf([REF, PATH], given as Json)).toEqual(argv);
  });
  test("is unchanged without the key", () => expect(argvOf([REF, { param: "q" }], { q: "a" })).toEqual(["a"]));
});

describe("defaults of the file", () => {
  test("replace values that are absent or null", () => {
    const args = [
      { param: "p", absentDefault: "HEAD" },
      { param: "q", kind: "flag", absentDefault: 5 },
      { param: "r" },
    ];
    const [execution] = toolOf({ args }, "current").executions;
    expect(execution && withDefaults(execution, { p: null, r: "x" })).toEqual({ p: "HEAD", q: 5, r: "x" });
    expect(execution && withDefaults(execution, { p: "v" })).toEqual({ p: "v", q: 5 });
  });
});
