import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import { durationSchema, pathSchema, positive, text } from "../../skill/field.ts";
import { mcpServerSchema } from "../../skill/mcp-server.ts";
import { inputField } from "./input.ts";
import { workflowLimitsSchema } from "./limits.ts";
import { edge, node } from "./node.ts";
import { sources } from "./source.ts";

const inlineSkill = lazy(() =>
  z
    .strictObject({
      name: z.string().optional().describe("what people call it; default its id"),
      description: z.string().optional().describe("what it is for"),
      instruction: z.string().optional().describe("what the model reads of it"),
      mcp: mcpServerSchema().optional().describe("the server whose tools it has"),
    })
    .meta({
      anyOf: [{ properties: { instruction: { pattern: "\\S" } }, required: ["instruction"] }, { required: ["mcp"] }],
    }),
);
export type InlineSkill = Fitting<typeof inlineSkill>;

/** Name of a state, which is also its file name. */
export const STATE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

const stateSchema = lazy(() =>
  z.strictObject({
    keep: durationSchema().optional().describe("how long an entry is kept after it was last seen; default for ever"),
    max_entries: positive().optional().describe("how many are kept, those last seen; default all"),
  }),
);

/** State that a workflow keeps across its runs. */
export type StateDeclaration = Fitting<typeof stateSchema>;

const coolDown = lazy(() =>
  z.strictObject({
    for: durationSchema().describe("how long no second run of the same key does anything"),
    key: pathSchema().describe("what two runs have in common, such as input.fingerprint"),
  }),
);
export type CoolDown = Fitting<typeof coolDown>;

const reportSchema = lazy(() =>
  z.strictObject({
    headline: pathSchema().optional().describe("one line that says it all, such as assess.headline"),
    severity: pathSchema().optional().describe("how bad it is"),
    impact: pathSchema().optional().describe("who feels it, and how"),
    cause: pathSchema().optional().describe("file, line, commit and confidence beside it are shown with it"),
    action: pathSchema().optional().describe("the first step"),
  }),
);

const WORKFLOW_TYPES = ["pr_review", "e2e_test", "content_generation", "monitor", "data_sync", "generic"] as const;

/**
 * Workflow document: type, validator and published schema.
 * Unknown keys are accepted only at the top level. `meta` adds constraints to the published schema only, because
 * `checkWorkflow` reports them with separate codes.
 */
export const workflowSchema = lazy(() =>
  z
    .looseObject({
      id: text().describe("names it to programs"),
      name: text().describe("what people call it"),
      description: z.string().optional().describe("what it is for"),
      entry: text().describe("the node that a run begins with"),
      nodes: z
        .record(z.string(), node())
        .meta({ propertyNames: { not: { const: "input" } }, description: "its places of work, by id" }),
      edges: z.array(edge()).describe("the ways between nodes; a node without one that is live ends the run"),
      skills: z.record(z.string(), inlineSkill()).optional().describe("skills of its own, by id"),
      rules: sources().optional().describe("what must be followed at every node"),
      context: sources().optional().describe("what is good to know at every node"),
      workflow_type: z
        .enum(WORKFLOW_TYPES)
        .optional()
        .describe("what kind of workflow it is, for catalogs; default generic"),
      model: text().optional().describe("which works; default: the provider whose key is set"),
      judge_model: text()
        .optional()
        .describe("which judges; default claude-haiku-4-5, or the run's model where there is no Claude"),
      judge_budget: z
        .int()
        .min(0)
        .optional()
        .describe("judge calls that are expected at most; beyond, validate warns; default 50"),
      inputs: z.record(z.string(), inputField()).optional().describe("the fields of its input"),
      verdict: pathSchema().optional().describe("where the run's verdict stands, such as assess.verdict"),
      report: reportSchema()
        .optional()
        .describe("where reports find what the run found; what is not there is left out"),
      writes: z
        .enum(["allow", "plan", "deny"])
        .optional()
        .describe("what becomes of calls that write: carried out, planned for review, or not offered; default allow"),
      limits: workflowLimitsSchema().optional().describe("what a run may spend"),
      state: z
        .record(z.string().regex(STATE_NAME), stateSchema())
        .optional()
        .describe("what it remembers across its runs: entries by key, in states by name"),
      cool_down: coolDown().optional().describe("a run of the same key within this time ends at once, skipped"),
    })
    .meta({ not: { required: ["verify"] } }),
);
export type Workflow = Fitting<typeof workflowSchema>;
