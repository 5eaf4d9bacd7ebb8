import { mermaidLabel } from "../../core/base/inert.ts";
import { COLOURS, type Drawing, type DrawnNode, everything, FLAG, type Inner, type Kind, linksIn } from "./drawing.ts";

/** Brackets around a node's text, by kind. */
const SHAPES: Readonly<Record<Kind, readonly [string, string]>> = {
  instruction: ["(", ")"],
  map: ["[[", "]]"],
  call: ["[[", "]]"],
  approval: ["{{", "}}"],
  steps: ["[[", "]]"],
};
export function mermaidOf(drawing: Drawing): string {
  const { nodes, edges } = everything(drawing);
  const { legend } = drawing;
  const followed = edges.flatMap(({ follows }, index) => (follows > 0 ? [index] : []));
  const routes = edges.flatMap(({ flagged }, index) => (flagged ? [index] : []));
  const entries = nodes.flatMap(({ id, entry }) => (entry ? [id] : []));
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
    ...(entries.length > 0 ? ["  classDef entry stroke-width:3px", `  class ${entries.join(",")} entry`] : []),
    ...(followed.length > 0 ? [`  linkStyle ${followed.join(",")} stroke-width:3px`] : []),
    ...(flags.length + routes.length > 0 ? [`  classDef flagged stroke:${FLAG},stroke-width:3px`] : []),
    ...(flags.length > 0 ? [`  class ${flags.join(",")} flagged`] : []),
    ...(routes.length > 0 ? [`  linkStyle ${routes.join(",")} stroke:${FLAG},stroke-width:3px`] : []),
    "",
  ].join("\n");
}

function mermaidNode({ id, label, lines, kind, look }: DrawnNode): string {
  const told = lines.map((line) => `<br/>${mermaidLabel(line)}`).join("");
  const [open, close] = SHAPES[kind];
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
