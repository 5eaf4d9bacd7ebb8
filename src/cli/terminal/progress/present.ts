import { reasonIn } from "../../../core/engine/decide/route.ts";
import type { EventOf, RunEvent } from "../../../core/engine/event/event.ts";

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
  /** Key of the map item. */
  readonly key: string | undefined;
  /** Current node. Empty before the first one. */
  node: string;
  turns: number;
  calls: number;
  /** Asking, calling tools, judging, routing or waiting. */
  doing: string;
  /** Calls in progress, with their tools. */
  readonly open: Map<string, string>;
  since: number;
  /** The model's reason for the route that follows. */
  why: string | undefined;
  /** Progress of the current map. */
  items: Items | undefined;
}

export interface Items {
  readonly total: number;
  over: number;
  running: number;
  failed: number;
}

export const ASKING = "asking";
export const WAITING = "waiting";

export function freshPresent(now: number): Present {
  const scopes = new Map([["", freshScope(undefined, undefined, now)]]);
  return { scopes, tokens: 0, costUsd: 0, characters: 0 };
}

function freshScope(parent: string | undefined, key: string | undefined, since: number): Scope {
  return {
    parent,
    key,
    node: "",
    turns: 0,
    calls: 0,
    doing: ASKING,
    open: new Map(),
    since,
    why: undefined,
    items: undefined,
  };
}

/** Returns the scope of an event. A resumed run may continue in a scope that started earlier. */
export function scopeOf({ scopes }: Present, at: string | undefined, now: number): Scope {
  const place = at ?? "";
  const known = scopes.get(place) ?? freshScope("", undefined, now);
  scopes.set(place, known);
  return known;
}

export function note(present: Present, event: RunEvent, now: number): void {
  present.characters = 0;
  const scope = scopeOf(present, event.at, now);
  switch (event.type) {
    case "node:enter":
      Object.assign(scope, freshScope(scope.parent, scope.key, now), { node: event.node });
      break;
    case "model:reply":
      if (event.purpose === "work") scope.turns += 1;
      if (event.purpose === "route") scope.why = reasonIn(event.parts);
      if (event.purpose !== "route") scope.doing = event.purpose === "reflect" ? ASKING : "judging";
      present.tokens += (event.usage?.inputTokens ?? 0) + (event.usage?.outputTokens ?? 0);
      present.costUsd = addCost(present.costUsd, event.usage?.costUsd);
      break;
    case "tool:call":
      scope.calls += 1;
      scope.open.set(event.id, event.tool);
      scope.doing = callsOf(scope);
      break;
    case "tool:result":
      scope.open.delete(event.id);
      scope.doing = scope.open.size > 0 ? callsOf(scope) : ASKING;
      break;
    case "reply:rejected":
    case "node:retry":
      scope.doing = ASKING;
      break;
    case "approval:asked":
      scope.doing = "waiting for approval";
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
      scope.doing = "routing";
      break;
    default:
      break;
  }
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

function addCost(sum: number | null, cost: number | null | undefined): number | null {
  return sum === null || cost === null || cost === undefined ? null : sum + cost;
}
