import type { Diagnostic } from "../diagnostic.ts";
import type { WorkflowNode } from "../document/node.ts";
import type { Workflow } from "../document/workflow.ts";
import { pathsIn } from "../inner/fill.ts";
import { type Path, parsePath } from "../path.ts";
import { isObject, type Json, type JsonSchema, nearest } from "../values.ts";
import { OWN_FIELDS } from "./check-conditions.ts";
import { parseCondition } from "./condition.ts";
import { pathsOf } from "./value-rule.ts";

/** Paths at which nothing ever stands: of an unknown root, or of a field that a declared output does not name. */
export function checkPaths(workflow: Workflow): Diagnostic[] {
  const known = new Set(["input", ...Object.keys(workflow.nodes)]);
  const roots = new Set([...known, "skills"]);
  const told = [
    ...pathsInNodes(workflow, { known, roots }),
    ...Object.entries(workflow.nodes).flatMap(([id, node]) => pathsOfInner(id, node, known)),
    ...pathsInEdges(workflow, roots),
    ...pathsAtTop(workflow, known),
  ];
  return [...told.flatMap((written) => checkPath(written, workflow)), ...checkEvaluated(workflow)];
}

/** A path of the context, and where the document has it. */
interface WrittenPath {
  readonly path: string;
  readonly roots: ReadonlySet<string>;
  readonly at: Diagnostic["path"];
  readonly of: string;
  /** Of a root that is unknown. */
  readonly severity: Diagnostic["severity"];
}

function pathsInNodes(
  { nodes }: Workflow,
  { known, roots }: { readonly known: ReadonlySet<string>; readonly roots: ReadonlySet<string> },
): WrittenPath[] {
  return Object.entries(nodes).flatMap(([id, { requires = {}, once }]) => {
    const about = { of: `node "${id}"`, severity: "warning" } as const;
    const required = pathsOf(requires).map((path) => ({ ...about, path, roots, at: ["nodes", id, "requires"] }));
    return once === undefined
      ? required
      : [...required, { ...about, path: once, roots: known, at: ["nodes", id, "once"] }];
  });
}

/** Of a map or call: `over` and `with` begin in the context, `key` and `unless_changed` in the item. */
function pathsOfInner(id: string, { map, with: given }: WorkflowNode, known: ReadonlySet<string>): WrittenPath[] {
  const about = { of: `node "${id}"`, severity: "error" } as const;
  const filled = Object.entries(given ?? {}).flatMap(([field, value]) =>
    pathsIn(value as Json).map((path) => ({ ...about, path, roots: known, at: ["nodes", id, "with", field] })),
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

function pathsInEdges({ edges }: Workflow, roots: ReadonlySet<string>): WrittenPath[] {
  return edges.flatMap((edge, index) => {
    const rule = edge.if === undefined ? "" : parseCondition(edge.if);
    if (typeof rule === "string") return [];
    const about = { roots, at: ["edges", index, "if"], of: `edge ${index}`, severity: "error" } as const;
    return pathsOf(rule).map((path) => ({ ...about, path }));
  });
}

function pathsAtTop({ report = {}, verdict, cool_down }: Workflow, roots: ReadonlySet<string>): WrittenPath[] {
  const reported = Object.entries(report).map(([field, path]): WrittenPath => {
    return { path, roots, at: ["report", field], of: "the report", severity: "warning" };
  });
  return [
    ...reported,
    ...(verdict === undefined
      ? []
      : [{ path: verdict, roots, at: ["verdict"], of: "the verdict", severity: "error" } as const]),
    ...(cool_down === undefined ? [] : [coolDownPath(cool_down.key)]),
  ];
}

/** Before a run begins there is its input alone. */
function coolDownPath(path: string): WrittenPath {
  return { path, roots: new Set(["input"]), at: ["cool_down", "key"], of: "cool_down", severity: "error" };
}

function checkPath({ path, roots, at, of, severity }: WrittenPath, { nodes }: Workflow): Diagnostic[] {
  const [root, ...fields] = parsePath(path.replace(/\[\d+\](?=\.|$)/g, ""))?.segments ?? [];
  if (!root) return [{ code: "UNKNOWN_PATH_ROOT", severity, path: at, message: `"${path}" of ${of} is no path` }];
  if (!roots.has(root.key)) {
    const roof = roots.has("skills") ? "input, skills" : "input";
    const [only] = roots;
    const missed = roots.size === 1 ? `does not begin with ${only}` : `begins with neither ${roof} nor a node`;
    const message = `"${path}" of ${of} ${missed}`;
    return [{ code: "UNKNOWN_PATH_ROOT", severity, path: at, message, ...didYouMean(nearest(root.key, roots)) }];
  }
  const node = Object.hasOwn(nodes, root.key) ? nodes[root.key] : undefined;
  return unknownField(node, fields, { at, about: `"${path}" of ${of}: the declared output of node "${root.key}"` });
}

/** Rules about a node's own data. */
function checkEvaluated({ nodes }: Workflow): Diagnostic[] {
  return Object.entries(nodes).flatMap(([id, node]) =>
    (node.eval ?? []).flatMap((evaluator, index) => {
      const { kind, name } = evaluator;
      const paths = kind === "value" ? pathsOf(evaluator.rule) : kind === "evidence" ? [evaluator.rule.claims] : [];
      const at = ["nodes", id, "eval", index, "rule"];
      return paths.flatMap((path) => {
        const about = `"${path}" of evaluator "${name}": the declared output`;
        return unknownField(node, parsePath(path)?.segments ?? [], { at, about });
      });
    }),
  );
}

function unknownField(
  node: WorkflowNode | undefined,
  fields: Path["segments"],
  { at, about }: { readonly at: Diagnostic["path"]; readonly about: string },
): Diagnostic[] {
  if (!node?.output || OWN_FIELDS.includes(fields[0]?.key ?? "")) return [];
  const missing = firstUnknown(node.output, fields);
  if (!missing) return [];
  const message = `${about} has no field "${missing.key}"`;
  const near = nearest(missing.key, missing.known);
  return [{ code: "UNKNOWN_PATH", severity: "warning", path: at, message, ...didYouMean(near) }];
}

/** The first field that an object whose fields are all named does not have. */
function firstUnknown(output: JsonSchema, fields: Path["segments"]) {
  let schema: unknown = output;
  for (const { key, each } of fields) {
    if (!isObject(schema) || !isObject(schema.properties) || OPEN.some((word) => isOpen(schema, word)))
      return undefined;
    if (!Object.hasOwn(schema.properties, key)) return { key, known: Object.keys(schema.properties) };
    schema = schema.properties[key];
    if (each) schema = isObject(schema) ? schema.items : undefined;
  }
  return undefined;
}

/** Where one of these stands, there may be fields that `properties` does not name. */
const OPEN = ["$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "patternProperties"];

function isOpen(schema: unknown, word: string): boolean {
  return isObject(schema) && schema[word] !== undefined && schema[word] !== false;
}

function didYouMean(near: string | undefined): Pick<Diagnostic, "hint"> {
  return near === undefined ? {} : { hint: `did you mean "${near}"?` };
}
