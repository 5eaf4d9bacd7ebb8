import { expect, test } from "vitest";
import { requiredOf } from "../../../src/app/skills/required.ts";
import type { NodeParts } from "../../harness/harness.ts";
import { workflowOf } from "../../harness/harness.ts";

const issue: NonNullable<NodeParts["steps"]> = [
  { id: "issue", first_of: [{ tool: "linear_create_issue" }, { tool: "github_create_issue" }] },
];
const file: NodeParts = { skills: ["linear", "github"], steps: issue };

test.each<[string, Parameters<typeof workflowOf>[0], readonly string[], readonly string[]]>([
  ["one entry of a first_of", { file }, ["linear"], []],
  ["all entries of a first_of", { file }, ["linear", "github"], ["linear", "github"]],
  [
    "a step without alternative",
    { file: { ...file, steps: [...issue, { id: "tell", tool: "github_list", on_error: "skip" }] } },
    ["github"],
    ["github"],
  ],
  ["a skill that no step calls", { file: { ...file, skills: ["linear", "github", "slack"] } }, ["slack"], ["slack"]],
  ["a skill that another node lists, too", { file, judge: { skills: ["linear"] } }, ["linear"], ["linear"]],
  ["a skill of an inner document", { file }, ["sentry"], ["sentry"]],
])("--require-skills: %s", (_, nodes, lost, needed) => {
  expect(requiredOf(workflowOf(nodes), new Set(lost), new Map())).toEqual(needed);
});
