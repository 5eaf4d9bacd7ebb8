import { expect, it } from "vitest";
import { readWorkflow } from "../../src/app/documents.ts";
import { readInner } from "../../src/app/runs/inner.ts";
import { makeProject } from "../cli/program.ts";
import { workspaceAt } from "../protocol/webhooks/listening.ts";

it.each([
  ["of a file", "map: { over: input.list, as: x, concurrency: 2 }, workflow: ./in.yml", ["WORKSPACE_SHARED"]],
  ["of a file, one at a time", "map: { over: input.list, as: x }, workflow: ./in.yml", []],
  [
    "inline, in a call",
    "map: { over: input.list, as: x, concurrency: 2 }, entry: c, nodes: { c: { name: C, call: ./in.yml } }, edges: []",
    ["WORKSPACE_SHARED"],
  ],
])("warns about items that share a working copy: %s", (_what, map, codes) => {
  const cwd = makeProject({
    "w.yml": `id: w\nname: W\nentry: a\nnodes: { a: { name: A, ${map} } }\nedges: []\n`,
    "in.yml":
      "id: in\nname: In\nentry: x\nnodes: { x: { name: X, instruction: Do., skills: [workspace] } }\nedges: []\n",
  });
  const workspace = workspaceAt(cwd);
  const { workflow, diagnostics, ...read } = readWorkflow(workspace, "w.yml");
  if (!workflow) throw new Error(JSON.stringify(diagnostics));
  const { findings } = readInner(workspace, { ...read, workflow, document: "w.yml" });
  expect(findings.map(({ code }) => code)).toEqual(codes);
});

it("reads a file once if several nodes call it", () => {
  const calls = "nodes: { a: { name: A, call: ./in.yml }, b: { name: B, call: ./in.yml } }";
  const cwd = makeProject({
    "w.yml": `id: w\nname: W\nentry: a\n${calls}\nedges: [{ from: a, to: b }]\n`,
    "in.yml": "id: in\nname: In\nentry: x\nnodes: { x: { name: X, instruction: Do. } }\nedges: []\n",
  });
  const workspace = workspaceAt(cwd);
  const { workflow, ...read } = readWorkflow(workspace, "w.yml");
  if (!workflow) throw new Error("w.yml is not sound");
  const { inner } = readInner(workspace, { ...read, workflow, document: "w.yml" });
  expect(inner.get("b")?.workflow).toBeDefined();
  expect(inner.get("b")?.workflow).toBe(inner.get("a")?.workflow);
});
