import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { oneOf } from "../harness/long.ts";
import { runHere } from "./in-process.ts";
import { makeProject, runFile } from "./program.ts";

const it = oneOf(2);

/** The commit whose files are used instead of the checkout's. */

const workflow = (instruction: string) => `
id: w
name: W
entry: a
nodes:
  a: { name: A, instruction: "${instruction}", context: [{ file: facts.md }], skills: [team] }
edges: []
`;
const SKILL = (text: string) => `---\nname: team\ndescription: How the team works.\n---\n${text}\n`;

function git(cwd: string, ...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...who, ...args], { cwd, encoding: "utf8", env: { PATH: process.env.PATH } }).trim();
}

/** A repository whose branch main says BASE, and whose checkout is a stranger's branch that says EVIL in every place. */
function checkout() {
  template ??= makeCheckout();
  const cwd = makeProject();
  cpSync(template.cwd, cwd, { recursive: true });
  return { cwd, base: template.base };
}

/** Each test has a copy of one checkout. */
let template: ReturnType<typeof makeCheckout> | undefined;

function makeCheckout() {
  const files = (word: string) => ({
    "w.yml": workflow(word),
    "facts.md": `facts of ${word}`,
    ".skillflow.yml": { limits: { max_steps: word === "BASE" ? 7 : 99 } },
    "skills/team/SKILL.md": SKILL(`skill of ${word}`),
  });
  const cwd = makeProject({ ...files("BASE"), "s.json": { replies: [{ text: "done" }, { text: "again" }] } });
  rmSync(join(cwd, ".git"), { recursive: true, force: true });
  git(cwd, "init", "-q", "-b", "main");
  git(cwd, "add", "-A");
  git(cwd, "commit", "-qm", "base");
  git(cwd, "checkout", "-qb", "pr");
  for (const [name, content] of Object.entries(files("EVIL"))) {
    writeFileSync(join(cwd, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  git(cwd, "add", "-A");
  git(cwd, "commit", "-qm", "evil");
  return { cwd, base: git(cwd, "rev-parse", "main") };
}

const RUN = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r"];
const textOf = (cwd: string) => readFileSync(runFile(cwd, "r"), "utf8");
const recordOf = (cwd: string) => JSON.parse(textOf(cwd).split("\n")[0] ?? "") as RunRecord;
const copies = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`skillflow-ref-${process.pid}@`));

describe("--from-ref", () => {
  it("uses workflow, config, skills and document sources as of the commit, and records the commit", async () => {
    const { cwd, base } = checkout();
    const { code, stderr } = await runHere([...RUN, "--from-ref", "main"], { cwd });
    expect(code).toBe(0);
    expect(recordOf(cwd)).toMatchObject({ commit: base, settings: { limits: { max_steps: 7 } } });
    expect(textOf(cwd)).toContain("facts of BASE");
    expect(textOf(cwd)).toContain("skill of BASE");
    expect(textOf(cwd)).not.toContain("EVIL");
    expect(stderr).toContain(`come from commit ${base.slice(0, 12)}`);
    expect(copies()).toEqual([]);
  });

  it("reads the input and the files that tools read from the checkout", async () => {
    const { cwd } = checkout();
    writeFileSync(join(cwd, "input.json"), '{"from":"the head"}');
    await runHere([...RUN, "--from-ref", "main", "--input", "@input.json"], { cwd });
    expect(recordOf(cwd).input).toEqual({ from: "the head" });
  });

  it("is kept by resume, also if there is a newer commit", async () => {
    const { cwd, base } = checkout();
    const limited = [...RUN, "--from-ref", "main", "--max-tokens", "1"];
    await runHere(limited, { cwd });
    git(cwd, "branch", "-f", "main", "pr");
    const { stderr } = await runHere(["resume", "r", "--from", "a", "--max-tokens", "9999"], { cwd });
    expect(stderr).toContain(`${base.slice(0, 12)} (as the run recorded)`);
    expect(textOf(cwd)).not.toContain("EVIL");
  });

  it.each([
    ["validate", ["validate", "w.yml", "--json"]],
    ["graph", ["graph", "w.yml"]],
    ["doctor", ["doctor", "w.yml", "--json"]],
    ["skills", ["skills", "show", "team", "--json"]],
    ["lint", ["skills", "lint", "skills/team"]],
  ])("is accepted by %s, which reads nothing of the checkout", async (_, args) => {
    const { cwd } = checkout();
    for (const name of ["w.yml", "facts.md", "skills"]) rmSync(join(cwd, name), { recursive: true });
    const { code, stdout } = await runHere([...args, "--from-ref", "main"], { cwd });
    expect(code).toBe(0);
    expect(stdout).not.toContain("EVIL");
  });

  it.each(["nowhere", "--output=x", "main:w.yml", "", "-1"])("refuses %j, which is not a commit", async (ref) => {
    const { cwd } = checkout();
    const { code } = await runHere([...RUN, `--from-ref=${ref}`], { cwd });
    expect(code).toBe(2);
    expect(existsSync(runFile(cwd, "r"))).toBe(false);
  });

  it("runs no filter, follows no link and ignores replacement objects of the repository", async () => {
    const { cwd } = checkout();
    git(cwd, "checkout", "-q", "main");
    writeFileSync(join(cwd, ".gitattributes"), "*.md filter=evil\n");
    symlinkSync("/etc/hostname", join(cwd, "link.md"));
    mkdirSync(join(cwd, "hooks"));
    git(cwd, "add", "-A");
    git(cwd, "commit", "-qm", "traps");
    git(cwd, "config", "filter.evil.smudge", `touch ${join(cwd, "pwned")}; cat`);
    git(cwd, "config", "core.fsmonitor", `touch ${join(cwd, "pwned")}`);
    git(cwd, "replace", "main", "pr");
    const { code } = await runHere([...RUN, "--from-ref", "main"], { cwd });
    expect(code).toBe(0);
    expect(existsSync(join(cwd, "pwned"))).toBe(false);
    expect(textOf(cwd)).toContain("facts of BASE");
    git(cwd, "replace", "-d", "main");
    writeFileSync(join(cwd, "w.yml"), workflow("BASE").replace("facts.md", "link.md"));
    git(cwd, "commit", "-qam", "a link as a source");
    const linked = await runHere([...RUN.slice(0, -1), "l", "--from-ref", "main"], { cwd });
    const said = `there is no file ${join(cwd, "link.md")} in the commit\n    Paths start in ${cwd}. Links of a commit`;
    expect([linked.code, linked.stderr]).toEqual([2, expect.stringContaining(said)]);
  });
});

describe("in GitHub Actions the files of the base are used", () => {
  async function during(
    event: string,
    payload: object,
    env: Readonly<Record<string, string>> = {},
    args: string[] = [],
  ) {
    const { cwd, base } = checkout();
    const file = join(cwd, "event.json");
    writeFileSync(file, JSON.stringify(payload).replaceAll("BASE_SHA", base));
    const actions = { GITHUB_ACTIONS: "true", GITHUB_EVENT_NAME: event, GITHUB_EVENT_PATH: file, ...env };
    const { code, stderr } = await runHere([...RUN, ...args], { cwd, env: actions });
    return {
      code,
      stderr,
      decides: existsSync(runFile(cwd, "r")) ? (textOf(cwd).includes("EVIL") ? "head" : "base") : "",
    };
  }
  const PULL = { pull_request: { base: { sha: "BASE_SHA" } } };
  const REPOSITORY = { repository: { default_branch: "main" } };

  it.each([
    ["pull_request", PULL, {}],
    ["pull_request_target", PULL, {}],
    ["pull_request", {}, { GITHUB_BASE_REF: "main" }],
    ["pull_request_review", PULL, {}],
    ["pull_request_review_comment", PULL, {}],
    ["pull_request_review", {}, { GITHUB_BASE_REF: "main" }],
    ["an event that nobody has heard of yet", PULL, {}],
    ["merge_group", { merge_group: { base_sha: "BASE_SHA" } }, {}],
    ["issue_comment", REPOSITORY, {}],
    ["workflow_run", REPOSITORY, {}],
    ["check_run", REPOSITORY, {}],
    ["check_suite", REPOSITORY, {}],
    ["deployment_status", REPOSITORY, {}],
    ["status", REPOSITORY, {}],
  ])("on %s", async (event, payload, env) => {
    expect(await during(event, payload, env)).toMatchObject({ code: 0, decides: "base" });
  });

  it.each(["push", "schedule", "workflow_dispatch"])("and on %s the files of the checkout", async (event) => {
    expect(await during(event, REPOSITORY)).toMatchObject({ code: 0, decides: "head" });
  });

  it.each([
    ["a merge request", { CI_MERGE_REQUEST_IID: "7", CI_MERGE_REQUEST_DIFF_BASE_SHA: "BASE_SHA" }, "base"],
    [
      "one with the target's commit alone",
      { CI_MERGE_REQUEST_IID: "7", CI_MERGE_REQUEST_TARGET_BRANCH_SHA: "BASE_SHA" },
      "base",
    ],
    [
      "one with the target's name alone",
      { CI_MERGE_REQUEST_IID: "7", CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main" },
      "base",
    ],
    ["a branch", {}, "head"],
  ])("and on GitLab, of %s", async (_, variables, decides) => {
    const { cwd, base } = checkout();
    const filled = Object.entries(variables).map(([name, value]) => [name, value === "BASE_SHA" ? base : value]);
    const ended = await runHere(RUN, { cwd, env: { GITLAB_CI: "true", ...Object.fromEntries(filled) } });
    expect(ended.code, ended.stderr).toBe(0);
    expect(textOf(cwd).includes("EVIL") ? "head" : "base").toBe(decides);
  });

  it("unless the operator chooses otherwise", async () => {
    expect(await during("pull_request", PULL, {}, ["--from-ref", "HEAD"])).toMatchObject({ decides: "head" });
  });

  it.each([
    ["pull_request", { pull_request: { base: { sha: "0".repeat(40) } } }],
    ["pull_request", {}],
    ["issue_comment", {}],
  ])("and a shallow clone without the base is refused on %s", async (event, payload) => {
    const { code, stderr, decides } = await during(event, payload);
    expect([code, decides]).toEqual([2, ""]);
    expect(stderr).toContain("fetch-depth: 0");
  });
});
