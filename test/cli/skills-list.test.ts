import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/** The registry in text output. Its JSON is in inspect.test.ts. */

const files = {
  "skills/tips/SKILL.md": "---\nname: tips\ndescription: How we do it\n---\nDo it.",
  ".agents/skills/tips/SKILL.md": "---\nname: tips\ndescription: How others do it\n---\nDo it otherwise.",
  "skills/count/SKILL.md": "---\nname: count\ndescription: Counts\n---\nCount.",
  "skills/count/tools.json": [{ name: "count", description: "Counts.", script: "scripts/count.js" }],
  "skills/count/scripts/count.js": "export default () => 1;",
};
const skills = async (...args: readonly string[]) => runHere(["skills", ...args], { cwd: makeProject(files) });
/** The cells of one skill's line. */
const lineOf = (stdout: string, id: string) =>
  stdout
    .split("\n")
    .find((line) => line.slice(2).startsWith(`${id} `))
    ?.split(/ {2,}/);

describe("skills list", () => {
  it("is a table with format, place, trust and what each skill offers", async () => {
    const { code, stdout } = await skills("list");
    expect(code).toBe(0);
    expect(stdout.split("\n")[0]?.trim().split(/ {2,}/)).toEqual(["id", "format", "from", "trust", "offers"]);
    expect(lineOf(stdout, "logs")).toEqual(["● logs", "module", "builtin 0", "built in", "9 tools, instruction"]);
    expect(lineOf(stdout, "git")?.[4]).toMatch(/is not a git repository, .*: run in a git repository, or set/);
    expect(lineOf(stdout, "tips")).toEqual([
      "● tips",
      "agent-skills",
      expect.stringMatching(/^project \d+$/),
      "not needed",
      "instruction",
    ]);
    expect(lineOf(stdout, "linear")?.[4]).toBe("LINEAR_API_KEY is not set");
  });

  it("lists all versions of a contract, the newest first", async () => {
    const contract = (version: string) =>
      `id: find\nversion: "${version}"\ndescription: Finds\ninput: { type: object }\noutput: {}\n`;
    const versions = ["1.2.0", "1.10.0", "1.9.1"];
    const cwd = makeProject(Object.fromEntries(versions.map((v) => [`skills/find-${v}/contract.yml`, contract(v)])));
    const { stdout } = await runHere(["skills", "list", "--json"], { cwd });
    const { skills: listed } = JSON.parse(stdout) as { skills: { id: string; version?: string; versions: string[] }[] };
    expect(listed.find(({ id }) => id === "find")).toMatchObject({
      version: "1.10.0",
      versions: ["1.10.0", "1.9.1", "1.2.0"],
    });
  });

  it("shows untrusted code as unavailable, and how to trust it", async () => {
    const held = lineOf((await skills("list")).stdout, "count");
    expect(held?.slice(3)).toEqual(["not trusted", "instruction, the rest only with --trust-skill count"]);
    const trusted = lineOf((await skills("list", "--trust-skill", "count")).stdout, "count");
    expect(trusted?.slice(3)).toEqual(["trusted", "1 tool, instruction"]);
  });

  it("shows scripts that trust would offer, without a change in the skill's availability", async () => {
    const cwd = makeProject({
      "skills/checker/SKILL.md": "---\nname: checker\ndescription: Checks\n---\nRun scripts/check.py.",
      "skills/checker/scripts/check.py": "print(1)",
    });
    const told = async (...args: readonly string[]) => (await runHere(args, { cwd })).stdout;
    expect(lineOf(await told("skills", "list"), "checker")?.slice(3)).toEqual([
      "not needed",
      "instruction, scripts only with --trust-skill checker",
    ]);
    expect(await told("skills", "show", "checker")).toContain("its scripts are not trusted: --trust-skill checker");
    expect(await told("doctor")).toMatch(
      /● checker +available {2}its scripts are not trusted\n +--trust-skill checker/,
    );
    const trusting = ["--trust-skill", "checker"];
    expect(lineOf(await told("skills", "list", ...trusting), "checker")?.slice(3)).toEqual([
      "trusted",
      "instruction, scripts",
    ]);
    for (const args of [["skills", "show", "checker"], ["doctor"]])
      expect(await told(...args, ...trusting)).not.toContain("not trusted");
    const [found] = JSON.parse(await told("skills", "show", "checker", "--json")).reasons;
    expect(found).toBeUndefined();
  });

  it("lists shadowed skills after the table", async () => {
    const { stdout, stderr } = await skills("list");
    expect(stdout).not.toContain("shadows");
    expect(stderr).toMatch(
      /SKILL_SHADOWED skill "tips": \S+\.agents\/skills\/tips \(priority \d+\) shadows \S+\/skills\/tips/,
    );
  });
});

describe("skills show", () => {
  it("shows the tools by the names that a model sees, and the files", async () => {
    const { stdout } = await skills("show", "count", "--trust-skill", "count");
    expect(stdout).toMatch(/write count Counts\. \(from stranger, to team\)/);
    expect(stdout).toMatch(/\nFiles\n {2}SKILL\.md\n {2}scripts\/count\.js\n {2}tools\.json\n/);
  });

  it("shows that code is untrusted, and how to trust it", async () => {
    const { stdout } = await skills("show", "count");
    expect(stdout).toMatch(/its code is not trusted: --trust-skill count lets it run/);
    expect(stdout).not.toContain("\nTools\n");
  });
});

describe("the reason why a skill is shadowed or missing is reported", () => {
  const node = { name: "N", instruction: "Do it.", skills: ["tips", "torn"] };
  const cwd = makeProject({
    ...files,
    "skills/torn/SKILL.md": "---\nname: [torn\n---\nDo it.",
    "flow.json": { id: "f", name: "F", entry: "n", nodes: { n: node }, edges: [] },
    "script.json": { replies: [{ text: "done" }, { text: "done" }] },
  });

  it.each([
    ["a check", ["validate", "flow.json"]],
    ["a run", ["run", "flow.json", "--model", "script:script.json"]],
    ["doctor", ["doctor", "flow.json"]],
  ])("by %s", async (_, args) => {
    const { stderr } = await runHere(args, { cwd });
    expect(stderr).toMatch(/skill "tips": \S*\.agents\/skills\/tips \(priority \d+\) shadows \S*skills\/tips/);
    expect(stderr).toMatch(/skipped: .+/);
    expect(stderr).toContain("skills/torn/SKILL.md:2");
    expect(stderr).not.toContain("skills/count");
  });
});

describe("folders of skills on the command line", () => {
  const skill = (from: string) => `---\nname: tips\ndescription: From ${from}\n---\nDo it.`;
  const cwd = makeProject({ "a/tips/SKILL.md": skill("a"), "b/tips/SKILL.md": skill("b") });
  const tipsOf = async (args: readonly string[], at = cwd) => {
    const { stdout } = await runHere(["skills", "show", "tips", "--json", ...args], { cwd: at });
    return (JSON.parse(stdout) as { description: string }).description;
  };

  it("override one another in their order, the last one first", async () => {
    expect(await tipsOf(["--skills", "a", "--skills", "b"])).toBe("From b");
    expect(await tipsOf(["--skills", "b", "--skills", "a"])).toBe("From a");
    const configured = makeProject({
      ".skillflow.yml": "skills: { extraDirs: [a, b] }",
      "a/tips/SKILL.md": skill("a"),
      "b/tips/SKILL.md": skill("b"),
    });
    expect(await tipsOf([], configured)).toBe("From b");
    expect(await tipsOf(["--skills", "a"], configured)).toBe("From a");
  });

  it("are reported if they do not exist", async () => {
    const { stderr } = await runHere(["skills", "list", "--skills", "gone"], { cwd });
    expect(stderr).toMatch(/SKILLS_FOLDER_NOT_FOUND there is no folder \S+\/gone to look for skills in/);
  });
});
