import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, resultOf } from "./program.ts";

/** Which values of the checkout's `.env` are secrets, how they are marked, and whose file counts on a pull request. */

const FLOW = (skills: string) => `
id: w
name: W
entry: a
nodes:
  a: { name: A, instruction: Look., skills: [${skills}] }
edges: []
`;
const SCRIPT = {
  replies: [{ calls: [{ tool: "logs_search", input: { files: "app.log", contains: "" } }] }, { text: "done" }],
};
const TEAM = (extra: string) => `---
name: team
description: How the team works.
config:
  TEAM_KEY: { description: The team's key in the tracker, ${extra} }
---
Look.
`;

interface Setting {
  readonly dotenv: string;
  readonly log: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly skills?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a workflow that reads a log, and returns what the tool's result shows of the log. */
async function readLog({ dotenv, log, files = {}, skills = "logs", args = [], env = {} }: Setting) {
  const cwd = makeProject({ "w.yml": FLOW(skills), "s.json": SCRIPT, ".env": dotenv, "app.log": `${log}\n`, ...files });
  return look(cwd, args, env);
}

async function look(cwd: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const run = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r", "--json", ...args];
  const ended = await runHere(run, { cwd, env });
  expect(ended.code, ended.stderr).toBe(0);
  const [event] = readEvents(cwd, "r").filter(({ type }) => type === "tool:result");
  return { text: JSON.stringify(event), event, result: resultOf(ended), stderr: ended.stderr };
}

const LONG = "Xk29fjQ0aLm4Pz7Rt5Wb";

describe("a value of the checkout's .env", () => {
  it.each([
    ["PGPASSWORD", "correct-horse"],
    ["DEPLOY_KEY", "correct-horse"],
    ["STAGE_DSN", "correct-horse"],
    ["npm_token", "correct-horse"],
    ["ANYTHING", LONG],
    ["ANYTHING", "ghp_abcdefghijklmnopqrstuvwx"],
    ["ANYTHING", "xoxb-17653285-abcdef"],
    ["ANYTHING", "5f4dcc3b5aa765d61d8327deb882cf99"],
    ["ANYTHING", "https://bob:correct-horse@git.example/acme/shop"],
    ["ANYTHING", "jdbc:postgresql://bob:correct-horse@db.example/shop"],
    ["ANYTHING", `https://hooks.example/services/${LONG}`],
    ["SLACK_WEBHOOK_URL", "https://hooks.example/services/a"],
  ])("is a secret: %s=%s", async (name, value) => {
    const { text, result } = await readLog({ dotenv: `${name}=${value}\n`, log: `before ${value} after` });
    expect(text).toContain(`before [redacted:.env ${name}] after`);
    expect(result.redactions).toEqual({ [name]: 1 });
  });

  it.each([
    ["REPO", "acme/PaymentsService-2"],
    ["ORG", "acme-corporation"],
    ["SITE", "https://status.acme.example/payments/incidents"],
    ["CLONE", "ssh://git@github.example/acme/shop.git"],
    ["GITHUB_REPOSITORY", "acme/shop-frontend-7"],
    ["HOST", "vpc-logs-1a2b3c.eu-west-1.es.amazonaws.example"],
    ["PROJECT", "0b6d4a3e-9f1c-4d52-8a77-1e5f0c9b2d11"],
    ["TOKEN_URL", "https://login.acme.example/oauth"],
    ["TEAM", "sk-bratislava-operations"],
    ["LOKI_ORG_ID", "5f4dcc3b5aa765d61d8327deb882cf99"],
  ])("is not a secret: %s=%s", async (name, value) => {
    const { text, result } = await readLog({ dotenv: `${name}=${value}\n`, log: `before ${value} after` });
    expect(text).toContain(`before ${value} after`);
    expect(result).not.toHaveProperty("redactions");
  });

  it("is readable if a trusted skill declares the field with secret: false, whether or not it is loaded from there", async () => {
    const files = { "skills/team/SKILL.md": TEAM("secret: false") };
    const setting = { dotenv: "TEAM_KEY=platform-operations\n", log: "of platform-operations", files };
    expect((await readLog({ ...setting, args: ["--trust-skill", "team"] })).text).toContain("of platform-operations");
    const loaded = ["--trust-skill", "team", "--env-from", ".env"];
    const used = await readLog({ ...setting, skills: "logs, team", args: loaded });
    expect(used.text).toContain("of platform-operations");
  });

  it("stays a secret if a skill that is not trusted declares it readable", async () => {
    const files = { "skills/team/SKILL.md": TEAM("secret: false") };
    const setting = { dotenv: "TEAM_KEY=platform-operations\n", log: "of platform-operations", files };
    expect((await readLog(setting)).text).toContain("of [redacted:.env TEAM_KEY]");
    const used = await readLog({ ...setting, skills: "logs, team", env: { TEAM_KEY: "platform-operations" } });
    expect(used.text).toContain("of [redacted:TEAM_KEY]");
  });

  it("is counted by its name, in the record, in the result and for people", async () => {
    const dotenv = `A=${LONG}\nB_TOKEN=OutOfMemory\n`;
    const { event, result, stderr } = await readLog({ dotenv, log: `OutOfMemory ${LONG}\nOutOfMemory` });
    expect(event).toMatchObject({ redactions: { A: 1, B_TOKEN: 2 } });
    expect(result.redactions).toEqual({ A: 1, B_TOKEN: 2 });
    expect(stderr.replaceAll(/\s+/g, " ")).toContain("Redacted values from the checkout's .env: B_TOKEN (2), A (1)");
  });
});

describe("on a pull request", () => {
  function git(cwd: string, ...args: string[]): string {
    const who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
    return execFileSync("git", [...who, ...args], { cwd, encoding: "utf8", env: { PATH: process.env.PATH } }).trim();
  }

  it("the base's .env counts, and the one of the pull request does not", async () => {
    const files = { "w.yml": FLOW("logs"), "s.json": SCRIPT, ".env": "BASE_TOKEN=hidden-by-base\n" };
    const cwd = makeProject({ ...files, "app.log": "OutOfMemory hidden-by-base\n" });
    rmSync(join(cwd, ".git"), { recursive: true, force: true });
    git(cwd, "init", "-q", "-b", "main");
    git(cwd, "add", "-A");
    git(cwd, "commit", "-qm", "base");
    const sha = git(cwd, "rev-parse", "HEAD");
    writeFileSync(join(cwd, ".env"), "A_TOKEN=OutOfMemory\n");
    git(cwd, "commit", "-qam", "head");
    writeFileSync(join(cwd, "event.json"), JSON.stringify({ pull_request: { base: { sha } } }));
    const env = {
      GITHUB_ACTIONS: "true",
      GITHUB_EVENT_NAME: "pull_request",
      GITHUB_EVENT_PATH: join(cwd, "event.json"),
    };
    const { text } = await look(cwd, [], env);
    expect(text).toContain("OutOfMemory [redacted:.env BASE_TOKEN]");
  });
});
