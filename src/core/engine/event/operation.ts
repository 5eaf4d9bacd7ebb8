import * as z from "zod";
import { shortText } from "../../base/preview.ts";
import { sha256 } from "../../base/sha256.ts";
import { type Fitting, isObject, type Json, type JsonObject, lazy } from "../../base/values.ts";
import { lazyObject, optional } from "../../skill/field.ts";
import { AUDIENCES } from "../../skill/skill.ts";
import { type Change, filteredSchema, hex, patchFields } from "./patch.ts";
import { type Documents, workflowsIn } from "./record.ts";

/** Reason that an operation is planned although writes are allowed. */
export const HELD = "taint.private_to_public";

const json = lazy((): z.ZodType<Json> => z.json());

export const operationSchema = lazyObject(() => ({
  id: z
    .string()
    .regex(/^op-\d+$/)
    .describe("op-<n>, where n counts the run's operations"),
  at: optional(z.string(), "Path of the inner run of the node"),
  node: z.string(),
  visit: z.int().describe("Number of the visit to this node, from 1"),
  skill: z.string(),
  tool: z.string().describe("Tool name in the skill"),
  input: json().describe("Redacted input. References to earlier operations are not replaced."),
  summary: z.string().describe("Summary in one line"),
  effect: z.literal("write"),
  audience: z.enum(AUDIENCES),
  digest: hex().describe(
    "sha256 of the canonical JSON (RFC 8785) of {skill, tool, input}, for a patch also of base, diff and files",
  ),
  kind: optional(z.enum(["call", "patch"]), "Default: call. A patch also has the fields from base on."),
  ...patchFields().partial().shape,
  sources: z
    .array(z.object({ ref: z.string(), tool: z.string().optional(), node: z.string().optional() }))
    .describe("Content by strangers that the node had read: results by reference, and the run's input"),
  refers: z.array(z.string()).describe("Operations whose results the input uses"),
  held: optional(z.literal(HELD), "Why it was planned although writes are allowed"),
  filtered: optional(filteredSchema(), "Content that was removed from the input before it was planned"),
  marker: optional(hex(), "Identifies the finding in the target instead of the digest. Made from the node's `once`."),
  node_failed: z.literal(true).optional(),
  applied: z.literal(true).optional(),
}));
export type Operation = Fitting<typeof operationSchema>;

export const planSchema = lazyObject(() => ({
  schema: z.literal("skillflow.plan/1"),
  run: z.string(),
  workflow: z.string(),
  created: z.string().describe("ISO 8601"),
  digest: hex().describe(
    "sha256 of the operations' digests in order, and of the servers that the workflow defines for their skills",
  ),
  operations: z.array(operationSchema()),
}));
export type Plan = Fitting<typeof planSchema>;

/** Content that an approval covers: a call's input, or a change with its title and its body. */
type Approved = Pick<Operation, "skill" | "tool" | "input"> & Partial<Pick<Operation, "kind" | keyof Change>>;

/** Computes the digest that an approval refers to. It changes with the input, and with each file of a patch. */
export function operationDigest({ skill, tool, input, kind, base = "", diff = "", files = [] }: Approved): string {
  const call = { skill, tool, input };
  if (kind !== "patch") return sha256(canonicalJson(call));
  return sha256(canonicalJson({ ...call, base, diff, files: files.map((file) => ({ ...file })) }));
}

/** Computes a plan's digest. `servers` are those that the workflows define for the operations' skills. */
export function planDigest(operations: readonly Pick<Operation, "digest">[], servers: readonly Json[] = []): string {
  const defined = servers.length === 0 ? "" : canonicalJson([...servers]);
  return sha256(operations.map(({ digest }) => digest).join("") + defined);
}

/** Computes the digest of a recorded plan, which changes if a skill that writes uses another server. */
export function recordedPlanDigest(
  documents: Documents,
  operations: readonly Pick<Operation, "digest" | "skill">[],
): string {
  const writing = new Set(operations.map(({ skill }) => skill));
  const servers = workflowsIn(documents).flatMap(([at = "", { skills = {} }]) =>
    Object.entries(skills).flatMap(([id, { mcp }]) => (mcp && writing.has(id) ? [{ at, id, mcp }] : [])),
  );
  // Drops undefined fields, as reading the record from disk does.
  return planDigest(operations, JSON.parse(JSON.stringify(servers)));
}

/** Identifies a finding in the target system, independent of its wording. */
export function findingMarker(of: Record<"workflow" | "node" | "skill" | "tool" | "key", string>): string {
  return sha256(canonicalJson(of));
}

/** Serializes with the JSON Canonicalization Scheme (RFC 8785): keys sorted by UTF-16 units, no white space. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const object = value as JsonObject;
  const members = Object.keys(object)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(object[name] ?? null)}`);
  return `{${members.join(",")}}`;
}

/** Returns the id of the planned operation. Returns undefined if the call was carried out, whatever its output. */
export function plannedAs({
  planned,
  output,
}: {
  planned?: boolean | undefined;
  output?: Json | undefined;
}): string | undefined {
  return planned && isObject(output) && typeof output.id === "string" ? output.id : undefined;
}

const MOST_SUMMARY = 160;
const TELLING = ["title", "subject", "name", "summary", "message", "text", "body", "description", "content", "comment"];
/** Input fields that name the target of an operation. */
const PLACES = ["repository", "repo", "project", "team", "channel", "to", "number", "id", "issue", "monitor", "table"];

/** Summarizes an operation in one line: its target and its text. */
export function summarize({ skill, tool, input }: Pick<Operation, "skill" | "tool" | "input">): string {
  const fields = isObject(input) ? (input as JsonObject) : {};
  const places = PLACES.flatMap((name) => (isPlain(fields[name]) ? [`${name} ${plainText(fields[name])}`] : []));
  const named = TELLING.find((name) => typeof fields[name] === "string" && plainText(fields[name]) !== "");
  const words = named === undefined ? [] : [`“${plainText(fields[named])}”`];
  const told = [...places.slice(0, 2), ...words];
  const rest = told.length > 0 ? told : [plainText(canonicalJson(input))];
  return shortText(`${skill} ${tool}: ${rest.join(", ")}`, MOST_SUMMARY);
}

function isPlain(value: Json | undefined): boolean {
  return typeof value === "number" || (typeof value === "string" && value !== "" && value.length <= 80);
}

/** Formats a value on one line, without control characters. */
function plainText(value: Json | undefined): string {
  return String(value)
    .replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim();
}
