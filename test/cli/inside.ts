import { runHere, type Screen } from "./in-process.ts";
import type { Ended } from "./program.ts";

/**
 * `runHere` where code of a checkout may write beside itself: the working directory is this process's own too. One at a
 * time.
 */
export function runInside(args: readonly string[], screen: Screen): Promise<Ended> {
  const ended = turn.then(async () => {
    const here = process.cwd();
    process.chdir(screen.cwd);
    try {
      return await runHere(args, { ...screen, cwd: process.cwd() });
    } finally {
      process.chdir(here);
    }
  });
  turn = ended.catch(() => undefined);
  return ended;
}

let turn: Promise<unknown> = Promise.resolve();
