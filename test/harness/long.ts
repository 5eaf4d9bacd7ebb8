import { it, type TestAPI } from "vitest";

/** True if the long forms of the tests are requested: `npm run test:adversary`. */
export const LONG = process.env.SKILLFLOW_LONG === "1";

/** All rows in the long form, otherwise the first ones. */
export function sliceOf<Row>(rows: readonly Row[], count = 1): readonly Row[] {
  return LONG ? rows : rows.slice(0, count);
}

/** All rows in the long form, otherwise a few, spread evenly: for rows of many kinds. */
export function spreadOf<Row>(rows: readonly Row[], count: number): readonly Row[] {
  if (LONG || rows.length <= count) return rows;
  return Array.from({ length: count }, (_, index) => rows[Math.floor((index * rows.length) / count)] as Row);
}

/** Returns the next few rows at each call: over many tables, each row is used in some. */
export function turnOf<Row>(rows: readonly Row[], count = 4): readonly Row[] {
  if (LONG || rows.length <= count) return rows;
  const from = turns.get(rows) ?? 0;
  turns.set(rows, from + count);
  return Array.from({ length: count }, (_, index) => rows[(from + index) % rows.length] as Row);
}

const turns = new WeakMap<readonly unknown[], number>();

/**
 * `it` for suites whose every test starts programs: in the short form, one of every `share` runs, and vitest lists the
 * others as skipped.
 */
export function oneOf(share: number): TestAPI {
  let count = 0;
  const chosen = () => (LONG || count++ % share === 0 ? it : it.skip) as TestAPI;
  return new Proxy(it, {
    apply: (_target, _this, args) => Reflect.apply(chosen(), undefined, args),
    get(target, name) {
      if (name === "skipIf") return (isSkipped: unknown) => (isSkipped ? it.skip : chosen());
      if (name !== "each") return Reflect.get(target, name);
      const one = chosen();
      return one.each.bind(one);
    },
  });
}

/** Number of runs of a property: an eighth of `all` unless the long forms are requested. */
export function runsOf(all: number): number {
  return LONG ? all : Math.ceil(all / 8);
}

/** Time limit of a test, in milliseconds: ten times as long in the long forms. */
export function longer(most: number): number {
  return LONG ? 10 * most : most;
}
