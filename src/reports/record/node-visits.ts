import { deepEqual, defined, type Json, type JsonObject } from "../../core/base/values.ts";
import { nodePath, placeOf } from "../../core/document/inner/place.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import type { EvalResult, EvidenceCounts } from "../../core/engine/event/node-result.ts";
import { openingTexts, type Part, type Prompt, type Turn } from "../../core/engine/event/prompt.ts";
import type { CallUsage } from "../../core/engine/event/reply.ts";
import { recordedPrompts } from "../../core/engine/record/recorded-prompts.ts";
import { itemWord } from "../model/items.ts";
import type { Report } from "../model/report.ts";
import { durationOf, type InnerRun, statusOf, type Visit, type VisitStatus } from "../model/visit.ts";
import { visitsOf } from "../model/visits.ts";

/** Visits of a node with all prompts, replies and calls (`skillflow.node/1`). */
export interface NodeVisits {
  readonly schema: "skillflow.node/1";
  readonly run: string;
  readonly node: string;
  readonly name: string;
  readonly visits: readonly VisitRecord[];
}

export interface VisitRecord {
  /** Number of the visit of this node, from 1. */
  readonly visit: number;
  readonly status: VisitStatus;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly durationMs: number;
  readonly usage: {
    readonly modelCalls: number;
    readonly inputTokens: number;
    readonly cachedTokens: number;
    readonly outputTokens: number;
    /** null if a price is unknown. */
    readonly costUsd: number | null;
  };
  readonly asks: readonly Ask[];
  readonly calls: readonly CallRecord[];
  readonly data?: JsonObject;
  readonly evals: readonly EvalResult[];
  readonly evidence?: EvidenceCounts;
  readonly retries: readonly { readonly attempt: number; readonly reason: string; readonly preamble: string }[];
  readonly remarks: readonly { readonly kind: string; readonly text: string }[];
  /** Inner runs, in the order of the map's list. */
  readonly inner?: readonly InnerSummary[];
  /** Number of items that a map has left for the next run. */
  readonly left?: number;
  readonly approval?: {
    readonly ask: string;
    readonly approved: boolean | null;
    readonly by: string | null;
    readonly note: string | null;
    readonly at: string | null;
  };
  readonly route?: { readonly to: string; readonly reason: string };
}

export interface InnerSummary {
  /** Path prefix of its nodes, such as `each[fp-81]`. */
  readonly place: string;
  readonly status: string;
  readonly verdict?: string;
  readonly complaint?: string;
  readonly nodes: readonly string[];
}

/** Model call and its outcome. `seq` is the position of the answer in the run. */
export type Ask = {
  readonly seq: number;
  readonly at: string;
  readonly purpose: EventOf<"model:reply">["purpose"];
  readonly model: string;
  /** null if this version would create a different prompt. */
  readonly prompt: AskedPrompt | null;
} & (
  | { readonly reply: { readonly parts: readonly Part[]; readonly stop: string }; readonly usage: CallUsage | null }
  | { readonly error: { readonly code: string; readonly message: string; readonly hint?: string } }
);

export interface AskedPrompt {
  /** True if it extends the previous prompt of the same purpose. Then only the new turns are listed. */
  readonly continues: boolean;
  readonly opening: readonly string[];
  readonly turns: readonly Turn[];
  /** Names of the tools as the model sees them. */
  readonly tools: readonly string[];
}

/** Tool call. `seq` is the position of its announcement in the run. */
export interface CallRecord {
  readonly seq: number;
  readonly ref: string;
  readonly tool: string;
  readonly input: Json;
  readonly output?: Json;
  readonly error?: string;
  readonly planned?: string;
  /** null while there is no result. */
  readonly durationMs: number | null;
}

interface Reading extends Report {
  readonly digest: (prompt: Prompt) => string;
}

/** Returns all visits of a node in order. */
export function nodeVisits(reading: Reading, node: string): NodeVisits {
  const { record, events } = reading;
  const said = groupByVisit(events);
  const promptOf = recordedPrompts({ record, events });
  const { every } = visitsOf(reading);
  const visits = every.flatMap((visit, index) => {
    return nodePath(visit.at, visit.node) === node ? [{ visit, own: said[index] ?? [] }] : [];
  });
  return {
    schema: "skillflow.node/1",
    run: record.run,
    node,
    name: visits[0]?.visit.name ?? node,
    visits: visits.map(({ visit, own }) => {
      return describeVisit(
        visit,
        own,
        asksOf(own, (answer) => checked(promptOf(answer), answer, reading.digest)),
      );
    }),
  };
}

/** Returns the rebuilt prompt if it equals the recorded one. */
function checked(prompt: Prompt | undefined, answer: Answer, digest: Reading["digest"]): Prompt | undefined {
  return prompt && digest(prompt) === answer.prompt ? prompt : undefined;
}

type Answer = RunEvent & EventOf<"model:reply">;

/** Groups the events by visit, including those of its routing. */
function groupByVisit(events: readonly RunEvent[]): RunEvent[][] {
  const groups: RunEvent[][] = [];
  const open = new Map<string | undefined, RunEvent[]>();
  for (const event of events) {
    if (event.type === "node:enter") {
      const group: RunEvent[] = [];
      groups.push(group);
      open.set(event.at, group);
    }
    open.get(event.at)?.push(event);
  }
  return groups;
}

function asksOf(events: readonly RunEvent[], promptOf: (answer: Answer) => Prompt | undefined): Ask[] {
  const before = new Map<string, Prompt>();
  return events.flatMap((event): Ask[] => {
    if (event.type !== "model:reply" && event.type !== "model:error") return [];
    const { seq, time: at, purpose, model } = event;
    if (event.type === "model:error") {
      const { code, message, hint } = event;
      return [{ seq, at, purpose, model, prompt: null, error: { code, message, ...defined("hint", hint) } }];
    }
    const prompt = promptOf(event);
    const asked = prompt ? askedAfter(before.get(purpose), prompt) : null;
    if (prompt) before.set(purpose, prompt);
    const { parts, stop, usage } = event;
    return [{ seq, at, purpose, model, prompt: asked, reply: { parts, stop }, usage }];
  });
}

function askedAfter(before: Prompt | undefined, prompt: Prompt): AskedPrompt {
  const opening = openingTexts(prompt);
  const tools = prompt.tools.map(({ name }) => name);
  const known = before?.turns.length ?? 0;
  const continues =
    before !== undefined &&
    deepEqual(openingTexts(before), opening) &&
    prompt.turns.length >= known &&
    deepEqual(before.turns, prompt.turns.slice(0, known));
  if (!continues) return { continues, opening, turns: prompt.turns, tools };
  return { continues, opening: [], turns: prompt.turns.slice(known), tools };
}

function describeVisit(visit: Visit, events: readonly RunEvent[], asks: readonly Ask[]): VisitRecord {
  const { iteration, startedAt, endedAt, result, retries, remarks, route } = visit;
  const announced = new Map(events.flatMap((event) => (event.type === "tool:call" ? [[event.id, event.seq]] : [])));
  return {
    visit: iteration,
    status: statusOf(visit),
    startedAt,
    endedAt,
    durationMs: durationOf(visit),
    usage: usageOf(asks),
    asks,
    calls: visit.calls.map((call) => describeCall(call, announced.get(call.id) ?? 0)),
    ...defined("data", result?.data),
    evals: result?.evals ?? [],
    ...defined("evidence", result?.evidence),
    retries: retries.map(({ attempt, reason, preamble }) => ({ attempt, reason, preamble })),
    remarks,
    ...(visit.inner.length > 0 ? { inner: visit.inner.map((run) => describeInner(visit, run)) } : {}),
    ...(visit.left > 0 ? { left: visit.left } : {}),
    ...defined("approval", approvalOf(visit)),
    ...defined("route", route && { to: route.to, reason: route.reason }),
  };
}

function describeInner({ at, node }: Visit, run: InnerRun): InnerSummary {
  return {
    place: placeOf(at, node, run.key),
    status: itemWord(run),
    ...defined("verdict", run.verdict),
    ...(run.complaint === "" ? {} : { complaint: run.complaint }),
    nodes: [...new Set(run.visits.map((visit) => visit.node))],
  };
}

function approvalOf({ asked, word }: Visit): VisitRecord["approval"] {
  if (!asked) return undefined;
  const { approved = null, by = null, note = null, time: at = null } = word ?? {};
  return { ask: asked.ask, approved, by, note, at };
}

function describeCall(call: Visit["calls"][number], seq: number): CallRecord {
  const { ref, tool, input, outcome, planned, startedAt, endedAt } = call;
  const durationMs = endedAt === undefined ? null : durationOf({ startedAt, endedAt });
  return { seq, ref, tool, input, ...outcome, ...defined("planned", planned), durationMs };
}

function usageOf(asks: readonly Ask[]): VisitRecord["usage"] {
  const replies = asks.flatMap((ask) => ("usage" in ask ? [ask.usage] : []));
  const sum = (of: (usage: CallUsage) => number) =>
    replies.reduce((total, usage) => total + (usage === null ? 0 : of(usage)), 0);
  const isPriced = replies.every((usage) => usage !== null && usage.costUsd !== null);
  return {
    modelCalls: replies.length,
    inputTokens: sum(({ inputTokens }) => inputTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    costUsd: isPriced ? Math.round(sum(({ costUsd }) => costUsd ?? 0) * 1e6) / 1e6 : null,
  };
}
