import { expect, test } from "vitest";
import { parseYaml } from "../../../src/loaders/text/yaml-text.ts";

test.each([
  ["a:\n\tb: 1\n\tc: 2\n\tb: 3\n", "2:1 the indentation has a tab: use spaces only"],
  ["a:\n  b: 1\n c: 2\n  d: 3\n", "3:1 the indentation does not fit"],
  ["a: 1\nb\nc: 2\n", "2:1 something is missing here: a colon"],
  ["a: b: c\nd: e: f\n", "1:4 a second key begins in this line"],
  ['a: "b\nc: d\n', "1:4 this quote or bracket is not closed"],
  ["a: { b: c\n", "1:4 this quote or bracket is not closed"],
  ["a: @b\n", "1:4 a value without quotes cannot begin with this character"],
  ["a: !b c\n", "1:4 this tag is unknown"],
  ["{ a: 1 b: 2 }\n", "1:6 a comma or a closing bracket is missing before this"],
])("%j has one finding, in plain words", (text, finding) => {
  const { problems } = parseYaml(text);
  expect(problems).toHaveLength(1);
  const [{ line, column, message } = { message: "" }] = problems;
  expect(`${line}:${column} ${message}`).toContain(finding);
});

test("duplicate keys are all found, if nothing else is wrong", () => {
  expect(parseYaml("a: 1\na: 2\nb: 1\nb: 2\n").problems).toHaveLength(2);
});
