import { expect, it } from "vitest";
import { readInput } from "../../src/cli/flags.ts";
import type { Io } from "../../src/cli/io.ts";
import type { Workflow } from "../../src/core/document/workflow/workflow.ts";

/** Values of `-i KEY=VALUE` for an input of type `string[]`. */
it.each([
  [["a,b"], ["a", "b"]],
  [
    ["a", "b,c"],
    ["a", "b", "c"],
  ],
  [['["a, b","c"]'], ["a, b", "c"]],
  [["[draft] a"], ["[draft] a"]],
])("a list is written with commas or as JSON: %j", async (values, list) => {
  const workflow = { inputs: { names: { type: "string[]" } } } as unknown as Workflow;
  const read = await readInput({} as Io, { i: values.map((value) => ["names", value] as const) });
  expect(read(workflow)).toEqual({ names: list });
});
