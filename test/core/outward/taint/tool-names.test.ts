import { describe, expect, test } from "vitest";
import { checkToolNames } from "../../../../src/core/outward/taint/step-tools.ts";
import type { DeclaredSkill } from "../../../../src/core/outward/taint/tools.ts";
import { type NodeParts, skillOf, toolOf, workflowOf } from "../../../harness/harness.ts";

const declare = (id: string, tools: readonly string[], parts: Partial<DeclaredSkill> = {}): DeclaredSkill => {
  const record = skillOf(
    id,
    tools.map((tool) => toolOf(id, tool)),
  );
  return { open: record, whole: record, unknown: [], ...parts };
};
const skills = new Map([
  ["logs", declare("logs", ["search", "tail"])],
  ["pager", declare("pager", [], { unknown: [toolOf("pager", "reads", { exposed: "pager_*" })] })],
]);
const told = (node: NodeParts) =>
  checkToolNames(workflowOf({ a: node }), skills).map(({ path, hint }) => [path.slice(2).join("."), hint]);
const evaluates = (rule: object): NodeParts => ({ eval: [{ name: "x", kind: "function", rule }] });

describe("the name of a tool", () => {
  test.each<[string, NodeParts]>([
    ["as the model sees it is known", { skills: ["logs"], tools: { allow: ["logs_search"] } }],
    ["as its skill has it is known", { skills: ["logs"], tools: { deny: ["search"] } }],
    ["of the executor is known", { skills: ["logs"], ...evaluates({ no_tool_called: ["read_blob"] }) }],
    ["may be one of a server that is not open", { skills: ["logs", "pager"], tools: { allow: ["pager_page"] } }],
    ["may belong to an unknown skill", { skills: ["logs", "nope"], tools: { allow: ["nope_do"] } }],
    ["may be one that the node itself makes", { skills: ["tool-maker"], ...evaluates({ all_tools_called: ["mine"] }) }],
    ["is known where the filter keeps it out", { skills: ["logs"], tools: { allow: ["tail"], deny: ["search"] } }],
  ])("%s", (_, node) => expect(told(node)).toEqual([]));

  test.each<[string, NodeParts, [string, string | undefined][]]>([
    [
      "that no skill of the node has is reported, with the nearest",
      { skills: ["logs"], tools: { allow: ["logs_serch", "logs_tail"] } },
      [["tools.allow.0", 'did you mean "logs_search"?']],
    ],
    [
      "is reported in evaluators too",
      { skills: ["logs"], ...evaluates({ any_tool_called: ["tail"], no_tool_called: ["rm"] }) },
      [["eval.0.rule.no_tool_called.0", undefined]],
    ],
    ["is reported for a node without skills", { tools: { deny: ["logs_tail"] } }, [["tools.deny.0", undefined]]],
  ])("%s", (_, node, expected) => expect(told(node)).toEqual(expected));
});
