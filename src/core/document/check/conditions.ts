import { type Diagnostic, errorAt, warningAt } from "../../base/diagnostic.ts";
import { deepEqual, didYouMean, type JsonSchema, typeOf } from "../../base/values.ts";
import { showCondition } from "../condition.ts";
import { matchComplaint } from "../value-rule.ts";
import type { Edge } from "../workflow/node.ts";
import type { OutputMatch, ValueRule } from "../workflow/rule.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { readCondition } from "./condition-mistakes.ts";
import { type DataShapes, declaredAt } from "./node-data.ts";

/** Checks each `if` before a run: its form, whether it can hold, and whether its edge is ever reached. */
export function checkConditions(workflow: Workflow, shapes: DataShapes): Diagnostic[] {
  const earlier = new Map<string, Ruled[]>();
  const roots = new Set(["input", ...Object.keys(workflow.nodes)]);
  return workflow.edges.flatMap((edge, index) => {
    if (edge.if === undefined) return [];
    const rule = readCondition(edge.if, roots);
    if ("message" in rule) return [errorAt("SCHEMA", placeOf(index), `the condition ${rule.message}`, rule.hint)];
    if (rule.output_matches?.some((match) => typeof match.in === "string")) return [];
    const before = earlier.get(edge.from) ?? [];
    const misfit = findMisfit(rule, index, shapes);
    const findings = [...misfit, ...isShadowed({ edge, rule, index }, before)];
    if (before.length < MOST_COMPARED) before.push({ edge, rule, index });
    earlier.set(edge.from, before);
    return findings;
  });
}

const placeOf = (edge: number) => ["edges", edge, "if"];

/** Maximum number of earlier edges of a node to compare with a later one. */
const MOST_COMPARED = 100;

interface Ruled {
  readonly edge: Edge;
  readonly rule: ValueRule;
  readonly index: number;
}

/** Finds the first comparison that no value of the data can satisfy, or that every value does. */
function findMisfit(rule: ValueRule, index: number, shapes: DataShapes): Diagnostic[] {
  for (const match of comparisonsOf(rule)) {
    const shape = declaredAt(match.path, shapes);
    if (shape === undefined) continue;
    const types = typesOf(shape);
    const own = isExistence(match) ? { output_required: [match.path] } : { output_matches: [match] };
    const shown = `"${showCondition(own)}"`;
    const isMeant = (value: unknown) => typeof value === "string" && meantBy(value, types) !== "";
    const text = types?.includes("string") ? undefined : namedBy(match)?.find(isMeant);
    if (typeof text === "string") {
      const message = `${shown} compares a ${types?.join(" or ")} with the string ${JSON.stringify(text)}`;
      const hint = `write ${match.path} ${match.not ? "!=" : "="} ${meantBy(text, types)}`;
      return [errorAt("SCHEMA", placeOf(index), message, hint)];
    }
    const hint = hintFor(match, shape);
    if (!canHold(match, shape)) {
      const message = `${shown} cannot hold: the data there never has such a value`;
      return [warningAt("EDGE_NEVER", placeOf(index), message, hint)];
    }
    if (match.not && hint !== undefined) {
      const message = `${shown} always holds: the data there never has that value`;
      return [warningAt("EDGE_ALWAYS", placeOf(index), message, hint)];
    }
  }
  return [];
}

/** Returns the boolean or number that a string such as `"true"`, `yes` or `"3"` was meant to be, or an empty string. */
function meantBy(text: string, types: readonly string[] | undefined): string {
  const word = text.trim().toLowerCase();
  const isNumber = types?.some((type) => type === "number" || type === "integer");
  if (isNumber && /^[-+]?\d+(\.\d+)?$/.test(word)) return word;
  if (!types?.includes("boolean")) return "";
  return ["true", "yes", "on", "approved"].includes(word)
    ? "true"
    : ["false", "no", "off", "denied"].includes(word)
      ? "false"
      : "";
}

function hintFor(match: OutputMatch, shape: JsonSchema): string | undefined {
  const listed = valuesOf(shape, typesOf(shape));
  const named = namedBy(match);
  if (!listed || !named || named.includes(null) || named.some((value) => listed.some((each) => deepEqual(each, value))))
    return undefined;
  const words = listed.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return didYouMean(String(named[0]), words, '"') ?? `the values are ${words.slice(0, MOST_WORDS).join(", ")}`;
}

const MOST_WORDS = 12;

/** Lists the comparisons. `exists` counts as `!= null`. */
function comparisonsOf({ output_required = [], output_matches = [] }: ValueRule): OutputMatch[] {
  return [...output_required.map((path): OutputMatch => ({ path, equals: null, not: true })), ...output_matches];
}

function isExistence({ equals, not }: OutputMatch): boolean {
  return equals === null && not === true;
}

function canHold(match: OutputMatch, shape: JsonSchema): boolean {
  const types = typesOf(shape);
  const listed = valuesOf(shape, types);
  if (listed) return listed.some((value) => matchComplaint(match, value) === undefined);
  if (match.not) return isExistence(match) ? types === undefined || types.some((type) => type !== "null") : true;
  const named = namedBy(match);
  if (named) {
    return named.some((value) => {
      const isInBounds = typeof value !== "number" || meetsBounds(shape, value, value);
      return isInBounds && (types === undefined || types.some((type) => isOfType(value, type)));
    });
  }
  const { at_least, at_most } = match;
  if (at_least === undefined && at_most === undefined) return true;
  if (!meetsBounds(shape, at_least ?? -Infinity, at_most ?? Infinity)) return false;
  return types === undefined || types.some((type) => type === "number" || type === "integer");
}

/** Checks whether the bounds of a schema leave room for a number from `least` to `most`. */
function meetsBounds(
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema,
  least: number,
  most: number,
) {
  const isAbove = (bound: unknown) => typeof bound === "number" && most < bound;
  const isBelow = (bound: unknown) => typeof bound === "number" && least > bound;
  const isExcluded = most === exclusiveMinimum || least === exclusiveMaximum;
  return !isExcluded && ![minimum, exclusiveMinimum].some(isAbove) && ![maximum, exclusiveMaximum].some(isBelow);
}

export function typesOf({ type }: JsonSchema): string[] | undefined {
  if (typeof type === "string") return [type];
  return Array.isArray(type) ? type.filter((each) => typeof each === "string") : undefined;
}

/** Returns all values that a schema allows, if there are finitely many. */
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

function namedBy({ equals, in: list }: OutputMatch): readonly unknown[] | undefined {
  return equals === undefined ? (Array.isArray(list) ? list : undefined) : [equals];
}

/** Finds an earlier edge that hides this one. Only an edge that is always taken if its condition holds can do so. */
function isShadowed({ rule, index }: Ruled, before: readonly Ruled[]): Diagnostic[] {
  const [match, ...more] = comparisonsOf(rule);
  if (!match || more.length > 0) return [];
  const cover = before.find(({ edge, rule: other }) => {
    const [wider, ...rest] = comparisonsOf(other);
    const alwaysTaken = !edge.when?.trim() && edge.max_iterations === undefined;
    return alwaysTaken && wider !== undefined && rest.length === 0 && covers(wider, match);
  });
  if (!cover) return [];
  const message = `edge ${cover.index} is taken whenever "${showCondition(rule)}" holds, so this one is unreachable`;
  return [warningAt("EDGE_SHADOWED", placeOf(index), message, "put the narrower condition first")];
}

/** Checks whether every value that satisfies `match` also satisfies `wider`. */
function covers(wider: OutputMatch, match: OutputMatch): boolean {
  if (wider.path !== match.path) return false;
  if (deepEqual(wider, match)) return true;
  const named = namedBy(match);
  if (match.not) {
    const out = wider.not && namedBy(wider);
    // The rule with fewer excluded values is wider.
    return Boolean(out && named && out.every((value) => named.some((each) => deepEqual(each, value))));
  }
  if (named) return named.every((value) => matchComplaint(wider, value) === undefined);
  const isNumber = match.at_least !== undefined || match.at_most !== undefined;
  if (isNumber && isExistence(wider)) return true;
  if (wider.not) return false;
  if (match.at_least !== undefined) return wider.at_least !== undefined && wider.at_least <= match.at_least;
  return match.at_most !== undefined && wider.at_most !== undefined && wider.at_most >= match.at_most;
}
