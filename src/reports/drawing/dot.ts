import { dotLabel } from "../../core/base/inert.ts";
import {
  COLOURS,
  type Drawing,
  type DrawnEdge,
  type DrawnNode,
  everything,
  FLAG,
  type Inner,
  type Kind,
  linksIn,
} from "./drawing.ts";
export function dotOf(drawing: Drawing): string {
  const font = 'fontname="Arial"';
  return [
    "digraph workflow {",
    `  graph [label="" rankdir=TB bgcolor=transparent nodesep=0.35 ranksep=0.5]`,
    `  node [shape=box style="rounded,filled" ${font} fontsize=13 margin="0.2,0.11"]`,
    `  edge [${font} fontsize=12 color="#9aa0ab" fontcolor="#5b616e" arrowsize=0.7]`,
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
  steps: "",
};

function dotNode({ id, label, lines, entry, kind, look, flagged }: DrawnNode): string {
  const { fill, line, text } = COLOURS[look];
  const style = `${kind === "steps" ? "" : "rounded,"}filled${entry ? ",bold" : ""}${look === "unvisited" ? ",dashed" : ""}`;
  const outline = flagged ? `color="${FLAG}" penwidth=3` : `color="${line}"`;
  const paint = `fillcolor="${fill}" ${outline} fontcolor="${text}" style="${style}"`;
  const told = lines.map((line) => `\\n${wrapped(line, 40)}`).join("");
  return `  ${id} [label="${wrapped(label, 24)}${told}" class="${look}" ${paint}${DOT_SHAPES[kind]}]`;
}

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
  return `  ${from} -> ${to} [label="${wrapped(label, 22, " ")}"${paint}]`;
}

/** Wraps a label, because Graphviz does not, and long paths after their dots. The margin separates it from the arrow. */
function wrapped(text: string, width: number, margin = ""): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const [first = "", ...rest] = word.length < width ? [word] : word.split(/(?<=\w\.)(?=\w)/);
    const line = lines.at(-1);
    if (line !== undefined && line.length + first.length < width) lines[lines.length - 1] = `${line} ${first}`;
    else lines.push(first);
    lines.push(...rest);
  }
  return lines.map((line) => (line === "" ? "" : `${margin}${dotLabel(line)}${margin}`)).join("\\n");
}
