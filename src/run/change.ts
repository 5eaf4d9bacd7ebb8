import { callCodeOf, messageOf } from "../core/base/errors.ts";
import type { Redactor } from "../core/base/redact/redact.ts";
import { checkedAs } from "../core/base/values.ts";
import type { Call } from "../core/engine/event/call.ts";
import type { Change, Patch } from "../core/engine/event/patch.ts";
import { changeProblem } from "../core/engine/plan/proposal.ts";
import { type Failure, refusedCall } from "../core/skill/skill.ts";

/** Returns the change that a call would propose, as it is recorded, or why it cannot be proposed. */
export type AskChange = (call: Call) => Promise<Change | Failure>;

/** A change as the working copy reports it. Modes other than 100755 are plain files. */
interface CopyChange {
  readonly base: string;
  readonly diff: string;
  readonly files: readonly (Omit<Change["files"][number], "mode"> & { readonly mode: string })[];
}

interface Changing {
  readonly changeOf: (call: Call) => Promise<CopyChange>;
  readonly redactor: Redactor;
}

/** Asks the working copy. A change with a secret is refused, because it must be recorded as it will be applied. */
export function createChange({ changeOf, redactor }: Changing): AskChange {
  return async (call) => {
    try {
      const { base, diff, files } = await changeOf(call);
      const change: Change = {
        base,
        diff,
        files: files.map(({ path, change, mode, sha256 }) => ({
          ...{ path, change, sha256 },
          mode: mode === "100755" ? mode : "100644",
        })),
      };
      const problem = changeProblem({ ...change, ...checkedAs<Partial<Patch>>(call.input) }, redactor);
      return problem === undefined ? change : refusedCall(problem, "input.invalid");
    } catch (error) {
      return refusedCall(redactor.text(messageOf(error)), callCodeOf(error));
    }
  };
}
