import { type ErrorCode, SkillflowError } from "../core/errors.ts";
import type { EventOf, RunEvent } from "../core/event.ts";
import { fold } from "../core/fold.ts";
import { next } from "../core/interpreter.ts";
import type { Model, StepKey, StoredRun } from "../core/ports.ts";
import { linkProgram } from "../core/program.ts";
import type { ChangedPrompt, Prompt } from "../core/prompt.ts";
import { begin } from "../core/state.ts";

export interface ReplayOptions {
  readonly recording: StoredRun;
  readonly digest: (prompt: Prompt) => string;
  readonly onChanged: (changed: ChangedPrompt) => void;
}

/** Answers every call with what the recorded run was answered at the same step, whatever the prompt now is. */
export function replayModel({ recording, digest, onChanged }: ReplayOptions): Model {
  const answers = new Map<StepKey, Answer>();
  for (const event of recording.events) {
    if (event.type === "model:reply" || event.type === "model:error") answers.set(stepOf(event.key), event);
  }
  return {
    provider: "replay",
    async reply(prompt, { key, node, signal }) {
      signal.throwIfAborted();
      const answer = answers.get(stepOf(key));
      if (!answer) {
        throw new SkillflowError("replay.missing", `the recording has no reply for step ${key} at node ${node}`, {
          hint: "the run took another way than the recorded one; record it again with a live model",
        });
      }
      if (answer.type === "model:error") {
        throw new SkillflowError(answer.code as ErrorCode, answer.message, { hint: answer.hint });
      }
      if (digest(prompt) !== answer.prompt) {
        const recorded = recordedPrompt(recording, answer);
        const same = recorded && digest(recorded) === answer.prompt ? recorded : undefined;
        onChanged({ key, node, recorded: same, now: prompt });
      }
      return { parts: answer.parts, stop: answer.stop, usage: answer.usage };
    },
  };
}

type Answer = RunEvent & (EventOf<"model:reply"> | EventOf<"model:error">);

/** A step's key without the mark of a resumed run. */
function stepOf(key: StepKey): StepKey {
  return key.replace(/~\d+$/, "");
}

/** What was asked at a step: a function of the record and the events before it. */
function recordedPrompt({ record, events }: StoredRun, answer: Answer): Prompt | undefined {
  const program = linkProgram(record);
  let state = begin(record, answer.epoch);
  for (const event of events) {
    if (event.seq === answer.seq) {
      const step = next(program, state);
      return step?.kind === "ask" ? step.prompt : undefined;
    }
    state = fold(state, event);
  }
  return undefined;
}
