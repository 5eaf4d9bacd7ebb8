import { describe, expect, it } from "vitest";
import { checkInput, checkWorkflow } from "../../../../src/core/document/check/workflow.ts";
import type { Workflow } from "../../../../src/core/document/workflow/workflow.ts";
import { isMadeBy } from "../../../../src/core/engine/decide/inner/reading.ts";
import type { RecordedCall } from "../../../../src/core/engine/event/call.ts";
import { proofOf } from "../../../../src/core/engine/tools/proposal.ts";
import { nodePaths } from "../../../../src/core/engine/tools/workspace.ts";

/** The paths that a node may change, and the results of a run that prove a change. */

const calls = (
  ...made: readonly (readonly [tool: string, input: RecordedCall["input"], output: RecordedCall["input"]])[]
) =>
  made.map(([tool, input, output], index): RecordedCall => {
    return { ref: `r${index + 1}`, node: "a", tool: `workspace_${tool}`, input, outcome: { output } };
  });

describe("the paths of a node", () => {
  it.each([
    [undefined, {}, undefined],
    [["src/**"], {}, ["src/**"]],
    [["{{input.globs}}", "x"], { globs: ["test/**", "b"] }, ["test/**", "b", "x"]],
    [["{{input.glob}}/**"], { glob: "test" }, ["test/**"]],
    // A missing value, or an empty list, permits nothing.
    [["{{input.globs}}"], {}, []],
    [["{{input.globs}}"], { globs: [] }, []],
  ])("allow %j with the input %j", (allow, input, expected) => {
    expect(nodePaths({ paths: { allow } }, { kept: [], input }).allow).toEqual(expected);
  });

  it("close everything if a value of deny is missing", () => {
    expect(nodePaths({ paths: { deny: ["{{input.globs}}"] } }, { kept: [], input: {} }).deny).toEqual(["**"]);
  });

  it.each([
    ["{{input.globs}}", []],
    ["{{input.maybe}}/**", ["WORKSPACE_FIELD"]],
    ["{{input.count}}", ["WORKSPACE_FIELD"]],
    ["{{input.gone}}", ["WORKSPACE_FIELD"]],
    ["{{a.summary}}", ["WORKSPACE_FIELD"]],
  ])("may name inputs that always have a value: %s", (glob, codes) => {
    const inputs = {
      globs: { type: "string[]" as const, default: ["a"] },
      maybe: { type: "string" as const, required: true, unless: "run" },
      count: { type: "number" as const, default: 1 },
    };
    const node = { name: "A", instruction: "Go.", skills: ["workspace"], workspace: { paths: { allow: [glob] } } };
    const workflow = { id: "w", name: "W", entry: "a", inputs, nodes: { a: node }, edges: [] } as Workflow;
    const found = checkWorkflow(workflow, new Set(["workspace"]));
    expect(found.flatMap(({ code }) => (code === "WORKSPACE_FIELD" ? [code] : []))).toEqual(codes);
  });
});

describe("the calls of a node", () => {
  it.each([
    [undefined, "each", undefined, "each", true],
    [undefined, "other", undefined, "each", false],
    ["each[one]", "inner", undefined, "each", true],
    ["each[one]/deep", "inner", undefined, "each", true],
    ["sub", "inner", undefined, "sub", true],
    ["sub/deep[a]", "inner", undefined, "sub", true],
    ["subway", "inner", undefined, "sub", false],
    ["each[one]", "each", "each[two]", "each", false],
    ["each[one]", "inner", "each[one]", "inner", true],
    ["each[one]/inner", "x", "each[one]", "inner", true],
  ])("at %s by %s, seen from %s, are those of %s: %s", (at, node, own, id, expected) => {
    expect(isMadeBy({ at, node } as RecordedCall, own, id)).toBe(expected);
  });
});

describe("an input that another one replaces", () => {
  const workflow = {
    inputs: { issue: { type: "string", required: true, unless: "run" } },
  } as Partial<Workflow> as Workflow;

  it.each([
    [{}, 1],
    [{ run: null }, 1],
    [{ run: { id: "r" } }, 0],
    [{ issue: "x" }, 0],
    [{ issue: " " }, 1],
    [{ issue: "", run: { id: "r" } }, 0],
  ])("is missing in %j: %i", (input, count) => {
    expect(checkInput(workflow, input).diagnostics).toHaveLength(count);
  });
});

describe("a proof", () => {
  const test = { command: "npm test", files: ["t.js"] };
  const edit = (path: string) => ["edit_file", { path }, { path, change: "changed", sha256: "0" }] as const;
  const base = (code: number) => ["run_command", { ...test, at: "base" }, { exit_code: code }] as const;
  const pass = (code: number) => ["run_command", test, { exit_code: code }] as const;
  const with_ = (code: number, input: object, output: object = {}) =>
    ["run_command", { command: "npm test", at: "base", ...input }, { exit_code: code, ...output }] as const;
  const suite = ["run_command", { command: "npm test" }, { exit_code: 0 }] as const;
  const one = ["run_command", { command: "node --test ./t.js" }, { exit_code: 0 }] as const;
  const proven = (before: string, after: string) => ({ ...test, before: 1, after: 0, references: [before, after] });

  it.each([
    ["a failure, an edit and a pass", [edit("t.js"), base(1), edit("a.js"), pass(0)], proven("r2", "r4")],
    ["a failure after the pass", [edit("t.js"), edit("a.js"), pass(0), base(1)], proven("r4", "r3")],
    ["a pass before the last edit", [base(1), pass(0), edit("a.js")], undefined],
    ["a failure before the test was changed", [base(1), edit("t.js"), pass(0)], undefined],
    ["a pass at the base before the test was changed", [base(0), edit("t.js"), base(1), pass(0)], proven("r3", "r4")],
    ["a pass at the base", [base(1), base(0), pass(0)], undefined],
    ["a failure for want of the test", [with_(1, test, { missing: ["t.js"] }), edit("a.js"), pass(0)], undefined],
    ["a failure for want of the program", [base(127), edit("a.js"), pass(0)], undefined],
    ["a pass without the test", [base(1), with_(0, test, { missing: ["t.js"] }), edit("a.js"), pass(0)], undefined],
    [
      "a file that is spelled otherwise, which was changed after it failed",
      [with_(1, { files: ["./t.js"] }), edit("t.js"), pass(0)],
      undefined,
    ],
    ["a file that is spelled otherwise", [with_(1, { files: ["./t.js"] }), pass(0)], proven("r1", "r2")],
    [
      "a test of `with` that was changed after it failed",
      [with_(1, { with: ["test/**"] }), edit("test/t.js"), suite],
      undefined,
    ],
    [
      "another file than those of `with` that was changed",
      [with_(1, { with: ["test/**"] }), edit("src/a.js"), suite],
      { command: "npm test", before: 1, after: 0, references: ["r1", "r3"] },
    ],
    [
      "a test that the command names, changed after it failed",
      [with_(1, { command: "node --test ./t.js" }), edit("t.js"), one],
      undefined,
    ],
    [
      "a test that a part of a word names, changed after it failed",
      [
        with_(1, { command: "pytest ./t.py::case" }),
        edit("t.py"),
        ["run_command", { command: "pytest ./t.py::case" }, { exit_code: 0 }],
      ],
      undefined,
    ],
    [
      "another command at the base",
      [["run_command", { command: "x", at: "base" }, { exit_code: 1 }], pass(0)],
      undefined,
    ],
  ] as const)("%s", (_what, made, expected) => {
    expect(proofOf(calls(...made))).toEqual(expected);
  });
});
