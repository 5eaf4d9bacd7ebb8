import { setTimeout as sleep } from "node:timers/promises";
import { memberAt } from "../../core/base/values.ts";
import type { ListenFile } from "../../core/document/listen/listen-file.ts";
import type { RunEvent } from "../../core/engine/event/event.ts";
import type { StateDelta, StateStore, States } from "../../core/engine/ports.ts";

/** Daily limits for all runs that webhooks start. The state keeps the counts, so a restart does not reset them. */
export type Day = ReturnType<typeof openDay>;

const STATE = "_listen";
const KEPT = { keepMs: 62 * 24 * 60 * 60 * 1000 };
const USUAL_RUNS = 500;

export function openDay(state: StateStore, { limits }: ListenFile) {
  const { max_runs = USUAL_RUNS, max_cost_usd } = limits?.per_day ?? {};
  const used = async () => usedOn(dateOf(now()), await state.read([STATE]));
  const add = async (id: string, counted: Readonly<Record<string, number>>, also: StateDelta["states"] = {}) => {
    const at = now();
    const change = { key: dateOf(at), first: at, last: at, runs: 0, seen: 1, add: counted };
    const states = { ...also, [STATE]: { changes: [change], limits: KEPT } };
    return usedOn(dateOf(at), await state.apply({ id, states }));
  };
  const begun = `the daily limit of ${max_runs} runs is reached`;
  const isOver = (costUsd: number) => max_cost_usd !== undefined && costUsd >= max_cost_usd;
  return {
    /** Returns why no more runs may start today, or undefined if there is room. */
    async full(): Promise<string | undefined> {
      const { runs, costUsd } = await used();
      if (runs >= max_runs) return begun;
      return isOver(costUsd) ? `the daily limit of $${max_cost_usd} is reached` : undefined;
    },
    /** Counts a run once a day and stores `also` with it. Returns why the run may not start if the limit is exceeded. */
    async begin(run: string, also: StateDelta["states"]): Promise<string | undefined> {
      const { runs } = await add(`${run}/taken/${dateOf(now())}`, { runs: 1 }, also);
      return runs > max_runs ? begun : undefined;
    },
    /** Adds the cost of a run since its previous end. */
    async spend(run: string, events: readonly RunEvent[]): Promise<void> {
      const ends = events.flatMap(({ type }, index) => (type === "workflow:end" ? [index] : []));
      const cost_usd = max_cost_usd === undefined ? 0 : costOf(events.slice(ends.at(-2) ?? 0));
      if (cost_usd > 0) await add(`${run}/spent/${ends.length}`, { cost_usd });
    },
    /** Waits until the day's budget allows a run. Resolves to false if `stop` is aborted first. */
    async affords(stop: AbortSignal): Promise<boolean> {
      while (isOver((await used()).costUsd)) {
        if (stop.aborted) return false;
        await sleep(Math.min(msToTomorrow(), LOOK_MS), undefined, { signal: stop }).catch(() => undefined);
      }
      return true;
    },
  };
}

export function msToTomorrow(): number {
  return DAY_MS - (Date.now() % DAY_MS);
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Interval between checks: clocks change, and a restart may raise the limits. */
const LOOK_MS = 10 * 60 * 1000;

const now = () => new Date().toISOString();
const dateOf = (at: string) => at.slice(0, 10);

function usedOn(date: string, states: States) {
  const data = states.get(STATE)?.find(({ key }) => key === date)?.data;
  const countOf = (name: string) => Number(memberAt(data, name) ?? 0) || 0;
  return { runs: countOf("runs"), costUsd: countOf("cost_usd") };
}

function costOf(events: readonly RunEvent[]): number {
  return events.reduce((sum, event) => sum + (event.type === "model:reply" ? (event.usage?.costUsd ?? 0) : 0), 0);
}
