import { isObject, type Json, type JsonSchema } from "../../base/values.ts";

/** The parts of a Skills Protocol manifest that are only text. */

/** Lowercase alphanumerics and dots: `salesforce.leads.sync`. */
export function isPackageName(name: unknown): name is string {
  return typeof name === "string" && name.length <= 128 && /^[a-z0-9]+(?:\.[a-z0-9]+)*$/.test(name);
}

/** major.minor.patch and nothing else. */
export function isPackageVersion(version: unknown): version is string {
  return typeof version === "string" && /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)$/.test(version);
}

/** Those that a name can hold: the others have capitals. */
const PYTHON_KEYWORDS = new Set(
  (
    "and as assert async await break class continue def del elif else except finally for from global if import in is " +
    "lambda nonlocal not or pass raise return try while with yield"
  ).split(" "),
);

/** The segments of a name that keep Python from importing it as `skills.<name>`. */
export function unimportableSegments(name: string): readonly string[] {
  return name.split(".").filter((segment) => /^\d/.test(segment) || PYTHON_KEYWORDS.has(segment));
}

/** The explicit namespace, else the first segment of the name. */
export function namespaceOf(name: string, explicit: unknown): string {
  return typeof explicit === "string" && explicit !== "" ? explicit : (name.split(".")[0] ?? name);
}

/**
 * The input of an action as JSON Schema: as written, or built from a flat map of name to `{type, description, required}`.
 * Undefined for what is neither.
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

/** Without what a flat map says about the map. A list of names under `required` belongs to the property. */
function flatProperty(field: unknown): Json {
  if (!isObject(field)) return { type: String(field) };
  const kept = Object.entries(field).filter(
    ([key, value]) => !(["required", "optional"].includes(key) && typeof value === "boolean"),
  );
  return Object.fromEntries(kept) as Json;
}
