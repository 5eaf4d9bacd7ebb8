import type { Call } from "../event/call.ts";
import type { Entry, StepKey } from "../event/event.ts";
import type { Prompt } from "../event/prompt.ts";
import type { Purpose } from "../event/reply.ts";
import type { EvidenceQuestion } from "../evidence/question.ts";

/** What inner runs wait for side by side: started inside one record, which takes all that is done by then. */
export interface Together {
  readonly kind: "together";
  readonly key: StepKey;
  readonly steps: readonly SingleStep[];
}

/** What has to happen next. `reach` asks who would read what a call writes. `decide` needs nothing but its record; `ask` a model's reply; `call` some handlers; `examine` what blobs hold. */
export type Step = Together | SingleStep;
/** What one run takes: `at` names an inner one. */
export type SingleStep = Taken & { readonly at?: string | undefined };
type Taken =
  | {
      readonly kind: "decide";
      readonly key: StepKey;
      readonly bodies: readonly Entry[];
      /** It announces calls that change nothing: they may be announced, and made, once more. */
      readonly isRepeatable?: boolean;
      /** It says what another process may have begun: where that went on, something else was recorded under its key. */
      readonly isDoubt?: boolean;
    }
  | {
      readonly kind: "ask";
      readonly key: StepKey;
      readonly purpose: Purpose;
      readonly node: string;
      readonly model: string;
      readonly prompt: Prompt;
      /** Why the answer before this call did not count. */
      readonly rejected?: readonly string[];
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

export type AskStep = Extract<SingleStep, { kind: "ask" }>;
