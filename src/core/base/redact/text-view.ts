import { ESCAPES, type Escape, TAGS, UNSEEN } from "./escapes.ts";

/**
 * Decoded text, without the escapes of URLs, forms, JSON, source code, HTML and email, and without invisible
 * characters. A view can map each part of it to the source.
 */
export interface View {
  readonly text: string;
  /** Maps a range of the view to the range of the source that it was decoded from. */
  toSource(start: number, end: number): readonly [start: number, end: number];
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

/** Number of pieces joined at once, so that only a few are alive, however long the text is. */
const JOINED = 256;

function undo(outer: View, escapes: Escape): View {
  const { text } = outer;
  const blocks: string[] = [];
  let pieces: string[] = [];
  let done = 0;
  for (let at = escapes.find(text, 0); at !== -1; at = escapes.find(text, Math.max(at + 1, done))) {
    const length = escapes.lengthAt(text, at);
    if (length === 0) continue;
    pieces.push(text.slice(done, at), escapes.decode(text.slice(at, at + length)));
    done = at + length;
    if (pieces.length < JOINED) continue;
    blocks.push(pieces.join(""));
    pieces = [];
  }
  let changes: readonly Change[] | undefined;
  return {
    text: done === 0 ? text : blocks.join("") + pieces.join("") + text.slice(done),
    toSource(start, end) {
      changes ??= changesOf(text, escapes);
      return outer.toSource(placeOf(changes, start, "start"), placeOf(changes, end - 1, "end"));
    },
  };
}

/** A range of the outer text, and the range of the view that replaces it. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
}

/** Lists the decoded ranges. Computed only after a match. */
function changesOf(text: string, escapes: Escape): readonly Change[] {
  const changes: Change[] = [];
  let done = 0;
  let end = 0;
  for (let from = escapes.find(text, 0); from !== -1; from = escapes.find(text, Math.max(from + 1, done))) {
    const length = escapes.lengthAt(text, from);
    if (length === 0) continue;
    const start = end + from - done;
    done = from + length;
    end = start + escapes.decode(text.slice(from, done)).length;
    changes.push({ from, to: done, start, end });
  }
  return changes;
}

/** Returns the start or end in the outer text of a character of the view. */
function placeOf(changes: readonly Change[], at: number, edge: "start" | "end"): number {
  const last = changes[lastUpTo(changes.length, (index) => (changes[index]?.start ?? 0) <= at)];
  if (last && at < last.end) return edge === "start" ? last.from : last.to;
  return at + (last ? last.to - last.end : 0) + (edge === "start" ? 0 : 1);
}

/** Finds the last index below `count` for which a monotonic predicate holds, or -1. */
export function lastUpTo(count: number, holds: (index: number) => boolean): number {
  let low = 0;
  for (let high = count; low < high; ) {
    const middle = (low + high) >> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
