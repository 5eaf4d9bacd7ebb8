import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/** A change that a run proposes, at the command line: the plan shows the diff, and apply pushes a branch. */

const WORKFLOW = `id: w
name: W
entry: fix
nodes:
  fix: { name: Fix, instruction: Fix it., skills: [workspace] }
edges: []
`;
const call = (tool: string, input: object) => ({ tool: `workspace_${tool}`, input });
const SCRIPT = {
  replies: [
    {
      node: "fix",
      calls: [call("edit_file", { path: "add.js", old: "a - b", new: "a + b /* as db.internal */" })],
    },
    { node: "fix", calls: [call("propose_change", { title: "Fixes #7: add", body: "Thanks @octocat, fixes #7" })] },
    {
      node: "fix",
      calls: [call("propose_change", { title: "After ${op-1.branch}", body: "See $${x}, closes ${op-1.branch}" })],
    },
    { node: "fix", calls: [call("propose_change", { title: "Long", body: "@a ".repeat(20_000) })] },
    { node: "fix", text: "done" },
  ],
};

const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", ...args], { cwd, encoding: "utf8" }).trim();

it("is planned with its diff, and applied as one branch", async () => {
  const cwd = makeProject({ "w.yml": WORKFLOW, "add.js": "const add = (a, b) => a - b;\n" });
  const remote = makeProject({});
  git(remote, "init", "-q", "--bare", "-b", "main", ".");
  writeFileSync(join(cwd, "script.json"), JSON.stringify(SCRIPT));
  git(cwd, "init", "-q", "-b", "main");
  git(cwd, "add", "add.js", "w.yml");
  git(cwd, "commit", "-qm", "start");
  git(cwd, "remote", "add", "origin", remote);
  git(cwd, "push", "-q", "origin", "main");
  const ran = await runHere(
    ["run", "w.yml", "--run-id", "one", "--model", "script:script.json", "--writes", "plan", "--json"],
    { cwd },
  );
  const result = JSON.parse(ran.stdout);
  const [operation] = result.plan;
  expect(operation).toMatchObject({
    kind: "patch",
    skill: "workspace",
    tool: "propose_change",
    base: git(cwd, "rev-parse", "HEAD"),
    files: [{ path: "add.js", change: "changed", mode: "100644" }],
    title: expect.stringMatching(/^F\u2060ixes #\u20607: add$/),
    draft: true,
    labels: [],
    in_diff: [{ kind: "host", count: 1 }],
    branch: `skillflow/fixes-7-add-${operation.digest.slice(0, 12)}`,
  });
  expect(result.plan).toHaveLength(2);
  const record = readFileSync(join(cwd, ".skillflow/runs/one.jsonl"), "utf8");
  expect(record).toContain("takes space: invalid input: body must NOT have more than 60000 characters");
  expect(operation.diff).toContain("+const add = (a, b) => a + b /* as db.internal */;");
  expect(operation.body).not.toMatch(/@octocat|#7/);
  const id = "one";
  const unknown = await runHere(["run", "w.yml", "--model", "script:script.json", "--add-skill", "fax=workspace"], {
    cwd,
  });
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("did you mean fix?")]);
  const verified = await runHere(["runs", "verify", id], { cwd });
  expect(verified.code).toBe(0);
  // A policy that was added after the run applies, even though git push needs no other skill.
  const SKILLFLOW_POLICY = join(makeProject({ "policy.yml": "skills: { allow: [github] }" }), "policy.yml");
  const barred = await runHere(["apply", id, "--yes"], { cwd, env: { SKILLFLOW_POLICY } });
  expect([barred.code, barred.stderr]).toEqual([3, expect.stringContaining("the skill workspace: policy:")]);
  expect(git(remote, "branch", "--list", "skillflow/*")).toBe("");
  const asked = await runHere(["apply", id], { cwd, isTerminal: true, answers: ["no"] });
  expect(asked.stderr).toContain(`changes of files go to ${remote}`);
  // The token of a GitHub Enterprise Server must not go to api.github.com.
  git(cwd, "remote", "set-url", "origin", "https://ghe.test/o/r.git");
  const ghe = { GITHUB_SERVER_URL: "https://ghe.test", GITHUB_TOKEN: "key", HTTPS_PROXY: "http://127.0.0.1:1" };
  const misled = await runHere(["apply", id, "--yes"], { cwd, env: ghe });
  expect([misled.code, misled.stderr]).toEqual([
    3,
    expect.stringContaining("set GITHUB_API_URL to the API of ghe.test"),
  ]);
  git(cwd, "remote", "set-url", "origin", remote);
  const applied = await runHere(["apply", id, "--yes", "--json"], { cwd });
  expect([applied.code, applied.stdout]).toEqual([0, expect.stringContaining(operation.branch)]);
  expect(git(remote, "show", `${operation.branch}:add.js`)).toContain("a + b");
  const [, second] = result.plan;
  expect([second.refers, second.body]).toEqual([["op-1"], expect.not.stringContaining("closes")]);
  expect(git(remote, "log", "-1", "--format=%s", second.branch)).toBe(`After \u2060${operation.branch}\u2060`);
  expect(readFileSync(join(cwd, "add.js"), "utf8")).toContain("a - b");
  expect(existsSync(join(cwd, ".git", "FETCH_HEAD"))).toBe(false);
  expect(readdirSync(cwd)).toContain("add.js");
});
