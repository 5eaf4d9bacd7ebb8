import * as z from "zod";
import { type Fitting, isObject, lazy } from "../../base/values.ts";
import {
  durationSchema,
  flag,
  lazyAnyOf,
  lazyStrictObject,
  matching,
  optional,
  pathSchema,
  positive,
  schemaObject,
  strings,
  text,
} from "../../skill/field.ts";
import { modelChoice } from "../model-list.ts";
import { evaluator, retry } from "./evaluator.ts";
import { workflowLimitsSchema } from "./limits.ts";
import { checkKind, kindsMeta } from "./node-kind.ts";
import { conditionSchema, requires } from "./rule.ts";
import { nodeSources, sourceSchema } from "./source.ts";
import { stepsSchema } from "./step.ts";

const toolFilter = lazyAnyOf(["allow", "deny"], () => ({
  allow: optional(z.array(text()).min(1), "Offer only these tools of the node's skills"),
  deny: optional(z.array(text()).min(1), "Never offer these tools, even if they are in allow"),
}));

export const edge = lazyStrictObject(() => ({
  from: z.string().describe("Node id"),
  to: z.string().describe("Node id"),
  if: conditionSchema().optional(),
  when: optional(
    z.string(),
    "Condition in words, judged by the model without tools. An edge without if and when is the default.",
  ),
  max_iterations: optional(
    positive(),
    "Maximum number of times that a run follows this edge. Each cycle needs it on one edge.",
  ),
}));
export type Edge = Fitting<typeof edge>;

const unseenSchema = lazyStrictObject(() => ({
  state: text().describe("Declared state that stores which items were judged"),
  within: optional(durationSchema, "How long a judgment is valid (default: as long as its entry is kept)"),
  unless_changed: optional(
    z.array(pathSchema()).min(1),
    "Paths in the item, such as issue.level. If one of these values changes, the item is judged again.",
  ),
}));

const mapSchema = lazy(() =>
  z
    .strictObject({
      over: pathSchema().describe("Path of the list, in an earlier node's data or the input"),
      as: matching(/^[A-Za-z_][A-Za-z0-9_-]*$/, "is not a name: use letters, digits, _ and -").describe(
        "Name of the item in the inner workflow: input.NAME",
      ),
      key: optional(
        pathSchema(),
        "Path of a stable key in the item, such as issue.fingerprint (default: its position)",
      ),
      max_items: optional(positive(), "Maximum number of items. The rest is left for the next run. Default: 100."),
      concurrency: optional(positive(), "Maximum number of items that run concurrently (default 1)"),
      on_error: optional(
        z.enum(["fail", "collect", "skip"]),
        "If an item fails: start no further items (fail), keep it as failed (collect, default), or count it as skipped (skip)",
      ),
      unseen: optional(unseenSchema, "Leaves out items that were judged before and have not changed"),
    })
    .refine((map) => map.unseen === undefined || map.key !== undefined, "unseen needs key")
    .meta({ dependentRequired: { unseen: ["key"] } }),
);
export type MapSettings = Fitting<typeof mapSchema>;

const approvalSchema = lazyStrictObject(() => ({
  ask: sourceSchema().describe("Question for the person"),
  of: optional(z.literal("plan"), "Limits the approval to the writes planned so far"),
  timeout: optional(durationSchema, "How long the run waits (default: forever)"),
  on_timeout: optional(z.enum(["fail", "deny"]), "Result if there is no answer in time (default fail)"),
}));

const innerLimits = lazy(() => workflowLimitsSchema().omit({ per_day: true }));

const evalPolicy = lazy(() =>
  z
    .enum(["all_pass", "any_pass", "weighted"])
    .meta({ enum: ["all_pass"], description: "Policy for the evaluators (any_pass and weighted are reserved)" })
    .optional(),
);

const globs = lazy(() => z.array(text()).min(1));

const workspaceField = lazyStrictObject(() => ({
  paths: optional(
    z.strictObject({
      allow: optional(globs, "Globs of the files that this node may change"),
      deny: optional(globs, "Globs of the files that it may not change, even if they are in allow"),
    }),
    "Which files of the working copy the node may change",
  ),
  keep: optional(z.array(text()).min(1), "Nodes whose changed files this node may not change"),
}));

const plainNode = lazyStrictObject(() => ({
  name: text().describe("Display name"),
  instruction: optional(sourceSchema, "Task for the model"),
  map: optional(mapSchema, "Runs a workflow for each item of a list"),
  call: optional(text(), "Runs another workflow: its file, relative to the document's folder, inside the project"),
  approval: optional(approvalSchema, "Waits for a person's decision, given with skillflow signal"),
  steps: optional(stepsSchema, "Tool calls made in order, without a model"),
  show: optional(
    z.int().min(0),
    "For steps: characters of their results that later prompts show, shared fairly. 0 hides them. Default: 12000.",
  ),
  workflow: optional(text(), "For a map: file of the workflow to run for each item"),
  entry: optional(text(), "For a map with nodes: first node of each item"),
  edges: optional(() => z.array(edge()), "For a map with nodes: transitions between them"),
  with: optional(
    () => z.record(z.string(), z.json()),
    "For a map or call: input of the inner run. {{path}} inserts a value. A string that is only {{path}} keeps the value's type.",
  ),
  limits: optional(
    innerLimits,
    "Limits of a map's item or of a call, in addition to those of its file. Reaching one fails the item or call, and the run continues.",
  ),
  skills: optional(
    strings(),
    "Ids of the skills whose tools and instructions the model gets. id@range selects a version.",
  ),
  output: optional(schemaObject, "JSON Schema of the result data"),
  max_turns: optional(positive(), "Maximum number of turns of one attempt"),
  model: optional(modelChoice, "Model for this node, or a list of models. Defaults to the workflow's model."),
  judge_model: optional(modelChoice, "Model for this node's judges. Defaults to the workflow's judge_model."),
  disallowed_tools: optional(() => z.array(text()), "Built-in tools of the executor that this node does not offer"),
  workspace: optional(workspaceField, "Limits of the skill workspace at this node"),
  tools: optional(toolFilter, "Filter for the tools of the node's skills (default: all tools)"),
  fail_soft: optional(
    flag(),
    "true: reaching max_turns or a failure of the model or tools counts as success, with fail_soft and error in the data",
  ),
  rules: optional(nodeSources, "Rules, in addition to the workflow's"),
  context: optional(nodeSources, "Background knowledge, in addition to the workflow's"),
  requires: optional(requires, "Checks on the input and earlier results before the node starts"),
  eval: optional(() => z.array(evaluator()).min(1), "Checks of the node's answer. All must pass."),
  eval_policy: evalPolicy(),
  retry: optional(retry, "Retries after a failed evaluation"),
  effects: optional(z.enum(["read", "write"]), "read: offer no tool that writes"),
  state: optional(
    () => z.array(text()).min(1),
    "Declared states that the model can read and write at this node, with state_get, state_search and state_put",
  ),
  once: optional(
    () => z.union([pathSchema(), z.array(text()).min(1)]),
    "Path of the finding's key, or paths and templates of which the first that resolves counts. {{path:day}} gives the UTC day. Writes with the same key are applied once, even if the wording differs.",
  ),
  timeout: optional(durationSchema, "Time limit of one attempt, including tools: seconds, or 500ms, 90s, 10m, 2h, 14d"),
}));

type PlainNode = Fitting<typeof plainNode>;

export interface WorkflowNode extends PlainNode {
  readonly nodes?: { readonly [id: string]: WorkflowNode } | undefined;
}

export const node = lazy(
  (): z.ZodType<WorkflowNode> =>
    plainNode()
      .extend({
        nodes: optional(
          z.record(
            z.string(),
            z.lazy(() => node()),
          ),
          "For a map: inline workflow to run for each item",
        ),
      })
      .superRefine(
        (fields, context) => {
          const unknown = context.issues.flatMap((issue) => (issue.code === "unrecognized_keys" ? issue.keys : []));
          checkKind(fields, unknown, (problem) => context.addIssue({ code: "custom", ...problem }));
        },
        // Run even if a field is missing, so that all errors of a node are reported at once.
        { when: ({ value }) => isObject(value) },
      )
      .meta(kindsMeta()),
);
