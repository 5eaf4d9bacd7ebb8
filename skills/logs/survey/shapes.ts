import { shapeOf } from "../line/record.ts";
import { LINE_SHOWN, shortened, shown } from "../line/text.ts";
import type { Line } from "../selector.ts";

/** Records that differ only in numbers and ids. */
export interface Shape {
  readonly shape: string;
  count: number;
  /** First and last time in Unix milliseconds. */
  first: number | undefined;
  last: number | undefined;
  /** Record nearest to the instant, or else the first. */
  example: string;
  /** Place of the example, `file@offset`. */
  at: string;
  /** Time of the example. */
  time: number | undefined;
}

export interface Shapes {
  add(file: string, line: Line): void;
  all(): readonly Shape[];
  /** Returns the number of records whose shape was not kept. */
  other(): number;
}

const EXAMPLE_SHOWN = 400;

/** Groups records by shape, up to a number of shapes. `near` chooses the example: the nearest record, or the first. */
export function createShapes(most: number, near: number | undefined): Shapes {
  const shapes = new Map<string, Shape>();
  let other = 0;
  const isBetter = (time: number | undefined, known: number | undefined) => {
    if (time === undefined) return false;
    if (known === undefined) return true;
    return near === undefined ? time < known : Math.abs(time - near) < Math.abs(known - near);
  };
  return {
    add(file, line) {
      const { text, time, length } = line;
      const shape = shown(shapeOf(text), length);
      const known = shapes.get(shape);
      if (!known && shapes.size >= most) {
        other++;
        return;
      }
      const example = () => ({
        example: shortened(shown(text.slice(0, LINE_SHOWN), length), EXAMPLE_SHOWN),
        at: `${file}@${line.offset}`,
        time,
      });
      if (!known) shapes.set(shape, { shape, count: 1, first: time, last: time, ...example() });
      else {
        known.count++;
        if (time !== undefined) known.first = Math.min(known.first ?? time, time);
        if (time !== undefined) known.last = Math.max(known.last ?? time, time);
        if (isBetter(time, known.time)) Object.assign(known, example());
      }
    },
    all: () => joinIds([...shapes.values()], isBetter),
    other: () => other,
  };
}

/** Joins shapes that differ only because some hexadecimal ids happen to have no letter. The most frequent one names them. */
function joinIds(
  shapes: readonly Shape[],
  isBetter: (time: number | undefined, known: number | undefined) => boolean,
): readonly Shape[] {
  const joined = new Map<string, Shape>();
  for (const one of [...shapes].sort((a, b) => b.count - a.count)) {
    const key = one.shape.replaceAll("<hex>", "<n>");
    const known = joined.get(key);
    if (!known) {
      joined.set(key, { ...one });
      continue;
    }
    const { example, at, time, first, last } = one;
    known.count += one.count;
    if (first !== undefined) known.first = Math.min(known.first ?? first, first);
    if (last !== undefined) known.last = Math.max(known.last ?? last, last);
    if (isBetter(time, known.time)) Object.assign(known, { example, at, time });
  }
  return [...joined.values()];
}
