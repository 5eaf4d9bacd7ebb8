import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJsonText } from "../../../src/loaders/text/json-text.ts";
import { runsOf } from "../../harness/long.ts";

describe("JSON text", () => {
  test.each<[string, string, number, number]>([
    ["", "a value is expected where the text ends", 1, 1],
    ["[", "a value or ] is expected where the text ends", 1, 2],
    ["[1,]", "a value is expected before ]", 1, 4],
    ['{"a": 1,\n }', "a key is expected before }", 2, 2],
    ['{"a" 1}', ": is expected before 1}", 1, 6],
    ['[\n  {"a": 1}\n  {"b": 2}\n]', ', or ] is expected before {"b": 2}', 3, 3],
    ['{"a": 1 "b": 2}', ', or } is expected before "b": 2}', 1, 9],
    ["[1] // done", "the end is expected before // done", 1, 5],
    ["{a: 1}", "a key or } is expected before a: 1}", 1, 2],
    ["['a']", "a value or ] is expected before 'a']", 1, 2],
    ['["a\nb"]', 'a value or ] is expected before "a', 1, 2],
    ["[01]", ", or ] is expected before 1]", 1, 3],
    ["[NaN]", "a value or ] is expected before NaN]", 1, 2],
    ["]", "a value is expected before ]", 1, 1],
  ])("%j is reported: %s", (text, message, line, column) => {
    expect(parseJsonText(text).problem).toEqual({ message, line, column });
  });

  test("is refused quickly if it is nested too deeply", () => {
    for (const text of ["[".repeat(1_000_000), '{"a":'.repeat(200_000), "[[".repeat(60) + "]]".repeat(60)]) {
      expect(parseJsonText(text).problem).toMatchObject({ message: "nested more than 100 levels deep", line: 1 });
    }
  });

  test("may begin with a byte-order mark", () => {
    expect(parseJsonText("\uFEFF[1]").value).toEqual([1]);
  });

  test("has the places of its parts", () => {
    const { position } = parseJsonText('[\n  { "a": 1 },\n  { "b": [2] }\n]');
    expect(position([1])).toEqual({ line: 3, column: 3 });
    expect(position([1, "b"])).toEqual({ line: 3, column: 5 });
    expect(position([0, "none"])).toEqual({ line: 2, column: 3 });
  });

  test("is accepted exactly if the engine's own parser accepts it", () => {
    const mutated = fc
      .tuple(
        fc.json(),
        fc.nat(),
        fc.nat(3),
        fc.constantFrom("", ",", "]", "}", '"', "\\", " ", "\u2028", "1", "\t", "\u007f", "é", "\ud800"),
      )
      .map(
        ([json, at, cut, piece]) =>
          json.slice(0, at % (json.length + 1)) + piece + json.slice((at % (json.length + 1)) + cut),
      );
    fc.assert(
      fc.property(fc.oneof(fc.json(), mutated, fc.string()), (text) => {
        let value: unknown;
        try {
          value = JSON.parse(text);
        } catch {
          value = undefined;
        }
        expect(parseJsonText(text).value).toEqual(value);
      }),
      { numRuns: runsOf(2000) },
    );
  });
});
