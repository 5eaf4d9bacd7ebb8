import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, rmdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ForeignCommand, ForeignResult, Turn } from "../../core/skill/sandbox.ts";
import { temporaryName } from "../../files/temporary-name.ts";
import type { RunnablePackage } from "../folder/format.ts";
import type { LoaderHost } from "../folder/host.ts";

/** Where one run takes place: nothing else ever does. */
export interface PackagePlace {
  /** A folder of its own. */
  readonly workspace: string;
  /** Its runner's: nobody else knows it. */
  readonly mark: string;
  run(command: ForeignCommand): Promise<ForeignResult>;
  /** Resolves when nothing of it is left. */
  close(): Promise<void>;
}

type Host = Pick<LoaderHost, "runForeign" | "self">;

export function openPlace(host: Host): PackagePlace {
  const workspace = mkdtempSync(join(tmpdir(), temporaryName("workspace", host.self)));
  return {
    workspace,
    mark: `skillflow-result-${randomUUID()}:`,
    run: (command) => host.runForeign(command),
    close: () => removeWorkspace(workspace),
  };
}

/** Most are empty: looking is over sooner than waiting for what need not be done. */
async function removeWorkspace(workspace: string): Promise<void> {
  chmodSync(workspace, 0o700);
  if (readdirSync(workspace).length === 0) rmdirSync(workspace);
  else await rm(workspace, { recursive: true, force: true, maxRetries: 3 });
}

/**
 * Sandboxes of packages that were run before, started ahead of their next run by a process that lives long. All that is
 * started is what every run has: the empty workspace, the limits, and an interpreter that reads its input. It shows the
 * package's folder, and has read nothing in it.
 *
 * - One is used once and then gone: nothing of a run can reach the next.
 * - It is of one package as it was opened: what is opened anew, or is another, has its own. Nobody's arguments, secrets or
 *   blobs are in it; those that need more than arguments, which come by its input when it is used, are not started ahead.
 * - The package's files are compared when it is used, as ever, and its folder must be the one that is shown.
 * - It ends when it has waited for a while, with those who started it at the latest: also where they are killed.
 */
export interface PackagesAhead {
  /** The place that waits for a run of this package, if any does: the caller's alone from now on. */
  take(target: RunnablePackage): PackagePlace | undefined;
  /** Starts one for its next run; none where one waits already. */
  start(target: RunnablePackage, host: Host, commandIn: (place: PackagePlace) => ForeignCommand): void;
  /** Ends all that wait, and starts no more. Resolves when nothing of them is left. */
  close(): Promise<void>;
}

/** Does the work after a while; gives what keeps it from being done. */
export type Later = (work: () => void, ms: number) => () => void;

/** Of different packages at once: the one that was started first goes for another. */
const MOST = 4;
const IDLE_MS = 60_000;

export function openPackagesAhead(later: Later = afterWhile): PackagesAhead {
  const waiting = new Map<RunnablePackage, Waiting>();
  const ending = new Set<Promise<void>>();
  let isClosed = false;

  const pick = (target: RunnablePackage) => {
    const found = waiting.get(target);
    waiting.delete(target);
    found?.stop();
    return found;
  };
  const end = (found: Waiting | undefined) => {
    const ended = found?.place.close().catch(() => undefined); // what is left of it is swept by the next start of a program
    if (ended === undefined) return;
    ending.add(ended);
    void ended.finally(() => ending.delete(ended));
  };
  return {
    take(target) {
      const found = pick(target);
      if (found && found.shows === identityOf(target)) return found.place;
      end(found);
      return undefined;
    },
    start(target, host, commandIn) {
      if (isClosed || waiting.has(target)) return;
      const [first] = waiting.keys();
      if (first && waiting.size >= MOST) end(pick(first));
      const shows = identityOf(target);
      const place = shows === undefined ? undefined : startIfPossible(host, commandIn);
      if (shows === undefined || !place) return;
      waiting.set(target, { place, shows, stop: later(() => end(pick(target)), IDLE_MS) });
      void place.over.then(() => {
        if (waiting.get(target)?.place === place) end(pick(target));
      });
    },
    async close() {
      isClosed = true;
      for (const target of [...waiting.keys()]) end(pick(target));
      await Promise.all(ending);
    },
  };
}

interface Waiting {
  readonly place: WaitingPlace;
  /** Which folder was at the package's path when it was started. */
  readonly shows: string;
  readonly stop: () => void;
}

/** Whose sandbox is up already, with its interpreter in it, which waits for what it is to do. */
interface WaitingPlace extends PackagePlace {
  /** Settles when the sandbox is gone, used or not. */
  readonly over: Promise<unknown>;
}

/** What keeps one from being started is told by the next run, which needs the same. */
function startIfPossible(...parts: Parameters<typeof startPlace>): WaitingPlace | undefined {
  try {
    return startPlace(...parts);
  } catch {
    return undefined;
  }
}

/** The command that it is started with is the one that it is run with, but for what a turn brings. */
function startPlace(host: Host, commandIn: (place: PackagePlace) => ForeignCommand): WaitingPlace {
  const place = openPlace(host);
  let give: (turn: Turn | undefined) => void = () => undefined;
  const turn = new Promise<Turn | undefined>((resolve) => {
    give = resolve;
  });
  const start = async () => host.runForeign(commandIn(place), turn);
  const result = start();
  const over = result.catch(() => undefined); // whoever runs it is told
  return {
    ...place,
    over,
    run({ stdin, signal, limits: { wallMs } }) {
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

/** Another folder at the same path is another; undefined for what cannot be seen. */
function identityOf({ directory }: RunnablePackage): string | undefined {
  try {
    const { dev, ino } = statSync(directory, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

const afterWhile: Later = (work, ms) => {
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
};
