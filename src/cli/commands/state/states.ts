import { openState } from "../../../app/adapters/states.ts";
import { openStore } from "../../../app/adapters/stores.ts";
import { type SkillflowError, usageError } from "../../../core/base/errors.ts";
import { didYouMean } from "../../../core/base/values.ts";
import type { StateEntry } from "../../../core/engine/event/state-entry.ts";
import type { StateStore } from "../../../core/engine/ports.ts";
import { APPLIED } from "../../../core/engine/state/delta.ts";
import { projectOptions, text } from "../../flags.ts";
import type { Flags, Io } from "../../io.ts";

/** Shared parts of the state commands. */

export function statesAt(io: Io, flags: Flags): StateStore {
  return openState(io.host, text(flags, "state"), { queue: openStore(io.host, projectOptions(flags).store).queue });
}

/** Lists all states except the internal list of applied deltas. */
export async function namesIn(store: StateStore): Promise<readonly string[]> {
  return (await store.list()).filter((name) => name !== APPLIED);
}

/** Returns the entries of a state. Throws if it does not exist. */
export async function entriesIn(store: StateStore, name: string): Promise<readonly StateEntry[]> {
  const names = await namesIn(store);
  if (names.includes(name)) return (await store.read([name])).get(name) ?? [];
  throw usageError(`there is no state "${name}"`, didYouMean(name, names) ?? "run skillflow state list");
}

export function unknownKey(name: string, key: string, entries: readonly StateEntry[]): SkillflowError {
  const keys = entries.map((entry) => entry.key);
  return usageError(`${name} has no entry "${key}"`, didYouMean(key, keys) ?? `run skillflow state show ${name}`);
}
