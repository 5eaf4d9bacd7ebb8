import { type Point, stepsOf } from "../steps.ts";

/** Numbers of lines and of errors, before and from an instant on. */
export interface Change {
  /** Kind of the group: a field's name, or `file`. */
  readonly by: string;
  readonly name: string;
  /** Instant between the two periods, in Unix milliseconds. */
  readonly since: number;
  readonly lines: readonly [before: number, after: number];
  readonly errors: readonly [before: number, after: number];
}

/** Counts of groups of lines over time, in constant memory: the time slots grow with the time covered. */
export interface Counts {
  add(by: string, name: string, line: { readonly time: number; readonly isError: boolean }): void;
  /** Returns the groups whose counts changed, the largest changes first. */
  changes(): readonly Change[];
  /** Returns the given instant, or else the one at which errors, or lines, rose most. */
  around(): number | undefined;
}

type Cells = Map<number, [lines: number, errors: number]>;

interface Group {
  readonly by: string;
  readonly name: string;
  cells: Cells;
  /** Slot of the line before, and its cell. */
  slot: number | undefined;
  cell: [lines: number, errors: number];
}

const MOST_GROUPS = 500;
const MOST_SLOTS = 1000;
const MINUTE = 60_000;
/** Group of all lines. */
const ALL = "";
const ERRORS_WEIGH = 4;
/** Changes below this are as likely to be noise. */
const WORTH_TELLING = 6;

/** Groups by kind and name, at most 500. Others are not counted. */
function createGroups() {
  const kinds = new Map<string, Map<string, Group>>();
  const groups: Group[] = [];
  const groupFor = (by: string, name: string) => {
    const kind = kinds.get(by) ?? new Map<string, Group>();
    const known = kind.get(name);
    if (known || groups.length >= MOST_GROUPS) return known;
    const group: Group = { by, name, cells: new Map(), slot: undefined, cell: [0, 0] };
    kinds.set(by, kind.set(name, group));
    groups.push(group);
    return group;
  };
  return { groups, groupFor };
}

export function createCounts({ at, window }: { readonly at: number | undefined; readonly window: number }): Counts {
  const { groups, groupFor } = createGroups();
  const range = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
  // With a given instant only two slots count: the window before it and the one after it.
  const origin = at ?? 0;
  let length = at === undefined ? MINUTE : window;
  const widen = () => {
    while ((range.to - range.from) / length > MOST_SLOTS) {
      length *= 2;
      for (const group of groups) Object.assign(group, { cells: halved(group.cells), slot: undefined });
    }
  };
  const counts: Counts = {
    add(by, name, { time, isError }) {
      if (at !== undefined && (time < at - window || time >= at + window)) return;
      range.from = Math.min(range.from, time);
      range.to = Math.max(range.to, time);
      if (at === undefined) widen();
      const group = groupFor(by, name);
      if (!group) return;
      const slot = Math.floor((time - origin) / length);
      if (group.slot !== slot) {
        group.slot = slot;
        group.cell = group.cells.get(slot) ?? [0, 0];
        group.cells.set(slot, group.cell);
      }
      group.cell[0]++;
      if (isError) group.cell[1]++;
    },
    around() {
      if (at !== undefined) return at;
      const cells = groupFor(ALL, ALL)?.cells ?? new Map();
      const rises = [1, 0].flatMap((which) => {
        const steps = stepsOf(pointsOf(cells, which, length)).filter(({ before, after }) => after > before);
        return steps.sort((a, b) => b.after - b.before - (a.after - a.before)).slice(0, 1);
      });
      return rises[0]?.time ?? (Number.isFinite(range.to) ? Math.max(range.from, range.to - window) : undefined);
    },
    changes() {
      const since = counts.around();
      if (since === undefined) return [];
      const known = [Math.min(window, since - range.from), Math.min(window, range.to - since)] as const;
      // The files may cover only a part of the time before.
      const share = known[0] > 0 ? Math.max(known[1], MINUTE) / Math.max(known[0], MINUTE) : 0;
      const sized = groups.map(({ by, name, cells }) => {
        const sum = (which: 0 | 1, from: number) => sumOf(cells, { which, from, to: from + window, origin, length });
        const pair = (which: 0 | 1) => [sum(which, since - window), sum(which, since)] as const;
        const change = { by, name, since, lines: pair(0), errors: pair(1) };
        return { change, size: sizeOf(change.lines, share) + ERRORS_WEIGH * sizeOf(change.errors, share) };
      });
      const told = sized
        .filter(({ change, size }) => change.by !== ALL && size >= WORTH_TELLING)
        .sort((a, b) => b.size - a.size || (a.change.by + a.change.name < b.change.by + b.change.name ? -1 : 1))
        .map(({ change }) => change);
      return told.filter((change) => change.by !== "file" || !told.some((other) => isSameCount(change, other)));
    },
  };
  return counts;
}

/** Checks whether a file's counts are those of a group of another kind, such as the host that wrote the file. */
function isSameCount(file: Change, { by, lines, errors }: Change): boolean {
  const isEqual = (a: Change["lines"], b: Change["lines"]) => a[0] === b[0] && a[1] === b[1];
  return by !== "file" && isEqual(file.lines, lines) && isEqual(file.errors, errors);
}

/** Returns how unlikely a change is if the expected number is `before` times `share`. */
function sizeOf([before, after]: readonly [number, number], share: number): number {
  const expected = before * share;
  return (after - expected) ** 2 / (after + expected + 1);
}

function halved(cells: Cells): Cells {
  const wider: Cells = new Map();
  for (const [slot, [lines, errors]] of cells) {
    const cell = wider.get(Math.floor(slot / 2)) ?? [0, 0];
    wider.set(Math.floor(slot / 2), [cell[0] + lines, cell[1] + errors]);
  }
  return wider;
}

function pointsOf(cells: Cells, which: number, length: number): readonly Point[] {
  const slots = [...cells.keys()];
  if (slots.length === 0) return [];
  const first = slots.reduce((a, b) => Math.min(a, b));
  const last = slots.reduce((a, b) => Math.max(a, b));
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const mean = cells.get(first + index)?.[which] ?? 0;
    return { time: (first + index) * length, mean, last: mean };
  });
}

interface Slots {
  readonly which: 0 | 1;
  readonly from: number;
  readonly to: number;
  readonly origin: number;
  readonly length: number;
}

function sumOf(cells: Cells, { which, from, to, origin, length }: Slots): number {
  let sum = 0;
  for (const [slot, cell] of cells) {
    const begin = origin + slot * length;
    if (begin >= from && begin < to) sum += cell[which];
  }
  return sum;
}
