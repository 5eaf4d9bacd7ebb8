import * as z from "zod";
import { planOf } from "../engine/planning.ts";
import type { State } from "../engine/state.ts";
import { exitCodeOf } from "../errors.ts";
import {
  evidenceCountsSchema,
  nodeResultSchema,
  RUN_STATUSES,
  type RunError,
  type RunRecord,
  resolvedSourceSchema,
  runErrorSchema,
} from "../event.ts";
import { sumEvidence } from "../evidence/check.ts";
import { operationSchema } from "../operation.ts";
import { defined, type Fitting, lazy } from "../values.ts";
import { degradedNodes, degradedSchema } from "./degraded.ts";

/** The result document, `skillflow.result/1` (cli "run"). */
export const resultSchema = lazy(() =>
  z.object({
    schema: z.literal("skillflow.result/1"),
    run: z.string(),
    workflow: z.string(),
    status: z.enum(RUN_STATUSES),
    exitCode: z.int(),
    verdict: z.string().optional().describe("what stands at the path that the workflow names as its verdict"),
    degraded: degradedSchema().describe("where the run went on with less than its workflow asks for"),
    results: z.record(z.string(), nodeResultSchema()),
    trace: z.object({
      steps: z.array(
        z.object({
          node: z.string(),
          status: z.enum(["success", "skipped", "failed"]),
          iteration: z.int(),
          retryAttempt: z.int().optional(),
        }),
      ),
      edges: z.array(z.object({ from: z.string(), to: z.string(), reason: z.string() })),
      sources: z.record(z.string(), resolvedSourceSchema()),
      skills: z.array(z.object({ id: z.string(), available: z.boolean(), reason: z.string().optional() })),
      evidence: z.record(z.string(), evidenceCountsSchema()).optional().describe("by node, where claims were checked"),
    }),
    evidence: evidenceCountsSchema().optional().describe("the sum of trace.evidence"),
    usage: z.object({
      modelCalls: z.int(),
      inputTokens: z.int(),
      cachedTokens: z.int(),
      outputTokens: z.int(),
      costUsd: z.number().nullable().describe("null when the price of any call is unknown"),
      durationMs: z.int(),
    }),
    plan: z.array(operationSchema()).describe("the writes that were planned in place of being carried out"),
    error: runErrorSchema().optional(),
  }),
);
export type RunResult = Fitting<typeof resultSchema>;

/** What a run came to, from its past alone. */
export function describeResult(record: RunRecord, state: State): RunResult {
  const { status, exitCode, error } = statusOf(state.end);
  const checked = [...state.results].flatMap(([node, { evidence }]) => (evidence ? [[node, evidence] as const] : []));
  const { modelCalls, inputTokens, cachedTokens, outputTokens } = state.usage;
  return {
    schema: "skillflow.result/1",
    run: record.run,
    workflow: record.workflow.id,
    status,
    exitCode,
    ...defined("verdict", state.end?.verdict),
    degraded: degradedNodes(record, {
      visited: state.iterations.keys(),
      last: state.path.at(-1)?.node,
      results: state.results,
    }),
    results: Object.fromEntries(state.results),
    trace: {
      steps: state.steps.map((step) => ({ ...step })),
      edges: state.edges.map(({ from, to, reason }) => ({ from, to, reason })),
      sources: record.sources,
      skills: record.skills.map(({ id, available, reason }) => ({ id, available, ...(reason ? { reason } : {}) })),
      ...(checked.length === 0 ? {} : { evidence: Object.fromEntries(checked) }),
    },
    ...(checked.length === 0 ? {} : { evidence: sumEvidence(checked.map(([, counts]) => counts)) }),
    usage: {
      modelCalls,
      inputTokens,
      cachedTokens,
      outputTokens,
      costUsd: costOf(state.usage),
      durationMs: Math.round(state.run.activeMs),
    },
    plan: planOf(state),
    ...(error ? { error } : {}),
  };
}

export function costOf({ costUsd, unpriced }: Pick<State["usage"], "costUsd" | "unpriced">): number | null {
  return unpriced > 0 ? null : Math.round(costUsd * 1e6) / 1e6;
}

interface Outcome {
  readonly status: RunResult["status"];
  readonly error?: RunError | undefined;
}

/** How a run ended, or that it has not. */
export function statusOf(end: Outcome | undefined): Outcome & { readonly exitCode: number } {
  const { status, error } = end ?? {
    status: "interrupted" as const,
    error: { code: "run.interrupted", message: "the run has not ended: its process is at work, or gone" },
  };
  return { status, error, exitCode: error ? exitCodeOf(error.code) : 0 };
}
