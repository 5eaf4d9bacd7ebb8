import { checkValues } from "../../document/value-rule.ts";
import type { NodeResult } from "../event/node-result.ts";
import { contextFor, skillsAt } from "./route.ts";
import type { Scene } from "./scene.ts";

/** Returns the result that ends a visit before the model is asked, if a requirement is not met. */
export function unmetRequirement({ program, state, visit, node: { requires } }: Scene): NodeResult | undefined {
  if (!requires) return undefined;
  const complaints = checkValues(requires, contextFor(requires, state, skillsAt(program, state, visit.node)));
  if (complaints.length === 0) return undefined;
  const why = complaints.join("; ");
  return requires.on_fail === "skip"
    ? { status: "skipped", data: { skipped_reason: `requires not met: ${why}` }, toolCalls: [] }
    : { status: "failed", data: { error: `requires failed: ${why}` }, toolCalls: [] };
}
