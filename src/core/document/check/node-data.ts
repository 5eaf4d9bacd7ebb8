import { parsePath } from "../../base/path.ts";
import { isObject, type Json, type JsonSchema, memberAt } from "../../base/values.ts";
import { memberName } from "../fill.ts";
import { inlineWorkflow } from "../inner/inline.ts";
import { describeInputs, RUN_FIELDS } from "../inputs.ts";
import type { WorkflowNode } from "../workflow/node.ts";
import type { NodeStep } from "../workflow/step.ts";
import type { Workflow } from "../workflow/workflow.ts";

/** JSON Schemas of the data that conditions and paths can read: the run's input and the results of nodes. */

/** Finds the workflow that a node runs. Returns undefined if there is none or its file was not read. */
export type FindInner = (node: string) => Omit<Inner, "stepShape"> | undefined;

export type StepShape = (node: WorkflowNode, step: NodeStep) => JsonSchema | undefined;

export interface Beyond {
  readonly find: FindInner;
  readonly stepShape?: StepShape | undefined;
}

interface Inner extends Beyond {
  readonly workflow: Workflow;
}

/** Returns the schema of a path's root, or undefined if the document does not describe its data. */
export type DataShapes = (root: string) => JsonSchema | undefined;

export function findInline(workflow: Workflow): FindInner {
  return (id) => {
    const node = workflow.nodes[id];
    if (!node?.nodes) return undefined;
    const inside = inlineWorkflow(workflow, id, node);
    return { workflow: inside, find: findInline(inside) };
  };
}

/** Creates a lookup of schemas. `input` is the input schema for a workflow that declares none, such as a map's. */
export function dataShapes(workflow: Workflow, beyond: Beyond, input?: JsonSchema): DataShapes {
  const known = new Map<string, JsonSchema | undefined>();
  return (root) => {
    if (!known.has(root)) known.set(root, shapeOf(root, { ...beyond, workflow }, input));
    return known.get(root);
  };
}

/** Returns the input schema of a map's item: its `with` fields and the item itself. */
export function itemInput({ map, with: given = {} }: WorkflowNode): JsonSchema | undefined {
  const names = Object.entries(given).map(([name, value]) => memberName(name, value as Json));
  return map && closed(Object.fromEntries([...names, map.as].map((name) => [name, {}])));
}

function shapeOf(root: string, { workflow, find, stepShape }: Inner, input?: JsonSchema): JsonSchema | undefined {
  const node = Object.hasOwn(workflow.nodes, root) ? workflow.nodes[root] : undefined;
  if (node?.steps) return closed({ ...ADDED, ...stepOutputs(node, node.steps, stepShape) });
  const inner = node && find(root);
  if (node) return shapeOfNode(node, inner && { ...inner, stepShape });
  if (root === "skills") return closed({ available: LIST_OF_TEXT, missing: LIST_OF_TEXT });
  if (root !== "input" || !workflow.inputs) return root === "input" ? input : undefined;
  const { properties } = describeInputs(workflow);
  return closed({ ...(properties as Properties), ...Object.fromEntries(RUN_FIELDS.map((name) => [name, {}])) });
}

export function stepOutputs(node: WorkflowNode, steps: readonly NodeStep[], stepShape?: StepShape): Properties {
  return Object.fromEntries(steps.map((step) => [step.id, stepShape?.(node, step) ?? {}]));
}

function shapeOfNode(node: WorkflowNode, inner: Inner | undefined): JsonSchema | undefined {
  if (node.approval) {
    const own = { approved: { type: "boolean" }, by: TEXT, note: { type: ["string", "null"] } };
    return closed({ ...own, error: TEXT, skipped_reason: TEXT });
  }
  if (!node.map && node.call === undefined) {
    const output = marked(node.output ?? (node.instruction ? closed({}) : {}), node);
    return { ...output, ...(output.properties ? closed({ ...withMembers(output), ...ADDED, summary: {} }) : {}) };
  }
  const data = inner ? innerData(inner) : {};
  if (!node.map) return inner || node.output ? closed({ ...calledMembers(node, data), ...ADDED }) : undefined;
  const status = { enum: ["success", "failed", "skipped", "stopped"] };
  const item = closed({ key: TEXT, status, data, skipped_reason: TEXT });
  const count = { type: "integer" };
  return closed({ items: { type: "array", items: item }, left: count, failed: count, ...ADDED });
}

/** Returns the members of a call's data. `output` only narrows the verdict, because the data also has the results. */
function calledMembers({ output = {} }: WorkflowNode, data: JsonSchema): Properties {
  return data.properties ? withMembers(data) : { verdict: withMembers(output).verdict ?? {}, results: {} };
}

/** Adds the fields that evidence evaluators write into the claims that they check. */
function marked(output: JsonSchema, { eval: evaluators = [] }: WorkflowNode): JsonSchema {
  const paths = evaluators.flatMap((evaluator) => (evaluator.kind === "evidence" ? [evaluator.rule.claims] : []));
  const keys = paths.map((path) => parsePath(path)?.segments.map(({ key }) => key) ?? []);
  return keys.reduce((schema, each) => withMarks(schema, each), output);
}

const MARKS: Properties = {
  supported: { type: "boolean" },
  partial: { type: "boolean" },
  unbound: { type: "array", items: { type: "string" } },
};

function withMarks(schema: JsonSchema, [key, ...rest]: readonly string[]): JsonSchema {
  const properties = withMembers(schema);
  if (isObject(schema.items))
    return { ...schema, items: withMarks(schema.items, key === undefined ? [] : [key, ...rest]) };
  if (key === undefined) return schema.properties ? { ...schema, properties: { ...MARKS, ...properties } } : schema;
  const field = properties[key];
  return field ? { ...schema, properties: { ...properties, [key]: withMarks(field, rest) } } : schema;
}

type Properties = Readonly<Record<string, JsonSchema>>;

/** Members that the data of a node can have besides its output. */
const ADDED: Properties = { error: {}, skipped_reason: {}, fail_soft: {}, evals: {} };

export const TEXT: JsonSchema = { type: "string" };
const LIST_OF_TEXT: JsonSchema = { type: "array", items: TEXT };

/** Returns the schema at a path. Undefined if it is unknown, or if all elements of a list must satisfy the rule. */
export function declaredAt(path: string, shapes: DataShapes): JsonSchema | undefined {
  const { segments = [], quantifier } = parsePath(path) ?? {};
  const [root, ...rest] = segments;
  if (!root || root.each || rest.length === 0) return undefined;
  let shape: unknown = shapes(root.key);
  // The outermost schema with definitions is the output that references start at.
  let output: { readonly [key: string]: unknown } | undefined;
  const follow = (next: unknown): unknown => {
    if (!isObject(next)) return undefined;
    if (next.$defs || next.definitions) output ??= next;
    const [, keyword = "", name = ""] = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(String(next.$ref)) ?? [];
    const referred = memberAt(output, keyword, name);
    const { $ref: _ref, ...own } = next;
    return isObject(referred) ? { ...referred, ...own } : next;
  };
  for (const { key, each } of rest) {
    shape = follow(shape);
    if (!isObject(shape) || !isObject(shape.properties) || !Object.hasOwn(shape.properties, key)) return undefined;
    shape = follow(shape.properties[key]);
    if (!each) continue;
    if (quantifier !== "any") return undefined;
    shape = isObject(shape) ? follow(shape.items) : undefined;
  }
  return isObject(shape) ? (shape as JsonSchema) : undefined;
}

export function closed(properties: Properties): JsonSchema {
  return { type: "object", properties };
}

function withMembers({ properties }: JsonSchema): Properties {
  return isObject(properties) ? (properties as Properties) : {};
}

/** Describes `{verdict?, results}`. Builds node schemas on demand, because workflows can nest deeply. */
function innerData({ workflow, ...beyond }: Inner): JsonSchema {
  const shapes = dataShapes(workflow, beyond);
  const results: Record<string, JsonSchema> = {};
  for (const id of Object.keys(workflow.nodes)) {
    Object.defineProperty(results, id, { get: () => shapes(id) ?? {}, enumerable: true });
  }
  if (workflow.verdict === undefined) return closed({ results: closed(results), error: TEXT });
  const paths = [workflow.verdict].flat();
  return closed({
    get verdict() {
      const listed = paths.map((path) => declaredAt(path, shapes)?.enum);
      return listed.every(Array.isArray) ? { ...TEXT, enum: listed.flat() } : TEXT;
    },
    results: closed(results),
    error: TEXT,
  });
}
