import * as z from "zod";
import { callFailure } from "../event/node-result.ts";
import type { Outcome } from "../skim.ts";
import { type Fitting, isObject, type JsonObject, lazy } from "../values.ts";

/** Where a run went on with less than its workflow asks for: no green tick stands for that. */
export const degradedSchema = lazy(() =>
  z.array(
    z.object({
      node: z.string(),
      skill: z.string().optional().describe("absent where the node itself came short"),
      reason: z.string(),
    }),
  ),
);
export type Degraded = Fitting<typeof degradedSchema>[number];

interface Outlined {
  readonly nodes: {
    readonly [id: string]: { readonly skills?: readonly string[] | undefined; readonly map?: unknown };
  };
}

export interface Degradable {
  readonly workflow: Outlined;
  /** The workflows that nodes run, by the path of the node. */
  readonly inner?: { readonly [path: string]: { readonly workflow: Outlined } } | undefined;
  readonly skills: readonly {
    readonly id: string;
    readonly available: boolean;
    readonly reason?: string | undefined;
    readonly tools: readonly { readonly exposed: string; readonly effect: "read" | "write" }[];
  }[];
}

interface Way {
  readonly visited: Iterable<string>;
  /** The nodes of inner runs that were visited: `each/look`. */
  readonly inside: Iterable<string>;
  /** The node that was entered last: nothing came after it, so no edge took its failure. */
  readonly last: string | undefined;
  /** The last result of each node. */
  readonly results: ReadonlyMap<string, Outcome>;
}

/**
 * The nodes that did less than they are for, although the run went on: skills were missing, their failure was taken by an
 * edge or softened, or nothing of what they tried to write was (fine-print Q39).
 */
export function degradedNodes(run: Degradable, { visited, inside, last, results }: Way): Degraded[] {
  const entered = [...new Set(inside)];
  const missing = new Map(
    run.skills.flatMap(({ id, available, reason }) => {
      return available && reason === undefined ? [] : [[id, reason ?? "unavailable"] as const];
    }),
  );
  return [...visited].flatMap((node) => {
    const within = entered.filter((path) => path.startsWith(`${node}/`)).flatMap((path) => skillsAt(run, path));
    const wanted = new Set([...(run.workflow.nodes[node]?.skills ?? []), ...within]);
    const lacks = [...wanted].flatMap((skill): Degraded[] => {
      const reason = missing.get(skill);
      return reason === undefined ? [] : [{ skill, node, reason }];
    });
    const result = results.get(node);
    const reason = result && shortfallOf(run, node, result, node === last);
    return reason === undefined ? lacks : [...lacks, { node, reason }];
  });
}

/** Of a node of an inner run: `each/look`. */
function skillsAt({ inner = {} }: Degradable, path: string): readonly string[] {
  const cut = path.lastIndexOf("/");
  const document = path.slice(0, cut);
  const nodes = Object.hasOwn(inner, document) ? inner[document]?.workflow.nodes : undefined;
  return nodes?.[path.slice(cut + 1)]?.skills ?? [];
}

/** Why a result is less than it looks; undefined where it is what it says, or ended the run. */
export function shortfallOf(
  { workflow, skills }: Pick<Degradable, "workflow" | "skills">,
  node: string,
  result: Outcome,
  isLast: boolean,
): string | undefined {
  const { status, data, toolCalls } = result;
  if (status === "failed") return isLast ? undefined : `it failed, and the run went on: ${textOf(data.error)}`;
  if (status === "skipped") return undefined;
  if (data.fail_soft === true) return `it failed softly: ${textOf(data.error)}`;
  const lost = workflow.nodes[node]?.map === undefined ? undefined : lostItems(data);
  if (lost !== undefined) return lost;
  const writers = new Set(
    skills.flatMap(({ tools }) => tools.flatMap(({ exposed, effect }) => (effect === "write" ? exposed : []))),
  );
  const writes = toolCalls.filter(({ tool }) => writers.has(tool));
  const [first] = writes;
  const why = first && callFailure(first);
  if (why === undefined || writes.some((call) => callFailure(call) === undefined)) return undefined;
  const nothing = writes.length === 1 ? "its write did not succeed" : `none of its ${writes.length} writes succeeded`;
  return `${nothing}: ${first?.tool}: ${why}`;
}

/** A map succeeds whatever became of its items: those that failed, and those that wait, are told. */
function lostItems({ items, left }: JsonObject): string | undefined {
  const all = Array.isArray(items) ? items.filter(isObject) : [];
  const failed = all.filter(({ status }) => status === "failed");
  const [first] = failed;
  const told = [
    first === undefined
      ? ""
      : `${failed.length} of ${all.length} ${all.length === 1 ? "item" : "items"} failed: ${first.key}: ${textOf(isObject(first.data) ? first.data.error : undefined)}`,
    typeof left === "number" && left > 0
      ? `${left} ${left === 1 ? "item was" : "items were"} left for the next run`
      : "",
  ];
  return told.filter((part) => part !== "").join("; ") || undefined;
}

function textOf(error: unknown): string {
  return typeof error === "string" ? error : "failed";
}
