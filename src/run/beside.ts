import type { Entry, EventBody, StepKey } from "../core/engine/event/event.ts";
import { isUnder } from "../core/engine/fold/limits.ts";
import type { SingleStep } from "../core/engine/fold/step.ts";
import { type Alarm, createAlarm, type Timed } from "./budget.ts";

/** Steps of inner runs that are running in parallel, and their results that are not recorded yet. */
export interface Beside extends Pick<Timed, "budgets"> {
  readonly underWay: Map<StepKey, Begun>;
  readonly settling: ReturnType<typeof createSettling>;
}

interface Begun {
  entries?: readonly Entry[];
  defect?: { readonly error: unknown };
}

export function nothingBeside(): Beside {
  return { underWay: new Map(), budgets: new Set(), settling: createSettling() };
}

interface Taking {
  readonly begin: (step: SingleStep, alarm: Alarm) => readonly Entry[] | Promise<readonly Entry[]>;
  /** True in a replay: waits for all steps, because they were recorded together. */
  readonly takesAll: boolean;
}

/** Starts the steps that are not running yet, waits until at least one finishes, and returns all finished ones. */
export async function takeBeside(
  beside: Beside,
  steps: readonly SingleStep[],
  { begin, takesAll }: Taking,
): Promise<readonly Entry[]> {
  const { underWay, settling, budgets } = beside;
  const keys = steps.map(({ key }) => key);
  for (const step of steps) if (!underWay.has(step.key)) beginBeside(beside, step, begin);
  const isOver = (key: StepKey) => isSettled(underWay.get(key));
  await settling.until(() => (takesAll ? keys.every(isOver) : keys.some(isOver)));
  await nextTurn();
  const ending = [...budgets].filter(({ key, isEnded }) => keys.includes(key) && isEnded()).map(({ key }) => key);
  await settling.until(() => ending.every(isOver));
  return collect(beside, keys.filter(isOver));
}

function beginBeside({ underWay, settling }: Beside, step: SingleStep, begin: Taking["begin"]): void {
  const alarm = createAlarm();
  const begun: Begun = {};
  underWay.set(step.key, begun);
  const over = (how: Begun) => {
    alarm.close();
    Object.assign(begun, how);
    settling.tell();
  };
  Promise.resolve(begin(step, alarm)).then(
    (entries) => over({ entries }),
    (error: unknown) => over({ defect: { error } }),
  );
}

function isSettled(begun: Begun | undefined): boolean {
  return begun?.entries !== undefined || begun?.defect !== undefined;
}

/** Stops the steps inside a node's visit that ends, and returns their results so far. */
export async function cutOffIn(run: Beside, exit: StepKey): Promise<readonly Entry[]> {
  const prefix = exit.slice(0, exit.lastIndexOf("/exit/"));
  const inside = [...run.underWay.keys()].filter((each) => isUnder(each, prefix));
  for (const budget of run.budgets) if (inside.includes(budget.key)) budget.endWith(LEFT);
  await run.settling.until(() => inside.every((each) => isSettled(run.underWay.get(each))));
  return collect(run, inside).filter((entry) => !isEnding(entry));
}

const LEFT: Entry = { type: "run:interrupt", reason: "its node has ended" };

/** Collects the results. An event that stopped several steps is recorded once, at the end. */
function collect({ underWay }: Beside, keys: readonly StepKey[]): Entry[] {
  const all = keys.flatMap((key) => {
    const { entries = [], defect } = underWay.get(key) ?? {};
    if (defect) throw defect.error;
    underWay.delete(key);
    return entries.map((entry): Entry => ({ ...entry, key }));
  });
  const endings = new Map(all.filter(isEnding).map((entry) => [JSON.stringify({ ...entry, key: "" }), entry]));
  return [...all.filter((entry) => !isEnding(entry)), ...endings.values()];
}

function isEnding({ type }: EventBody): boolean {
  return type === "run:interrupt" || type === "limit:reached";
}

function createSettling() {
  let wake: (() => void) | undefined;
  return {
    tell: () => wake?.(),
    async until(isOver: () => boolean): Promise<void> {
      while (!isOver()) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** Resolves after the event loop has handled signals, timers and connections. */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
