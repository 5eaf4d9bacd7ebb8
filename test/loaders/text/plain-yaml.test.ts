import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parsePlainYaml } from "../../../src/loaders/text/plain-yaml.ts";
import { parseYaml } from "../../../src/loaders/text/yaml-text.ts";
import { runsOf } from "../../harness/long.ts";

describe("plain YAML", () => {
  test("is what most documents are", () => {
    const text = `name: count-words\ndescription: Counts words, e.g. a README's (all of them)\nlicense: "MIT"\ntags: [counting, word-lists]\nmetadata:\n  author: someone\n  version: '1.10'`;
    expect(parsePlainYaml(text)).toEqual({
      name: "count-words",
      description: "Counts words, e.g. a README's (all of them)",
      license: "MIT",
      tags: ["counting", "word-lists"],
      metadata: { author: "someone", version: "1.10" },
    });
  });

  test.each([
    "",
    "name",
    "name: 7",
    "name: true",
    "name: []",
    "name: [a, 1]",
    "name: [a, null]",
    "name: [a,, b]",
    "name: [a: b]",
    "name: [a b]",
    "m:\n  a: [b]",
    "name: >",
    "name: a: b",
    "name: a #b",
    "name: *a",
    "name: &a b",
    "name: !!str a",
    'name: "a\\n"',
    "name: 'it''s'",
    "name: a\n  b",
    "name: a\nname: b",
    "name: a\n\nother: b",
    "m:",
    "m:\n",
    "m:\n  a: b\n  a: c",
    "m:\n    a: b",
    "m:\n  a:\n    b: c",
    "- a",
    "name: a\r",
    "<<: a",
    "__proto__: a",
  ])("%j is left to the whole language", (text) => {
    expect(parsePlainYaml(text)).toBeUndefined();
  });

  test("means what the whole language says, whatever it takes", () => {
    const piece = fc.constantFrom(
      ..."abz: #-\n'\"[]{}&*!|>%@`,?~.\\\t".split(""),
      "key: ",
      "[a",
      ", b",
      "\n  ",
      "\nk: ",
      "true",
      "null",
      "yes",
      "0x1",
      "1e3",
      ".inf",
      "é",
      "\u2028",
      "\ufeff",
    );
    const text = fc.array(piece, { maxLength: 20 }).map((pieces) => `a: ${pieces.join("")}`);
    let taken = 0;
    fc.assert(
      fc.property(text, (yaml) => {
        const plain = parsePlainYaml(yaml);
        if (plain === undefined) return;
        taken++;
        const { value, problems } = parseYaml(yaml);
        expect(problems).toEqual([]);
        expect(value).toEqual(plain);
      }),
      { numRuns: runsOf(20_000) },
    );
    expect(taken).toBeGreaterThan(runsOf(500));
  });
});
