import { defined } from "../core/base/values.ts";
import type { Entry, Envelope, EventBody, EventOf, RunEvent, StepKey } from "../core/engine/event/event.ts";
import type { Change } from "../core/engine/event/patch.ts";
import type { SingleStep, Step, Together } from "../core/engine/fold/step.ts";
import type { StoredRun } from "../core/engine/ports.ts";

export interface Recall {
  /** Returns the recorded result of a step, or undefined if the replay performs it. */
  bodies(step: SingleStep): readonly Entry[] | undefined;
  /** Returns the parallel steps whose results are in the record at that position. */
  narrow(step: Together, position: number): Step;
  /** Returns the results of inner steps in the record of an exit at that position. */
  beside(step: SingleStep, position: number): readonly Entry[];
  /** Checks whether the record at that position includes the step's events. */
  includes(step: SingleStep, position: number): boolean;
}

export interface Replaying {
  readonly recall: Recall;
  readonly afterwards: readonly Afterwards[];
  /** Change that a test proposes, because it has no working copy. */
  readonly change?: Change;
}

/**
 * Replays a run: stops where the run was stopped by a limit or an interrupt, and uses the recorded results of calls. A
 * call without a recorded result ends the replay.
 */
export function recallRun({ events }: StoredRun, tools: "recorded" | "live"): Recall {
  const recorded = new Map<StepKey, Entry[]>();
  const halted = new Set<StepKey>();
  const records: Entry[][] = [[]];
  for (const event of events) {
    const key = stepOf(event);
    if (isHalt(event)) halted.add(key);
    // The inner run of a limit can differ from that of its step.
    const body: Entry = { ...(bodyOf(event) as EventBody), at: event.at };
    const bodies = recorded.get(key);
    if (bodies) bodies.push(body);
    else recorded.set(key, [body]);
    records.at(-1)?.push({ ...body, key: event.key });
    if (!event.more) records.push([]);
  }
  const bodies = (step: SingleStep) => {
    const known = recorded.get(step.key) ?? [];
    if (halted.has(step.key) && (step.kind !== "call" || tools === "live")) return known;
    // Use the state at the time of the recording, not the current one.
    if (known.some((body) => body.type === "map:start" && body.state !== undefined)) return known;
    // The replayed model cannot fail as the recorded one did, and settings of the run may have named the list.
    if (step.kind === "ask" && known[0]?.type === "model:switch") return known;
    if (step.kind === "examine" && tools === "recorded" && known.length > 0) return known;
    if (step.kind === "reach" && tools === "recorded") return known.length > 0 ? known : [unknownReach(step)];
    // A replay has no working copy.
    const isLive = tools === "live" && step.kind === "call" && !step.calls.some(({ tool }) => tool.contained);
    if (step.kind !== "call" || isLive) return undefined;
    const wanted = new Set(step.calls.map((call) => call.key));
    const outcomes = known.filter((body) => !("id" in body) || wanted.has(body.id));
    return outcomes.some((body) => "id" in body || isHalt(body)) ? outcomes : [missing(step)];
  };
  return {
    bodies,
    narrow(step, position) {
      const keys = new Set(records[position]?.map((entry) => entry.key));
      const [first, ...others] = step.steps.filter(({ key }) => keys.has(key));
      if (!first) return step;
      return others.length === 0 ? first : { ...step, key: first.key, steps: [first, ...others] };
    },
    beside: ({ key }, position) => {
      const [first, ...others] = records[position] ?? [];
      const isCut = first?.type === "node:exit" && others[0]?.type !== "route";
      return isCut && first.key === key ? others.filter((entry) => entry.key !== key) : [];
    },
    includes: ({ key }, position) => records[position]?.some((entry) => entry.key === key) ?? false,
  };
}

/** Counts a target as public if the recording does not say who can read it. A change that is not recorded is refused. */
function unknownReach({ node, call, asks }: Extract<SingleStep, { kind: "reach" }>): EventBody {
  if (asks === "change") {
    return { type: "tool:change", node, error: "the recording has no change", code: "tool.unknown", id: call.key };
  }
  return { type: "tool:audience", node, audience: "public", id: call.key };
}

function isHalt({ type }: EventBody): boolean {
  return type === "run:interrupt" || type === "limit:reached" || type === "run:fail";
}

/** Returns the step of an event. A limit before a model call has a key derived from it: `3:assess/0/2/timeout~1`. */
function stepOf(event: RunEvent): StepKey {
  if (event.type !== "limit:reached") return event.key;
  const [, key = "", resumed = ""] = /^(.*?)(~\d+)?$/s.exec(event.key) ?? [];
  const suffix = `/${event.limit}`;
  return `${key.endsWith(suffix) ? key.slice(0, -suffix.length) : key}${resumed}`;
}

/** An external event after a run ended: it was resumed, approved, or its plan was applied. */
export interface Afterwards {
  readonly key: StepKey;
  readonly body: EventBody;
  readonly at?: string;
}

export function afterwardsIn(events: readonly RunEvent[]): Afterwards[] {
  const isAfter = ({ type }: RunEvent) => type === "run:resume" || AFTER_THE_END.has(type);
  return events
    .filter(isAfter)
    .map((event) => ({ key: event.key, body: bodyOf(event) as EventBody, ...defined("at", event.at) }));
}

const AFTER_THE_END: ReadonlySet<string> = new Set([
  "approval:given",
  "approval:refused",
  "operation:begun",
  "operation:ended",
  "operation:refused",
  "operation:resolved",
  "state:written",
]);

export function bodyOf<Event extends RunEvent>(event: Event): Omit<Event, keyof Envelope> {
  const {
    seq: _seq,
    time: _time,
    epoch: _epoch,
    key: _key,
    at: _at,
    more: _more,
    record: _record,
    seal: _seal,
    ...body
  } = event;
  return body;
}

function missing({ key, node, calls }: Extract<SingleStep, { kind: "call" }>): EventOf<"run:fail"> {
  const names = calls.map((call) => call.tool.exposed).join(", ");
  return {
    type: "run:fail",
    node,
    code: "replay.missing",
    message: `the recording has no result of ${names} at step ${key}`,
    hint: "record it again with a live model: the run diverged from the recording",
  };
}
