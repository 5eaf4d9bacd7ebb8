import type { RunRecord } from "../core/event.ts";
import type { RunResult } from "../core/record/result.ts";
import { parseCondition, showCondition } from "../core/workflow/condition.ts";
import type { Condition, Workflow } from "../core/workflow.ts";
import { dotLabel, mermaidLabel } from "./inert.ts";
import { shortText } from "./preview.ts";

/** The workflow as a Mermaid flowchart. */
export function workflowMermaid(workflow: Workflow): string {
  return mermaidOf(draw(workflow));
}

/** The workflow as a Graphviz document. */
export function workflowDot(workflow: Workflow): string {
  return dotOf(draw(workflow));
}

/** The workflow with the path that the run took: outcomes, visits, and which edges were followed how often. */
export function runMermaid({ workflow }: Pick<RunRecord, "workflow">, result: RunResult): string {
  return mermaidOf(draw(workflow, result));
}

export function runDot({ workflow }: Pick<RunRecord, "workflow">, result: RunResult): string {
  return dotOf(draw(workflow, result));
}

/** What Graphviz drew, as an element that can stand inside an HTML page and takes its colours from there. */
export function embedSvg(svg: string): string {
  const start = svg.indexOf("<svg");
  return svg
    .slice(Math.max(0, start))
    .replace(/<!--[^>]*-->\n?/g, "")
    .replace(/<title>[^<]*<\/title>\n?/g, "")
    .replace(/^<svg width="(\d+)pt" height="(\d+)pt"/, '<svg class="graph" role="img" width="$1" height="$2"')
    .trim();
}

type Outcome = "success" | "failed" | "skipped" | "unvisited" | "plain";

/** A graph whose ids are safe in every notation. */
interface Drawing {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
}

interface DrawnNode {
  readonly id: string;
  readonly label: string;
  readonly entry: boolean;
  readonly outcome: Outcome;
}

interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly follows: number;
}

const LONGEST_LABEL = 90;

function draw(workflow: Workflow, result?: RunResult): Drawing {
  const ids = new Map(Object.keys(workflow.nodes).map((node, index) => [node, `n${index}`]));
  const visits = visitCounts(result);
  const follows = followCounts(result);
  const nodes = Object.entries(workflow.nodes).map(([node, { name }]): DrawnNode => {
    const times = visits.get(node) ?? 0;
    return {
      id: ids.get(node) ?? "",
      label: shortText(name, LONGEST_LABEL) + (times > 1 ? ` ×${times}` : ""),
      entry: node === workflow.entry,
      outcome: outcomeOf(node, result),
    };
  });
  const edges = workflow.edges.flatMap(({ from, to, if: written, when, max_iterations }): DrawnEdge[] => {
    const [start, end] = [ids.get(from), ids.get(to)];
    if (start === undefined || end === undefined) return [];
    const condition = written === undefined ? undefined : shownCondition(written);
    const times = follows.get(edgeKey(from, to, when ?? condition ?? "only path")) ?? 0;
    const bound = max_iterations === undefined ? "" : `at most ${max_iterations}×`;
    const label = [
      times > 1 ? `${times}×` : "",
      shortText(labelOf(condition, when), LONGEST_LABEL),
      bound && `(${bound})`,
    ]
      .filter(Boolean)
      .join(" ");
    return [{ from: start, to: end, label, follows: times }];
  });
  return { nodes, edges };
}

function shownCondition(written: Condition): string {
  const rule = parseCondition(written);
  return typeof rule === "string" ? "" : showCondition(rule);
}

/** What code decides stands before what the model is asked. */
function labelOf(condition: string | undefined, when: string | undefined): string {
  return [condition === undefined ? "" : `if ${condition}`, when?.trim() ? when : ""].filter(Boolean).join(", and ");
}

function outcomeOf(node: string, result: RunResult | undefined): Outcome {
  if (!result) return "plain";
  return result.trace.steps.findLast((step) => step.node === node)?.status ?? "unvisited";
}

function visitCounts(result: RunResult | undefined): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { node, iteration } of result?.trace.steps ?? []) {
    counts.set(node, Math.max(iteration, counts.get(node) ?? 0));
  }
  return counts;
}

function followCounts(result: RunResult | undefined): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { from, to, reason } of result?.trace.edges ?? []) {
    const key = edgeKey(from, to, reason);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function edgeKey(from: string, to: string, reason: string): string {
  return JSON.stringify([from, to, reason]);
}

const COLOURS: Readonly<Record<Outcome, { readonly fill: string; readonly line: string; readonly text: string }>> = {
  success: { fill: "#e3f5e8", line: "#1f7a3d", text: "#0f3d1f" },
  failed: { fill: "#fde8e6", line: "#b3261e", text: "#5c130e" },
  skipped: { fill: "#f1eee6", line: "#8a6d1f", text: "#4a3b12" },
  unvisited: { fill: "#f6f6f7", line: "#b8bcc4", text: "#5b616e" },
  plain: { fill: "#eef2fb", line: "#4a63a8", text: "#1b2a52" },
};

function mermaidOf({ nodes, edges }: Drawing): string {
  const followed = edges.flatMap(({ follows }, index) => (follows > 0 ? [index] : []));
  const used = [...new Set(nodes.map((node) => node.outcome))];
  return [
    "flowchart TD",
    ...nodes.map(({ id, label, entry, outcome }) => {
      const text = `"${mermaidLabel(label)}"`;
      return `  ${id}${entry ? `([${text}])` : `[${text}]`}:::${outcome}`;
    }),
    ...edges.map(({ from, to, label, follows }) => {
      const arrow = follows > 0 ? "==>" : "-->";
      return `  ${from} ${arrow}${label === "" ? "" : `|"${mermaidLabel(label)}"|`} ${to}`;
    }),
    ...used.map((outcome) => {
      const { fill, line, text } = COLOURS[outcome];
      const dash = outcome === "unvisited" ? ",stroke-dasharray:4 3" : "";
      return `  classDef ${outcome} fill:${fill},stroke:${line},color:${text}${dash}`;
    }),
    ...(followed.length > 0 ? [`  linkStyle ${followed.join(",")} stroke-width:3px`] : []),
    "",
  ].join("\n");
}

function dotOf({ nodes, edges }: Drawing): string {
  const font = 'fontname="Arial"';
  return [
    "digraph workflow {",
    `  graph [label="" rankdir=TB bgcolor=transparent nodesep=0.45 ranksep=0.5]`,
    `  node [shape=box style="rounded,filled" ${font} fontsize=12 margin="0.2,0.11"]`,
    `  edge [${font} fontsize=10 color="#9aa0ab" fontcolor="#5b616e" arrowsize=0.7]`,
    ...nodes.map(dotNode),
    ...edges.map(dotEdge),
    "}",
    "",
  ].join("\n");
}

function dotNode({ id, label, entry, outcome }: DrawnNode): string {
  const { fill, line, text } = COLOURS[outcome];
  const style = `rounded,filled${entry ? ",bold" : ""}${outcome === "unvisited" ? ",dashed" : ""}`;
  const paint = `fillcolor="${fill}" color="${line}" fontcolor="${text}" style="${style}"`;
  return `  ${id} [label="${wrapped(label, 24)}" class="${outcome}" ${paint}]`;
}

function dotEdge({ from, to, label, follows }: DrawnEdge): string {
  const paint = follows > 0 ? ' class="followed" penwidth=2.2 color="#3c4454"' : ' class="open"';
  return `  ${from} -> ${to} [label="${wrapped(label, 26, " ")}"${paint}]`;
}

/** Graphviz breaks no lines by itself; a margin keeps them off the arrow. */
function wrapped(text: string, width: number, margin = ""): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => (line === "" ? "" : `${margin}${dotLabel(line)}${margin}`)).join("\\n");
}
