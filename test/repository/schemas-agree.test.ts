import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkWorkflow } from "../../src/core/document/check/workflow.ts";
import { workflowSchema } from "../../src/core/document/workflow/workflow.ts";
import { publishedSchemas } from "../../src/core/outward/published.ts";
import { parseWorkflow } from "../../src/loaders/documents/workflow-file.ts";
import { LONG, runsOf } from "../harness/long.ts";

/** The published schema of workflows and the loader agree on every rule about a single field. */

type Doc = { [key: string]: unknown };
const validate = new Ajv2020({ strict: false }).compile(publishedSchemas().get("workflow") as object);
const FIELD_CODES = /^(SCHEMA|PARSE|SOURCE_.*|RESERVED_NODE_ID|INVALID_INLINE_SKILL|UNSUPPORTED_EVAL_POLICY)$/;
/** The content of an `output` is checked by JSON Schema alone. */
const isOurs = ({ path }: { readonly path: readonly PropertyKey[] }) => !(path[2] === "output" && path.length > 3);
const fieldFindings = (doc: unknown) =>
  parseWorkflow(JSON.stringify(doc), new Set()).diagnostics.filter(
    (found) => FIELD_CODES.test(found.code) && isOurs(found),
  );

const RICH = (): Doc => ({
  id: "checkout",
  name: "Checkout",
  description: "",
  entry: "collect",
  rules: ["Never restart.", { inline: "./x" }, { file: "r.md" }, { url: "https://x.test", type: "fetch" }],
  context: [],
  workflow_type: "monitor",
  model: "m",
  judge_model: "j",
  judge_budget: 0,
  writes: "deny",
  limits: {
    max_cost_usd: 0.5,
    max_tokens: 1000,
    max_steps: 20,
    timeout: "10m",
    per_day: { max_cost_usd: 5, max_runs: 9 },
  },
  state: { board: { keep: "90d", max_entries: 5000 }, "noise.2": {} },
  cool_down: { for: "6h", key: "input.alert" },
  inputs: {
    alert: { type: "string", required: true, description: "the alert", enum: ["a", "b"] },
    count: { type: "number", default: 1.5, enum: [1.5, 2] },
    deep: { type: "boolean", default: false },
    tags: { type: "string[]", default: [], enum: [["x"], []], required: false },
  },
  skills: {
    own: { name: "Own", description: "d", instruction: "i" },
    remote: { mcp: { type: "http", url: "https://x.test", headers: { A: "b" } } },
    local: { mcp: { command: "node", args: ["x"], env: { TOKEN: "a token" } } },
  },
  nodes: {
    collect: {
      name: "Collect",
      instruction: "./collect.md",
      skills: ["own"],
      tools: { allow: ["a"], deny: ["b"] },
      disallowed_tools: ["Bash"],
      max_turns: 3,
      model: "m",
      judge_model: "j",
      fail_soft: true,
      effects: "read",
      state: ["board"],
      timeout: 90,
      rules: { only: true, sources: ["r"] },
      context: ["c"],
    },
    assess: {
      name: "Assess",
      instruction: { inline: "Assess." },
      output: { type: "object", properties: { severity: { enum: ["SEV1"] } }, required: ["severity"] },
      requires: {
        output_required: ["input.alert", "any:collect.list[*].id"],
        output_matches: [
          { path: "collect.x", equals: null },
          { path: "a.b", in: [1] },
          { path: "c", matches: "^x" },
        ],
        on_fail: "skip",
      },
      eval: [
        {
          name: "v",
          kind: "value",
          rule: { output_required: ["x"], output_matches: [{ path: "y", equals: { z: 1 } }] },
        },
        {
          name: "f",
          kind: "function",
          rule: { any_tool_called: ["a"], all_tools_called: ["b"], no_tool_called: ["c"] },
        },
        { name: "j", kind: "judge", rubric: "good?", pass_when: "yes", model: "m" },
      ],
      eval_policy: "all_pass",
      retry: { max: 1, instruction: { auto: true } },
    },
    page: { name: "Page", instruction: { url: "https://x.test" }, retry: { max: 2, instruction: { reflect: "why?" } } },
    file: { name: "File", instruction: "File it.", retry: { max: 2, instruction: "Again." }, timeout: "500ms" },
  },
  edges: [
    { from: "collect", to: "assess" },
    { from: "assess", to: "page", when: "severity is SEV1", max_iterations: 1 },
    { from: "assess", to: "file" },
  ],
  anything: { else: [1] },
});

type Path = readonly (string | number)[];

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [
    path,
    ...Object.entries(value).flatMap(([key, member]) =>
      pathsOf(member, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

const PATHS = pathsOf(RICH()).filter((path) => path.length > 0);
/** A path into each object and list, through which its other fields are reached. */
const INTO_EACH = [...new Map(PATHS.map((path) => [path.slice(0, -1).join("\n"), path])).values()];
const VALUES: readonly unknown[] = [
  null,
  "",
  " ",
  "x",
  "a b",
  "a.b",
  "[*].b",
  "all:",
  "yes",
  "verify",
  "generic",
  "any_pass",
  "plan",
  "read",
  "http",
  "fetch",
  "string[]",
  "1d",
  "0s",
  "2h",
  0,
  1,
  2,
  -1,
  1.5,
  1e300,
  true,
  false,
  [],
  [""],
  [" "],
  ["x"],
  [1],
  [null],
  [[]],
  [{}],
  ["a", "a"],
  {},
  { x: 1 },
  { inline: "x" },
  { inline: "" },
  { inline: 1 },
  { inline: "x", file: "y" },
  { file: "x" },
  { file: "x", type: "fetch" },
  { url: "x", type: "git" },
  { text: "x" },
  { only: true },
  { sources: [] },
  { sources: "x" },
  { auto: true },
  { auto: false },
  { reflect: "" },
  { allow: [] },
  { allow: ["x"] },
  { max: 1 },
  { type: "string" },
  { type: "string", default: 1 },
  { type: "number", required: true, default: 1 },
  { type: "string[]", enum: [["a"], "b"] },
  { type: "string[]", enum: [1] },
  { type: "date" },
  { path: "a", equals: 1 },
  { path: "a", equals: 1, in: [] },
  { path: "a" },
  { output_required: [] },
  { output_required: ["a"] },
  { command: "x" },
  { url: "x" },
  { instruction: " " },
  { instruction: "x" },
  { name: "x" },
  { name: "n", instruction: "i" },
  { from: "a", to: "b" },
  { from: "a", to: "b", when: "" },
];

/** Changes the document in place, if it still has the path. */
function withValue(doc: Doc, path: Path, change: (parent: Doc, key: string | number) => void): Doc {
  let parent: unknown = doc;
  for (const key of path.slice(0, -1))
    parent = typeof parent === "object" && parent !== null ? (parent as Doc)[key] : undefined;
  const last = path.at(-1);
  if (typeof parent === "object" && parent !== null && last !== undefined) change(parent as Doc, last);
  return doc;
}

const put = (value: unknown) => (parent: Doc, key: string | number) => {
  parent[key] = structuredClone(value);
};
const drop = (parent: Doc, key: string | number) => {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
};
const add = (name: string, value: unknown) => (parent: Doc) => {
  if (!Array.isArray(parent)) parent[name] = value;
};

/** Finds problems without parsing text, which takes most of the time. */
function quickFindings(doc: Doc): readonly { readonly code: string; readonly message: string }[] {
  const checked = workflowSchema().safeParse(doc);
  if (!checked.success) return checked.error.issues;
  return checkWorkflow(checked.data, new Set()).filter((found) => FIELD_CODES.test(found.code) && isOurs(found));
}

function someFindings(doc: Doc, at: number): ReturnType<typeof quickFindings> {
  return LONG || at % 8 === 0 ? fieldFindings(doc) : quickFindings(doc);
}

function disagreement(
  doc: Doc,
  what: string,
  findings: ReturnType<typeof quickFindings> = fieldFindings(doc),
): string | undefined {
  const accepted = validate(doc);
  if (accepted === (findings.length === 0)) return undefined;
  return `${what}: the schema says ${accepted ? "yes" : JSON.stringify(validate.errors?.[0])}, the loader ${findings[0]?.message ?? "yes"}`;
}

/** In the long form all of them, otherwise one in twenty values at each field, and one in eight documents as a text. */
describe("the published schema and the loader", () => {
  test("accept the same rich document", () => {
    expect(fieldFindings(RICH())).toEqual([]);
    expect(validate(RICH())).toBe(true);
  });

  test("agree on every field with every kind of value", () => {
    const odd = PATHS.flatMap((path, at) =>
      VALUES.flatMap((value, index) => {
        if (!LONG && (at + index) % 20 !== 0) return [];
        const doc = withValue(RICH(), path, put(value));
        return disagreement(doc, `${path.join(".")} = ${JSON.stringify(value)}`, quickFindings(doc)) ?? [];
      }),
    );
    expect(odd).toEqual([]);
  });

  test("agree on every field left out", () => {
    const odd = PATHS.flatMap((path, at) => {
      const doc = withValue(RICH(), path, drop);
      return disagreement(doc, `without ${path.join(".")}`, someFindings(doc, at)) ?? [];
    });
    expect(odd).toEqual([]);
  });

  test.each(["extra", "verify", "constructor", "input"])("agree on a key %s in every object", (name) => {
    const odd = INTO_EACH.flatMap((path, at) => {
      const doc = withValue(RICH(), path, add(name, { name: "x", instruction: "y" }));
      return disagreement(doc, `${path.join(".")}: ${name}`, someFindings(doc, at)) ?? [];
    });
    expect(odd).toEqual([]);
  });

  test("agree on several changes at once", () => {
    const change = fc.tuple(
      fc.constantFrom(...PATHS),
      fc.oneof(fc.constantFrom(...VALUES), fc.jsonValue({ maxDepth: 3 })),
    );
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const doc = changes.reduce((made, [path, value]) => withValue(made, path, put(value)), RICH());
        expect(disagreement(doc, JSON.stringify(changes))).toBeUndefined();
      }),
      { numRuns: runsOf(300) },
    );
  });
});

describe("the loader", () => {
  test("gives a reason whenever it refuses", () => {
    fc.assert(
      fc.property(fc.constantFrom(...PATHS), fc.constantFrom(...VALUES), (path, value) => {
        const { workflow, diagnostics } = parseWorkflow(JSON.stringify(withValue(RICH(), path, put(value))), new Set());
        expect(workflow === undefined).toBe(diagnostics.some(({ severity }) => severity === "error"));
        for (const { message, line } of diagnostics) expect([message.length > 5, line]).toEqual([true, 1]);
      }),
      { numRuns: runsOf(400) },
    );
  });
});
