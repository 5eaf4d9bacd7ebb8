import type { Entry, Purpose, StepKey } from "../event.ts";
import type { EvidenceQuestion } from "../evidence/question.ts";
import type { Call } from "../own/call.ts";
import type { Prompt } from "../prompt.ts";
import type { State } from "./state.ts";

/** What has to happen next. `reach` asks who would read what a call writes. `decide` needs nothing but its record; `ask` a model's reply; `call` some handlers; `examine` what blobs hold. */
export type Step =
  | {
      readonly kind: "decide";
      readonly key: StepKey;
      readonly bodies: readonly Entry[];
      /** It announces calls that change nothing: they may be announced, and made, once more. */
      readonly isRepeatable?: boolean;
    }
  | {
      readonly kind: "ask";
      readonly key: StepKey;
      readonly purpose: Purpose;
      readonly node: string;
      readonly model: string;
      readonly prompt: Prompt;
    }
  | {
      /** Evidence of which a part is kept beside the run: `answerQuestion` once the blobs were read. */
      readonly kind: "examine";
      readonly key: StepKey;
      readonly node: string;
      readonly question: EvidenceQuestion;
    }
  | { readonly kind: "reach"; readonly key: StepKey; readonly node: string; readonly call: Call }
  | { readonly kind: "call"; readonly key: StepKey; readonly node: string; readonly calls: readonly Call[] };

/** Limits are checked before each model call (O8). */
export function ask(state: State, step: Omit<Extract<Step, { kind: "ask" }>, "kind">): Step {
  const { max_cost_usd, max_tokens, timeout_ms } = state.run.settings.limits;
  const { costUsd, inputTokens, outputTokens } = state.usage;
  if (max_cost_usd !== undefined && costUsd >= max_cost_usd) {
    return limitReached(
      step.key,
      "max_cost_usd",
      `the limit of $${max_cost_usd} was reached ($${costUsd.toFixed(4)} spent)`,
    );
  }
  if (max_tokens !== undefined && inputTokens + outputTokens >= max_tokens) {
    const used = inputTokens + outputTokens;
    return limitReached(step.key, "max_tokens", `the limit of ${max_tokens} tokens was reached (${used} used)`);
  }
  if (timeout_ms !== undefined && state.run.activeMs - state.run.timeFrom >= timeout_ms) {
    return limitReached(step.key, "timeout", timeoutMessage(timeout_ms));
  }
  return { kind: "ask", ...step };
}

export function limitReached(
  key: StepKey,
  limit: "max_steps" | "max_tokens" | "max_cost_usd" | "timeout",
  message: string,
): Step {
  return { kind: "decide", key: `${key}/${limit}`, bodies: [{ type: "limit:reached", limit, message }] };
}

export function timeoutMessage(ms: number): string {
  return `the time limit of ${ms / 1000} s was reached`;
}
