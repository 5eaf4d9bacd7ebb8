import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Workflow } from "../../src/core/document/workflow/workflow.ts";
import type { NodeTaint } from "../../src/core/outward/taint/taint.ts";
import { dotOf } from "../../src/reports/drawing/dot.ts";
import { draw, drawRun } from "../../src/reports/drawing/drawing.ts";
import { mermaidOf } from "../../src/reports/drawing/mermaid.ts";
import { embedSvg } from "../../src/reports/drawing/svg.ts";
import { runsOf } from "../harness/long.ts";
import { hostileText } from "./hostile-text.ts";
import { triageRun } from "./triage-run.ts";

const { record, result } = triageRun();

const workflowDot = (...given: Parameters<typeof draw>) => dotOf(draw(...given));
const workflowMermaid = (...given: Parameters<typeof draw>) => mermaidOf(draw(...given));
const runDot = (...given: Parameters<typeof drawRun>) => dotOf(drawRun(...given));
const runMermaid = (...given: Parameters<typeof drawRun>) => mermaidOf(drawRun(...given));

describe("a workflow's graph", () => {
  it("is a Mermaid flowchart of its nodes and its conditions", () => {
    const lines = workflowMermaid(record.workflow).split("\n");
    expect(lines[0]).toBe("flowchart TD");
    expect(lines).toContain('  n0("Gather evidence"):::plain');
    expect(lines).toContain("  n0 --> n1");
    expect(lines).toContain('  n2 -->|"no cause survives"| n7');
  });

  it("is a Graphviz document of the same graph", () => {
    const dot = workflowDot(record.workflow);
    expect(dot).toContain('n2 [label="Challenge the cause" class="plain"');
    expect(dot).toContain('n2 -> n7 [label=" no cause survives " class="open"]');
  });

  it("draws steps as code, with their tools, and marks the entry", () => {
    const ids = ["a", "b", "c", "d", "e", "f"];
    const steps = [
      { id: "first", first_of: [{ tool: "linear_find" }, { tool: "github_find" }] },
      ...ids.map((id) => ({ id, tool: `logs_${id}` })),
    ];
    const { nodes, ...rest } = graphOf(["look", "judge"], [""]);
    const workflow = { ...rest, nodes: { ...nodes, look: { name: "Look", steps } } } as Workflow;
    const lines = workflowMermaid(workflow).split("\n");
    const tools = ["linear_find", "github_find", "logs_a", "logs_b", "logs_c"];
    const entry = Object.keys(workflow.nodes).indexOf(workflow.entry);
    expect(lines.join("\n")).toContain(
      `[["Look<br/>${tools.join("<br/>").replaceAll("_", "#95;")}<br/>and 3 more"]]:::plain`,
    );
    expect(lines).toContain(`  class n${entry} entry`);
    expect(workflowDot(workflow)).toMatch(/label="Look\\nlinear_find.* style="filled/);
    expect(workflowDot(workflow)).toMatch(/label="judge".* style="rounded,filled/);
  });

  it("shows how often an edge may be followed", () => {
    expect(workflowMermaid(record.workflow)).toContain(
      "the evidence does not separate the hypotheses #40;at most 2×#41;",
    );
  });
});

describe("a workflow's graph with its taint", () => {
  const workflow = {
    ...graphOf(["a", "b", "c"], []),
    edges: [
      { from: "a", to: "b", when: "bad" },
      { from: "b", to: "c" },
    ],
  };
  const clean = { tainted: false, private: false, found: [] };
  const taintOf = (...nodes: readonly (readonly [string, Partial<NodeTaint>])[]) => ({
    nodes: new Map(nodes.map(([id, parts]) => [id, { ...clean, ...parts }])),
    findings: [],
  });

  it("is the same as without if there is none", () => {
    const none = taintOf(["a", {}], ["b", {}], ["c", {}]);
    expect(workflowMermaid(workflow, { taint: none })).toBe(workflowMermaid(workflow));
    expect(workflowDot(workflow, { taint: none })).toBe(workflowDot(workflow));
  });

  it("names what its colours mean, with a legend of the colours that are used", () => {
    const taint = taintOf(
      ["a", { tainted: true, found: ["taint.free_text_route"] }],
      ["b", { tainted: true, private: true, found: ["taint.write_held", "taint.private_to_public"] }],
      ["c", { private: true }],
    );
    const lines = workflowMermaid(workflow, { taint }).split("\n");
    expect(lines).toContain('  n0("a<br/>tainted"):::tainted');
    expect(lines).toContain('  n1("b<br/>tainted · private<br/>writes at once · private to public"):::tainted_private');
    expect(lines).toContain('  n2("c<br/>private"):::private');
    expect(lines).toContain('  n0 -->|"bad #40;by free text#41;"| n1');
    expect(lines).toContain("  class n1 flagged");
    expect(lines).toContain("  linkStyle 0 stroke:#b3261e,stroke-width:3px");
    expect(lines.filter((line) => /^ {2}l\d/.test(line))).toHaveLength(4);
    const dot = workflowDot(workflow, { taint });
    expect(dot).toContain(
      'n1 [label="b\\ntainted · private\\nwrites at once · private to public" class="tainted_private"',
    );
    expect(dot).toContain('n0 -> n1 [label=" bad (by free text) " class="flagged"');
    expect(dot).toContain("subgraph cluster_legend {");
    for (const line of dot.split("\n").filter((each) => /^ {2}n\d/.test(each))) expect(line).toMatch(DOT);
  });

  it("has in its legend only what is drawn", () => {
    const drawn = workflowMermaid(workflow, { taint: taintOf(["a", { tainted: true }]) });
    expect(drawn.split("\n").filter((line) => /^ {2}l\d/.test(line))).toEqual([
      '  l0["tainted#58; untrusted text reaches it"]:::tainted',
    ]);
    expect(drawn).not.toContain("flagged");
  });
});

describe("a run's graph", () => {
  it("shows outcomes, visits, and the path that was taken", () => {
    const lines = runMermaid(record, result).split("\n");
    expect(lines).toContain('  n0("Gather evidence ×2<br/>#9650; degraded"):::degraded');
    expect(lines).toContain('  n3("Ask the owner"):::skipped');
    expect(lines).toContain('  n4("Page the on-call engineer"):::failed');
    expect(lines).toContain('  n7("Escalate"):::unvisited');
    expect(lines).toContain('  n0 ==>|"2×"| n1');
    expect(lines).toContain('  n2 -->|"no cause survives"| n7');
    expect(lines).toContain("  linkStyle 0,1,2,3,5,6,8 stroke-width:3px");
  });

  it("distinguishes edges between the same nodes by their conditions", () => {
    const workflow = graphOf(["a", "b"], ["when it rains", "when it shines"]);
    const trace = { ...result.trace, steps: [], edges: [{ from: "a", to: "b", reason: "when it shines" }] };
    const lines = runDot({ workflow }, { ...result, trace })
      .split("\n")
      .filter((line) => line.includes("->"));
    expect(lines.map((line) => line.includes('class="followed"'))).toEqual([false, true]);
  });
});

describe("every graph", () => {
  it("is well-formed for any node id, any name and any condition", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(hostileText, { minLength: 1, maxLength: 5 }),
        fc.array(hostileText, { maxLength: 3 }),
        (ids, conditions) => {
          const workflow = graphOf(ids, conditions);
          const trace = {
            ...result.trace,
            steps: [{ node: ids[0] ?? "", status: "success" as const, iteration: 2 }],
            edges: [],
          };
          const run = { ...result, trace };
          for (const text of [workflowMermaid(workflow), runMermaid({ workflow }, run)]) expectMermaid(text);
          for (const text of [workflowDot(workflow), runDot({ workflow }, run)]) expectDot(text);
        },
      ),
      { numRuns: runsOf(500) },
    );
  });

  it("leaves out edges to missing nodes", () => {
    const workflow = { ...graphOf(["a"], []), edges: [{ from: "a", to: "gone" }] };
    expect(workflowMermaid(workflow)).not.toContain("-->");
  });
});

describe("a drawing for a page", () => {
  it("is the bare element, without prolog, comments and titles", () => {
    const drawn =
      '<?xml version="1.0"?>\n<!DOCTYPE svg>\n<svg width="131pt" height="133pt"\n viewBox="0 0 1 1">\n<!-- n0 -->\n<g><title>n0</title>\n<text>x</text></g></svg>\n';
    expect(embedSvg(drawn)).toBe(
      '<svg class="graph" role="img" aria-label="Graph of the workflow" width="131" height="133"\n viewBox="0 0 1 1">\n<g><text>x</text></g></svg>',
    );
  });
});

function graphOf(ids: readonly string[], conditions: readonly string[]): Workflow {
  const [first = ""] = ids;
  const nodes = Object.fromEntries(ids.map((id) => [id, { name: id, instruction: "x" }]));
  const edges = conditions.map((when) => ({ from: first, to: ids.at(-1) ?? "", when }));
  return { id: "w", name: "w", entry: first, nodes, edges };
}

const LABEL = String.raw`"(?:[\p{L}\p{N}\p{M} .,×·…-]|#\d+;)+"`;
const MERMAID = new RegExp(
  [
    "flowchart TD",
    String.raw`  n\d+\(${LABEL}\):::\w+`,
    String.raw`  n\d+ (?:-->|==>)(?:\|${LABEL}\|)? n\d+`,
    String.raw`  class n[\d,n]+ entry`,
    String.raw`  classDef \w+ [\w#:, -]+`,
    String.raw`  linkStyle [\d,]+ stroke-width:3px`,
  ]
    .map((line) => `^${line}$`)
    .join("|"),
  "u",
);

function expectMermaid(text: string): void {
  for (const line of text.trimEnd().split("\n")) expect(line).toMatch(MERMAID);
}

const QUOTED = String.raw`"(?:[^"\\&]|\\[\\"n]|&amp;)*"`;
const DOT = new RegExp(
  String.raw`^(?:digraph workflow \{|\}|  (?:graph|node|edge|n\d+|n\d+ -> n\d+) \[(?: ?\w+=(?:${QUOTED}|[\w.]+))+\])$`,
  "u",
);

function expectDot(text: string): void {
  for (const line of text.trimEnd().split("\n")) expect(line).toMatch(DOT);
}
