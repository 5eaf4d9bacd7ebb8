import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, rmdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { attempt } from "../../core/base/errors.ts";
import type { ForeignCommand, Turn } from "../../core/skill/sandbox.ts";
import { temporaryName } from "../../files/temporary-name.ts";
import type { RunnablePackage } from "../folder/format.ts";
import type { LoaderHost } from "../folder/host.ts";

/** Sandbox for exactly one run. */
export type PackagePlace = ReturnType<typeof openPlace>;

type Host = Pick<LoaderHost, "runForeign" | "self">;

/** Prepares a sandbox for exactly one run. */
export function openPlace(host: Host) {
  const workspace = mkdtempSync(join(tmpdir(), temporaryName("workspace", host.self)));
  return {
    workspace,
    /** Secret marker that precedes the runner's result. */
    mark: `skillflow-result-${randomUUID()}:`,
    run: (command: ForeignCommand) => host.runForeign(command),
    /** Resolves when the sandbox and the workspace are removed. */
    close: () => removeWorkspace(workspace),
  };
}

/** Removes the workspace. Most are empty, and checking that is faster than a recursive removal. */
async function removeWorkspace(workspace: string): Promise<void> {
  chmodSync(workspace, 0o700);
  if (readdirSync(workspace).length === 0) rmdirSync(workspace);
  else await rm(workspace, { recursive: true, force: true, maxRetries: 3 });
}

export type PackagesAhead = ReturnType<typeof openPackagesAhead>;

interface NextRuns {
  readonly target: RunnablePackage;
  readonly host: Host;
  readonly commandIn: (place: PackagePlace) => ForeignCommand;
}

/** Schedules work and returns a function that cancels it. */
export type Later = (work: () => void, ms: number) => () => void;

/** Maximum number of waiting sandboxes. The oldest is ended to make room. */
const MOST = 4;
const IDLE_MS = 60_000;

/**
 * Opens the sandboxes that a long-lived process starts ahead of a package's next run. Each contains only what every run has: an
 * empty workspace, the limits, and an interpreter that waits for input. The package's folder is mounted but not read.
 *
 * - Each sandbox is used once, so that no run can affect the next.
 * - It belongs to one package as it was loaded. A reloaded package gets a new one. Runs that need secrets or blobs
 *   never use one: arguments arrive as input.
 * - The package's files are still verified at the run, and its folder must be the mounted one.
 * - It ends after an idle timeout, and at the latest when its parent process ends or is killed.
 */
export function openPackagesAhead(later: Later = afterWhile) {
  /** Oldest first. */
  let waiting: readonly Waiting[] = [];
  const ending = new Set<Promise<void>>();
  let isClosed = false;

  const of = (target: RunnablePackage) => waiting.filter((each) => each.target === target);
  const pick = (found: Waiting | undefined) => {
    waiting = waiting.filter((each) => each !== found);
    found?.stop();
    return found;
  };
  const end = (found: Waiting | undefined) => {
    const ended = found?.place.close().catch(() => undefined); // the next start of a program removes the remains
    if (ended === undefined) return;
    ending.add(ended);
    void ended.finally(() => ending.delete(ended));
  };
  return {
    /** Returns the sandbox that was started for this package, if any, and gives the caller ownership. */
    take(target: RunnablePackage): PackagePlace | undefined {
      const shows = identityOf(target);
      for (const found of of(target)) {
        if (pick(found)?.shows === shows) return found.place;
        end(found);
      }
      return undefined;
    },
    /** Starts sandboxes for the package's next runs until `most` of them wait, but not more than there are cores. */
    start({ target, host, commandIn }: NextRuns, most: number) {
      const shows = identityOf(target);
      if (isClosed || shows === undefined) return;
      for (let count = of(target).length; count < Math.min(most, availableParallelism()); count++) {
        if (waiting.length >= MOST) end(pick(waiting[0]));
        // The next run needs the same things and reports what is wrong with them.
        const place = attempt(() => startPlace(host, commandIn));
        if (!place) return;
        const one: Waiting = { target, place, shows, stop: later(() => end(pick(one)), IDLE_MS) };
        waiting = [...waiting, one];
        void place.over.then(() => {
          if (waiting.includes(one)) end(pick(one));
        });
      }
    },
    /** Ends all waiting sandboxes and starts no more. Resolves when all are removed. */
    async close() {
      isClosed = true;
      for (const one of waiting) end(pick(one));
      await Promise.all(ending);
    },
  };
}

interface Waiting {
  readonly target: RunnablePackage;
  readonly place: ReturnType<typeof startPlace>;
  /** Device and inode of the package's folder when the sandbox was started. */
  readonly shows: string;
  readonly stop: () => void;
}

/**
 * Starts the command now, with an interpreter that waits for input. `run` only supplies stdin, the signal and the time
 * limit. `over` settles when the sandbox is gone, used or not.
 */
function startPlace(host: Host, commandIn: (place: PackagePlace) => ForeignCommand) {
  const place = openPlace(host);
  let give: (turn: Turn | undefined) => void = () => undefined;
  const turn = new Promise<Turn | undefined>((resolve) => {
    give = resolve;
  });
  const start = async () => host.runForeign(commandIn(place), turn);
  const result = start();
  /** Settles when the sandbox is gone, used or not. */
  const over = result.catch(() => undefined); // the caller of `run` gets the error
  return {
    ...place,
    over,
    run({ stdin, signal, limits: { wallMs } }: ForeignCommand) {
      give({ stdin, signal, wallMs });
      return result;
    },
    async close() {
      give(undefined);
      await over;
      await place.close();
    },
  };
}

/** Returns the folder's device and inode, to detect a replaced folder. Undefined if it cannot be read. */
function identityOf({ directory }: RunnablePackage): string | undefined {
  const stats = attempt(() => statSync(directory, { bigint: true }));
  return stats && `${stats.dev}:${stats.ino}`;
}

const afterWhile: Later = (work, ms) => {
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
};
