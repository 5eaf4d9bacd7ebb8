import { faultOfSchema } from "../../../core/base/schema/schema.ts";
import { sha256 } from "../../../core/base/sha256.ts";
import { defined, isNestedBeyond, isObject, type JsonSchema } from "../../../core/base/values.ts";
import { canonicalJson } from "../../../core/engine/event/operation.ts";
import { pointedAt } from "../../../core/skill/openapi/schema.ts";
import type { McpServerConfig, Tool, ToolReach } from "../../../core/skill/skill.ts";

export interface ListedTool extends Omit<Tool, "handler" | "needs"> {
  /** sha256 of everything that the server declares about the tool, including parts that are cut or ignored here. */
  readonly digest: string;
}

/** Settings of a server's tools in its config. They override the server's own hints. */
export type Said = ToolReach & Pick<McpServerConfig, "effects">;

export function saidOf({ effects, origin, audience, reads }: McpServerConfig): Said {
  // Without undefined members, so that they replace nothing that a skill states.
  const said = { ...defined("effects", effects), ...defined("origin", origin) };
  return { ...said, ...defined("audience", audience), ...defined("reads", reads) };
}

export const MOST_TOOLS = 1000;
const MOST_NAME = 128;
const MOST_DESCRIPTION = 4096;
const MOST_SCHEMA = 64 * 1024;
const MOST_DEPTH = 64;
/** Limit of references. Recursive schemas can make validating even a small value take forever. */
const MOST_REFERENCES = 100_000;
/** Cost of a reference that is not a path in the document. */
const OTHER_REFERENCE = 10_000;

/** Returns the valid tools of a server's list. Warns about each invalid one. */
export function readListedTools(listed: readonly unknown[], said: Said, warn: (message: string) => void): ListedTool[] {
  const tools = new Map<string, ListedTool>();
  for (const entry of listed.slice(0, MOST_TOOLS)) {
    const read = readTool(entry, said, warn);
    if (typeof read === "string") warn(read);
    else if (tools.has(read.name)) warn(`lists the tool ${quote(read.name)} twice: the first counts`);
    else tools.set(read.name, read);
  }
  if (listed.length > MOST_TOOLS) warn(`lists more than ${MOST_TOOLS} tools: the rest is left out`);
  return [...tools.values()];
}

function readTool(entry: unknown, said: Said, warn: (message: string) => void): ListedTool | string {
  const name = isObject(entry) ? entry.name : undefined;
  if (!isObject(entry) || typeof name !== "string" || name === "") return "lists a tool without a name: it is left out";
  if (name.length > MOST_NAME) return `lists a tool whose name is too long (${quote(name)}): it is left out`;
  const isOfObject = isObject(entry.inputSchema) && entry.inputSchema.type === "object";
  const fault = schemaFault(entry.inputSchema) ?? (isOfObject ? undefined : "is not the schema of an object");
  if (fault) return `lists the tool ${quote(name)}, whose input schema ${fault}: it is left out`;
  const outputFault = entry.outputSchema === undefined ? undefined : schemaFault(entry.outputSchema);
  if (outputFault)
    warn(`lists the tool ${quote(name)}, whose output schema ${outputFault}: its results are not checked`);
  const hints = isObject(entry.annotations) ? entry.annotations : {};
  const { effects = {}, ...reach } = said;
  const told = Object.hasOwn(effects, name) ? effects[name] : undefined;
  const effect = told ?? (hints.readOnlyHint === true ? "read" : "write");
  return {
    name,
    description: cutDescription(entry.description ?? entry.title),
    input_schema: entry.inputSchema as JsonSchema,
    ...(entry.outputSchema === undefined || outputFault ? {} : { output_schema: entry.outputSchema as JsonSchema }),
    effect,
    idempotent: effect === "read" || hints.idempotentHint === true,
    ...reach,
    digest: digestOf(entry),
  };
}

/** Returns the digest of a tool as listed. A title counts as the description if there is none. */
function digestOf(entry: { readonly [key: string]: unknown }): string {
  const { name, title, description = title, inputSchema, outputSchema, annotations } = entry;
  const said = Object.entries({ name, description, inputSchema, outputSchema, annotations });
  const kept = said.filter(([, value]) => value !== undefined);
  const shallow = kept.map(([key, value]) => [key, isNestedBeyond(MOST_DEPTH, value) ? "nested too deeply" : value]);
  return sha256(canonicalJson(Object.fromEntries(shallow)));
}

function cutDescription(text: unknown): string {
  if (typeof text !== "string") return "";
  const left = text.length - MOST_DESCRIPTION;
  return left > 0 ? `${text.slice(0, MOST_DESCRIPTION)}\n[… ${left} characters left out …]` : text;
}

/** Describes an unusable schema as a clause. Returns undefined if it can be used. */
function schemaFault(schema: unknown): string | undefined {
  if (!isObject(schema)) return "is missing";
  if (isNestedBeyond(MOST_DEPTH, schema)) return "is nested too deeply";
  if (JSON.stringify(schema).length > MOST_SCHEMA) return `is larger than ${MOST_SCHEMA / 1024} kB`;
  if (countReferences(schema) > MOST_REFERENCES) return "refers to itself too often";
  const fault = faultOfSchema(schema as JsonSchema);
  return fault && `cannot be used (${fault.slice(0, 200)})`;
}

/** Counts the schemas that one validation may visit when it follows every local `$ref`. A loop counts once. */
function countReferences(root: { readonly [key: string]: unknown }): number {
  const counts = new Map<object, number>();
  const count = (value: unknown): number => {
    if (typeof value !== "object" || value === null) return 0;
    const known = counts.get(value);
    if (known !== undefined) return known;
    counts.set(value, 1);
    const inner = Object.values(value).reduce<number>((sum, part) => sum + count(part), 1);
    const total = inner + (isObject(value) ? referenced(value.$ref) + referenced(value.$dynamicRef) : 0);
    counts.set(value, total);
    return total;
  };
  const referenced = (reference: unknown): number => {
    if (typeof reference !== "string" || reference === "#") return 0;
    return reference.startsWith("#/") ? count(pointedAt(root, reference.slice(2))) : OTHER_REFERENCE;
  };
  const { $defs: _, definitions: __, ...checked } = root;
  return count(checked);
}

export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
