import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { findTests } from "../../../app/testing/find.ts";
import { openTestWorkspace, type TestedCase } from "../../../app/testing/run-tests.ts";
import { SkillflowError } from "../../../core/base/errors.ts";
import { projectOptions } from "../../flags.ts";
import { type Flags, type Io, interruptSignal } from "../../io.ts";
import { describeFailure, painter } from "../../terminal/terminal.ts";
import { runOnce } from "./test.ts";

/** Delay that merges several writes of an editor into one change. */
const SETTLE_MS = 80;

/** Runs the tests, and re-runs those that depend on a changed file, until it is interrupted. */
export async function watchTests(io: Io, places: readonly string[], flags: Flags): Promise<number> {
  const signal = interruptSignal(io);
  const watched = watchFiles();
  const files = new Map<string, ReadonlySet<string>>();
  let due: readonly string[] = findTests(io.host, places);
  while (!signal.aborted) {
    for (const path of due) files.set(path, new Set([path, ...(files.get(path) ?? [])]));
    const round = { workspace: openTestWorkspace(io.host, projectOptions(flags)), places: due, signal };
    const onTested = (tested: readonly TestedCase[]) => {
      for (const path of due) files.set(path, filesOf(path, tested));
    };
    await runOnce(io, flags, { ...round, onTested }).catch((error: unknown) => {
      if (!(error instanceof SkillflowError)) throw error;
      return io.err(describeFailure(error, flags, io));
    });
    if (signal.aborted) break;
    watched.follow(files);
    await io.err(painter(io, flags)("dim", "\nwaiting for a change; press Ctrl-C to stop\n"));
    due = await watched.next(files, signal);
  }
  watched.close();
  return 130;
}

function filesOf(path: string, tested: readonly TestedCase[]): ReadonlySet<string> {
  const own = tested.filter(({ ready }) => ready.loaded.path === path);
  return new Set([path, ...own.flatMap(({ ready, runs }) => [...ready.files, ...runs.flatMap((run) => run.files)])]);
}

type Files = ReadonlyMap<string, ReadonlySet<string>>;

/** Watches folders instead of files, because editors may replace a file as a whole. */
function watchFiles() {
  const folders = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let wake: () => void = () => undefined;
  const dueOf = (files: Files) =>
    [...files].filter(([, each]) => [...each].some((path) => changed.has(path))).map(([path]) => path);
  return {
    follow(files: Files): void {
      for (const folder of new Set([...files.values()].flatMap((each) => [...each].map((path) => dirname(path))))) {
        if (folders.has(folder)) continue;
        const watcher = watch(folder, (_event, name) => {
          if (name !== null) changed.add(join(folder, basename(String(name))));
          wake();
        });
        folders.set(folder, watcher);
      }
    },
    /** Waits for a change and returns the tests that it affects. */
    async next(files: Files, signal: AbortSignal): Promise<readonly string[]> {
      signal.addEventListener("abort", () => wake(), { once: true });
      while (!signal.aborted && dueOf(files).length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      await new Promise((done) => setTimeout(done, SETTLE_MS));
      const due = dueOf(files);
      changed.clear();
      return due;
    },
    close() {
      for (const watcher of folders.values()) watcher.close();
    },
  };
}
