import { fold } from "../../core/engine/fold.ts";
import { begin, type State } from "../../core/engine/state.ts";
import type { EventOf, RunEvent } from "../../core/event/event.ts";
import type { RunRecord } from "../../core/event/record.ts";
import type { CallUsage } from "../../core/event/reply.ts";
import { documentOf } from "../../core/inner/place.ts";
import { parseModel } from "../../core/model-name.ts";
import { READ_SKILL, RUN_SCRIPT } from "../../core/own/own-tools.ts";
import type { StoredRun } from "../../core/ports.ts";
import type { Part } from "../../core/prompt.ts";
import { recordedPrompts } from "../../core/record/recorded-prompts.ts";
import { describeResult } from "../../core/record/result.ts";
import { defined, isObject, type Json } from "../../core/values.ts";
import { inputContent, outputContent } from "./messages.ts";

/**
 * A run as spans, by the GenAI semantic conventions: `invoke_workflow`, in it an `invoke_agent` for each visit, in that a
 * `chat` for each answer of a model and an `execute_tool` for each call. A run that was resumed has an `invoke_workflow`
 * for each time that it ended. All is told from the events, so that an old run gives what it gave when it ended.
 */

export interface Span {
  /** The key of the step that it is of: unique in the run. */
  readonly key: string;
  readonly parent: string | undefined;
  readonly name: string;
  readonly kind: "internal" | "client";
  readonly startedAt: string;
  readonly endedAt: string;
  readonly attributes: Attributes;
  readonly events: readonly SpanEvent[];
  readonly error: { readonly type: string; readonly message?: string } | undefined;
  /** How many times the run had been resumed after an end. */
  readonly part: number;
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | Whole>>;

/** Told as an integer, whatever its value. */
export interface Whole {
  readonly int: number;
}

interface SpanEvent {
  readonly name: string;
  readonly time: string;
  readonly attributes: Attributes;
}

interface Telling extends StoredRun {
  /** Whether prompts, answers, arguments and results are told. */
  readonly content: boolean;
}

/** Parents first. */
export function spansOf(telling: Telling): Span[] {
  const walk = startWalk(telling);
  for (const event of telling.events) {
    take(walk, event);
    walk.state = fold(walk.state, event);
  }
  finishPart(walk);
  return walk.spans;
}

type Draft = { -readonly [Key in keyof Span]: Span[Key] } & { events: SpanEvent[] };

interface Walk {
  readonly record: RunRecord;
  readonly content: boolean;
  readonly promptOf: ReturnType<typeof recordedPrompts>;
  readonly spans: Draft[];
  readonly skillOf: ReadonlyMap<string, string>;
  readonly planned: Map<string, EventOf<"operation:planned">["operation"]>;
  state: State;
  part: number;
  root: Draft | undefined;
  /** The latest of the run, and of each inner run by its place. */
  readonly visits: Map<string | undefined, Draft & { readonly node: string }>;
  /** Of each node, by its place, the key of its last visit. */
  readonly visitKeys: Map<string, string>;
  readonly open: Map<string, Draft>;
  costUsd: number | undefined;
  last: { readonly time: string; readonly epoch: number };
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
    costUsd: 0,
    last: { time: record.at, epoch: events[0]?.epoch ?? 0 },
  };
}

function take(walk: Walk, event: RunEvent): void {
  switch (event.type) {
    case "workflow:start":
      openPart(walk, event.key, event.time);
      break;
    case "run:resume":
    case "approval:given":
      finishPart(walk);
      walk.part += 1;
      openPart(walk, event.key, event.time);
      break;
    case "node:enter":
      walk.visitKeys.set(pathOf(event), event.key);
      openVisit(walk, event, event.key, { "skillflow.visit": { int: event.iteration } });
      break;
    case "model:reply":
    case "model:error":
      takeAnswer(walk, event);
      break;
    case "tool:call":
      walk.open.set(event.id, openCall(walk, event));
      break;
    case "tool:result":
      takeResult(walk, event);
      break;
    case "node:retry":
      visitAt(walk, event).events.push(
        eventOf(event, "skillflow.retry", { "skillflow.attempt": { int: event.attempt } }),
      );
      break;
    case "limit:reached":
      (walk.visits.get(event.at) ?? walk.root)?.events.push(
        eventOf(event, "skillflow.limit", { "skillflow.limit": event.limit }),
      );
      break;
    case "node:exit":
      takeExit(walk, event);
      break;
    case "operation:planned":
      walk.planned.set(event.operation.id, event.operation);
      break;
    case "operation:begun":
    case "operation:ended":
      takeApplied(walk, event);
      break;
    case "workflow:end":
      takeEnd(walk, event);
      break;
  }
  extend(walk, event);
  walk.last = event;
}

/** What stands before the end lies in its parents' time. */
function extend({ root, visits }: Walk, event: RunEvent): void {
  if (!root || isApplying(event)) return;
  root.endedAt = later(root.endedAt, event.time);
  const node = event.type === "route" ? event.from : "node" in event ? event.node : undefined;
  const visit = visits.get(event.at);
  if (visit && node === visit.node) visit.endedAt = later(visit.endedAt, event.time);
  for (let { at } = event; at !== undefined; at = outerOf(at)) {
    const outer = visits.get(outerOf(at));
    if (outer) outer.endedAt = later(outer.endedAt, event.time);
  }
}

function later(a: string, b: string): string {
  return Date.parse(b) > Date.parse(a) ? b : a;
}

function isApplying({ type }: RunEvent): boolean {
  return type === "operation:begun" || type === "operation:ended" || type === "operation:resolved";
}

function push<Kind extends Draft>(walk: Walk, span: Kind): Kind {
  walk.spans.push(span);
  return span;
}

function openPart(walk: Walk, key: string, time: string): void {
  const { record, part } = walk;
  const { id, name } = record.workflow;
  walk.root = push(walk, {
    key,
    parent: undefined,
    name: `invoke_workflow ${name}`,
    kind: "internal",
    startedAt: time,
    endedAt: time,
    attributes: {
      "gen_ai.operation.name": "invoke_workflow",
      "gen_ai.workflow.name": name,
      "gen_ai.conversation.id": record.run,
      "skillflow.run": record.run,
      "skillflow.workflow": id,
      "skillflow.kind": record.kind,
    },
    events: [],
    error: undefined,
    part,
  });
  walk.costUsd = 0;
}

function finishPart(walk: Walk): void {
  const { root, record, spans, part, costUsd } = walk;
  for (const call of walk.open.values()) {
    call.endedAt = later(call.endedAt, walk.root?.endedAt ?? call.endedAt);
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
    ...defined("skillflow.cost_usd", costUsd === undefined ? undefined : rounded(costUsd)),
  };
  walk.root = undefined;
}

function rounded(usd: number): number {
  return Math.round(usd * 1e6) / 1e6;
}

/** Where something happened: a node, of the run or of an inner one. */
type Place = Pick<RunEvent, "at"> & { readonly node: string; readonly time: string };

function pathOf({ at, node }: Pick<Place, "at" | "node">): string {
  return at === undefined ? node : `${at}/${node}`;
}

/** The place that an inner run is inside of; undefined for the run itself. */
function outerOf(at: string): string | undefined {
  const end = at.lastIndexOf("/");
  return end === -1 ? undefined : at.slice(0, end);
}

function nameOf({ workflow, inner = {} }: RunRecord, { at, node }: Pick<Place, "at" | "node">): string {
  const document = at === undefined ? workflow : inner[documentOf(at)]?.workflow;
  return document?.nodes[node]?.name ?? node;
}

function openVisit(walk: Walk, place: Place, key: string, attributes: Attributes = {}): Draft {
  const { record, root, part, visits } = walk;
  const { at, node, time } = place;
  const name = nameOf(record, place);
  const outer = at === undefined ? undefined : visits.get(outerOf(at));
  const visit = push(walk, {
    key,
    node,
    parent: outer?.key ?? root?.key,
    name: `invoke_agent ${name}`,
    kind: "internal",
    startedAt: time,
    endedAt: time,
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": name,
      "gen_ai.conversation.id": record.run,
      "skillflow.run": record.run,
      "skillflow.node": node,
      ...defined("skillflow.at", at),
      ...attributes,
    },
    events: [],
    error: undefined,
    part,
  });
  visits.set(at, visit);
  return visit;
}

/** The visit that an event is of: a run that was taken up inside one goes on with a span of its own, and so do those around it. */
function visitAt(walk: Walk, place: Place): Draft {
  const { at, node } = place;
  const open = walk.visits.get(at);
  if (open?.node === node) return open;
  if (at !== undefined) openAround(walk, at, place.time);
  return openVisit(walk, place, `${walk.visitKeys.get(pathOf(place)) ?? node}~${walk.part}`);
}

function openAround(walk: Walk, at: string, time: string): void {
  const outer = outerOf(at);
  const node = documentOf(at).split("/").at(-1) ?? "";
  visitAt(walk, { node, time, ...defined("at", outer) });
}

function takeAnswer(walk: Walk, event: RunEvent & (EventOf<"model:reply"> | EventOf<"model:error">)): void {
  const { record, content } = walk;
  const { key, node, purpose, model, time, epoch } = event;
  const parent = visitAt(walk, event).key;
  const { name } = parseModel(model);
  const usage = event.type === "model:reply" ? event.usage : null;
  if (event.type === "model:reply") addCost(walk, usage);
  const asked = content && event.type === "model:reply" ? walk.promptOf(event) : undefined;
  push(walk, {
    key,
    parent,
    name: `chat ${name}`,
    kind: "client",
    // Asked when what stands before it was known.
    startedAt: walk.last.epoch === epoch ? walk.last.time : time,
    endedAt: time,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": providerOf(model, record),
      "gen_ai.request.model": name,
      "gen_ai.conversation.id": record.run,
      "gen_ai.agent.name": nameOf(record, event),
      "skillflow.run": record.run,
      "skillflow.node": node,
      ...defined("skillflow.at", event.at),
      "skillflow.purpose": purpose,
      ...usageOf(usage),
      ...(event.type === "model:reply" ? { "gen_ai.response.finish_reasons": [finishReason(event)] } : {}),
      ...(asked ? inputContent(asked) : {}),
      ...(content && event.type === "model:reply" ? outputContent(event.parts, finishReason(event)) : {}),
    },
    events: [],
    error: event.type === "model:error" ? errorOf(event.code, content ? event.message : undefined) : undefined,
    part: walk.part,
  });
}

function errorOf(type: string, message: string | undefined): Span["error"] {
  return { type, ...defined("message", message) };
}

function addCost(walk: Walk, usage: CallUsage | null): void {
  const cost = usage?.costUsd ?? undefined;
  walk.costUsd = walk.costUsd === undefined || cost === undefined ? undefined : walk.costUsd + cost;
}

function usageOf(usage: CallUsage | null): Attributes {
  if (!usage) return {};
  const { inputTokens, cachedTokens, outputTokens, costUsd } = usage;
  return {
    "gen_ai.usage.input_tokens": { int: inputTokens },
    "gen_ai.usage.output_tokens": { int: outputTokens },
    "gen_ai.usage.cache_read.input_tokens": { int: cachedTokens },
    ...(costUsd === null ? {} : { "skillflow.cost_usd": costUsd }),
  };
}

/** A name without a provider is the default model's provider's. */
function providerOf(model: string, { settings }: RunRecord): string {
  return parseModel(model).provider ?? settings.model.split(":")[0] ?? "";
}

function finishReason({ stop, parts }: { readonly stop: string; readonly parts: readonly Part[] }): string {
  if (stop === "length") return "length";
  if (stop === "refusal") return "content_filter";
  return parts.some(({ type }) => type === "call" || type === "broken_call") ? "tool_call" : "stop";
}

interface Made {
  readonly at?: string | undefined;
  readonly node: string;
  readonly tool: string;
  readonly id: string;
  readonly time: string;
  readonly input?: Json;
}

function openCall(walk: Walk, { node, tool, id, time, input, at }: Made): Draft {
  const { record, content, skillOf, part } = walk;
  const place = { node, time, ...defined("at", at) };
  const parent = visitAt(walk, place).key;
  const skill = skillOf.get(tool);
  const loaded = input === undefined ? undefined : loadedSkill(record, tool, input);
  const about = [loaded?.["gen_ai.skill.name"], loaded?.["gen_ai.skill.resource.name"]].filter(
    (each) => each !== undefined,
  );
  return push(walk, {
    key: id,
    parent,
    name: ["execute_tool", tool, ...about].join(" "),
    kind: "internal",
    startedAt: time,
    endedAt: time,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": id,
      "gen_ai.conversation.id": record.run,
      "gen_ai.agent.name": nameOf(record, place),
      "skillflow.run": record.run,
      "skillflow.node": node,
      ...defined("skillflow.at", at),
      ...defined("skillflow.skill", skill),
      ...loaded,
      ...(content && input !== undefined ? { "gen_ai.tool.call.arguments": JSON.stringify(input) } : {}),
    },
    events: [],
    error: undefined,
    part,
  });
}

/** Of a call that reads a skill's instruction or one of its files, or runs one of its scripts: what there is of that name. */
function loadedSkill({ skills }: RunRecord, tool: string, input: Json): Record<string, string> | undefined {
  if ((tool !== READ_SKILL && tool !== RUN_SCRIPT) || !isObject(input)) return undefined;
  const skill = skills.find(({ id }) => id === input.skill_name);
  const file = skill?.files?.find((name) => name === input.path);
  return { ...defined("gen_ai.skill.name", skill?.id), ...defined("gen_ai.skill.resource.name", file) };
}

function takeResult(walk: Walk, event: RunEvent & EventOf<"tool:result">): void {
  const { id, time, error, code, output, planned, ref } = event;
  const call = walk.open.get(id) ?? openCall(walk, event);
  walk.open.delete(id);
  call.endedAt = later(call.startedAt, time);
  call.attributes = {
    ...call.attributes,
    ...defined("skillflow.ref", ref),
    ...(planned ? { "skillflow.planned": true } : {}),
    ...(walk.content && output !== undefined ? { "gen_ai.tool.call.result": JSON.stringify(output) } : {}),
  };
  if (error !== undefined) call.error = errorOf(code ?? "tool.failed", walk.content ? error : undefined);
  if (code !== "tool.unknown" || walk.content) return;
  // A name that a model made up is as much its text as an answer is.
  call.name = "execute_tool unknown";
  call.attributes = { ...call.attributes, "gen_ai.tool.name": "unknown" };
}

function takeExit(walk: Walk, event: RunEvent & EventOf<"node:exit">): void {
  const visit = visitAt(walk, event);
  const { result, time } = event;
  visit.attributes = { ...visit.attributes, "skillflow.status": event.unfinished ? "unfinished" : result.status };
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
    visit.error = errorOf("node.failed", walk.content ? String(result.data.error ?? "failed") : undefined);
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
  if (error) root.error = errorOf(error.code, content ? error.message : undefined);
}

/** What is applied later is told as a call of its own, after the run's end. */
function takeApplied(walk: Walk, event: RunEvent & (EventOf<"operation:begun"> | EventOf<"operation:ended">)): void {
  const operation = walk.planned.get(event.operation);
  if (!operation) return;
  if (event.type === "operation:begun") {
    const id = `${event.key}/${event.operation}`;
    const tool = `${operation.skill}_${operation.tool}`;
    const span = openApplied(walk, { id, tool, node: operation.node, time: event.time });
    walk.open.set(`operation ${event.operation}`, span);
    return;
  }
  const span = walk.open.get(`operation ${event.operation}`);
  if (!span) return;
  walk.open.delete(`operation ${event.operation}`);
  span.endedAt = later(span.startedAt, event.time);
  if (event.error !== undefined) {
    span.error = errorOf(event.code ?? "tool.failed", walk.content ? event.error : undefined);
  }
}

function openApplied(walk: Walk, { id, tool, node, time }: Made): Draft {
  const { record, root, part } = walk;
  return push(walk, {
    key: id,
    parent: root?.key,
    name: `execute_tool ${tool}`,
    kind: "internal",
    startedAt: time,
    endedAt: time,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.type": "function",
      "gen_ai.conversation.id": record.run,
      "skillflow.run": record.run,
      "skillflow.node": node,
      "skillflow.applied": true,
    },
    events: [],
    error: undefined,
    part,
  });
}

function eventOf({ time }: RunEvent, name: string, attributes: Attributes): SpanEvent {
  return { name, time, attributes };
}
