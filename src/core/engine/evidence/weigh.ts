import type { JsonObject } from "../../base/values.ts";
import type { Evaluator, EvidenceEvaluator } from "../../document/workflow/evaluator.ts";
import { countEvidence, describeFaults } from "./check.ts";
import { type Checked, modesOf, withoutUnsupported } from "./claims.ts";

/** Evaluates an answer by its supported and unsupported claims. Returns the result, and the remaining data. */
export function weigh(evaluator: EvidenceEvaluator, data: JsonObject, found: Checked) {
  const { rule } = evaluator;
  const { missing, texts = [], refuted = [] } = found;
  const counts = countEvidence(evaluator, found);
  const least = rule.min_supported ?? 1;
  const unsupported = counts.claims - counts.supported + texts.length + refuted.filter(({ holds }) => !holds).length;
  const mayLack = modesOf(evaluator).unsupported !== "fail";
  const pass = missing === undefined && counts.supported >= least && (mayLack || unsupported === 0);
  const complaints = describeFaults(rule, found);
  const summary = missing ?? `quotes found for ${counts.supported} of ${counts.claims} claims`;
  const wanted = counts.supported < least && missing === undefined ? `, ${least} at least are wanted` : "";
  const reasoning = pass ? summary : [`${summary}${wanted}`, ...complaints].join("; ");
  return {
    pass,
    reasoning,
    data: missing === undefined ? withoutUnsupported(evaluator, data, found) : data,
    counts,
    /** One complaint for each claim with a fault. */
    complaints,
  };
}

/** Removes from an answer what its evaluators dropped so far. `examined` is keyed by evaluator index. */
export function dataLeft(
  answered: JsonObject,
  evaluators: readonly Evaluator[],
  examined: ReadonlyMap<number, Checked>,
): JsonObject {
  return evaluators.reduce((data, evaluator, index) => {
    const found = examined.get(index);
    return evaluator.kind === "evidence" && found ? weigh(evaluator, data, found).data : data;
  }, answered);
}
