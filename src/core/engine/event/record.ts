import * as z from "zod";
import type { OptionName } from "../../base/options.ts";
import { type Fitting, isObject, lazy } from "../../base/values.ts";
import { documentOf } from "../../document/inner/place.ts";
import { modelChoice } from "../../document/model-list.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import { type Workflow, workflowSchema } from "../../document/workflow/workflow.ts";
import { UNAVAILABLE_KINDS } from "../../skill/availability/unavailable.ts";
import { json, jsonObject, lazyObject, optional, toolFacts, toolReach } from "../../skill/field.ts";
import { INPUT_DIALECTS } from "../../skill/skill.ts";
import { blobInfoSchema, evidenceCountsSchema, ref } from "./node-result.ts";

const limitsSchema = lazyObject(() => ({
  max_cost_usd: z.number().optional(),
  max_tokens: z.number().optional(),
  max_steps: z.number().optional(),
  timeout_ms: z.number().optional(),
  max_cost_usd_per_day: z.number().optional(),
  max_runs_per_day: z.number().optional(),
}));

/** Recorded settings of a run, which `resume` can change. Durations are in milliseconds. */
export const settingsSchema = lazyObject(() => ({
  model: modelChoice().describe("Model, provider:name, or a list of models"),
  judge_model: modelChoice(),
  writes: z.enum(["allow", "plan", "deny"]),
  limits: limitsSchema(),
  max_turns: z.int(),
  node_timeout_ms: z.number().optional(),
  tool_timeout_ms: z.number(),
  context_mode: z
    .enum(["full", "readOnDemand"])
    .describe(
      "Whether the prompt contains the instructions of skills (full), or a list of skills that the model can read (readOnDemand)",
    ),
  allow_public: optional(z.boolean(), "Allows writes of text from private sources to public targets"),
}));
export type Settings = Fitting<typeof settingsSchema>;

export const daySchema = lazyObject(() => ({
  date: z.string().describe("UTC date"),
  runs: z.int().describe("Runs of the workflow started that day, including this one"),
  cost_usd: z.number().describe("Cost of the runs that ended"),
}));

/** A state entry: data stored under a key across runs. One line of a state's file. */
const stateEntrySchema = lazyObject(() => ({
  key: z.string(),
  first_seen: z.string().describe("ISO 8601"),
  last_seen: z.string().describe("Time of the last write, or of the last match by a map (ISO 8601)"),
  runs: z.int().describe("Number of runs that wrote the entry"),
  seen: z.int().describe("Number of times that the entry was written, or matched by a map"),
  data: json(),
  tainted: optional(z.literal(true), "The run that wrote the entry had read text from strangers"),
}));
export type StateEntry = Fitting<typeof stateEntrySchema>;

export const resolvedSourceSchema = lazyObject(() => ({
  content: z.string(),
  kind: z.enum(["inline", "file", "url"]),
  origin: json(),
  resolver: z.enum(["inline", "file", "fetch"]),
  hash: z.string().describe("First 16 hexadecimal digits of the content's sha256"),
  fetchedAt: optional(z.string(), "Only for url"),
  sourcePath: optional(z.string(), "Absolute path, only for file"),
}));
export type ResolvedSource = Fitting<typeof resolvedSourceSchema>;

export const toolDescriptorSchema = lazyObject(() => ({
  skill: z.string(),
  name: z.string(),
  exposed: z.string(),
  description: z.string(),
  input_schema: jsonObject(),
  output_schema: jsonObject().optional(),
  effect: z.enum(["read", "write"]),
  idempotent: z.boolean(),
  ...toolReach(),
  ...toolFacts(),
  live: optional(z.boolean(), "Repeated calls are executed again"),
  contained: optional(z.boolean(), "Changes only the run's own copy of something"),
  host: optional(z.string(), "Host of the service that the tool writes to"),
  dialect: z.enum(INPUT_DIALECTS).optional(),
  settled: optional(z.array(z.string()), "Parameters that config sets. The model does not see them."),
}));

const skillRecordSchema = lazyObject(() => ({
  id: z.string(),
  name: z.string(),
  format: z.string(),
  available: z.boolean(),
  plannable: optional(z.literal(true), "The config is incomplete, but writes can be planned"),
  cause: optional(z.enum(UNAVAILABLE_KINDS), "Kind of reason why the skill is unavailable"),
  reason: optional(z.string(), "Why the skill is unavailable, or which part of it is not offered"),
  version: z.string().optional(),
  description: z.string().optional(),
  instruction: z.string().optional(),
  files: optional(z.array(z.string()), "Names of bundled files that the model can read"),
  server: optional(z.string(), "Id of the skill whose MCP server offers this one. Its text is by an untrusted author."),
  scripts: optional(
    z.enum(["read", "write"]),
    "Effect of the skill's scripts. Absent if none can run, for example without trust.",
  ),
  tools: z.array(toolDescriptorSchema()),
}));

/** A skill in a run's record: its tools without their handlers. */
export type SkillRecord = Fitting<typeof skillRecordSchema>;

/** Skills that differ from the run's record since the run was resumed. */
export const changedSkillsSchema = lazy(() =>
  z.array(
    skillRecordSchema()
      .pick({ id: true, available: true, cause: true, reason: true })
      .extend({ lost: optional(z.array(z.string()), "Names of the tools that the skill no longer has") }),
  ),
);
export type ChangedSkills = Fitting<typeof changedSkillsSchema>;

/** The previous run, if this run was skipped because of the cool-down. */
export const skippedSchema = lazy(() =>
  z.object({ run: z.string(), at: z.string().describe("Time when the run ended"), verdict: z.string().optional() }),
);
export type Skipped = Fitting<typeof skippedSchema>;

const RUN_KINDS = ["run", "dry-run", "replay", "test", "recheck", "ask", "backtest"] as const;

/** Run ids. They are used in file names, and can be pasted into commands without quoting. */
export const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

const OPTIONS = [
  "env-from",
  "set",
  "skills",
  "no-discover",
  "skill-env",
  "effect",
  "skill-order",
  "allow-scripts",
  "allow-define-tool",
  "writable-workdir",
  "store",
  "engine",
  "state",
  "offline",
] as const satisfies readonly OptionName[];

const recordedOptionSchema = lazy(() => z.object({ name: z.enum(OPTIONS), value: z.string().optional() }));
export type RecordedOption = Fitting<typeof recordedOptionSchema>;

/** Format of new runs. */
export const RUN_SCHEMA = "skillflow.run/2" as const;

/** Formats that are read. In the first one, each event has a seal, and each decision is a record. */
const RUN_SCHEMAS = ["skillflow.run/1", RUN_SCHEMA] as const;
const outcomeSchema = lazy(() =>
  z.union([z.object({ output: json(), blobs: z.array(blobInfoSchema()).optional() }), z.object({ error: z.string() })]),
);

export const shownResultSchema = lazyObject(() => ({
  ref: ref().optional(),
  step: z.string(),
  tool: z.string(),
  text: z.string(),
  shortened: z.literal(true).optional(),
}));

export const contextEntrySchema = lazyObject(() => ({
  node: z.string(),
  data: jsonObject(),
  cited: z.array(z.string()).optional(),
  made: z.array(z.string()).optional(),
  dropped: evidenceCountsSchema().shape.dropped_claims,
  results: z.array(shownResultSchema()).optional(),
}));

export const callSchema = lazyObject(() => ({
  ref: ref(),
  node: z.string(),
  at: z.string().optional(),
  tool: z.string(),
  input: json(),
  facts: toolDescriptorSchema().pick({ skill: true, effect: true, origin: true, echoes: true }).optional(),
  planned: z.boolean().optional(),
  outcome: outcomeSchema().optional(),
}));

/** The earlier run that a question is about, with the results of its nodes and calls. */
const aboutSchema = lazyObject(() => ({
  run: z.string(),
  question: z.string(),
  entries: z.array(contextEntrySchema()).describe("Results of the run's nodes, as a further node of it would see them"),
  calls: z.array(callSchema()).describe("Calls of the run. References of new calls continue their numbers."),
}));
export type About = Fitting<typeof aboutSchema>;

/** The members with which a run's record begins. */
export const runHeadSchema = lazyObject(() => ({
  schema: z.enum(RUN_SCHEMAS),
  run: z.string().regex(RUN_ID),
  kind: z.enum(RUN_KINDS),
  at: z.string(),
}));

export const runRecordSchema = lazyObject(() => ({
  ...runHeadSchema().shape,
  as_of: optional(z.string(), "Time that the run's clock shows, for a backtest"),
  file: optional(z.string(), "Path of the workflow document"),
  commit: optional(z.string(), "Commit from which the document, the config and the skills were read"),
  base: optional(z.string(), "Commit at which the working copy of the skill workspace starts"),
  dirty: optional(
    z.array(z.object({ path: z.string(), content: z.string().nullable() })),
    "Uncommitted changes that the working copy starts with, sorted by path. Content null: deleted",
  ),
  report_url: optional(z.string(), "Address at which people find the run, such as that of its CI job"),
  workflow: workflowSchema(),
  input: jsonObject(),
  sources: z.record(z.string(), resolvedSourceSchema()),
  skills: z.array(skillRecordSchema()),
  settings: settingsSchema(),
  options: optional(
    z.array(recordedOptionSchema()),
    "Options that a command needs again to continue the run, without config values",
  ),
  inner: optional(
    z.record(
      z.string(),
      z.object({
        file: z.string().optional(),
        workflow: workflowSchema(),
        sources: z.record(z.string(), resolvedSourceSchema()),
      }),
    ),
    "Workflows that nodes run, by node path: each, top/each",
  ),
  file_limits: optional(
    z.literal(true),
    "The `limits` of these workflows' files apply too, unlike in earlier versions",
  ),
  states: optional(
    z.record(z.string(), z.array(stateEntrySchema())),
    "Entries in the declared states when the run started",
  ),
  day: optional(daySchema(), "Usage of the daily limits when the run started"),
  cooled: optional(z.string(), "Cool-down key, if the workflow has one and its path resolves"),
  about: optional(aboutSchema(), "For a run of kind ask: the run that the question is about"),
  skipped: optional(skippedSchema(), "Earlier run with the same key, within whose cool-down this run started"),
  warnings: z.array(z.string()).describe("Warnings shown once, when the run starts"),
}));

/** The first line of a run's file, with all that the run depends on, so that later edits cannot affect it. */
export interface RunRecord extends Omit<Fitting<typeof runRecordSchema>, "workflow" | "inner"> {
  readonly workflow: Workflow;
  readonly inner?: { readonly [path: string]: InnerDocument } | undefined;
}

/** Recognizes the first line of a run's file. Its other fields are not checked. */
export function isRunLine(value: unknown): value is RunRecord {
  return isObject(value) && RUN_SCHEMAS.some((schema) => schema === value.schema);
}

/** A workflow that a node runs, as it was when the run started. */
export interface InnerDocument {
  readonly file?: string | undefined;
  readonly workflow: Workflow;
  readonly sources: RunRecord["sources"];
}

export type Documents = Pick<RunRecord, "workflow" | "inner">;

/** Returns the sources of a run, and those of its inner workflows under their paths: `each/nodes.look.instruction`. */
export function sourcesIn({ sources, inner = {} }: Pick<RunRecord, "sources" | "inner">): RunRecord["sources"] {
  const nested = Object.entries(inner).flatMap(([path, document]) => {
    return Object.entries(document.sources).map(([field, source]) => [`${path}/${field}`, source] as const);
  });
  return nested.length === 0 ? sources : { ...sources, ...Object.fromEntries(nested) };
}

/** Returns the workflows of a run by path: its own, and those that its nodes run. */
export function workflowsIn({ workflow, inner = {} }: Documents): (readonly [at: string | undefined, Workflow])[] {
  return [[undefined, workflow], ...Object.entries(inner).map(([at, each]) => [at, each.workflow] as const)];
}

/** Returns the workflow that an event belongs to: the run's own, or the inner one at its place. */
export function workflowAt({ workflow, inner = {} }: Documents, at: string | undefined): Workflow | undefined {
  if (at === undefined) return workflow;
  const path = documentOf(at);
  return Object.hasOwn(inner, path) ? inner[path]?.workflow : undefined;
}

/** Returns a node of a run or an inner run. Undefined if the record is foreign. */
export function nodeAt(record: Documents, at: string | undefined, node: string): WorkflowNode | undefined {
  const nodes = workflowAt(record, at)?.nodes ?? {};
  return Object.hasOwn(nodes, node) ? nodes[node] : undefined;
}

export function nameOfNode(record: Documents, at: string | undefined, node: string): string {
  return nodeAt(record, at, node)?.name ?? node;
}
