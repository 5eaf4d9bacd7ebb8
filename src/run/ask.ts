import type { BlobInfo } from "../core/base/blobs.ts";
import { type ErrorCode, isOutage, SkillflowError } from "../core/base/errors.ts";
import { defined } from "../core/base/values.ts";
import type { EventBody } from "../core/engine/event/event.ts";
import type { Usage } from "../core/engine/event/prompt.ts";
import type { Step } from "../core/engine/fold/step.ts";
import type { Model, ModelCall } from "../core/engine/ports.ts";
import { digestPrompt } from "./digest.ts";
import { type Stopping, signalOf, withSignal } from "./stop.ts";

/** Source of delays and randomness, which tests replace. */
export interface Clock {
  /** Resolves after some milliseconds, or rejects with the signal's reason. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Returns a number in [0, 1). */
  random(): number;
}

export interface AskOptions {
  /** Finds the model for a name in a workflow or setting. */
  readonly findModel: (name: string) => Promise<{ readonly model: Model; readonly name: string }>;
  readonly priceOf: (model: string, usage: Usage) => number | null;
  readonly clock: Clock;
  readonly onProgress: (node: string, message: string) => void;
  /** Returns the bytes of an image, or undefined if the run does not have it. */
  readonly imageOf?: (image: BlobInfo) => Promise<Uint8Array | undefined>;
  readonly onAnswering: (node: string, characters: number) => void;
}

export type Ask = (step: AskStep, stopping: Stopping) => Promise<EventBody>;
type AskStep = Extract<Step, { kind: "ask" }>;

/** Errors that end the run, because a recording or script has no answer. No edge handles them. */
const ENDS_RUN: ReadonlySet<ErrorCode> = new Set(["replay.missing", "script.exhausted"]);

const MOST_TRIES = 6;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** Longest wait that a provider may ask for. If it asks for more, the quota is used up. */
const LONGEST_ASKED_WAIT_MS = 120_000;

/** Creates a function that calls the model, retries if that may help, adds the cost, and returns an event. */
export function createAsk(options: AskOptions): Ask {
  return async (step, stopping) => {
    const { node, purpose } = step;
    for (let tries = 1; ; tries++) {
      try {
        return await reply(options, step, stopping);
      } catch (error) {
        if (stopping.aborted || !(error instanceof SkillflowError)) throw error;
        const wait = tries < MOST_TRIES ? waitBefore(error, tries, options.clock) : undefined;
        if (wait === undefined) {
          const { code, message, hint } = error;
          const told = { node, code, message, ...(hint ? { hint } : {}) };
          if (ENDS_RUN.has(code)) return { type: "run:fail", ...told, ...afterRejection(step, message) };
          const { fallback: to, model: from, visit } = step;
          if (to !== undefined && isOutage(code)) {
            options.onProgress(node, `${message}; asking ${to} instead`);
            return { type: "model:switch", node, visit, from, to, reason: message, code, purpose };
          }
          return { type: "model:error", ...told, purpose, model: step.model };
        }
        const seconds = (wait / 1000).toFixed(1);
        options.onProgress(node, `${error.message}; trying again in ${seconds} s (${tries} of ${MOST_TRIES - 1})`);
        await options.clock.sleep(wait, signalOf(stopping));
      }
    }
  };
}

/** Reports the rejected reply as the cause if its replacement is missing. */
function afterRejection({ rejected }: AskStep, message: string) {
  if (!rejected) return {};
  const hint = "correct the last answer, or add the answer that follows its rejection";
  return { message: `the last answer is invalid: ${rejected.join("; ")} (then ${message})`, hint };
}

async function reply(options: AskOptions, step: AskStep, stopping: Stopping): Promise<EventBody> {
  const { node, purpose, key, prompt } = step;
  const { model, name } = await options.findModel(step.model);
  let characters = 0;
  const onDelta = (text: string) => {
    characters += text.length;
    options.onAnswering(node, characters);
  };
  const told = { key, purpose, node, model: name, onDelta, ...defined("image", options.imageOf) };
  const call: ModelCall = withSignal(told, stopping);
  const { parts, stop, usage } = await model.reply(prompt, call);
  return {
    type: "model:reply",
    node,
    purpose,
    model: `${model.provider}:${name}`,
    parts: [...parts],
    stop,
    usage: usage && {
      inputTokens: usage.inputTokens,
      cachedTokens: usage.cachedTokens,
      outputTokens: usage.outputTokens,
      costUsd: options.priceOf(name, usage),
    },
    prompt: digestPrompt(prompt),
  };
}

/** Returns the delay before the next try, as the provider asks or exponential with jitter. Undefined means give up. */
function waitBefore(error: SkillflowError, tries: number, clock: Clock): number | undefined {
  if (!error.repeatable) return undefined;
  const { afterMs } = error.repeatable;
  if (afterMs !== undefined) return afterMs <= LONGEST_ASKED_WAIT_MS ? afterMs : undefined;
  const backoff = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1));
  return backoff * (0.5 + clock.random() / 2);
}
