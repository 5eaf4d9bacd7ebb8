import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { parseCondition } from "../../document/condition.ts";
import { checkValues } from "../../document/value-rule.ts";
import { contextFor, skillsAt } from "../decide/route.ts";
import type { RunRecord } from "../event/record.ts";
import type { State } from "../fold/state.ts";

/** A run that ended at a node although edges lead on from there, because none of them applied. */
export const unroutedSchema = lazy(() =>
  z.object({
    node: z.string().describe("the last node"),
    edges: z.array(z.object({ to: z.string(), reason: z.string() })).describe("why each of its edges did not apply"),
  }),
);
export type Unrouted = Fitting<typeof unroutedSchema>;

interface Ending {
  readonly workflow: {
    readonly nodes: { readonly [id: string]: { readonly approval?: unknown } };
    readonly edges: readonly { readonly from: string; readonly when?: string | undefined }[];
  };
  readonly input: { readonly dryRun?: unknown };
  readonly status: string | undefined;
  /** The node that was left last; undefined after an edge was followed. */
  readonly last: string | undefined;
  /** Its data. */
  readonly data: { readonly approved?: unknown } | undefined;
}

/** The node where a run ended because no edge applied. A denial and a dry run end a run by themselves. */
export function unroutedNode({ workflow: { nodes, edges }, input, status, last, data }: Ending): string | undefined {
  if (status !== "succeeded" || last === undefined) return undefined;
  const leading = edges.filter(({ from }) => from === last);
  const isDenied = nodes[last]?.approval !== undefined && data?.approved === false;
  const isCut = input.dryRun === true && leading.some(({ when }) => when?.trim());
  return leading.length === 0 || isDenied || isCut ? undefined : last;
}

export function describeUnrouted(record: RunRecord, state: State): Unrouted | undefined {
  const { workflow, input } = record;
  const last = state.leaving?.node;
  const data = last === undefined ? undefined : state.results.get(last)?.data;
  const node = unroutedNode({ workflow, input, status: state.end?.status, last, data });
  if (node === undefined) return undefined;
  const edges = workflow.edges.flatMap(({ from, to, if: written, when, max_iterations }, index) => {
    if (from !== node) return [];
    const rule = written === undefined ? {} : parseCondition(written);
    if (typeof rule === "string") return [];
    const [complaint] = checkValues(rule, contextFor(rule, state, skillsAt({ record, workflow }, state, node)));
    const follows = state.follows.get(index) ?? 0;
    const isSpent = max_iterations !== undefined && follows >= max_iterations;
    const reason = complaint ?? (isSpent ? `it was followed ${follows} times` : `the model did not choose it: ${when}`);
    return [{ to, reason }];
  });
  return { node, edges };
}

/** One line for people; `name` is what they call the node. */
export function unroutedText(name: string, edges: number): string {
  return `ended at ${name}: ${edges === 1 ? "its only edge did not apply" : `none of its ${edges} edges applied`}`;
}
