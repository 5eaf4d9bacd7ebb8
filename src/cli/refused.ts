import { shownError } from "../app/host.ts";
import { usageError } from "../core/base/errors.ts";
import type { StoredRun } from "../core/engine/ports.ts";
import { redactRefusal } from "../core/engine/record/content.ts";
import { describeBrokenOff, describeFailed, describeRefusal, type Unanswered } from "../core/engine/result/refusal.ts";
import { githubActions } from "./ci/ci.ts";
import type { Action, Flags, Io } from "./io.ts";
import { jsonText } from "./terminal/terminal.ts";

export interface Beginning {
  workflow?: string;
  /** Set once the run is in its store. */
  recorded?: () => Promise<StoredRun>;
  /** Whether the run ended and its result was printed. */
  isTold: boolean;
}

/** Process as a command sees it that starts or continues a run. */
export interface Starting extends Io {
  readonly beginning: Beginning;
}

/** Wraps an action so that programs and CI also get its refusal or failure as a document: a result, or no answer. */
export function tellingRefusal(
  action: (io: Starting, args: readonly string[], flags: Flags) => Promise<number>,
  name?: Unanswered["name"],
): Action {
  return async (io, args, flags) => {
    const beginning: Beginning = { isTold: false };
    try {
      refuseBoth(flags);
      return await action({ ...io, beginning }, args, flags);
    } catch (thrown) {
      const error = shownError(thrown, io.host);
      const { workflow, recorded, isTold } = beginning;
      const answer = name && { name, of: io.continued?.record.run };
      if (!recorded) await tellRefusal(io, error, { asJson: flags.json === true, workflow, answer });
      else if (!isTold && flags.json === true) {
        const stored = await recorded();
        if (answer) await tellError(io, error, { ...answer, run: stored.record.run });
        else await io.out(jsonText(describeBrokenOff(stored, error)));
      }
      throw error;
    }
  };
}

interface Refused {
  readonly asJson: boolean;
  readonly workflow?: string | undefined;
  readonly answer?: Unanswered | undefined;
}

export async function tellRefusal(io: Io, error: unknown, { asJson, workflow, answer }: Refused): Promise<void> {
  await githubActions(io)?.refused(error);
  if (asJson && answer) await tellError(io, error, answer);
  else if (asJson) await io.out(jsonText(redactRefusal(describeRefusal(error, workflow), io.clean)));
}

/** Prints an error document for commands that do not return a run: `{exitCode, error, diagnostics}`. */
export async function tellError(io: Io, error: unknown, answer?: Unanswered): Promise<void> {
  await io.out(jsonText(describeFailed(redactRefusal(describeRefusal(error, undefined), io.clean), answer)));
}

function refuseBoth({ json, stream }: Flags): void {
  if (json !== true || stream !== true) return;
  throw usageError(
    "--json and --stream cannot be used together",
    "use --json to print the result at the end, or --stream to print each event as it happens",
  );
}
