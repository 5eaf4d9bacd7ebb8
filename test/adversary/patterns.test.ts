import type { ChildProcess } from "node:child_process";
import { beforeEach, describe, expect, test } from "vitest";
import { compileSchema, fillValue, schemaProblems } from "../../src/core/base/schema/schema.ts";
import { setTimeBound } from "../../src/core/base/schema/time-bound.ts";
import type { Json, JsonSchema } from "../../src/core/base/values.ts";
import { checkValues } from "../../src/core/document/value-rule.ts";
import { evaluateByCode } from "../../src/core/engine/decide/judging/evaluate.ts";
import { misfitOf } from "../../src/core/engine/tools/tool-input.ts";
import { splitValue } from "../../src/core/skill/formats/descriptor-argv.ts";
import { searchBlob } from "../../src/run/results/blob-tools.ts";
import { createTimeBound } from "../../src/sandbox/time-bound.ts";
import { memoryBlobs } from "../../src/stores/blobs.ts";
import { scriptOf } from "../cli/flows.ts";
import { makeProject, readEvents, runProgram } from "../cli/program.ts";
import { LONG, oneOf } from "../harness/long.ts";
import { stdioServer } from "../services/mcp.ts";

/** Patterns and schemas of documents, skills and servers that would keep the program busy forever. */

/** For tests that start programs. */
const it = oneOf(2);

/** The product allows a second. The short form of the tests allows less. */
const LIMIT_MS = LONG ? 1000 : 200;
const SLOW = "^(a+)+$";
const TEXT = `${"a".repeat(60)}!`;
const ANYTHING = { type: "object", properties: { text: { type: "string", pattern: SLOW } } };

/** The rule of a check that has 2^40 schemas to look at. */
function doubling(): JsonSchema {
  const levels = Array.from({ length: 40 }, (_, level) => {
    const inner = { $ref: `#/$defs/l${level + 1}` };
    return [`l${level}`, { allOf: [inner, inner] }] as const;
  });
  return { $ref: "#/$defs/l0", $defs: { ...Object.fromEntries(levels), l40: { type: "string" } } };
}

function deniedBy(denyPattern: string): string {
  const mapping = { kind: "positional", param: "p", denyPattern, split: false } as never;
  try {
    return splitValue({ kind: "text", mapping, text: TEXT }, "t").join();
  } catch (error) {
    return String(error);
  }
}

const matches = { path: "a.text", matches: SLOW };

describe("a pattern that never ends", () => {
  beforeEach(() => setTimeBound(createTimeBound(LIMIT_MS)));

  const complaint = `pattern took over 1 s: ${SLOW}`;

  // All in one synchronous stretch, as a turn of many calls would be: together they take no longer than one alone.
  test("counts as not matching in every place of a schema, and the message says why", () => {
    expect({
      output: compileSchema({ type: "object", properties: { a: ANYTHING } })({ a: { text: TEXT } }),
      places: schemaProblems({ items: ANYTHING }, [{}, { text: TEXT }]),
      filled: fillValue(ANYTHING, { text: TEXT }).problems,
      name: compileSchema({ patternProperties: { [SLOW]: {} } })({ a: 1, [TEXT]: 1 }),
      negated: compileSchema({ not: { pattern: SLOW } })(TEXT),
    }).toEqual({
      output: [`a.text: ${complaint}`],
      places: [{ message: `1.text: ${complaint}`, path: "[1].text" }],
      filled: [{ message: `text: ${complaint}`, path: "text" }],
      name: [`${TEXT}: ${complaint}`],
      negated: [`the value: ${complaint}`],
    });
  });

  test("counts as not matching in every place of a rule or a tool, and the message says why", () => {
    const evaluator = { name: "e", kind: "value" as const, rule: { output_matches: [matches] } };
    const tool = { name: "t", input_schema: ANYTHING };
    const root = { a: { text: TEXT } };
    expect({
      input: misfitOf(tool, { text: TEXT }),
      requires: checkValues({ output_matches: [matches] }, root),
      eval: evaluateByCode(evaluator, root, [], () => false),
      denied: deniedBy(SLOW),
    }).toEqual({
      input: `invalid input: text: ${complaint}`,
      requires: [`a.text: ${complaint}`],
      eval: { name: "e", kind: "value", pass: false, reasoning: `a.text: ${complaint}` },
      denied: `SkillflowError: tool t: parameter 'p' is denied by the pattern ${SLOW}: pattern took over 1 s`,
    });
  });

  test("ends the search of a blob", async () => {
    const blobs = memoryBlobs();
    const { blob_id } = await blobs.create(Buffer.from(TEXT), "text/plain");
    await expect(searchBlob(blobs, { blob_id, query: SLOW, regex: true })).rejects.toThrow("takes too long");
  });

  test("does not affect other patterns of the same stretch", () => {
    expect(compileSchema({ pattern: SLOW })(TEXT)).toHaveLength(1);
    expect(compileSchema({ pattern: "^a+!$" })(TEXT)).toEqual([]);
    expect(compileSchema({ pattern: "^b" })(TEXT)).toEqual(['the value must match pattern "^b"']);
  });

  test("a thousand times takes no longer than once", () => {
    const names = Array.from({ length: 1000 }, (_, index) => `p${index}`);
    const output_matches = names.map((path) => ({ path, matches: `^(a+)+${path}$` }));
    const value = Object.fromEntries(names.map((name) => [name, TEXT]));
    const check = compileSchema({ additionalProperties: { pattern: SLOW } });
    expect(checkValues({ output_matches }, value)).toHaveLength(1000);
    for (const name of names) expect(check({ [name]: TEXT })).toHaveLength(1);
  });
});

describe("a schema that never ends", () => {
  test.each<[string, JsonSchema, unknown, string]>([
    ["by branching", doubling(), "x", "the value took over 1 s to check"],
    ["by comparing all with all", { uniqueItems: true }, manyItems(), "the value took over 1 s to check"],
    ["by itself", { $ref: "#/$defs/a", $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } } }, "x", "schema is recursive"],
  ])("%s fits nothing", (_, schema, value, complaint) => {
    setTimeBound(createTimeBound(LIMIT_MS));
    expect(compileSchema(schema)(value)).toEqual([expect.stringContaining(complaint)]);
  });
});

function manyItems(): object[] {
  return Array.from({ length: 60_000 }, (_, index) => ({ index }));
}

const server = stdioServer({
  "tools/list": () => ({
    tools: [
      {
        name: "look",
        description: "d",
        inputSchema: { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } },
      },
    ],
  }),
});
const FLOW = `
id: flow
name: Flow
entry: first
skills: { server: { mcp: ${JSON.stringify(server)} } }
nodes:
  first:
    name: First
    instruction: Say something.
    skills: [server]
    output: { type: object, properties: { text: { type: string, pattern: "${SLOW}" } } }
    eval: [{ name: e, kind: value, rule: { output_matches: [{ path: text, matches: "${SLOW}" }] } }]
    retry: { max: 500 }
edges: []
`;
const look = { calls: [{ tool: "server_look", input: { text: TEXT } }] };
const answers = Array.from({ length: 600 }, () => ({ text: JSON.stringify({ text: TEXT }) }));
const SCRIPT = scriptOf(look, ...answers);
const RUN = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r", "--trust-skill", "server"];

describe("a small schema that is slow to check", () => {
  beforeEach(() => setTimeBound(createTimeBound(LIMIT_MS)));

  /** Each is quick on its own, and contains no pattern. Only together they take forever. */
  const unknown = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`propetry${index}`, 0]));
  const named = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`property${index}`, {}]));
  const many = Array.from({ length: 400 }, () => ({ type: "string" }));

  it.each<readonly [string, JsonSchema, Json]>([
    ["as many rules for each of many items", { type: "array", items: { allOf: many } }, Array(20_000).fill(0)],
    ["names near to many others", { type: "object", properties: named, additionalProperties: false }, unknown],
  ])("is stopped: %s", (_, schema, value) => {
    expect(compileSchema(schema)(value)).toEqual(["the value took over 1 s to check"]);
  });
});

describe("a run whose document and server hold such patterns", () => {
  it("stays within its time limit", async () => {
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": SCRIPT });
    const { code, stderr } = await runProgram([...RUN, "--timeout", "2s"], { cwd });
    expect(code, stderr).toBe(5);
    const events = readEvents(cwd, "r");
    expect(JSON.stringify(events)).toContain("text: pattern took over 1 s");
    expect(events.at(-1)).toMatchObject({ type: "workflow:end", status: "stopped" });
  });

  it("warns about an edge that such a pattern closed", async () => {
    const rule = { output_matches: [{ path: "first.summary", matches: SLOW }] };
    const flow = {
      id: "flow",
      name: "Flow",
      entry: "first",
      nodes: { first: { name: "First", instruction: "Say it." }, last: { name: "Last", instruction: "Say it." } },
      edges: [{ from: "first", to: "last", if: rule }],
    };
    const cwd = makeProject({ "flow.yml": flow, "script.json": scriptOf({ text: TEXT }) });
    const { code, stdout, stderr } = await runProgram(["run", "flow.yml", ...RUN.slice(2, 6)], { cwd });
    expect(code, stderr).toBe(0);
    const message = `the edge from first to last is not followed, because its \`if\` took too long: first.summary: pattern took over 1 s: ${SLOW}`;
    const warnings = readEvents(cwd, "r").filter(({ type }) => type === "warning");
    expect(warnings).toEqual([expect.objectContaining({ node: "first", message })]);
    expect(stdout + stderr).toContain(message);
  });

  it("reacts to an interrupt", async () => {
    const cwd = makeProject({ "flow.yml": FLOW, "script.json": SCRIPT });
    const onStart = (child: ChildProcess) => {
      child.stdout?.once("data", () => child.kill("SIGINT"));
    };
    const { code, signal } = await runProgram([...RUN, "--stream"], { cwd, onStart });
    expect({ code, signal }).toEqual({ code: 130, signal: null });
  });
});
