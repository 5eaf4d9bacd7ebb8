import { callCodeOf, messageOf } from "../core/base/errors.ts";
import type { Redactor } from "../core/base/redact/redact.ts";
import type { Call } from "../core/engine/event/call.ts";
import type { Change } from "../core/engine/event/patch.ts";
import { changeProblem } from "../core/engine/plan/proposal.ts";
import { type Failure, refusedCall } from "../core/skill/skill.ts";

/** Returns the change that a call would propose, as it is recorded, or why it cannot be proposed. */
export type AskChange = (call: Call) => Promise<Change | Failure>;

interface Changing {
  /** Returns the change of the working copy that the call belongs to. */
  readonly changeOf: (
    call: Call,
  ) => Promise<Omit<Change, "files"> & { readonly files: readonly Change["files"][number][] }>;
  readonly redactor: Redactor;
}

/** Asks the working copy. A change with a secret is refused, because it must be recorded as it will be applied. */
export function createChange({ changeOf, redactor }: Changing): AskChange {
  return async (call) => {
    try {
      const { base, diff, files } = await changeOf(call);
      const change = {
        base,
        diff,
        files: files.map(({ path, change, mode, sha256 }) => ({ path, change, mode, sha256 })),
      };
      const problem = changeProblem(change, redactor);
      return problem === undefined ? change : refusedCall(problem, "input.invalid");
    } catch (error) {
      return refusedCall(redactor.text(messageOf(error)), callCodeOf(error));
    }
  };
}
