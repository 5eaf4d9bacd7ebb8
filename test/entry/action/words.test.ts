import { expect, it } from "vitest";
import { splitWords } from "../../../src/entry/action/words.ts";

it.each<[string, string[]]>([
  ["", []],
  ["  \n\t ", []],
  ["--timeout 5m\n--offline", ["--timeout", "5m", "--offline"]],
  ["-i 'a b' -i \"c d\"", ["-i", "a b", "-i", "c d"]],
  [`'' ""`, ["", ""]],
  [`a'b c'"d e"f`, ["ab cd ef"]],
  [`"a\\"b\\\\c\\d"`, [`a"b\\c\\d`]],
  ["a\\ b \\' \\\\", ["a b", "'", "\\"]],
  ["one \\\n two a\\\nb", ["one", "two", "ab"]],
  ["$HOME `id` $(id) * ~ ${{ x }} a;b|c&", ["$HOME", "`id`", "$(id)", "*", "~", "${{", "x", "}}", "a;b|c&"]],
  ["'$HOME'", ["$HOME"]],
])("args %j are split into the words that a shell would produce, with nothing expanded", (text, words) => {
  expect(splitWords(text)).toEqual(words);
});

it.each(["'a", 'b "c', "d\\"])("unterminated args, as in %s, are refused", (text) => {
  expect(() => splitWords(text)).toThrow(/not closed/);
});
