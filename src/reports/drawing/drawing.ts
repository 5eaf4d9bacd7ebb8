import { firstOf, shortText } from "../../core/base/preview.ts";
import { parseCondition, showCondition } from "../../core/document/condition.ts";
import { documentOf, type InnerWorkflows } from "../../core/document/inner/place.ts";
import type { Edge, WorkflowNode } from "../../core/document/workflow/node.ts";
import { callsOf } from "../../core/document/workflow/step.ts";
import type { Workflow } from "../../core/document/workflow/workflow.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { RunResult } from "../../core/engine/result/result.ts";
import type { TaintCode } from "../../core/outward/taint/step-faults.ts";
import type { NodeTaint, Taint } from "../../core/outward/taint/taint.ts";

/** Draws a workflow with a run's path: outcomes, visits, and how often each edge was followed. */
export function drawRun({ workflow, inner = {} }: Pick<RunRecord, "workflow" | "inner">, result: RunResult): Drawing {
  return draw(workflow, { inner: new Map(Object.entries(inner)), result });
}

type Outcome = "success" | "degraded" | "failed" | "skipped" | "unvisited" | "plain";

/** Graph with ids that are safe in every notation. */
export interface Drawing extends Part {
  readonly legend: readonly LegendRow[];
}

interface Part {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  /** Inner workflows, each drawn next to its node. */
  readonly inner: readonly Inner[];
}

export interface Inner extends Part {
  readonly id: string;
  readonly label: string;
  /** Node that runs it, and its entry node. */
  readonly from: string;
  readonly to: string;
}

export interface DrawnNode {
  readonly id: string;
  readonly label: string;
  readonly lines: readonly string[];
  readonly entry: boolean;
  readonly kind: Kind;
  readonly look: Outcome | Mark;
  /** True if `validate` reports a finding. */
  readonly flagged: boolean;
}

export type Kind = "instruction" | "map" | "call" | "approval" | "steps";

export interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly follows: number;
  readonly flagged: boolean;
}

const LONGEST_LABEL = 90;

/** Maximum number of nodes to draw of an inner workflow, so that the outer one stays visible. */
const MOST_INNER = 40;

interface Known {
  readonly inner?: InnerWorkflows;
  readonly taint?: Taint | undefined;
  readonly result?: RunResult | undefined;
}

export function draw(workflow: Workflow, known: Known = {}): Drawing {
  const part = drawPart(workflow, known, "", "n");
  const { nodes, edges } = everything(part);
  const isFound = [...nodes, ...edges].some(({ flagged }) => flagged);
  const looks = new Set<string>([...nodes.map(({ look }) => look), ...(isFound ? ["flagged"] : [])]);
  return { ...part, legend: MEANINGS.filter(({ look }) => looks.has(look)) };
}

/** Returns all nodes and edges, including those of inner workflows. */
export function everything(part: Part): Pick<Part, "nodes" | "edges"> {
  const inside = part.inner.map(everything);
  return {
    nodes: [...part.nodes, ...inside.flatMap(({ nodes }) => nodes)],
    edges: [...part.edges, ...inside.flatMap(({ edges }) => edges)],
  };
}

/** Draws a workflow at the path of the node that runs it. The path of the outermost workflow is empty. */
function drawPart(workflow: Workflow, known: Known, path: string, prefix: string): Part {
  const { result, taint } = known;
  const shown = Object.entries(workflow.nodes).slice(0, path === "" ? undefined : MOST_INNER);
  const ids = new Map(shown.map(([node], index) => [node, `${prefix}${index}`]));
  const went = path === "" ? ownWay(result) : innerWay(result, path);
  const nodes = shown.map(([node, parts]): DrawnNode => {
    const { name, map, call, approval, steps } = parts;
    const own = path === "" ? node : `${path}/${node}`;
    const times = went.visits.get(node) ?? 0;
    const marks = marksOf(taint?.nodes.get(own));
    const came = result ? (went.outcomes.get(node) ?? "unvisited") : "plain";
    return {
      id: ids.get(node) ?? "",
      label: shortText(name, LONGEST_LABEL) + (times > 1 ? ` ×${times}` : ""),
      entry: node === workflow.entry,
      kind: map ? "map" : call !== undefined ? "call" : approval ? "approval" : steps ? "steps" : "instruction",
      flagged: marks.flagged,
      lines: [
        ...kindLines(parts),
        ...(came === "degraded" ? ["▲ degraded"] : []),
        ...(result?.waiting?.some((waiting) => documentOf(waiting.node) === own) ? ["◆ waiting"] : []),
        ...marks.lines,
      ],
      look: markOf(taint?.nodes.get(own)) ?? came,
    };
  });
  const edges = workflow.edges.flatMap(({ from, to, if: written, when, max_iterations }): DrawnEdge[] => {
    const [start, end] = [ids.get(from), ids.get(to)];
    if (start === undefined || end === undefined) return [];
    const rule = written === undefined ? "" : parseCondition(written);
    const condition = written === undefined ? undefined : typeof rule === "string" ? "" : showCondition(rule);
    const times = went.follows.get(edgeKey(from, to, when ?? condition ?? "only path")) ?? 0;
    const flagged = isFlagged({ when }, taint?.nodes.get(path === "" ? from : `${path}/${from}`));
    const bound = max_iterations === undefined ? "" : `at most ${max_iterations}×`;
    const label = [
      times > 1 ? `${times}×` : "",
      // The condition that code evaluates comes first.
      shortText(
        [condition === undefined ? "" : `if ${condition}`, when?.trim() ? when : ""].filter(Boolean).join(", and "),
        LONGEST_LABEL,
      ),
      bound && `(${bound})`,
      flagged ? "(by free text)" : "",
    ]
      .filter(Boolean)
      .join(" ");
    return [{ from: start, to: end, label, follows: times, flagged }];
  });
  return { nodes, edges, inner: shown.flatMap(([node]) => drawInner(node, ids.get(node) ?? "", known, path)) };
}

function drawInner(node: string, from: string, known: Known, path: string): Inner[] {
  const own = path === "" ? node : `${path}/${node}`;
  const workflow = known.inner?.get(own)?.workflow;
  if (!workflow) return [];
  const part = drawPart(workflow, known, own, `${from}_`);
  const to = part.nodes.find(({ entry }) => entry)?.id ?? `${from}_0`;
  const hidden = Object.keys(workflow.nodes).length - part.nodes.length;
  const label = `${shortText(workflow.name, LONGEST_LABEL)}${hidden > 0 ? ` (${hidden} more nodes)` : ""}`;
  return [{ ...part, id: `in_${from}`, label, from, to }];
}
const MOST_TOOLS = 5;

function kindLines({ map, call, approval, steps = [] }: WorkflowNode): string[] {
  if (map) return [`for each ${map.as} of ${map.over}`];
  if (call !== undefined) return [`runs ${call}`];
  if (approval) return ["asks for approval"];
  const tools = [...new Set(steps.flatMap(callsOf).map(({ tool }) => shortText(tool, LONGEST_LABEL)))];
  return firstOf(tools, MOST_TOOLS, (left) => `and ${left} more`);
}

function ownWay(result: RunResult | undefined) {
  const degraded = new Set(result?.degraded.map(({ node }) => node));
  const outcomes = new Map<string, Outcome>();
  const visits = new Map<string, number>();
  for (const { node, status, iteration } of result?.trace.steps ?? []) {
    outcomes.set(node, status === "success" && degraded.has(node) ? "degraded" : status);
    visits.set(node, Math.max(iteration, visits.get(node) ?? 0));
  }
  return { outcomes, visits, follows: followsIn(result ? [result.trace] : []) };
}

/** Combines all runs of an inner workflow. A node that only sometimes failed counts as degraded. */
function innerWay(result: RunResult | undefined, path: string) {
  const traces = Object.entries(result?.trace.inner ?? {}).flatMap(([place, trace]) =>
    documentOf(place) === path ? [trace] : [],
  );
  const came = new Map<string, Set<Outcome>>();
  const visits = new Map<string, number>();
  for (const { steps } of traces) {
    for (const { node, status, retryAttempt } of steps) {
      if (status !== "failed" || retryAttempt === undefined) came.set(node, (came.get(node) ?? new Set()).add(status));
      visits.set(node, (visits.get(node) ?? 0) + 1);
    }
  }
  const outcomes = new Map(
    [...came].map(([node, all]): [string, Outcome] => {
      if (all.has("failed")) return [node, all.has("success") ? "degraded" : "failed"];
      return [node, all.has("success") ? "success" : "skipped"];
    }),
  );
  return { outcomes, visits, follows: followsIn(traces) };
}

function followsIn(traces: readonly Pick<RunResult["trace"], "edges">[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { from, to, reason } of traces.flatMap(({ edges }) => edges)) {
    const key = edgeKey(from, to, reason);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function edgeKey(from: string, to: string, reason: string): string {
  return JSON.stringify([from, to, reason]);
}

export const COLOURS: Readonly<
  Record<Outcome | Mark, { readonly fill: string; readonly line: string; readonly text: string }>
> = {
  success: { fill: "#e3f5e8", line: "#1f7a3d", text: "#0f3d1f" },
  degraded: { fill: "#faf1dc", line: "#8a6110", text: "#4a3b12" },
  failed: { fill: "#fde8e6", line: "#b3261e", text: "#5c130e" },
  skipped: { fill: "#f1eee6", line: "#8a6d1f", text: "#4a3b12" },
  unvisited: { fill: "#f6f6f7", line: "#b8bcc4", text: "#5b616e" },
  plain: { fill: "#eef2fb", line: "#4a63a8", text: "#1b2a52" },
  tainted: { fill: "#fff1cc", line: "#9a6700", text: "#4d3300" },
  private: { fill: "#ece5fa", line: "#6b3fa0", text: "#33175a" },
  tainted_private: { fill: "#f9e0c7", line: "#6b3fa0", text: "#4d2600" },
};
export const FLAG = "#b3261e";

/** Returns the links from nodes to their inner workflows, at any depth. */
export function linksIn({ inner }: Part): Inner[] {
  return inner.flatMap((each) => [each, ...linksIn(each)]);
}

/** Taint of a node, always shown by color and text. */
type Mark = "tainted" | "private" | "tainted_private";

interface LegendRow {
  readonly look: Mark | "flagged";
  readonly text: string;
}

function markOf(taint: NodeTaint | undefined): Mark | undefined {
  if (taint?.tainted) return taint.private ? "tainted_private" : "tainted";
  return taint?.private ? "private" : undefined;
}

/** Findings about a node that writes. Findings about routes are shown at the edges. */
const WORDS: Readonly<Record<Exclude<TaintCode, "taint.free_text_route">, string>> = {
  "taint.write_held": "writes at once",
  "taint.text_in_write": "sends outside text",
  "taint.target_in_write": "outside text chooses a target",
  "taint.private_to_public": "private to public",
  "taint.state": "into a state",
};

function marksOf(taint: NodeTaint | undefined): Pick<DrawnNode, "lines" | "flagged"> {
  const found = (taint?.found ?? []).flatMap((code) => (code === "taint.free_text_route" ? [] : [WORDS[code]]));
  const marks = [...(taint?.tainted ? ["tainted"] : []), ...(taint?.private ? ["private"] : [])];
  const lines = [marks, found].filter((words) => words.length > 0);
  return { lines: lines.map((words) => words.join(" · ")), flagged: found.length > 0 };
}

/** Checks whether a model chooses this edge based on untrusted free text. */
function isFlagged({ when }: Pick<Edge, "when">, from: NodeTaint | undefined): boolean {
  return Boolean(when?.trim()) && from?.found.includes("taint.free_text_route") === true;
}

const MEANINGS: readonly LegendRow[] = [
  { look: "tainted", text: "tainted: untrusted text reaches it" },
  { look: "private", text: "private: data that only the team can read reaches it" },
  { look: "tainted_private", text: "tainted, private: both reach it" },
  { look: "flagged", text: "red: validate has a finding" },
];
