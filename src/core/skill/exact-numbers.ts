/**
 * Returns the first number of a JSON text that reading it would change: a whole number beyond 2^53 - 1, or one that is
 * too large to be finite. Numbers with a fraction or an exponent are read as in any language.
 */
export function changedNumber(json: string): string | undefined {
  if (!SUSPECT.test(json)) return undefined;
  for (let at = 0; at < json.length; ) {
    const quote = json.indexOf('"', at);
    const end = quote === -1 ? json.length : quote;
    const [found] = (json.slice(at, end).match(NUMBER) ?? []).filter(isChanged);
    if (found !== undefined) return found.length > MOST_SHOWN ? `${found.slice(0, MOST_SHOWN)}…` : found;
    at = endOfString(json, end);
  }
  return undefined;
}

/** Describes how to send a number that `changedNumber` found. */
export function numberAdvice(number: string): string {
  return `the number ${number}, which is not between -(2^53 - 1) and 2^53 - 1`;
}

/** Matches every text that could have such a number. Strings can match too. */
const SUSPECT = /\d{16}|[eE]\+?\d{3}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MOST_SHOWN = 40;

function isChanged(number: string): boolean {
  return /^-?\d+$/.test(number) ? !Number.isSafeInteger(Number(number)) : !Number.isFinite(Number(number));
}

function endOfString(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let before = at;
    while (json[before - 1] === "\\") before -= 1;
    if ((at - before) % 2 === 0) return at + 1;
  }
  return json.length;
}
