import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newSkillFiles } from "../../src/cli/commands/skills/new.ts";
import { FORMATS } from "../../src/core/skill/skill.ts";

/** docs/skill-formats.md agrees with the tests, with the output of `skills new` and with the lint. */

const ROOT = join(import.meta.dirname, "..", "..");
const page = readFileSync(join(ROOT, "docs/skill-formats.md"), "utf8");

interface Row {
  readonly name: string;
  readonly cells: readonly string[];
}
const rows: Row[] = [...page.matchAll(/^\| ([\w ]+) \|(.*)\|$/gm)].flatMap(([, name = "", rest = ""]) => {
  const cells = rest.split("|").map((cell) => cell.trim());
  return cells.length === FORMATS.length ? [{ name, cells }] : [];
});

interface Proof {
  readonly row: string;
  readonly formats: readonly string[];
  readonly file: string;
  readonly test: string;
}
const proofs: Proof[] = page
  .slice(page.indexOf("## What proves it"))
  .split(/^- /m)
  .slice(1)
  .flatMap((part) =>
    [...part.matchAll(/^ {2}- ([\w, -]+): (\S+): "(.*)"$/gm)].map(([, formats = "", file = "", test = ""]) => {
      return { row: part.split("\n")[0] ?? "", formats: formats.split(", "), file, test };
    }),
  );

describe("the page about skill formats", () => {
  it("has a row for each matter and a column for each format", () => {
    expect(page).toContain(`| | ${FORMATS.map((format) => `\`${format}\``).join(" | ")} |`);
    expect(rows.length).toBeGreaterThan(8);
  });

  it.each(rows.map(({ name, cells }) => [name, cells] as const))(
    "has a test for each cell of the row %s",
    (name, cells) => {
      const proved = proofs.filter(({ row }) => row === name).flatMap(({ formats }) => formats);
      expect(FORMATS.filter((_, index) => cells[index] !== "–")).toEqual(
        FORMATS.filter((label) => proved.includes(label)),
      );
    },
  );

  it.each(proofs.map((proof) => [`${proof.file}: ${proof.test}`, proof] as const))(
    "names an existing test: %s",
    (_, proof) => {
      expect(readFileSync(join(ROOT, proof.file), "utf8")).toContain(`"${proof.test}"`);
    },
  );

  it.each(FORMATS)("shows what skills new writes for %s", (format) => {
    const id = format === "skills-protocol" ? "word.count" : "word-count";
    for (const [path, text] of newSkillFiles(format, { id, folder: "word-count" })) {
      const section = page.slice(page.indexOf(`### ${format}\n`));
      const shown = section.slice(section.indexOf(`\`skills/word-count/${path}\`\n`));
      expect(shown.split(/^~~~.*\n/m)[1], path).toBe(text);
    }
  });

  it("explains every code of the lint", () => {
    const folder = join(ROOT, "src/loaders");
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const sources = names.filter((name) => /\blint[a-z-]*\.ts$/.test(name)).map((name) => join(folder, name));
    const codes = sources.flatMap((file) => [
      ...readFileSync(file, "utf8").matchAll(
        /"((?:SKILL|TOOLS?|PARAMETER|ARGUMENT|RESOLVE|MANIFEST|CONTRACT|BINDING|PACKAGE|MODULE)_[A-Z_]+)"/g,
      ),
    ]);
    const silent = new Set(["SKILL_YAML_REPAIRED", "TOOLS_INVALID", "TOOL_SKIPPED"]);
    const untold = codes
      .map(([, code = ""]) => code)
      .filter((code) => !silent.has(code) && !page.includes(`\`${code}\``));
    expect(untold).toEqual([]);
  });
});
