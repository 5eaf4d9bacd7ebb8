import { groupBy } from "../values.ts";
import type { Form } from "./secret-forms.ts";

export interface Found {
  readonly start: number;
  readonly end: number;
  readonly form: Form;
}

/** Finds the longest form at each position, and skips text that cannot match (Wu-Manber algorithm). */
interface FormSearch {
  (text: string): readonly Found[];
  /** Length of the shortest text that can contain a form. */
  readonly least: number;
}

const BLOCK = 3;
/** Longest prefix that is searched for, so that a skip distance fits in a byte. */
const MOST_WINDOW = 64;
const SLOTS = 0x10000;

/** Builds the search. Forms must have at least `BLOCK` characters. */
export function createFormSearch(forms: readonly Form[]): FormSearch {
  const window = forms.reduce((least, { text }) => Math.min(least, text.length), MOST_WINDOW);
  const leaps = new Uint8Array(SLOTS).fill(window - BLOCK + 1);
  const longestFirst = forms.toSorted((a, b) => b.text.length - a.text.length);
  const ending = groupBy(longestFirst, ({ text }) => slotAt(text, window - 1));
  for (const { text } of forms) {
    for (let end = BLOCK - 1; end < window; end++) {
      const slot = slotAt(text, end);
      leaps[slot] = Math.min(leaps[slot] ?? 0, window - 1 - end);
    }
  }
  const search = (text: string) => {
    const found: Found[] = [];
    const { length } = text;
    for (let end = window - 1; end < length; ) {
      const slot = slotAt(text, end);
      const leap = leaps[slot] as number;
      if (leap > 0) {
        end += leap;
        continue;
      }
      const start = end - window + 1;
      const form = ending.get(slot)?.find((candidate) => text.startsWith(candidate.text, start));
      if (form) found.push({ start, end: start + form.text.length, form });
      end++;
    }
    return found;
  };
  return Object.assign(search, { least: window });
}

/** Returns the hash of the block that ends at a position. */
function slotAt(text: string, end: number): number {
  return ((text.charCodeAt(end - 2) << 10) ^ (text.charCodeAt(end - 1) << 5) ^ text.charCodeAt(end)) & (SLOTS - 1);
}
