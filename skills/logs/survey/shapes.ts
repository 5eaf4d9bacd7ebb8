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

export type Shapes = ReturnType<typeof createShapes>;

const EXAMPLE_SHOWN = 400;

/** Groups records by shape, up to a number of shapes. `near` chooses the example: the nearest record, or the first. */
export function createShapes(most: number, near: number | undefined) {
  const shapes = new Map<string, Shape>();
  let other = 0;
  const isBetter = (time: number | undefined, known: number | undefined) => {
    if (time === undefined) return false;
    if (known === undefined) return true;
    return near === undefined ? time < known : Math.abs(time - near) < Math.abs(known - near);
  };
  const join = (known: Shape, { count, first, last, example, at, time }: Shape) => {
    known.count += count;
    if (first !== undefined) known.first = Math.min(known.first ?? first, first);
    if (last !== undefined) known.last = Math.max(known.last ?? last, last);
    if (isBetter(time, known.time)) Object.assign(known, { example, at, time });
  };
  return {
    add(file: string, line: Line): void {
      const { text, time, length } = line;
      const shape = shown(shapeOf(text), length);
      const known = shapes.get(shape);
      if (!known && shapes.size >= most) {
        other++;
        return;
      }
      if (known && !isBetter(time, known.time)) {
        join(known, { ...known, count: 1, first: time, last: time });
        return;
      }
      const example = shortened(shown(text.slice(0, LINE_SHOWN), length), EXAMPLE_SHOWN);
      const one = { shape, count: 1, first: time, last: time, example, at: `${file}@${line.offset}`, time };
      if (known) join(known, one);
      else shapes.set(shape, one);
    },
    all: () => joinIds([...shapes.values()], join),
    /** Returns the number of records whose shape was not kept. */
    other: () => other,
  };
}

/** Joins shapes that differ only because some hexadecimal ids happen to have no letter. The most frequent one names them. */
function joinIds(shapes: readonly Shape[], join: (known: Shape, one: Shape) => void): readonly Shape[] {
  const joined = new Map<string, Shape>();
  for (const one of [...shapes].sort((a, b) => b.count - a.count)) {
    const key = one.shape.replaceAll("<hex>", "<n>");
    const known = joined.get(key);
    if (known) join(known, one);
    else joined.set(key, { ...one });
  }
  return [...joined.values()];
}
