import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { runHere } from "./in-process.ts";
import { type Ended, makeProject, runFile, runProgram } from "./program.ts";

/** Every command gives the same answer to whether a skill can be used, and why not. */

const WORKFLOW = (skill: string, instruction = "Look.") =>
  `id: w\nname: W\nentry: a\nnodes:\n  a: { name: A, instruction: ${instruction}, skills: [${skill}] }\nedges: []\n`;
const SCRIPT = { replies: [{ text: "seen" }] };
const SECRET = "s3cr3t-not-a-form";

interface Told {
  readonly available: boolean;
  readonly cause?: string;
  readonly reasons: string[];
  readonly fix: string | null;
}

const json = <T>({ stdout }: Ended) => JSON.parse(stdout) as T;

/** The report of each command about one skill. */
async function ask(skill: string, env: Readonly<Record<string, string>>, files: Record<string, unknown> = {}) {
  const cwd = makeProject({ "w.yml": WORKFLOW(skill), "s.json": SCRIPT, ...files });
  const options = { cwd, env: { HOME: cwd, ...env } };
  const [list, show, doctor, validate, run] = await Promise.all([
    runHere(["skills", "list", "--json"], options),
    runHere(["skills", "show", skill], options),
    runHere(["doctor", "w.yml", "--json"], options),
    runHere(["validate", "w.yml"], options),
    runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r"], options),
  ]);
  const { skills } = json<{ skills: (Told & { id: string })[] }>(list);
  const record = JSON.parse(readFileSync(runFile(cwd, "r"), "utf8").split("\n")[0] ?? "") as RunRecord;
  const told = json<{ skills: { state: string; cause?: string; reason: string; fix: string }[] }>(doctor).skills[0];
  return {
    listed: skills.find(({ id }) => id === skill),
    show,
    doctor,
    told,
    validate,
    run,
    recorded: record.skills[0],
  };
}

describe("a skill that cannot be used", () => {
  const cases: [skill: string, env: Record<string, string>, cause: string, reason: RegExp][] = [
    ["kubernetes", {}, "config_missing", /neither KUBECONFIG nor KUBERNETES_URL is set/],
    ["git", {}, "not_applicable", /working directory is not a git repository/],
    ["cloudwatch", { AWS_REGION: "eu-west-1" }, "config_missing", /AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/],
    ["grafana", { GRAFANA_URL: SECRET, GRAFANA_TOKEN: "t" }, "config_form", /GRAFANA_URL is not an http/],
    ["http", { HTTP_HOSTS: ",," }, "config_form", /HTTP_HOSTS is not hosts/],
    ["linear", { LINEAR_API_KEY: " " }, "config_missing", /LINEAR_API_KEY is set but empty/],
    ["kubernetes", { KUBECONFIG: "/nonexistent" }, "config_form", /KUBECONFIG is not a file/],
    ["supabase", { SUPABASE_URL: SECRET, SUPABASE_SERVICE_ROLE_KEY: "k" }, "config_form", /SUPABASE_URL is not/],
    ["slack", { SLACK_WEBHOOK_URL: SECRET }, "config_form", /SLACK_WEBHOOK_URL is not/],
    ["postgres", { POSTGRES_URL: `mysql://u:${SECRET}@h` }, "config_form", /POSTGRES_URL is not a URL .*postgres:/],
    ["git", { GIT_REPOSITORY: "." }, "config_form", /GIT_REPOSITORY is neither/],
  ];
  it.each(cases)("%s with %j has the same state in every command", async (skill, env, cause, reason) => {
    const { listed, show, doctor, told, validate, run, recorded } = await ask(skill, env);
    expect(listed).toMatchObject({ available: false, cause, fix: expect.any(String) });
    expect(listed?.reasons[0]).toMatch(reason);
    expect(show.stdout).toMatch(new RegExp(`unavailable: .*${reason.source}`));
    expect(show.stdout).toContain("to use it: ");
    const state = ["machine", "not_applicable"].includes(cause) ? "unavailable" : "not_configured";
    expect(told).toMatchObject({ state, cause, fix: expect.any(String) });
    expect(told?.reason).toMatch(reason);
    expect(doctor.code).toBe(3);
    expect(run.code).toBe(3);
    expect(run.stderr).toMatch(reason);
    expect(recorded).toMatchObject({ available: false, cause });
    const said = validate.stdout + validate.stderr;
    if (cause === "config_form") expect(said).toMatch(reason);
    else expect(said).not.toContain("SKILL_CONFIG_FORM");
    for (const text of [JSON.stringify([listed, told]), show.stdout, said, run.stderr])
      expect(text).not.toContain(SECRET);
  });

  it("is not served to MCP clients, and a warning reports that", async () => {
    const cwd = makeProject();
    const env = { HOME: cwd, AWS_REGION: "eu-west-1", HTTP_HOSTS: ",," };
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
    const messages = [
      { jsonrpc: "2.0", id: 1, method: "initialize", params: hello },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/list" },
    ];
    const { stdout, stderr } = await runProgram(["mcp"], {
      cwd,
      env,
      stdin: messages.map((m) => `${JSON.stringify(m)}\n`).join(""),
    });
    const names = stdout
      .split("\n")
      .filter(Boolean)
      .flatMap((line) => (JSON.parse(line).result?.tools ?? []) as { name: string }[])
      .map(({ name }) => name.split("_")[0]);
    expect(new Set(names)).toContain("logs");
    for (const id of ["kubernetes", "git", "cloudwatch", "http", "github"]) expect(names).not.toContain(id);
    expect(stderr).toMatch(/kubernetes: neither KUBECONFIG/);
    expect(stderr).toMatch(/http: HTTP_HOSTS is not/);
    expect(stderr).toMatch(/config is missing.*github/);
  });
});

describe("a skill that can be used", () => {
  it("gets its token without surrounding white space", async () => {
    const { listed, told } = await ask("grafana", { GRAFANA_URL: " https://g.example\n", GRAFANA_TOKEN: "t\n" });
    expect([listed?.available, told?.state]).toEqual([true, "configured"]);
  });

  it("can be git if the run's text names a repository below the working directory", async () => {
    const bare = Object.fromEntries(["HEAD", "objects/x", "refs/x"].map((file) => [join("shop.git", file), "x"]));
    const files = { ...bare, "w.yml": WORKFLOW("git", "Look into shop.git.") };
    const { told, recorded } = await ask("git", {}, files);
    expect([told?.state, recorded?.available]).toEqual(["available", true]);
  });

  it("declares its form in a SKILL.md too", async () => {
    const skill = (format: string) =>
      `---\nname: own\ndescription: Own\nconfig:\n  OWN_LIMIT: { description: Limit, format: ${format} }\n---\nUse it.`;
    const given = { OWN_LIMIT: "ten" };
    const wrong = await ask("own", given, { "skills/own/SKILL.md": skill("integer") });
    expect(wrong.listed).toMatchObject({ available: false, cause: "config_form" });
    expect(wrong.run.stderr).toContain("OWN_LIMIT is not a whole number");
    const unknown = await ask("own", given, { "skills/own/SKILL.md": skill("roman") });
    expect(unknown.listed?.available).toBe(true);
    expect(unknown.run.stderr).toMatch(/format of the config field OWN_LIMIT is ignored/);
  });
});
