import { isImage } from "../../base/image.ts";
import type { JsonObject } from "../../base/values.ts";
import { documentOf, nodePath } from "../../document/inner/place.ts";
import type { WorkflowNode } from "../../document/workflow/node.ts";
import type { MadeTool, RecordedCall } from "../event/call.ts";
import type { Degraded, RunError } from "../event/end.ts";
import type { EventOf } from "../event/event.ts";
import type { NodeResult, TraceEdge, TraceStep } from "../event/node-result.ts";
import type { Operation } from "../event/operation.ts";
import type { ContextEntry, RunContext } from "../event/prompt.ts";
import { type ChangedSkills, type RunRecord, type Settings, workflowsIn } from "../event/record.ts";
import type { Application } from "../plan/standing.ts";
import type { Touch } from "../state/entries.ts";
import { MOST_SHOWN } from "./shown-results.ts";
import type { SingleStep } from "./step.ts";
import type { Items, Leaving, PathStep, Visit } from "./visit.ts";

/** State shared by a run and its inner runs, folded from all their events. */
export class Whole {
  /** Epoch of the reading process. Calls of other epochs without a result are in doubt. */
  epoch: number;
  settings: Settings;
  /** Skills that differ from the record since the last resume. */
  changed: ChangedSkills = [];
  /** Number of finished visits on the path when the skills changed. */
  changedFrom = 0;
  /** Skills that differed at the last visit of each node, by the node's path. */
  readonly changedAt = new Map<string, ChangedSkills>();
  /** Number of times that the run continued after an end. Step keys contain it. */
  resumes = 0;
  /** Number of events recorded after an end: resumes, answers and applied operations. */
  afterwards = 0;
  /** Recorded calls by reference, in order, including those of withdrawn visits. */
  readonly calls: Map<string, RecordedCall>;
  /** Planned operations in order, including withdrawn ones. */
  readonly operations: PlannedOperation[] = [];
  /** Aliases in the public texts of the run, by what they stand for. */
  readonly aliases = new Map<string, string>();
  /** State entries written or matched, in order, including those of withdrawn visits. */
  readonly touches: PlacedTouch[] = [];
  /** Number of touches and the cost that earlier ends of the run have saved. */
  written: { readonly touches: number; readonly costUsd: number } = { touches: 0, costUsd: 0 };
  /** Last end that was saved. */
  writtenEnd: End | undefined;
  /** Usage of the daily limits before the run began or resumed. */
  day: RunRecord["day"];
  /** Tools that the run defined, including those of withdrawn visits. */
  made: readonly MadeTool[] = [];
  /** Milliseconds during which a process was driving the run. */
  activeMs = 0;
  /** Value of activeMs when the run began or last resumed. The time limit counts from there. */
  timeFrom = 0;
  /** True once a result is stored as a blob. */
  holdsBlobs: boolean;
  readonly warned = new Set<string>();
  /** Number of values from the checkout's `.env` that were replaced in results, by variable. */
  readonly redactions = new Map<string, number>();
  /** `text` is the event's `time` as it was written. */
  lastEvent: { readonly epoch: number; readonly at: number; readonly text: string } | undefined;
  /** Characters of results that prompts show, by path of the `steps` node. */
  readonly shown: ReadonlyMap<string, number>;
  /** Paths of the maps with `on_error: fail`: `each`, `top/each`. */
  readonly stopsAtFailure: ReadonlySet<string>;
  /** Results of the run that a question is about. They come first in the context. */
  readonly earlier: readonly ContextEntry[];
  /** Running and resumable inner runs by place. */
  readonly inner = new Map<string, State>();
  /** Traces of finished inner runs by place. If a place repeats, the last one counts. */
  readonly traces = new Map<string, InnerTrace>();

  constructor(record: RunRecord, epoch: number) {
    const { entries = [], calls = [] } = record.about ?? {};
    const nodes = nodesIn(record);
    this.epoch = epoch;
    this.settings = record.settings;
    this.calls = new Map(calls.map((call) => [call.ref, call]));
    this.day = record.day;
    this.holdsBlobs = calls.some(holdsText);
    this.shown = new Map(nodes.flatMap(([path, { steps, show = MOST_SHOWN }]) => (steps ? [[path, show]] : [])));
    this.stopsAtFailure = new Set(nodes.flatMap(([path, { map }]) => (map?.on_error === "fail" ? path : [])));
    this.earlier = entries;
  }
}

export type InnerTrace = Pick<State, "steps" | "edges">;

/**
 * Past of a run, folded from its events and derived from nothing else.
 * A state has a single owner: `fold` changes it in place, so that a long run stays linear.
 */
export class State {
  started: boolean;
  visits = 0;
  /** Number of node visits, including those of inner runs. */
  entered = 0;
  readonly iterations = new Map<string, number>();
  /** Visits that count, in order. A resumed run removes those that it redoes. */
  readonly path: PathStep[] = [];
  /** Follow counts along `path`, by edge index. */
  readonly follows = new Map<number, number>();
  /** Last result of each node along `path`. */
  readonly results = new Map<string, NodeResult>();
  context: RunContext;
  readonly steps: TraceStep[] = [];
  readonly edges: (TraceEdge & { readonly index: number })[] = [];
  /** Includes inner runs. */
  readonly usage = new UsageTotals();
  /** Next node to enter, and the edge that leads there. */
  upcoming: { readonly node: string; readonly via: number | undefined } | undefined;
  visit: Visit | undefined;
  /** Node that was left and has not been routed. */
  leaving: Leaving | undefined;
  /** Visit that the run stopped in. `run:resume` continues inside it. */
  unfinished: Visit | undefined;
  /** Reason why the run ends early. */
  halt: Halt | undefined;
  end: End | undefined;
  modelError: RunError | undefined;

  /** Begins a run, or an inner run, which has no start event of its own. */
  constructor(
    readonly run: Whole,
    input: JsonObject,
    /** Undefined for the run itself. */
    readonly inside: Inside | undefined = undefined,
  ) {
    this.started = inside !== undefined;
    this.context = contextAtStart(run, inside, input);
  }
}

export interface Inside {
  /** For example `each[fp-81]` or `top/each[fp-81]`. */
  readonly at: string;
  /** Prefix of its step keys, such as `3:each[fp-81]/`. */
  readonly prefix: string;
  readonly parent: State;
  /** Node of the parent that runs it. */
  readonly node: string;
  readonly key: string | undefined;
  /** Value of activeMs when it began, increased by the time that it waited for answers. */
  from: number;
  /** Pending step as it was first taken. Progress of other inner runs must not change it. */
  waits: SingleStep | undefined;
}

export interface PlannedOperation {
  readonly operation: Operation;
  /** Key of the visit that planned it. */
  readonly visit: string;
  readonly attempt: number;
  /** Whether its attempt or visit was redone. */
  withdrawn: boolean;
  /** Failed visits that planned it or that enclose the one that did. */
  readonly failedIn: Set<string>;
  application: Application;
}

export interface PlacedTouch extends Touch {
  /** Key of the visit that caused it. */
  readonly visit: string;
}

export class UsageTotals {
  modelCalls = 0;
  inputTokens = 0;
  cachedTokens = 0;
  outputTokens = 0;
  /** Sum of the known costs. */
  costUsd = 0;
  /** Number of calls whose cost is unknown. */
  unpriced = 0;
  /** Number of calls whose tokens are unknown. */
  uncounted = 0;
}

export type Halt =
  | { readonly status: "stopped" | "interrupted"; readonly reason: string; readonly limit?: string }
  | { readonly status: "failed"; readonly reason: string; readonly error: RunError };

/** How a run ended, and when. `degraded` is empty in older records. */
export type End = Omit<EventOf<"workflow:end">, "type" | "results" | "degraded"> & {
  readonly at: string;
  readonly degraded: readonly Degraded[];
};

export function begin(record: RunRecord, epoch = 0): State {
  return new State(new Whole(record, epoch), record.input);
}

/** Returns the nodes of all documents of a run, by path: `each`, `top/each`. */
function nodesIn(record: RunRecord): (readonly [string, WorkflowNode])[] {
  return workflowsIn(record).flatMap(([at, { nodes }]) =>
    Object.entries(nodes).map(([id, node]) => [nodePath(at, id), node] as const),
  );
}

function holdsText({ outcome }: RecordedCall): boolean {
  return outcome !== undefined && "blobs" in outcome && outcome.blobs?.some((blob) => !isImage(blob)) === true;
}

/** Returns the context before the first node. The entries are a copy, because results are added to them. */
export function contextAtStart(run: Whole, inside: Inside | undefined, input: JsonObject): RunContext {
  const entries = inside ? [] : [...run.earlier];
  return { input, entries, length: entries.length };
}

/** Returns the path of a node in the documents of its run, such as `top/each`. */
export function pathOfNode({ inside }: Pick<State, "inside">, node: string): string {
  return nodePath(inside && documentOf(inside.at), node);
}

/** Returns the prefix of a run's step keys, including those of its inner runs. */
export function prefixOf({ inside }: State): string {
  return inside?.prefix ?? "";
}

/** Returns a run and the runs that enclose it. */
export function withOuter(state: State): State[] {
  const { inside } = state;
  return inside === undefined ? [state] : [state, ...withOuter(inside.parent)];
}

export function outermost(state: State): State {
  return state.inside ? outermost(state.inside.parent) : state;
}

/** Updates whether an inner run, and those around it, are active after an event changed it. */
export function noteActive(state: State): void {
  const { inside } = state;
  const items = inside?.parent.visit?.items;
  if (!inside || !items?.running.has(inside.at)) return;
  const isActive = !isParked(state);
  if (items.active.has(inside.at) === isActive) return;
  if (isActive) items.active.add(inside.at);
  else items.active.delete(inside.at);
  noteActive(inside.parent);
}

/** Checks whether an inner run, and everything inside it, can only wait for an approval. */
function isParked({ visit, halt }: Pick<State, "visit" | "halt">): boolean {
  if (!visit || halt || visit.failure) return false;
  const { items } = visit;
  if (!items) return isWaiting(visit);
  return items.running.size > 0 && items.active.size === 0 && !mayBegin(items);
}

/** Checks whether a visit can do nothing until its approval is answered. */
export function isWaiting({ asked, failure }: Visit): boolean {
  return asked !== undefined && asked.word === undefined && failure === undefined;
}

/** Checks whether a further item may begin, apart from the concurrency limit. */
export function mayBegin({ all, begun, failed, stopsAtFailure }: Items): boolean {
  return begun < all.length && !(stopsAtFailure && failed > 0);
}
