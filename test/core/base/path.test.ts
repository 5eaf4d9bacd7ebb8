import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkPath, PATH_PATTERN, parsePath } from "../../../src/core/base/path.ts";

describe("the grammar", () => {
  test.each([
    "",
    "x:",
    "a[*][*]",
    "[*].b",
    "a.",
    ".a",
    "a..b",
    "1a",
    "a b",
    "a[0]",
    "a[]",
    "all:",
    "some:a",
    "all:any:a",
    " a",
    "a\n",
    "a[*]b",
    "ä",
    "a.*",
  ])("%j is rejected", (text) => {
    expect(parsePath(text)).toBeUndefined();
    expect(PATH_PATTERN.test(text)).toBe(false);
  });

  test.each([
    "a",
    "_a",
    "a-b",
    "fetch-log.top-error",
    "a1.b2",
    "all:a",
    "any:a[*].b",
    "a[*].b[*].c",
    "constructor.toString",
    "all.any",
  ])("%j is a path", (text) => {
    expect(parsePath(text)).toBeDefined();
    expect(PATH_PATTERN.test(text)).toBe(true);
  });

  test("the pattern of the schema and the parser agree on every text", () => {
    const piece = fc.constantFrom("a", "B_", "-", ".", "[*]", "[", "]", "*", "all:", "any:", ":", "1", " ", "\n");
    const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
    fc.assert(fc.property(text, (path) => (parsePath(path) !== undefined) === PATH_PATTERN.test(path)));
  });
});

const truthy = (value: unknown) => (value ? undefined : "is false");
const root = {
  a: {
    b: 1,
    n: null,
    list: [{ ok: true }, { ok: false }, {}],
    none: [],
    flags: [true, false],
    flat: [1, 2],
    text: "abc",
  },
  nil: null,
  "kebab-key": { x: 1 },
};

describe("following", () => {
  test.each([
    ["a.b"],
    ["kebab-key.x"],
    ["all:a.flat[*]"],
    ["a.flat[*]"],
    ["all:a.none[*]"],
    ["a.none[*].deep.er"],
    ["any:a.list[*].ok"],
    ["any:a.b"],
  ])("%s resolves", (path) => {
    expect(checkPath(path, root, truthy)).toBeUndefined();
  });

  test.each([
    ["a.c", "a.c is missing"],
    ["x.y", "x is missing"],
    ["nil.x", "nil.x: its parent is null"],
    ["a.n.x.y", "a.n.x: its parent is null"],
    ["a.b[*]", "a.b is not an array"],
    ["a.n[*]", "a.n is not an array"],
    ["a.text[*]", "a.text is not an array"],
    ["a.text.length", "a.text.length is missing"],
    ["a.flat.length", "a.flat.length is missing"],
    ["a.toString", "a.toString is missing"],
    ["constructor", "constructor is missing"],
    ["__proto__", "__proto__ is missing"],
    ["a.list[*].ok", "a.list[*].ok is missing"],
    ["a.flags[*]", "is false"],
    ["all:a.flags[*]", "is false"],
    ["any:a.none[*]", "any:a.none[*]: the list is empty"],
    ["any:a.missing[*].x", "a.missing is missing"],
  ])("%s fails with the segment in its reason: %s", (path, reason) => {
    expect(checkPath(path, root, truthy)).toBe(reason);
  });

  test("under any: a miss inside one element counts against that element only", () => {
    const value = { list: [{}, { ok: true }, { ok: null }] };
    expect(checkPath("any:list[*].ok", value, truthy)).toBeUndefined();
    expect(checkPath("all:list[*].ok", value, truthy)).toBe("list[*].ok is missing");
    expect(checkPath("any:list[*].other", value, truthy)).toBe("list[*].other is missing");
  });

  test("null midway in one element counts against that element only", () => {
    const value = { list: [null, { a: null }, { a: { b: 1 } }] };
    expect(checkPath("any:list[*].a.b", value, truthy)).toBeUndefined();
    expect(checkPath("all:list[*].a.b", value, truthy)).toContain("its parent is null");
  });

  test("lists in lists are all followed", () => {
    const value = { rows: [{ cells: [1, 2] }, { cells: [] }, { cells: [0] }] };
    expect(checkPath("all:rows[*].cells[*]", value, truthy)).toBe("is false");
    expect(checkPath("any:rows[*].cells[*]", value, truthy)).toBeUndefined();
  });
});
