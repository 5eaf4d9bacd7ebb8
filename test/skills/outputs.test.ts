import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { compileSchema } from "../../src/core/base/schema/schema.ts";
import { loadSkillModule } from "../../src/loaders/formats/module/skill-module.ts";

const root = join(import.meta.dirname, "../../skills");

it.each(readdirSync(root))("every tool of %s describes its output, in less than 400 tokens", async (id) => {
  const { tools } = await loadSkillModule(join(root, id, "skill.ts"));
  for (const { name, output_schema } of tools) {
    expect(output_schema, name).toMatchObject({ type: "object" });
    expect(() => compileSchema(output_schema ?? {}), name).not.toThrow();
    expect(JSON.stringify(output_schema).length / 4, name).toBeLessThan(400);
  }
});
