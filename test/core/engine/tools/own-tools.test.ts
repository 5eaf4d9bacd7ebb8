import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { sha256 } from "../../../../src/core/base/sha256.ts";
import { isReservedTool, reservedName } from "../../../../src/core/engine/tools/own-tools.ts";
import { exposedName } from "../../../../src/core/skill/tool-names.ts";

test.each([
  ["read", "skill"],
  ["read.skill", "read.skill"],
  ["read", "blob"],
  ["search", "blob"],
  ["read", "read_blob"],
  ["skillflow", "anything"],
])("the skill %s with the tool %s is refused", (skill, tool) => {
  expect(reservedName(skill, ["x_y", exposedName(skill, tool)])).toContain("skillflow's own tools");
});

test.each([
  ["chai", "read_skill"],
  ["read-skill", "it"],
  ["blob", "read"],
])("the skill %s with the tool %s is accepted", (skill, tool) => {
  expect(reservedName(skill, [exposedName(skill, tool)])).toBeUndefined();
});

test.each([
  ...["read_skill", "read_blob", "search_blob", "read_result", "run_script", "run_code", "define_tool"],
  ...["remove_tool", "state_get", "state_search", "state_put"],
])("no skill has a tool %s, in any spelling", (name) => {
  for (const spelling of [name, name.replace("_", "-"), name.replace("_", ".")]) {
    expect(isReservedTool("mine", spelling)).toBe(true);
  }
  expect(isReservedTool("mine", `${name}s`)).toBe(false);
});

test.each([
  ["read", "skill", true],
  ["read-skill", "read-skill", true],
  ["read-skill", "it", false],
  ["run", "code", false],
])("in the skill %s the tool %s is checked by its offered name: %s", (skill, tool, isReserved) => {
  expect(isReservedTool(skill, tool)).toBe(isReserved);
});

test.each([
  ["count-words", "count_words", "count_words"],
  ["count.words", "count-words_in", "count-words_in"],
  ["count-words", "count_wordsmith", "count-words_count_wordsmith"],
  ["a.b", "a.b", "a_b"],
  ["prometheus@eu", "query", "prometheus_eu_query"],
  ["prometheus@eu-1", "query", "prometheus_eu_1_query"],
  ["count-words@eu", "count_words_in", "count_words_eu_in"],
  ["page@eu", "page", "page_eu"],
])("of the skill %s the tool %s is offered as %s", (skill, tool, exposed) => {
  expect(exposedName(skill, tool)).toBe(exposed);
});

test.each([55, 62, 63, 200])("a name of %i more characters is cut at 55 and ends in its digest", (length) => {
  const whole = `a_${"x".repeat(length)}`;
  const digest = createHash("sha256").update(whole).digest("hex").slice(0, 8);
  const expected = whole.length > 64 ? `${whole.slice(0, 55)}_${digest}` : whole;
  expect(exposedName("a", "x".repeat(length))).toBe(expected);
});

test("digests of texts of any length agree with Node's", () => {
  for (let length = 0; length < 200; length++) {
    const text = "skill_tool-7".repeat(17).slice(0, length);
    expect(sha256(text)).toBe(createHash("sha256").update(text).digest("hex"));
  }
});
