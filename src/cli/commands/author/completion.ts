import { usageError } from "../../../core/base/errors.ts";
import { didYouMean } from "../../../core/base/values.ts";
import { type Line, nameOf, namesOf, readLine } from "../../completion/line.ts";
import { SHELLS, valuesFor } from "../../completion/values.ts";
import { number } from "../../flags.ts";
import type { Action, Io } from "../../io.ts";
import { fillTemplate } from "../../templates/fill.ts";

/** Prints the completion script of a shell or, with `--words`, the candidates that the script requests. */
export const completion: Action = async (io, args, flags) => {
  const index = number(flags, "words");
  if (index === undefined) {
    await io.out(scriptFor(args));
    return 0;
  }
  const line = readLine(args, index);
  // Completion never fails: an unreadable store gives no candidates.
  const found = await candidatesFor(io, line).catch((): readonly Candidate[] => []);
  const fitting = found.filter(({ value }) => value.startsWith(line.typed) && !UNPRINTABLE.test(value));
  await io.out(fitting.map(({ value, about }) => `${line.lead}${value}${about ? `\t${about}` : ""}\n`).join(""));
  return 0;
};

/** Returns a script that asks the program in PATH for candidates and quotes them itself. It evaluates nothing printed. */
function scriptFor([shell = "", ...others]: readonly string[]): string {
  const known = SHELLS.find((name) => name === shell);
  if (known && others.length === 0) return fillTemplate(`completion/skillflow.${known}`, {});
  throw usageError(`completion supports ${SHELLS.join(", ")}, not "${shell}"`, didYouMean(shell, SHELLS));
}

interface Candidate {
  readonly value: string;
  readonly about?: string;
}

async function candidatesFor({ host }: Io, line: Line): Promise<readonly Candidate[]> {
  const { wanted } = line;
  switch (wanted.kind) {
    case "command":
      return wanted.commands.map(({ usage, summary }) => ({ value: nameOf(usage), about: summary }));
    case "flag":
      return wanted.options.flatMap((option) => namesOf(option).map((value) => ({ value, about: option[1] })));
    case "value":
      return (await valuesFor(wanted, { ...line, host })).map((value) => ({ value }));
    case "nothing":
      return [];
  }
}

/** Line breaks, escape sequences and bidirectional controls, which names may contain. */
const UNPRINTABLE = /[\p{C}\u2028\u2029]/u;
