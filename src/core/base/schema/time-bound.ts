/** Time limit for work that untrusted patterns and schemas can make slow. */

/** Runs the work for at most one second, and returns undefined if the time is up. Errors pass through. */
export type TimeBound = <Value extends NonNullable<unknown>>(work: () => Value) => Value | undefined;

let bound: TimeBound = (work) => work();

/** Installs the time limit. Core cannot measure time, so the program's entry point provides it. */
export function setTimeBound(given: TimeBound): void {
  bound = given;
}

export const withinSecond: TimeBound = (work) => bound(work);

export function faultOfPattern(source: string, flags = ""): string | undefined {
  try {
    new RegExp(source, flags);
    return undefined;
  } catch (error) {
    return (error as SyntaxError).message;
  }
}

/** Message for a pattern that reached the limit. Such a pattern counts as not matching. */
export const PATTERN_TOO_SLOW = "pattern took over 1 s";
