export const BYTES_SHOWN = 16 * 1024;
/** Number of digits of a commit id in lists. */
export const ID_SHOWN = 12;

/** Returns a note for the result if the history is incomplete. */
export function shallowNote(shallow: boolean) {
  return shallow ? { shallow: "this is a shallow clone: older commits are missing" } : {};
}

/** Converts git's Unix seconds to a UTC string. */
export function utc(seconds: string): string {
  const date = new Date(Number(seconds) * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s after 1970` : date.toISOString().replace(".000Z", "Z");
}

/** Cuts a text and marks the cut. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… [cut; ${text.length} characters]` : text;
}

/** Returns the first items whose JSON fits into a number of bytes, but at least one. */
export function fitting<T>(items: readonly T[], bytes: number = BYTES_SHOWN): readonly T[] {
  let used = 0;
  const stop = items.findIndex((item, index) => {
    used += Buffer.byteLength(JSON.stringify(item)) + 1;
    return used > bytes && index > 0;
  });
  return stop < 0 ? items : items.slice(0, stop);
}
