/** A number as written, and what its unit may mean. */
export interface Quantity {
  /** Without its sign. A factor such as `k` is applied, and the parts of a duration are added up in seconds. */
  readonly value: number;
  /** Difference of one in the last digit that was written. */
  readonly step: number;
  readonly kind?: UnitKind;
  /** Sizes of the unit in the base unit of its kind: seconds, bytes or one. KB is 1,000 or 1,024 bytes. */
  readonly sizes: readonly number[];
}

export type UnitKind = "time" | "bytes" | "ratio";

/** Sizes that a number without a unit may have, because the name of its field often has the unit. */
export const SIZES: Readonly<Record<UnitKind, readonly number[]>> = {
  time: [1e-9, 1e-6, 1e-3, 1, 60, 3600, 86_400],
  bytes: [1, 1e3, 1e6, 1e9, 1e12, 2 ** 10, 2 ** 20, 2 ** 30, 2 ** 40],
  ratio: [1, 0.01],
};

const NUMBER =
  /[+\-−]?(?:\d{1,3}(?:[,\u202f\u00a0 ']\d{3}){1,6}(?!\d)|\d{1,30}|(?<![\w.])(?=\.\d))(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3}(?![\w.]))?/y;

/** Reads the number at a position, with its unit. Returns it with the position after it. */
export function quantityAt(text: string, at: number) {
  const found = matchAt(NUMBER, text, at)?.[0];
  if (found === undefined) return undefined;
  const [mantissa = "", exponent = "0"] = found
    .replace(/[^\d.eE-]/g, "")
    .replace(/^-/, "")
    .toLowerCase()
    .split("e");
  const value = Number(`${mantissa}e${exponent}`);
  const step = 10 ** (Number(exponent) - (mantissa.split(".")[1]?.length ?? 0));
  const end = at + found.length;
  const unit = unitAt(text, end);
  if (!unit) return { quantity: { value, step, sizes: [1] }, end };
  const { kind, sizes } = unit;
  if (kind === "time") return durationAt(text, { value, step, sizes }, unit.end);
  if (kind) return { quantity: { value, step, kind, sizes }, end: unit.end };
  const [factor = 1] = sizes;
  return { quantity: { value: value * factor, step: step * factor, sizes: [1] }, end: unit.end };
}

/** Adds the parts of a duration such as `1 h 5 min` or `2m30s`. */
function durationAt(text: string, { value, step, sizes: [first = 1] }: Quantity, from: number) {
  let seconds = value * first;
  let precision = step * first;
  let size = first;
  let end = from;
  for (;;) {
    const at = end + (matchAt(/,? (?:and )?/y, text, end)?.[0].length ?? 0);
    const number = matchAt(/\d{1,9}(?:\.\d{1,9})?/y, text, at)?.[0];
    const unit = number === undefined ? undefined : unitAt(text, at + number.length);
    const next = unit?.kind === "time" ? (unit.sizes[0] ?? size) : size;
    if (!unit || number === undefined || next >= size) break;
    size = next;
    seconds += Number(number) * size;
    precision = size * 10 ** -(number.split(".")[1]?.length ?? 0);
    end = unit.end;
  }
  return { quantity: { value: seconds, step: precision, kind: "time" as const, sizes: [1] }, end };
}

const UNIT =
  /( ?)(?:(?<ratio>%|(?:per ?cent|pp)(?![\p{L}\p{N}]))|(?<time>ns|[µμu]s|ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?!\p{L})|(?<bytes>bytes?|[kKMGT]i?[bB]?|B)(?![\p{L}\p{N}])|(?<factor>million|bn|billion)(?![\p{L}\p{N}]))/uy;

const FACTORS: Readonly<Record<string, number>> = { k: 1e3, K: 1e3, M: 1e6, million: 1e6, bn: 1e9, billion: 1e9 };
const POWERS = "_kmgt";

function unitAt(text: string, at: number) {
  const found = matchAt(UNIT, text, at);
  if (!found?.groups) return undefined;
  const { ratio, time, bytes, factor = bytes } = found.groups;
  const end = at + found[0].length;
  if (ratio !== undefined) return { kind: "ratio" as const, sizes: [0.01], end };
  if (time !== undefined) return { kind: "time" as const, sizes: [secondsOf(time)], end };
  if (factor !== undefined && FACTORS[factor] !== undefined) return { sizes: [FACTORS[factor]], end };
  if (bytes === undefined || (found[1] !== "" && !/b/i.test(bytes))) return undefined;
  const power = bytes.length > 1 || !/b/i.test(bytes) ? Math.max(0, POWERS.indexOf(bytes.charAt(0).toLowerCase())) : 0;
  const sizes = bytes.charAt(1) === "i" || bytes.startsWith("byte") ? [1024 ** power] : [1000 ** power, 1024 ** power];
  return { kind: "bytes" as const, sizes, end };
}

function secondsOf(unit: string): number {
  if (unit === "ns") return 1e-9;
  if (/^[µμu]s$/.test(unit)) return 1e-6;
  if (/^m(?:s|illi)/.test(unit)) return 1e-3;
  if (unit.startsWith("s")) return 1;
  if (unit.startsWith("m")) return 60;
  return unit.startsWith("h") ? 3600 : 86_400;
}

export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
