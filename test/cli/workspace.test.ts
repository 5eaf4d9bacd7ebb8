import { type ChildProcess, execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect } from "vitest";
import { oneOf } from "../harness/long.ts";
import { runHere } from "./in-process.ts";
import { makeProject, runProgram } from "./program.ts";

const it = oneOf(3);

/** Runs with a working copy at the command line: what a model can change, what commands see, and what remains. */

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

function project(more: Readonly<Record<string, string>> = {}, link?: (cwd: string) => void): string {
  const cwd = makeProject({
    "w.yml": WORKFLOW,
    "src/add.js": "exports.add = (a, b) => a - b;\n",
    ".gitignore": ".skillflow/runs\ns.json\n*.log\n",
    ...more,
  });
  link?.(cwd);
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
      {
        ...{ exit_code: 1, seconds: expect.any(Number), missing: ["test/add.js"] },
        output: expect.stringContaining("Cannot find module"),
      },
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

it("names the commit of the copy if the repository no longer has it", async () => {
  const cwd = project();
  script(cwd, WRITE);
  const args = ["--model", "script:s.json", "--writes", "deny"];
  await runHere(["run", "w.yml", "--run-id", "one", ...args], { cwd, env });
  const base = git(cwd, "rev-parse", "HEAD").trim();
  git(cwd, "commit", "-q", "--amend", "-m", "other");
  git(cwd, "reflog", "expire", "--expire=now", "--all");
  git(cwd, "gc", "-q", "--prune=now");
  const { code, stderr } = await runHere(["resume", "one", ...args], { cwd, env });
  const message = `the working copy of run one starts at commit ${base}, which is not in this repository`;
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

describe("the settings of a checkout", () => {
  it("are ignored and reported", async () => {
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

  it("are shown by doctor if no command may run", async () => {
    const cwd = project();
    const lacking = "workspace_run_command  WORKSPACE_COMMANDS is not set";
    expect((await runHere(["doctor", "w.yml"], { cwd })).stdout).toContain(lacking);
    expect((await runHere(["doctor", "w.yml"], { cwd, env })).stdout).not.toContain(lacking);
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

  it("causes a warning until its node gets the skill, by flag or config", async () => {
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

describe("--workspace-dirty", () => {
  const DIRTY = `id: d
name: D
entry: write
nodes:
  write: { name: Write, instruction: Write., skills: [workspace] }
  look:
    name: Look
    skills: [workspace]
    steps:
      - { id: base, tool: workspace_run_command, with: { command: node show.js, at: base } }
      - { id: now, tool: workspace_run_command, with: { command: node show.js } }
      - { id: diff, tool: workspace_diff }
edges: [{ from: write, to: look }]
`;
  const SHOW = `const { existsSync, readFileSync } = require("fs");
console.log(readFileSync("src/add.js", "utf8").trim(), ["old.txt", "new.txt", "sparse.txt"].map((path) => existsSync(path)));
`;
  const TOKEN = `ghp_${"a1B2".repeat(9)}`;
  const replies = [
    { node: "write", calls: [call("edit_file", { path: "src/add.js", old: "// dirty", new: "// edited" })] },
    { node: "write", text: "written" },
  ];
  const MODEL = ["--model", "script:s.json", "--json"];
  const runFile = (cwd: string, run: string) => readFileSync(join(cwd, `.skillflow/runs/${run}.jsonl`), "utf8");
  const recordOf = (cwd: string, run: string) => JSON.parse(runFile(cwd, run).split("\n")[0] ?? "");

  /** A checkout with changes of every kind, whose config names programs and another folder. */
  function hostile(): { readonly cwd: string; readonly marker: string } {
    const base = { "old.txt": "old\n", "sparse.txt": "s\n", "folder/a.txt": "a\n", ".github/w.yml": "on: push\n" };
    const more = { "d.yml": DIRTY, "show.js": SHOW, ".gitattributes": "* filter=evil\n" };
    const cwd = project({ ...base, ...more }, (at) => {
      for (const name of ["moved", "same"]) symlinkSync("old.txt", join(at, name));
    });
    const put = (path: string, content: string | Buffer) => writeFileSync(join(cwd, path), content);
    for (const path of ["old.txt", "sparse.txt", "folder", "moved"]) rmSync(join(cwd, path), { recursive: true });
    put("staged.txt", "staged\n");
    git(cwd, "add", "staged.txt");
    git(cwd, "update-index", "--skip-worktree", "sparse.txt");
    git(cwd, "init", "-q", "nested");
    put("src/add.js", "// dirty\n");
    put("new.txt", "");
    put("folder", "now a file\n");
    put(".github/w.yml", "on: pull_request_target\n");
    put("ignored.log", "x");
    put("token.txt", `key: ${TOKEN}\n`);
    put("known.txt", "the value is hunter2-hunter2\n");
    put(".env", "PLAIN=1\n");
    put("binary.dat", Buffer.from([65, 0, 66]));
    put("large.txt", "x".repeat(400 * 1024 + 1));
    symlinkSync("/etc/passwd", join(cwd, "link"));
    symlinkSync("/etc/passwd", join(cwd, "moved"));
    const elsewhere = makeProject({ "stolen.txt": "private" });
    const marker = join(elsewhere, "marker");
    const program = join(elsewhere, "evil.sh");
    writeFileSync(program, `#!/bin/sh\ntouch ${marker}\nprintf '1\\0/\\0'\n`, { mode: 0o755 });
    const config = `[core]\nworktree = ${elsewhere}\nfsmonitor = ${program}\n[filter "evil"]\nclean = ${program}\nrequired = true\n`;
    appendFileSync(join(cwd, ".git/config"), config);
    return { cwd, marker };
  }

  it("starts the copy with the recorded changes, also after a kill, and runs nothing of the checkout", async () => {
    const { cwd, marker } = hostile();
    script(cwd, replies.slice(0, 1));
    const secrets = { WORKSPACE_COMMANDS: "node show.js", MY_PASSWORD: "hunter2-hunter2" };
    const onStart = (child: ChildProcess) =>
      child.stdout?.on("data", (text) => /"tool:result"/.test(String(text)) && child.kill("SIGKILL"));
    const args = ["run", "d.yml", "--run-id", "one", "--workspace-dirty", ...MODEL.slice(0, 2), "--stream"];
    const killed = await runProgram(args, { cwd, env: secrets, onStart });
    expect(killed.code).not.toBe(0);
    expect(recordOf(cwd, "one").dirty).toEqual([
      { path: "folder", content: "now a file\n" },
      { path: "folder/a.txt", content: null },
      { path: "new.txt", content: "" },
      { path: "old.txt", content: null },
      { path: "src/add.js", content: "// dirty\n" },
      { path: "staged.txt", content: "staged\n" },
    ]);
    const warning = recordOf(cwd, "one").warnings.find((text: string) => text.startsWith("--workspace-dirty"));
    expect(warning.slice("--workspace-dirty leaves out: ".length).split("; ").sort()).toEqual([
      '".env" (environment file)',
      '".github/w.yml" (protected)',
      '"binary.dat" (binary file)',
      '"known.txt", "token.txt" (contains a secret)',
      '"large.txt" (larger than 400 KB)',
      '"link", "moved" (link)',
      '"nested/" (submodule)',
    ]);
    writeFileSync(join(cwd, "src/add.js"), "// changed meanwhile\n");
    rmSync(join(cwd, "new.txt"));
    script(cwd, replies);
    const { stdout } = await runHere(["resume", "one", ...MODEL], { cwd, env: secrets });
    const [base, now, diff] = outputs(JSON.parse(stdout), "look") ?? [];
    expect(base).toMatchObject({ output: "exports.add = (a, b) => a - b; [ true, false, true ]\n" });
    expect(now).toMatchObject({ output: "// edited [ false, true, true ]\n" });
    const changes = (diff as { files: { path: string; change: string }[] }).files;
    expect(changes.map(({ path, change }) => `${change} ${path}`)).toEqual([
      ...["added folder", "deleted folder/a.txt", "added new.txt", "deleted old.txt", "changed src/add.js"],
      "added staged.txt",
    ]);
    expect(runFile(cwd, "one")).not.toMatch(new RegExp(`${TOKEN}|hunter2`));
    expect(existsSync(marker)).toBe(false);
    // Git itself runs it.
    git(cwd, "status");
    expect(existsSync(marker)).toBe(true);
  });

  it("is refused for too many changes and with --from-ref, and only warns without a working copy", async () => {
    const none = "id: n\nname: N\nentry: a\nnodes: { a: { name: A, instruction: A., skills: [] } }\nedges: []\n";
    const cwd = project({ "n.yml": none });
    script(cwd, [{ text: "done" }]);
    const refused = async (file: string, ...more: string[]) => {
      const { code, stderr } = await runHere(["run", file, "--workspace-dirty", ...MODEL, ...more], { cwd });
      return `${code} ${stderr}`;
    };
    expect(await refused("n.yml")).toMatch(/^0 [\s\S]*--workspace-dirty changes nothing: the run has no working copy/);
    expect(await refused("n.yml", "--from-ref", "HEAD")).toMatch(/^2 [\s\S]*cannot be used with --from-ref HEAD/);
    const fill = (count: number, content: string) => {
      for (let at = 0; at < count; at += 1) writeFileSync(join(cwd, `more-${at}.txt`), content);
    };
    fill(201, "x");
    expect(await refused("w.yml")).toMatch(/^2 [\s\S]*at most 200 files and 2 MB/);
    for (let at = 6; at < 201; at += 1) rmSync(join(cwd, `more-${at}.txt`));
    fill(6, "x".repeat(400 * 1024));
    expect(await refused("w.yml")).toMatch(/^2 [\s\S]*at most 200 files and 2 MB/);
  });
});
