import * as z from "zod";
import { type Diagnostic, fieldPath } from "../../core/base/diagnostic.ts";
import { isObject, nearest } from "../../core/base/values.ts";

export type Issue = z.core.$ZodIssue;
type Path = Diagnostic["path"];

interface Document {
  readonly schema: z.ZodType;
  readonly value: unknown;
  /** Replaces the schema's message for a value. Returns undefined to keep it. */
  readonly insteadOf?: (path: Path, value: unknown) => Pick<Diagnostic, "code" | "message"> | undefined;
}

export function describeIssues(schema: z.ZodType, value: unknown): Diagnostic[] {
  const checked = schema.safeParse(value, { jitless: true });
  return checked.success ? [] : describeAll(checked.error.issues, { schema, value });
}

/** Describes issues, each once: a misspelled field is also a missing one. */
export function describeAll(issues: readonly Issue[], document: Document): Diagnostic[] {
  const found = withoutConsequences(issues).flatMap((issue) => describeIssue(issue, document));
  return [...new Map(found.map((each) => [JSON.stringify(each), each])).values()];
}

/** Leaves out rules about the fields of a map that has an unknown one, which is probably misspelled. */
export function withoutConsequences(issues: readonly Issue[]): readonly Issue[] {
  const misspelled = new Set(issues.flatMap(({ code, path }) => (code === "unrecognized_keys" ? path.join(".") : [])));
  return issues.filter(({ code, path }) => code !== "custom" || !misspelled.has(path.join(".")));
}

export function describeIssue(issue: Issue, document: Document, base: Path = []): Diagnostic[] {
  const path = [...base, ...(issue.path as (string | number)[])];
  const value = valueAt(document.value, path);
  if (value === undefined && issue.code === "custom") return [finding(path, issue.message)];
  if (value === undefined && issue.code !== "unrecognized_keys") return [missing(path, document)];
  const told = document.insteadOf?.(path, value);
  if (told) return [{ ...finding(path, told.message), code: told.code }];
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => unknownKey([...path, key], key, keysAt(document.schema, path)));
    case "invalid_union":
      return describeUnion(issue, document, path);
    case "invalid_key":
      return issue.issues.map((inner) => finding(path, inner.message));
    default:
      return [withHint(finding(path, issueText(issue, value)), wanted(issue), value)];
  }
}

function finding(path: Path, message: string): Diagnostic {
  const field = fieldPath(path);
  return { severity: "error", code: "SCHEMA", path, message: field ? `${field} ${message}` : message };
}

/** Reports a missing field, or the unknown field that is probably meant to be it. */
function missing(path: Path, document: Document): Diagnostic {
  const [base, name] = [path.slice(0, -1), path.at(-1)];
  const known = keysAt(document.schema, base);
  const unknown = Object.keys(valueAt(document.value, base) ?? {}).filter((key) => !known.includes(key));
  const meant = typeof name === "string" ? unknown.find((key) => nearKey(key, known) === name) : undefined;
  return meant === undefined ? finding(path, "is required") : unknownKey([...base, meant], meant, known);
}

function unknownKey(path: Path, key: string, known: readonly string[]): Diagnostic {
  const near = nearKey(key, known);
  const isShort = known.length > 0 && known.length <= MOST_LISTED;
  const hint = near ? `did you mean "${near}"?` : isShort ? `its fields: ${known.join(", ")}` : undefined;
  return { ...finding(path, "is not a known field"), ...(hint ? { hint } : {}) };
}

const MOST_LISTED = 12;

/** Returns the field that a key resembles, or that begins like it: "reply" for "replies". */
function nearKey(key: string, known: readonly string[]): string | undefined {
  return nearest(key, known) ?? known.find((field) => key.length > 3 && field.startsWith(key.slice(0, 4)));
}

/** Describes the errors of the closest branch, which say more than "invalid input". */
function describeUnion(issue: Extract<Issue, { code: "invalid_union" }>, document: Document, path: Path): Diagnostic[] {
  const value = valueAt(document.value, path);
  const branches = issue.errors as Issue[][];
  const inside = branches.filter(
    (errors) => !errors.some((found) => found.path.length === 0 && found.code === "invalid_type"),
  );
  const [closest] = inside.sort((a, b) => a.length - b.length);
  if (closest && closest.length > 0) return closest.flatMap((inner) => describeIssue(inner, document, path));
  const quoted = [...issue.message.matchAll(/'([^']+)'/g)].map(([, text = ""]) => text);
  if (branches.length === 0) return [finding(path, oneOf(value, quoted))];
  const types = branches.flat().flatMap((found) => wanted(found) ?? []);
  if (types.length === 0) return [finding(path, issue.message)];
  const told = finding(path, `must be ${[...new Set(types.map(article))].join(" or ")}, ${butIs(value)}`);
  return [withHint(told, types[0], value)];
}

function wanted(issue: Issue): string | undefined {
  return issue.code === "invalid_type" ? issue.expected : undefined;
}

/** Adds how a value is written if it only lacks brackets or quotes. */
function withHint(found: Diagnostic, type: string | undefined, value: unknown): Diagnostic {
  if (type === "array" && typeof value === "string") return { ...found, hint: `write [${value}]` };
  if (type === "boolean") return { ...found, hint: "write true or false" };
  const isNumber = type === "number" && typeof value === "string" && /^\d+(?:\.\d+)?$/.test(value);
  if (isNumber) return { ...found, hint: `write ${value} without quotes` };
  const isText = type === "string" && (typeof value === "number" || typeof value === "boolean");
  return isText ? { ...found, hint: `write "${value}" in quotes` } : found;
}

function issueText(issue: Issue, value: unknown): string {
  if (issue.code === "invalid_type") return `must be ${article(issue.expected)}, ${butIs(value)}`;
  if (issue.code === "invalid_value") return oneOf(value, issue.values.map(String));
  if (issue.code !== "too_small") return issue.message;
  if (issue.origin !== "number") return "must not be empty";
  return `must be ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`;
}

function oneOf(value: unknown, allowed: readonly string[]): string {
  const near = typeof value === "string" ? nearest(value, allowed) : undefined;
  const words = allowed.length === 1 ? allowed[0] : `one of ${allowed.join(", ")}`;
  return `must be ${words}${near ? ` (did you mean "${near}"?)` : ""}`;
}

const ARTICLES: Readonly<Record<string, string>> = {
  int: "a whole number",
  array: "a list",
  object: "a map",
  record: "a map",
};

function article(type: string): string {
  return ARTICLES[type] ?? `a ${type}`;
}

function butIs(value: unknown): string {
  if (value === null) return "but has no value";
  if (Array.isArray(value)) return "not a list";
  return isObject(value) ? "not a map" : `not the ${typeof value} ${JSON.stringify(value)}`;
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/** Returns the known fields at a path of a schema, for suggestions. */
export function keysAt(schema: z.ZodType, path: Path): string[] {
  let options = optionsOf(schema);
  for (const key of path) options = options.flatMap((option) => membersOf(option, key));
  return options.flatMap((option) => (option instanceof z.ZodObject ? Object.keys(option.shape) : []));
}

function membersOf(option: z.ZodType, key: string | number): z.ZodType[] {
  if (option instanceof z.ZodObject && Object.hasOwn(option.shape, key))
    return optionsOf(option.shape[key] as z.ZodType);
  if (option instanceof z.ZodRecord) return optionsOf(option.valueType as z.ZodType);
  return option instanceof z.ZodArray && typeof key === "number" ? optionsOf(option.element as z.ZodType) : [];
}

function optionsOf(schema: z.ZodType): z.ZodType[] {
  const isAround = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodLazy;
  if (isAround) return optionsOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodUnion) return (schema.options as z.ZodType[]).flatMap(optionsOf);
  return [schema];
}
