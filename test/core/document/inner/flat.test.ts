import { describe, expect, it } from "vitest";
import { flatWorkflow } from "../../../../src/core/document/inner/flat.ts";
import { findTaint } from "../../../../src/core/outward/taint/taint.ts";
import type { DeclaredSkill } from "../../../../src/core/outward/taint/tools.ts";
import { skillOf, toolOf, workflowOf } from "../../../harness/harness.ts";

const INSIDE = workflowOf({ look: { skills: ["tickets"] }, say: { skills: ["chat"] } }, ["look -> say"]);
const OUTSIDE = workflowOf({ before: {}, each: { call: "./inside.yml" }, after: {} }, [
  "before -> each",
  "each -> after",
]);
const flat = flatWorkflow(OUTSIDE, new Map([["each", { workflow: INSIDE }]]));

describe("a workflow with its inner workflows flattened", () => {
  it("has edges from before a node into its inner workflow, and out of that to what follows", () => {
    expect(Object.keys(flat.nodes)).toEqual(["before", "each", "after", "each/look", "each/say"]);
    const edges = flat.edges.map(({ from, to }) => `${from} -> ${to}`);
    expect(edges).toEqual(
      expect.arrayContaining([
        "before -> each",
        "before -> each/look",
        "each/look -> each/say",
        "each/say -> each",
        "each -> after",
      ]),
    );
  });

  it("is unchanged without inner workflows", () => {
    expect(flatWorkflow(INSIDE, new Map())).toBe(INSIDE);
  });

  it("passes untrusted text from an inner node to what follows, and not to what precedes", () => {
    const declare = (id: string, tool: ReturnType<typeof toolOf>): [string, DeclaredSkill] => {
      const record = skillOf(id, [tool]);
      return [id, { open: record, whole: record, unknown: [] }];
    };
    const skills = new Map([
      declare("tickets", toolOf("tickets", "find")),
      declare("chat", toolOf("chat", "post", { effect: "write" })),
    ]);
    const { nodes, findings } = findTaint({ workflow: { ...flat, inputs: {} }, skills, writes: "allow" });
    expect([...nodes].flatMap(([id, { tainted }]) => (tainted ? [id] : []))).toEqual(
      expect.arrayContaining(["each", "after", "each/look", "each/say"]),
    );
    expect(nodes.get("before")?.tainted).toBe(false);
    expect(findings.map(({ code, message }) => `${code} ${message}`)).toEqual(
      expect.arrayContaining([expect.stringContaining('taint.write_held node "each/say" can write without review')]),
    );
  });
});
