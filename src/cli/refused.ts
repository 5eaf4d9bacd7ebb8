import { hintFor, SkillflowError } from "../core/base/errors.ts";
import { defined } from "../core/base/values.ts";
import type { StoredRun } from "../core/engine/ports.ts";
import { redactRefusal } from "../core/engine/record/content.ts";
import { describeBrokenOff, describeRefusal } from "../core/engine/result/refusal.ts";
import { githubActions } from "./ci/ci.ts";
import type { Action, Flags, Io } from "./io.ts";
import { jsonText } from "./terminal/terminal.ts";

/** What is known of a run as it begins. */
export interface Beginning {
  workflow?: string;
  /** Present once it is in its store. */
  recorded?: () => Promise<StoredRun>;
  /** It came to its end, and its result is told. */
  isTold: boolean;
}

/** An action that tells programs and CI as a document, too, why it could not begin or what broke it off. */
export function tellingRefusal(
  action: (io: Io, args: readonly string[], flags: Flags, beginning: Beginning) => Promise<number>,
): Action {
  return async (io, args, flags) => {
    const beginning: Beginning = { isTold: false };
    try {
      refuseBoth(flags);
      return await action(io, args, flags, beginning);
    } catch (thrown) {
      const error = withHints(thrown, io);
      const { workflow, recorded, isTold } = beginning;
      if (!recorded) await tellRefusal(io, error, flags.json === true, workflow);
      else if (!isTold && flags.json === true) await io.out(jsonText(describeBrokenOff(await recorded(), error)));
      throw error;
    }
  };
}

/** The error with hints that name the options of this surface. */
export function withHints(error: unknown, { writeOption }: Pick<Io, "writeOption">): unknown {
  if (!(error instanceof SkillflowError) || !writeOption) return error;
  const { code, message, cause, repeatable, diagnostics } = error;
  const details = {
    cause,
    diagnostics,
    ...defined("repeatable", repeatable),
    ...defined("hint", hintFor(error, writeOption)),
  };
  return new SkillflowError(code, message, details);
}

export async function tellRefusal(io: Io, error: unknown, asJson: boolean, workflow?: string): Promise<void> {
  await githubActions(io)?.refused(error);
  if (asJson) await io.out(jsonText(redactRefusal(describeRefusal(error, workflow), io.clean)));
}

/** Of a command whose document is no run's: `{exitCode, error, diagnostics}`. */
export async function tellError(io: Io, error: unknown): Promise<void> {
  const { exitCode, error: reason, diagnostics } = redactRefusal(describeRefusal(error, undefined), io.clean);
  await io.out(jsonText({ exitCode, error: reason, diagnostics }));
}

function refuseBoth({ json, stream }: Flags): void {
  if (json !== true || stream !== true) return;
  throw new SkillflowError("usage.invalid", "--json and --stream are two answers to one question", {
    hint: "--json prints the result at the end, --stream every event as it happens",
  });
}
