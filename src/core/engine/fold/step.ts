import type { Call } from "../event/call.ts";
import type { Entry, StepKey } from "../event/event.ts";
import type { Prompt } from "../event/prompt.ts";
import type { Purpose } from "../event/reply.ts";
import type { EvidenceQuestion } from "../evidence/check.ts";

/** Parallel steps of inner runs. One record covers them all and takes everything that is finished by then. */
export interface Together {
  readonly kind: "together";
  readonly key: StepKey;
  readonly steps: readonly SingleStep[];
}

/** Next step: record a decision, ask a model, examine blobs, find out the audience of a call, or make calls. */
export type Step = Together | SingleStep;
/** Step of one run. `at` names an inner run. */
export type SingleStep = Taken & { readonly at?: string | undefined };
type Taken =
  | {
      readonly kind: "decide";
      readonly key: StepKey;
      readonly bodies: readonly Entry[];
      /** Announces only calls that change nothing, so they may be announced and made again. */
      readonly isRepeatable?: boolean;
      /** Reports calls that another process may have started. If it continued, its own record has this key. */
      readonly isDoubt?: boolean;
    }
  | {
      readonly kind: "ask";
      readonly key: StepKey;
      readonly purpose: Purpose;
      readonly node: string;
      readonly model: string;
      /** Model to ask next if this one cannot answer. Undefined if it is the last of its list. */
      readonly fallback: string | undefined;
      /** Step key of the visit. */
      readonly visit: string;
      readonly prompt: Prompt;
      /** Problems of the previous answer, which was rejected. */
      readonly rejected?: readonly string[];
    }
  | {
      /** Checks evidence that is partly stored as blobs. `answerQuestion` runs after they are read. */
      readonly kind: "examine";
      readonly key: StepKey;
      readonly node: string;
      readonly question: EvidenceQuestion;
    }
  | {
      readonly kind: "reach";
      readonly key: StepKey;
      readonly node: string;
      readonly call: Call;
      /** Subject of the question: who reads the write (the default), or the change that it proposes. */
      readonly asks?: "change";
    }
  | { readonly kind: "call"; readonly key: StepKey; readonly node: string; readonly calls: readonly Call[] };

export type AskStep = Extract<SingleStep, { kind: "ask" }>;
