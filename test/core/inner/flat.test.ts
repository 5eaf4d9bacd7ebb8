import { describe, expect, it } from "vitest";
import { flatWorkflow } from "../../../src/core/inner/flat.ts";
import { findTaint } from "../../../src/core/taint/taint.ts";
import { workflowOf } from "../../harness.ts";

const INSIDE = workflowOf({ look: { skills: ["tickets"] }, say: { skills: ["chat"] } }, ["look -> say"]);
const OUTSIDE = workflowOf({ before: {}, each: { call: "./inside.yml" }, after: {} }, [
  "before -> each",
  "each -> after",
]);
const flat = flatWorkflow(OUTSIDE, new Map([["each", { workflow: INSIDE }]]));

describe("a workflow with those inside it laid flat", () => {
  it("leads from before a node into what it runs, and out of that to what comes after", () => {
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

  it("is the workflow itself where nothing is inside", () => {
    expect(flatWorkflow(INSIDE, new Map())).toBe(INSIDE);
  });

  it("carries strangers' text from a node inside to what comes after, and not to what came before", () => {
    const tool = (effect: "read" | "write") => ({
      ...{ name: "x", description: "", input_schema: {}, effect, idempotent: true },
      origin: "stranger" as const,
    });
    const skills = new Map(
      (["tickets", "chat"] as const).map((id) => [
        id,
        { tools: [{ ...tool(id === "chat" ? "write" : "read"), skill: id, exposed: `${id}_x` }], unknown: [] },
      ]),
    );
    const { nodes, findings } = findTaint({ workflow: flat, skills: skills as never, writes: "allow" });
    expect([...nodes].flatMap(([id, { tainted }]) => (tainted ? [id] : []))).toEqual(
      expect.arrayContaining(["each", "after", "each/look", "each/say"]),
    );
    expect(nodes.get("before")?.tainted).toBe(false);
    expect(findings.map(({ code, message }) => `${code} ${message}`)).toEqual(
      expect.arrayContaining([expect.stringContaining('taint.write_held node "each/say" may write at once')]),
    );
  });
});
