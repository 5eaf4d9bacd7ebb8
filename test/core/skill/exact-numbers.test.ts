import { performance } from "node:perf_hooks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { changedNumber } from "../../../src/core/skill/exact-numbers.ts";

describe("a number that JSON.parse changes", () => {
  test.each([
    ["12345678901234567890", "12345678901234567890"],
    ['{"a": [1, -9007199254740992]}', "-9007199254740992"],
    ['["1234567890123456789", "\\\\", 9007199254740993]', "9007199254740993"],
    ["[1e999]", "1e999"],
    [`{"n": 1${"0".repeat(400)}}`, `1${"0".repeat(39)}…`],
  ])("%s is found", (json, number) => {
    expect(changedNumber(json)).toBe(number);
  });

  test.each([
    "9007199254740991",
    "-9007199254740991",
    "[1.2345678901234568e+17, 0.12345678901234567, 1e300, 1e-999]",
    '{"12345678901234567890": "12345678901234567890"}',
    '"a \\" 12345678901234567890 \\\\\\" 1e999"',
    '"12345678901234567890',
  ])("%s has none", (json) => {
    expect(changedNumber(json)).toBeUndefined();
  });

  test("is found exactly if there is one", () => {
    const value = fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger());
    fc.assert(
      fc.property(fc.array(value), fc.option(fc.bigInt({ min: 2n ** 53n })), (values, large) => {
        const written = values.map((each) =>
          // Python writes these with an exponent.
          typeof each === "number" && Math.abs(each) >= 1e16 ? each.toExponential() : JSON.stringify(each),
        );
        const all = large === null ? written : [...written, String(large)];
        expect(changedNumber(`[${all.join(", ")}]`)).toBe(large === null ? undefined : shown(large));
      }),
    );
  });

  test("is searched in linear time", () => {
    const texts = ['"\\\\'.repeat(500_000), `"${"\\".repeat(4_000_000)}"`, '"",'.repeat(1_000_000)];
    const began = performance.now();
    for (const text of texts) expect(changedNumber(`"${"1".repeat(16)}",${text}`)).toBeUndefined();
    expect(performance.now() - began).toBeLessThan(5000);
  });
});

function shown(large: bigint): string {
  return large < 10n ** 40n ? String(large) : `${String(large).slice(0, 40)}…`;
}
