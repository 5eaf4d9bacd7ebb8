import * as z from "zod";
import { CALL_CODES } from "../../base/errors.ts";
import { type Fitting, lazy } from "../../base/values.ts";
import { json, jsonObject } from "../../skill/field.ts";
import { AUDIENCES } from "../../skill/skill.ts";
import {
  degradedSchema,
  RUN_STATUSES,
  runErrorSchema,
  shortfallsSchema,
  unroutedSchema,
  waitingSchema,
} from "./end.ts";
import { FAILURE_CAUSES, nodeResultSchema, ref } from "./node-result.ts";
import { operationSchema } from "./operation.ts";
import { changedSkillsSchema } from "./record.ts";
import { part, purpose, stop, usageSchema } from "./reply.ts";
import { resolvedSourceSchema } from "./resolved-source.ts";
import { daySchema, settingsSchema } from "./settings.ts";
import { toolDescriptorSchema } from "./tool.ts";

const ITEM_STATUSES = ["success", "failed", "skipped", "stopped"] as const;
const blobInfoSchema = lazy(() => z.object({ blob_id: z.string(), kind: z.string(), size_bytes: z.int() }));

const acted = lazy(() =>
  z
    .enum(["no", "unknown"])
    .optional()
    .describe("with an error: whether the call may have written; absent in older records"),
);

/** All events: first those of the workflow format, then our own in the same shape. */
const bodies = lazy(
  () =>
    [
      z.object({ type: z.literal("workflow:start"), workflow: z.string() }),
      z.object({ type: z.literal("sources:resolved"), sources: z.record(z.string(), resolvedSourceSchema()) }),
      z.object({
        type: z.literal("node:enter"),
        node: z.string(),
        instruction: z.string(),
        iteration: z.int().describe("visits of this node, from 1"),
      }),
      z.object({
        type: z.literal("tool:call"),
        node: z.string(),
        tool: z.string(),
        input: json(),
        ref: ref(),
        id: z.string().describe("the call's step key"),
      }),
      z.object({
        type: z.literal("tool:result"),
        node: z.string(),
        tool: z.string(),
        output: json().optional(),
        error: z.string().optional().describe("instead of output, when the call failed"),
        code: z.enum(CALL_CODES).optional().describe("beside an error: why, for programs"),
        acted: acted(),
        planned: z.literal(true).optional().describe("not carried out: the output names an operation of the plan"),
        blobs: z.array(blobInfoSchema()).optional().describe("what of the output is kept as blobs, beside the run"),
        redactions: z
          .record(z.string(), z.int())
          .optional()
          .describe("how often a value of the checkout's .env was replaced in it, by variable"),
        ref: ref().optional().describe("absent where no tool:call went before"),
        id: z.string(),
      }),
      z.object({
        type: z.literal("node:retry"),
        node: z.string(),
        attempt: z.int().describe("the coming retryAttempt"),
        reason: z.string(),
        preamble: z.string(),
      }),
      z.object({
        type: z.literal("node:exit"),
        node: z.string(),
        result: nodeResultSchema(),
        unfinished: z.boolean().optional().describe("the run stopped during the node; resume goes on inside it"),
        cause: z
          .enum(FAILURE_CAUSES)
          .optional()
          .describe(
            "what the node failed by: its turns, its timeout, the limits of the workflow it runs, its evaluators",
          ),
        stopped: z.literal(true).optional().describe("a limit or an interrupt stopped the node: it has not failed"),
        degraded: shortfallsSchema().optional().describe("why the visit did less than the node is for"),
      }),
      z.object({
        type: z.literal("route"),
        from: z.string(),
        to: z.string(),
        reason: z.string(),
        edge: z.int().describe("index in the workflow's edges"),
        degraded: shortfallsSchema().optional().describe("the failure of the node that the edge takes"),
      }),
      z.object({
        type: z.literal("map:start"),
        node: z.string(),
        items: z.array(
          z.object({
            key: z.string(),
            index: z.int().describe("position in the list"),
            skipped_reason: z.string().optional().describe("why it does not run"),
            error: z.string().optional().describe("why it cannot run"),
            seen: z.literal(true).optional().describe("an earlier run has judged it"),
          }),
        ),
        left: z.int().describe("beyond max_items: left for the next run"),
        state: z.string().optional().describe("which knows what was judged"),
      }),
      z.object({
        type: z.literal("inner:start"),
        node: z.string().describe("which runs it"),
        inner: z.string().describe("its place: what its own events have as `at`"),
        item: z.string().optional().describe("of a map: the key of the item"),
        input: jsonObject(),
      }),
      z.object({
        type: z.literal("inner:end"),
        node: z.string(),
        inner: z.string(),
        item: z.string().optional(),
        status: z.enum(ITEM_STATUSES),
        data: jsonObject(),
        skipped_reason: z.string().optional(),
        judged: z
          .object({
            state: z.string(),
            values: jsonObject().describe("by their paths: what it is judged anew by"),
            tainted: z.literal(true).optional(),
          })
          .optional()
          .describe("what is kept of it for later runs"),
        error: runErrorSchema().optional().describe("of a run that failed"),
      }),
      z.object({
        type: z.literal("approval:asked"),
        node: z.string(),
        ask: z.string(),
        timeout_ms: z.number().optional().describe("absent: it waits for ever"),
        digest: z.string().optional().describe("of the plan that is asked about"),
      }),
      z.object({
        type: z.literal("approval:given"),
        node: z.string(),
        approved: z.boolean(),
        by: z.string().describe("who said so, or timeout"),
        note: z.string().optional(),
        late: z.literal(true).optional().describe("nobody answered in time"),
        digest: z.string().optional().describe("of the plan that was approved"),
        later: z.literal(true).optional().describe("the run goes on by a resume, or by a later word"),
        settings: settingsSchema().partial().describe("what changes as the run goes on"),
        skills: changedSkillsSchema().optional().describe("skills that differ from the run's record from now on"),
      }),
      z.object({
        type: z.literal("workflow:end"),
        results: z.record(z.string(), nodeResultSchema()),
        status: z.enum(RUN_STATUSES),
        reason: z.string(),
        waiting: z.array(waitingSchema()).optional().describe("the words that the run waits for"),
        verdict: z.string().optional(),
        degraded: degradedSchema()
          .optional()
          .describe("where the run did less than its workflow asks for; absent in older records"),
        unrouted: unroutedSchema().optional().describe("the node where the run ended because no edge applied"),
        error: runErrorSchema().optional(),
      }),
      z.object({
        type: z.literal("model:reply"),
        node: z.string(),
        purpose: purpose(),
        model: z.string(),
        parts: z.array(part()),
        stop: stop(),
        usage: usageSchema().nullable(),
        prompt: z.string().describe("sha256 of the prompt, first 16 hexadecimal digits"),
      }),
      z.object({
        type: z.literal("model:error"),
        node: z.string(),
        purpose: purpose(),
        model: z.string(),
        code: z.string(),
        message: z.string(),
        hint: z.string().optional(),
      }),
      z.object({
        type: z.literal("tool:defined"),
        node: z.string(),
        tool: toolDescriptorSchema(),
        parameters: jsonObject().describe("as the definition gives them"),
        code: z.string().describe("the body of its handler"),
        persistent: z.boolean().describe("also kept as a skill of the project"),
        id: z.string().describe("the defining call's step key"),
      }),
      z.object({
        type: z.literal("evidence:checked"),
        node: z.string(),
        evaluator: z.string(),
        claims: z.array(
          z.object({
            claim: json().describe("as it was answered"),
            supported: z.boolean(),
            cites: z.array(
              z.object({
                ref: z.string(),
                quote: z.string(),
                problem: z.string().optional().describe("absent: it holds"),
              }),
            ),
          }),
        ),
        missing: z.string().optional().describe("why there are no claims"),
        excerpts: z.record(z.string(), z.string()).describe("what a judge sees of each result that is cited"),
      }),
      z.object({
        type: z.literal("tool:audience"),
        node: z.string(),
        audience: z.enum(AUDIENCES).describe("who would read what the call writes"),
        error: z.string().optional().describe("why the service refused to say, as it would refuse the write"),
        code: z.enum(CALL_CODES).optional(),
        id: z.string().describe("the call's step key"),
      }),
      z.object({
        type: z.literal("operation:planned"),
        node: z.string(),
        operation: operationSchema().omit({ node_failed: true, applied: true }),
        id: z.string().describe("the call's step key"),
      }),
      z.object({
        type: z.literal("operation:begun"),
        operation: z.string(),
        digest: z.string().describe("of what was approved"),
        call: z.string().describe("the id that its tool knows the call by"),
        by: z.string().describe("who applied it"),
      }),
      z.object({
        type: z.literal("operation:ended"),
        operation: z.string(),
        digest: z.string(),
        output: json().optional(),
        error: z.string().optional().describe("instead of output, when it failed"),
        code: z.enum(CALL_CODES).optional(),
        acted: acted(),
        existing: z.literal(true).optional().describe("the sink had it already"),
        in_doubt: z.literal(true).optional().describe("it may have been carried out although it failed"),
      }),
      z.object({
        type: z.literal("operation:resolved"),
        operation: z.string(),
        digest: z.string(),
        applied: z.boolean().describe("a person's word about an operation in doubt"),
        by: z.string(),
      }),
      z.object({
        type: z.literal("state:written"),
        delta: z.string().describe("the id by which what the run wrote is applied once"),
        entries: z.int().describe("how many it changed"),
        touches: z.int().describe("how many puts of the run are written by now"),
        cost_usd: z.number().describe("what of its cost is counted by now"),
      }),
      z.object({ type: z.literal("tool:removed"), node: z.string(), name: z.string(), id: z.string() }),
      z.object({
        type: z.literal("reply:rejected"),
        node: z.string(),
        reason: z.string().describe("what went back to the model"),
        problems: z.array(z.string()).optional().describe("what is wrong with the answer, with its values"),
      }),
      z.object({
        type: z.literal("limit:reached"),
        limit: z.enum([
          "max_cost_usd",
          "max_tokens",
          "max_steps",
          "timeout",
          "node_timeout",
          "max_cost_usd_per_day",
          "max_runs_per_day",
        ]),
        message: z.string(),
      }),
      z.object({ type: z.literal("warning"), message: z.string(), node: z.string().optional() }),
      z.object({ type: z.literal("run:interrupt"), reason: z.string() }),
      z.object({
        type: z.literal("run:fail"),
        node: z.string(),
        code: z.string(),
        message: z.string().describe("what the run cannot go on without, whatever edges there are"),
        hint: z.string().optional(),
      }),
      z.object({
        type: z.literal("run:resume"),
        from: z.string().optional().describe("the node to redo from"),
        settings: settingsSchema().partial(),
        skills: changedSkillsSchema().optional().describe("skills that differ from the run's record from now on"),
        day: daySchema().optional().describe("what was used of the day's limits by then"),
      }),
    ] as const,
);

const eventBodySchema = lazy(() => z.discriminatedUnion("type", bodies()));
export type EventBody = Fitting<typeof eventBodySchema>;

export type EventOf<Type extends EventBody["type"]> = Extract<EventBody, { type: Type }>;

const envelope = lazy(() => ({
  seq: z.int().describe("position in the run, from 0"),
  time: z.string().describe("ISO 8601"),
  epoch: z.int().describe("how many times the run had been opened before"),
  key: z.string().describe("the step that this event belongs to"),
  at: z
    .string()
    .optional()
    .describe(
      "the inner run that the event belongs to, from the outermost: each[fp-81], top/each[fp-81]; absent: the run itself",
    ),
  more: z.literal(true).optional().describe("the record that this event is part of goes on with the next one"),
  record: z.string().optional().describe("of the first event: sha256 of the run's own line, the one before it"),
  seal: z
    .string()
    .optional()
    .describe("sha256 of the seal before it (of the first event: `record`) and of its own line up to here"),
}));

/** An event to record. `key` and `at` name its step and inner run if they differ from the current ones. */
export type Entry = EventBody & { readonly key?: StepKey; readonly at?: string | undefined };

/** The published schema of an event. */
export const eventSchema = lazy((): z.ZodType => {
  const [first, ...others] = bodies();
  return z.discriminatedUnion("type", [first.extend(envelope()), ...others.map((body) => body.extend(envelope()))]);
});

export interface Envelope {
  readonly seq: number;
  readonly time: string;
  readonly epoch: number;
  readonly key: StepKey;
  readonly at?: string;
  readonly more?: true;
  /** Absent, like `seal`, if the store keeps no hash chain. */
  readonly record?: string;
  readonly seal?: string;
}

/** An event as observers receive it. */
export type RunEvent = EventBody & Envelope;

/** Identifies a step of a run, such as `3:assess/0/2`. Unique in the run, and stable on resume and replay. */
export type StepKey = string;
