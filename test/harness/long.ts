import { it, type TestAPI } from "vitest";

/** Whether the long forms of the tests are wanted: `npm run test:adversary`. */
export const LONG = process.env.SKILLFLOW_LONG === "1";

/** All of them where the long forms are wanted, else the first ones. */
export function sliceOf<Row>(rows: readonly Row[], count = 1): readonly Row[] {
  return LONG ? rows : rows.slice(0, count);
}

/** The same, the few spread over all of them: where the rows are of many kinds. */
export function spreadOf<Row>(rows: readonly Row[], count: number): readonly Row[] {
  if (LONG || rows.length <= count) return rows;
  return Array.from({ length: count }, (_, index) => rows[Math.floor((index * rows.length) / count)] as Row);
}

/** The next few of them whenever it is asked: over many tables, each of them has its turn in some. */
export function turnOf<Row>(rows: readonly Row[], count = 4): readonly Row[] {
  if (LONG || rows.length <= count) return rows;
  const from = turns.get(rows) ?? 0;
  turns.set(rows, from + count);
  return Array.from({ length: count }, (_, index) => rows[(from + index) % rows.length] as Row);
}

const turns = new WeakMap<readonly unknown[], number>();

/**
 * `it` for suites whose every test starts programs: outside the long forms, one of every `share` runs, and vitest names
 * the others as skipped.
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

/** How often a property is tried: an eighth of `all` unless the long forms are wanted. */
export function runsOf(all: number): number {
  return LONG ? all : Math.ceil(all / 8);
}

/** How long a test may take, in milliseconds: ten times as long in the long forms. */
export function longer(most: number): number {
  return LONG ? 10 * most : most;
}
