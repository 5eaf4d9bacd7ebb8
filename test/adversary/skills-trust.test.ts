import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { isReservedVariable } from "../../src/core/document/config.ts";
import { scriptOf } from "../cli/flows.ts";
import { runInside } from "../cli/inside.ts";
import { makeProject, resultOf, runFile, runProgram } from "../cli/program.ts";
import { oneOf } from "../harness/long.ts";

const it = oneOf(4);

/** A checkout that tries to be trusted: whatever it holds, none of its code runs before its operator allows it. */

const FLOW = `
id: flow
name: Flow
entry: only
skills:
  pager: { instruction: Page them. }
nodes:
  only: { name: Only, instruction: Page somebody., skills: [pager, remote, tool-maker, desk] }
edges: []
`;
const SERVER = { command: "node", args: ["-e", 'require("fs").writeFileSync("ran-server", "")'] };
const skillOf = (id: string) => `
import { writeFileSync } from "node:fs";

writeFileSync("ran-" + ${JSON.stringify(id)}, "");
export default { id: ${JSON.stringify(id)}, name: "N", description: "d", category: "general", config: {}, tools: [] };
`;
const CHECKOUT = {
  ".git/HEAD": "ref: refs/heads/main\n",
  "flow.yml": FLOW,
  "script.json": scriptOf({ node: "only", text: "done" }),
  "skills/pager/skill.mjs": skillOf("pager"),
  "skills/remote/SKILL.md": `---\nname: remote\nmcp: ${JSON.stringify(SERVER)}\n---\nAsk it.`,
  "skills/unused/skill.mjs": skillOf("unused"),
};
const TRUSTING = {
  skills: { trust: ["pager", "remote", "unused"], allowScripts: true, defineTool: true, modules: ["./plugin.mjs"] },
  mcpServers: { remote: SERVER },
};
const COMMANDS = [
  ["validate", "flow.yml"],
  ["doctor", "flow.yml"],
  ["doctor", "--live"],
  ["skills", "list"],
  ["skills", "show", "pager"],
  ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r"],
  ["resume", "r", "--from", "only"],
  ["replay", "r", "--tools", "live"],
];
const marks = (cwd: string) =>
  ["pager", "remote", "server", "unused", "plugin", "extra"].filter((name) => existsSync(join(cwd, `ran-${name}`)));

/** Every command that looks at skills, one after the other. */
async function runAll(cwd: string, env: Record<string, string> = {}, ...args: readonly string[]): Promise<string> {
  const said: string[] = [];
  for (const command of COMMANDS) said.push((await runInside([...command, ...args], { cwd, env })).stderr);
  return said.join("");
}

describe("code of a checkout does not run", () => {
  it("whatever its .skillflow.yml contains, and each attempt is reported", async () => {
    const cwd = makeProject({ ...CHECKOUT, ".skillflow.yml": TRUSTING, "plugin.mjs": skillOf("plugin") });
    const said = await runAll(cwd);
    expect(marks(cwd)).toEqual([]);
    for (const key of ["skills.trust", "skills.allowScripts", "skills.defineTool", "mcpServers.remote.command"]) {
      expect(said).toContain(`${key} is ignored`);
    }
  });

  it("because an inline skill of the workflow has its id", async () => {
    const cwd = makeProject(CHECKOUT);
    const ended = await runProgram(["run", "flow.yml", "--model", "script:script.json", "--json"], { cwd });
    expect(ended.code, ended.stderr).toBe(0);
    expect(marks(cwd)).toEqual([]);
    expect(ended.stderr).toContain("--trust-skill pager");
    expect(resultOf(ended).trace.skills).toContainEqual(expect.objectContaining({ id: "pager", available: true }));
  });

  it("because of a .env file that the user did not name", async () => {
    const cwd = makeProject({ ...CHECKOUT, ".env": "SKILLFLOW_TRUST_SKILL=pager,remote\nSKILLFLOW_ALLOW_SCRIPTS=1\n" });
    await runAll(cwd);
    expect(marks(cwd)).toEqual([]);
  });

  it("because the home directory is inside it, with a config file and skills", async () => {
    const cwd = makeProject({
      ...CHECKOUT,
      "home/.config/skillflow/config.yml": { ...TRUSTING, skills: { ...TRUSTING.skills, extraDirs: ["./extra"] } },
      "home/.config/skillflow/plugin.mjs": skillOf("plugin"),
      "home/.config/skillflow/extra/extra/skill.mjs": skillOf("extra"),
      "home/.claude/skills/pager/skill.mjs": skillOf("pager"),
    });
    const homes: Record<string, string>[] = [
      { HOME: join(cwd, "home") },
      { XDG_CONFIG_HOME: join(cwd, "home/.config") },
    ];
    for (const env of homes) {
      const said = await runAll(cwd, env);
      expect(marks(cwd)).toEqual([]);
      expect(said).toContain("skills.trust is ignored");
    }
  });

  it("because the checkout is the home directory itself", async () => {
    const cwd = makeProject({
      ...CHECKOUT,
      ".config/skillflow/config.yml": TRUSTING,
      ".claude/skills/pager/skill.mjs": skillOf("pager"),
    });
    await runAll(cwd, { HOME: cwd });
    expect(marks(cwd)).toEqual([]);
  });

  it("because --skills or extraDirs name its folder", async () => {
    const cwd = makeProject({
      ...CHECKOUT,
      "extra/extra/skill.mjs": skillOf("extra"),
      ".skillflow.yml": { skills: { extraDirs: ["./extra"] } },
    });
    await runInside(["skills", "list", "--skills", "extra"], { cwd });
    expect(marks(cwd)).toEqual([]);
  });

  it("because another skill is trusted", async () => {
    const cwd = makeProject({ ...CHECKOUT, "skills/unused/SKILL.md": "---\nname: pager\n---\nx" });
    await runAll(cwd, {}, "--trust-skill", "desk", "--trust-skill", "pager@0000000000000000");
    expect(marks(cwd)).toEqual([]);
  });

  it("because it uses a trusted skill's id, once trust is bound to content", async () => {
    const home = makeProject({ ".config/skillflow/config.yml": "skills: { trust: [pager@0123456789abcdef] }" });
    const cwd = makeProject(CHECKOUT);
    await runAll(cwd, { HOME: home });
    expect(marks(cwd)).toEqual([]);
  });

  it("nor code elsewhere that a link of the checkout leads to", async () => {
    const outside = makeProject({ "pager/skill.mjs": skillOf("pager"), "SKILL.md": "---\nname: linked\n---\nOut." });
    const cwd = makeProject({ ...CHECKOUT, "skills/pager/skill.mjs": "" });
    mkdirSync(join(cwd, ".claude/skills"), { recursive: true });
    symlinkSync(join(outside, "pager"), join(cwd, ".claude/skills/pager"));
    symlinkSync(outside, join(cwd, ".claude/skills/linked"));
    const { stdout } = await runInside(["skills", "list", "--json", "--trust-skill", "pager"], { cwd });
    const { skills, diagnostics } = JSON.parse(stdout) as {
      skills: { id: string; source: { path: string } }[];
      diagnostics: { message: string }[];
    };
    expect(skills.map(({ id }) => id)).not.toContain("linked");
    expect(skills.find(({ id }) => id === "pager")?.source.path).toBe(join(realpathSync(cwd), "skills/pager"));
    const refused = diagnostics.filter(({ message }) => message.includes("leads out of the project"));
    expect(refused).toHaveLength(2);
    expect(marks(cwd)).toEqual([]);
  });
});

describe("what is trusted", () => {
  it("is not recorded, so that the next process asks again", async () => {
    const cwd = makeProject(CHECKOUT);
    const run = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r"];
    await runProgram([...run, "--trust-skill", "pager"], { cwd, env: { SKILLFLOW_TRUST_SKILL: "remote" } });
    expect(marks(cwd)).toContain("pager");
    expect(readFileSync(runFile(cwd, "r"), "utf8")).not.toMatch(/trust-skill pager|"trust"/);
  });

  it("is the only code that runs: other skills of the checkout remain untrusted", async () => {
    const cwd = makeProject(CHECKOUT);
    await runAll(cwd, {}, "--trust-skill", "pager");
    expect(marks(cwd)).toEqual(["pager"]);
  });
});

describe("variables that change what programs load", () => {
  it.each([
    "PATH",
    "HOME",
    "NODE_OPTIONS",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "DYLD_INSERT_LIBRARIES",
    "PYTHONPATH",
    "BASH_ENV",
    "GIT_SSH_COMMAND",
    "npm_config_script_shell",
    "SKILLFLOW_TRUST_SKILL",
  ])("%s is one of them", (name) => {
    expect(isReservedVariable(name)).toBe(true);
  });

  it.each(["GITHUB_TOKEN", "NODE_AUTH_TOKEN", "NODE_ENV", "PYTHON_TOKEN", "LDAP_URL", "MY_PATH", "GIT_TOKEN"])(
    "%s is not one of them",
    (name) => {
      expect(isReservedVariable(name)).toBe(false);
    },
  );

  it("are never passed to a skill, and a warning reports that", async () => {
    const cwd = makeProject({
      "skills/pager/SKILL.md":
        "---\nname: pager\nconfig:\n  OK_TOKEN: { description: fine }\n  NODE_OPTIONS: { description: n }\n  SLY: { description: s, env: LD_PRELOAD }\n---\nPage.",
      "home/.config/skillflow/config.yml": { skills: { env: { pager: ["BASH_ENV", "FINE"] } } },
    });
    const env = {
      HOME: join(cwd, "home"),
      NODE_OPTIONS: "--no-warnings",
      LD_PRELOAD: "",
      BASH_ENV: "x",
      OK_TOKEN: "ok",
      FINE: "f",
    };
    const shown = await runInside(["skills", "show", "pager", "--json", "--skill-env", "pager=PATH"], { cwd, env });
    expect(Object.keys(JSON.parse(shown.stdout).config).sort()).toEqual(["FINE", "OK_TOKEN"]);
    const listed = await runInside(["skills", "list", "--json", "--skill-env", "pager=PATH"], { cwd, env });
    const { diagnostics } = JSON.parse(listed.stdout) as { diagnostics: { code: string; message: string }[] };
    const refused = diagnostics.filter(({ code }) => code === "VARIABLE_REFUSED").map(({ message }) => message);
    for (const name of ["PATH", "BASH_ENV"]) expect(refused.join("\n")).toContain(`the variable ${name} is not passed`);
  });
});
