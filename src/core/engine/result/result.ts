import * as z from "zod";
import { exitCodeOf } from "../../base/errors.ts";
import { asFlag, type OptionWriter, renderHint } from "../../base/options.ts";
import { defined, type Fitting } from "../../base/values.ts";
import { lazyObject, optional } from "../../skill/field.ts";
import { waitsOf } from "../decide/inner/approval.ts";
import { planOf } from "../decide/planning.ts";
import {
  degradedSchema,
  RUN_STATUSES,
  type RunError,
  shownErrorSchema,
  unroutedSchema,
  waitingSchema,
} from "../event/end.ts";
import { evidenceCountsSchema, nodeResultSchema, traceEdgeSchema, traceStepSchema } from "../event/node-result.ts";
import { operationSchema } from "../event/operation.ts";
import { type RunRecord, resolvedSourceSchema, skippedSchema, sourcesIn } from "../event/record.ts";
import { sumEvidence } from "../evidence/check.ts";
import { findingJson, findingOf } from "../finding/finding.ts";
import { findingSchema } from "../finding/json.ts";
import { innerTraces } from "../fold/fold-inner.ts";
import { lastVisitsOf } from "../fold/last-visits.ts";
import type { End, InnerTrace, State } from "../fold/state.ts";

export const resultSchema = lazyObject(() => ({
  schema: z.literal("skillflow.result/1"),
  run: z.string(),
  workflow: z.string(),
  status: z.enum(RUN_STATUSES),
  skipped: optional(skippedSchema(), "For a run within a cool-down: the earlier run"),
  exitCode: z.int(),
  verdict: optional(z.string(), "Value at the workflow's verdict path"),
  finding: optional(findingSchema(), "What the run found, if the workflow names it with report"),
  degraded: degradedSchema().describe("Where the run continued with less than its workflow asks for"),
  unrouted: optional(unroutedSchema(), "Node at which the run ended because none of its edges applied"),
  results: z.record(z.string(), nodeResultSchema()),
  trace: z.object({
    steps: z.array(traceStepSchema()),
    edges: z.array(traceEdgeSchema()),
    sources: z.record(z.string(), resolvedSourceSchema()),
    skills: z.array(z.object({ id: z.string(), available: z.boolean(), reason: z.string().optional() })),
    evidence: optional(z.record(z.string(), evidenceCountsSchema()), "Evidence counts by node, if claims were checked"),
    inner: optional(
      z.record(z.string(), z.object({ steps: z.array(traceStepSchema()), edges: z.array(traceEdgeSchema()) })),
      "Traces of inner runs, by path: each[fp-81]",
    ),
  }),
  waiting: optional(z.array(waitingSchema()), "Decisions that the run waits for, given with skillflow signal"),
  evidence: optional(evidenceCountsSchema(), "Sum of trace.evidence"),
  usage: z.object({
    modelCalls: z.int(),
    inputTokens: z.int(),
    cachedTokens: z.int(),
    outputTokens: z.int(),
    costUsd: z.number().nullable().describe("Cost in US dollars. null if the price of any call is unknown."),
    durationMs: z.int(),
  }),
  plan: z.array(operationSchema()).describe("Writes that were planned instead of executed"),
  redactions: optional(
    z.record(z.string(), z.int()),
    "Number of values of the checkout's .env that were replaced in tool results, by variable",
  ),
  error: shownErrorSchema().optional(),
}));
export type RunResult = Fitting<typeof resultSchema>;

/** Describes the result of a run, from its past alone. `write` writes the options of its hint. */
export function describeResult(record: RunRecord, state: State, write: OptionWriter = asFlag): RunResult {
  const { status, exitCode, error } = statusOf(record.kind, state.end);
  const checked = [...state.results].flatMap(([node, { evidence }]) => (evidence ? [[node, evidence] as const] : []));
  const inner = innerTraces(state);
  const open = new Set(waitsOf(state).map(({ node }) => node));
  // An answer can be recorded before a process continues the run.
  const waiting = (state.end?.waiting ?? []).filter(({ node }) => open.has(node));
  const all = lastVisitsOf(state).flatMap(({ path: node, result }) => {
    if (!result?.evidence) return [];
    const { texts = [], ...counts } = result.evidence;
    return { ...counts, texts: texts.map((fault) => ({ ...fault, node })) };
  });
  const { modelCalls, inputTokens, cachedTokens, outputTokens } = state.usage;
  return {
    schema: "skillflow.result/1",
    run: record.run,
    workflow: record.workflow.id,
    status,
    ...(status === "skipped" ? defined("skipped", record.skipped) : {}),
    exitCode,
    ...defined("verdict", state.end?.verdict),
    ...defined("finding", foundBy(record, state)),
    degraded: [...(state.end?.degraded ?? [])],
    ...defined("unrouted", state.end?.unrouted),
    results: Object.fromEntries(state.results),
    trace: {
      ...traceOf(state),
      sources: sourcesIn(record),
      skills: record.skills.map(({ id, available, reason }) => ({ id, available, ...(reason ? { reason } : {}) })),
      ...(checked.length === 0 ? {} : { evidence: Object.fromEntries(checked) }),
      ...(inner.size === 0 ? {} : { inner: Object.fromEntries([...inner].map(([at, trace]) => [at, traceOf(trace)])) }),
    },
    ...(waiting.length > 0 ? { waiting } : {}),
    ...(all.length === 0 ? {} : { evidence: sumEvidence(all) }),
    usage: {
      modelCalls,
      inputTokens,
      cachedTokens,
      outputTokens,
      costUsd: costOf(state.usage),
      durationMs: Math.round(state.run.activeMs),
    },
    plan: planOf(state),
    ...(state.run.redactions.size === 0 ? {} : { redactions: Object.fromEntries(state.run.redactions) }),
    ...(error ? { error: shownError(error, write) } : {}),
  };
}

/** Returns what a run found. A workflow that names nothing has its results only. */
function foundBy(record: RunRecord, state: State): RunResult["finding"] {
  const { workflow } = record;
  return workflow.report && state.results.size > 0 ? findingJson(findingOf(state, record)) : undefined;
}

function shownError({ hint, ...error }: RunError, write: OptionWriter) {
  return { ...error, ...(hint === undefined ? {} : { hint: renderHint(hint, write) }) };
}

function traceOf({ steps, edges }: InnerTrace) {
  return {
    steps: steps.map((step) => ({ ...step })),
    edges: edges.map(({ from, to, reason }) => ({ from, to, reason })),
  };
}

export function costOf({ costUsd, unpriced }: Pick<State["usage"], "costUsd" | "unpriced">): number | null {
  return unpriced > 0 ? null : Math.round(costUsd * 1e6) / 1e6;
}

const RECHECK_EXITS = new Map([
  ["not_held", 1],
  ["inconclusive", 8],
]);

/** Returns how a run ended. A run without an end is interrupted. The answer of a recheck is its exit code. */
export function statusOf(kind: RunRecord["kind"], end: Pick<End, "status" | "error" | "verdict"> | undefined) {
  const { status, error } = end ?? {
    status: "interrupted" as const,
    error: { code: "run.interrupted", message: "the run has not ended: its process is still running, or is gone" },
  };
  const answered = (kind === "recheck" && RECHECK_EXITS.get(end?.verdict ?? "")) || 0;
  return { status, error, exitCode: error ? exitCodeOf(error.code) : answered };
}
