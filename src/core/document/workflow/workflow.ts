import * as z from "zod";
import { type Fitting, lazy } from "../../base/values.ts";
import {
  durationSchema,
  lazyStrictObject,
  optional,
  pathSchema,
  positive,
  text,
  writesMode,
} from "../../skill/field.ts";
import { mcpServerSchema } from "../../skill/mcp-server.ts";
import { modelChoice } from "../model-list.ts";
import { inputField } from "./input.ts";
import { workflowLimitsSchema } from "./limits.ts";
import { edge, node } from "./node.ts";
import { sources } from "./source.ts";

const inlineSkill = lazy(() =>
  z
    .strictObject({
      name: optional(z.string(), "Display name (default: the id)"),
      description: optional(z.string(), "Purpose"),
      instruction: optional(z.string(), "Instruction for the model"),
      mcp: optional(mcpServerSchema, "MCP server that provides the tools"),
    })
    .meta({
      anyOf: [{ properties: { instruction: { pattern: "\\S" } }, required: ["instruction"] }, { required: ["mcp"] }],
    }),
);
export type InlineSkill = Fitting<typeof inlineSkill>;

/** Name of a state, which is also its file name. */
const STATE_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

const stateSchema = lazyStrictObject(() => ({
  keep: optional(durationSchema(), "How long to keep an entry after it was last seen (default: forever)"),
  max_entries: optional(positive(), "Maximum number of entries. The most recently seen are kept. Default: no maximum."),
}));

export type StateDeclaration = Fitting<typeof stateSchema>;

const coolDown = lazyStrictObject(() => ({
  for: durationSchema().describe("Duration of the cool-down"),
  key: pathSchema().describe("Path of the cool-down key, such as input.fingerprint"),
}));
export type CoolDown = Fitting<typeof coolDown>;

const reportSchema = lazyStrictObject(() => ({
  headline: optional(pathSchema(), "Path of a one-line summary, such as assess.headline"),
  severity: optional(pathSchema(), "Path of the severity"),
  impact: optional(pathSchema(), "Path of the impact: who is affected, and how"),
  cause: optional(
    pathSchema(),
    "Path of the cause. Its sibling fields file, line, commit and confidence are shown with it.",
  ),
  action: optional(pathSchema(), "Path of the first step to take"),
  ruled_out: optional(
    pathSchema(),
    "Path of the candidates that were ruled out. Defaults to the field ruled_out next to the cause.",
  ),
  missing_evidence: optional(
    pathSchema(),
    "Path of what could not be checked. Defaults to the field missing_evidence next to the cause.",
  ),
}));

const WORKFLOW_TYPES = ["pr_review", "e2e_test", "content_generation", "monitor", "data_sync", "generic"] as const;

/**
 * Workflow document: type, validator and published schema.
 * Unknown keys are accepted only at the top level. `meta` adds constraints to the published schema only, because
 * `checkWorkflow` reports them with separate codes.
 */
export const workflowSchema = lazy(() =>
  z
    .looseObject({
      id: text().describe("Identifier"),
      name: text().describe("Display name"),
      description: optional(z.string(), "Purpose"),
      entry: text().describe("First node of a run"),
      nodes: z
        .record(z.string(), node())
        .meta({ propertyNames: { not: { const: "input" } }, description: "Nodes, by id" }),
      edges: z.array(edge()).describe("Transitions between nodes. A node without an applicable edge ends the run."),
      skills: optional(() => z.record(z.string(), inlineSkill()), "Skills defined in the workflow, by id"),
      rules: optional(sources, "Rules for every node"),
      context: optional(sources, "Background knowledge for every node"),
      workflow_type: optional(z.enum(WORKFLOW_TYPES), "Workflow category for catalogs (default generic)"),
      model: optional(
        modelChoice,
        "Model for the nodes, or a list in order of preference. Default: --model, the config, or a model of the provider whose key is set.",
      ),
      judge_model: optional(
        modelChoice,
        "Model for judges, or a list. Defaults to claude-haiku-4-5, or to the run's model if its provider has no such model.",
      ),
      judge_budget: optional(
        z.int().min(0),
        "Expected maximum of judge calls, above which validate warns (default 50)",
      ),
      inputs: optional(() => z.record(z.string(), inputField()), "Input fields, by name"),
      verdict: optional(
        () => z.union([pathSchema(), z.array(pathSchema()).min(1)]),
        "Path of the run's verdict, such as assess.verdict. Of a list, the first path that resolves counts.",
      ),
      report: optional(reportSchema, "Paths of the findings that reports show. Paths that do not resolve are omitted."),
      writes: optional(
        writesMode(),
        "Whether tools that write are executed (allow, default), planned for review (plan), or not offered (deny)",
      ),
      limits: optional(workflowLimitsSchema, "Limits of a run"),
      state: optional(
        () => z.record(z.string().regex(STATE_NAME), stateSchema()),
        "States kept across runs, by name. Each holds entries by key.",
      ),
      cool_down: optional(coolDown, "Skips a run if an earlier run with the same key ended within this time"),
    })
    .meta({ not: { required: ["verify"] } }),
);
export type Workflow = Fitting<typeof workflowSchema>;
