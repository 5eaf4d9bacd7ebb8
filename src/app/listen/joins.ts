import { SkillflowError } from "../../core/base/errors.ts";
import { isObject } from "../../core/base/values.ts";
import type { StateDelta } from "../../core/engine/ports.ts";
import { endOf } from "../../core/engine/result/waiting.ts";
import type { Workspace } from "../host.ts";
import { hasUnwritten } from "../runs/memory.ts";

/** Which run is about a fingerprint, from when its alert was accepted: a cool-down counts from its end on alone. */

const STATE = "_listen_joined";
const KEPT = { keepMs: 62 * 24 * 60 * 60 * 1000, maxEntries: 1000 };

/** A run that never comes to its end does not swallow its alerts for ever. */
const MOST_JOINED_MS = 24 * 60 * 60 * 1000;

export function openJoins({ state, store }: Workspace) {
  return {
    async underWay(key: string): Promise<string | undefined> {
      const entries = (await state.read([STATE])).get(STATE) ?? [];
      const entry = entries.find((one) => one.key === key);
      const run = isObject(entry?.data) ? entry.data.run : undefined;
      if (typeof run !== "string" || Date.now() - Date.parse(entry?.last_seen ?? "") > MOST_JOINED_MS) return undefined;
      try {
        const stored = await store.read(run);
        const end = endOf(stored.events);
        return end === undefined || end.status === "waiting" || hasUnwritten(stored) ? run : undefined;
      } catch (error) {
        // It was to be recorded, and was not; or it was pruned.
        if (error instanceof SkillflowError && error.code === "run.unknown") return undefined;
        throw error;
      }
    },
    /** What is to be kept of a run that begins. */
    begun(key: string, run: string): StateDelta["states"] {
      const at = new Date().toISOString();
      const change = { key, first: at, last: at, runs: 1, seen: 1, data: { run } };
      return { [STATE]: { changes: [change], limits: KEPT } };
    },
  };
}
