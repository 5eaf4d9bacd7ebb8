import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

/** What the pages for people lead to is there, also where one points into another. */

const root = join(import.meta.dirname, "..", "..");
const pages = [
  "README.md",
  ".github/SECURITY.md",
  ...readdirSync(join(root, "docs"))
    .filter(isPage)
    .map((name) => `docs/${name}`),
];

function isPage(name: string): boolean {
  return name.endsWith(".md");
}

function withoutCode(text: string): string {
  return text.replace(/^(```|~~~)[\s\S]*?^\1/gm, "");
}

/** Links outside of code. */
function linksOf(page: string): string[] {
  const prose = withoutCode(readFileSync(join(root, page), "utf8")).replace(/`[^`\n]*`/g, "`");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) =>
    /^https?:/.test(target) ? [] : [target],
  );
}

function anchorsOf(page: string): Set<string> {
  const text = withoutCode(readFileSync(join(root, page), "utf8"));
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .replace(/<[^>]*>/g, "")
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
  return new Set([...headings, ...[...text.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id)]);
}

test.each(pages)("%s leads to what is there", (page) => {
  const lost = linksOf(page).filter((target) => {
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? page : join(dirname(page), path);
    if (!existsSync(join(root, file))) return true;
    return anchor !== undefined && isPage(file) && !anchorsOf(file).has(anchor);
  });
  expect(lost).toEqual([]);
});

test("the README fits on a few screens", () => {
  expect(readFileSync(join(root, "README.md"), "utf8").split("\n").length).toBeLessThanOrEqual(251);
});
