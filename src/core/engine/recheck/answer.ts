import * as z from "zod";
import { type Fitting, type Json, lazy } from "../../base/values.ts";
import { json, lazyObject } from "../../skill/field.ts";
import type { RunRecord } from "../event/record.ts";
import type { State } from "../fold/state.ts";
import { ANSWERS, type Compared, compare, joinAnswers } from "./compare.ts";

/** Answer of a recheck. It depends on its record alone: the plan is the run's input, the repeated calls are its events. */

const quoted = () => z.object({ ref: z.string(), quote: z.string() });
const leaf = () => z.object({ path: z.string(), value: z.number(), before: z.number(), known: names().optional() });
/** Digests of the names of the series at that time. Older rechecks have none. */
const names = () => z.array(z.string());
const unit = () => z.object({ field: z.string(), value: json(), text: z.string(), isRow: z.literal(true).optional() });

/** Input of a recheck: the claims, and the calls that they cite. */
const recheckPlanSchema = lazyObject(() => ({
  of: z.string(),
  claims: z.array(z.object({ text: z.string(), quotes: z.array(quoted()) })),
  repeats: z.array(
    z.object({
      ref: z.string(),
      tool: z.string(),
      input: json(),
      /** Step that repeats the call. Undefined if the call is not repeated. */
      step: z.string().optional(),
      /** Reason why it is not repeated. */
      reason: z.string().optional(),
      /** The call reads a repository or what time does not change: its result is a cause, not a symptom. */
      isFixed: z.boolean().optional(),
      /** Start of the repeated range, in milliseconds since 1970. */
      since: z.number(),
      /** End of the recorded range, if it had one. */
      until: z.number().optional(),
      /** Quotes that the recorded result shows, and what they show. */
      symptoms: z.array(z.object({ quote: z.string(), unit: unit(), number: leaf().optional() })),
      /** The call is repeated without its selecting fields if it finds nothing. */
      isWidened: z.boolean(),
    }),
  ),
}));
export type RecheckPlan = Fitting<typeof recheckPlanSchema>;
export type Repeat = RecheckPlan["repeats"][number];

const answered = () => z.enum(ANSWERS);

/** Result of a recheck, as `--json` prints it. */
export const recheckSchema = lazy(() => {
  const then = json().describe("The quoted record or number");
  const now = json().describe("What the repeated call returns instead");
  const call = z.object({ ref: z.string(), tool: z.string(), input: json() }).nullable();
  const claims = z.object({
    claim: z.string(),
    answer: answered(),
    reason: z.string().optional(),
    ...{ then, now },
    call: call.describe("The repeated call that decided the answer. Null if the claim cites none"),
  });
  return z.object({
    schema: z.literal("skillflow.recheck/1"),
    run: z.string().describe("The run of the recheck itself"),
    of: z.string().describe("The run whose claims were checked again"),
    answer: answered(),
    claims: z.array(claims),
  });
});
export type Recheck = Fitting<typeof recheckSchema>;
export type RecheckedClaim = Recheck["claims"][number];

/** Results of the repeated calls, by node and step. */
interface Repeated {
  readonly calls: ReadonlyMap<string, { readonly output: Json } | { readonly error: string }>;
  /** No limit or interruption ended the recheck before all calls were made. */
  readonly isWhole: boolean;
}

type Judged = RecheckedClaim & Pick<Compared, "isSilent"> & { readonly isFixed: boolean };

export type JudgedRecheck = NonNullable<ReturnType<typeof judgeRecheck>>;

/**
 * Compares the claims with the repeated calls, as far as they are made. Claims that show no symptom do not decide. Undefined
 * if the record is not of a recheck.
 */
export function judgeRecheck({ kind, run, input }: RunRecord, state: State) {
  if (kind !== "recheck") return undefined;
  const { success, data: plan } = recheckPlanSchema().safeParse(input);
  if (!success) return undefined;
  const repeated = repeatedIn(state);
  const repeats = new Map(plan.repeats.map((repeat) => [repeat.ref, repeat]));
  const judged = plan.claims.map((claim) => judgeClaim(claim, repeats, repeated));
  const silents = judged.filter(({ isSilent }) => isSilent);
  const claims = judged.map((own): RecheckedClaim => {
    const { isSilent: _, isFixed: __, ...claim } = own;
    const silent = silents.find((other) => other !== own);
    if (claim.answer !== "held" || typeof claim.then !== "number" || !silent) return claim;
    return { ...claim, answer: "inconclusive", reason: `another series is 0 or absent now: ${silent.claim}` };
  });
  const counting = claims.filter((_, at) => !judged[at]?.isFixed);
  const answer = joinAnswers(counting.map((claim) => claim.answer));
  const recheck: Recheck = { schema: "skillflow.recheck/1", run, of: plan.of, answer, claims };
  /** First claim that has the answer and counts for it. */
  const deciding = counting.find((claim) => claim.answer === answer);
  return { recheck, deciding };
}

function repeatedIn({ run, end }: State): Repeated {
  const made = [...run.calls.values()];
  const outcomes = made.flatMap(({ node, step, outcome }) => (outcome ? [[`${node}/${step}`, outcome] as const] : []));
  return { calls: new Map(outcomes), isWhole: end?.status === "succeeded" };
}

function judgeClaim(
  { text, quotes }: RecheckPlan["claims"][number],
  repeats: ReadonlyMap<string, Repeat>,
  repeated: Repeated,
): Judged {
  const compared = quotes.flatMap(({ ref, quote }): Judged[] => {
    const repeat = repeats.get(ref);
    if (!repeat) return [];
    const call = { ref, tool: repeat.tool, input: repeat.input };
    const isFixed = repeat.isFixed === true;
    return [{ claim: text, ...compareQuote(repeat, quote, repeated), call, isFixed }];
  });
  const symptoms = compared.filter(({ isFixed }) => !isFixed);
  const answer = joinAnswers(symptoms.map((one) => one.answer));
  const deciding = symptoms.find((one) => one.answer === answer) ?? compared[0];
  return deciding ?? { claim: text, ...unknown(null, "it cites no result of a call"), call: null, isFixed: true };
}

function compareQuote(
  { step, reason, symptoms, since, until, isWidened }: Repeat,
  quote: string,
  made: Repeated,
): Compared {
  const found = symptoms.find((symptom) => symptom.quote === quote);
  const then = found?.number?.value ?? found?.unit.value ?? quote;
  if (step === undefined) return unknown(then, reason ?? "the call was not repeated");
  if (!found) return unknown(then, "the quoted record cannot be found in the recorded result");
  const now = made.calls.get(`again/${step}`);
  if (!now) return unknown(then, "source unavailable: the call was not made");
  if ("error" in now) return unknown(then, `source unavailable: ${now.error}`);
  const wide = isWidened ? made.calls.get(`traffic/${step}`) : undefined;
  const wider = wide && "output" in wide ? wide.output : undefined;
  const compared = compare(found, { now: now.output, wider, since, until });
  if (compared.answer !== "inconclusive" || !isWidened) return compared;
  if (wide && "error" in wide) return { ...compared, reason: `source unavailable without filters: ${wide.error}` };
  return wide || made.isWhole
    ? compared
    : { ...compared, reason: "the recheck ended before the call without filters was made" };
}

function unknown(then: Json, reason: string): Compared {
  return { answer: "inconclusive", reason, then, now: null };
}
