import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FORMATS } from "../../src/core/skill/skill.ts";
import { runHere } from "./in-process.ts";
import { makeProject, runProgram } from "./program.ts";

/** Skills created by the built program. */

const filesIn = (directory: string) =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(directory, name)).isFile())
    .sort();

describe("skills new", () => {
  it.each(FORMATS)(
    "creates a skill of the format %s, which passes lint, and prints what to do next",
    async (format) => {
      const cwd = makeProject();
      const begun = await runHere(["skills", "new", "word-count", "--format", format], { cwd });
      expect(begun).toMatchObject({ code: 0, stdout: "" });
      const folder = join(cwd, "skills/word-count");
      for (const file of filesIn(folder)) expect(begun.stderr).toContain(`+ skills/word-count/${file}`);
      expect(begun.stderr).toMatch(/skills lint skills\/word-count\n/);
      expect(begun.stderr).toMatch(/skills show word[.-]count/);
      const linted = await runHere(["skills", "lint", "skills/word-count", "--json"], { cwd });
      expect(JSON.parse(linted.stdout)).toEqual({ schema: "skillflow.lint/1", problems: [] });
      expect(linted.code).toBe(0);
      const { stdout } = await runHere(["skills", "list", "--json"], { cwd });
      const { skills } = JSON.parse(stdout) as { skills: { id: string; format: string }[] };
      expect(skills).toContainEqual(expect.objectContaining({ id: expect.stringMatching(/^word[.-]count$/), format }));
    },
  );

  it("uses Agent Skills by default", async () => {
    const cwd = makeProject();
    await runProgram(["skills", "new", "word-count"], { cwd });
    expect(filesIn(join(cwd, "skills/word-count"))).toEqual(["SKILL.md", "references/checklist.md"]);
  });

  it("imports the program's types in a module, in a way that an editor resolves", async () => {
    const cwd = makeProject();
    await runHere(["skills", "new", "word-count", "--format", "module"], { cwd });
    const code = readFileSync(join(cwd, "skills/word-count/skill.mjs"), "utf8");
    expect(code).toMatch(/^\/\*\* @type \{import\("skillflow"\)\.SkillDefinition\} \*\/\n/);
  });

  it.each([
    ["contract", "contract.yml", "id: text.words.count\n"],
    ["skills-protocol", "skill.toml", 'name = "text.words.count"\n'],
  ])("creates for a %s with dots in its id a folder with that name, which passes lint", async (format, file, line) => {
    const cwd = makeProject();
    expect((await runHere(["skills", "new", "text.words.count", "--format", format], { cwd })).code).toBe(0);
    expect(readFileSync(join(cwd, "skills/text.words.count", file), "utf8")).toContain(line);
    const linted = await runHere(["skills", "lint", "--json"], { cwd });
    expect(JSON.parse(linted.stdout)).toMatchObject({ problems: [] });
  });

  it("writes into the project from any subfolder", async () => {
    const cwd = makeProject({ "deep/down/.keep": "" });
    mkdirSync(join(cwd, ".git"));
    const { stderr } = await runHere(["skills", "new", "mine"], { cwd: join(cwd, "deep/down") });
    expect(stderr).toContain("+ ../../skills/mine/SKILL.md");
    expect(existsSync(join(cwd, "skills/mine/SKILL.md"))).toBe(true);
  });

  it("creates no skill whose tools a built-in one would hide", async () => {
    const cwd = makeProject({});
    const { code, stderr } = await runHere(["skills", "new", "slack", "--format", "skill-tools"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /slack is a built-in skill and cannot be replaced; nothing was written\n {2}choose another id/,
    );
    expect(existsSync(join(cwd, "skills"))).toBe(false);
  });

  it("does not overwrite a file", async () => {
    const cwd = makeProject({ "skills/mine/notes.md": "mine" });
    const { code, stderr } = await runHere(["skills", "new", "mine"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(/skills\/mine already exists; nothing was written/);
    expect(filesIn(join(cwd, "skills/mine"))).toEqual(["notes.md"]);
  });

  it.each([
    [["mine", "--format", "skil-tools"], /no skill format "skil-tools"\n {2}did you mean skill-tools\?/],
    [["mine", "--format", "rust"], /no skill format "rust"\n {2}use one of agent-skills, /],
    [["My Skill"], /"My Skill" is not a valid skill id: .*\n {2}such as my-skill/],
    [["a.b"], /"a.b" is not a valid skill id/],
    [["../evil"], /is not a valid skill id/],
    [["a--b", "--format", "contract"], /is not a valid skill id/],
    [["x".repeat(65)], /is not a valid skill id/],
    [[], /no skill id was given: skills new ID/],
  ])("refuses %j", async (args, says) => {
    const cwd = makeProject();
    const { code, stderr } = await runHere(["skills", "new", ...args], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(says);
    expect(readdirSync(cwd)).toEqual([]);
  });
});
