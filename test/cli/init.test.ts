import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { parse } from "yaml";
import { oneOf } from "../harness/long.ts";
import { runHere, type Screen } from "./in-process.ts";
import { makeProject, removeProjects, runProgram } from "./program.ts";
import { hasTerminal, runOnTerminal } from "./pseudo-terminal.ts";

const it = oneOf(2);

afterAll(removeProjects);

const WRITTEN = [
  ".env.example",
  ".skillflow.yml",
  "workflows/triage.example.txt",
  "workflows/triage.script.yml",
  "workflows/triage.test.yml",
  "workflows/triage.yml",
];

function filesIn(cwd: string): string[] {
  const entries = readdirSync(cwd, { recursive: true, encoding: "utf8", withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return files
    .map((file) => file.slice(cwd.length + 1))
    .filter((file) => !file.startsWith(".git/"))
    .sort();
}

function read(cwd: string, path: string): string {
  return readFileSync(join(cwd, path), "utf8");
}

/** The commands that `init` prints for a new workflow. */
const commandsFor = (name: string) => [
  `skillflow run workflows/${name}.yml`,
  `skillflow test workflows/${name}.test.yml`,
  `skillflow run workflows/${name}.yml --model script:workflows/${name}.script.yml`,
];

const start = (cwd: string, args: readonly string[] = [], screen: Partial<Screen> = {}) =>
  runHere(["init", ...args], { cwd, ...screen });

/** That what was written has no findings, passes its test and runs without a key. */
async function expectSound(cwd: string, name: string, env = {}, verdict = "incident") {
  const validated = await runHere(["validate", "--json", `workflows/${name}.yml`], { cwd, env });
  expect([validated.code, JSON.parse(validated.stdout).diagnostics]).toEqual([0, []]);
  expect(await runHere(["test"], { cwd, env })).toMatchObject({ code: 0 });
  const args = ["run", `workflows/${name}.yml`, "--model", `script:workflows/${name}.script.yml`, "--json"];
  const run = await runHere(args, { cwd, env });
  expect([run.code, JSON.parse(run.stdout).verdict]).toEqual([0, verdict]);
}

describe("skillflow init", () => {
  it("creates in an empty folder a project whose three printed commands work, the last one without a key", async () => {
    const cwd = makeProject();
    const { code, stdout } = await runProgram(["init"], { cwd });
    expect([code, stdout.trim().split("\n"), filesIn(cwd)]).toEqual([0, commandsFor("triage"), WRITTEN]);
    await expectSound(cwd, "triage");
    const codes: number[] = [];
    for (const command of commandsFor("triage")) {
      codes.push((await runHere(command.split(" ").slice(1), { cwd })).code ?? -1);
    }
    expect(codes).toEqual([3, 0, 0]);
  });

  it("uses the last errors of the project's own logs as its example", async () => {
    const time = (second: number) => `2026-11-20T09:12:${String(second).padStart(2, "0")}Z`;
    const line = (second: number, text: string) => `${time(second)} ${text}\n`;
    const cwd = makeProject({
      "app.log": line(1, "info started") + line(2, "error shop cannot reserve SKU-7: timed out"),
      "var/worker.log":
        line(9, 'error worker "lost" its lease {{x}}') + line(10, "error upload with glpat-0123456789abcdefghij"),
    });
    const { code, stderr } = await start(cwd);
    expect(code).toBe(0);
    expect(stderr).toContain("logs: *.log, var/*.log\n");
    expect(stderr).toContain('last error at worker.log@0: 2026-11-20T09:12:09Z error worker "lost" its lease {{x}}\n');
    expect(filesIn(cwd)).not.toContain("workflows/triage.example.txt");
    const workflow = parse(read(cwd, "workflows/triage.yml"));
    expect(workflow).toMatchObject({
      inputs: { files: { default: ["*.log", "var/*.log"] }, problem: { type: "string" } },
      report: { cause: "diagnose.cause" },
      nodes: { diagnose: { eval: [{ kind: "evidence" }] } },
    });
    expect(read(cwd, "workflows/triage.script.yml") + read(cwd, "workflows/triage.test.yml")).not.toContain("glpat-");
    await expectSound(cwd, "triage", {}, "inconclusive");
    const args = ["run", "workflows/triage.yml", "--model", "script:workflows/triage.script.yml", "--json"];
    expect(JSON.parse((await runHere(args, { cwd })).stdout).evidence).toMatchObject({ claims: 2, supported: 2 });
  });

  it("can start from the fix workflow, which is tested without a repository", async () => {
    const cwd = makeProject();
    const { code, stdout } = await start(cwd, ["fix", "--from", "fix"]);
    expect([code, stdout.split("\n").slice(0, 3)]).toEqual([
      0,
      [
        "skillflow doctor workflows/fix.yml",
        "skillflow run workflows/fix.yml --from-run latest -i test_command='npm test --'",
        "skillflow test workflows/fix.test.yml",
      ],
    ]);
    expect(parse(read(cwd, "workflows/fix.yml"))).toMatchObject({ id: "fix", entry: "read" });
    const validated = await runHere(["validate", "--json", "workflows/fix.yml"], { cwd });
    expect([validated.code, JSON.parse(validated.stdout).diagnostics]).toEqual([0, []]);
    expect(await runHere(["test"], { cwd })).toMatchObject({ code: 0 });
    expect(await start(makeProject(), ["--from", "fix", "--ci", "github"])).toMatchObject({ code: 2 });
  });

  it("detects the project's remote without the token, its logs, and the skills that variables make available", async () => {
    const cwd = makeProject({ "var/log/app.log": "x\n", "logs/web.jsonl": "{}\n", "node_modules/p/logs/x.log": "x" });
    execFileSync("git", ["init", "-q", cwd]);
    execFileSync("git", ["-C", cwd, "remote", "add", "origin", "https://ci:s3cret-token@gitlab.acme.dev/shop/app.git"]);
    const env = {
      SENTRY_AUTH_TOKEN: "s".repeat(40),
      SENTRY_ORG: "acme",
      SLACK_WEBHOOK_URL: "https://hooks.slack.com/services/T/B/x",
    };
    const { code, stderr } = await start(cwd, [], { env: { ...env, ANTHROPIC_API_KEY: "k".repeat(40) } });
    expect(code).toBe(0);
    expect(stderr).toContain("repository: gitlab.acme.dev/shop/app\n");
    expect(stderr).not.toContain("s3cret");
    expect(stderr).toContain("logs: logs/*.jsonl, var/log/*.log\n");
    const workflow = parse(read(cwd, "workflows/triage.yml"));
    expect(workflow.nodes.diagnose.skills).toEqual(["logs", "git", "sentry"]);
    const tools = workflow.nodes.look.steps.map(({ tool }: { tool: string }) => tool);
    expect(tools).toEqual(["logs_survey", "git_log", "sentry_list_issues"]);
    expect(workflow.nodes.tell.skills).toEqual(["slack"]);
    expect(parse(read(cwd, ".skillflow.yml"))).toMatchObject({
      model: expect.stringMatching(/^anthropic:/),
      writes: "plan",
    });
    expect(read(cwd, ".env.example")).toContain("#SENTRY_AUTH_TOKEN=\n");
    await expectSound(cwd, "triage");
    await expectSound(cwd, "triage", env);
  });

  it("offers every skill that is configured here, and no other", async () => {
    const cwd = makeProject();
    const env = {
      ...{
        GRAFANA_URL: "https://grafana.acme.dev",
        GRAFANA_TOKEN: "g".repeat(40),
        PROMETHEUS_URL: "http://prometheus",
      },
      ...{
        PAGERDUTY_API_KEY: "p".repeat(20),
        JIRA_BASE_URL: "https://acme.atlassian.net",
        JIRA_API_TOKEN: "j".repeat(40),
      },
    };
    await start(cwd, [], { env });
    const { nodes } = parse(read(cwd, "workflows/triage.yml"));
    const looks = ["logs_survey", "grafana_list_alerts", "pagerduty_list_incidents", "prometheus_list_alerts"];
    expect(nodes.look.steps.map(({ tool }: { tool: string }) => tool)).toEqual(looks);
    expect([nodes.diagnose.skills, nodes.tell.skills]).toEqual([
      ["logs", "grafana", "pagerduty", "prometheus"],
      ["jira"],
    ]);
    expect(read(cwd, ".env.example")).toMatch(
      /#AWS_REGION=\n[\s\S]*#KUBECONFIG=\n[\s\S]*#GITLAB_TOKEN=\n[\s\S]*#JIRA_API_TOKEN=\n/,
    );
    await expectSound(cwd, "triage", env);
  });

  it("starts from the shipped workflow if requested", async () => {
    const cwd = makeProject();
    expect(await start(cwd, ["checkout-triage", "--from", "triage"])).toMatchObject({ code: 0 });
    expect(parse(read(cwd, "workflows/checkout-triage.yml"))).toMatchObject({ id: "checkout-triage", entry: "look" });
    await expectSound(cwd, "checkout-triage");
    const other = await start(cwd, ["--from", "nothing"]);
    expect([other.code, other.stderr.includes("triage")]).toEqual([2, true]);
  });

  it("can start from the triage of a board, whose job stores what it has seen", async () => {
    const cwd = makeProject();
    const { code, stdout } = await start(cwd, ["errors", "--from", "board", "--ci", "github"]);
    expect([code, stdout.trim().split("\n")]).toEqual([0, commandsFor("errors")]);
    expect(parse(read(cwd, "workflows/errors.yml"))).toMatchObject({
      id: "errors",
      writes: "plan",
      nodes: {
        board: {
          skills: ["sentry", "datadog", "github", "linear", "logs"],
          steps: expect.arrayContaining([
            { id: "logs", tool: "logs_survey", with: { files: "workflows/*.example.txt" } },
            expect.objectContaining({ id: "read", tool: "board_read" }),
          ]),
        },
        each: { workflow: "./errors-issue.yml" },
      },
    });
    expect(read(cwd, ".github/workflows/skillflow.yml")).toContain("args: --state git:skillflow-state");
    await expectSound(cwd, "errors", {}, "changed");
  });

  it("writes nothing for the review on GitLab, for which there is no job", async () => {
    const cwd = makeProject();
    const { code, stderr } = await start(cwd, ["review", "--from", "review", "--ci", "gitlab"]);
    expect([code, filesIn(cwd)]).toEqual([2, []]);
    expect(stderr).toContain("the review has a CI job for GitHub only\n  pass --ci github, or leave --ci out\n");
  });

  it("can start from the review of a pull request, with a job that a pull request triggers", async () => {
    const cwd = makeProject();
    expect(await start(cwd, ["review", "--from", "review", "--ci", "github"])).toMatchObject({
      code: 0,
      stdout: `${commandsFor("review").join("\n")}\n`,
    });
    expect(parse(read(cwd, "workflows/review.yml"))).toMatchObject({ id: "review", workflow_type: "pr_review" });
    expect(parse(read(cwd, ".github/workflows/skillflow.yml"))).toMatchObject({ on: "pull_request" });
    await expectSound(cwd, "review", {}, "request_changes");
  });

  it("leaves existing files unchanged, reports that, and succeeds", async () => {
    const cwd = makeProject({ ".skillflow.yml": "writes: deny\n", "workflows/triage.yml": "mine" });
    const { code, stdout, stderr } = await start(cwd);
    expect([code, read(cwd, ".skillflow.yml"), read(cwd, "workflows/triage.yml")]).toEqual([
      0,
      "writes: deny\n",
      "mine",
    ]);
    expect(stderr).toContain("= workflows/triage.yml already exists, not changed\n");
    expect(stderr).toMatch(/To write another workflow next to it, name it: .* init NAME\n/);
    // A sample's test and script would not fit the existing workflow.
    expect(filesIn(cwd)).toEqual(WRITTEN.filter((path) => !/^workflows\/triage\.(?:script|test|example)/.test(path)));
    expect(stdout).not.toMatch(/triage\.(?:script|test)/);
  });

  it.each([
    ["github", ".github/workflows/skillflow.yml", "uses: OWNER/skillflow@v0"],
    ["gitlab", ".gitlab-ci.skillflow.yml", "npx --no-install skillflow run"],
  ])("writes the job of %s", async (ci, file, text) => {
    const cwd = makeProject();
    expect(await start(cwd, ["--ci", ci])).toMatchObject({ code: 0 });
    expect(filesIn(cwd)).toEqual([...WRITTEN, file].sort());
    expect(read(cwd, file)).toContain(text);
    expect(read(cwd, file)).toContain("workflows/triage.yml");
    expect(() => parse(read(cwd, file))).not.toThrow();
  });

  it("begins each generated YAML file with the line that enables completion in editors, from the package's installed path", async () => {
    const cwd = makeProject();
    await start(cwd);
    for (const [path, schema] of [
      ["workflows/triage.yml", "../node_modules/skillflow/schemas/workflow.json"],
      ["workflows/triage.script.yml", "../node_modules/skillflow/schemas/script.json"],
      ["workflows/triage.test.yml", "../node_modules/skillflow/schemas/test.json"],
      [".skillflow.yml", "node_modules/skillflow/schemas/config.json"],
    ] as const) {
      expect(read(cwd, path).split("\n")[0]).toBe(`# yaml-language-server: $schema=${schema}`);
      expect(existsSync(join(import.meta.dirname, "../../schemas", schema.split("/").at(-1) ?? ""))).toBe(true);
    }
  });

  it.each([["../evil"], ["a b"], ["Triage"], ["-x-"], ["a".repeat(65)]])("refuses a name like %j", async (name) => {
    const cwd = makeProject();
    expect(await start(cwd, ["--", name])).toMatchObject({ code: 2 });
    expect(filesIn(cwd)).toEqual([]);
  });

  it("does not write through a link", async () => {
    const elsewhere = makeProject({ "victim.yml": "mine" });
    const cwd = makeProject();
    mkdirSync(join(cwd, "workflows"));
    symlinkSync(join(elsewhere, "new.yml"), join(cwd, "workflows", "triage.yml"));
    writeFileSync(join(cwd, "other"), "");
    expect(await start(cwd)).toMatchObject({ code: 0 });
    expect(filesIn(elsewhere)).toEqual(["victim.yml"]);
    const linked = makeProject();
    symlinkSync(elsewhere, join(linked, "workflows"));
    expect(await start(linked)).toMatchObject({ code: 4 });
    expect(filesIn(elsewhere)).toEqual(["victim.yml"]);
  });

  it("asks nothing without a terminal, nor in CI", async () => {
    const answers: readonly string[] = [];
    for (const name of ["CI", "JENKINS_URL", "BUILD_ID"]) {
      const env = { [name]: "1" };
      expect(await start(makeProject(), [], { isTerminal: true, answers, env })).toMatchObject({ code: 0 });
    }
  });

  it.skipIf(!hasTerminal)("asks two questions on a terminal", async () => {
    const cwd = makeProject();
    const { code, stdout } = await runOnTerminal(["init"], ["checkout\r", "gitlab\r"], { cwd });
    expect(code).toBe(0);
    expect(stdout).toContain("Workflow name? [triage] ");
    expect(stdout).toContain("Write a CI job: github, gitlab or none? [none] ");
    expect(filesIn(cwd)).toContain("workflows/checkout.test.yml");
    expect(filesIn(cwd)).toContain(".gitlab-ci.skillflow.yml");
  });

  it("writes a job that calls the workflow of another repository, and repeats its commit", async () => {
    const cwd = makeProject();
    const reuse = `acme/ci/.github/workflows/skillflow.yml@${"0".repeat(40)}`;
    const { code, stderr } = await start(cwd, ["--ci", "github", "--reuse", reuse]);
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain("OWNER");
    const { jobs } = parse(read(cwd, ".github/workflows/skillflow.yml"));
    expect(jobs.skillflow).toMatchObject({
      uses: reuse,
      with: { workflow: "workflows/triage.yml" },
      secrets: "inherit",
    });
  });

  it.each([
    [["--reuse", `acme/ci/w.yml@${"0".repeat(40)}`], "pass --ci github"],
    [["--ci", "gitlab", "--reuse", `acme/ci/w.yml@${"0".repeat(40)}`], "pass --ci github"],
    [["--ci", "github", "--reuse", "acme/ci/w.yml@main"], "is not a workflow of another repository at a commit"],
    [["--ci", "github", "--reuse", `w.yml@${"0".repeat(40)}`], "is not a workflow of another repository at a commit"],
    [["--ci", "github", "--from", "board", "--reuse", "a"], "--reuse cannot be used with --from board"],
  ])("writes nothing for %j", async (args, message) => {
    const cwd = makeProject();
    const { code, stderr } = await start(cwd, args);
    expect([code, filesIn(cwd)]).toEqual([2, []]);
    expect(stderr).toContain(message);
  });
});
