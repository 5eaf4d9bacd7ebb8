import type { Json } from "../../../core/base/values.ts";
import type { RunEvent } from "../../../core/engine/event/event.ts";
import type { FoundClaim } from "../../../core/engine/finding/finding.ts";
import type { State } from "../../../core/engine/fold/state.ts";
import { type Compared, compare, joinAnswers, type RecheckAnswer } from "../../../core/engine/recheck/compare.ts";
import type { RecheckPlan, Repeat } from "./recheck.ts";

/** Result of a recheck, as `--json` prints it. */
export interface Recheck {
  readonly schema: "skillflow.recheck/1";
  /** The run of the recheck itself. */
  readonly run: string;
  /** The run whose claims were checked again. */
  readonly of: string;
  readonly answer: RecheckAnswer;
  readonly claims: readonly RecheckedClaim[];
}

export interface RecheckedClaim {
  readonly claim: string;
  readonly answer: RecheckAnswer;
  readonly reason?: string;
  /** The quoted record or number, and what the repeated call has instead. */
  readonly then: Json;
  readonly now: Json;
  /** The repeated call that decided the answer. Null if the claim cites none. */
  readonly call: { readonly ref: string; readonly tool: string; readonly input: Json } | null;
}

/** Results of the repeated calls, by node and step. */
export type Repeated = ReadonlyMap<string, { readonly output: Json } | { readonly error: string }>;

/** Reads the results of the repeated calls. */
export function repeatedIn(state: State, events: readonly RunEvent[]): Repeated {
  const repeated = new Map<string, { readonly output: Json } | { readonly error: string }>();
  for (const event of events) {
    if (event.type !== "tool:call" || event.step === undefined) continue;
    const call = state.run.calls.get(event.ref);
    if (call?.outcome) repeated.set(`${call.node}/${event.step}`, call.outcome);
  }
  return repeated;
}

type Judged = RecheckedClaim & Pick<Compared, "isSilent">;

/** Compares the claims with the repeated calls. */
export function answerRecheck(run: string, plan: RecheckPlan, repeated: Repeated): Recheck {
  const judged = plan.claims.map((claim) => judgeClaim(claim, plan, repeated));
  const claims = judged.map(({ isSilent: _, ...claim }, index): RecheckedClaim => {
    const silent = judged.find((other, at) => at !== index && other.isSilent);
    if (claim.answer !== "held" || typeof claim.then !== "number" || !silent) return claim;
    return { ...claim, answer: "inconclusive", reason: `another series is 0 or absent now: ${silent.claim}` };
  });
  const answer = joinAnswers(claims.map((claim) => claim.answer));
  return { schema: "skillflow.recheck/1", run, of: plan.of.record.run, answer, claims };
}

function judgeClaim({ text, quotes }: FoundClaim, { repeats }: RecheckPlan, repeated: Repeated): Judged {
  const compared = quotes.flatMap(({ ref, quote }): Judged[] => {
    const repeat = repeats.get(ref);
    if (!repeat) return [];
    const call = { ref, tool: repeat.tool, input: repeat.input };
    return [{ claim: text, ...compareQuote(repeat, quote, repeated), call }];
  });
  const answer = joinAnswers(compared.map((one) => one.answer));
  const deciding = compared.find((one) => one.answer === answer);
  if (deciding) return deciding;
  const reason = "it cites no call that can be repeated";
  const then = null;
  return { claim: text, answer: "inconclusive", reason, then, now: null, call: null };
}

function compareQuote({ step, reason, symptoms, isWidened }: Repeat, quote: string, repeated: Repeated): Compared {
  const symptom = symptoms.get(quote);
  const then = symptom?.number?.value ?? symptom?.unit.value ?? quote;
  const unknown = (why: string): Compared => ({ answer: "inconclusive", reason: why, then, now: null });
  if (step === undefined) return unknown(reason ?? "the call was not repeated");
  if (!symptom) return unknown("the quoted record cannot be found in the recorded result");
  const now = repeated.get(`again/${step}`);
  if (!now) return unknown("source unavailable: the call was not made");
  if ("error" in now) return unknown(`source unavailable: ${now.error}`);
  const wider = isWidened ? repeated.get(`traffic/${step}`) : undefined;
  return compare(symptom, now.output, wider && "output" in wider ? wider.output : undefined);
}
