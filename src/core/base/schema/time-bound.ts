/** Work whose length the text of others decides: their patterns, and checks against their schemas (workflow-format D59). */

/** Ends the work after a second and gives undefined then; what the work throws is thrown. */
export type TimeBound = <Value extends NonNullable<unknown>>(work: () => Value) => Value | undefined;

let bound: TimeBound = (work) => work();

/** Core has no clock of its own: whoever assembles the program gives it one. */
export function setTimeBound(given: TimeBound): void {
  bound = given;
}

export const withinSecond: TimeBound = (work) => bound(work);

/** What is said of a pattern that was ended. It counts as not matching. */
export const PATTERN_TOO_SLOW = "pattern took over 1 s";
