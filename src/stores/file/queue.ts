import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunRecord } from "../../core/engine/event/record.ts";
import type { Intake } from "../../core/engine/ports.ts";
import { storeError } from "../store-error.ts";

interface QueuedStore {
  readonly directory: string;
  /** Runs that were handed out, and may be begun with what their driver brings along. */
  readonly taken: Set<string>;
  /** Makes the folder, and refuses one that leads elsewhere. */
  readonly prepare: () => void;
  readonly isRecorded: (run: string) => boolean;
  /** On disk when it resolves. Throws `run.exists`. */
  readonly create: (record: RunRecord) => Promise<void>;
}

/**
 * The queue of a folder of runs, for the one process that works on it. An empty file beside the run's says that somebody
 * has to drive it: it is there before the run is, and goes when the run is over or waits for a person.
 */
export function fileQueue({ directory, taken, prepare, isRecorded, create }: QueuedStore): Intake {
  const waiting = new Set<string>();
  let wake: (() => void) | undefined;
  const mark = (run: string) => {
    prepare();
    try {
      writeFileSync(markOf(directory, run), "", { flag: "wx", mode: 0o600 });
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) {
        throw storeError(error, `run ${run} cannot be queued`);
      }
    }
  };
  const push = (run: string) => {
    waiting.add(run);
    wake?.();
  };
  return {
    async enqueue(record) {
      mark(record.run);
      await create(record);
      push(record.run);
    },
    async requeue(run) {
      mark(run);
      push(run);
    },
    waiting: async () => waiting.size,
    async work({ concurrency, drive }, stop, onReady) {
      for (const run of marked(directory)) {
        // Its process died before the run was recorded: nobody was told of it.
        if (!isRecorded(run)) rmSync(markOf(directory, run), { force: true });
        else waiting.add(run);
      }
      const underWay = new Set<string>();
      await new Promise<void>((resolve) => {
        const look = () => {
          for (const run of waiting) {
            if (stop.aborted || underWay.size >= concurrency) break;
            if (!underWay.has(run)) void begin(run);
          }
          if (stop.aborted && underWay.size === 0) resolve();
        };
        const begin = async (run: string) => {
          waiting.delete(run);
          underWay.add(run);
          taken.add(run);
          try {
            await drive(run);
            // Asked for once more meanwhile, it stays.
            if (!waiting.has(run)) rmSync(markOf(directory, run), { force: true });
          } catch {
            // It is told by whoever drove it; the next process that works here tries again.
          } finally {
            taken.delete(run);
            underWay.delete(run);
            look();
          }
        };
        wake = look;
        stop.addEventListener("abort", look, { once: true });
        onReady();
        look();
      });
      wake = undefined;
    },
  };
}

const MARK = ".queued";

export function markOf(directory: string, run: string): string {
  return join(directory, `${run}${MARK}`);
}

/** Those that wait since an earlier process, the oldest first. */
function marked(directory: string): string[] {
  const at = (name: string) => statSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const names = namesIn(directory).filter((name) => name.endsWith(MARK));
  const aged = names.map((name) => ({ run: name.slice(0, -MARK.length), at: at(name) }));
  return aged.sort((a, b) => a.at - b.at || (a.run < b.run ? -1 : 1)).map(({ run }) => run);
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw storeError(error, `the run directory ${directory} cannot be read`);
  }
}
