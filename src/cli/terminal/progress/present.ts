import { sumCosts } from "../../../core/base/preview.ts";
import type { WorkflowNode } from "../../../core/document/workflow/node.ts";
import { reasonIn } from "../../../core/engine/decide/route.ts";
import type { EventOf, RunEvent } from "../../../core/engine/event/event.ts";
import { nodeAt, type RunRecord, workflowAt } from "../../../core/engine/event/record.ts";

/** Current activity of a run and its inner runs, folded from their events. */
export interface Present {
  /** Scopes by place. The run itself is at the empty place. */
  readonly scopes: Map<string, Scope>;
  tokens: number;
  /** null if a price is unknown. */
  costUsd: number | null;
  /** Length of the arriving answer. */
  characters: number;
}

export interface Scope {
  /** Place of the enclosing run. Undefined for the run itself. */
  readonly parent: string | undefined;
  readonly key: string | undefined;
  /** Current node. Empty before the first one. */
  node: string;
  turns: number;
  calls: number;
  /** Asking, calling tools, checking, judging, routing or waiting. */
  doing: string;
  /** Calls in progress, with their tools. */
  readonly open: Map<string, string>;
  since: number;
  /** The model's reason for the route that follows. */
  why?: string | undefined;
  items?: Items;
}

export interface Items {
  readonly total: number;
  over: number;
  running: number;
  failed: number;
}

export const ASKING = "asking";
export const WAITING = "waiting";
const APPROVAL = "waiting for approval";
const STEPS = "running steps";

export function freshPresent(now: number): Present {
  const scopes = new Map([["", freshScope(undefined, undefined, now)]]);
  return { scopes, tokens: 0, costUsd: 0, characters: 0 };
}

function freshScope(parent: string | undefined, key: string | undefined, since: number): Scope {
  return { parent, key, node: "", turns: 0, calls: 0, doing: ASKING, open: new Map(), since };
}

/** Returns the scope of an event. A resumed run may continue in a scope that started earlier. */
export function scopeOf({ scopes }: Present, at: string | undefined, now: number): Scope {
  const place = at ?? "";
  const known = scopes.get(place) ?? freshScope("", undefined, now);
  scopes.set(place, known);
  return known;
}

/** Takes over the events of an earlier process. Its last node continues now. */
export function noteEarlier(present: Present, events: readonly RunEvent[], now: number, record: RunRecord): void {
  for (const event of events) note(present, event, now, record);
  for (const [place, scope] of present.scopes) {
    scope.open.clear();
    if (scope.doing !== APPROVAL) scope.doing = idleAt(nodeAt(record, place || undefined, scope.node));
  }
}

function idleAt(node: WorkflowNode | undefined): string {
  return node?.steps ? STEPS : ASKING;
}

export function note(present: Present, event: RunEvent, now: number, record: RunRecord): void {
  present.characters = 0;
  const scope = scopeOf(present, event.at, now);
  const node = "node" in event && event.node !== undefined ? nodeAt(record, event.at, event.node) : undefined;
  const idle = idleAt(node);
  switch (event.type) {
    case "node:enter":
      Object.assign(scope, { why: undefined, items: undefined }, freshScope(scope.parent, scope.key, now));
      Object.assign(scope, { node: event.node, doing: idle });
      break;
    case "model:reply":
      if (event.purpose === "work") scope.turns += 1;
      if (event.purpose === "route") scope.why = reasonIn(event.parts);
      if (event.purpose === "reflect") scope.doing = ASKING;
      if (event.purpose === "work") scope.doing = checkOf(event, node?.eval) ?? scope.doing;
      present.tokens += (event.usage?.inputTokens ?? 0) + (event.usage?.outputTokens ?? 0);
      present.costUsd = sumCosts([present.costUsd, event.usage?.costUsd ?? null]);
      break;
    case "tool:call":
      scope.calls += 1;
      scope.open.set(event.id, event.tool);
      scope.doing = callsOf(scope);
      break;
    case "tool:result":
      scope.open.delete(event.id);
      scope.doing = scope.open.size > 0 ? callsOf(scope) : idle;
      break;
    case "reply:rejected":
    case "node:retry":
      scope.doing = ASKING;
      break;
    case "approval:asked":
      scope.doing = APPROVAL;
      break;
    case "map:start":
      scope.items = itemsOf(event);
      break;
    case "inner:start":
      present.scopes.set(event.inner, freshScope(event.at ?? "", event.item, now));
      if (scope.items) scope.items.running += 1;
      break;
    case "inner:end":
      endItem(scope, event, present.scopes.delete(event.inner));
      break;
    case "node:exit":
      scope.doing = isJudged(record, event) ? "routing" : "finishing";
      break;
    default:
      break;
  }
}

/** Returns the check that follows an answer. Undefined if none does, or if the model called tools. */
function checkOf({ parts }: EventOf<"model:reply">, checks: WorkflowNode["eval"] = []): string | undefined {
  if (checks.length === 0 || parts.some(({ type }) => type === "call")) return undefined;
  return checks.some(({ kind }) => kind === "judge") ? "judging" : "checking";
}

/** Checks whether the model may be asked which edge to take. */
function isJudged(record: RunRecord, { at, node }: EventOf<"node:exit"> & RunEvent): boolean {
  return workflowAt(record, at)?.edges.some(({ from, when }) => from === node && when !== undefined) ?? false;
}

function itemsOf({ items }: EventOf<"map:start">): Items {
  const failed = items.filter(({ error }) => error !== undefined).length;
  const skipped = items.filter((item) => item.skipped_reason !== undefined).length;
  return { total: items.length, over: failed + skipped, running: 0, failed };
}

function endItem({ items }: Scope, { status }: EventOf<"inner:end">, wasRunning: boolean): void {
  if (!items) return;
  items.over += 1;
  if (wasRunning) items.running -= 1;
  if (status === "failed") items.failed += 1;
}

function callsOf({ open }: Scope): string {
  return `calling ${[...open.values()].join(", ")}`;
}
