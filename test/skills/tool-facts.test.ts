import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import type { AnyToolDefinition, SkillDefinition } from "../../src/core/skill/skill.ts";

const folders = readdirSync("skills");
const skills = await Promise.all(
  folders.map(async (id) => ((await import(`../../skills/${id}/skill.ts`)) as { default: SkillDefinition }).default),
);
const reading = skills.flatMap(({ id, tools }) =>
  tools.filter(({ effect }) => effect === "read").map((tool) => ({ name: `${id}.${tool.name}`, tool })),
);

/** Names of the fields of a zod schema or a JSON Schema. */
function fieldsOf(schema: unknown): string[] {
  const plain = schema instanceof z.ZodType ? z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) : schema;
  return Object.keys((plain as { properties?: object } | undefined)?.properties ?? {});
}

function faultsOf({ clock, range, selects = [], echoes = [], ...tool }: AnyToolDefinition): string[] {
  const inputs = fieldsOf(tool.input_schema);
  const outputs = fieldsOf(tool.output_schema);
  const named = [range?.from, range?.to, ...selects].filter((name) => name !== undefined);
  return [
    ...(clock === undefined ? ["no clock"] : []),
    ...(range && clock !== "range" ? ["range without clock: range"] : []),
    ...(range && !range.from && !range.to ? ["empty range"] : []),
    ...named.filter((name) => !inputs.includes(name)).map((name) => `no input ${name}`),
    ...selects.filter((name) => name === range?.from || name === range?.to).map((name) => `selects its range ${name}`),
    ...echoes.filter((name) => !outputs.includes(name)).map((name) => `no result field ${name}`),
  ];
}

test.each(reading)("$name declares its clock and fields that exist", ({ tool }) => {
  expect(faultsOf(tool)).toEqual([]);
});

test("tools with fields named from and to of time declare them as their range", () => {
  const ends = reading.filter(({ tool }) => fieldsOf(tool.input_schema).some((name) => /^(?:since|until)$/.test(name)));
  expect(ends.filter(({ tool }) => tool.clock !== "range").map(({ name }) => name)).toEqual([]);
});
