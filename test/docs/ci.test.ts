import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";

const ROOT = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(ROOT, "docs/ci.md"), "utf8");
const action = parse(readFileSync(join(ROOT, "action.yml"), "utf8"));

it.each([
  ["Input", action.inputs],
  ["Output", action.outputs],
] as const)(
  "the page about CI describes each %s as action.yml does",
  (head, named: Record<string, { description: string }>) => {
    const table = page.slice(page.indexOf(`| ${head} | Description |`)).split("\n\n")[0] ?? "";
    const rows = Object.entries(named).map(([name, { description }]) => `| \`${name}\` | ${description} |`);
    expect(table.split("\n").slice(2)).toEqual(rows);
  },
);

it("the page about CI names all examples that exist, and no other", () => {
  const named = [...page.matchAll(/\]\(\.\.\/examples\/([\w-]+\.yml)\)/g)].map(([, name = ""]) => name);
  expect([...new Set(named)].sort()).toEqual(readdirSync(join(ROOT, "examples")).sort());
});
