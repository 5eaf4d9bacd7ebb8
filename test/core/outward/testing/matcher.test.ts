import { describe, expect, it, test } from "vitest";
import type { Json } from "../../../../src/core/base/values.ts";
import { type Fixture, fitsGlob, openFixtures } from "../../../../src/core/outward/testing/fixtures.ts";
import { accepted, complaintAbout, matcherProblems, sides } from "../../../../src/core/outward/testing/matcher.ts";

describe("the actual value", () => {
  it.each<[string, Json, Json | undefined, string | undefined]>([
    ["the same value", { a: [1, null] }, { a: [1, null] }, undefined],
    ["another value", "incident", "false_alarm", '"false_alarm" is not "incident"'],
    ["nothing", 1, undefined, "is missing, expected 1"],
    ["a key too many", { a: 1 }, { a: 1, b: 2 }, "b: is unexpected"],
    ["a key too few", { a: 1, b: 2 }, { a: 1 }, "b: is missing, expected 2"],
    ["a shorter list", [1, 2], [1], "1 items, expected 2"],
    ["another item", [1, { x: 2 }], [1, { x: 3 }], "[1].x: 3 is not 2"],
    ["equals", { equals: { a: 1 } }, { a: 1 }, undefined],
    ["not equal", { equals: 1 }, 2, "2 is not 1"],
    ["one of several", { in: ["a", "b"] }, "b", undefined],
    ["none of several", { in: ["a", "b"] }, "c", '"c" is not one of ["a","b"]'],
    ["a pattern", { matches: "^04fa" }, "04fa1ae", undefined],
    ["a pattern on the JSON of a list", { matches: '"x"' }, ["x"], undefined],
    ["no pattern", { matches: "^x" }, "yx", '"yx" does not match ^x'],
    ["a bound", { at_least: 2, at_most: 3 }, 4, "4 is not at most 3"],
    ["a bound on a text", { at_least: 2 }, "4", '"4" is not at least 2'],
    ["a length", { length: { at_least: 2 } }, [1], "length 1 is not at least 2"],
    ["a length of a text", { length: 3 }, "abc", undefined],
    ["a length of nothing", { length: 3 }, 5, "5 has no length"],
    ["existence", { exists: true }, null, "is missing"],
    ["absence", { exists: false }, undefined, undefined],
    ["something where nothing may be", { exists: false }, 1, "1 exists"],
    ["not a value", { not: "x" }, "x", '"x" must not be "x"'],
    ["not a matcher", { not: { matches: "^a" } }, "b", undefined],
    ["a matcher turned round", { equals: 1, not: true }, 1, '1 must not be {"equals":1}'],
    ["a matcher inside of a value", { a: { at_least: 2 } }, { a: 1 }, "a: 1 is not at least 2"],
    ["a key next to a matcher's makes it a value", { length: 1, unit: "m" }, { length: 1, unit: "m" }, undefined],
  ])("%s", (_what, expected, actual, complaint) => {
    expect(complaintAbout(expected, actual)).toBe(complaint);
  });

  it("is compared by the named keys alone if requested", () => {
    const came = { tool: "t", input: { title: "SEV1: x", body: "…" }, id: "op-1" };
    expect(complaintAbout({ tool: "t", input: { title: { matches: "SEV1" } } }, came, "named")).toBeUndefined();
    expect(complaintAbout({ input: { title: "x" } }, came, "named")).toBe('input.title: "SEV1: x" is not "x"');
  });

  it("is shown to a reader only in its differences", () => {
    expect(sides({ a: { at_least: 1 }, b: 1 }, { a: 5, b: 2 })).toEqual([
      { a: 5, b: 1 },
      { a: 5, b: 2 },
    ]);
    expect(sides({ a: 1 }, { a: 2, z: 3 }, "named")).toEqual([{ a: 1 }, { a: 2 }]);
  });

  it("is accepted except where there is a matcher", () => {
    expect(accepted({ a: { at_least: 9 }, b: 1 }, { a: 5, b: 2 })).toEqual({ a: { at_least: 9 }, b: 2 });
    expect(accepted({ input: { title: "x" } }, { id: "op-1", input: { title: "y", body: "z" } }, "named")).toEqual({
      input: { title: "y" },
    });
    expect(accepted([1], [1, 2])).toEqual([1, 2]);
  });
});

describe("a mistaken matcher", () => {
  it.each([[{ id: 7 }], [{ note: "x" }], [{ input: { id: 7 } }]])(
    "is not a field with a similar name: %j",
    (expected) => {
      expect(matcherProblems(expected, ["x"])).toEqual([]);
    },
  );

  it.each<[string, Json, unknown]>([
    ["an unknown one", { at_leest: 2 }, { path: ["x", "at_leest"], hint: "did you mean at_least?" }],
    ["one of two", { at_least: 2, at_mots: 3 }, { path: ["x", "at_mots"], hint: "did you mean at_most?" }],
    ["a pattern that is none", { matches: "(" }, { path: ["x", "matches"] }],
    ["a bound that is not a number", { at_most: "3" }, { path: ["x", "at_most"], message: "at_most must be a number" }],
    ["deep inside", [{ a: { lenght: 1 } }], { path: ["x", 0, "a", "lenght"], hint: "did you mean length?" }],
  ])("is reported: %s", (_what, expected, problem) => {
    expect(matcherProblems(expected, ["x"])).toMatchObject([problem]);
  });

  it("is not a value that merely has other keys", () => {
    expect(matcherProblems({ verdict: "incident", length: 3 }, [])).toEqual([]);
  });
});

test.each<[string, string, boolean]>([
  ["*-14", "APP-14", true],
  ["*-14", "APP-15", false],
  ["a*b*c", "axxbyyc", true],
  ["a*b*c", "axxbyy", false],
  ["*", "", true],
  ["", "x", false],
  ["a\\*b", "a*b", true],
  ["a\\*b", "axb", false],
  ["a.c", "abc", false],
  ["line\n*", "line\nnext\nlast", true],
])("the glob %j fits %j: %s", (pattern, text, fits) => {
  expect(fitsGlob(pattern, text)).toBe(fits);
});

test("a glob of many stars is decided quickly", () => {
  expect(fitsGlob(`${"*a".repeat(200)}*b`, "a".repeat(20_000))).toBe(false);
});

test("rows with an equal when answer one call each, and the last of them all further calls", () => {
  const rows: Fixture[] = [
    { when: { a: 1, b: 2 }, output: 1 },
    { when: { b: 2, a: 1 }, output: 2 },
    { output: 3 },
    { when: {}, output: 4 },
  ];
  const [find, other] = [openFixtures(rows), openFixtures(rows)];
  const inputs: Json[] = [{ a: 1, b: 2 }, {}, { a: 1, b: 2, c: 3 }, {}, { a: 1, b: 2 }];
  expect(inputs.map((input) => find(input)?.output)).toEqual([1, 3, 2, 3, 2]);
  expect(other({ a: 1, b: 2 })?.output).toBe(1);
});
