import { isObject, type Json, type JsonSchema } from "../../base/values.ts";

/** Text-only parts of a Skills Protocol manifest. */

/** Checks for lowercase alphanumerics and dots, such as `salesforce.leads.sync`. */
export function isPackageName(name: unknown): name is string {
  return typeof name === "string" && name.length <= 128 && /^[a-z0-9]+(?:\.[a-z0-9]+)*$/.test(name);
}

/** Checks for major.minor.patch without anything else. */
export function isPackageVersion(version: unknown): version is string {
  return typeof version === "string" && /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)$/.test(version);
}

/** Lowercase keywords only, because names cannot contain capitals. */
const PYTHON_KEYWORDS = new Set(
  (
    "and as assert async await break class continue def del elif else except finally for from global if import in is " +
    "lambda nonlocal not or pass raise return try while with yield"
  ).split(" "),
);

/** Returns the segments that prevent Python from importing `skills.<name>`. */
export function unimportableSegments(name: string): readonly string[] {
  return name.split(".").filter((segment) => /^\d/.test(segment) || PYTHON_KEYWORDS.has(segment));
}

export function namespaceOf(name: string, explicit: unknown): string {
  return typeof explicit === "string" && explicit !== "" ? explicit : (name.split(".")[0] ?? name);
}

/**
 * Reads the input of an action as JSON Schema. Also accepts a flat map of name to `{type, description, required}`.
 * Returns undefined for anything else.
 */
export function readInputSchema(input: unknown): JsonSchema | undefined {
  if (input === undefined) return { type: "object" };
  if (!isObject(input)) return undefined;
  const isSchema = typeof input.type === "string" || isObject(input.properties);
  if (isSchema) return { type: "object", ...(input as JsonSchema) };
  const entries = Object.entries(input);
  if (!entries.every(([, field]) => typeof field === "string" || isObject(field))) return undefined;
  const properties = entries.map(([name, field]): [string, Json] => [name, flatProperty(field)]);
  const required = entries.flatMap(([name, field]) => (isObject(field) && field.required === true ? [name] : []));
  return { type: "object", properties: Object.fromEntries(properties), ...(required.length > 0 ? { required } : {}) };
}

/** Removes keys that belong to the flat map itself. A list under `required` belongs to the property. */
function flatProperty(field: unknown): Json {
  if (!isObject(field)) return { type: String(field) };
  const kept = Object.entries(field).filter(
    ([key, value]) => !(["required", "optional"].includes(key) && typeof value === "boolean"),
  );
  return Object.fromEntries(kept) as Json;
}
