import * as z from "zod";
import { checkedAs, type Fitting } from "../../base/values.ts";
import { lazyObject } from "../../skill/field.ts";
import { evidenceCountsSchema } from "../event/node-result.ts";
import { type RunResult, resultSchema } from "../result/result.ts";
import { plainRef } from "../tools/own-tools.ts";

/** Node of the workflow that answers a question. */
export const ASK = "ask";

/** Answer to a question about a run, as `--json` prints it. */
export const askSchema = lazyObject(() => ({
  schema: z.literal("skillflow.ask/1"),
  run: z.string().describe("The run of the question itself"),
  of: z.string().describe("The run that the question is about"),
  answer: z.string().describe("The model's answer. Only the supported claims, one per line, if some were removed"),
  claims: z
    .array(z.object({ claim: z.string(), evidence: z.array(z.object({ ref: z.string(), quote: z.string() })) }))
    .describe("Supported claims, with the quotes that were found in the results"),
  evidence: evidenceCountsSchema().pick({ claims: true, supported: true, dropped: true }),
  usage: resultSchema().shape.usage,
}));
export type Ask = Fitting<typeof askSchema>;

/**
 * Describes the answer to a question about the run `of`. Undefined if the run of the question has no answer. An answer
 * without a supported claim fails its run.
 */
export function askOf(of: string, { evidence, results, usage, run }: RunResult): Ask | undefined {
  const { data, evals } = results[ASK] ?? {};
  if (!data || !evals) return undefined;
  const { answer, claims } = checkedAs<Pick<Ask, "answer" | "claims">>(data);
  const { claims: count, supported, dropped } = evidence ?? { claims: 0, supported: 0, dropped: 0 };
  // The model's text may still state a claim that was removed.
  const said = isPartial(claims.length, count) ? claims.map(({ claim }) => claim).join("\n") : answer;
  return {
    ...{ schema: "skillflow.ask/1", run, of, answer: said },
    claims: claims.map(({ claim, evidence: cites }) => ({
      claim,
      evidence: cites.map(({ ref, quote }) => ({ ref: plainRef(ref), quote })),
    })),
    evidence: { claims: count, supported, dropped },
    usage,
  };
}

/** Writes the start of an answer. Its text is undefined if it consists of its claims, which are listed anyway. */
export function leadOf({ answer, claims, evidence }: Pick<Ask, "answer" | "claims" | "evidence">) {
  const removed = evidence.claims - claims.length;
  const marks = [
    ...(claims.length === 0 ? ["No claim of this answer is supported by the record."] : []),
    ...(removed > 0 ? [`${removed} of ${evidence.claims} claims removed: the quoted results do not show them`] : []),
  ];
  return { marks, text: isPartial(claims.length, evidence.claims) ? undefined : answer };
}

function isPartial(kept: number, given: number): boolean {
  return kept > 0 && kept < given;
}

export interface EarlierQuestion {
  readonly run: string;
  readonly at: string;
  readonly question: string;
  /** Undefined while there is none. */
  readonly answer: Ask | undefined;
}
