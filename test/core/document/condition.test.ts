import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { checkPathsInto, checkWorkflow } from "../../../src/core/document/check/workflow.ts";
import { parseCondition, showCondition } from "../../../src/core/document/condition.ts";
import { checkValues } from "../../../src/core/document/value-rule.ts";
import type { Edge } from "../../../src/core/document/workflow/node.ts";
import type { OutputMatch, ValueRule } from "../../../src/core/document/workflow/rule.ts";
import { inline, workflowOf } from "../../harness/harness.ts";
import { runsOf } from "../../harness/long.ts";

const match = (path: string, rest: object): ValueRule => ({ output_matches: [{ path, ...rest }] });

describe("the short form of a condition", () => {
  test.each<[string, ValueRule]>([
    ["assess.action = file", match("assess.action", { equals: "file" })],
    ["assess.action=file", match("assess.action", { equals: "file" })],
    ["  assess.action   !=   file  ", match("assess.action", { equals: "file", not: true })],
    ["a.n = 3", match("a.n", { equals: 3 })],
    ["a.n = -0.5e3", match("a.n", { equals: -500 })],
    ["a.n = 0x1F", match("a.n", { equals: 31 })],
    ['a.n = "3"', match("a.n", { equals: "3" })],
    ["a.n = '3'", match("a.n", { equals: "3" })],
    ["a.n = yes", match("a.n", { equals: "yes" })],
    ["a.n = 2026-11-22", match("a.n", { equals: "2026-11-22" })],
    ["a.n = true", match("a.n", { equals: true })],
    ["a.n = null", match("a.n", { equals: null })],
    ["a.n = ~", match("a.n", { equals: null })],
    ["a.n = -", match("a.n", { equals: "-" })],
    ["a.n = out of memory: killed, twice # 9", match("a.n", { equals: "out of memory: killed, twice # 9" })],
    ["a.n = [a, 3, b c]", match("a.n", { equals: ["a", 3, "b c"] })],
    ["a.n = {k: [1]}", match("a.n", { equals: { k: [1] } })],
    ["a.n in [low, medium]", match("a.n", { in: ["low", "medium"] })],
    ["a.n in [\n  low,\n  medium\n]", match("a.n", { in: ["low", "medium"] })],
    ["a.n >= 3", match("a.n", { at_least: 3 })],
    ["a.n <= -1.5", match("a.n", { at_most: -1.5 })],
    ["any:a.items[*].level = fatal", match("any:a.items[*].level", { equals: "fatal" })],
    ["all:a.items[*].level exists", { output_required: ["all:a.items[*].level"] }],
    ["skills.available exists", { output_required: ["skills.available"] }],
    ["a.is = in [b]", match("a.is", { equals: "in [b]" })],
    ["exists = exists", match("exists", { equals: "exists" })],
  ])("%s", (text, rule) => {
    expect(parseCondition(text)).toEqual(rule);
  });

  test("simple values are parsed as in YAML", () => {
    const word = fc.constantFrom(
      "a",
      "b-2",
      "_x",
      "True",
      "NULL",
      "false",
      "0",
      "-0",
      "-7",
      "08",
      "12345678901234567890",
    );
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 3 }), (words) => {
        for (const text of [words[0] ?? "", `[${words.join(", ")}]`])
          expect(parseCondition(`a.n = ${text}`)).toEqual(match("a.n", { equals: parse(text) }));
      }),
      { numRuns: runsOf(50) },
    );
  });

  test.each([
    [" \n", "is empty: write PATH = VALUE"],
    ["assess.action", "is not understood"],
    ["assess.action is file", "is not understood"],
    ["a =", "is not understood"],
    ["a == b", "has a value that begins with ="],
    ["a > 3", "is not understood"],
    ["a.[*] = 3", "is not understood"],
    ["a in low", "needs a list after in"],
    ["a in low, high", "needs a list after in"],
    ["a >= many", "needs a number after >="],
    ["a <= .inf", "needs a finite number"],
    ["a in [1, .nan]", "needs a finite number"],
    ["a = {b: [-.inf]}", "needs a finite number"],
    ['a = "b" c', "has an invalid value"],
    ["a = [b] c", "has an invalid value"],
    ["a = [b]: c", "has text after its value"],
    ["a = [b", "has an invalid value"],
    ["a = *b", "has a value that begins with *"],
    ["a = b\nc", "has text after the end of its line"],
    [`a = ${"[".repeat(990)}`, "has an invalid value"],
    [`a = ${"b".repeat(1_000)}`, "has more than 1000 characters"],
  ])("%j is refused", (text, complaint) => {
    expect(parseCondition(text)).toContain(complaint);
  });

  test("is parsed again from its printed form, whatever the value", () => {
    const path = fc.constantFrom("a.b", "any:a[*].b-c", "input.x");
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(
        "in [a]",
        " b",
        "b ",
        "a, b",
        "x: y",
        "# c",
        "---",
        "yes",
        "1e3",
        "[x]",
        "null",
        ".5",
        "a]",
        "\n",
      ),
    );
    const comparison = fc.oneof(
      value.map((equals) => ({ equals })),
      value.map((equals) => ({ equals, not: true as const })),
      fc.array(value, { maxLength: 3 }).map((list) => ({ in: list })),
      fc.integer().map((at_least) => ({ at_least })),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((at_most) => ({ at_most })),
    );
    const rule = fc.tuple(path, comparison).map(([at, rest]) => match(at, JSON.parse(JSON.stringify(rest))));
    fc.assert(
      fc.property(rule, (written) => {
        expect(parseCondition(showCondition(written))).toEqual(written);
      }),
      { numRuns: runsOf(2_000) },
    );
  });

  test.each<[ValueRule, string]>([
    [{ output_required: ["a.b"], output_matches: [{ path: "c.d", equals: "x y" }] }, "a.b exists and c.d = x y"],
    [match("a", { in: ["x", "3", 3], not: true }), 'a not in [x, "3", 3]'],
    [match("a", { at_least: 3, not: true }), "a not >= 3"],
    [match("a", { matches: "^5" }), "a matches ^5"],
  ])("%j has no short form, and is shown as %s", (rule, shown) => {
    expect(showCondition(rule)).toBe(shown);
  });
});

describe("comparisons", () => {
  test.each<[object, unknown, string | undefined]>([
    [{ at_least: 3 }, 3, undefined],
    [{ at_least: 3 }, 2, "x.n is 2, not at least 3"],
    [{ at_least: 3 }, "4", 'x.n is "4", not at least 3'],
    [{ at_most: 3 }, 3, undefined],
    [{ at_most: 3 }, 4, "x.n is 4, not at most 3"],
    [{ at_most: 3, not: true }, 4, undefined],
    [{ at_most: 3, not: true }, 3, "x.n is 3, which is at most 3"],
    [{ equals: "a", not: true }, "b", undefined],
    [{ equals: "a", not: true }, "a", 'x.n is "a", and must not be'],
    [{ in: ["a"], not: true }, "a", 'x.n is "a", one of ["a"]'],
    [{ matches: "^5", not: true }, "404", undefined],
    [{ matches: "^5", not: true }, "503", 'x.n is "503", which matches ^5'],
  ])("%j of %j", (rest, value, complaint) => {
    expect(checkValues(match("x.n", rest), { x: { n: value as never } })).toEqual(complaint ? [complaint] : []);
  });

  test.each<[object, string | undefined]>([
    [{ in: "list.items[*].n" }, undefined],
    [{ in: "list.numbers" }, undefined],
    [{ in: "list.items[*].n", not: true }, "x.n is one of list.items[*].n"],
    [{ in: "list.others[*].n" }, "x.n is not one of list.others[*].n"],
    [{ in: "list.others[*].n", not: true }, undefined],
    [{ in: "gone.items[*].n" }, "gone is missing"],
    [{ in: "gone.items[*].n", not: true }, "gone is missing"],
  ])("%j reads the accepted values from a path", (rest, complaint) => {
    const list = { items: [{ n: 7 }, { n: 8 }], others: [{ n: 8 }], numbers: [7] };
    expect(checkValues(match("x.n", rest), { x: { n: 7 }, list })).toEqual(complaint ? [complaint] : []);
  });

  test("`not` turns neither an unresolved path nor an invalid pattern into a match", () => {
    expect(checkValues(match("x.m", { equals: 1, not: true }), { x: {} })).toEqual(["x.m is missing"]);
    expect(checkValues(match("x", { matches: "(", not: true }), { x: "a" })).toHaveLength(1);
  });
});

const node = {
  output: {
    type: "object",
    properties: {
      action: { type: "string", enum: ["file", "comment", "none"] },
      score: { type: "integer" },
      share: { type: "number", minimum: 0, exclusiveMaximum: 1 },
      sure: { type: "boolean" },
      cause: { type: "object", properties: { kind: { enum: ["change", "load"] } } },
      gone: { type: "null" },
      deep: { $ref: "#/$defs/Deep" },
      all: { type: "array", items: { $ref: "#/$defs/Deep" } },
    },
    $defs: { Deep: { type: "object", properties: { own: { enum: ["x", "y"] }, deep: { $ref: "#/$defs/Deep" } } } },
  },
};

const findings = (edges: readonly Partial<Edge>[]) =>
  checkWorkflow(
    workflowOf(
      { a: node, b: {}, c: {} },
      edges.map((edge, index) => ({ from: "a", to: index === 0 ? "b" : "c", ...edge })),
    ),
    new Set(),
  )
    .filter(({ code }) => !["UNREACHABLE_NODE", "UNKNOWN_PATH"].includes(code))
    .map(({ code, path, severity }) => `${severity} ${code} ${path.join(".")}`);

describe("analysis of conditions before a run", () => {
  test.each([
    "a.action = fille",
    "a.action in [open, close]",
    "a.action >= 3",
    "a.score = high",
    "a.score = 1.5",
    "a.share >= 1",
    "a.share <= -0.1",
    "a.share = 80",
    "a.share in [2, 3]",
    "a.sure = maybe",
    "a.gone exists",
    "a.gone != null",
    "a.cause = change",
    "a.cause.kind = loud",
    "a.deep.own = z",
    "a.deep.deep.deep.own = z",
    "any:a.all[*].own = z",
  ])("%s never holds", (condition) => {
    expect(findings([{ if: condition }])).toEqual(["warning EDGE_NEVER edges.0.if"]);
  });

  test.each(["a.action != fille", "a.action != 3"])("%s always holds", (condition) => {
    expect(findings([{ if: condition }])).toEqual(["warning EDGE_ALWAYS edges.0.if"]);
  });

  test("an exclusion of all allowed values never holds", () => {
    const everything: OutputMatch = { path: "a.sure", in: [true, false], not: true };
    expect(findings([{ if: { output_matches: [everything] } }])).toEqual(["warning EDGE_NEVER edges.0.if"]);
  });

  test.each([
    "a.action = file",
    "a.action != file",
    "a.score >= 3",
    "a.share >= 0.99",
    "a.share <= 0",
    "a.share = 0.5",
    "a.share in [0.5, 3]",
    "a.score != high",
    "a.sure = true",
    "a.other = 3",
    "a.cause.kind = load",
    "a.cause exists",
    "a.error = timeout",
    "input.x = y",
    "b.x = y",
    "skills.missing exists",
  ])("%s may hold", (condition) => {
    expect(findings([{ if: condition }])).toEqual([]);
  });

  test.each<[Partial<Edge>, Partial<Edge>]>([
    [{ if: "a.action = file" }, { if: "a.action = file" }],
    [{ if: "a.action = file" }, { if: "a.action = file", when: "it is late" }],
    [{ if: "a.action in [file, none]" }, { if: "a.action = none" }],
    [{ if: "a.action != file" }, { if: "a.action = none" }],
    [{ if: "a.action exists" }, { if: "a.action in [file, comment]" }],
    [{ if: "a.action exists" }, { if: "a.action != null" }],
    [{ if: "a.score >= 3" }, { if: "a.score >= 5" }],
    [{ if: "a.score <= 3" }, { if: "a.score = 2" }],
    [{ if: "a.score exists" }, { if: "a.score <= 2" }],
  ])("%j hides %j", (first, second) => {
    expect(findings([first, second])).toEqual(["warning EDGE_SHADOWED edges.1.if"]);
  });

  test.each<[Partial<Edge>, Partial<Edge>]>([
    [{ if: "a.action = file" }, { if: "a.action = none" }],
    [{ if: "a.action = file", max_iterations: 1 }, { if: "a.action = file" }],
    [{ if: "a.action = file", when: "it is early" }, { if: "a.action = file" }],
    [{ if: "a.score >= 5" }, { if: "a.score >= 3" }],
    [{ if: "a.score >= 5" }, { if: "a.score <= 7" }],
    [{ if: "a.score = 5" }, { if: "b.score = 5" }],
    [{ if: "any:a.list[*] = 5" }, { if: "all:a.list[*] = 5" }],
  ])("%j does not hide %j", (first, second) => {
    expect(findings([first, second])).toEqual([]);
  });

  test("an unknown root, and a text that is not a condition, are errors", () => {
    expect(findings([{ if: "asess.action = file" }])).toEqual(["error UNKNOWN_PATH_ROOT edges.0.if"]);
    expect(findings([{ if: " " }])).toEqual(["error SCHEMA edges.0.if"]);
  });

  test("a report path with an unknown root is a warning, next to valid paths", () => {
    const workflow = {
      ...workflowOf({ a: node }, []),
      report: { headline: "asess.headline", cause: "a.cause", impact: "input.alert" },
    };
    const found = checkWorkflow(workflow, new Set());
    expect(found.map(({ severity, code, path }) => `${severity} ${code} ${path.join(".")}`)).toEqual([
      "warning UNKNOWN_PATH_ROOT report.headline",
    ]);
  });

  test("several edges with `if` alone are not ambiguous, also next to a default", () => {
    expect(findings([{ if: "a.action = file" }, { if: "a.action = none" }, {}])).toEqual([]);
    expect(findings([{}, {}])).toEqual(["error AMBIGUOUS_EDGES edges.1"]);
  });
});

const inner = inline({ look: { output: node.output }, tell: {} }, ["look -> tell"]);
const kinds = {
  sure: { approval: { ask: "Really?" } },
  each: { map: { over: "input.issues", as: "issue" }, ...inner },
  free: {},
} as const;

/** `sure` has an edge to `each`, and `each` to `free`, each with the condition under test. */
function told(condition: string, from: "sure" | "each" = "sure") {
  const edges = [
    from === "sure" ? { from: "sure", to: "each", if: condition } : "sure -> each",
    from === "each" ? { from: "each", to: "free", if: condition } : "each -> free",
  ] as const;
  const found = checkWorkflow(workflowOf(kinds, edges), new Set());
  return found.map(({ severity, code, message, hint }) => `${severity} ${code} ${message} (${hint})`).join("\n");
}

describe("known data of each kind of node", () => {
  test.each<[string | string[], string[]]>([
    ["a.action", ["EDGE_NEVER"]],
    [["a.cause.kind", "a.action"], ["EDGE_NEVER"]],
    [["a.action", "b.any"], []],
    ["a.cause", []],
  ])("the verdict %j of a called workflow is one of the values there", (verdict, codes) => {
    const calling = workflowOf({ c: { call: "./x.yml" }, z: {} }, [{ from: "c", to: "z", if: "c.verdict = maybe" }]);
    const called = { ...workflowOf({ a: node, b: { output: {} } }, ["a -> b"]), verdict };
    const find = () => ({ workflow: called, find: () => undefined });
    expect(checkPathsInto(calling, { find }).map(({ code }) => code)).toEqual(codes);
  });

  test.each<[string, "sure" | "each", string, string]>([
    ["sure.aproved = true", "sure", "warning UNKNOWN_PATH", 'did you mean "approved"?'],
    ["sure.approved.by = ana", "sure", "warning UNKNOWN_PATH", '"sure.approved" is boolean'],
    ['sure.approved = "true"', "sure", "error SCHEMA", "write sure.approved = true"],
    ['sure.approved != "true"', "sure", "error SCHEMA", "write sure.approved != true"],
    ["sure.approved = yes", "sure", "error SCHEMA", "write sure.approved = true"],
    ["sure.approved in [yes]", "sure", "error SCHEMA", "write sure.approved"],
    ["sure.approved = perhaps", "sure", "warning EDGE_NEVER", "the values are true, false"],
    ["approved = true", "sure", "error UNKNOWN_PATH_ROOT", 'did you mean "sure.approved"?'],
    ["each.item exists", "each", "warning UNKNOWN_PATH", 'did you mean "items"?'],
    ["any:each.items[*].data.results.lok.action = file", "each", "warning UNKNOWN_PATH", 'did you mean "look"?'],
    ["any:each.items[*].data.results.look.acton = file", "each", "warning UNKNOWN_PATH", 'did you mean "action"?'],
    ["any:each.items[*].data.results.look.action = fille", "each", "warning EDGE_NEVER", 'did you mean "file"?'],
    ["any:each.items[*].status = sucess", "each", "warning EDGE_NEVER", 'did you mean "success"?'],
    ["each.items.status = success", "each", "warning UNKNOWN_PATH", "write each.items[*].status"],
    ['each.failed >= 1 and each.left = "0"', "each", "error SCHEMA", 'joins with "and"'],
    ['each.failed = "0"', "each", "error SCHEMA", "write each.failed = 0"],
  ])("%s", (condition, from, kind, cure) => {
    expect(told(condition, from)).toContain(kind);
    expect(told(condition, from)).toContain(cure);
  });

  test.each<[string, "sure" | "each"]>([
    ["sure.approved = true", "sure"],
    ["sure.note exists", "sure"],
    ["sure.error exists", "sure"],
    ["sure.by != timeout", "sure"],
    ["each.failed >= 1", "each"],
    ["any:each.items[*].data.results.tell.summary exists", "each"],
    ["any:each.items[*].data.results.look.error exists", "each"],
    ["each.error exists", "each"],
  ])("%s is valid", (condition, from) => {
    expect(told(condition, from)).toBe("");
  });

  test("a path inside a map knows the item and the fields of `with`", () => {
    const of = (path: string) => {
      const look = { requires: { output_required: [path] } };
      const each = {
        map: { over: "input.issues", as: "issue" },
        with: { team: "a", "note?": "{{input.note}}" },
        ...inline({ look }),
      };
      return checkWorkflow(workflowOf({ each }), new Set()).map(({ hint }) => hint);
    };
    expect(of("input.isue.title")).toEqual(['did you mean "issue"?']);
    expect([of("input.issue.title"), of("input.team"), of("input.note")]).toEqual([[], [], []]);
  });
});

describe("mistakes in a condition are errors that name the fix", () => {
  test.each([
    ["free.summary == done", "write free.summary = done"],
    ["free.summary === done", "write free.summary = done"],
    ["free.summary is done", "write free.summary = done"],
    ["free.summary: done", "write free.summary = done"],
    ["free.summary !== done", "write free.summary != done"],
    ["free.summary <> done", "write free.summary != done"],
    ["free.summary is not done", "write free.summary != done"],
    ["free.score > 5", "write free.score >= 6 for whole numbers"],
    ["free.score < 0.5", "path: free.score, at_least: 0.5, not: true"],
    ["free.score => 5", "write free.score >= 5"],
    ["free.summary =~ ^x", "matches:"],
    ["free.summary contains x", "matches:"],
    ["free.summary not in [a, b]", "in: [a, b], not: true"],
    ["free.summary not exists", "free.summary exists"],
    [
      "sure.approved = true and each.failed = 0",
      "if: { output_matches: [{ path: sure.approved, equals: true }, { path: each.failed, equals: 0 }] }",
    ],
    ["sure.approved = true && each.failed exists", "output_required: [each.failed]"],
    ["free.summary = a or free.summary = b", "PATH in [A, B]"],
    ["free.summary = a || b", "PATH in [A, B]"],
    ['free.summary = "a" AND sure.approved = true', "output_matches:"],
    ["sure.approved exists and free.summary exists", "output_required: [sure.approved, free.summary]"],
    ["{{sure.approved}} = true", "without braces"],
    ["sure.approved = {{input.x}}", "without braces"],
    ["${{ sure.approved }} = true", "without braces"],
    ["not sure.approved", "PATH != VALUE"],
    ["!sure.approved", "PATH != VALUE"],
    ["(sure.approved = true)", "without them"],
    ["len(each.items) >= 1", "without them"],
    ['"sure.approved" = true', "without quotes"],
    ["$.sure.approved = true", "begin the path with a node"],
    ["each.items[0].status = failed", "write any:each.items[*]"],
    ["sure.approved", "write sure.approved = true, or sure.approved exists"],
    ["true", "omit if"],
    ["sure.note EXISTS", "lower case"],
    ["sure.note exists = true", "nothing after it"],
    ["free.summary = “done”", 'write free.summary = "TEXT"'],
    ["sure.approved = true;", "write sure.approved = true"],
    ["sure.approved = true # by now", "write sure.approved = true"],
    ["free.summary = 'a' b", "one pair of quotes"],
    ["free.summary = input.name", "put it in quotes"],
  ])("%s", (condition, cure) => {
    expect(told(condition)).toContain("error SCHEMA");
    expect(told(condition)).toContain(cure);
  });

  test.each([
    'free.summary = "read and write"',
    "free.summary in [search and rescue, b]",
    "free.summary = not found",
    "free.summary = out of memory: killed, twice # 9",
    "free.summary = v1.2.3",
    'free.summary = "input.name"',
    "free.summary = {a: {b: 1}}",
    "any:each.items[*].key = a",
  ])("%s is not a mistake", (condition) => {
    expect(told(condition)).not.toContain("SCHEMA");
  });
});
