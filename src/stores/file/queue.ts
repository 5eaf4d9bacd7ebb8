import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasCode } from "../../core/base/errors.ts";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { Intake } from "../../core/engine/ports.ts";
import { namesIn } from "../../files/files.ts";
import { orStoreError, storeError } from "../store-error.ts";

interface QueuedStore {
  readonly directory: string;
  /** Runs taken from the queue. `create` may replace their record if they have no events yet. */
  readonly taken: Set<string>;
  /** Creates the folder. Throws if it is a link to a place outside. */
  readonly prepare: () => void;
  readonly claim: () => () => void;
  readonly isRecorded: (run: string) => boolean;
  /** Resolves once the record is on disk. Throws `run.exists`. */
  readonly create: (record: RunRecord) => Promise<void>;
}

/**
 * Opens the queue of a runs folder, for a single worker process. An empty mark file next to the run's file means that
 * the run must be driven. The mark is created before the run and removed when the run ends or waits for a decision.
 */
export function fileQueue({ directory, taken, prepare, claim, isRecorded, create }: QueuedStore): Intake {
  const waiting: Waiting = { runs: new Set(), wake: () => undefined };
  const mark = (run: string) => {
    prepare();
    try {
      writeFileSync(markOf(directory, run), "", { flag: "wx", mode: 0o600 });
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw storeError(error, `run ${run} cannot be queued`);
    }
  };
  const push = (run: string) => {
    waiting.runs.add(run);
    waiting.wake();
  };
  return {
    claim() {
      prepare();
      return claim();
    },
    async enqueue(record) {
      mark(record.run);
      await create(record);
      push(record.run);
    },
    async requeue(run) {
      mark(run);
      push(run);
    },
    waiting: async () => waiting.runs.size,
    async work({ concurrency, drive }, stop, onReady) {
      for (const run of marked(directory)) {
        // The process died before it recorded the run, so no caller knows about it.
        if (!isRecorded(run)) rmSync(markOf(directory, run), { force: true });
        else waiting.runs.add(run);
      }
      await driveWaiting({ directory, taken, waiting, concurrency, drive, onReady }, stop);
    },
  };
}

interface Waiting {
  readonly runs: Set<string>;
  /** Starts runs that were added while a worker is driving. */
  wake: () => void;
}

type Worker = Parameters<Intake["work"]>[0];

interface Driving extends Pick<QueuedStore, "directory" | "taken">, Pick<Worker, "concurrency" | "drive"> {
  readonly waiting: Waiting;
  readonly onReady: () => void;
}

/** Drives the waiting runs until `stop`, then waits for those in progress. */
async function driveWaiting(queue: Driving, stop: AbortSignal): Promise<void> {
  const { directory, taken, waiting, concurrency, drive, onReady } = queue;
  const underWay = new Set<string>();
  await new Promise<void>((resolve) => {
    const look = () => {
      for (const run of waiting.runs) {
        if (stop.aborted || underWay.size >= concurrency) break;
        if (!underWay.has(run)) void begin(run);
      }
      if (stop.aborted && underWay.size === 0) resolve();
    };
    const begin = async (run: string) => {
      waiting.runs.delete(run);
      underWay.add(run);
      taken.add(run);
      try {
        await drive(run);
        // Keep the mark if the run was queued again in the meantime.
        if (!waiting.runs.has(run)) rmSync(markOf(directory, run), { force: true });
      } catch {
        // The driver reports the error. The next worker process tries again.
      } finally {
        taken.delete(run);
        underWay.delete(run);
        look();
      }
    };
    waiting.wake = look;
    stop.addEventListener("abort", look, { once: true });
    onReady();
    look();
  });
  waiting.wake = () => undefined;
}

const MARK = ".queued";

export function markOf(directory: string, run: string): string {
  return join(directory, `${run}${MARK}`);
}

function marked(directory: string): string[] {
  const at = (name: string) => statSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const names = orStoreError(`the run directory ${directory} cannot be read`, () => namesIn(directory));
  const queued = names.filter((name) => name.endsWith(MARK));
  const aged = queued.map((name) => ({ run: name.slice(0, -MARK.length), at: at(name) }));
  return aged.sort((a, b) => a.at - b.at || (a.run < b.run ? -1 : 1)).map(({ run }) => run);
}
