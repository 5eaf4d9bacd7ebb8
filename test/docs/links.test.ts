import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lostLinks } from "./links.ts";

/** The links of the pages for users lead to existing files and headings, also inside another page. */

const root = join(import.meta.dirname, "..", "..");
const pages = [
  "README.md",
  "CHANGELOG.md",
  "SKILL.md",
  ".github/CONTRIBUTING.md",
  ".github/SECURITY.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

test.each(pages)("the links of %s lead to existing targets", (page) => {
  expect(lostLinks(root, page)).toEqual([]);
});

test("the README fits on a few screens", () => {
  expect(readFileSync(join(root, "README.md"), "utf8").split("\n").length).toBeLessThanOrEqual(251);
});
