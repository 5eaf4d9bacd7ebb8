import { SkillflowError } from "../../core/base/errors.ts";

export interface Watching {
  readonly note?: ((line: string) => void) | undefined;
  /** Registers a handler for the first signal that asks the process to stop. */
  readonly onInterrupt?: ((stop: () => void) => void) | undefined;
}

/** Reports that the database does not answer. Ends what waits for it if the user interrupts the process meanwhile. */
export function watchOutage(place: string, { note = nothing, onInterrupt = nothing }: Watching) {
  const late = new Set<object>();
  const waiting = new Set<(error: SkillflowError) => void>();
  let over: SkillflowError | undefined;
  let listens = false;
  const interrupt = () => {
    if (late.size === 0) return;
    over = new SkillflowError("store.failed", `the database ${place} does not answer`, {
      hint: "the record has everything up to there: resume the run once the database answers",
    });
    for (const reject of waiting) reject(over);
  };
  const lag = (work: object) => {
    if (late.size === 0) note(`the database ${place} does not answer: waiting`);
    late.add(work);
    if (!listens) onInterrupt(interrupt);
    listens = true;
  };
  const catchUp = (work: object) => {
    if (late.delete(work) && late.size === 0 && !over) note(`the database ${place} answers again`);
  };
  /** Follows work that takes long although the database answers. */
  const unlessOver = <Value>(work: Promise<Value>): Promise<Value> =>
    new Promise((resolve, reject) => {
      waiting.add(reject);
      work.then(resolve, reject).finally(() => waiting.delete(reject));
      if (over) reject(over);
    });
  return {
    unlessOver,
    /** Follows work that is repeated until the database answers. Rejects with `store.failed` after an interrupt. */
    async during<Value>(work: Promise<Value>): Promise<Value> {
      const timer = setTimeout(() => lag(work), PATIENCE_MS);
      const settled = () => {
        clearTimeout(timer);
        catchUp(work);
      };
      work.then(settled, settled);
      return unlessOver(work);
    },
  };
}

const PATIENCE_MS = 5000;

const nothing = () => undefined;
