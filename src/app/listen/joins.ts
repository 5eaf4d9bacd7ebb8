import { SkillflowError } from "../../core/base/errors.ts";
import { isObject } from "../../core/base/values.ts";
import type { StateDelta } from "../../core/engine/ports.ts";
import { endOf } from "../../core/engine/result/waiting.ts";
import type { Workspace } from "../host.ts";
import { hasUnwritten } from "../runs/memory.ts";

/** State that maps a fingerprint to its run from acceptance on. A cool-down starts only when the run ends. */

const STATE = "_listen_joined";
const KEPT = { keepMs: 62 * 24 * 60 * 60 * 1000, maxEntries: 1000 };

/** Longest time to join alerts to a run, so that a run that never ends does not swallow them forever. */
const MOST_JOINED_MS = 24 * 60 * 60 * 1000;

/** Returns undefined if there is no such run. */
export async function ifKnown<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SkillflowError && error.code === "run.unknown") return undefined;
    throw error;
  }
}

export function openJoins({ state, store }: Workspace) {
  return {
    async underWay(key: string): Promise<string | undefined> {
      const entries = (await state.read([STATE])).get(STATE) ?? [];
      const entry = entries.find((one) => one.key === key);
      const run = isObject(entry?.data) ? entry.data.run : undefined;
      if (typeof run !== "string" || Date.now() - Date.parse(entry?.last_seen ?? "") > MOST_JOINED_MS) return undefined;
      // The run may never have been recorded, or have been pruned.
      const stored = await ifKnown(() => store.read(run));
      if (!stored) return undefined;
      const end = endOf(stored.events);
      return end === undefined || end.status === "waiting" || hasUnwritten(stored) ? run : undefined;
    },
    /** Returns the state change that records a new run. */
    begun(key: string, run: string): StateDelta["states"] {
      const at = new Date().toISOString();
      const change = { key, first: at, last: at, runs: 1, seen: 1, data: { run } };
      return { [STATE]: { changes: [change], limits: KEPT } };
    },
  };
}
