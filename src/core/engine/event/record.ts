import * as z from "zod";
import type { OptionName } from "../../base/options.ts";
import { type Fitting, isObject, lazy } from "../../base/values.ts";
import { type Workflow, workflowSchema } from "../../document/workflow/workflow.ts";
import { UNAVAILABLE_KINDS } from "../../skill/availability/unavailable.ts";
import { json, jsonObject, optional } from "../../skill/field.ts";
import { blobInfoSchema, evidenceCountsSchema, type RecordedCall, ref } from "./node-result.ts";
import type { ContextEntry } from "./prompt.ts";
import { resolvedSourceSchema } from "./resolved-source.ts";
import { daySchema, settingsSchema } from "./settings.ts";
import { stateEntrySchema } from "./state-entry.ts";
import { toolDescriptorSchema } from "./tool.ts";

export const skillRecordSchema = lazy(() =>
  z.object({
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
    server: optional(
      z.string(),
      "Id of the skill whose MCP server offers this one. Its text is by an untrusted author.",
    ),
    scripts: optional(
      z.enum(["read", "write"]),
      "Effect of the skill's scripts. Absent if none can run, for example without trust.",
    ),
    tools: z.array(toolDescriptorSchema()),
  }),
);

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

/** The earlier run that a question is about, with the results of its nodes and calls. */
export const aboutSchema = lazy(() =>
  z.object({
    run: z.string(),
    question: z.string(),
    entries: z
      .array(
        z.object({
          node: z.string(),
          data: jsonObject(),
          cited: z.array(z.string()).optional(),
          dropped: evidenceCountsSchema().shape.dropped_claims,
          results: z
            .array(
              z.object({
                ref: ref().optional(),
                step: z.string(),
                tool: z.string(),
                text: z.string(),
                shortened: z.literal(true).optional(),
              }),
            )
            .optional(),
        }),
      )
      .describe("Results of the run's nodes, as a further node of it would see them"),
    calls: z
      .array(
        z.object({
          ref: ref(),
          node: z.string(),
          at: z.string().optional(),
          tool: z.string(),
          input: json(),
          facts: toolDescriptorSchema().pick({ skill: true, effect: true, origin: true, echoes: true }).optional(),
          planned: z.boolean().optional(),
          outcome: outcomeSchema().optional(),
        }),
      )
      .describe("Calls of the run. References of new calls continue their numbers."),
  }),
);

/** The earlier run that a question is about. */
export interface About {
  readonly run: string;
  readonly question: string;
  readonly entries: readonly ContextEntry[];
  readonly calls: readonly RecordedCall[];
}

export const runRecordSchema = lazy(() =>
  z.object({
    schema: z.enum(RUN_SCHEMAS),
    run: z.string().regex(RUN_ID),
    kind: z.enum(RUN_KINDS),
    at: z.string(),
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
    states: optional(
      z.record(z.string(), z.array(stateEntrySchema())),
      "Entries in the declared states when the run started",
    ),
    day: optional(daySchema(), "Usage of the daily limits when the run started"),
    cooled: optional(z.string(), "Cool-down key, if the workflow has one and its path resolves"),
    about: optional(aboutSchema(), "For a run of kind ask: the run that the question is about"),
    skipped: optional(skippedSchema(), "Earlier run with the same key, within whose cool-down this run started"),
    warnings: z.array(z.string()).describe("Warnings shown once, when the run starts"),
  }),
);

/** The first line of a run's file, with all that the run depends on, so that later edits cannot affect it. */
export interface RunRecord extends Omit<Fitting<typeof runRecordSchema>, "workflow" | "inner" | "about"> {
  readonly workflow: Workflow;
  readonly about?: About | undefined;
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
