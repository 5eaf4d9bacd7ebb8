import { shownError } from "../app/host.ts";
import { usageError } from "../core/base/errors.ts";
import type { StoredRun } from "../core/engine/ports.ts";
import { redactRefusal } from "../core/engine/record/content.ts";
import { describeBrokenOff, describeRefusal } from "../core/engine/result/refusal.ts";
import { githubActions } from "./ci/ci.ts";
import type { Action, Flags, Io } from "./io.ts";
import { jsonText } from "./terminal/terminal.ts";

/** Facts about a run that begins. */
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

/** Wraps an action so that programs and CI also get its refusal or failure as a document. */
export function tellingRefusal(
  action: (io: Starting, args: readonly string[], flags: Flags) => Promise<number>,
): Action {
  return async (io, args, flags) => {
    const beginning: Beginning = { isTold: false };
    try {
      refuseBoth(flags);
      return await action({ ...io, beginning }, args, flags);
    } catch (thrown) {
      const error = shownError(thrown, io.host);
      const { workflow, recorded, isTold } = beginning;
      if (!recorded) await tellRefusal(io, error, { asJson: flags.json === true, workflow });
      else if (!isTold && flags.json === true) await io.out(jsonText(describeBrokenOff(await recorded(), error)));
      throw error;
    }
  };
}

export async function tellRefusal(
  io: Io,
  error: unknown,
  { asJson, workflow }: { readonly asJson: boolean; readonly workflow?: string | undefined },
): Promise<void> {
  await githubActions(io)?.refused(error);
  if (asJson) await io.out(jsonText(redactRefusal(describeRefusal(error, workflow), io.clean)));
}

/** Prints an error document for commands that do not return a run: `{exitCode, error, diagnostics}`. */
export async function tellError(io: Io, error: unknown): Promise<void> {
  const { exitCode, error: reason, diagnostics } = redactRefusal(describeRefusal(error, undefined), io.clean);
  await io.out(jsonText({ exitCode, error: reason, diagnostics }));
}

function refuseBoth({ json, stream }: Flags): void {
  if (json !== true || stream !== true) return;
  throw usageError(
    "--json and --stream cannot be used together",
    "use --json to print the result at the end, or --stream to print each event as it happens",
  );
}
