import { countWhile, lazy } from "../values.ts";
import { type Codes, ESCAPES, type Escape, TAGS, UNSEEN } from "./escapes.ts";

/**
 * Decoded text, without the escapes of URLs, forms, JSON, source code, HTML and email, and without invisible
 * characters. A view can map each part of it to the source.
 */
export interface View {
  readonly text: string;
  /** Maps a range of the view to the range of the source that it was decoded from. */
  toSource(start: number, end: number): readonly [start: number, end: number];
}

/** A view of a part of a text. */
export interface Run extends View {
  readonly from: number;
  readonly to: number;
}

/** Allows for JSON inside JSON inside a URL. */
const MOST_DEPTH = 3;

/** Returns the text without invisible characters, and its decoded versions. Each encoding is decoded separately. */
export function viewsOf(text: string): readonly View[] {
  const whole: View = { text, toSource };
  if (!UNSEEN.isIn(text) && !ESCAPES.some((escapes) => escapes.isIn(text))) return [whole];
  const views = new Map<string, View>();
  const look = (given: View, depth: number) => {
    if (TAGS.isIn(given.text)) lookShorter(given, TAGS, depth);
    const view = UNSEEN.isIn(given.text) ? undo(given, UNSEEN) : given;
    if (views.has(view.text)) return;
    views.set(view.text, view);
    for (const escapes of ESCAPES) if (escapes.isIn(view.text)) lookShorter(view, escapes, depth - escapes.depth);
  };
  const lookShorter = (view: View, escapes: Escape, depth: number) => {
    if (depth < 0) return;
    const inner = undo(view, escapes);
    if (inner.text.length < view.text.length) look(inner, depth);
  };
  look(whole, MOST_DEPTH);
  return [...views.values()];
}

const toSource: View["toSource"] = (start, end) => [start, end];

export function partOf({ text, toSource }: View, from: number, to: number): View {
  return { text: text.slice(from, to), toSource: (start, end) => toSource(from + start, from + end) };
}

/** Decodes the codes of a view. Where they were is computed only after a match. */
export function undo({ text, toSource }: View, { codes, decode }: Codes): View {
  const changes = lazy(() => {
    const found: Change[] = [];
    for (const { 0: code, index: from } of text.matchAll(codes)) {
      const before = found.at(-1);
      const start = from - (before ? before.to - before.end : 0);
      found.push({ from, to: from + code.length, start, end: start + (decode?.(code).length ?? 0) });
    }
    return found;
  });
  return {
    text: decode ? text.replace(codes, (code) => decode(code)) : text.replace(codes, ""),
    toSource: (start, end) => toSource(placeOf(changes(), start, "start"), placeOf(changes(), end - 1, "end")),
  };
}

/** A range of the outer text, and the range of the view that replaces it. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
}

/** Returns the start or end in the outer text of a character of the view. */
function placeOf(changes: readonly Change[], at: number, edge: "start" | "end"): number {
  const last = changes[countWhile(changes, ({ start }) => start <= at) - 1];
  if (last && at < last.end) return edge === "start" ? last.from : last.to;
  return at + (last ? last.to - last.end : 0) + (edge === "start" ? 0 : 1);
}
