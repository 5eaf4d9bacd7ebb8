import type { Diagnostic, DiagnosticCode } from "../diagnostic.ts";
import type { Edge } from "../document/node.ts";
import type { OutputMatch, ValueRule } from "../document/rule.ts";
import type { Workflow } from "../document/workflow.ts";
import { parsePath } from "../path.ts";
import { deepEqual, isObject, type JsonSchema, typeOf } from "../values.ts";
import { parseCondition, showCondition } from "./condition.ts";
import { matchComplaint } from "./value-rule.ts";

/** What can be known of `if` on edges before a run: its form, whether it can hold, whether it is reached (G1, G5). */
export function checkConditions(workflow: Workflow): Diagnostic[] {
  const earlier = new Map<string, Ruled[]>();
  return workflow.edges.flatMap((edge, index) => {
    if (edge.if === undefined) return [];
    const rule = parseCondition(edge.if);
    if (typeof rule === "string") return [found("error", "SCHEMA", index, `the condition ${rule}`)];
    const before = earlier.get(edge.from) ?? [];
    const findings = [...neverHolds(rule, index, workflow), ...isShadowed({ edge, rule, index }, before)];
    if (before.length < MOST_COMPARED) before.push({ edge, rule, index });
    earlier.set(edge.from, before);
    return findings;
  });
}

/** Edges of one node with which a later one is compared. */
const MOST_COMPARED = 100;

interface Ruled {
  readonly edge: Edge;
  readonly rule: ValueRule;
  readonly index: number;
}

type Severity = Diagnostic["severity"];

function found(severity: Severity, code: DiagnosticCode, index: number, message: string, hint?: string): Diagnostic {
  return { severity, code, path: ["edges", index, "if"], message, ...(hint ? { hint } : {}) };
}

function neverHolds(rule: ValueRule, index: number, { nodes }: Workflow): Diagnostic[] {
  const cannot = comparisonsOf(rule).find((match) => {
    const shape = declaredAt(match.path, nodes);
    return shape !== undefined && !canHold(match, shape);
  });
  if (!cannot) return [];
  const message = `"${showCondition(ruleOf(cannot))}" cannot hold: the declared output allows no such value`;
  return [found("warning", "EDGE_NEVER", index, message)];
}

/** `exists` is a comparison too: with anything but null. */
function comparisonsOf({ output_required = [], output_matches = [] }: ValueRule): OutputMatch[] {
  return [...output_required.map((path): OutputMatch => ({ path, equals: null, not: true })), ...output_matches];
}

function ruleOf(match: OutputMatch): ValueRule {
  return isExistence(match) ? { output_required: [match.path] } : { output_matches: [match] };
}

function isExistence({ equals, not }: OutputMatch): boolean {
  return equals === null && not === true;
}

/** Written by the executor, whatever is declared (D13). */
export const OWN_FIELDS = ["error", "skipped_reason", "fail_soft", "evals", "summary"];

/** The schema that a node declares for what a path leads to; undefined where nothing is declared of it, or of a list. */
function declaredAt(path: string, nodes: Workflow["nodes"]): JsonSchema | undefined {
  const [root, ...rest] = parsePath(path)?.segments ?? [];
  if (!root || root.each || !Object.hasOwn(nodes, root.key) || rest.some(({ each }) => each)) return undefined;
  if (rest.length === 0 || OWN_FIELDS.includes(rest[0]?.key ?? "")) return undefined;
  let shape: unknown = nodes[root.key]?.output;
  for (const { key } of rest) {
    if (!isObject(shape) || !isObject(shape.properties) || !Object.hasOwn(shape.properties, key)) return undefined;
    shape = shape.properties[key];
  }
  return isObject(shape) ? (shape as JsonSchema) : undefined;
}

function canHold(match: OutputMatch, shape: JsonSchema): boolean {
  const types = typesOf(shape);
  const listed = valuesOf(shape, types);
  if (listed) return listed.some((value) => matchComplaint(match, value) === undefined);
  if (match.not) return isExistence(match) ? types === undefined || types.some((type) => type !== "null") : true;
  const named = finite(match);
  if (named) return named.some((value) => types === undefined || types.some((type) => isOfType(value, type)));
  const wantsNumber = match.at_least !== undefined || match.at_most !== undefined;
  return !wantsNumber || types === undefined || types.some((type) => type === "number" || type === "integer");
}

function typesOf({ type }: JsonSchema): string[] | undefined {
  if (typeof type === "string") return [type];
  return Array.isArray(type) ? type.filter((each) => typeof each === "string") : undefined;
}

/** All values that a schema allows, where they can be counted. */
function valuesOf(shape: JsonSchema, types: readonly string[] | undefined): readonly unknown[] | undefined {
  if (Object.hasOwn(shape, "const")) return [shape.const];
  const listed = Array.isArray(shape.enum) ? shape.enum : undefined;
  if (listed) return types ? listed.filter((value) => types.some((type) => isOfType(value, type))) : listed;
  const counted: readonly unknown[] = types?.flatMap((type) => COUNTED[type] ?? [undefined]) ?? [undefined];
  return counted.includes(undefined) ? undefined : counted;
}

const COUNTED: Readonly<Record<string, readonly unknown[]>> = { boolean: [true, false], null: [null] };

function isOfType(value: unknown, type: string): boolean {
  return type === "integer" ? Number.isInteger(value) : typeOf(value) === type;
}

/** The values that a comparison lets through, where it names them. */
function finite(match: OutputMatch): readonly unknown[] | undefined {
  return match.not ? undefined : namedBy(match);
}

function namedBy({ equals, in: list }: OutputMatch): readonly unknown[] | undefined {
  return equals === undefined ? list : [equals];
}

/** Only an edge that is always taken where its condition holds can hide another. */
function isShadowed({ rule, index }: Ruled, before: readonly Ruled[]): Diagnostic[] {
  const [match, ...more] = comparisonsOf(rule);
  if (!match || more.length > 0) return [];
  const cover = before.find(({ edge, rule: other }) => {
    const [wider, ...rest] = comparisonsOf(other);
    const alwaysTaken = !edge.when?.trim() && edge.max_iterations === undefined;
    return alwaysTaken && wider !== undefined && rest.length === 0 && covers(wider, match);
  });
  if (!cover) return [];
  const message = `edge ${cover.index} is taken wherever "${showCondition(rule)}" holds, so this one never is`;
  return [found("warning", "EDGE_SHADOWED", index, message, "put the narrower condition first")];
}

/** Whether whatever satisfies the second satisfies the first. */
function covers(wider: OutputMatch, match: OutputMatch): boolean {
  if (wider.path !== match.path) return false;
  if (deepEqual(wider, match)) return true;
  const named = finite(match);
  if (named) return named.every((value) => matchComplaint(wider, value) === undefined);
  if (match.not) return coversExcluding(wider, match);
  const isNumber = match.at_least !== undefined || match.at_most !== undefined;
  if (isNumber && isExistence(wider)) return true;
  if (wider.not) return false;
  if (match.at_least !== undefined) return wider.at_least !== undefined && wider.at_least <= match.at_least;
  return match.at_most !== undefined && wider.at_most !== undefined && wider.at_most >= match.at_most;
}

/** What shuts out more lets through less. */
function coversExcluding(wider: OutputMatch, match: OutputMatch): boolean {
  const [out, also] = [excluded(wider), excluded(match)];
  return out !== undefined && also !== undefined && out.every((value) => also.some((each) => deepEqual(each, value)));
}

function excluded(match: OutputMatch): readonly unknown[] | undefined {
  return match.not ? namedBy(match) : undefined;
}
