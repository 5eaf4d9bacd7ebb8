import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { toolsNamed } from "../../src/core/engine/tools/disclosure.ts";
import { loadSkillModule } from "../../src/loaders/formats/module/skill-module.ts";

const root = join(import.meta.dirname, "../../skills");

it.each(readdirSync(root))("the text of %s names its tools as the model sees them, and no others", async (id) => {
  const { tools } = await loadSkillModule(join(root, id, "skill.ts"));
  const names = tools.map(({ name }) => name);
  const text = readFileSync(join(root, id, "SKILL.md"), "utf8");
  const named = toolsNamed(text);
  expect(named).not.toEqual([]);
  expect(named.filter((name) => !names.includes(name))).toEqual([]);
  expect(names.filter((name) => text.includes(`\`${name}\``))).toEqual([]);
});
