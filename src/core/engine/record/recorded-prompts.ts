import { next } from "../decide/interpreter.ts";
import { linkProgram } from "../decide/link.ts";
import type { Envelope } from "../event/event.ts";
import type { Prompt } from "../event/prompt.ts";
import { fold } from "../fold/fold.ts";
import { begin } from "../fold/state.ts";
import type { StoredRun } from "../ports.ts";

/**
 * Returns a function that rebuilds the prompt of each answer from the record and the earlier events, folded in order.
 * The record holds only a digest of each prompt. The digests differ if this version would ask otherwise.
 */
export function recordedPrompts({
  record,
  events,
}: StoredRun): (answer: Pick<Envelope, "seq" | "epoch" | "key">) => Prompt | undefined {
  const program = linkProgram(record);
  let state = begin(record);
  let position = 0;
  return ({ seq, epoch, key }) => {
    if (seq < position) [state, position] = [begin(record), 0];
    for (; position < seq; position++) {
      const event = events[position];
      if (event) state = fold(state, event);
    }
    state.run.epoch = epoch;
    const step = next(program, state);
    const asked = step?.kind === "together" ? step.steps.find(({ key: each }) => each === key) : step;
    return asked?.kind === "ask" ? asked.prompt : undefined;
  };
}
