import { describe, expect, test } from "vitest";
import { checkWorkflow } from "../../../../src/core/document/check/workflow.ts";
import { workflowSchema } from "../../../../src/core/document/workflow/workflow.ts";

const read = { id: "one", tool: "look" };

function workflowWith(node: object) {
  return { id: "flow", name: "Flow", entry: "look", nodes: { look: { name: "Look", ...node } }, edges: [] };
}

function problems(node: object): string[] {
  const parsed = workflowSchema().safeParse(workflowWith(node));
  if (!parsed.success) {
    return parsed.error.issues.map(({ path, message }) => `${path.slice(2).join(".")}: ${message}`);
  }
  return checkWorkflow(parsed.data, new Set()).map(({ path, message }) => `${path.slice(2).join(".")}: ${message}`);
}

describe("a steps node", () => {
  test.each([
    [{ steps: [read] }],
    [{ steps: [{ ...read, with: { "id?": "{{input.id}}" }, if: "input.id exists", on_error: "skip" }] }],
    [{ steps: [{ id: "one", first_of: [{ tool: "look" }, { tool: "peek", with: {} }] }], fail_soft: true }],
  ])("may be %j", (node) => {
    expect(problems(node)).toEqual([]);
  });

  test.each([
    [{ steps: [] }, /^steps: Too small/],
    [{ steps: Array.from({ length: 51 }, (_, index) => ({ ...read, id: `s${index}` })) }, /^steps: Too big/],
    [{ steps: [read, read] }, /^steps\.1\.id: another step has the id one$/],
    [{ steps: [{ ...read, id: "One" }] }, /^steps\.0\.id: must begin with a letter/],
    [{ steps: [{ ...read, id: "error" }] }, /not be error, evals or fail_soft/],
    [{ steps: [{ ...read, id: "fail_soft" }] }, /not be error, evals or fail_soft/],
    [{ steps: [{ id: "one" }] }, /^steps\.0: needs either tool or first_of$/],
    [{ steps: [{ ...read, first_of: [{ tool: "peek" }] }] }, /^steps\.0: needs either tool or first_of$/],
    [{ steps: [{ id: "one", first_of: [{ tool: "peek" }], with: {} }] }, /^steps\.0: with needs tool$/],
    [
      { steps: [read], instruction: "Look." },
      /a node must have exactly one of instruction, map, call, approval, steps$/,
    ],
    [{ steps: [read], retry: { max: 1, instruction: "again" } }, /^retry: is not a field of a node with steps$/],
    [{ steps: [{ ...read, if: "input.id ==" }] }, /^steps\.0\.if: the condition /],
    [{ steps: [read], eval: [{ name: "e", kind: "judge", rubric: "Good?" }] }, /a steps node accepts only value$/],
  ])("may not be %j", (node, problem) => {
    expect(problems(node)).toEqual([expect.stringMatching(problem)]);
  });
});
