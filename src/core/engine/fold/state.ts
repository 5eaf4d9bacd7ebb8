import type { JsonObject } from "../../base/values.ts";
import { nodePath } from "../../document/inner/place.ts";
import type { MadeTool, RecordedCall } from "../event/call.ts";
import type { Degraded, RunError, RunStatus, Unrouted, Waiting } from "../event/end.ts";
import type { EvidenceCounts, NodeResult } from "../event/node-result.ts";
import type { Operation } from "../event/operation.ts";
import type { RunContext } from "../event/prompt.ts";
import type { ChangedSkills, RunRecord } from "../event/record.ts";
import type { Settings } from "../event/settings.ts";
import type { Application } from "../plan/standing.ts";
import type { Touch } from "../state/delta.ts";
import type { SingleStep } from "./step.ts";
import type { Leaving, Visit } from "./visit.ts";

/** What a run and the runs inside it have in common, folded from the events of all. */
export interface Whole {
  /** Of the process that reads it: calls of other epochs without a result are in doubt. */
  epoch: number;
  settings: Settings;
  /** The skills that differ from the record since the run was last resumed. */
  changed: ChangedSkills;
  /** The number of visits on the path that were over when the skills changed. */
  changedFrom: number;
  /** The same as of the last visit of each node, by the node's path. */
  readonly changedAt: Map<string, ChangedSkills>;
  /** How many times the run was taken up after its end: step keys carry it. */
  resumes: number;
  /** How many records were made after an end: of a resume, of a person's word, and of what was applied. */
  afterwards: number;
  /** The recorded calls by reference, in order; those of visits that were taken back stay. */
  readonly calls: Map<string, RecordedCall>;
  /** The operations that were planned, in order; those that were withdrawn stay. */
  readonly operations: PlannedOperation[];
  /** What was put into states, in order; that of visits that were taken back stays. */
  readonly touches: PlacedTouch[];
  /** What earlier ends of the run have written: so many of them, and what was counted as its cost. */
  written: { readonly touches: number; readonly costUsd: number };
  /** The end that was written last. */
  writtenEnd: End | undefined;
  /** What was used of the day's limits before it began, or was taken up. */
  day: RunRecord["day"];
  /** The tools that the run itself defined; those of visits that were taken back stay. */
  made: readonly MadeTool[];
  /** Milliseconds that some process was driving this run. */
  activeMs: number;
  /** The run's activeMs when it was last taken up: its time limit counts from there (D57). */
  timeFrom: number;
  /** Whether a result so far is kept as a blob. */
  holdsBlobs: boolean;
  /** Whether a call was answered. */
  hasResults: boolean;
  readonly warned: Set<string>;
  /** How often values of the checkout's `.env` were replaced in results, by variable. */
  readonly redactions: Map<string, number>;
  /** `text` is its `time` as it was written. */
  lastEvent: { readonly epoch: number; readonly at: number; readonly text: string } | undefined;
  /** Paths of the maps with `on_error: fail`: `each`, `top/each`. */
  readonly stopsAtFailure: ReadonlySet<string>;
  /** The inner runs under way, and those that a resume may take up, by their place. */
  readonly inner: Map<string, State>;
  /** What inner runs that are over went through, by their place; of several at one place the last. */
  readonly traces: Map<string, InnerTrace>;
}

export interface InnerTrace {
  readonly steps: readonly TraceStep[];
  readonly edges: readonly TraceEdge[];
  /** Of the claims that were checked. */
  readonly evidence: readonly EvidenceCounts[];
}

/**
 * A run's past, folded from its events: nothing in it that the list does not hold.
 * A state is owned by one reader: `fold` takes it and gives it back changed, so that a long run stays linear.
 */
export interface State {
  readonly run: Whole;
  /** Of an inner run; undefined of the run itself. */
  readonly inside: Inside | undefined;
  started: boolean;
  /** Node visits so far. */
  visits: number;
  /** The same, with those of its inner runs. */
  entered: number;
  readonly iterations: Map<string, number>;
  /** The visits that count, in order: a resumed run takes back those that it redoes. */
  readonly path: PathStep[];
  /** Follow counts by edge index (E5), along `path`. */
  readonly follows: Map<number, number>;
  /** The last result of each node, along `path`. */
  readonly results: Map<string, NodeResult>;
  context: RunContext;
  readonly steps: TraceStep[];
  readonly edges: TraceEdge[];
  /** Of its inner runs too. */
  readonly usage: UsageTotals;
  /** The node to enter next, and the edge that leads there. */
  upcoming: { readonly node: string; readonly via: number | undefined } | undefined;
  visit: Visit | undefined;
  /** A node that was left and has not been routed. */
  leaving: Leaving | undefined;
  /** A visit that the run stopped in; `run:resume` goes on inside it. */
  unfinished: Visit | undefined;
  /** Why the run is coming to its end before its time. */
  halt: Halt | undefined;
  end: End | undefined;
  /** What the last failed model call failed with. */
  modelError: RunError | undefined;
}

/** Where an inner run takes place. */
export interface Inside {
  /** `each[fp-81]`, `top/each[fp-81]` */
  readonly at: string;
  /** Begins its step keys: `3:each[fp-81]/`. */
  readonly prefix: string;
  readonly parent: State;
  /** The node of the parent that runs it. */
  readonly node: string;
  /** Of a map's item. */
  readonly key: string | undefined;
  /** The run's activeMs when it began, later by the time that it waited for a person. */
  from: number;
  /** The step that it waits for, as it was when it was first taken: what others do meanwhile does not change it. */
  waits: SingleStep | undefined;
}

export interface PlannedOperation {
  readonly operation: Operation;
  /** Of the visit that planned it. */
  readonly visit: string;
  readonly attempt: number;
  /** Its attempt or its visit was redone. */
  withdrawn: boolean;
  /** The visits that it was planned in, or around, and that failed. */
  readonly failedIn: Set<string>;
  application: Application;
}

export interface PlacedTouch extends Touch {
  /** Of the visit that put it. */
  readonly visit: string;
}

export interface PathStep {
  readonly node: string;
  /** Of the visit: `3:assess`. */
  readonly key: string;
  readonly via: number | undefined;
  result: NodeResult | undefined;
  /** The shortfalls of the visit and of the runs inside it. */
  degraded: readonly Degraded[];
  /** What the result's claims rest on. */
  cited?: readonly string[];
}

/** X4: `iteration` counts visits of the node from 1; `retryAttempt` is absent if no retry fired (N38). */
interface TraceStep {
  readonly node: string;
  readonly status: NodeResult["status"];
  readonly iteration: number;
  readonly retryAttempt?: number;
}

interface TraceEdge {
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  readonly index: number;
}

export interface UsageTotals {
  modelCalls: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** The sum of the known costs. */
  costUsd: number;
  /** Calls whose cost is unknown. */
  unpriced: number;
}

type Halt =
  | { readonly status: "stopped" | "interrupted"; readonly reason: string; readonly limit?: string }
  | { readonly status: "failed"; readonly reason: string; readonly error: RunError };

interface End {
  /** ISO 8601. */
  readonly at: string;
  readonly status: RunStatus;
  readonly reason: string;
  readonly waiting: readonly Waiting[] | undefined;
  readonly verdict: string | undefined;
  /** Empty in older records. */
  readonly degraded: readonly Degraded[];
  readonly unrouted: Unrouted | undefined;
  readonly error: RunError | undefined;
}

export function noUsage(): UsageTotals {
  return { modelCalls: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, costUsd: 0, unpriced: 0 };
}

export function begin(record: RunRecord, epoch = 0): State {
  const run: Whole = {
    epoch,
    settings: record.settings,
    changed: [],
    changedFrom: 0,
    changedAt: new Map(),
    resumes: 0,
    afterwards: 0,
    calls: new Map(),
    operations: [],
    touches: [],
    written: { touches: 0, costUsd: 0 },
    writtenEnd: undefined,
    day: record.day,
    made: [],
    activeMs: 0,
    timeFrom: 0,
    holdsBlobs: false,
    hasResults: false,
    warned: new Set(),
    redactions: new Map(),
    lastEvent: undefined,
    stopsAtFailure: new Set(mapsThatStop(record)),
    inner: new Map(),
    traces: new Map(),
  };
  return scope(run, record.input, undefined);
}

function mapsThatStop({ workflow, inner = {} }: RunRecord): string[] {
  const documents = [
    [undefined, workflow] as const,
    ...Object.entries(inner).map(([at, each]) => [at, each.workflow] as const),
  ];
  return documents.flatMap(([at, { nodes }]) => {
    const stopping = Object.keys(nodes).filter((id) => nodes[id]?.map?.on_error === "fail");
    return stopping.map((id) => nodePath(at, id));
  });
}

/** A run inside another, which begins without an event of its own. */
export function beginInside(inside: Inside, input: JsonObject): State {
  return { ...scope(inside.parent.run, input, inside), started: true };
}

function scope(run: Whole, input: JsonObject, inside: Inside | undefined): State {
  return {
    run,
    inside,
    started: false,
    visits: 0,
    entered: 0,
    iterations: new Map(),
    path: [],
    follows: new Map(),
    results: new Map(),
    context: { input, entries: [], length: 0 },
    steps: [],
    edges: [],
    usage: noUsage(),
    upcoming: undefined,
    visit: undefined,
    leaving: undefined,
    unfinished: undefined,
    halt: undefined,
    end: undefined,
    modelError: undefined,
  };
}

/** The prefix of its step keys, and of those of its inner runs. */
export function prefixOf({ inside }: State): string {
  return inside?.prefix ?? "";
}

/** A run and those that it is inside of. */
export function withOuter(state: State): State[] {
  const { inside } = state;
  return inside === undefined ? [state] : [state, ...withOuter(inside.parent)];
}

/** The run itself, around all that is inside it. */
export function outermost(state: State): State {
  return state.inside ? outermost(state.inside.parent) : state;
}
