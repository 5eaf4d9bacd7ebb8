import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { fieldPath } from "../diagnostic.ts";
import { messageOf } from "../errors.ts";
import { type Json, type JsonSchema, mapped, nearest } from "../values.ts";
import { isPlainSchema } from "./plain-schema.ts";
import { PATTERN_TOO_SLOW, withinSecond } from "./time-bound.ts";

/** Returns messages for the problems of a value, or an empty list if it is valid. */
type SchemaCheck = (value: unknown) => readonly string[];

const MOST_PROBLEMS = 20;
/** Longest pattern shown in a message, in characters. */
const MOST_PATTERN = 200;

const checking = new WeakMap<JsonSchema, ValidateFunction>();
const filling = new WeakMap<JsonSchema, ValidateFunction>();
const byText = new Map<string, ValidateFunction>();
const instances = new Map<string, Ajv | Ajv2020>();

/**
 * Compiles a JSON Schema once: as draft-07 if `$schema` says so, otherwise as 2020-12.
 * Throws an Error if the schema itself is invalid.
 */
export function compileSchema(schema: JsonSchema): SchemaCheck {
  const validate = compileOnce(schema);
  return (value) => {
    const lines = mapped(findProblems(validate, value), ({ message }) => message);
    const more = lines.length - MOST_PROBLEMS;
    return more > 0 ? [...lines.slice(0, MOST_PROBLEMS), `and ${more} more`] : lines;
  };
}

export function faultOfSchema(schema: JsonSchema): string | undefined {
  try {
    compileSchema(schema);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** A problem of a value. `path` is written like `filters[0].name`, and is empty for the value itself. */
export interface SchemaProblem {
  readonly message: string;
  readonly path: string;
  /** The invalid value. Absent if the problem is a missing or unknown key. */
  readonly value?: unknown;
}

/** Returns the problems of a value with their paths, unlike `compileSchema`, which returns only messages. */
export function schemaProblems(schema: JsonSchema, value: Json): readonly SchemaProblem[] {
  return findProblems(compileOnce(schema), value).slice(0, MOST_PROBLEMS);
}

/** Copies a value, adds the schema's defaults for missing properties, and checks the result. */
export function fillValue(
  schema: JsonSchema,
  given: Json,
): { readonly value: Json; readonly problems: readonly SchemaProblem[] } {
  const value = structuredClone(given) as Json;
  return { value, problems: findProblems(compileOnce(schema, filling), value).slice(0, MOST_PROBLEMS) };
}

function compileOnce(schema: JsonSchema, kept = checking): ValidateFunction {
  const known = kept.get(schema);
  if (known) return known;
  const fills = kept === filling;
  const text = `${fills} ${JSON.stringify(schema)}`;
  const validate = byText.get(text) ?? compileAlone(schema, { fills });
  kept.set(schema, validate);
  byText.set(text, validate);
  return validate;
}

/** Lists distinct problems. A value is invalid if its untrusted schema recurses without end or is too slow. */
function findProblems(validate: ValidateFunction, value: unknown): readonly SchemaProblem[] {
  matching = undefined;
  const find = () => (validate(value) ? [] : (validate.errors ?? []).map(problemOf));
  try {
    const found = isQuick(validate, value) ? find() : withinSecond(find);
    return found ? distinct(found) : [slowProblem(value, matching)];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [{ message: "the value is nested too deeply, or its schema is recursive", path: "" }];
  }
}

/** Reports whether a check is sure to be fast. Such checks run without the time limit and its overhead. */
function isQuick(validate: ValidateFunction, value: unknown): boolean {
  let known = effort.get(validate);
  if (known === undefined) {
    // The cost per part of a value, because each rule may visit each part.
    const text = JSON.stringify(validate.schema);
    known = SLOW_KEYWORDS.test(text) ? Number.POSITIVE_INFINITY : text.length;
    effort.set(validate, known);
  }
  return isLighterThan(MOST_EFFORT / known, value);
}

const NONE: readonly string[] = [];
const effort = new WeakMap<ValidateFunction, number>();
const MOST_EFFORT = 2_000_000;
const SLOW_KEYWORDS = /"(?:pattern|patternProperties|format|uniqueItems|\$\w*[rR]ef)":/;

/** Counts values and the characters of their keys, and stops at `most`. */
function isLighterThan(most: number, value: unknown): boolean {
  const open = [value];
  for (let weight = 0; open.length > 0; ) {
    if (++weight > most) return false;
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    const names = Array.isArray(next) ? NONE : Object.keys(next);
    for (const name of names) weight += name.length;
    for (const inner of Array.isArray(next) ? next : Object.values(next)) {
      if (open.push(inner) + weight > most) return false;
    }
  }
  return true;
}

function distinct(problems: readonly SchemaProblem[]): readonly SchemaProblem[] {
  if (problems.length === 0) return problems;
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

interface Matching {
  readonly source: string;
  readonly text: string;
}

/** The match in progress. If the check runs out of time, this is the match that was too slow. */
let matching: Matching | undefined;

function slowProblem(value: unknown, at: Matching | undefined): SchemaProblem {
  if (!at) return { message: "the value took over 1 s to check", path: "" };
  const keys = placeOf(value, at.text) ?? [];
  const source = at.source.length > MOST_PATTERN ? `${at.source.slice(0, MOST_PATTERN)}…` : at.source;
  return { message: `${keys.join(".") || "the value"}: ${PATTERN_TOO_SLOW}: ${source}`, path: fieldPath(keys) };
}

function placeOf(value: unknown, text: string): (string | number)[] | undefined {
  if (value === text) return [];
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const key = Array.isArray(value) ? Number(name) : name;
    if (key === text) return [key];
    const rest = placeOf(inner, text);
    if (rest) return [key, ...rest];
  }
  return undefined;
}

function problemOf(error: ErrorObject): SchemaProblem {
  const { missingProperty, additionalProperty, unevaluatedProperty } = error.params as Readonly<
    Record<string, unknown>
  >;
  const deeper = missingProperty ?? additionalProperty ?? unevaluatedProperty;
  const keys = error.instancePath.slice(1).split("/").filter(Boolean).map(readPointerKey);
  const path = [...keys, ...(typeof deeper === "string" ? [deeper] : [])];
  const isOfKey = deeper !== undefined || typeof error.data === "object";
  return { message: describeError(error), path: fieldPath(path), ...(isOfKey ? {} : { value: error.data }) };
}

function readPointerKey(key: string): string | number {
  return /^\d+$/.test(key) ? Number(key) : key.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Compiles a schema and removes it from the shared instance, so that other schemas cannot refer to it. */
function compileAlone(schema: JsonSchema, { fills }: { readonly fills: boolean }): ValidateFunction {
  const { $schema: _, ...own } = schema;
  const isDraft7 = /draft-0[67]/.test(String(schema.$schema ?? ""));
  const key = `${isDraft7 ? "7" : "2020"}${fills ? " fills" : ""}`;
  const ajv = instances.get(key) ?? createAjv(isDraft7 ? Ajv : Ajv2020, fills);
  instances.set(key, ajv);
  const size = JSON.stringify(own).length;
  if (size > MOST_SCHEMA) throw new Error(`it has ${size} characters of JSON; the maximum is ${MOST_SCHEMA}`);
  if (typeof own.$id === "string" && ajv.getSchema(own.$id)) throw new Error(`the $id ${own.$id} is already used`);
  ajv.opts.validateSchema = !isPlainSchema(own);
  try {
    return ajv.compile(own);
  } finally {
    ajv.removeSchema(own);
  }
}

/** Longest schema, in characters of JSON. Compiling cannot be interrupted, and its time grows with the size. */
const MOST_SCHEMA = 200_000;

function createAjv(Dialect: typeof Ajv | typeof Ajv2020, fills: boolean): Ajv | Ajv2020 {
  const ajv = new Dialect({
    strict: false,
    allErrors: true,
    verbose: true,
    logger: false,
    useDefaults: fills,
    // Most schemas check only a few values, so optimizing their code does not pay off.
    code: { regExp: noticedPattern, optimize: false },
  });
  formats.default(ajv);
  return ajv;
}

/** Creates patterns that record the match in progress. */
const noticedPattern = Object.assign(
  (source: string, flags: string) => {
    const pattern = new RegExp(source, flags);
    return {
      test(text: string) {
        matching = { source, text };
        const isMatch = pattern.test(text);
        matching = undefined;
        return isMatch;
      },
      toString: () => String(pattern),
    };
  },
  { code: "noticedPattern" },
);

function describeError(error: ErrorObject): string {
  const place = error.instancePath.slice(1).replaceAll("/", ".") || "the value";
  if (error.keyword === "additionalProperties" || error.keyword === "unevaluatedProperties") {
    const name = String(error.params.additionalProperty ?? error.params.unevaluatedProperty);
    const near = nearest(name, Object.keys((error.parentSchema?.properties as object | undefined) ?? {}));
    return `${place} has an unknown key "${name}"${near ? ` (did you mean "${near}"?)` : ""}`;
  }
  if (error.keyword === "enum") return `${place} must be one of ${JSON.stringify(error.params.allowedValues)}`;
  if (error.keyword === "const") return `${place} must be ${JSON.stringify(error.params.allowedValue)}`;
  return `${place} ${error.message ?? "does not fit"}`;
}
