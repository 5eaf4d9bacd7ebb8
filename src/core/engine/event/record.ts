import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { type Workflow, workflowSchema } from "../../document/workflow/workflow.ts";
import { UNAVAILABLE_KINDS } from "../../skill/availability/unavailable.ts";
import { jsonObject } from "../../skill/field.ts";
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
    plannable: z.literal(true).optional().describe("it lacks its config: what it writes can be planned"),
    cause: z.enum(UNAVAILABLE_KINDS).optional().describe("why it is unavailable, by kind"),
    reason: z.string().optional().describe("why it is unavailable, or what of it is held back"),
    version: z.string().optional(),
    description: z.string().optional(),
    instruction: z.string().optional(),
    files: z.array(z.string()).optional().describe("names of the files that it bundles for the model to read"),
    scripts: z
      .enum(["read", "write"])
      .optional()
      .describe("its scripts may be run, and what that may do; absent: there are none, or they are not trusted"),
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
      .extend({ lost: z.array(z.string()).optional().describe("the tools that it does not have any more, by name") }),
  ),
);
export type ChangedSkills = Fitting<typeof changedSkillsSchema>;

/** The previous run, if this run was skipped because of the cool-down. */
export const skippedSchema = lazy(() =>
  z.object({ run: z.string(), at: z.string().describe("when it ended"), verdict: z.string().optional() }),
);
export type Skipped = Fitting<typeof skippedSchema>;

const RUN_KINDS = ["run", "dry-run", "replay", "test"] as const;

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
] as const;

const recordedOptionSchema = lazy(() => z.object({ name: z.enum(OPTIONS), value: z.string().optional() }));
export type RecordedOption = Fitting<typeof recordedOptionSchema>;

export const runRecordSchema = lazy(() =>
  z.object({
    schema: z.literal("skillflow.run/1"),
    run: z.string().regex(RUN_ID),
    kind: z.enum(RUN_KINDS),
    at: z.string(),
    file: z.string().optional().describe("where the workflow document was"),
    commit: z.string().optional().describe("as of which the document, the config and the skills were taken"),
    workflow: workflowSchema(),
    input: jsonObject(),
    sources: z.record(z.string(), resolvedSourceSchema()),
    skills: z.array(skillRecordSchema()),
    settings: settingsSchema(),
    options: z
      .array(recordedOptionSchema())
      .optional()
      .describe("the options that a command needs again to continue the run; values of config are left out"),
    inner: z
      .record(
        z.string(),
        z.object({
          file: z.string().optional(),
          workflow: workflowSchema(),
          sources: z.record(z.string(), resolvedSourceSchema()),
        }),
      )
      .optional()
      .describe("the workflows that nodes run, by the path of the node: each, top/each"),
    states: z
      .record(z.string(), z.array(stateEntrySchema()))
      .optional()
      .describe("what it found in the states that its workflow declares"),
    day: daySchema().optional().describe("what was used of the day's limits when it began"),
    cooled: z
      .string()
      .optional()
      .describe("the key that runs cool down by, where the workflow has one and it resolves"),
    skipped: skippedSchema().optional().describe("the run of the same key that it came too soon after"),
    warnings: z.array(z.string()).describe("said once, when the run starts"),
  }),
);

/** The first line of a run's file, with all that the run depends on, so that later edits cannot affect it. */
export interface RunRecord extends Omit<Fitting<typeof runRecordSchema>, "workflow" | "inner"> {
  readonly workflow: Workflow;
  readonly inner?: { readonly [path: string]: InnerDocument } | undefined;
}

/** A workflow that a node runs, as it was when the run started. */
export interface InnerDocument {
  readonly file?: string | undefined;
  readonly workflow: Workflow;
  readonly sources: RunRecord["sources"];
}
