import { defined } from "../../core/base/values.ts";
import { nodePath } from "../../core/document/inner/place.ts";
import type { Envelope, EventOf, RunEvent } from "../../core/engine/event/event.ts";
import { fold } from "../../core/engine/fold/fold.ts";
import { begin, UsageTotals } from "../../core/engine/fold/state.ts";
import type { StoredRun } from "../../core/engine/ports.ts";
import { recordedPrompts } from "../../core/engine/record/recorded-prompts.ts";
import { costOf, describeResult } from "../../core/engine/result/result.ts";
import { openCall, takeApplied, takeResult } from "./calls.ts";
import { takeAnswer } from "./chat.ts";
import { errorOf, later, openSpan, openVisit, outerOf, type Span, visitAt, type Walk } from "./walk.ts";

type Telling = StoredRun & Pick<Walk, "content">;

/** Returns the spans of a run, parents first. */
export function spansOf(telling: Telling): Span[] {
  const walk = startWalk(telling);
  for (const event of telling.events) {
    takeEvent(walk, event);
    extend(walk, event);
    walk.last = event;
    walk.state = fold(walk.state, event);
  }
  finishPart(walk);
  return walk.spans;
}

function startWalk({ record, events, content }: Telling): Walk {
  const tools = record.skills.flatMap(({ tools }) => tools);
  return {
    record,
    content,
    promptOf: recordedPrompts({ record, events }),
    spans: [],
    skillOf: new Map(tools.map(({ exposed, skill }) => [exposed, skill])),
    planned: new Map(),
    state: begin(record),
    part: 0,
    root: undefined,
    visits: new Map(),
    visitKeys: new Map(),
    open: new Map(),
    items: new Map(),
    usage: new UsageTotals(),
    last: { time: record.at, epoch: events[0]?.epoch ?? 0 },
  };
}

type Types = RunEvent["type"];
type Takers = { readonly [Type in Types]?: (walk: Walk, event: Envelope & EventOf<Type>) => void };

function takeEvent<Type extends Types>(walk: Walk, event: Envelope & EventOf<Type>): void {
  TAKERS[event.type]?.(walk, event);
}

const TAKERS: Takers = {
  "workflow:start": openPart,
  "run:resume": resumePart,
  "approval:given": resumePart,
  "node:enter"(walk, event) {
    walk.visitKeys.set(nodePath(event.at, event.node), event.key);
    openVisit(walk, event, event.key, { "skillflow.visit": { int: event.iteration } });
  },
  "model:reply": takeAnswer,
  "model:error": takeAnswer,
  "model:switch": (walk, event) =>
    takeAnswer(walk, { ...event, type: "model:error", model: event.from, message: event.reason }),
  "tool:call": (walk, event) => walk.open.set(event.id, openCall(walk, event)),
  "tool:result": takeResult,
  "node:retry"(walk, event) {
    const attributes = { "skillflow.attempt": { int: event.attempt } };
    visitAt(walk, event).events.push({ name: "skillflow.retry", time: event.time, attributes });
  },
  "limit:reached"({ visits, root }, { at, time, limit }) {
    const span = visits.get(at) ?? root;
    span?.events.push({ name: "skillflow.limit", time, attributes: { "skillflow.limit": limit } });
  },
  "node:exit": takeExit,
  "operation:planned": ({ planned }, { operation }) => planned.set(operation.id, operation),
  "operation:begun": takeApplied,
  "operation:ended": takeApplied,
  "workflow:end": takeEnd,
};

/** Extends the open spans to include an event, so that children are within their parents' time. */
function extend({ root, visits }: Walk, event: RunEvent): void {
  const isApplying = ["operation:begun", "operation:ended", "operation:resolved"].includes(event.type);
  if (!root || isApplying) return;
  root.endedAt = later(root.endedAt, event.time);
  const node = event.type === "route" ? event.from : "node" in event ? event.node : undefined;
  const visit = visits.get(event.at);
  if (visit && node === visit.node) visit.endedAt = later(visit.endedAt, event.time);
  for (let { at } = event; at !== undefined; at = outerOf(at)) {
    const outer = visits.get(outerOf(at));
    if (outer) outer.endedAt = later(outer.endedAt, event.time);
  }
}

function resumePart(walk: Walk, event: RunEvent): void {
  finishPart(walk);
  walk.part += 1;
  openPart(walk, event);
}

function openPart(walk: Walk, { key, time }: RunEvent): void {
  const { record } = walk;
  const { id, name } = record.workflow;
  walk.root = openSpan(walk, {
    key,
    parent: undefined,
    name: `invoke_workflow ${name}`,
    time,
    attributes: {
      "gen_ai.operation.name": "invoke_workflow",
      "gen_ai.workflow.name": name,
      "gen_ai.conversation.id": record.run,
      "skillflow.run": record.run,
      "skillflow.workflow": id,
      "skillflow.kind": record.kind,
    },
  });
  walk.usage = new UsageTotals();
}

function finishPart(walk: Walk): void {
  const { root, record, spans, part, usage } = walk;
  for (const call of walk.open.values()) {
    call.endedAt = later(call.endedAt, root?.endedAt ?? call.endedAt);
    call.error = { type: "run.interrupted" };
  }
  walk.open.clear();
  walk.visits.clear();
  if (!root) return;
  const degraded = new Set(describeResult(record, walk.state).degraded.map(({ node }) => node));
  for (const span of spans) {
    if (span.part !== part || span.attributes["gen_ai.operation.name"] !== "invoke_agent") continue;
    const isOuter = span.attributes["skillflow.at"] === undefined;
    const isDegraded = isOuter && degraded.has(String(span.attributes["skillflow.node"]));
    span.attributes = { ...span.attributes, "skillflow.degraded": isDegraded };
  }
  root.attributes = {
    ...root.attributes,
    "skillflow.status": root.attributes["skillflow.status"] ?? "interrupted",
    "skillflow.degraded": degraded.size > 0,
    ...defined("skillflow.cost_usd", costOf(usage) ?? undefined),
  };
  walk.root = undefined;
}

function takeExit(walk: Walk, event: RunEvent & EventOf<"node:exit">): void {
  const visit = visitAt(walk, event);
  const { result, time, unfinished, stopped } = event;
  // A node of steps that failed has ended, although a resume continues inside it.
  const hasEnded = !unfinished || (!stopped && result.toolCalls.some(({ step }) => step !== undefined));
  visit.attributes = { ...visit.attributes, "skillflow.status": hasEnded ? result.status : "unfinished" };
  for (const { name, pass, score, reasoning } of result.evals ?? []) {
    const attributes = {
      "gen_ai.evaluation.name": name,
      "gen_ai.evaluation.score.label": pass ? "pass" : "fail",
      ...defined("gen_ai.evaluation.score.value", score),
      ...(walk.content ? defined("gen_ai.evaluation.explanation", reasoning) : {}),
    };
    visit.events.push({ name: "gen_ai.evaluation.result", time, attributes });
  }
  if (result.status === "failed") {
    visit.error = errorOf(walk, "node.failed", String(result.data.error ?? "failed"));
  }
}

function takeEnd(walk: Walk, event: RunEvent & EventOf<"workflow:end">): void {
  const { root, content } = walk;
  if (!root) return;
  const { status, error, verdict } = event;
  root.attributes = {
    ...root.attributes,
    "skillflow.status": status,
    ...(content ? defined("skillflow.verdict", verdict) : {}),
  };
  if (error && status !== "waiting") root.error = errorOf(walk, error.code, error.message);
}
