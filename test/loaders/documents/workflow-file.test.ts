import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LoadedWorkflow, loadWorkflow, parseWorkflow } from "../../../src/loaders/documents/workflow-file.ts";
import { codes } from "../../harness/harness.ts";
import { LONG, runsOf } from "../../harness/long.ts";

const none = new Set<string>();
const parse = (text: string, known: Iterable<string> = []) => parseWorkflow(text, new Set(known), "flow.yml");
const minimal = (more = "", node = "") => `id: f
name: F
entry: a
nodes:
  a: { name: A, instruction: Do it.${node} }
edges: []
${more}`;
const told = ({ diagnostics }: LoadedWorkflow) =>
  diagnostics.map(({ code, line, column, message }) => `${line}:${column} ${code} ${message}`);

let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "flows-"));
});
afterAll(() => rmSync(directory, { recursive: true }));
const fileOf = (name: string, content: string | Buffer) => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};

describe("files", () => {
  test("a document is read, with or without a byte-order mark", () => {
    const { workflow, diagnostics } = loadWorkflow(fileOf("ok.yml", `\uFEFF${minimal()}`), none);
    expect(diagnostics).toEqual([]);
    expect(workflow?.nodes["a"]?.instruction).toBe("Do it.");
  });

  test("JSON documents are read, and findings in them have places", () => {
    expect(
      parse(
        JSON.stringify({ id: "f", name: "F", entry: "a", nodes: { a: { name: "A", instruction: "x" } }, edges: [] }),
      ).diagnostics,
    ).toEqual([]);
    expect(told(parse('{\n  "id": "f",\n  "name": 7\n}')).at(-1)).toBe(
      "3:3 SCHEMA name must be a string, not the number 7",
    );
  });

  test.each<[string, () => string, RegExp]>([
    ["a missing file", () => join(directory, "nope.yml"), /there is no file/],
    [
      "a directory",
      () => {
        mkdirSync(join(directory, "dir.yml"));
        return join(directory, "dir.yml");
      },
      /is a directory/,
    ],
    ["a file in a file", () => join(fileOf("plain", "x"), "x.yml"), /cannot be read/],
    ["an image", () => fileOf("image.yml", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe, 0])), /not UTF-8 text/],
    ["a text with NUL", () => fileOf("nul.yml", "id: a\0b"), /binary file/],
    ["more than 5 MB", () => fileOf("big.yml", Buffer.alloc(5 * 1024 * 1024 + 1, "#")), /5 MB at most/],
  ])("%s is reported with IO", (_, make, message) => {
    const { workflow, diagnostics } = loadWorkflow(make(), none, "shown.yml");
    expect(workflow).toBeUndefined();
    expect(diagnostics).toMatchObject([{ severity: "error", code: "IO", file: "shown.yml" }]);
    expect(diagnostics[0]?.message).toMatch(message);
  });

  test.each([
    ["empty", ""],
    ["white space", " \n\n"],
    ["a comment", "# nothing\n"],
    ["null", "~"],
    ["a list", "- id: f\n- name: F\n"],
    ["a text", "just words"],
    ["a number", "7"],
  ])("a file of %s is reported", (_, text) => {
    const { workflow, diagnostics } = parse(text);
    expect(workflow).toBeUndefined();
    expect(codes(diagnostics)).toEqual(["SCHEMA"]);
    expect(diagnostics[0]).toMatchObject({ line: expect.any(Number) });
    expect(diagnostics[0]?.message).toContain("a workflow must be a map of fields");
  });
});

describe("YAML", () => {
  test("is 1.2 core: yes is a text, and 0o17 a number", () => {
    const { workflow } = parse(minimal("description: yes\njudge_budget: 0o17"));
    expect(workflow?.description).toBe("yes");
    expect(workflow?.judge_budget).toBe(15);
  });

  test("pass_when: yes is a text", () => {
    const { workflow } = parse(minimal("", ", eval: [{ name: j, kind: judge, rubric: r, pass_when: yes }]"));
    expect(workflow?.nodes["a"]?.eval?.[0]).toMatchObject({ pass_when: "yes" });
  });

  test.each([
    ["tabs for indentation", "id: f\nnodes:\n\ta: 1", "3:1 PARSE"],
    ["an open bracket", "id: f\nnodes: {a: ", "2:"],
    ["an unknown alias", "id: *nope", "1:5 PARSE the alias *nope has no anchor before it"],
    ["a second document", `${minimal()}---\nid: g\n`, "7:1 PARSE"],
    ["a duplicate key", "id: f\nname: F\nid: g", '3:1 PARSE the key "id" occurs twice in one map'],
    [
      "a duplicate key deep inside",
      minimal().replace("name: A", "name: A, name: B"),
      '5:17 PARSE the key "name" occurs twice in one map',
    ],
    ["a duplicate node", "id: f\nnodes:\n  a: {}\n  a: {}", '4:3 PARSE the key "a" occurs twice'],
    ["a duplicate in JSON", '{"id": "f", "id": "g"}', "1:13 PARSE"],
    [
      "__proto__",
      "id: f\nnodes:\n  __proto__: { name: A, instruction: x }",
      '3:3 PARSE the key "__proto__" is not allowed',
    ],
    ["__proto__ in JSON", '{"nodes": {"__proto__": {}}}', "1:12 PARSE"],
    ["a map as a key", "? { a: 1 }\n: x", "1:3 PARSE a key must be text"],
    [
      "an alias inside of what it names",
      minimal("x: &x { y: *x }"),
      "7:12 PARSE the alias *x is inside the value that it names",
    ],
  ])("%s is reported with its place", (_, text, finding) => {
    const loaded = parse(text);
    expect(loaded.workflow).toBeUndefined();
    expect(told(loaded).join("\n")).toContain(finding);
  });

  test("all mistakes of the text are reported at once", () => {
    expect(told(parse("id: f\nid: g\nname: 1\nname: 2\n__proto__: x"))).toHaveLength(3);
  });

  test("aliases are resolved, and an invalid value behind one is refused", () => {
    const text = minimal("x: &tools { allow: [] }").replace("Do it.", "Do it., tools: *tools");
    expect(parse(text).workflow).toBeUndefined();
    const good = `x: &one { name: A, instruction: Do it. }\nid: f\nname: F\nentry: a\nnodes: { a: *one }\nedges: []`;
    expect(parse(good).workflow?.nodes["a"]?.name).toBe("A");
  });
});

describe("hostile documents", () => {
  const levels = 100_000;
  const bomb = [
    "a0: &a0 [x]",
    ...Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i},*a${i},*a${i},*a${i}]`),
  ].join("\n");
  const tower = [
    "a0: &a0 x",
    ...Array.from({ length: 90 }, (_, i) => `a${i + 1}: &a${i + 1} ${"[".repeat(100)}*a${i}${"]".repeat(100)}`),
  ].join("\n");

  test.each([
    ["brackets", "[".repeat(levels)],
    ["closed brackets", `x: ${"[".repeat(levels)}${"]".repeat(levels)}`],
    ["braces", "{a: ".repeat(levels)],
    [
      "brackets on many lines, after closing ones in a comment",
      `# ${"]".repeat(levels)}\nx:\n${" [\n".repeat(levels)}`,
    ],
    ["JSON", `{"x": ${"[".repeat(levels)}${"]".repeat(levels)}}`],
    ["dashes", "- ".repeat(levels)],
    ["dashes with tabs", "-\t".repeat(levels)],
    ["question marks", "? ".repeat(levels)],
    ["colons", ": ".repeat(levels)],
    ["both", "- ? ".repeat(levels)],
    ["indentation", Array.from({ length: 1500 }, (_, i) => `${" ".repeat(i)}a:`).join("\n")],
    [
      "dashes and indentation",
      Array.from({ length: 150 }, (_, i) => `${" ".repeat(i * 200)}${"- ".repeat(100)}`).join("\n"),
    ],
    ["aliases that multiply", bomb],
    ["aliases that stack", tower],
    [
      "aliases that are many",
      `x:\n${Array.from({ length: LONG ? 20_000 : 5000 }, (_, i) => `  - &a${i} v\n  - *a${i}\n`).join("")}`,
    ],
  ])("nested by %s are refused and do no harm", (_, text) => {
    const { workflow, diagnostics } = parse(text);
    expect(workflow).toBeUndefined();
    expect(diagnostics[0]).toMatchObject({ severity: "error", code: "PARSE" });
    expect(diagnostics.length).toBeLessThan(50);
  });

  test("an instruction may contain any number of characters that mean anchors and aliases elsewhere", () => {
    const list = "* one\n& two\n".repeat(1000);
    const inBlock = minimal().replace(
      "{ name: A, instruction: Do it. }",
      `\n    name: A\n    instruction: |\n${list.replace(/^/gm, "      ").trimEnd()}`,
    );
    expect(parse(inBlock).diagnostics).toEqual([]);
    expect(parse(inBlock).workflow?.nodes["a"]?.instruction).toBe(list);
    expect(parse(minimal().replace("Do it.", `"${"*a &b ".repeat(1000)}"`)).diagnostics).toEqual([]);
  });

  test("an instruction may contain any number of brackets", () => {
    const text = minimal().replace("Do it.", `"${"[(".repeat(5000)}"`);
    expect(parse(text).diagnostics).toEqual([]);
    expect(
      parse(
        minimal().replace(
          "{ name: A, instruction: Do it. }",
          `\n    name: A\n    instruction: |\n${"      [INFO {\n".repeat(5000)}`,
        ),
      ).diagnostics,
    ).toEqual([]);
  });

  test("a chain of thousands of nodes is read", () => {
    const length = LONG ? 12_000 : 4000;
    const nodes = Array.from({ length }, (_, i) => `  n${i}: { name: N, instruction: x }`);
    const edges = Array.from({ length: length - 1 }, (_, i) => `  - { from: n${i}, to: n${i + 1} }`);
    const { workflow, diagnostics } = parse(
      ["id: f", "name: F", "entry: n0", "nodes:", ...nodes, "edges:", ...edges].join("\n"),
    );
    expect(diagnostics).toEqual([]);
    expect(Object.keys(workflow?.nodes ?? {})).toHaveLength(length);
  });

  test("any text is either read or refused", () => {
    const piece = fc.constantFrom(
      "id: f\n",
      "nodes:\n",
      "  a: {",
      "}",
      "[",
      "]",
      "- ",
      "? ",
      ": ",
      "&a ",
      "*a",
      "!!map ",
      "|\n",
      '"',
      "'",
      "\t",
      "\n",
      "%YAML 1.1\n",
      "---\n",
      "...",
      "<<: *a\n",
      "\u0085",
      "name",
      "verify: 1\n",
      "edges: [{ when: 1 }]\n",
      "entry: a\n",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
        const { workflow, diagnostics } = parse(pieces.join(""));
        expect(workflow === undefined).toBe(diagnostics.some(({ severity }) => severity === "error"));
      }),
      { numRuns: runsOf(2000) },
    );
  });
});

describe("findings", () => {
  test("have file, place, code and field path", () => {
    const { diagnostics } = parse(minimal("", ", max_turns: 0"));
    expect(diagnostics).toEqual([
      {
        severity: "error",
        code: "SCHEMA",
        path: ["nodes", "a", "max_turns"],
        message: "nodes.a.max_turns must be at least 1",
        file: "flow.yml",
        line: 5,
        column: 38,
      },
    ]);
  });

  test("of fields and of the graph are reported together, in the order of the text", () => {
    const text = `id: f
name: 7
entry: start
nodes:
  a:
    name: A
    instruction: x
    max_turns: none
    skills: [githup]
  input: { name: I, instruction: x, eval_policy: weighted }
edges:
  - { from: a, to: b, max_iteration: 2 }
  - { from: a, to: a }
  - { from: zz, to: a }
skills:
  own: { description: nothing }
  broken: { instruction: 7 }
limits: { max_step: 3 }
verify: x`;
    expect(told(parse(text, ["github"]))).toEqual([
      "2:1 SCHEMA name must be a string, not the number 7",
      '3:1 MISSING_ENTRY entry "start" is not a node',
      '8:5 SCHEMA nodes.a.max_turns must be a number, not the string "none"',
      '9:14 UNKNOWN_SKILL node "a" lists an unknown skill "githup"',
      '10:3 RESERVED_NODE_ID a node cannot be called "input": it names the run\'s input',
      '10:37 UNSUPPORTED_EVAL_POLICY eval_policy "weighted" is reserved',
      "12:23 SCHEMA edges[0].max_iteration is not a known field",
      '13:5 SELF_LOOP node "a" leads to itself without a bound',
      '14:7 UNKNOWN_EDGE_SOURCE edge 2 names an unknown node "zz" in "from"',
      '16:3 INVALID_INLINE_SKILL skill "own" needs an instruction or an mcp server',
      "17:13 SCHEMA skills.broken.instruction must be a string, not the number 7",
      "18:11 SCHEMA limits.max_step is not a known field",
      '19:1 SCHEMA "verify" is not part of the format',
    ]);
  });

  test.each([
    ["a field of a node", minimal("", ", instructions: x"), 'did you mean "instruction"?'],
    [
      "a field of an edge",
      minimal().replace("[]", "[{ from: a, to: a, whem: x, max_iterations: 1 }]"),
      'did you mean "when"?',
    ],
    ["a limit", minimal("limits: { max_cost: 1 }"), 'did you mean "max_cost_usd"?'],
    ["an entry", minimal().replace("entry: a", "entry: aa"), 'did you mean "a"?'],
    ["a skill", minimal("", ", skills: [sentri]"), 'did you mean "sentry"?'],
  ])("suggest the similar word: %s", (_, text, hint) => {
    expect(parse(text, ["sentry"]).diagnostics.map((found) => found.hint)).toContain(hint);
  });

  test.each([
    [
      "a string[] that allows single strings",
      minimal('inputs: { x: { type: "string[]", enum: [[a], b] } }'),
      "inputs.x.enum[1]",
    ],
    ["a built-in tool without a name", minimal("", ', disallowed_tools: [Bash, ""]'), "nodes.a.disallowed_tools[1]"],
  ])("refuse %s", (_, text, field) => {
    const { workflow, diagnostics } = parse(text);
    expect(workflow).toBeUndefined();
    expect(diagnostics.map(({ code, message }) => [code, message.split(" ")[0]])).toEqual([["SCHEMA", field]]);
  });

  test("suggest the similar value of an enumeration", () => {
    expect(told(parse(minimal("workflow_type: monitr")))[0]).toContain('(did you mean "monitor"?)');
  });

  test.each([
    ["at top level", minimal("verify: { x: 1 }"), "7:1"],
    ["on a node", minimal("", ", verify: x"), "5:38"],
  ])("refuse verify %s and name eval", (_, text, place) => {
    const loaded = parse(text);
    expect(loaded.diagnostics).toHaveLength(1);
    expect(told(loaded)[0]).toBe(`${place} SCHEMA "verify" is not part of the format`);
    expect(loaded.diagnostics[0]?.hint).toContain("eval");
  });

  test("verify on an edge is an unknown key like any other", () => {
    const text = minimal().replace("[]", "[{ from: a, to: a, verify: x, max_iterations: 1 }]");
    expect(told(parse(text))).toEqual(["6:27 SCHEMA edges[0].verify is not a known field"]);
  });

  test.each([
    [", instruction: { url: 'https://x.test', type: git }", "SOURCE_INVALID_TYPE"],
    [", instruction: { inline: x, file: y }", "SOURCE_INVALID_SHAPE"],
    [", instruction: {}", "SOURCE_INVALID_SHAPE"],
    [", instruction: { inline: x, note: y }", "SOURCE_INVALID_SHAPE"],
    [", rules: [{ text: x }]", "SOURCE_INVALID_SHAPE"],
    [", context: { only: true, sources: [{ file: x, url: y }] }", "SOURCE_INVALID_SHAPE"],
  ])("a Source %s has its own code: %s", (field, code) => {
    const text = field.includes("instruction") ? minimal().replace(", instruction: Do it.", field) : minimal("", field);
    expect(codes(parse(text).diagnostics)).toEqual([code]);
  });

  test("a missing instruction is reported as missing", () => {
    expect(told(parse(minimal().replace(", instruction: Do it.", "")))).toEqual([
      "5:3 SCHEMA nodes.a.instruction is required: a node must have one of instruction, map, call, approval, steps",
    ]);
  });

  test("every missing field is reported at once, but none that is only misspelt", () => {
    const nodes = "{ a: {}, b: { instructon: x }, c: { name: C } }";
    const text = minimal().replace(/nodes:[\s\S]*?(?=\nedges)/, `nodes: ${nodes}`);
    const fields = parse(text).diagnostics.map(({ path }) => path.join("."));
    expect(fields.filter((field) => field.startsWith("nodes."))).toEqual(
      expect.arrayContaining([
        "nodes.a.name",
        "nodes.a.instruction",
        "nodes.b.name",
        "nodes.b.instructon",
        "nodes.c.instruction",
      ]),
    );
    expect(fields).not.toContain("nodes.b.instruction");
  });

  test("a condition that is not text is reported, without a crash", () => {
    const text = minimal().replace("[]", "[{ from: a, to: a, when: 5, max_iterations: 1 }, { from: a }, 7, null]");
    expect(told(parse(text))).toHaveLength(4);
  });

  test("warnings do not prevent a workflow from running", () => {
    const { workflow, diagnostics } = parse(minimal("", ", skills: [nope]"));
    expect(workflow).toBeDefined();
    expect(diagnostics).toMatchObject([{ severity: "warning", code: "UNKNOWN_SKILL", line: 5 }]);
  });

  test.each(["id: f\nnodes: {}", "nodes: {}\nedges: [{ from: a, to: b }]", "nodes: {}\nentry: [a]"])(
    "malformed nodes, in %j, are reported like other faults",
    (text) => {
      expect(codes(parse(text).diagnostics)).toContain("SCHEMA");
    },
  );

  test("names that are properties of every object are names like others", () => {
    const text = `id: f
name: F
entry: constructor
nodes:
  constructor: { name: C, instruction: x, skills: [toString, hasOwnProperty] }
  toString: { name: T, instruction: x }
edges: [{ from: constructor, to: toString }]
skills: { toString: { instruction: x } }`;
    const { workflow, diagnostics } = parse(text);
    expect(codes(diagnostics)).toEqual(["UNKNOWN_SKILL"]);
    expect(Object.keys(workflow?.nodes ?? {})).toEqual(["constructor", "toString"]);
  });

  test("every kind of node may have every optional field of its kind", () => {
    for (const type of ["pr_review", "e2e_test", "content_generation", "monitor", "data_sync", "generic"]) {
      expect(parse(minimal(`workflow_type: ${type}\nanything: [1]\ncategory: data`)).diagnostics).toEqual([]);
    }
    expect(codes(parse(minimal("workflow_type: other")).diagnostics)).toEqual(["SCHEMA"]);
  });
});
