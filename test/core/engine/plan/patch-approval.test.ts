import { expect, test } from "vitest";
import { type Operation, operationDigest } from "../../../../src/core/engine/event/operation.ts";
import { branchOf } from "../../../../src/core/engine/event/patch.ts";
import { plannedIn } from "../../../../src/core/engine/result/approval.ts";
import { commandMs } from "../../../../src/core/engine/tools/workspace.ts";

/** The content that an approval of a patch covers, and the time limit of a command. */

const input = { title: "Fix", body: "b", draft: true, labels: ["l"] };
const content = {
  ...{ skill: "workspace", tool: "propose_change", input, kind: "patch" as const },
  ...{ base: "0".repeat(40), diff: "diff", files: [] },
};
const digest = operationDigest(content);
const whole = {
  ...{ ...content, ...input, digest, branch: branchOf("Fix", digest) },
  ...{ id: "op-1", node: "n", visit: 1, summary: "", effect: "write", audience: "team", sources: [], refers: [] },
} as Operation;
const review = (operation: Operation) =>
  plannedIn({ run: { operations: [{ operation, failedIn: new Set(), application: {} }] } } as never);

test("an unaltered patch can be reviewed", () => {
  expect(review(whole)).toHaveLength(1);
});

test.each([
  { title: "Other" },
  { body: "other" },
  { draft: false },
  { labels: [] },
  { branch: "release" },
  { diff: "x" },
])("a record with %j is altered", (altered) => {
  expect(() => review({ ...whole, ...altered })).toThrow("the run's record was altered");
});

test("a branch is named by the letters of the title without their marks", () => {
  expect(branchOf("Füge Menü hinzu", digest)).toBe(`skillflow/fuge-menu-hinzu-${digest.slice(0, 12)}`);
});

test("a command's time limit includes that of its set-up", () => {
  expect(commandMs({ command: "x" }, {})).toBeGreaterThan(300_000);
  expect(commandMs({ command: "x", timeout: 900 }, { setup: "npm ci" })).toBeGreaterThan(900_000 + 30 * 60_000);
});
