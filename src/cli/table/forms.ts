import { usageError } from "../../core/base/errors.ts";
import { amountOf, countOf, durationOf } from "../../core/engine/settings/bounds.ts";
import type { OptionSpec } from "./command.ts";

/** Readers of values by the form that an option declares. They throw usage errors. */
const FORMS = { pair: splitPair, amount: amountOf, count: countOf, whole: wholeOf, duration: durationOf };

/** Returns the reader of an option's values. Values of a repeatable option are a list. */
export function readerOf([flags, , { form, repeatable } = {}]: OptionSpec): (
  value: string,
  before: unknown,
) => unknown {
  const [flag = ""] = flags.split(" ");
  const read = (value: string) => (form ? FORMS[form](flag, value) : value);
  return (value, before = []) => (repeatable ? [...(before as unknown[]), read(value)] : read(value));
}

function splitPair(flag: string, pair: string): [string, string] {
  const at = pair.indexOf("=");
  if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
  throw usageError(`${flag} takes KEY=VALUE, not "${pair}"`);
}

function wholeOf(flag: string, given: string): number {
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw usageError(`${flag} takes a whole number, not "${given}"`);
}
