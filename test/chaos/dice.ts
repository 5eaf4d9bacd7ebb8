/** Reproducible randomness: the same seed gives the same numbers. */
export interface Dice {
  /** A whole number from 0 below `sides`. */
  below(sides: number): number;
  pick<Value>(list: readonly [Value, ...Value[]]): Value;
  /** True in so many of a hundred throws. */
  percent(share: number): boolean;
}

export function dice(seed: number): Dice {
  let state = seed | 0;
  // The generator `mulberry32`.
  const below = (sides: number) => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return Math.floor((((value ^ (value >>> 14)) >>> 0) / 2 ** 32) * sides);
  };
  return {
    below,
    pick: (list) => list[below(list.length)] ?? list[0],
    percent: (share) => below(100) < share,
  };
}

/** Returns a fixed number for a text. */
export function numberOf(text: string): number {
  let value = 7;
  for (const character of text) value = (Math.imul(value, 31) + character.charCodeAt(0)) | 0;
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}
