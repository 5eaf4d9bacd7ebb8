import type { Found } from "./form-search.ts";
import type { Form } from "./secret-forms.ts";

/** Finds what is left of a form where others cut a text and said so by `…`. */
type EdgeSearch = (text: string) => readonly Found[];

export const CUT_MARK = "…";
/** Less of a secret may be ordinary text. */
const LEAST = 8;
const LONGEST = 512;

export function createEdgeSearch(forms: readonly Form[]): EdgeSearch {
  const begins = groupBy(forms, ({ text }) => text.slice(0, LEAST));
  const ends = groupBy(forms, ({ text }) => text.slice(-LEAST));
  return (text) => {
    const found: Found[] = [];
    for (const { index, 0: cut } of text.matchAll(CUT)) {
      found.push(...headBefore(text, index, begins), ...tailAfter(text, index + cut.length, ends));
    }
    return found;
  };
}

/** As `… [12 more characters]` and a line of its own are written too. */
const CUT = /\n?\[?…(?:[^\n[\]…]*\]\n?)?/g;

type Groups = ReadonlyMap<string, readonly Form[]>;

function groupBy(forms: readonly Form[], keyOf: (form: Form) => string): Groups {
  const groups = new Map<string, Form[]>();
  for (const form of forms) {
    const group = groups.get(keyOf(form));
    if (group) group.push(form);
    else groups.set(keyOf(form), [form]);
  }
  return groups;
}

function headBefore(text: string, end: number, begins: Groups): Found[] {
  for (let start = Math.max(0, end - LONGEST); start <= end - LEAST; start++) {
    const form = begins
      .get(text.slice(start, start + LEAST))
      ?.find((candidate) => candidate.text.startsWith(text.slice(start, end)));
    if (form) return [{ start, end, form }];
  }
  return [];
}

function tailAfter(text: string, start: number, ends: Groups): Found[] {
  for (let end = Math.min(text.length, start + LONGEST); end >= start + LEAST; end--) {
    const form = ends
      .get(text.slice(end - LEAST, end))
      ?.find((candidate) => candidate.text.endsWith(text.slice(start, end)));
    if (form) return [{ start, end, form }];
  }
  return [];
}
