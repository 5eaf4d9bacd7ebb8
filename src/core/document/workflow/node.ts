import * as z from "zod";
import { type Fitting, isObject, lazy } from "../../base/values.ts";
import {
  anyRequired,
  atLeastOne,
  durationSchema,
  flag,
  pathSchema,
  positive,
  schemaObject,
  strings,
  text,
} from "../../skill/field.ts";
import { evaluator, retry } from "./evaluator.ts";
import { workflowLimitsSchema } from "./limits.ts";
import { checkKind, kindsMeta } from "./node-kind.ts";
import { conditionSchema, requires } from "./rule.ts";
import { nodeSources, sourceSchema } from "./source.ts";

const filterNames = ["allow", "deny"];

const toolFilter = lazy(() =>
  z
    .strictObject({
      allow: z.array(text()).min(1).optional().describe("these tools of its skills and no other"),
      deny: z.array(text()).min(1).optional().describe("all but these, whatever allow says"),
    })
    .refine(...atLeastOne(filterNames))
    .meta({ anyOf: anyRequired(filterNames) }),
);

export const edge = lazy(() =>
  z.strictObject({
    from: z.string().describe("a node"),
    to: z.string().describe("a node"),
    if: conditionSchema().optional(),
    when: z
      .string()
      .optional()
      .describe("in words, judged by the model without tools; neither if nor when: the default"),
    max_iterations: positive().optional().describe("how often a run may follow it; a cycle needs it"),
  }),
);
export type Edge = Fitting<typeof edge>;

const unseenSchema = lazy(() =>
  z.strictObject({
    state: text().describe("the declared state that knows which items were judged"),
    within: durationSchema()
      .optional()
      .describe("how long a judgement holds; default for as long as its entry is kept"),
    unless_changed: z
      .array(pathSchema())
      .min(1)
      .optional()
      .describe("values of the item that are judged anew once they changed, such as issue.level"),
  }),
);

const mapSchema = lazy(() =>
  z
    .strictObject({
      over: pathSchema().describe("the list: of an earlier node's data, or of the input"),
      as: z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_-]*$/, "is no name: letters, digits, _ and -")
        .describe("what the item is called: input.NAME inside"),
      key: pathSchema()
        .optional()
        .describe("a stable name of the item, such as issue.fingerprint; default its position"),
      max_items: positive().optional().describe("what is beyond is left for the next run; default 100"),
      concurrency: positive().optional().describe("how many are under way at once; default 1"),
      on_error: z
        .enum(["fail", "collect", "skip"])
        .optional()
        .describe("an item that fails: begins no further one, is kept as failed (default), or counts as skipped"),
      unseen: unseenSchema().optional().describe("leaves out what was judged before and has not changed"),
    })
    .refine((map) => map.unseen === undefined || map.key !== undefined, "unseen needs key")
    .meta({ dependentRequired: { unseen: ["key"] } }),
);
export type MapSettings = Fitting<typeof mapSchema>;

const approvalSchema = lazy(() =>
  z.strictObject({
    ask: sourceSchema().describe("what is asked, word for word"),
    of: z.literal("plan").optional().describe("the writes planned so far are what is approved, and no others"),
    timeout: durationSchema().optional().describe("how long the run waits; default for ever"),
    on_timeout: z.enum(["fail", "deny"]).optional().describe("what no answer in time counts as; default fail"),
  }),
);

/** Limits of a map's item or of a call. */
const innerLimits = lazy(() => workflowLimitsSchema().omit({ per_day: true }));

const plainNode = lazy(() =>
  z.strictObject({
    name: text().describe("what people call it"),
    instruction: sourceSchema().optional().describe("what the model is to do here, word for word"),
    map: mapSchema().optional().describe("runs a workflow for each item of a list"),
    call: text().optional().describe("runs another workflow: its file, from the document's folder, inside the project"),
    approval: approvalSchema().optional().describe("waits for a person's word: skillflow signal"),
    workflow: text().optional().describe("of a map: the file of the workflow that each item runs through"),
    entry: text().optional().describe("of a map with nodes: the one that an item begins with"),
    edges: z.array(edge()).optional().describe("of a map with nodes: the ways between them"),
    with: z
      .record(z.string(), z.json())
      .optional()
      .describe("of a map or call: the inner input; {{path}} stands for what is there, a lone one keeps its type"),
    limits: innerLimits().optional().describe("of a map's item, or of a call: reaching one fails it, the run goes on"),
    skills: strings()
      .optional()
      .describe("ids of the skills whose tools and instructions the model has here; id@range for a version"),
    output: schemaObject().optional().describe("JSON Schema of the result data"),
    max_turns: positive().optional().describe("model invocations of one attempt"),
    model: text().optional().describe("which works here; default the workflow's"),
    judge_model: text().optional().describe("which judges here; default the workflow's"),
    disallowed_tools: z.array(text()).optional().describe("the executor's own tools that are not offered here"),
    tools: toolFilter().optional().describe("which tools of its skills are offered; default all"),
    fail_soft: flag()
      .optional()
      .describe(
        "true: a turn cap or a fault of model or tools counts as success, with fail_soft and error in the data",
      ),
    rules: nodeSources().optional().describe("what must be followed, in addition to the workflow's rules"),
    context: nodeSources().optional().describe("background knowledge, in addition to the workflow's context"),
    requires: requires().optional().describe("what must stand in the input and earlier results before the node begins"),
    eval: z.array(evaluator()).min(1).optional().describe("how its answer is checked; all have to pass"),
    eval_policy: z
      .enum(["all_pass", "any_pass", "weighted"])
      .meta({ enum: ["all_pass"], description: "any_pass and weighted are reserved" })
      .optional(),
    retry: retry().optional().describe("what happens after a failed evaluation"),
    effects: z.enum(["read", "write"]).optional().describe("read: no tool that writes is offered"),
    state: z
      .array(text())
      .min(1)
      .optional()
      .describe("declared states that the model may read and write here: state_get, state_search, state_put"),
    once: pathSchema()
      .optional()
      .describe("the key of the finding that its writes tell of: it is applied once, however worded"),
    timeout: durationSchema()
      .optional()
      .describe("of one attempt, tools included: seconds, or 500ms, 90s, 10m, 2h, 14d"),
  }),
);

type PlainNode = Fitting<typeof plainNode>;

export interface WorkflowNode extends PlainNode {
  readonly nodes?: { readonly [id: string]: WorkflowNode } | undefined;
}

export const node = lazy(
  (): z.ZodType<WorkflowNode> =>
    plainNode()
      .extend({
        nodes: z
          .record(
            z.string(),
            z.lazy(() => node()),
          )
          .optional()
          .describe("of a map: the workflow that each item runs through, written here"),
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
