import { SkillflowError } from "../core/base/errors.ts";
import { mapped } from "../core/base/values.ts";
import type { Entry, Envelope, EventBody, RunEvent, StepKey } from "../core/engine/event/event.ts";
import type { RunRecord } from "../core/engine/event/record.ts";
import type { Journal } from "../core/engine/ports.ts";
import { linesOf } from "./chain.ts";

interface JournalParts {
  readonly record: Pick<RunRecord, "run" | "schema">;
  /** Events that are already recorded. They are replayed first. */
  readonly events: readonly RunEvent[];
  readonly epoch: number;
  /** Seal that the next event follows. Undefined if the run has no chain, or gets its seals later. */
  readonly digest?: string | undefined;
  /** Clock for event times. Defaults to a steady clock that starts at the current time. */
  readonly now?: (() => Date) | undefined;
  readonly append: (record: Appended) => void | Promise<void>;
  readonly close: () => void | Promise<void>;
}

/** One record, written completely or not at all. */
interface Appended {
  readonly events: readonly RunEvent[];
  readonly lines: () => string;
  readonly durability: Durability;
}

/**
 * How a record reaches the disk. `wait`: before the record counts, because something that cannot be undone depends on
 * it. `start`: soon, because it cost money or time. `none`: with a later record, because it can be decided again.
 */
export type Durability = "wait" | "start" | "none";

/** Creates a journal over any append-only list. `append` decides how durable the records are. */
export function createJournal({ record, events, epoch, append, close, ...begun }: JournalParts): Journal {
  const { run, schema } = record;
  const { now = steadyClock() } = begun;
  const recorded = groupRecords(events);
  let position = 0;
  let seq = events.length;
  let digest = begun.digest;
  let busy = false;
  /** Calls announced by this journal that may be repeated. */
  const reads = new Set<string>();

  const add = (key: StepKey, entries: readonly Entry[], isRepeatable: boolean) => {
    const added = envelop(entries, { seq, epoch, key, time: timeOf(now()) });
    const count = () => {
      seq += added.length;
      digest = added.at(-1)?.seal ?? digest;
      return added;
    };
    const durability = durabilityOf(entries, isRepeatable, reads);
    const appending = append({ events: added, lines: () => linesOf(added, { digest, schema }), durability });
    return appending instanceof Promise ? appending.then(count) : count();
  };
  const end = (events: readonly RunEvent[]) => {
    busy = false;
    position += 1;
    return events;
  };
  const fail = (error: unknown): never => {
    busy = false;
    throw error;
  };

  return {
    epoch,
    record(key, work, isRepeatable = false) {
      const keys = typeof key === "string" ? [key] : key;
      if (busy) return Promise.reject(overlap(run, keys));
      busy = true;
      try {
        const known = recorded[position];
        if (known?.[0] && !keys.includes(known[0].key)) throw diverged(run, known[0].key, keys);
        if (known) return end(known);
        const write = (entries: readonly Entry[]) => {
          try {
            const events = add(keys[0] ?? "", entries, isRepeatable);
            return events instanceof Promise ? events.then(end, fail) : end(events);
          } catch (error) {
            return fail(error);
          }
        };
        const entries = work();
        return entries instanceof Promise ? entries.then(write, fail) : write(entries);
      } catch (error) {
        busy = false;
        return Promise.reject(error);
      }
    },
    close: async () => close(),
  };
}

/**
 * Decides how durable a record must be. `reads` has the ids of repeatable calls without a result, and is updated.
 * A call that another process announced counts as a write.
 */
function durabilityOf(entries: readonly Entry[], isRepeatable: boolean, reads: Set<string>): Durability {
  let most: Durability = "none";
  for (const entry of entries) {
    const { type } = entry;
    if (type === "tool:call" && isRepeatable) reads.add(entry.id);
    else if (type === "model:reply" || type === "model:switch" || (type === "tool:result" && reads.delete(entry.id))) {
      if (most === "none") most = "start";
    } else if (isFinal(entry)) most = "wait";
  }
  return most;
}

/** Checks for events that announce or report what cannot be undone. */
function isFinal({ type }: EventBody): boolean {
  return FINAL.has(type) || type.startsWith("operation:") || type.startsWith("approval:");
}

const FINAL: ReadonlySet<string> = new Set(["tool:call", "tool:result", "state:written", "workflow:end"]);

/** Creates a clock that ignores adjustments of the system clock, so that these do not use up a run's time limit. */
function steadyClock(): () => Date {
  const opened = Date.now() - performance.now();
  return () => new Date(opened + performance.now());
}

let latest = { ms: Number.NaN, text: "" };

/** Formats a time. Caches the last one, because records often share a millisecond. */
function timeOf(date: Date): string {
  const ms = date.getTime();
  if (ms !== latest.ms) latest = { ms, text: date.toISOString() };
  return latest.text;
}

type Placing = Pick<Envelope, "seq" | "time" | "epoch" | "key">;

function envelop(entries: readonly Entry[], { seq, time, epoch, key }: Placing): RunEvent[] {
  const last = entries.length - 1;
  return mapped(entries, (entry, index) => {
    const at = entry.at === undefined ? {} : { at: entry.at };
    const more = index < last ? { more: true as const } : {};
    return { seq: seq + index, time, epoch, key, ...at, ...more, ...entry };
  });
}

/** Replays the recorded positions, so that the journal's next record is a new one. */
export async function passRecorded(journal: Journal, events: readonly RunEvent[]): Promise<void> {
  for (const [first] of groupRecords(events)) if (first) await journal.record(first.key, () => []);
}

/** Groups events into complete records. Drops the events of a record that a crash cut off. */
export function groupRecords(events: readonly RunEvent[]): RunEvent[][] {
  const records: RunEvent[][] = [];
  let open: RunEvent[] = [];
  for (const event of events) {
    open.push(event);
    if (event.more) continue;
    records.push(open);
    open = [];
  }
  return records;
}

export function newestFirst(runs: readonly Pick<RunRecord, "run" | "at">[]): string[] {
  const dated = runs.map(({ run, at }) => ({ run, at: Date.parse(at) || 0 }));
  return dated.sort((a, b) => b.at - a.at || (a.run < b.run ? 1 : -1)).map(({ run }) => run);
}

function overlap(run: string, keys: readonly StepKey[]): SkillflowError {
  return new SkillflowError("internal.fault", `two records of run ${run} overlap at ${keys.join(", ")}`);
}

function diverged(run: string, recorded: StepKey, wanted: readonly StepKey[]): SkillflowError {
  return new SkillflowError(
    "journal.diverged",
    `run ${run} recorded ${recorded}, but this program would do ${wanted.join(" or ")}`,
    { hint: "the run was made by another version; replay it there, or start a new run" },
  );
}
