import * as z from "zod";
import { CALL_CODES } from "./errors.ts";
import { operationSchema } from "./operation.ts";
import { AUDIENCES, INPUT_DIALECTS } from "./skill.ts";
import { type Fitting, isObject, type Json, type JsonObject, lazy } from "./values.ts";
import { toolReach, type Workflow, workflowSchema } from "./workflow.ts";

const json = lazy((): z.ZodType<Json> => z.json());
const jsonObject = lazy((): z.ZodType<JsonObject> => z.record(z.string(), z.json()));

export const resolvedSourceSchema = lazy(() =>
  z.object({
    content: z.string(),
    kind: z.enum(["inline", "file", "url"]),
    origin: json(),
    resolver: z.enum(["inline", "file", "fetch"]),
    hash: z.string().describe("sha256 of the content, first 16 hexadecimal digits"),
    fetchedAt: z.string().optional().describe("url only"),
    sourcePath: z.string().optional().describe("file only, absolute"),
  }),
);
export type ResolvedSource = Fitting<typeof resolvedSourceSchema>;

const evalResultSchema = lazy(() =>
  z.object({
    name: z.string(),
    kind: z.enum(["value", "function", "evidence", "judge"]),
    pass: z.boolean(),
    reasoning: z.string().optional(),
    score: z.number().optional(),
  }),
);
export type EvalResult = Fitting<typeof evalResultSchema>;

/** Names a call's result: `r7` is of the run's seventh recorded call (extensions G10). */
const ref = lazy(() => z.string().describe("the reference of its result, r<n>: n counts the run's recorded calls"));

const toolCallSchema = lazy(() =>
  z.object({
    ref: ref().optional().describe("absent where the call was not begun"),
    tool: z.string(),
    input: json(),
    output: json().optional().describe("absent on error"),
    error: z.string().optional(),
    planned: z.boolean().optional().describe("recorded as an operation of the plan, not carried out"),
  }),
);
export type ToolCall = Fitting<typeof toolCallSchema>;

/** Why a call failed: by its error, else by a truthy `error` in what it gave (N22). Undefined where it did not. */
export function callFailure({ error, output }: Pick<ToolCall, "error" | "output">): string | undefined {
  if (error !== undefined) return error;
  const said = isObject(output) ? output.error : undefined;
  return said ? String(typeof said === "object" ? JSON.stringify(said) : said) : undefined;
}

export const evidenceCountsSchema = lazy(() =>
  z.object({
    claims: z.int().describe("before any is taken out"),
    supported: z.int(),
    dropped: z.int(),
    cites: z.int().describe("before any is taken out"),
    held: z.int().describe("cites whose quote stands in the result that they name"),
  }),
);
export type EvidenceCounts = Fitting<typeof evidenceCountsSchema>;

export const nodeResultSchema = lazy(() =>
  z.object({
    status: z.enum(["success", "skipped", "failed"]),
    data: jsonObject(),
    toolCalls: z.array(toolCallSchema()),
    evals: z.array(evalResultSchema()).optional(),
    evidence: evidenceCountsSchema().optional(),
  }),
);
export type NodeResult = Fitting<typeof nodeResultSchema>;

export const usageSchema = lazy(() =>
  z.object({
    inputTokens: z.int().describe("all input tokens, cached ones included"),
    cachedTokens: z.int(),
    outputTokens: z.int(),
    costUsd: z.number().nullable().describe("null where a price or the token count is unknown"),
  }),
);
export type CallUsage = Fitting<typeof usageSchema>;

export const runErrorSchema = lazy(() =>
  z.object({
    code: z.string(),
    message: z.string(),
    hint: z.string().optional(),
    node: z.string().optional(),
  }),
);
export type RunError = Fitting<typeof runErrorSchema>;

export const RUN_STATUSES = ["succeeded", "failed", "stopped", "interrupted", "waiting", "skipped"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

const ITEM_STATUSES = ["success", "failed", "skipped", "stopped"] as const;

/** A word that a run waits for. */
export const waitingSchema = lazy(() =>
  z.object({
    node: z.string().describe("as signal takes it: ask, top/each[fp-81]/ask"),
    ask: z.string(),
    since: z.string().describe("ISO 8601"),
    until: z.string().optional().describe("ISO 8601; absent: for ever"),
    digest: z.string().optional().describe("of the plan that is asked about"),
  }),
);
export type Waiting = Fitting<typeof waitingSchema>;

const limitsSchema = lazy(() =>
  z.object({
    max_cost_usd: z.number().optional(),
    max_tokens: z.number().optional(),
    max_steps: z.number().optional(),
    timeout_ms: z.number().optional(),
    max_cost_usd_per_day: z.number().optional(),
    max_runs_per_day: z.number().optional(),
  }),
);

/** What governs a run beside its workflow; recorded, and changeable by `resume`. Durations in milliseconds. */
export const settingsSchema = lazy(() =>
  z.object({
    model: z.string().describe("provider:name"),
    judge_model: z.string(),
    writes: z.enum(["allow", "plan", "deny"]),
    limits: limitsSchema(),
    max_turns: z.int(),
    node_timeout_ms: z.number().optional(),
    tool_timeout_ms: z.number(),
    context_mode: z
      .enum(["full", "readOnDemand"])
      .describe("whether skills' instructions stand in the prompt, or a list of them that the model reads from"),
    allow_public: z
      .boolean()
      .optional()
      .describe("text from private sources may be written where all the world reads it"),
  }),
);
export type Settings = Fitting<typeof settingsSchema>;

const toolDescriptorSchema = lazy(() =>
  z.object({
    skill: z.string(),
    name: z.string(),
    exposed: z.string(),
    description: z.string(),
    input_schema: jsonObject(),
    output_schema: jsonObject().optional(),
    effect: z.enum(["read", "write"]),
    idempotent: z.boolean(),
    ...toolReach(),
    live: z.boolean().optional().describe("the same call again is carried out again"),
    host: z.string().optional().describe("of the service that it writes to"),
    dialect: z.enum(INPUT_DIALECTS).optional(),
    settled: z.array(z.string()).optional().describe("parameters that config settles: the model is not told of them"),
  }),
);

const daySchema = lazy(() =>
  z.object({
    date: z.string().describe("UTC"),
    runs: z.int().describe("of the workflow begun that day, this one counted"),
    cost_usd: z.number().describe("what those that ended had cost"),
  }),
);

const purpose = lazy(() => z.enum(["work", "route", "judge", "reflect"]));
const part = lazy(() =>
  z.union([
    z.object({ type: z.literal("text"), text: z.string() }),
    z.object({ type: z.literal("call"), id: z.string(), tool: z.string(), input: json() }),
    z.object({ type: z.literal("broken_call"), id: z.string(), tool: z.string(), text: z.string() }),
    z.object({ type: z.literal("opaque"), provider: z.string(), value: json() }),
  ]),
);

const stop = lazy(() => z.enum(["end", "length", "refusal"]));
/** What a model's reply has to be. */
export const replySchema = lazy(() =>
  z.object({
    parts: z.array(part()),
    stop: stop(),
    usage: usageSchema().omit({ costUsd: true }).nullable().default(null),
  }),
);

const blobInfoSchema = lazy(() => z.object({ blob_id: z.string(), kind: z.string(), size_bytes: z.int() }));

/** Every event, by type. The format's own first (workflow-format "Events"), then ours in the same shape. */
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
        planned: z.literal(true).optional().describe("not carried out: the output names an operation of the plan"),
        blobs: z.array(blobInfoSchema()).optional().describe("what of the output is kept as blobs, beside the run"),
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
      }),
      z.object({
        type: z.literal("route"),
        from: z.string(),
        to: z.string(),
        reason: z.string(),
        edge: z.int().describe("index in the workflow's edges"),
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
      }),
      z.object({
        type: z.literal("workflow:end"),
        results: z.record(z.string(), nodeResultSchema()),
        status: z.enum(RUN_STATUSES),
        reason: z.string(),
        waiting: z.array(waitingSchema()).optional().describe("the words that the run waits for"),
        verdict: z.string().optional(),
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

/** What a step yields for the record: it may name the step that it belongs to, else that one, and its inner run. */
export type Entry = EventBody & { readonly key?: StepKey; readonly at?: string | undefined };

/** The published schema of one event. */
export const eventSchema = lazy(() =>
  z.discriminatedUnion(
    "type",
    bodies().map((body) => body.extend(envelope())) as unknown as [z.ZodObject<{ type: z.ZodLiteral<string> }>],
  ),
);

export interface Envelope {
  readonly seq: number;
  readonly time: string;
  readonly epoch: number;
  readonly key: StepKey;
  readonly at?: string;
  readonly more?: true;
  /** Absent, as `seal`, where the store keeps no chain. */
  readonly record?: string;
  readonly seal?: string;
}
/** An event as it is recorded and observed. */
export type RunEvent = EventBody & Envelope;

export const skillRecordSchema = lazy(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    format: z.string(),
    available: z.boolean(),
    plannable: z.literal(true).optional().describe("it lacks its config: what it writes can be planned"),
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
/** A referenced skill as a run knows it: its tools without their handlers. */
export type SkillRecord = Fitting<typeof skillRecordSchema>;

/** What is remembered under a key across runs (extensions G30): one line of a state's file. */
export const stateEntrySchema = lazy(() =>
  z.object({
    key: z.string(),
    first_seen: z.string().describe("ISO 8601"),
    last_seen: z.string().describe("when it was last put, or met by a map"),
    runs: z.int().describe("how many runs put it"),
    seen: z.int().describe("how often it was put, or met by a map"),
    data: json(),
    tainted: z.literal(true).optional().describe("written by a run that had read text from strangers"),
  }),
);
export type StateEntry = Fitting<typeof stateEntrySchema>;

/** The run before, of a run that came within its cool-down (extensions G33). */
export const skippedSchema = lazy(() =>
  z.object({ run: z.string(), at: z.string().describe("when it ended"), verdict: z.string().optional() }),
);
export type Skipped = Fitting<typeof skippedSchema>;

const RUN_KINDS = ["run", "dry-run", "replay", "test"] as const;

/** What names a run: its files, and a word that stands in commands for people to copy as it is. */
export const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

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
/** The first line of a run's file: all that decides it, so that no later edit can change a run under way. */
export interface RunRecord extends Omit<Fitting<typeof runRecordSchema>, "workflow" | "inner"> {
  readonly workflow: Workflow;
  readonly inner?: { readonly [path: string]: InnerDocument } | undefined;
}

/** A workflow that a node runs, as it was when the run began. */
export interface InnerDocument {
  readonly file?: string | undefined;
  readonly workflow: Workflow;
  readonly sources: RunRecord["sources"];
}

/** Names one position of a run: unique in it and the same whenever the run is driven again. `3:assess/0/2` */
export type StepKey = string;

/** Why a model is asked. Only `work` carries tools (D8). */
export type Purpose = "work" | "route" | "judge" | "reflect";
