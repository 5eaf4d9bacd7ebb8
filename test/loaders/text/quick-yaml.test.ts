import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseQuickYaml, type Spot } from "../../../src/loaders/text/quick-yaml.ts";
import { parseWholeYaml, parseYaml } from "../../../src/loaders/text/yaml-text.ts";
import { runsOf, spreadOf } from "../../harness/long.ts";

/** Checks that both parsers agree on a text. Returns false if the quick one leaves it to the other. */
function agrees(text: string): boolean {
  const quick = parseQuickYaml(text);
  if (!quick) return false;
  const whole = parseWholeYaml(text);
  expect(whole.problems).toEqual([]);
  expect(whole.value).toStrictEqual(quick.value);
  const { position } = parseYaml(text);
  for (const path of [...pathsOf(quick), ["no such key"], [0, "a"]]) {
    expect([path, position(path)]).toEqual([path, whole.position(path)]);
    expect(position([...path, "none"])).toEqual(whole.position([...path, "none"]));
  }
  return true;
}

function pathsOf({ members, items = [] }: Spot): (string | number)[][] {
  const below = [...(members ?? [])].map(([key, { spot }]) => [key, spot] as const);
  const parts = [...below, ...items.entries()];
  return [[], ...parts.flatMap(([key, spot]) => pathsOf(spot).map((path) => [key, ...path]))];
}

describe("quick YAML", () => {
  test("covers most workflows", () => {
    const files = execFileSync("git", ["ls-files", "*.yml", "*.yaml", "*.json"], { encoding: "utf8" });
    const texts = spreadOf(files.trim().split("\n"), 60).map((file) => readFileSync(file, "utf8"));
    const taken = texts.filter((text) => text.length < 40_000 && agrees(text));
    expect(taken.length).toBeGreaterThan(texts.length / 2);
    expect(parseQuickYaml(readFileSync("workflows/incident-triage.yml", "utf8"))).toBeDefined();
  });

  test.each([
    "",
    "a",
    "a: *b",
    "a: &b",
    "a: &b c\nd: &b e",
    "a: &b [c]\nd: &e [*b]",
    "a: &b [*b]",
    "&a b: c",
    "- &a b: c",
    "a: &b c\n*b : d",
    `a: &b c\nd: [${"*b, ".repeat(20)}*b]`,
    "a: !!str b",
    "a: b: c",
    "a: b\n  c",
    "a: 'b",
    "a:\n\tb: c",
    "a: b\na: c",
    "__proto__: a",
    "<<: a",
    '{"<<": a}',
    "a: 0x1",
    "a: 1e3",
    "a: .inf",
    "a: 01",
    "a: ~",
    "a: True",
    "true: a",
    "1: a",
    "? a",
    "- a\nb: c",
    "a: [b",
    "a: [b,]",
    "a: [b: c]",
    "a: {b}",
    "a: [b]c",
    "a: |2\n    b\n",
    "a: |+\n  b\n",
    "a: >\n  b\n   c\n",
    "a: |\n",
    "a: |\n  b",
    "a: b\r\n",
    "---\na: b",
    "a: b\n...",
    "%A",
    "a: @b",
    "a: `b",
    "-",
    "a: - b",
    'a: "\\x41"',
    "a: b\u0085",
    "a: \ud800",
    "\ufeffa: b",
    "a:\n  b: c\n d: e",
    `${"k".repeat(300)}: a`,
    "[".repeat(60) + "]".repeat(60),
  ])("%j is left to the full parser", (text) => {
    expect(parseQuickYaml(text)).toBeUndefined();
  });

  test("an alias is the value of its anchor itself", () => {
    const { value } = parseYaml("a: &x\n  b: 1\nc: *x\nd: [*x]");
    const { a, c, d } = value as { a: object; c: object; d: object[] };
    expect([c === a, d[0] === a]).toEqual([true, true]);
  });

  test("has the same value as from the full parser, for any text that it accepts", () => {
    const piece = fc.constantFrom(
      ..."abz01: #-\n'\"[]{}&*!|>%@`,?~.\\\t".split(""),
      "k: ",
      "\nk: ",
      "\n  j: ",
      "\n    i: ",
      "\n- ",
      "\n  - ",
      "\n    - ",
      "\nm:",
      "\n  n:",
      "\n",
      "\n\n",
      "\n  ",
      "\n    ",
      " # c",
      "|\n",
      ">\n",
      "|-\n    text\n",
      ">-\n  text\n  more\n\n  end",
      ": ",
      "- ",
      "[a",
      ", b",
      "]",
      "{x: 1",
      "}",
      '"q"',
      "'it''s'",
      '"\\n"',
      "true",
      "null",
      "0x1",
      "1e3",
      "-1.5",
      "007",
      ".inf",
      "é",
      "😀",
      "\u00a0",
      "\u2028",
      "\ufeff",
      "text here",
      "a/b:c",
      "&x ",
      "*x",
      "k: &x ",
      "\nk: &x",
      "\nk: *x",
      "\n    \u0020\n",
      "x#y",
      '"k": ',
      '{"a":1',
      '{"a": [',
      '"b":{',
    );
    const text = fc
      .tuple(
        fc.constantFrom(
          "",
          "a: ",
          "a:\n",
          "- ",
          "a: &x ",
          "a: &x\n",
          "a: &x\n  b: 1\nk: *x",
          "a:\n  b: ",
          "{",
          "# c\n",
          "a: >\n",
          "a: |-\n",
        ),
        fc.array(piece, { maxLength: 14 }),
      )
      .map(([start, pieces]) => start + pieces.join(""));
    let taken = 0;
    fc.assert(
      fc.property(text, (yaml) => {
        if (agrees(yaml)) taken++;
      }),
      { numRuns: runsOf(20_000) },
    );
    expect(taken).toBeGreaterThan(runsOf(1_000));
  });

  test("agrees on documents in all its forms", () => {
    const leaf = fc.oneof(fc.string(), fc.lorem(), fc.integer(), fc.boolean(), fc.constant(null), fc.double());
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        leaf,
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(fc.string(), tie("tree"), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.constantFrom(0, 2), (value, space) => void agrees(JSON.stringify({ value }, null, space))),
      { numRuns: runsOf(1_000) },
    );
  });
});
