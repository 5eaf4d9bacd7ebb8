import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

/** docs/skills-compared.md names existing tools, and all reading tools of the skills that it compares. */

const PAGE = readPage("skills-compared.md");
const TOOLS = toolsOf(readPage("skills.md"));

const SECTIONS = sectionsOf(PAGE);

/** Built-in skills that the page compares. A new skill is compared once a maintainer has examined its peers. */
const COMPARED = [...TOOLS.keys()].filter((id) => SECTIONS.has(id) || PAGE.includes(`| \`${id}\` |`));

function readPage(name: string): string {
  return readFileSync(join(import.meta.dirname, "..", "../docs", name), "utf8");
}

/** The tools of each skill and their effects, from the generated page. */
function toolsOf(page: string): Map<string, Map<string, string>> {
  return new Map(
    page.split(/^## /m).flatMap((section) => {
      const [, id] = section.match(/^[^\n]*\(`([\w.-]+)`, \w+\)\n/) ?? [];
      const rows = [...section.matchAll(/^\| `(\w[\w-]*)` \| (read|write)\b/gm)];
      return id ? [[id, new Map(rows.map(([, name = "", effect = ""]) => [name, effect]))] as const] : [];
    }),
  );
}

/** The skillflow tools that each skill's section names, by their full names. */
function sectionsOf(page: string): Map<string, string[]> {
  return new Map(
    page.split(/^## /m).flatMap((section) => {
      const [, id] = section.match(/^Skill `([\w-]+)`/m) ?? [];
      const cells = section.split("\n").map((line) => line.split(/(?<!\\)\|/)[2] ?? "");
      const names = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => `${id}_${name}`));
      return id ? [[id, names] as const] : [];
    }),
  );
}

/** The page without its text about other products' tools, whose names may look like skillflow's. */
function ownWords(page: string): string {
  return page
    .split("\n")
    .map((line) =>
      line.startsWith("|")
        ? line
            .split(/(?<!\\)\|/)
            .toSpliced(3, 1)
            .join("|")
        : line,
    )
    .join("\n");
}

describe("the page that compares the built-in skills", () => {
  it("names no skillflow tool that does not exist", () => {
    const every = new Set([...TOOLS.values()].flatMap((tools) => [...tools.keys()]));
    const ids = [...TOOLS.keys()].join("|");
    const named = [...ownWords(PAGE).matchAll(new RegExp(`\`((?:${ids})_\\w+)\``, "g"))].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(5);
    expect([...[...SECTIONS.values()].flat(), ...named].filter((name) => !every.has(name))).toEqual([]);
  });

  it("names every reading tool of these skills", () => {
    const reads = COMPARED.flatMap((id) => [...(TOOLS.get(id) ?? [])].filter(([, effect]) => effect === "read"));
    const named = [...SECTIONS.values()].flat();
    expect(reads.length).toBeGreaterThan(100);
    expect(reads.map(([name]) => name).filter((name) => !named.includes(name) && !PAGE.includes(name))).toEqual([]);
  });

  it("compares most skills", () => {
    expect(COMPARED.length).toBeGreaterThan(20);
  });

  it.each(COMPARED)("counts the tools of %s", (id) => {
    const effects = [...(TOOLS.get(id)?.values() ?? [])];
    const writes = effects.filter((effect) => effect === "write").length;
    const [, counted] = PAGE.match(new RegExp(`^\\| [^|]* \\| \`${id}\` \\| ([^|]*) \\|`, "m")) ?? [];
    expect(counted).toBe(writes > 0 ? `${effects.length}, ${writes} W` : String(effects.length));
  });
});
