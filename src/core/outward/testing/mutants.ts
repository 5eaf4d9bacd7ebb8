import { deepEqual, type Json } from "../../base/values.ts";
import { parseCondition } from "../../document/condition.ts";
import type { Edge, WorkflowNode } from "../../document/workflow/node.ts";
import type { Condition, OutputMatch } from "../../document/workflow/rule.ts";
import type { Workflow } from "../../document/workflow/workflow.ts";

/** Workflows with one rule removed or changed. A good test fails with each of them. */

export interface Mutant {
  /** Keys and indexes of the changed part from the document's root. */
  readonly path: readonly (string | number)[];
  /** Description of the change: "without the edge from gather to assess". */
  readonly change: string;
  /** Only runs that visit this node can differ. */
  readonly node: string;
  readonly workflow: Workflow;
  /** True if the mutant differs only if its node has a tool that writes. */
  readonly isWider?: true;
}

/** Lists the mutants of a document. Leaves out those that cannot change any run. */
export function mutantsOf(workflow: Workflow): Mutant[] {
  const nodes = Object.entries(workflow.nodes);
  return [
    ...nodes.flatMap(([id, node]) => nodeMutants(workflow, id, node)),
    ...workflow.edges.flatMap((_, index) => edgeMutants(workflow, index)),
  ];
}

function edgeMutants(workflow: Workflow, index: number): Mutant[] {
  const { edges } = workflow;
  const edge = edges[index] as Edge;
  const name = `the edge from ${edge.from} to ${edge.to}`;
  const path = ["edges", index];
  const mutant = (change: string, changed: readonly Edge[], more: readonly string[] = []): Mutant => {
    return { path: [...path, ...more], change, node: edge.from, workflow: { ...workflow, edges: [...changed] } };
  };
  const later = edges.findIndex((other, place) => place > index && canSwap(edge, other));
  return [
    mutant(`without ${name}`, edges.toSpliced(index, 1)),
    ...conditionMutants(edge).map(({ change, value }) =>
      mutant(`${change} of ${name}`, edges.with(index, value), ["if"]),
    ),
    ...(later === -1
      ? []
      : [
          mutant(
            `if ${name} changes places with the one to ${edges[later]?.to}`,
            edges.with(index, edges[later] as Edge).with(later, edge),
          ),
        ]),
  ];
}

function nodeMutants(workflow: Workflow, id: string, node: WorkflowNode): Mutant[] {
  const { steps = [], eval: evaluators = [], approval, requires, once, effects } = node;
  const mutant = (path: Mutant["path"], change: string, changed: WorkflowNode): Mutant => {
    return { path: ["nodes", id, ...path], change, node: id, workflow: withNode(workflow, id, changed) };
  };
  const without = (field: "requires" | "once" | "effects") => {
    const { [field]: _, ...rest } = node;
    return mutant([field], `without ${field} of the node ${id}`, rest);
  };
  return [
    ...(requires ? [without("requires")] : []),
    ...(once === undefined ? [] : [without("once")]),
    ...(effects === "read" && !node.steps ? [{ ...without("effects"), isWider: true as const }] : []),
    ...(approval ? [withoutApproval(workflow, id)] : []),
    ...evaluators.map(({ name }, index) =>
      mutant(["eval", index], `without the evaluator ${name} of the node ${id}`, {
        ...node,
        eval: evaluators.toSpliced(index, 1),
      }),
    ),
    ...steps.flatMap((step, index) => {
      const name = `the step ${step.id} of the node ${id}`;
      const at = ["steps", index];
      return [
        mutant(at, `without ${name}`, { ...node, steps: steps.toSpliced(index, 1) }),
        ...conditionMutants(step).map(({ change, value }) =>
          mutant([...at, "if"], `${change} of ${name}`, { ...node, steps: steps.with(index, value) }),
        ),
      ];
    }),
  ];
}

function withNode(workflow: Workflow, id: string, node: WorkflowNode): Workflow {
  return { ...workflow, nodes: { ...workflow.nodes, [id]: node } };
}

/** Skips an approval as if a person had approved: what leads to it leads to its first successor after a yes instead. */
function withoutApproval(workflow: Workflow, id: string): Mutant {
  const next = workflow.edges.find((edge) => edge.from === id && !isDenial(edge, id))?.to;
  const edges = workflow.edges.flatMap((edge) => {
    if (edge.to !== id) return [edge];
    return next === undefined ? [] : [{ ...edge, to: next }];
  });
  const entry = workflow.entry === id && next !== undefined ? next : workflow.entry;
  const changed = { ...workflow, entry, edges };
  return { path: ["nodes", id, "approval"], change: `without the approval ${id}`, node: id, workflow: changed };
}

/** Checks whether an edge is only followed if a person denied. */
function isDenial({ if: condition }: Conditional, id: string): boolean {
  const match = condition === undefined ? undefined : onlyMatch(condition);
  return match?.path === `${id}.approved` && match.equals === (match.not ?? false);
}

interface Conditional {
  readonly if?: Condition | undefined;
}

/** Removes or inverts the `if` of an edge or step. */
function conditionMutants<Of extends Conditional>(of: Of): { readonly change: string; readonly value: Of }[] {
  if (of.if === undefined) return [];
  const { if: condition, ...rest } = of;
  const match = onlyMatch(condition);
  const inverted = match && { output_matches: [invert(match)] };
  return [
    { change: "without the if", value: rest as Of },
    ...(inverted ? [{ change: "with the opposite if", value: { ...of, if: inverted } }] : []),
  ];
}

function invert({ not, ...match }: OutputMatch): OutputMatch {
  return not ? match : { ...match, not: true };
}

/** Returns the comparison of a condition that consists of one. */
function onlyMatch(condition: Condition): OutputMatch | undefined {
  const rule = parseCondition(condition);
  if (typeof rule === "string" || rule.output_required) return undefined;
  const { output_matches: [match, ...others] = [] } = rule;
  return others.length > 0 ? undefined : match;
}

/** Checks whether the order of two edges matters: the first whose `if` holds is followed, so both can hold. */
function canSwap(edge: Edge, other: Edge): boolean {
  if (edge.from !== other.from || edge.to === other.to || edge.when !== undefined || other.when !== undefined)
    return false;
  if (edge.if === undefined || other.if === undefined || areFailureAndData(edge.if, other.if)) return false;
  const [one, two] = [onlyMatch(edge.if), onlyMatch(other.if)];
  return !one || !two || !areExclusive(one, two);
}

/** Checks whether one condition needs a node's error and the other one its data: a node has only one of them. */
function areFailureAndData(one: Condition, two: Condition): boolean {
  const [nodes, others] = [one, two].map((condition) => {
    const rule = parseCondition(condition);
    const { output_required: required = [], output_matches: matches = [] } = typeof rule === "string" ? {} : rule;
    return [...required, ...matches.map(({ path }) => path)].map((path) =>
      path.replace(/^(?:any|all):/, "").split("."),
    );
  });
  const isOpposite = (a: string[][], b: string[][]) =>
    a.some(([node, key]) => key === "error" && b.some(([other, field]) => other === node && field !== "error"));
  return isOpposite(nodes ?? [], others ?? []) || isOpposite(others ?? [], nodes ?? []);
}

/** Checks whether two comparisons of one value can never both hold. */
function areExclusive(one: OutputMatch, two: OutputMatch): boolean {
  const [values, others] = [valuesOf(one), valuesOf(two)];
  if (one.path !== two.path || !values || !others) return false;
  const isAmong = (list: readonly Json[], value: Json) => list.some((each) => deepEqual(each, value));
  if (!one.not && !two.not) return !values.some((value) => isAmong(others, value));
  if (one.not && two.not) return false;
  const [wanted, refused] = one.not ? [others, values] : [values, others];
  return wanted.every((value) => isAmong(refused, value));
}

function valuesOf({ equals, in: list }: OutputMatch): readonly Json[] | undefined {
  return equals === undefined ? (list as readonly Json[] | undefined) : [equals as Json];
}
