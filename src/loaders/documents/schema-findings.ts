import * as z from "zod";
import { type Diagnostic, type DiagnosticCode, fieldPath } from "../../core/base/diagnostic.ts";
import { isObject, nearest } from "../../core/base/values.ts";

/** Describes schema errors of a document for its author. */

export type Issue = z.core.$ZodIssue;
type Path = Diagnostic["path"];

interface Document {
  readonly schema: z.ZodType;
  readonly value: unknown;
  /** Replaces the schema's message for a value. Returns undefined to keep it. */
  readonly insteadOf?: (path: Path, value: unknown) => Told | undefined;
}

interface Told {
  readonly code: DiagnosticCode;
  readonly message: string;
}

export function describeIssues(schema: z.ZodType, value: unknown): Diagnostic[] {
  const checked = schema.safeParse(value, { jitless: true });
  return checked.success ? [] : checked.error.issues.flatMap((issue) => describeIssue(issue, { schema, value }));
}

export function describeIssue(issue: Issue, document: Document, base: Path = []): Diagnostic[] {
  const path = [...base, ...(issue.path as (string | number)[])];
  const value = valueAt(document.value, path);
  if (value === undefined && issue.code !== "unrecognized_keys") return [finding(path, "is required")];
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
      return [finding(path, issueText(issue, value))];
  }
}

function finding(path: Path, message: string): Diagnostic {
  const field = fieldPath(path);
  return { severity: "error", code: "SCHEMA", path, message: field ? `${field} ${message}` : message };
}

function unknownKey(path: Path, key: string, known: readonly string[]): Diagnostic {
  const near = nearest(key, known);
  return { ...finding(path, "is not a known field"), ...(near ? { hint: `did you mean "${near}"?` } : {}) };
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
  const wanted = branches.flat().flatMap((found) => (found.code === "invalid_type" ? [article(found.expected)] : []));
  if (wanted.length === 0) return [finding(path, issue.message)];
  return [finding(path, `must be ${[...new Set(wanted)].join(" or ")}, not ${nameOf(value)}`)];
}

function issueText(issue: Issue, value: unknown): string {
  if (issue.code === "invalid_type") return `must be ${article(issue.expected)}, not ${nameOf(value)}`;
  if (issue.code === "invalid_value") return oneOf(value, issue.values.map(String));
  if (issue.code !== "too_small") return issue.message;
  return issue.origin === "number" ? `must be at least ${issue.minimum}` : "must not be empty";
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

function nameOf(value: unknown): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  return isObject(value) ? "a map" : `the ${typeof value} ${JSON.stringify(value)}`;
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
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return optionsOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodUnion) return (schema.options as z.ZodType[]).flatMap(optionsOf);
  return [schema];
}
