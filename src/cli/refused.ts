import { redactRefusal } from "../core/content.ts";
import { SkillflowError } from "../core/errors.ts";
import { describeRefusal } from "../core/refusal.ts";
import { githubActions } from "./ci.ts";
import type { Action, Flags, Io } from "./main.ts";
import { jsonText } from "./terminal.ts";

/** What is known of a run before it begins. */
export interface Beginning {
  workflow?: string;
  /** An event of it was seen. */
  hasBegun: boolean;
}

/** An action whose refusal is told as a document too, to programs and to CI. */
export function tellingRefusal(
  action: (io: Io, args: readonly string[], flags: Flags, beginning: Beginning) => Promise<number>,
): Action {
  return async (io, args, flags) => {
    const beginning: Beginning = { hasBegun: false };
    try {
      refuseBoth(flags);
      return await action(io, args, flags, beginning);
    } catch (error) {
      if (!beginning.hasBegun) await tellRefusal(io, error, flags.json === true, beginning.workflow);
      throw error;
    }
  };
}

export async function tellRefusal(io: Io, error: unknown, asJson: boolean, workflow?: string): Promise<void> {
  await githubActions(io)?.refused();
  if (asJson) await io.out(jsonText(redactRefusal(describeRefusal(error, workflow), io.clean)));
}

function refuseBoth({ json, stream }: Flags): void {
  if (json !== true || stream !== true) return;
  throw new SkillflowError("usage.invalid", "--json and --stream are two answers to one question", {
    hint: "--json prints the result at the end, --stream every event as it happens",
  });
}
