import type { WorkflowNode } from "../../core/document/node.ts";
import type { Condition } from "../../core/document/rule.ts";
import type { Workflow } from "../../core/document/workflow.ts";
import type { RunRecord } from "../../core/event/record.ts";
import { documentOf } from "../../core/inner/place.ts";
import type { RunResult } from "../../core/record/result.ts";
import type { Taint } from "../../core/taint/taint.ts";
import { parseCondition, showCondition } from "../../core/workflow/condition.ts";
import { dotLabel, mermaidLabel } from "../inert.ts";
import { shortText } from "../preview.ts";
import { isFlagged, type LegendRow, legendOf, type Mark, markOf, marksOf, type NodeMarks } from "./taint-marks.ts";

/** The workflow as a Mermaid flowchart, with its taint where it is known and there is some. */
export function workflowMermaid(workflow: Workflow, beside: Beside = {}): string {
  return mermaidOf(draw(workflow, beside));
}

/** The workflow as a Graphviz document. */
export function workflowDot(workflow: Workflow, beside: Beside = {}): string {
  return dotOf(draw(workflow, beside));
}

/** The workflow with the path that the run took: outcomes, visits, and which edges were followed how often. */
export function runMermaid(record: Recorded, result: RunResult): string {
  return mermaidOf(drawRun(record, result));
}

export function runDot(record: Recorded, result: RunResult): string {
  return dotOf(drawRun(record, result));
}

type Recorded = Pick<RunRecord, "workflow" | "inner">;

function drawRun({ workflow, inner = {} }: Recorded, result: RunResult): Drawing {
  return draw(workflow, { inner: new Map(Object.entries(inner)), result });
}

/** What Graphviz drew, as an element that can stand inside an HTML page and takes its colours from there. */
export function embedSvg(svg: string): string {
  const start = svg.indexOf("<svg");
  return svg
    .slice(Math.max(0, start))
    .replace(/<!--[^>]*-->\n?/g, "")
    .replace(/<title>[^<]*<\/title>\n?/g, "")
    .replace(
      /^<svg width="(\d+)pt" height="(\d+)pt"/,
      '<svg class="graph" role="img" aria-label="Graph of the workflow" width="$1" height="$2"',
    )
    .trim();
}

/** What nodes run, by the path of the node: `each`, `top/each`. */
type InnerWorkflows = ReadonlyMap<string, { readonly workflow: Workflow }>;

type Outcome = "success" | "degraded" | "failed" | "skipped" | "unvisited" | "plain";

/** A graph whose ids are safe in every notation. */
interface Drawing extends Part {
  readonly legend: readonly LegendRow[];
}

interface Part {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
  /** What nodes run, each beside its node. */
  readonly inner: readonly Inner[];
}

interface Inner extends Part {
  readonly id: string;
  readonly label: string;
  /** The node that runs it, and the first of its own. */
  readonly from: string;
  readonly to: string;
}

interface DrawnNode extends NodeMarks {
  readonly id: string;
  readonly label: string;
  readonly entry: boolean;
  readonly kind: Kind;
  readonly look: Outcome | Mark;
}

type Kind = "instruction" | "map" | "call" | "approval";

interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly follows: number;
  readonly flagged: boolean;
}

const LONGEST_LABEL = 90;

/** Of an inner workflow: more would hide the one around it. */
const MOST_INNER = 40;

/** What is known beside a workflow: those that its nodes run, and its taint. */
interface Beside {
  readonly inner?: InnerWorkflows;
  readonly taint?: Taint | undefined;
}

interface Known extends Beside {
  readonly result?: RunResult | undefined;
}

function draw(workflow: Workflow, known: Known): Drawing {
  const part = drawPart(workflow, known, "", "n");
  const { nodes, edges } = everything(part);
  const isFound = [...nodes, ...edges].some(({ flagged }) => flagged);
  return {
    ...part,
    legend: legendOf(
      nodes.map(({ look }) => look),
      isFound,
    ),
  };
}

/** With what stands in the workflows inside. */
function everything(part: Part): Pick<Part, "nodes" | "edges"> {
  const inside = part.inner.map(everything);
  return {
    nodes: [...part.nodes, ...inside.flatMap(({ nodes }) => nodes)],
    edges: [...part.edges, ...inside.flatMap(({ edges }) => edges)],
  };
}

/** A workflow at the path of the node that runs it; empty: the outermost. */
function drawPart(workflow: Workflow, known: Known, path: string, prefix: string): Part {
  const { result, taint } = known;
  const shown = Object.entries(workflow.nodes).slice(0, path === "" ? undefined : MOST_INNER);
  const ids = new Map(shown.map(([node], index) => [node, `${prefix}${index}`]));
  const went = path === "" ? ownWay(result) : innerWay(result, path);
  const nodes = shown.map(([node, { name, map, call, approval }]): DrawnNode => {
    const own = path === "" ? node : `${path}/${node}`;
    const times = went.visits.get(node) ?? 0;
    const marks = marksOf(taint?.nodes.get(own));
    const came = result ? (went.outcomes.get(node) ?? "unvisited") : "plain";
    return {
      id: ids.get(node) ?? "",
      label: shortText(name, LONGEST_LABEL) + (times > 1 ? ` ×${times}` : ""),
      entry: node === workflow.entry,
      kind: map ? "map" : call !== undefined ? "call" : approval ? "approval" : "instruction",
      flagged: marks.flagged,
      lines: [
        ...kindLines({ map, call, approval }),
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
    const condition = written === undefined ? undefined : shownCondition(written);
    const times = went.follows.get(edgeKey(from, to, when ?? condition ?? "only path")) ?? 0;
    const flagged = isFlagged({ when }, taint?.nodes.get(path === "" ? from : `${path}/${from}`));
    const bound = max_iterations === undefined ? "" : `at most ${max_iterations}×`;
    const label = [
      times > 1 ? `${times}×` : "",
      shortText(labelOf(condition, when), LONGEST_LABEL),
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

function kindLines({ map, call, approval }: Pick<WorkflowNode, "map" | "call" | "approval">): string[] {
  if (map) return [`for each ${map.as} of ${map.over}`];
  if (call !== undefined) return [`runs ${call}`];
  return approval ? ["asks a person"] : [];
}

function shownCondition(written: Condition): string {
  const rule = parseCondition(written);
  return typeof rule === "string" ? "" : showCondition(rule);
}

/** What code decides stands before what the model is asked. */
function labelOf(condition: string | undefined, when: string | undefined): string {
  return [condition === undefined ? "" : `if ${condition}`, when?.trim() ? when : ""].filter(Boolean).join(", and ");
}

/** What a run did in a workflow, by node. */
interface Way {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly visits: ReadonlyMap<string, number>;
  readonly follows: ReadonlyMap<string, number>;
}

function ownWay(result: RunResult | undefined): Way {
  const degraded = new Set(result?.degraded.map(({ node }) => node));
  const outcomes = new Map<string, Outcome>();
  const visits = new Map<string, number>();
  for (const { node, status, iteration } of result?.trace.steps ?? []) {
    outcomes.set(node, status === "success" && degraded.has(node) ? "degraded" : status);
    visits.set(node, Math.max(iteration, visits.get(node) ?? 0));
  }
  return { outcomes, visits, follows: followsIn(result ? [result.trace] : []) };
}

/** Of all the runs of a document together: one that failed among others leaves its node degraded. */
function innerWay(result: RunResult | undefined, path: string): Way {
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
  const outcomes = new Map([...came].map(([node, all]): [string, Outcome] => [node, mixed(all)]));
  return { outcomes, visits, follows: followsIn(traces) };
}

function mixed(all: ReadonlySet<Outcome>): Outcome {
  if (all.has("failed")) return all.has("success") ? "degraded" : "failed";
  return all.has("success") ? "success" : "skipped";
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

const COLOURS: Readonly<
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
const FLAG = "#b3261e";

/** By kind: what opens and closes a node's text. */
const SHAPES: Readonly<Record<Kind, readonly [string, string]>> = {
  instruction: ["[", "]"],
  map: ["[[", "]]"],
  call: ["[[", "]]"],
  approval: ["{{", "}}"],
};

function mermaidOf(drawing: Drawing): string {
  const { nodes, edges } = everything(drawing);
  const { legend } = drawing;
  const followed = edges.flatMap(({ follows }, index) => (follows > 0 ? [index] : []));
  const routes = edges.flatMap(({ flagged }, index) => (flagged ? [index] : []));
  const flags = nodes.flatMap(({ id, flagged }) => (flagged ? [id] : []));
  const used = [...new Set(nodes.map((node) => node.look))];
  return [
    "flowchart TD",
    ...drawing.nodes.map((node) => `  ${mermaidNode(node)}`),
    ...drawing.inner.flatMap((inner) => mermaidInner(inner, "  ")),
    ...edges.map(({ from, to, label, follows }) => {
      const arrow = follows > 0 ? "==>" : "-->";
      return `  ${from} ${arrow}${label === "" ? "" : `|"${mermaidLabel(label)}"|`} ${to}`;
    }),
    ...linksIn(drawing).map(({ from, to }) => `  ${from} -.-> ${to}`),
    ...(legend.length > 0 ? ['  subgraph legend ["Legend"]'] : []),
    ...legend.map(({ look, text }, index) => `  l${index}["${mermaidLabel(text)}"]:::${look}`),
    ...(legend.length > 0 ? ["  end"] : []),
    ...used.map((look) => {
      const { fill, line, text } = COLOURS[look];
      const dash = look === "unvisited" ? ",stroke-dasharray:4 3" : "";
      return `  classDef ${look} fill:${fill},stroke:${line},color:${text}${dash}`;
    }),
    ...(followed.length > 0 ? [`  linkStyle ${followed.join(",")} stroke-width:3px`] : []),
    ...(flags.length + routes.length > 0 ? [`  classDef flagged stroke:${FLAG},stroke-width:3px`] : []),
    ...(flags.length > 0 ? [`  class ${flags.join(",")} flagged`] : []),
    ...(routes.length > 0 ? [`  linkStyle ${routes.join(",")} stroke:${FLAG},stroke-width:3px`] : []),
    "",
  ].join("\n");
}

function mermaidNode({ id, label, lines, entry, kind, look }: DrawnNode): string {
  const told = lines.map((line) => `<br/>${mermaidLabel(line)}`).join("");
  const [open, close] = entry && kind === "instruction" ? ["([", "])"] : SHAPES[kind];
  return `${id}${open}"${mermaidLabel(label)}${told}"${close}:::${look}`;
}

function mermaidInner({ id, label, nodes, inner }: Inner, margin: string): string[] {
  return [
    `${margin}subgraph ${id} ["${mermaidLabel(label)}"]`,
    ...nodes.map((node) => `${margin}  ${mermaidNode(node)}`),
    ...inner.flatMap((each) => mermaidInner(each, `${margin}  `)),
    `${margin}end`,
  ];
}

/** From each node to what it runs. */
function linksIn({ inner }: Part): Inner[] {
  return inner.flatMap((each) => [each, ...linksIn(each)]);
}

function dotOf(drawing: Drawing): string {
  const font = 'fontname="Arial"';
  return [
    "digraph workflow {",
    `  graph [label="" rankdir=TB bgcolor=transparent nodesep=0.45 ranksep=0.5]`,
    `  node [shape=box style="rounded,filled" ${font} fontsize=12 margin="0.2,0.11"]`,
    `  edge [${font} fontsize=10 color="#9aa0ab" fontcolor="#5b616e" arrowsize=0.7]`,
    ...drawing.nodes.map(dotNode),
    ...drawing.inner.flatMap((inner) => dotInner(inner, "  ")),
    ...everything(drawing).edges.map(dotEdge),
    ...linksIn(drawing).map(({ from, to }) => `  ${from} -> ${to} [style="dashed" arrowhead="open" class="open"]`),
    ...dotLegend(drawing.legend),
    "}",
    "",
  ].join("\n");
}

function dotInner({ id, label, nodes, inner }: Inner, margin: string): string[] {
  return [
    `${margin}subgraph cluster_${id} {`,
    `${margin}  graph [label="${wrapped(label, 40)}" fontname="Arial" fontsize=10 style="rounded" color="#b8bcc4" fontcolor="#5b616e"]`,
    ...nodes.map((node) => `${margin}${dotNode(node)}`),
    ...inner.flatMap((each) => dotInner(each, `${margin}  `)),
    `${margin}}`,
  ];
}

const DOT_SHAPES: Readonly<Record<Kind, string>> = {
  instruction: "",
  map: " peripheries=2",
  call: " peripheries=2",
  approval: ' shape="hexagon"',
};

function dotNode({ id, label, lines, entry, kind, look, flagged }: DrawnNode): string {
  const { fill, line, text } = COLOURS[look];
  const style = `rounded,filled${entry ? ",bold" : ""}${look === "unvisited" ? ",dashed" : ""}`;
  const outline = flagged ? `color="${FLAG}" penwidth=3` : `color="${line}"`;
  const paint = `fillcolor="${fill}" ${outline} fontcolor="${text}" style="${style}"`;
  const told = lines.map((line) => `\\n${wrapped(line, 40)}`).join("");
  return `  ${id} [label="${wrapped(label, 24)}${told}" class="${look}" ${paint}${DOT_SHAPES[kind]}]`;
}

/** A column of its own, beside the graph. */
function dotLegend(legend: Drawing["legend"]): string[] {
  if (legend.length === 0) return [];
  const ids = legend.map((_, index) => `l${index}`);
  const boxes = legend.map(({ look, text }, index) => {
    const flagged = look === "flagged";
    const shown = flagged ? "plain" : look;
    return `  ${dotNode({ id: `l${index}`, label: text, lines: [], entry: false, kind: "instruction", look: shown, flagged })}`;
  });
  return [
    "  subgraph cluster_legend {",
    '    graph [label="Legend" fontname="Arial" fontsize=10 color="#b8bcc4" fontcolor="#5b616e"]',
    ...boxes,
    ...(ids.length > 1 ? [`    ${ids.join(" -> ")} [style="invis"]`] : []),
    "  }",
  ];
}

function dotEdge({ from, to, label, follows, flagged }: DrawnEdge): string {
  const open = flagged ? ` class="flagged" penwidth=2.2 color="${FLAG}" fontcolor="${FLAG}"` : ' class="open"';
  const paint = follows > 0 ? ' class="followed" penwidth=2.2 color="#3c4454"' : open;
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
