import { isoText } from "./line/timestamp.ts";

/** Labels for times, shortened as far as all times allow. */
export interface Labels {
  /** UTC day of all times, if the labels omit it. */
  readonly day?: string;
  of(time: number): string;
}

const DAY = 86_400_000;

export function labelTimes(times: readonly number[], length: number): Labels {
  const isWholeDays = length % DAY === 0;
  const days = new Set(times.map((time) => isoText(time).slice(0, 10)));
  const [day] = days;
  const clockOf = (time: number) => {
    if (length % 60_000 === 0) return isoText(time).slice(11, 16);
    return length % 1000 === 0 ? isoText(time).slice(11, 19) : isoText(time).slice(11, 23);
  };
  if (isWholeDays) return { of: (time) => isoText(time).slice(0, 10) };
  if (days.size === 1 && day) return { day, of: clockOf };
  return { of: (time) => `${isoText(time).slice(0, 10)}T${clockOf(time)}` };
}

/** Formats a duration, for example 30s, 1.5s, 5m or 2h. */
export function lengthText(milliseconds: number): string {
  const [unit, size] = (
    [
      ["d", DAY],
      ["h", 3_600_000],
      ["m", 60_000],
    ] as const
  ).find(([, each]) => milliseconds >= each && milliseconds % each === 0) ?? ["s", 1000];
  return `${Number((milliseconds / size).toPrecision(3))}${unit}`;
}
