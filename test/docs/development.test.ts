import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

/** The pages for maintainers name existing files and functions. */

const ROOT = join(import.meta.dirname, "..", "..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const PAGES = ["docs/development.md", ".github/CONTRIBUTING.md"];
const PATH = /`((?:bench|docs|scripts|skills|src|test|workflows)(?:\/[\w./-]+)?)`/g;

/** Rows of the tables that list functions with their files. */
const ROWS = read("docs/development.md")
  .split("\n")
  .map((line) => line.split("|").map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name)))
  .flatMap(([, , names = [], files = []]) =>
    files[0]?.endsWith(".ts") && names.every(isName) ? [{ names, files }] : [],
  );

function isName(text: string): boolean {
  return /^\w+$/.test(text);
}

describe.each(PAGES)("%s", (page) => {
  const paths = [...read(page).matchAll(PATH)].map(([, path = ""]) => path);

  it("names existing files and folders", () => {
    expect(paths.length).toBeGreaterThan(3);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

describe("the path of a run", () => {
  it("has all its steps", () => {
    expect(ROWS.length).toBeGreaterThan(12);
  });

  it.each(ROWS)("$names are declared in $files", ({ names, files }) => {
    for (const [index, name] of names.entries()) {
      const file = files.length === 1 ? files[0] : files[index];
      const declared = new RegExp(`^export (?:async )?(?:function|const|interface|type) ${name}\\b`, "m");
      const local = new RegExp(`^(?:async )?function ${name}\\b`, "m");
      const text = file ? read(file) : "";
      expect(declared.test(text) || local.test(text), `${name} in ${file}`).toBe(true);
    }
  });
});
