import { defined } from "../core/base/values.ts";
import type { Entry, Envelope, EventBody, EventOf, RunEvent, StepKey } from "../core/engine/event/event.ts";
import type { SingleStep, Step, Together } from "../core/engine/fold/step.ts";
import type { StoredRun } from "../core/engine/ports.ts";

/** What a replay takes from the run that was recorded. */
export interface Recall {
  /** What came of a step, where a replay does not have it done again; undefined where it has. */
  bodies(step: SingleStep): readonly Entry[] | undefined;
  /** Of what inner runs waited for side by side, that of which the record at that position holds what came of it. */
  narrow(step: Together, position: number): Step;
  /** What the record at that position holds beside what came of a step. */
  beside(step: SingleStep, position: number): readonly Entry[];
}

/**
 * A replay stops where the recorded run was stopped (a limit of time or money, somebody's interrupt), and calls come to
 * what they came to then. A call that the recording does not hold ends the replay (workflow-format D56).
 */
export function recallRun({ events }: StoredRun, tools: "recorded" | "live"): Recall {
  const recorded = new Map<StepKey, Entry[]>();
  const halted = new Set<StepKey>();
  const records: Entry[][] = [[]];
  for (const event of events) {
    const key = stepOf(event);
    if (isHalt(event)) halted.add(key);
    // A limit's place may be another than its step's.
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
    // What earlier runs knew then, and not what they know now.
    if (known.some((body) => body.type === "map:start" && body.state !== undefined)) return known;
    if (step.kind === "examine" && tools === "recorded" && known.length > 0) return known;
    if (step.kind === "reach" && tools === "recorded") return known.length > 0 ? known : [unknownReach(step)];
    if (step.kind !== "call" || tools === "live") return undefined;
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
      return first?.key === key ? others.filter((entry) => entry.key !== key) : [];
    },
  };
}

/** Nobody is asked: what the recording does not know is read by all the world. */
function unknownReach({ node, call }: Extract<SingleStep, { kind: "reach" }>): EventBody {
  return { type: "tool:audience", node, audience: "public", id: call.key };
}

function isHalt({ type }: EventBody): boolean {
  return type === "run:interrupt" || type === "limit:reached" || type === "run:fail";
}

/** A limit that was reached before a model call is recorded beside it: `3:assess/0/2/timeout~1`. */
function stepOf(event: RunEvent): StepKey {
  if (event.type !== "limit:reached") return event.key;
  const [, key = "", resumed = ""] = /^(.*?)(~\d+)?$/s.exec(event.key) ?? [];
  const suffix = `/${event.limit}`;
  return `${key.endsWith(suffix) ? key.slice(0, -suffix.length) : key}${resumed}`;
}

/** What came to a run from outside once it had ended: it was resumed, or what it planned was applied. */
export interface Afterwards {
  readonly key: StepKey;
  readonly body: EventBody;
  /** Of a word to an inner run. */
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
  "operation:begun",
  "operation:ended",
  "operation:resolved",
  "state:written",
]);

/** An event without its place in the list. */
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
    message: `the recording holds no result of ${names} at step ${key}`,
    hint: "the run took another way than the recorded one; record it again with a live model",
  };
}
