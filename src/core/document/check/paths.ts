import type { Diagnostic } from "../../base/diagnostic.ts";
import { type Path, parsePath } from "../../base/path.ts";
import { defined, didYouMean, isObject, type Json, type JsonSchema } from "../../base/values.ts";
import { parseCondition } from "../condition.ts";
import { pathsIn, pathsInKey } from "../fill.ts";
import { pathsOf } from "../value-rule.ts";
import type { EvidenceRule } from "../workflow/evaluator.ts";
import type { WorkflowNode } from "../workflow/node.ts";
import { callsOf } from "../workflow/step.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { typesOf } from "./conditions.ts";
import { closed, type DataShapes, type StepShape, stepOutputs, TEXT } from "./node-data.ts";
import { STEP_ROOTS, WITH_ROOTS } from "./steps.ts";

/** Finds paths that never lead anywhere: their root is unknown, or the data never has the field. */
export function checkPaths(workflow: Workflow, shapes: DataShapes, stepShape?: StepShape): Diagnostic[] {
  const nodes = Object.keys(workflow.nodes);
  const entries = Object.entries(workflow.nodes);
  const known = new Set(["input", ...nodes]);
  const roots = new Set([...known, "skills"]);
  const inSteps = { known: roots, roots: new Set([...roots, ...STEP_ROOTS]) };
  const told = [
    ...entries.flatMap((entry) => pathsBefore(entry, { known, roots })),
    ...entries.flatMap((entry) => pathsOfInner(entry, known)),
    ...entries.flatMap((entry) => pathsOfSteps(entry, inSteps, stepShape)),
    ...pathsInEdges(workflow, roots),
    ...pathsAtTop(workflow, known),
  ];
  return [...told.flatMap((written) => checkPath(written, nodes, shapes)), ...checkEvaluated(workflow, shapes)];
}

interface WrittenPath {
  readonly path: string;
  readonly roots: ReadonlySet<string>;
  readonly at: Diagnostic["path"];
  readonly of: string;
  /** Node whose data the edge can read. */
  readonly from?: string;
  /** Severity if the root is unknown. */
  readonly severity: Diagnostic["severity"];
  /** Shapes of roots that only this path can read. */
  readonly own?: Readonly<Record<string, JsonSchema>>;
}

type NodeEntry = readonly [id: string, node: WorkflowNode];
type Roots = Readonly<Record<"known" | "roots", ReadonlySet<string>>>;

function pathsBefore([id, { requires = {}, once }]: NodeEntry, { known, roots }: Roots): WrittenPath[] {
  const about = { of: `node "${id}"`, severity: "warning" } as const;
  const required = pathsOf(requires).map((path) => ({ ...about, path, roots, at: ["nodes", id, "requires"] }));
  const keys = [once ?? []].flat().flatMap((key, index) => {
    const at = ["nodes", id, "once", ...(Array.isArray(once) ? [index] : [])];
    return pathsInKey(key).map((path) => ({ ...about, path, roots: known, at }));
  });
  return [...required, ...keys];
}

/** Lists the paths of a map or call. `over` and `with` start in the context, `key` and `unless_changed` in the item. */
function pathsOfInner([id, { map, with: given }]: NodeEntry, known: ReadonlySet<string>): WrittenPath[] {
  if (!map && !given) return [];
  const about = { of: `node "${id}"`, severity: "error" } as const;
  const inWith = { roots: new Set([...known, ...WITH_ROOTS]), own: without(RUN_SHAPES, known) };
  const filled = Object.entries(given ?? {}).flatMap(([field, value]) =>
    pathsIn(value as Json).map((path) => ({ ...about, ...inWith, path, at: ["nodes", id, "with", field] })),
  );
  if (!map) return filled;
  const { over, as, key, unseen } = map;
  const ofItem = [
    ...(key === undefined ? [] : [["key", key] as const]),
    ...(unseen?.unless_changed ?? []).map((path) => ["unseen", path] as const),
  ];
  return [
    ...filled,
    { ...about, path: over, roots: known, at: ["nodes", id, "map", "over"] },
    ...ofItem.map(([field, path]) => ({ ...about, path, roots: new Set([as]), at: ["nodes", id, "map", field] })),
  ];
}

/** Lists the paths of a node's steps, in conditions and templates. A step reads only the results of earlier steps. */
function pathsOfSteps([id, node]: NodeEntry, { known, roots }: Roots, stepShape?: StepShape): WrittenPath[] {
  const { steps = [] } = node;
  return steps.flatMap((step, index) => {
    const at = ["nodes", id, "steps", index];
    const rule = step.if === undefined ? "" : parseCondition(step.if);
    const earlier = stepOutputs(node, steps.slice(0, index), stepShape);
    const own = without({ steps: closed(earlier), ...RUN_SHAPES }, known);
    const about = { of: `step "${step.id}"`, severity: "error", roots, own } as const;
    const conditions = typeof rule === "string" ? [] : pathsOf(rule);
    const inputs = callsOf(step).flatMap(({ with: given = {} }, alternative) =>
      Object.entries(given).flatMap(([field, value]) => {
        const place = step.first_of ? ["first_of", alternative, "with", field] : ["with", field];
        return pathsIn(value as Json).map((path) => ({ ...about, path, at: [...at, ...place] }));
      }),
    );
    return [...conditions.map((path) => ({ ...about, path, at: [...at, "if"] })), ...inputs];
  });
}

const RUN_SHAPES: Readonly<Record<string, JsonSchema>> = {
  run: closed({ id: TEXT, report_url: TEXT }),
  finding: closed({ title: TEXT, text: TEXT, markdown: TEXT, slack: TEXT, json: { type: "object" } }),
};

/** Leaves out the shapes of roots that nodes hide. */
function without(shapes: Readonly<Record<string, JsonSchema>>, known: ReadonlySet<string>) {
  return Object.fromEntries(Object.entries(shapes).filter(([root]) => !known.has(root)));
}

function pathsInEdges({ edges }: Workflow, roots: ReadonlySet<string>): WrittenPath[] {
  return edges.flatMap((edge, index) => {
    const rule = edge.if === undefined ? "" : parseCondition(edge.if);
    if (typeof rule === "string") return [];
    const at = ["edges", index, "if"];
    const about = { roots, at, from: edge.from, of: `edge ${index}`, severity: "error" } as const;
    return pathsOf(rule).map((path) => ({ ...about, path }));
  });
}

function pathsAtTop({ report = {}, verdict, cool_down }: Workflow, roots: ReadonlySet<string>): WrittenPath[] {
  const reported = Object.entries(report).map(([field, path]): WrittenPath => {
    return { path, roots, at: ["report", field], of: "the report", severity: "warning" };
  });
  return [
    ...reported,
    ...[verdict ?? []]
      .flat()
      .map((path) => ({ path, roots, at: ["verdict"], of: "the verdict", severity: "error" }) as const),
    ...(cool_down === undefined ? [] : [{ ...COOL_DOWN, path: cool_down.key }]),
  ];
}

/** A cool-down can only read the input, because it is used before the run starts. */
const COOL_DOWN = { roots: new Set(["input"]), at: ["cool_down", "key"], of: "cool_down", severity: "error" } as const;

function checkPath(
  { path, roots, at, of, from = "", severity, own = {} }: WrittenPath,
  nodes: readonly string[],
  shapes: DataShapes,
): Diagnostic[] {
  const plain = path.replace(/(?<!\])\[\d+\](?=\.|$)/g, "[*]").replace(/\[\d+\](?=\.|$)/g, "");
  const [root, ...fields] = parsePath(plain)?.segments ?? [];
  if (!root) return [{ code: "UNKNOWN_PATH_ROOT", severity, path: at, message: `"${path}" of ${of} is not a path` }];
  if (!roots.has(root.key)) {
    const roof = roots.has("skills") ? "input, skills" : "input";
    const [only] = roots;
    const missed = roots.size === 1 ? `does not begin with ${only}` : `does not begin with ${roof} or a node`;
    const message = `"${path}" of ${of} ${missed}`;
    const owners = [from, ...nodes.slice(0, MOST_OWNERS)];
    const owner = owners.find((id) => {
      const { properties } = (roots.has(id) && shapes(id)) || {};
      return isObject(properties) && Object.hasOwn(properties, root.key);
    });
    const hint = owner === undefined ? didYouMean(root.key, roots, '"') : `did you mean "${owner}.${path}"?`;
    return [{ code: "UNKNOWN_PATH_ROOT", severity, path: at, message, ...defined("hint", hint) }];
  }
  const data = `data of ${nodes.includes(root.key) ? `node "${root.key}"` : root.key}`;
  const about = `"${path}" of ${of}: the ${root.key === "input" || own[root.key] ? root.key : data}`;
  return unknownField(own[root.key] ?? shapes(root.key), fields, { at, about, before: root.key });
}

/** Maximum number of nodes to search for a field that was written without its node. */
const MOST_OWNERS = 100;

function checkEvaluated({ nodes }: Workflow, shapes: DataShapes): Diagnostic[] {
  return Object.entries(nodes).flatMap(([id, node]) =>
    (node.eval ?? []).flatMap((evaluator, index) => {
      const { kind, name } = evaluator;
      const paths =
        kind === "value" ? pathsOf(evaluator.rule) : kind === "evidence" ? evidencePaths(evaluator.rule) : [];
      const at = ["nodes", id, "eval", index, "rule"];
      return paths.flatMap((path) => {
        const about = `"${path}" of evaluator "${name}": the data of node "${id}"`;
        return unknownField(shapes(id), parsePath(path)?.segments ?? [], { at, about, before: "" });
      });
    }),
  );
}

function evidencePaths({ claims, texts = [], refutes }: EvidenceRule): readonly string[] {
  return [claims, ...texts, ...(refutes === undefined ? [] : [refutes])];
}

interface About {
  readonly at: Diagnostic["path"];
  readonly about: string;
  /** Part of the path before the fields. */
  readonly before: string;
}

function unknownField(shape: JsonSchema | undefined, fields: Path["segments"], { at, about, before }: About) {
  const missing = firstUnknown(shape, fields, before);
  if (!missing) return [];
  const { message, hint } = missing;
  const found: Diagnostic = { code: "UNKNOWN_PATH", severity: "warning", path: at, message: `${about} ${message}` };
  return [{ ...found, ...defined("hint", hint) }];
}

/** Describes the first field that the data never has. */
function firstUnknown(shape: JsonSchema | undefined, fields: Path["segments"], before: string) {
  let schema: unknown = shape;
  let place = before;
  for (const [index, { key, each }] of fields.entries()) {
    const next = [place, key].filter((part) => part !== "").join(".");
    const types = isObject(schema) ? typesOf(schema as JsonSchema) : undefined;
    const missing = `never has a field "${key}"`;
    if (types?.includes("array")) {
      const rest = fields.slice(index).map((field) => `.${field.key}${field.each ? "[*]" : ""}`);
      const hint = `"${place}" is a list: write ${place}[*]${rest.join("")}`;
      return types.includes("object") ? undefined : { message: missing, hint };
    }
    if (types && !types.includes("object")) return { message: `${missing}: "${place}" is ${types.join(" or ")}` };
    if (!isObject(schema) || !isObject(schema.properties)) return undefined;
    const { properties, ...others } = schema;
    if (OPEN.some((word) => others[word] !== undefined && others[word] !== false)) return undefined;
    if (!Object.hasOwn(properties, key)) {
      return { message: missing, hint: didYouMean(key, Object.keys(properties), '"') };
    }
    schema = properties[key];
    place = next;
    if (!each) continue;
    const inside = isObject(schema) ? typesOf(schema as JsonSchema) : undefined;
    if (inside && !inside.includes("array")) return { message: `has no list at "${next}"`, hint: `write ${next}` };
    schema = isObject(schema) ? schema.items : undefined;
    place += "[*]";
  }
  return undefined;
}

/** Keywords that allow fields that `properties` does not list. */
const OPEN = [
  ...["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies"],
  ...["additionalProperties", "patternProperties", "unevaluatedProperties"],
];
