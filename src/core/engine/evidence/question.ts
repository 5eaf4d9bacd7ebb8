import type { BlobInfo } from "../../base/blobs.ts";
import { isObject, type Json, type JsonObject } from "../../base/values.ts";
import type { EvidenceEvaluator } from "../../document/workflow/evaluator.ts";
import type { RecordedCall } from "../event/call.ts";
import type { EventBody } from "../event/event.ts";
import type { CiteFault } from "../event/node-result.ts";
import { resultText } from "../event/prompt.ts";
import { STATE_TOOLS } from "../tools/state.ts";
import { type Evidence, examine, INPUT_REF } from "./check.ts";
import type { EarlierClaim } from "./claims.ts";
import { sentLines, withoutEchoes, withoutSent } from "./echoes.ts";

/** A check of one answer's claims, and its result. */

/** Input of the check, except the texts of blobs. */
export interface EvidenceQuestion {
  readonly node: string;
  readonly evaluator: EvidenceEvaluator;
  readonly data: JsonObject;
  /** The cited results. Other references are not results of this run. */
  readonly results: readonly CitedResult[];
  /** The run's input, which can be cited as `input`. */
  readonly input: Json;
  readonly earlier: readonly EarlierClaim[];
  readonly mostOfExcerpt: number;
}

export interface CitedResult {
  readonly call: RecordedCall;
  readonly isTeam: boolean;
  /** True if the tool writes. */
  readonly isWrite: boolean;
  /** True if the tool runs code that the model wrote. */
  readonly isOwnCode: boolean;
  /** Inputs of earlier writes through the same skill. Text that they sent is not evidence when it is read back. */
  readonly sent: readonly Json[];
  /** Fields of the result that repeat the input, if the tool declares them. */
  readonly echoes?: readonly string[];
  readonly blobs: readonly BlobInfo[];
}

/** Checks the claims. `blobs` are the texts of the cited results' blobs, by id. */
export function answerQuestion(question: EvidenceQuestion, blobs: ReadonlyMap<string, string>): EventBody {
  const { node, evaluator, data, results, input, earlier, mostOfExcerpt } = question;
  const byRef = new Map(results.map((result) => [result.call.ref, result]));
  const evidenceOf = (ref: string): Evidence => {
    if (ref === INPUT_REF) return { source: { texts: [resultText(input)] }, isTeam: false };
    const result = byRef.get(ref);
    if (result) return evidenceIn(result, blobs);
    return { problem: `${ref || "nothing"} is not a result of this run`, code: "unknown_ref", isTeam: false };
  };
  const { rule } = evaluator;
  const found = examine({ rule, data, evidenceOf, input, earlier, mostOfExcerpt });
  const { claims, texts, refuted, missing, excerpts } = found;
  return {
    type: "evidence:checked",
    node,
    evaluator: evaluator.name,
    claims: claims.map(({ cites, unbound, ...claim }) => ({
      ...claim,
      ...(unbound ? { unbound: [...unbound] } : {}),
      cites: cites.map((cite) => ({ ...cite })),
    })),
    ...(texts.length > 0 ? { texts: [...texts] } : {}),
    ...(refuted.length > 0
      ? { refuted: refuted.map((one) => ({ ...one, nodes: [...one.nodes], cites: [...one.cites] })) }
      : {}),
    ...(missing === undefined ? {} : { missing }),
    excerpts: Object.fromEntries(excerpts),
  };
}

/** Returns the evidence in a result. Planned, failed, rejected and unfinished calls and writes are not evidence. */
function evidenceIn(
  { call, isTeam, isWrite, isOwnCode, sent, echoes, blobs }: CitedResult,
  read: ReadonlyMap<string, string>,
): Evidence {
  const { ref, outcome, input } = call;
  const none = (problem: string, code: CiteFault = "no_evidence"): Evidence => {
    return { problem: `${ref} ${problem}`, code, isTeam };
  };
  if (call.planned) return none("was planned, not carried out");
  // Before the outcome, because whether a write failed may be unknown after a crash. The reason must not depend on that.
  if (isWrite) return none("is the result of a write, which is not evidence");
  if (!outcome) return none("has no result");
  if ("error" in outcome || (isObject(outcome.output) && Boolean(outcome.output.error))) return none("failed");
  if (STATE_TOOLS.includes(call.tool)) return none("is what an earlier run noted, which is not evidence of this one");
  if (isOwnCode)
    return none("is the result of code that the model wrote. Cite the results that the code read", "own_code");
  const lines = sentLines(sent);
  const kept = blobs.flatMap(({ blob_id }) => read.get(blob_id) ?? []);
  const own = withoutEchoes(outcome.output, input, echoes);
  const texts = [own, ...kept].map((part) => resultText(withoutSent(part, lines)));
  return { source: { texts }, repeats: own !== outcome.output, isTeam };
}
