import { runHere, type Screen } from "./in-process.ts";
import type { Ended } from "./program.ts";

/**
 * Calls `runHere` if code of a checkout may write to relative paths: the process changes to the working directory. One
 * call at a time.
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
