import { describe, expect, it } from "vitest";
import { OPTIONS } from "../../src/app/options.ts";
import { COMMANDS } from "../../src/cli/table/commands.ts";
import type { CommandSpec } from "../../src/cli/table/options.ts";
import { FORMATS } from "../../src/core/skill/skill.ts";

/** The types of the table's data, which the compiler cannot check. */

const leaves = (specs: readonly CommandSpec[]): readonly CommandSpec[] =>
  specs.flatMap((spec) => (spec.commands ? leaves(spec.commands) : [spec]));

describe.each(leaves(COMMANDS).map((spec) => [spec.usage, spec] as const))("the command %s", (_, { load, options }) => {
  it("has an action and known options", async () => {
    expect(await load?.()).toBeTypeOf("function");
    for (const option of options ?? []) {
      if (typeof option === "string") expect(Object.keys(OPTIONS)).toContain(option);
      else expect(option[0]).toMatch(/^-/);
    }
  });
});

it("the help of `skills new` names all formats", () => {
  expect(JSON.stringify(COMMANDS)).toContain(FORMATS.join(", "));
});
