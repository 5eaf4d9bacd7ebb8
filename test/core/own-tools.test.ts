import { expect, test } from "vitest";
import { reservedName } from "../../src/core/own-tools.ts";
import { exposedName } from "../../src/core/skill.ts";

test.each([
  ["read", "skill"],
  ["read.skill", "read.skill"],
  ["read", "blob"],
  ["search", "blob"],
  ["read", "read_blob"],
  ["skillflow", "anything"],
])("the skill %s with the tool %s is refused", (skill, tool) => {
  expect(reservedName(skill, ["x_y", exposedName(skill, tool)])).toContain("skillflow itself");
});

test.each([
  ["chai", "read_skill"],
  ["read-skill", "it"],
  ["blob", "read"],
])("the skill %s with the tool %s is not", (skill, tool) => {
  expect(reservedName(skill, [exposedName(skill, tool)])).toBeUndefined();
});
