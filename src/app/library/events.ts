import type { RunEvent } from "../../core/engine/event/event.ts";

/** Events of a run for any number of readers. Each reader starts at the first event and gets its own copies. */
interface EventLog extends AsyncIterable<RunEvent> {
  readonly events: readonly RunEvent[];
  push(event: RunEvent): void;
  /** Ends the log: the run is over, or `failure` prevented its start. */
  end(failure?: { readonly error: unknown }): void;
}

export function createEventLog(): EventLog {
  const events: RunEvent[] = [];
  let waiting: (() => void)[] = [];
  let ended: { readonly failure?: { readonly error: unknown } } | undefined;
  const wake = () => {
    const woken = waiting;
    waiting = [];
    for (const go of woken) go();
  };
  return {
    events,
    push(event) {
      events.push(event);
      wake();
    },
    end(failure) {
      ended = failure ? { failure } : {};
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (let next = 0; ; ) {
        const event = events[next];
        if (event) {
          next++;
          yield structuredClone(event);
        } else if (ended) {
          if (ended.failure) throw ended.failure.error;
          return;
        } else {
          await new Promise<void>((resolve) => waiting.push(resolve));
        }
      }
    },
  };
}
