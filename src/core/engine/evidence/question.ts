import type { BlobInfo } from "../../base/blobs.ts";
import { isObject, type JsonObject } from "../../base/values.ts";
import type { EvidenceEvaluator } from "../../document/workflow/evaluator.ts";
import type { RecordedCall } from "../event/call.ts";
import type { EventBody } from "../event/event.ts";
import { resultText } from "../event/prompt.ts";
import { STATE_TOOLS } from "../tools/state.ts";
import { type Evidence, examine } from "./check.ts";

/** A check of one answer's claims, and its result. */

/** Input of the check, except the texts of blobs. */
export interface EvidenceQuestion {
  readonly node: string;
  readonly evaluator: EvidenceEvaluator;
  readonly data: JsonObject;
  /** The cited results. Other references are not results of this run. */
  readonly results: readonly CitedResult[];
  readonly mostOfExcerpt: number;
}

export interface CitedResult {
  readonly call: RecordedCall;
  readonly isTeam: boolean;
  readonly blobs: readonly BlobInfo[];
}

/** Checks the claims. `blobs` are the texts of the cited results' blobs, by id. */
export function answerQuestion(question: EvidenceQuestion, blobs: ReadonlyMap<string, string>): EventBody {
  const { node, evaluator, data, results, mostOfExcerpt } = question;
  const byRef = new Map(results.map((result) => [result.call.ref, result]));
  const evidenceOf = (ref: string): Evidence => {
    const result = byRef.get(ref);
    return result
      ? evidenceIn(result, blobs)
      : { problem: `${ref || "nothing"} is no result of this run`, isTeam: false };
  };
  const { claims, missing, excerpts } = examine(evaluator.rule, data, { evidenceOf, mostOfExcerpt });
  return {
    type: "evidence:checked",
    node,
    evaluator: evaluator.name,
    claims: claims.map(({ cites, ...claim }) => ({ ...claim, cites: cites.map((cite) => ({ ...cite })) })),
    ...(missing === undefined ? {} : { missing }),
    excerpts: Object.fromEntries(excerpts),
  };
}

/** Returns the evidence in a result. Planned, failed, rejected and unfinished calls are not evidence. */
function evidenceIn({ call, isTeam, blobs }: CitedResult, texts: ReadonlyMap<string, string>): Evidence {
  const { ref, outcome } = call;
  if (!outcome) return { problem: `${ref} has no result`, isTeam };
  if ("error" in outcome || (isObject(outcome.output) && Boolean(outcome.output.error))) {
    return { problem: `${ref} failed`, isTeam };
  }
  if (STATE_TOOLS.includes(call.tool)) {
    return { problem: `${ref} is what an earlier run noted, no evidence of this one`, isTeam };
  }
  if (call.planned) {
    return { problem: `${ref} was planned, not carried out`, isTeam };
  }
  const kept = blobs.flatMap(({ blob_id }) => texts.get(blob_id) ?? []);
  return { source: { texts: [resultText(outcome.output), ...kept] }, isTeam };
}
