import type { Edge } from "../../core/document/workflow/node.ts";
import type { TaintCode } from "../../core/outward/taint/step-faults.ts";
import type { NodeTaint } from "../../core/outward/taint/taint.ts";

/** Taint of a node in a drawing, always shown by color and text. */
export type Mark = "tainted" | "private" | "tainted_private";

export interface NodeMarks {
  readonly lines: readonly string[];
  /** True if `validate` reports a finding. */
  readonly flagged: boolean;
}

export interface LegendRow {
  readonly look: Mark | "flagged";
  readonly text: string;
}

export function markOf(taint: NodeTaint | undefined): Mark | undefined {
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

export function marksOf(taint: NodeTaint | undefined): NodeMarks {
  const found = (taint?.found ?? []).flatMap((code) => (code === "taint.free_text_route" ? [] : [WORDS[code]]));
  const marks = [...(taint?.tainted ? ["tainted"] : []), ...(taint?.private ? ["private"] : [])];
  const lines = [marks, found].filter((words) => words.length > 0);
  return { lines: lines.map((words) => words.join(" · ")), flagged: found.length > 0 };
}

/** Checks whether a model chooses this edge based on untrusted free text. */
export function isFlagged({ when }: Pick<Edge, "when">, from: NodeTaint | undefined): boolean {
  return Boolean(when?.trim()) && from?.found.includes("taint.free_text_route") === true;
}

const MEANINGS: readonly LegendRow[] = [
  { look: "tainted", text: "tainted: untrusted text reaches it" },
  { look: "private", text: "private: data that only the team can read reaches it" },
  { look: "tainted_private", text: "tainted, private: both reach it" },
  { look: "flagged", text: "red: validate has a finding" },
];

/** Returns the legend for what is drawn. */
export function legendOf(looks: readonly string[], isFound: boolean): readonly LegendRow[] {
  return MEANINGS.filter(({ look }) => (look === "flagged" ? isFound : looks.includes(look)));
}
