import type { Blobs } from "../core/base/blobs.ts";
import { SkillflowError } from "../core/base/errors.ts";
import type { RunEvent } from "../core/engine/event/event.ts";
import type { RunRecord } from "../core/engine/event/record.ts";
import { skimEvent } from "../core/engine/event/skim.ts";
import type { Journal, Store } from "../core/engine/ports.ts";
import { digestOf } from "../files/files.ts";
import { memoryBlobs } from "./blobs.ts";
import { linesOf } from "./chain.ts";
import { createJournal, newestFirst } from "./journal.ts";
import { checkRecord } from "./record-check.ts";

interface MemoryStore extends Store {
  /** Simulates the death of the driving process: drops its locks and keeps what it recorded. */
  crash(): void;
}

/**
 * Creates a store in memory, for tests and for runs that need not be kept. It seals the events of a run when the run is
 * read, so that observers receive events without `seal`.
 */
export function memoryStore(now?: () => Date): MemoryStore {
  const runs = new Map<string, Kept>();
  const blobs = new Map<string, Blobs>();
  const locks = new Set<string>();
  const find = (run: string) => {
    const found = runs.get(run);
    if (!found) throw new SkillflowError("run.unknown", `there is no run ${run}`);
    return found;
  };
  const findSealed = (run: string) => sealRest(find(run));
  const drive = (run: string, epoch: number): Journal => {
    const { record, events } = find(run);
    if (locks.has(run)) throw new SkillflowError("store.locked", `run ${run} is being driven already`);
    locks.add(run);
    return createJournal({
      ...{ record, events: [...events], epoch, now },
      append: (added) => {
        for (const event of added.events) events.push(event);
      },
      close: () => void locks.delete(run),
    });
  };
  return {
    async create(record) {
      if (runs.has(record.run)) throw new SkillflowError("run.exists", `there is a run ${record.run} already`);
      runs.set(record.run, { record, events: [], sealed: 0 });
      return drive(record.run, 0);
    },
    async open(run) {
      const { record, events } = findSealed(run);
      const journal = drive(run, (events.at(-1)?.epoch ?? -1) + 1);
      return { record, events: [...events], journal };
    },
    async read(run) {
      const { record, events } = findSealed(run);
      return { record, events: [...events] };
    },
    async verify(run) {
      const { record, events } = findSealed(run);
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
  sealed: number;
}

/** Seals the events that were added since the run was read the last time. */
function sealRest(kept: Kept): Kept {
  const { record, events, sealed } = kept;
  const digest = sealed === 0 ? digestOf(JSON.stringify(record)) : events[sealed - 1]?.seal;
  linesOf(events.slice(sealed), { digest, schema: record.schema });
  kept.sealed = events.length;
  return kept;
}
