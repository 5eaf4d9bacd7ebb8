export const BYTES_SHOWN = 16 * 1024;
/** Digits of a commit id, as lists show it. */
export const ID_SHOWN = 12;

/** Says that a history is not whole, as a part of a result. */
export function shallowNote(shallow: boolean) {
  return shallow ? { shallow: "this clone has only the newest part of the history; older commits are not here" } : {};
}

/** A time of git's, in seconds since 1970, as UTC. */
export function utc(seconds: string): string {
  const date = new Date(Number(seconds) * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s after 1970` : date.toISOString().replace(".000Z", "Z");
}

/** Text cut with a mark. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… [cut; ${text.length} characters]` : text;
}

/** The longest run of items, from the front, whose JSON fits a number of bytes; at least one. */
export function fitting<T>(items: readonly T[], bytes: number = BYTES_SHOWN): readonly T[] {
  let used = 0;
  const stop = items.findIndex((item, index) => {
    used += Buffer.byteLength(JSON.stringify(item)) + 1;
    return used > bytes && index > 0;
  });
  return stop < 0 ? items : items.slice(0, stop);
}
