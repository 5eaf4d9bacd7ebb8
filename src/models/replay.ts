import { isErrorCode, SkillflowError } from "../core/base/errors.ts";
import type { EventOf, RunEvent, StepKey } from "../core/engine/event/event.ts";
import type { ChangedPrompt, Prompt } from "../core/engine/event/prompt.ts";
import type { Model, StoredRun } from "../core/engine/ports.ts";
import { recordedPrompts } from "../core/engine/record/recorded-prompts.ts";

/** Replies for steps that a resumed run repeated: those of each attempt, or always the latest. */
export type Resumed = "each" | "latest";

export interface ReplayOptions {
  readonly recording: StoredRun;
  readonly resumed: Resumed;
  readonly digest: (prompt: Prompt) => string;
  readonly onChanged: (changed: ChangedPrompt) => void;
}

/** Creates a model that replays the recorded replies by step, even if the prompt has changed. */
export function replayModel({ recording, resumed, digest, onChanged }: ReplayOptions): Model {
  const stepOf = (key: StepKey) => {
    // A call after a model switch answers the same step.
    const asked = key.replace(/@\d+(?=~\d+$|$)/, "");
    return resumed === "each" ? asked : asked.replace(/~\d+$/, "");
  };
  const answers = new Map<StepKey, Answer>();
  for (const event of recording.events) {
    if (event.type === "model:reply" || event.type === "model:error") answers.set(stepOf(event.key), event);
  }
  const promptOf = recordedPrompts(recording);
  return {
    provider: "replay",
    async reply(prompt, { key, node, signal }) {
      signal.throwIfAborted();
      const answer = answers.get(stepOf(key));
      if (!answer) {
        throw new SkillflowError("replay.missing", `the recording has no reply for step ${key} at node ${node}`, {
          hint: "record it again with a live model: this run diverged from the recording",
        });
      }
      if (answer.type === "model:error") throw errorOf(answer);
      if (digest(prompt) !== answer.prompt) {
        const recorded = promptOf(answer);
        const same = recorded && digest(recorded) === answer.prompt ? recorded : undefined;
        onChanged({ key, node, recorded: same, now: prompt });
      }
      return { parts: answer.parts, stop: answer.stop, usage: answer.usage };
    },
  };
}

type Answer = RunEvent & (EventOf<"model:reply"> | EventOf<"model:error">);

function errorOf({ code, message, hint }: EventOf<"model:error">): SkillflowError {
  if (isErrorCode(code)) return new SkillflowError(code, message, { hint });
  return new SkillflowError("model.garbled", `${message} (recorded as ${code}, which this version does not have)`);
}
