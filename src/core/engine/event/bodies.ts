import * as z from "zod";
import { CALL_CODES } from "../../base/errors.ts";
import { lazy } from "../../base/values.ts";
import { json, jsonObject, lazyObject, optional } from "../../skill/field.ts";
import { AUDIENCES } from "../../skill/skill.ts";
import {
  degradedSchema,
  RUN_STATUSES,
  runErrorSchema,
  shortfallsSchema,
  unroutedSchema,
  waitingSchema,
} from "./end.ts";
import { blobInfoSchema, CITE_FAULTS, FAILURE_CAUSES, nodeResultSchema, ref, textFault } from "./node-result.ts";
import { operationSchema } from "./operation.ts";
import { changeSchema } from "./patch.ts";
import {
  changedSkillsSchema,
  daySchema,
  resolvedSourceSchema,
  settingsSchema,
  toolDescriptorSchema,
} from "./record.ts";
import { modelEvents } from "./reply.ts";

const ITEM_STATUSES = ["success", "failed", "skipped", "stopped"] as const;

const acted = lazy(() =>
  optional(z.enum(["no", "unknown"]), "With an error: whether the call may have written. Absent in older records."),
);

const step = lazy(() => optional(z.string(), "Step of a steps node that makes the call"));

const visitEvents = lazy(() => ({
  "workflow:start": { workflow: z.string() },
  "sources:resolved": { sources: z.record(z.string(), resolvedSourceSchema()) },
  "node:enter": {
    node: z.string(),
    instruction: z.string(),
    iteration: z.int().describe("Number of the visit to this node, from 1"),
  },
  "tool:call": {
    node: z.string(),
    tool: z.string(),
    input: json(),
    ref: ref(),
    id: z.string().describe("Step key of the call"),
    step: step(),
  },
  "tool:result": {
    node: z.string(),
    tool: z.string(),
    output: json().optional(),
    error: optional(z.string(), "Error of a failed call, instead of output"),
    code: optional(z.enum(CALL_CODES), "Error code for programs"),
    acted: acted(),
    planned: optional(z.literal(true), "The call was not executed. The output names an operation of the plan."),
    blobs: optional(z.array(blobInfoSchema()), "Parts of the output that are stored as blobs, outside the record"),
    redactions: optional(
      z.record(z.string(), z.int()),
      "Number of replaced values of the checkout's .env, by variable",
    ),
    ref: optional(ref(), "Absent without a preceding tool:call"),
    id: z.string(),
    step: step(),
    same: optional(z.string(), "For a step: reference of an equal call before it, whose output counts for both"),
  },
}));

const leaveEvents = lazy(() => ({
  "node:retry": {
    node: z.string(),
    attempt: z.int().describe("retryAttempt of the next attempt"),
    reason: z.string(),
    preamble: z.string(),
  },
  "node:exit": {
    node: z.string(),
    result: nodeResultSchema(),
    unfinished: optional(
      z.boolean(),
      "The run stopped during the node, or its steps or their evaluators failed. resume continues inside the node.",
    ),
    repeats_from: optional(
      z.int(),
      "Of a `steps` node whose evaluators failed: position in `toolCalls` after the last write. resume repeats the calls from there.",
    ),
    cause: optional(
      z.enum(FAILURE_CAUSES),
      "Cause of the failure: the node's turns, its timeout, the limits of its inner workflow, or its evaluators",
    ),
    stopped: optional(z.literal(true), "A limit or an interrupt stopped the node. It has not failed."),
    degraded: optional(shortfallsSchema(), "Why the visit did less than the node asks for"),
    denied: optional(z.array(z.string()), "Write steps that were skipped, because writes are denied"),
  },
  route: {
    from: z.string(),
    to: z.string(),
    reason: z.string(),
    edge: z.int().describe("Index in the workflow's edges"),
    degraded: optional(shortfallsSchema(), "Failure of the node after which the edge continues"),
  },
}));

const innerEvents = lazy(() => ({
  "map:start": {
    node: z.string(),
    items: z.array(
      z.object({
        key: z.string(),
        index: z.int().describe("Position in the list"),
        skipped_reason: optional(z.string(), "Why the item is skipped"),
        error: optional(z.string(), "Why the item cannot run"),
        seen: optional(z.literal(true), "An earlier run judged the item"),
      }),
    ),
    left: z.int().describe("Number of items beyond max_items, left for the next run"),
    state: optional(z.string(), "State that stores which items were judged"),
  },
  "inner:start": {
    node: z.string().describe("Node that runs the inner run"),
    inner: z.string().describe("Path of the inner run, which its events have as `at`"),
    item: optional(z.string(), "For a map: key of the item"),
    input: jsonObject(),
    same: optional(z.array(z.string()), "Large input fields that are left out: as in the first item that began"),
  },
  "inner:end": {
    node: z.string(),
    inner: z.string(),
    item: z.string().optional(),
    status: z.enum(ITEM_STATUSES),
    data: jsonObject(),
    skipped_reason: z.string().optional(),
    cut: optional(z.literal(true), "A dry run stopped it at a decision"),
    judged: optional(
      z.object({
        state: z.string(),
        values: jsonObject().describe("Values by path. The item is judged again if one changes."),
        tainted: z.literal(true).optional(),
      }),
      "Judgment that is stored for later runs",
    ),
    error: optional(runErrorSchema(), "Error of a failed run"),
  },
}));

const waitEvents = lazy(() => ({
  "approval:asked": {
    node: z.string(),
    ask: z.string(),
    timeout_ms: optional(z.number(), "Absent if the run waits forever"),
    digest: optional(z.string(), "Digest of the plan to approve"),
  },
  "approval:refused": {
    node: z.string().describe("Approval in the form that signal accepts"),
    by: z.string().describe("Person whose decision did not count"),
    reason: z.string(),
  },
  "approval:given": {
    node: z.string(),
    approved: z.boolean(),
    by: z.string().describe("Person who decided, or timeout"),
    note: z.string().optional(),
    late: optional(z.literal(true), "There was no answer in time"),
    digest: optional(z.string(), "Digest of the plan that was decided on"),
    later: optional(z.literal(true), "The decision does not continue the run. A resume or a later decision does."),
    settings: settingsSchema().partial().describe("Settings that change when the run continues"),
    skills: optional(changedSkillsSchema(), "Skills that differ from the run's record from now on"),
  },
  "workflow:end": {
    results: z.record(z.string(), nodeResultSchema()),
    status: z.enum(RUN_STATUSES),
    reason: z.string(),
    waiting: optional(z.array(waitingSchema()), "Decisions that the run waits for"),
    verdict: z.string().optional(),
    degraded: optional(degradedSchema(), "Where the run did less than its workflow asks for. Absent in older records."),
    unrouted: optional(unroutedSchema(), "Node at which the run ended because no edge applied"),
    error: runErrorSchema().optional(),
  },
}));

const checkedCites = lazy(() =>
  z.array(
    z.object({
      ref: z.string(),
      quote: z.string(),
      problem: optional(z.string(), "Why the cite does not hold. Absent if it holds."),
      code: optional(z.enum(CITE_FAULTS), "The same as a code. Absent if the cite holds."),
      nearest: optional(z.string(), "Text of the result that is most like a quote that was not found"),
    }),
  ),
);

const refutation = lazyObject(() => ({
  claim: z.string().describe("Claim of an earlier node, as the answer repeats it"),
  nodes: z.array(z.string()).describe("Earlier nodes with this claim"),
  holds: z.boolean().describe("An earlier node has the claim, and all cites hold. The claim is removed."),
  reason: z.string().describe("The quotes that refute it, or why the refutation does not hold"),
  cites: checkedCites(),
}));

const checkEvents = lazy(() => ({
  "tool:defined": {
    node: z.string(),
    tool: toolDescriptorSchema(),
    parameters: jsonObject().describe("Parameters as in the definition"),
    code: z.string().describe("Body of the handler"),
    persistent: z.boolean().describe("Also saved as a skill of the project"),
    id: z.string().describe("Step key of the defining call"),
  },
  "evidence:checked": {
    node: z.string(),
    evaluator: z.string(),
    claims: z.array(
      z.object({
        claim: json().describe("Claim as in the answer"),
        supported: z.boolean().describe("At least one cite holds"),
        partial: optional(z.literal(true), "Supported, but not all cites hold"),
        unbound: optional(z.array(z.string()), "Facts of the claim that no quoted record contains"),
        cites: checkedCites(),
      }),
    ),
    texts: optional(z.array(textFault()), "Fields of the answer with facts that no claim shows"),
    refuted: optional(z.array(refutation()), "Claims of earlier nodes that the answer refutes"),
    missing: optional(z.string(), "Why there are no claims"),
    excerpts: z
      .record(z.string(), z.string())
      .describe("Excerpts of the cited results that a judge sees, by reference"),
  },
  "tool:audience": {
    node: z.string(),
    audience: z.enum(AUDIENCES).describe("Who could read the write"),
    error: optional(z.string(), "Why the service rejected the check. It would reject the write too."),
    code: z.enum(CALL_CODES).optional(),
    id: z.string().describe("Step key of the call"),
  },
  "tool:change": {
    node: z.string(),
    change: optional(changeSchema(), "What the working copy changed when the call proposed it"),
    error: optional(z.string(), "Why the change cannot be proposed"),
    ...{ code: z.enum(CALL_CODES).optional(), id: z.string().describe("Step key of the call") },
  },
  "operation:planned": {
    node: z.string(),
    operation: operationSchema().omit({ at: true, node_failed: true, applied: true }),
    aliases: optional(
      z.record(z.string(), z.string()),
      "What new aliases in the input stand for, such as host-1. Only the run's record has them.",
    ),
    id: z.string().describe("Step key of the call"),
  },
}));

const operationEvents = lazy(() => ({
  "operation:begun": {
    operation: z.string(),
    digest: z.string().describe("Digest of the approved operation"),
    call: z.string().describe("Id of the call that the tool receives"),
    by: z.string().describe("Person who applied the operation"),
  },
  "operation:ended": {
    operation: z.string(),
    digest: z.string(),
    output: json().optional(),
    error: optional(z.string(), "Error of a failed operation, instead of output"),
    code: z.enum(CALL_CODES).optional(),
    acted: acted(),
    existing: optional(z.literal(true), "The target already had it"),
    in_doubt: optional(z.literal(true), "The operation may have been executed although it failed"),
  },
  "operation:refused": {
    operation: z.string(),
    digest: z.string(),
    error: z.string().describe("Why the approved operation was not carried out"),
    by: z.string().describe("Person who applied the plan"),
  },
  "operation:resolved": {
    operation: z.string(),
    digest: z.string(),
    applied: z.boolean().describe("Person's decision whether an operation in doubt was applied"),
    by: z.string(),
  },
}));

const runEvents = lazy(() => ({
  "state:written": {
    delta: z.string().describe("Id that ensures that the changes are saved only once"),
    entries: z.int().describe("Number of changed entries"),
    touches: z.int().describe("Number of the run's state changes that are saved so far"),
    cost_usd: z.number().describe("Part of the run's cost that is counted so far"),
  },
  "tool:removed": { node: z.string(), name: z.string(), id: z.string() },
  "reply:rejected": {
    node: z.string(),
    reason: z.string().describe("Message returned to the model"),
    problems: optional(z.array(z.string()), "Problems of the answer, with its values"),
    claims: optional(z.literal(true), "Problems of the answer's claims, not of its form. Once per attempt."),
  },
  "limit:reached": {
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
  },
  warning: { message: z.string(), node: z.string().optional() },
  "run:interrupt": { reason: z.string() },
  "run:fail": {
    node: z.string(),
    code: z.string(),
    message: z.string().describe("Why the run cannot continue, regardless of its edges"),
    hint: z.string().optional(),
  },
  "run:resume": {
    from: optional(z.string(), "Node to repeat from"),
    settings: settingsSchema().partial(),
    skills: optional(changedSkillsSchema(), "Skills that differ from the run's record from now on"),
    day: optional(daySchema(), "Usage of the daily limits at that time"),
  },
}));

/** Fields of all events by type: first those of the workflow format, then our own in the same shape. */
export const bodies = lazy(() => ({
  ...visitEvents(),
  ...leaveEvents(),
  ...innerEvents(),
  ...waitEvents(),
  ...modelEvents(),
  ...checkEvents(),
  ...operationEvents(),
  ...runEvents(),
}));
