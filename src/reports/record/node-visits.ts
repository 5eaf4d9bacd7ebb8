import { deepEqual, defined, type Json } from "../../core/base/values.ts";
import { nodePath, placeOf } from "../../core/document/inner/place.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import { openingTexts, type Prompt } from "../../core/engine/event/prompt.ts";
import { recordedPrompts } from "../../core/engine/record/recorded-prompts.ts";
import { costOf } from "../../core/engine/result/result.ts";
import { usageOf } from "../model/costs.ts";
import { itemWord } from "../model/items.ts";
import type { Report } from "../model/report.ts";
import { durationOf, type InnerRun, statusOf, type Visit, type VisitCall } from "../model/visit.ts";
import { visitsOf } from "../model/visits.ts";

/** Visits of a node with all prompts, replies and calls (`skillflow.node/1`). */
export type NodeVisits = ReturnType<typeof nodeVisits>;

export function nodeVisits(reading: Report & Required<Pick<Report, "digest">>, node: string) {
  const { record, events, digest } = reading;
  const promptOf = recordedPrompts({ record, events });
  const visits = visitsOf(reading).every.filter((visit) => nodePath(visit.at, visit.node) === node);
  return {
    schema: "skillflow.node/1",
    run: record.run,
    node,
    name: visits[0]?.name ?? node,
    visits: visits.map((visit) => {
      const asks = asksOf(visit, (answer) => {
        const prompt = promptOf(answer);
        return prompt && digest(prompt) === answer.prompt ? prompt : undefined;
      });
      return describeVisit(visit, asks);
    }),
  } as const;
}

type Answer = RunEvent & EventOf<"model:reply">;

type Ask = ReturnType<typeof asksOf>[number];

/**
 * Describes the model calls of a visit by the positions of their answers. `promptOf` returns a rebuilt prompt if it
 * equals the recorded one. Otherwise the call's prompt is null.
 */
function asksOf({ turns }: Visit, promptOf: (answer: Answer) => Prompt | undefined) {
  const before = new Map<string, Prompt>();
  const asked = turns.filter((turn) => turn.kind === "asked");
  return asked.map(({ answer }) => {
    const { seq, time: at, purpose, model } = answer;
    if (answer.type === "model:error") {
      const { code, message, hint } = answer;
      return { seq, at, purpose, model, prompt: null, error: { code, message, ...defined("hint", hint) } };
    }
    const prompt = promptOf(answer);
    const added = prompt ? askedAfter(before.get(purpose), prompt) : null;
    if (prompt) before.set(purpose, prompt);
    const { parts, stop, usage } = answer;
    return { seq, at, purpose, model, prompt: added, reply: { parts, stop }, usage };
  });
}

/** Describes a prompt. If it extends the previous prompt of the same purpose, only the new turns are listed. */
function askedAfter(before: Prompt | undefined, prompt: Prompt) {
  const opening = openingTexts(prompt);
  const tools = prompt.tools.map(({ name }) => name);
  const known = before?.turns.length ?? 0;
  const continues =
    before !== undefined &&
    deepEqual(openingTexts(before), opening) &&
    prompt.turns.length >= known &&
    deepEqual(before.turns, prompt.turns.slice(0, known));
  const turns = continues ? prompt.turns.slice(known) : prompt.turns;
  return { continues, opening: continues ? [] : opening, turns, tools };
}

function describeVisit(visit: Visit, asks: readonly Ask[]) {
  const { iteration, startedAt, endedAt, result, retries, remarks, route } = visit;
  const { unpriced, uncounted: _, ...usage } = usageOf([visit]);
  return {
    visit: iteration,
    status: statusOf(visit),
    startedAt,
    endedAt,
    durationMs: durationOf(visit),
    usage: { ...usage, costUsd: costOf({ ...usage, unpriced }) },
    asks,
    calls: visit.calls.map(describeCall),
    ...defined("data", result?.data),
    evals: result?.evals ?? [],
    ...defined("evidence", result?.evidence),
    retries: retries.map(({ attempt, reason, preamble }) => ({ attempt, reason, preamble })),
    remarks,
    ...defined("inner", visit.inner.length > 0 ? visit.inner.map((run) => describeInner(visit, run)) : undefined),
    ...defined("left", visit.left > 0 ? visit.left : undefined),
    ...defined("approval", approvalOf(visit)),
    ...defined("route", route && { to: route.to, reason: route.reason }),
  };
}

/** Describes an inner run. Its place is the prefix of its nodes' paths, such as `each[fp-81]`. */
function describeInner({ at, node }: Visit, run: InnerRun) {
  return {
    place: placeOf(at, node, run.key),
    status: itemWord(run),
    ...defined("verdict", run.verdict),
    ...defined("complaint", run.complaint || undefined),
    nodes: [...new Set(run.visits.map((visit) => visit.node))],
  };
}

function approvalOf({ asked, word }: Visit) {
  if (!asked) return undefined;
  const { approved = null, by = null, note = null, time: at = null } = word ?? {};
  return { ask: asked.ask, approved, by, note, at };
}

/** Describes a tool call. The duration is null while there is no result. */
function describeCall(call: VisitCall) {
  const { seq, ref, tool, input, outcome, planned, startedAt, endedAt } = call;
  const durationMs = endedAt === undefined ? null : durationOf({ startedAt, endedAt });
  const told: { readonly output?: Json; readonly error?: string } = outcome ?? {};
  return { seq, ref, tool, input, ...told, ...defined("planned", planned), durationMs };
}
