import type { Blobs } from "../core/base/blobs.ts";
import { SkillflowError } from "../core/base/errors.ts";
import type { RunEvent } from "../core/engine/event/event.ts";
import type { RunRecord } from "../core/engine/event/record.ts";
import { skimEvent } from "../core/engine/event/skim.ts";
import type { Journal, Store } from "../core/engine/ports.ts";
import { memoryBlobs } from "./blobs.ts";
import { digestOf } from "./chain.ts";
import { createJournal, newestFirst } from "./journal.ts";
import { checkRecord } from "./record-check.ts";

interface MemoryStore extends Store {
  /** Simulates the death of the driving process: drops its locks and keeps what it recorded. */
  crash(): void;
}

/** Creates a store in memory, for tests and for runs that need not be kept. */
export function memoryStore(now?: () => Date): MemoryStore {
  const runs = new Map<string, Kept>();
  const blobs = new Map<string, Blobs>();
  const locks = new Set<string>();
  const find = (run: string) => {
    const found = runs.get(run);
    if (!found) throw new SkillflowError("run.unknown", `there is no run ${run}`);
    return found;
  };
  const drive = (run: string, epoch: number) => driveKept(find(run), { run, epoch, locks, now });
  return {
    async create(record) {
      if (runs.has(record.run)) throw new SkillflowError("run.exists", `there is a run ${record.run} already`);
      runs.set(record.run, { record, events: [] });
      return drive(record.run, 0);
    },
    async open(run) {
      const { record, events } = find(run);
      const journal = drive(run, (events.at(-1)?.epoch ?? -1) + 1);
      return { record, events: [...events], journal };
    },
    async read(run) {
      const { record, events } = find(run);
      return { record, events: [...events] };
    },
    async verify(run) {
      const { record, events } = find(run);
      return checkRecord(Buffer.from([record, ...events].map((line) => `${JSON.stringify(line)}\n`).join("")));
    },
    async skim(run) {
      const { record, events } = find(run);
      return { record, events: events.flatMap((event) => skimEvent(event) ?? []) };
    },
    list: async () => newestFirst([...runs.values()].map(({ record }) => record)),
    blobs(run) {
      const kept = blobs.get(run) ?? memoryBlobs();
      blobs.set(run, kept);
      return kept;
    },
    async remove(run) {
      find(run);
      if (locks.has(run)) throw new SkillflowError("store.locked", `run ${run} is being driven`);
      runs.delete(run);
      blobs.delete(run);
    },
    crash: () => locks.clear(),
  };
}

interface Kept {
  readonly record: RunRecord;
  readonly events: RunEvent[];
}

interface Driving {
  readonly run: string;
  readonly epoch: number;
  readonly locks: Set<string>;
  readonly now: (() => Date) | undefined;
}

function driveKept({ record, events }: Kept, { run, epoch, locks, now }: Driving): Journal {
  if (locks.has(run)) throw new SkillflowError("store.locked", `run ${run} is being driven already`);
  locks.add(run);
  return createJournal({
    run,
    events: [...events],
    epoch,
    digest: events.length === 0 ? digestOf(JSON.stringify(record)) : events.at(-1)?.seal,
    now,
    append: (added) => void events.push(...added.events),
    close: () => void locks.delete(run),
  });
}
