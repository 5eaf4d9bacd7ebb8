import { usageError } from "../../../core/base/errors.ts";
import { plainLine } from "../../../core/base/inert.ts";
import type { Action } from "../../io.ts";
import { jsonText } from "../../terminal/terminal.ts";
import { entriesIn, statesAt, unknownKey } from "./states.ts";

export const forgetState: Action = async (io, [name = "", ...keys], flags) => {
  const isAll = flags.all === true;
  if (isAll === keys.length > 0) {
    throw usageError("no keys were given", `pass keys from skillflow state show ${name}, or --all`);
  }
  const store = statesAt(io, flags);
  const entries = await entriesIn(store, name);
  const missing = keys.find((key) => !entries.some((entry) => entry.key === key));
  if (missing !== undefined) throw unknownKey(name, missing, entries);
  if (isAll && flags.yes !== true) {
    const question = `Forget all ${entries.length} entries of ${plainLine(name)}? [y/N] `;
    const answer = io.ask && io.isTerminal ? await io.ask(question) : undefined;
    if (answer === undefined) {
      throw usageError(
        `cannot ask before all of ${name} is forgotten: this is not a terminal`,
        "pass --yes to forget all of it",
      );
    }
    if (!/^y(?:es)?$/i.test(answer.trim())) {
      await io.err("nothing was forgotten\n");
      return 0;
    }
  }
  const forgotten = await store.forget(name, isAll ? "all" : keys);
  if (flags.json === true) await io.out(jsonText({ state: name, forgotten }));
  else await io.outText(`${forgotten.length} of ${plainLine(name)} forgotten\n`);
  return 0;
};
