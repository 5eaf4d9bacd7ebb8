import type { RunEvent } from "../../core/engine/event/event.ts";
import type { Visit } from "./visit.ts";

export interface TimelineRow {
  readonly visit: Visit;
  readonly from: number;
  readonly to: number;
  readonly bars: readonly Bar[];
  /** Maximum number of concurrent calls. */
  readonly lanes: number;
}

export interface Bar {
  readonly kind: "visit" | "model" | "call";
  readonly failed: boolean;
  readonly from: number;
  readonly to: number;
  /** Lane of a call, from 0. Concurrent calls are in different lanes. */
  readonly lane: number;
}

/** Creates the timeline of a run, on a clock that stops while no process drives the run. */
export function timelineOf(events: readonly RunEvent[], visits: readonly Visit[]) {
  const { clock, breaks, ms } = readClock(events);
  const rows = visits.map((visit): readonly [Visit, TimelineRow] => {
    const asked = visit.turns.flatMap((turn) => (turn.kind === "asked" ? [turn] : []));
    const model = asked.map(({ startedAt, endedAt, answer }): Bar => {
      const failed = answer.type === "model:error";
      return { kind: "model", failed, from: clock(startedAt), to: clock(endedAt), lane: 0 };
    });
    const free: number[] = [];
    const calls = visit.calls.map(({ startedAt, endedAt, outcome }): Bar => {
      const [from, to] = [clock(startedAt), clock(endedAt ?? visit.endedAt)];
      const known = free.findIndex((until) => until <= from);
      const lane = known === -1 ? free.length : known;
      free[lane] = Math.max(to, from + 1);
      const failed = outcome !== undefined && "error" in outcome;
      return { kind: "call", failed, from, to, lane };
    });
    const from = clock(visit.startedAt);
    const to = Math.max(from, ...[...model, ...calls].map((bar) => bar.to), clock(visit.endedAt));
    return [visit, { visit, from, to, bars: [...model, ...calls], lanes: free.length }];
  });
  return { ms, rows: new Map(rows), clock, breaks };
}

/**
 * Computes a clock, which returns the milliseconds of work up to the time of an event. Only time between events of the
 * same process, before the run's end, counts as work. `breaks` are the pauses: when the run resumed, and their length.
 */
function readClock(events: readonly RunEvent[]) {
  const known = new Map<string, number>();
  const breaks: { at: number; ms: number }[] = [];
  let ms = 0;
  let last: { readonly moment: number; readonly epoch: number } | undefined;
  let hasEnded = false;
  for (const { time, epoch, type } of events) {
    const moment = Date.parse(time);
    const passed = last ? Math.max(0, moment - last.moment) || 0 : 0;
    if (last && (last.epoch !== epoch || hasEnded)) {
      if (type !== "operation:begun" && type !== "operation:ended") breaks.push({ at: ms, ms: passed });
    } else ms += passed;
    last = { moment, epoch };
    hasEnded = type === "workflow:end";
    if (!known.has(time)) known.set(time, ms);
  }
  return { clock: (time: string) => known.get(time) ?? 0, breaks: breaks.filter((each) => each.ms > 0), ms };
}
