import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject, runProgram } from "./program.ts";

/** Runs with a working copy at the command line: what a model can change, what commands see, and what is left of it. */

const WORKFLOW = `id: w
name: W
entry: write
nodes:
  write: { name: Write, instruction: Write a test., skills: [workspace], workspace: { paths: { allow: ["test/**"] } } }
  fix: { name: Fix, instruction: Fix it., skills: [workspace], workspace: { keep: [write] } }
  check:
    name: Check
    skills: [workspace]
    steps:
      - { id: base, tool: workspace_run_command, with: { command: node test/add.js, at: base }, on_error: skip }
      - { id: red, tool: workspace_run_command, with: { command: node, files: [test/add.js], at: base, with: ["test/**"] } }
      - { id: green, tool: workspace_run_command, with: { command: 'node "test/add.js"' } }
      - { id: other, tool: workspace_run_command, with: { command: ls }, on_error: skip }
      - { id: diff, tool: workspace_diff, with: { path: src } }
edges:
  - { from: write, to: fix }
  - { from: fix, to: check }
`;
const TEST = `const { add } = require("../src/add.js");
require("fs").writeFileSync("src/add.js", "spoiled");
console.log(process.cwd(), require("fs").existsSync(".git"), require("fs").existsSync("deps/made"), process.env.GITHUB_TOKEN);
process.exit(add(1, 2) === 3 ? 0 : 1);
`;
const call = (tool: string, input: object) => ({ tool: `workspace_${tool}`, input });
const WRITE = [
  {
    node: "write",
    calls: [
      call("write_file", { path: "test/add.js", content: TEST }),
      call("write_file", { path: "src/x.js", content: "" }),
    ],
  },
  { node: "write", text: "written" },
];
const FIX = [
  {
    node: "fix",
    calls: [
      call("edit_file", { path: "src/add.js", old: "a - b", new: "a + b" }),
      call("read_file", { path: "src/add.js" }),
      call("read_file", { path: "src/add.js" }),
      call("edit_file", { path: "test/add.js", old: "3", new: "-1" }),
      call("write_file", { path: ".github/workflows/x.yml", content: "x" }),
      call("edit_file", { path: "src/add.js", old: "nothing", new: "" }),
    ],
  },
  { node: "fix", text: "fixed" },
];

const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], { cwd, encoding: "utf8" });

function project(more: Readonly<Record<string, string>> = {}): string {
  const cwd = makeProject({
    "w.yml": WORKFLOW,
    "src/add.js": "exports.add = (a, b) => a - b;\n",
    ".gitignore": ".skillflow/runs\ns.json\n",
    ...more,
  });
  if (!existsSync(join(cwd, ".git"))) git(cwd, "init", "-q");
  git(cwd, "add", "-A");
  git(cwd, "commit", "-q", "-m", "base");
  return cwd;
}

const script = (cwd: string, replies: readonly object[]) =>
  writeFileSync(join(cwd, "s.json"), JSON.stringify({ replies }));
const env = {
  WORKSPACE_COMMANDS: "node test/*.js\nnode **",
  WORKSPACE_SETUP: "node -e \"require('fs').mkdirSync('deps/made',{recursive:true})\"",
};
const outputs = (
  result: { results: Record<string, { toolCalls: { output?: unknown; error?: string }[] }> },
  node: string,
) => result.results[node]?.toolCalls.map(({ output, error }) => error ?? output);

describe("a run with a working copy", () => {
  let cwd = "";
  beforeAll(() => {
    cwd = project();
  });

  it("fails at first, resumes with the copy rebuilt, and leaves nothing of it behind", async () => {
    script(cwd, WRITE);
    const args = ["--model", "script:s.json", "--writes", "deny", "--json"];
    const failed = await runHere(["run", "w.yml", "--run-id", "one", ...args], { cwd, env });
    expect(failed.code).toBe(1);
    expect(readdirSync(join(cwd, ".skillflow/runs"))).not.toContain("one.workspace");
    script(cwd, [...WRITE, ...FIX]);
    const ended = await runProgram(["resume", "one", ...args], { cwd, env: { ...env, GITHUB_TOKEN: "ghp_secret" } });
    const result = JSON.parse(ended.stdout);
    expect(outputs(result, "write")).toEqual([
      { path: "test/add.js", change: "added", sha256: expect.any(String) },
      '"src/x.js" is not in the paths that this node may change',
    ]);
    const read = { path: "src/add.js", line: 1, total_lines: 1, text: "exports.add = (a, b) => a + b;" };
    expect(outputs(result, "fix")).toEqual([
      { path: "src/add.js", change: "changed", sha256: expect.any(String) },
      read,
      read,
      '"test/add.js" was changed by a node whose files this node must keep',
      '".github/workflows/x.yml" is protected (.github): the operator did not open it',
      '"src/add.js" does not contain the text of old. Read it again',
    ]);
    const saw = "/workspace false true undefined\n";
    expect(outputs(result, "check")).toEqual([
      { exit_code: 1, seconds: expect.any(Number), output: expect.stringContaining("Cannot find module") },
      { exit_code: 1, seconds: expect.any(Number), output: saw },
      { exit_code: 0, seconds: expect.any(Number), output: saw },
      "ls is not an allowed command. Allowed: node test/*.js; node **",
      expect.objectContaining({ diff: expect.stringContaining("+exports.add = (a, b) => a + b;") }),
    ]);
    expect(readFileSync(join(cwd, "src/add.js"), "utf8")).toContain("a - b");
    expect(git(cwd, "status", "--short")).toBe("");
    expect(readdirSync(join(cwd, ".skillflow/runs"))).not.toContain("one.workspace");
  });

  it("is replayed without a copy, and its leftovers are pruned", async () => {
    const replayed = await runHere(["replay", "one", "--run-id", "two", "--tools", "live", "--json"], { cwd, env });
    expect(JSON.parse(replayed.stdout).status).toBe("succeeded");
    expect(readdirSync(join(cwd, ".skillflow/runs"))).not.toContain("two.workspace");
    mkdirSync(join(cwd, ".skillflow/runs/one.workspace/tree"), { recursive: true });
    await runHere(["runs", "prune", "--keep", "0"], { cwd });
    expect(readdirSync(join(cwd, ".skillflow/runs")).filter((name) => name.startsWith("one"))).toEqual([]);
  });
});

describe("the settings of a checkout", () => {
  it("do not count, and are reported", async () => {
    const cwd = project({
      ".skillflow.yml": "workspace: { commands: ['ls **'] }\n",
      ".env": "WORKSPACE_COMMANDS=ls **\n",
    });
    script(cwd, [...WRITE, ...FIX]);
    const args = ["run", "w.yml", "--model", "script:s.json", "--json"];
    const { stdout, stderr } = await runHere(args, { cwd });
    expect(stderr).toContain(".skillflow.yml: workspace.commands is ignored");
    const [, , , other] = outputs(JSON.parse(stdout), "check") ?? [];
    expect(other ?? JSON.parse(stdout).error.message).toContain("has not set WORKSPACE_COMMANDS");
    const named = await runHere([...args, "--env-from", ".env"], { cwd });
    expect(named.code).toBe(2);
    expect(named.stderr).toContain(".env may not hold WORKSPACE_COMMANDS");
  });

  it("make the skill unavailable without a commit", async () => {
    const cwd = makeProject({ "w.yml": WORKFLOW });
    const { stdout } = await runHere(["skills", "list", "--json"], { cwd });
    const found = JSON.parse(stdout).skills?.find(({ id }: { id: string }) => id === "workspace");
    expect(JSON.stringify(found)).toContain("is not in a git repository with a commit");
  });
});

describe("a drop-in file whose agent had file tools", () => {
  const DROP_IN = `id: d
name: D
entry: implement
nodes:
  implement: { name: Implement, instruction: "1. Create a new branch\\n2. Make the code changes\\n3. Commit.", skills: [] }
edges: []
`;

  it("is warned about until its node gets the skill, by flag or config", async () => {
    const cwd = project({ "d.yml": DROP_IN });
    const codes = async (...more: string[]) => {
      const { stdout } = await runHere(["validate", "d.yml", "--json", ...more], { cwd });
      return stdout.includes("FILE_TOOLS_MISSING");
    };
    expect(await codes()).toBe(true);
    expect(await codes("--add-skill", "implement=workspace")).toBe(false);
    script(cwd, [
      { node: "implement", calls: [call("write_file", { path: "a.txt", content: "a" }), call("diff", {})] },
      { node: "implement", text: "done" },
    ]);
    writeFileSync(join(cwd, ".skillflow.yml"), "skills: { add: { implement: [workspace] } }\n");
    expect(await codes()).toBe(false);
    const { stdout } = await runHere(["run", "d.yml", "--model", "script:s.json", "--json"], { cwd });
    expect(outputs(JSON.parse(stdout), "implement")?.[1]).toMatchObject({
      files: [{ path: "a.txt", change: "added" }],
    });
  });
});
