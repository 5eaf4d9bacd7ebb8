import { expect, test } from "vitest";
import { parseFrontmatter } from "../../../src/loaders/text/frontmatter.ts";

test.each([
  ["text", "v"],
  ["lists", "[v]"],
])("the places of 20,000 fields that are %s are found quickly", (_, value) => {
  const fields = Array.from({ length: 20_000 }, (_, i) => `k${i}: ${value}\n`);
  const document = parseFrontmatter(`---\n${fields.join("")}---\n`);
  const lines = fields.map((_, i) => "position" in document && document.position([`k${i}`]).line);
  expect(lines).toEqual(fields.map((_, i) => i + 2));
});
