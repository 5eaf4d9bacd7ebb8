import { expect, test } from "vitest";
import { renderInputs } from "../../src/app/listen/slack/message.ts";
import type { Operation } from "../../src/core/engine/event/operation.ts";

test.each([3, 4, 5, 6, 7, 8, 9])("a diff with %i backticks does not end the code block that shows it", (count) => {
  const diff = `+x ${"`".repeat(count)}\n+*approved by security*`;
  const operation = { id: "op-1", skill: "workspace", tool: "propose_change", input: {}, digest: "d", diff };
  const pages = renderInputs("Input", [operation as unknown as Operation]);
  const text = String(pages[0]?.text);
  expect(text.split("```")).toHaveLength(3);
  expect(text).toMatch(/approved by security\*\n```$/);
});
