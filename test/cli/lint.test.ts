import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/** The lint as users and CI call it. Its rules are in test/loaders/registry/lint.test.ts. */

const GOOD = "---\nname: good\ndescription: Good\n---\nDo it.";
const BAD = "---\nname: Bad\n---\nDo it.";
const files = { "skills/good/SKILL.md": GOOD, "skills/bad/SKILL.md": BAD, ".agents/skills/good/SKILL.md": GOOD };

interface Problem {
  readonly severity: string;
  readonly code: string;
  readonly path: string;
  readonly skill: string;
}
const lint = async (args: readonly string[], project: Record<string, unknown> = files) => {
  const ended = await runHere(["skills", "lint", "--json", ...args], { cwd: makeProject(project) });
  const { schema, problems } = JSON.parse(ended.stdout || "{}") as { schema: string; problems: Problem[] };
  return { ...ended, schema, problems };
};

describe("skills lint", () => {
  it("checks every skill that is found, including skipped and shadowed ones", async () => {
    const { code, schema, problems } = await lint([]);
    expect({ code, schema }).toEqual({ code: 2, schema: "skillflow.lint/1" });
    expect(problems).toEqual([
      {
        severity: "error",
        code: "SKILL_NAME",
        message: 'the name "Bad" is not allowed',
        path: "skills/bad/SKILL.md",
        line: 2,
        column: 1,
        skill: "bad",
      },
      expect.objectContaining({ code: "SKILL_FOLDER_NAME" }),
      expect.objectContaining({ code: "SKILL_DESCRIPTION" }),
    ]);
  });

  it.each([
    ["a folder", ["skills/good"], 0],
    ["a SKILL.md", ["skills/good/SKILL.md"], 0],
    ["an id", ["good"], 0],
    ["a built-in skill", ["github"], 0],
    ["a folder of skills", ["skills"], 2],
    ["several", ["good", "skills/bad"], 2],
    ["one by two names", ["good", "./.agents/skills/good"], 0],
  ])("accepts %s", async (_, args, code) => {
    expect(await lint(args)).toMatchObject({ code });
  });

  it.each([
    [["god"], /no folder or skill "god"\n {2}did you mean good\?/],
    [["empty"], /there is no skill in empty\n/],
  ])("refuses %j", async (args, says) => {
    const { code, stdout, stderr } = await lint(args, { ...files, "empty/notes.md": "" });
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ exitCode: 2, error: { code: "usage.invalid" } });
    expect(stderr).toMatch(says);
  });

  it("prints in text what is wrong, where, and how to fix it", async () => {
    const cwd = makeProject(files);
    const { code, stdout, stderr } = await runHere(["skills", "lint"], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /^skills\/bad\/SKILL\.md:2:1 error SKILL_NAME the name "Bad" is not allowed\n {4}use lowercase /,
    );
    expect(stderr).toMatch(/\n✘ 3 skills: 3 errors, 0 warnings\n$/);
  });

  it.each<[string, string | undefined]>([
    ["git/log", undefined],
    ["held/go", undefined],
    ["good/go", 'its binding.yml names "go", which is not a tool of good'],
    ["git/nosuch", 'its binding.yml names "nosuch", which is not a tool of git'],
    ["a.bound/a.bound", "its binding.yml names its own tool"],
  ])("checks that the target of a contract exists, as does the loader: %s", async (target, fault) => {
    const contract = 'id: a.bound\nversion: "1.0.0"\ndescription: d\ninput: { type: object }\noutput: {}\n';
    const held = { name: "go", description: "d", script: "scripts/go.js", parameters: {} };
    const cwd = makeProject({
      "skills/good/SKILL.md": GOOD,
      "skills/bound/contract.yml": contract,
      "skills/bound/binding.yml": `tool: ${target}\n`,
      "skills/held/SKILL.md": GOOD.replace("good", "held"),
      "skills/held/tools.json": [held],
      "skills/held/scripts/go.js": "export default () => 1;",
    });
    const { problems } = JSON.parse((await runHere(["skills", "lint", "--json"], { cwd })).stdout);
    const place = { code: "BINDING_TARGET", path: "skills/bound/binding.yml", line: 1 };
    expect(problems).toMatchObject(fault === undefined ? [] : [{ ...place, message: fault }]);
    const { skills } = JSON.parse((await runHere(["skills", "list", "--json"], { cwd })).stdout);
    const bound = skills.find(({ id }: { id: string }) => id === "a.bound");
    expect(JSON.stringify(bound)).toContain(JSON.stringify(fault ?? "a.bound").slice(1, -1));
    expect(bound.available).toBe(fault === undefined);
  });

  it("reports a folder that the loader skips, because it is a link out of the project", async () => {
    const cwd = makeProject({ "skills/good/SKILL.md": GOOD });
    symlinkSync(join(makeProject({ "out/SKILL.md": GOOD }), "out"), join(cwd, "skills", "out"));
    const { code, stdout } = await runHere(["skills", "lint", "--json"], { cwd });
    expect([code, JSON.parse(stdout).problems]).toMatchObject([
      2,
      [{ severity: "error", code: "SKILL_SKIPPED", path: "skills/out", skill: "out" }],
    ]);
  });

  it("only warns of a folder of the user's own that the loader skips", async () => {
    const home = makeProject({ ".claude/skills/good/SKILL.md": GOOD });
    symlinkSync("loop", join(home, ".claude", "skills", "loop"));
    const { code, stdout } = await runHere(["skills", "lint", "--json"], { cwd: makeProject({}), env: { HOME: home } });
    expect([code, JSON.parse(stdout).problems]).toMatchObject([
      0,
      [{ severity: "warning", code: "SKILL_SKIPPED", path: join(home, ".claude/skills/loop"), skill: "loop" }],
    ]);
  });

  it("does not fail for warnings", async () => {
    const { code, problems } = await lint([], { "skills/good/SKILL.md": `${GOOD} See references/gone.md.` });
    expect(code).toBe(0);
    expect(problems).toMatchObject([{ severity: "warning", code: "SKILL_FILE_MISSING" }]);
  });

  it("reports a text that refers to a tool that the skill does not have", async () => {
    const { code, problems } = await lint(["skills/tally"], {
      "skills/tally/SKILL.md": "---\nname: tally\ndescription: Counts.\n---\nUse `{{count}}`, then `{{cuont}}`.\n",
      "skills/tally/tools.json": JSON.stringify([{ name: "count", description: "Counts." }]),
    });
    expect(code).toBe(0);
    expect(problems).toMatchObject([
      { severity: "warning", code: "SKILL_TOOL_UNKNOWN", message: expect.stringContaining("{{cuont}}") },
    ]);
  });

  it("finds nothing wrong with the built-in skills", async () => {
    for (const id of ["git", "github", "linear", "logs", "notification", "slack", "supabase"]) {
      expect(await lint([id], {}), id).toMatchObject({ code: 0, problems: [] });
    }
  });
});
