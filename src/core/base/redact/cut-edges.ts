import { groupBy, lazy } from "../values.ts";
import type { Found } from "./form-search.ts";
import type { Form } from "./secret-forms.ts";

/** Finds the rest of a secret next to a `…` where another program shortened the text. */
type EdgeSearch = (text: string) => readonly Found[];

export const CUT_MARK = "…";
/** Shortest part of a secret to search for. Shorter parts may be ordinary text. */
const LEAST = 8;
const LONGEST = 512;

export function createEdgeSearch(forms: readonly Form[]): EdgeSearch {
  const groups = lazy(() => ({
    begins: groupBy(forms, ({ text }) => text.slice(0, LEAST)),
    ends: groupBy(forms, ({ text }) => text.slice(-LEAST)),
  }));
  return (text) => {
    const { begins, ends } = groups();
    const found: Found[] = [];
    const heads = createWindow((start) => begins.has(text.slice(start, start + LEAST)));
    const tails = createWindow((end) => ends.has(text.slice(end - LEAST, end)));
    for (const { index, 0: cut } of text.matchAll(CUT)) {
      const after = index + cut.length;
      const starts = heads(Math.max(0, index - LONGEST), index - LEAST);
      const stops = tails(after + LEAST, Math.min(text.length, after + LONGEST));
      found.push(...headBefore(text, index, starts, begins), ...tailAfter(text, after, stops, ends));
    }
    return found;
  };
}

/** Lists the positions in a forward-moving window that pass a test. Each position is tested once. */
function createWindow(passes: (place: number) => boolean): (from: number, to: number) => readonly number[] {
  let kept: number[] = [];
  let next = 0;
  return (from, to) => {
    kept = kept.filter((place) => place >= from);
    for (next = Math.max(next, from); next <= to; next++) if (passes(next)) kept.push(next);
    return kept;
  };
}

/** Also matches `… [12 more characters]` and a notice on its own line. */
const CUT = /\n?\[?…(?:[^\n[\]…]*\]\n?)?/g;

type Groups = ReadonlyMap<string, readonly Form[]>;

function headBefore(text: string, end: number, starts: readonly number[], begins: Groups): Found[] {
  for (const start of starts) {
    const form = begins
      .get(text.slice(start, start + LEAST))
      ?.find((candidate) => candidate.text.startsWith(text.slice(start, end)));
    if (form) return [{ start, end, form }];
  }
  return [];
}

function tailAfter(text: string, start: number, stops: readonly number[], ends: Groups): Found[] {
  for (const end of stops.toReversed()) {
    const form = ends
      .get(text.slice(end - LEAST, end))
      ?.find((candidate) => candidate.text.endsWith(text.slice(start, end)));
    if (form) return [{ start, end, form }];
  }
  return [];
}
