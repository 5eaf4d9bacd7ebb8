import { defined } from "../../core/base/values.ts";
import { documentOf, nodePath } from "../../core/document/inner/place.ts";
import type { EventOf, RunEvent } from "../../core/engine/event/event.ts";
import { nameOfNode, type RunRecord } from "../../core/engine/event/record.ts";
import type { State, UsageTotals } from "../../core/engine/fold/state.ts";
import type { recordedPrompts } from "../../core/engine/record/recorded-prompts.ts";

/**
 * Span of a run, according to the GenAI semantic conventions. A run is an `invoke_workflow` span with an `invoke_agent`
 * for each visit, which has a `chat` for each model reply and an `execute_tool` for each call. Each resume starts a new
 * `invoke_workflow`. Spans depend only on events, so a later export gives the same ones.
 */

export interface Span {
  /** Key of its step, unique in the run. */
  readonly key: string;
  readonly parent: string | undefined;
  readonly name: string;
  kind: "internal" | "client";
  startedAt: string;
  endedAt: string;
  attributes: Attributes;
  readonly events: { readonly name: string; readonly time: string; readonly attributes: Attributes }[];
  error: { readonly type: string; readonly message?: string } | undefined;
  /** Number of times the run had been resumed after an end. */
  readonly part: number;
}

export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | Whole>>;

/** Number that is exported as an integer. */
export interface Whole {
  readonly int: number;
}

export interface Walk {
  readonly record: RunRecord;
  /** Includes prompts, replies, tool arguments and results. */
  readonly content: boolean;
  readonly promptOf: ReturnType<typeof recordedPrompts>;
  readonly spans: Span[];
  readonly skillOf: ReadonlyMap<string, string>;
  readonly planned: Map<string, EventOf<"operation:planned">["operation"]>;
  state: State;
  part: number;
  root: Span | undefined;
  /** Latest visit of the run, and of each inner run by path. */
  readonly visits: Map<string | undefined, Span & { readonly node: string }>;
  /** Key of each node's last visit, by the node's path. */
  readonly visitKeys: Map<string, string>;
  readonly open: Map<string, Span>;
  /** Numbers of item keys, in the order of their first use. */
  readonly items: Map<string, number>;
  usage: UsageTotals;
  last: { readonly time: string; readonly epoch: number };
}

export function later(a: string, b: string): string {
  return Date.parse(b) > Date.parse(a) ? b : a;
}

type Opening = Pick<Span, "key" | "parent" | "name" | "attributes"> & { readonly time: string };

/** Opens an internal span, initially with no duration. */
export function openSpan(walk: Walk, { time, key, ...said }: Opening): Span {
  const fresh = { kind: "internal", startedAt: time, endedAt: time, error: undefined } as const;
  // A span's id is made of its key.
  const span: Span = { ...said, ...fresh, key: withoutKeys(walk, key), events: [], part: walk.part };
  walk.spans.push(span);
  return span;
}

/** Node of the run or of an inner run, and a time. */
type Place = Pick<RunEvent, "at"> & { readonly node: string; readonly time: string };

/** Returns the path of the enclosing inner run. Undefined for the run itself. */
export function outerOf(at: string): string | undefined {
  const end = at.lastIndexOf("/");
  return end === -1 ? undefined : at.slice(0, end);
}

export function placeAttributes(walk: Walk, { at, node }: Pick<Place, "at" | "node">): Attributes {
  const { record } = walk;
  return {
    "gen_ai.conversation.id": record.run,
    "gen_ai.agent.name": nameOfNode(record, at, node),
    "skillflow.run": record.run,
    "skillflow.node": node,
    ...defined("skillflow.at", at === undefined ? undefined : withoutKeys(walk, at)),
  };
}

/** Replaces the keys of map items in a path or an id by numbers unless content is exported, because they are content. */
export function withoutKeys({ content, items }: Walk, path: string): string {
  if (content) return path;
  return path.replace(/\[[^\]]*(?:\]|$)/g, (key) => {
    const number = items.get(key) ?? items.size;
    items.set(key, number);
    return `[${number}]`;
  });
}

export function openVisit(walk: Walk, place: Place, key: string, attributes: Attributes = {}): Span {
  const { record, root, visits } = walk;
  const { at, node, time } = place;
  const name = nameOfNode(record, at, node);
  const outer = at === undefined ? undefined : visits.get(outerOf(at));
  const span = openSpan(walk, {
    key,
    parent: outer?.key ?? root?.key,
    name: `invoke_agent ${name}`,
    time,
    attributes: { "gen_ai.operation.name": "invoke_agent", ...placeAttributes(walk, place), ...attributes },
  });
  const visit = Object.assign(span, { node });
  visits.set(at, visit);
  return visit;
}

/** Returns the visit of an event. After a resume, the visit and the enclosing ones get new spans. */
export function visitAt(walk: Walk, place: Place): Span {
  const { at, node, time } = place;
  const open = walk.visits.get(at);
  if (open?.node === node) return open;
  if (at !== undefined) {
    visitAt(walk, { node: documentOf(at).split("/").at(-1) ?? "", time, ...defined("at", outerOf(at)) });
  }
  return openVisit(walk, place, `${walk.visitKeys.get(nodePath(at, node)) ?? node}~${walk.part}`);
}

/** Describes a failure. Its message is content. */
export function errorOf({ content }: Walk, type: string, message: string): Span["error"] {
  return content ? { type, message } : { type };
}

type CallEnd = Pick<RunEvent, "time"> & Pick<EventOf<"tool:result">, "error" | "code">;

export function endCall(walk: Walk, span: Span, { time, error, code = "tool.failed" }: CallEnd): void {
  span.endedAt = later(span.startedAt, time);
  if (error !== undefined) span.error = errorOf(walk, code, error);
}
