import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  deepEqual,
  isNestedBeyond,
  isObject,
  lazy,
  nearest,
  parseDuration,
  parseJson,
  toJson,
} from "../../../src/core/base/values.ts";

describe("comparing values", () => {
  test.each([
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [Number.NaN, Number.NaN],
    [0, -0],
    [
      [1, [2, { a: null }]],
      [1, [2, { a: null }]],
    ],
    [{ a: undefined }, { a: undefined }],
    [{}, {}],
    ["", ""],
  ])("%o equals %o", (a, b) => {
    expect(deepEqual(a, b)).toBe(true);
    expect(deepEqual(b, a)).toBe(true);
  });

  test.each([
    [{ a: undefined }, {}],
    [{ a: undefined }, { b: undefined }],
    [{ a: 1 }, { a: "1" }],
    [
      [1, 2],
      [2, 1],
    ],
    [[], {}],
    [null, {}],
    [null, undefined],
    [[1], [1, 2]],
    [true, 1],
    [{ toString: 1 }, { a: 1 }],
  ])("%o differs from %o", (a, b) => {
    expect(deepEqual(a, b)).toBe(false);
    expect(deepEqual(b, a)).toBe(false);
  });

  test("any JSON equals its copy, whatever the order of its keys", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const turned = (_: string, part: unknown) =>
          isObject(part) ? Object.fromEntries(Object.entries(part).reverse()) : part;
        const copy = JSON.parse(JSON.stringify(value), turned);
        expect(deepEqual(JSON.parse(JSON.stringify(value)), copy)).toBe(true);
      }),
    );
  });
});

describe("a handler's return value becomes JSON", () => {
  test.each([
    [undefined, null],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    [10n ** 20n, "100000000000000000000"],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [{ a: undefined, b: () => 1, c: 1 }, { c: 1 }],
    [
      [undefined, 1],
      [null, 1],
    ],
    [new Array(2), [null, null]],
    [Object.assign(Object.create({ inherited: 1 }), { own: 1 }), { own: 1 }],
    [new URL("https://example.test/a"), "https://example.test/a"],
  ])("%o becomes %o", (value, json) => {
    expect(toJson(value)).toEqual(json);
  });

  test.each<[unknown, string]>([
    [() => 1, "a function at its root"],
    [Symbol("x"), "a symbol at its root"],
    [new Map([["a", 1]]), "a Map at its root"],
    [{ list: [new Set([1])] }, "a Set at .list[0]"],
  ])("%o is refused", (value, what) => {
    expect(() => toJson(value)).toThrow(`the value is not JSON: it has ${what}`);
  });

  test("a cycle is refused with its place", () => {
    const value: { list: unknown[] } = { list: [1] };
    value.list.push(value);
    expect(() => toJson(value)).toThrow("refers to itself at .list[1]");
  });

  test("a value that occurs in two places is not a cycle", () => {
    const shared = { a: 1 };
    expect(toJson([shared, shared])).toEqual([{ a: 1 }, { a: 1 }]);
  });

  test("nesting beyond the limit of JSON writers is refused", () => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    expect(() => toJson(deep)).toThrow("nested more than 500 levels deep");
  });

  test("a key __proto__ stays a key", () => {
    const json = toJson(JSON.parse('{"__proto__": {"polluted": 1}}'));
    expect(JSON.stringify(json)).toBe('{"__proto__":{"polluted":1}}');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test("JSON remains unchanged", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(toJson(value)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe("JSON from outside", () => {
  test("is parsed, or is none", () => {
    expect(parseJson(' {"a": [1]} ')).toEqual({ a: [1] });
    expect(parseJson("{a: 1}")).toBeUndefined();
    expect(parseJson("")).toBeUndefined();
  });

  test("that could not be written again is rejected", () => {
    expect(parseJson(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)).toBeUndefined();
    expect(parseJson(`${'{"a":'.repeat(501)}1${"}".repeat(501)}`)).toBeUndefined();
    expect(parseJson(`${'{"a":'.repeat(500)}1${"}".repeat(500)}`)).toBeDefined();
  });

  test("levels are counted without recursion, and shared parts once", () => {
    expect(isNestedBeyond(2, [[1]])).toBe(false);
    expect(isNestedBeyond(2, [[[1]]])).toBe(true);
    let shared: unknown = [1];
    for (let i = 0; i < 100; i++) shared = [shared, shared];
    expect(isNestedBeyond(200, shared)).toBe(false);
    expect(isNestedBeyond(50, shared)).toBe(true);
  });
});

describe("durations", () => {
  test.each([
    [1, 1000],
    [0.5, 500],
    ["500ms", 500],
    ["90s", 90_000],
    ["10m", 600_000],
    ["2h", 7_200_000],
    ["1.5h", 5_400_000],
    ["90", 90_000],
    ["14d", 1_209_600_000],
  ])("%o is %i ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each([
    [0],
    [-1],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    ["0s"],
    ["0.0h"],
    [""],
    ["s"],
    ["1 s"],
    ["1w"],
    ["-1s"],
    ["1e3"],
    ["1s "],
    [null],
    [true],
    [{}],
  ])("%o is not a duration", (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

describe("the nearest word", () => {
  test.each([
    ["colect", "collect"],
    ["COLLECT", "collect"],
    ["asess", "assess"],
    ["instruct", "instruction"],
    ["zzz", undefined],
    ["", undefined],
  ])("%o suggests %o", (word, near) => {
    expect(nearest(word, ["collect", "assess", "instruction"])).toBe(near);
  });
});

test("a lazy value is created on first use, and once", () => {
  let made = 0;
  const counted = lazy(() => ({ made: ++made }));
  expect(made).toBe(0);
  expect(counted()).toBe(counted());
  expect(made).toBe(1);
});

test("a lazy undefined value is created once too", () => {
  let made = 0;
  const nothing = lazy(() => {
    made++;
  });
  nothing();
  nothing();
  expect(made).toBe(1);
});

test("a lazy value that failed is tried again", () => {
  let tries = 0;
  const second = lazy(() => {
    if (++tries === 1) throw new Error("not yet");
    return tries;
  });
  expect(second).toThrow("not yet");
  expect(second()).toBe(2);
});
