import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPrometheus, TOKEN } from "../services/prometheus.ts";
import type { RestService } from "../services/rest.ts";
import { runHere } from "./in-process.ts";
import { linesOf, makeProject, resultOf } from "./program.ts";

/** Several backends of one skill, from the config file to the report. */

let eu: RestService;
let us: RestService;
beforeAll(async () => {
  [eu, us] = [await startPrometheus(), await startPrometheus()];
});
afterAll(async () => {
  await eu.close();
  await us.close();
});

const NAMED = "PROMETHEUS_URL: { env: PROMETHEUS_URL_EU }, PROMETHEUS_TOKEN: { env: PROMETHEUS_TOKEN_EU }";
const CONFIG = `skills:
  instances:
    prometheus:
      eu: { ${NAMED} }
      us-1: { PROMETHEUS_URL: { env: PROM_US }, PROMETHEUS_TOKEN: { env: PROM_US_SECRET } }
`;
const WORKFLOW = `id: w
name: Both
entry: look
nodes:
  look:
    name: Look
    skills: [prometheus]
    steps:
      - { id: eu, tool: prometheus_eu_query, with: { query: up } }
      - { id: us, tool: prometheus_us_1_query, with: { query: up }, on_error: skip }
  tell:
    name: Tell
    instruction: Say what you saw.
    skills: [prometheus@us-1]
edges:
  - { from: look, to: tell }
`;
const SCRIPT = {
  replies: [
    { node: "tell", calls: [{ tool: "prometheus_us_1_query", input: { query: "up" } }] },
    { node: "tell", text: "done" },
  ],
};
const US_TOKEN = TOKEN;
const env = () => ({
  PROMETHEUS_URL_EU: eu.url,
  PROMETHEUS_TOKEN_EU: TOKEN,
  PROM_US: us.url,
  PROM_US_SECRET: US_TOKEN,
});
const project = (config: string, files: Record<string, unknown> = {}) =>
  makeProject({ "w.yml": WORKFLOW, "s.json": SCRIPT, ".skillflow.yml": config, ...files });
const RUN = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r", "--json"];

describe("two instances of a skill", () => {
  let cwd = "";
  let ran: Awaited<ReturnType<typeof runHere>>;
  beforeAll(async () => {
    cwd = project(CONFIG);
    ran = await runHere([...RUN, "--trust-skill", "prometheus@us-1"], { cwd, env: env() });
  });

  it("are used by one workflow, each with its own config", () => {
    expect([ran.code, ran.stderr]).toEqual([0, expect.any(String)]);
    expect(resultOf(ran).results).toMatchObject({
      look: { data: { eu: { series_total: 2 }, us: { series_total: 2 } } },
    });
    expect([eu.requests.length, us.requests.length]).toEqual([1, 2]);
    expect(resultOf(ran).degraded).toEqual([]);
  });

  it("are named in the record and the report, without their secrets", async () => {
    const record = readFileSync(join(cwd, ".skillflow/runs/r.jsonl"), "utf8");
    expect(record).toContain('"skill":"prometheus@us-1"');
    expect(record).not.toContain(TOKEN);
    const report = await runHere(["report", "r", "--report", "html=report.html"], { cwd });
    expect(report.code).toBe(0);
    expect(readFileSync(join(cwd, "report.html"), "utf8")).toContain("prometheus_us_1_query");
  });

  it.each([
    [["skills", "list", "--json"], { PROM_US: "" }, /"id": "prometheus@us-1"[^}]*"trusted": true/s],
    [["skills", "show", "prometheus@eu"], {}, /prometheus_eu_query_range/],
    [["doctor"], {}, /● prometheus@eu +configured/],
    [["doctor"], { PROMETHEUS_URL_EU: "" }, /○ prometheus@eu +not configured +PROMETHEUS_URL_EU is set but empty/],
    [["doctor", "--set", "prometheus@eu.PROMETHEUS_URL=nowhere"], {}, /prometheus@eu.*PROMETHEUS_URL_EU is not/],
    [["validate", "w.yml"], {}, /prometheus@us-1.*not trusted.*--trust-skill prometheus@us-1/s],
  ] as const)("%j", async (argv, more, expected) => {
    const { stdout, stderr } = await runHere([...argv], { cwd, env: { ...env(), ...more } });
    expect(stdout + stderr).toMatch(expected);
  });
});

describe("an instance", () => {
  const refused = { PROMETHEUS_TOKEN_EU: "wrong-e", PROM_US_SECRET: "wrong-u" };

  it("is named by its own variables, in errors and in warnings", async () => {
    const cwd = project(CONFIG);
    const trusted = [...RUN, "--trust-skill", "prometheus@us-1"];
    const { stdout, stderr } = await runHere(trusted, { cwd, env: { ...env(), ...refused, PROM_US_SECRET: "short" } });
    const { look } = JSON.parse(stdout).results;
    expect(JSON.stringify(look)).toMatch(/PROMETHEUS_TOKEN_EU/);
    expect(JSON.stringify(look)).not.toMatch(/PROMETHEUS_(?:TOKEN|URL)(?!_EU)/);
    expect(stderr).toMatch(/not redacted[^\n]*: PROMETHEUS_TOKEN_EU, PROM_US_SECRET\n/);
  });

  it("that is not declared is reported by validate, and before a run calls a model", async () => {
    const cwd = project(CONFIG, { "w.yml": WORKFLOW.replace("prometheus@us-1", "prometheus@us-2") });
    const expected =
      /w\.yml:14:\d+ warning UNKNOWN_SKILL node "tell" lists an unknown skill "prometheus@us-2": the skill prometheus has no instance us-2\n\s+did you mean "prometheus@us-1"\?/;
    const { code, stdout, stderr } = await runHere(["validate", "w.yml"], { cwd, env: env() });
    expect([code, stdout + stderr]).toEqual([0, expect.stringMatching(expected)]);
    const ran = await runHere(RUN, { cwd, env: env() });
    expect(JSON.parse(ran.stdout).degraded[0].reason).toBe("the skill prometheus has no instance or version us-2");
    expect(ran.stderr).toMatch(/prometheus@us-2[\s\S]*model:reply/);
  });

  it("of a skill without instances is reported, too", async () => {
    const cwd = project("{}", { "w.yml": WORKFLOW });
    const { stdout, stderr } = await runHere(["validate", "w.yml"], { cwd, env: env() });
    expect(stdout + stderr).toContain("the skill prometheus has no instance us-1");
  });
});

describe("an instance in a project's file", () => {
  const only = (fields: string) => `skills: { instances: { prometheus: { eu: { ${fields} } } } }`;
  it.each([
    ["variables that begin with the field's name", NAMED, {}, "configured"],
    [
      "a variable of another service",
      "PROMETHEUS_URL: { env: PROMETHEUS_URL_EU }, PROMETHEUS_TOKEN: { env: GITHUB_TOKEN }",
      {},
      "untrusted",
    ],
    ["an address in the file, without a secret", 'PROMETHEUS_URL: "http://prom.test"', {}, "configured"],
    [
      "an address in the file, next to a secret",
      'PROMETHEUS_URL: "http://prom.test", PROMETHEUS_TOKEN: { env: PROMETHEUS_TOKEN }',
      {},
      "untrusted",
    ],
    ["a name in the file, next to a secret", `${NAMED}, PROMETHEUS_ORG_ID: ops`, {}, "configured"],
    ["a secret in the file", `PROMETHEUS_URL: { env: PROMETHEUS_URL_EU }, PROMETHEUS_TOKEN: abc`, {}, "invalid"],
    ["a field that the skill does not have", "PROMETHEUS_ULR: { env: PROMETHEUS_ULR }", {}, "invalid"],
    [
      "a variable that the user lists",
      "PROMETHEUS_URL: { env: PROM_US }",
      { SKILLFLOW_SKILL_ENV: "prometheus=PROM_US" },
      "configured",
    ],
    [
      "a variable of another service, trusted",
      "PROMETHEUS_URL: { env: PROM_US }",
      { SKILLFLOW_TRUST_SKILL: "prometheus@eu" },
      "configured",
    ],
    [
      "a variable of another service, if another skill is trusted",
      "PROMETHEUS_URL: { env: PROM_US }",
      { SKILLFLOW_TRUST_SKILL: "prometheus" },
      "untrusted",
    ],
  ])("with %s", async (_, fields, more, expected) => {
    const cwd = makeProject({ ".skillflow.yml": only(fields) });
    const ended = await runHere(["doctor", "--json"], {
      cwd,
      env: { ...env(), GITHUB_TOKEN: "ghp_canary", PROMETHEUS_TOKEN: TOKEN, ...more },
    });
    const found = JSON.parse(ended.stdout).skills.find(({ id }: { id: string }) => id === "prometheus@eu");
    expect([found.cause ?? found.state, found.reason]).toEqual([
      expected,
      expected === "configured" ? null : expect.any(String),
    ]);
  });

  it("in the user's own file, any variable and literal", async () => {
    const cwd = makeProject({
      "home/skillflow/config.yml": only(
        'PROMETHEUS_URL: "http://prom.test", PROMETHEUS_TOKEN: { env: PROM_US_SECRET }',
      ),
    });
    const ended = await runHere(["doctor", "--json"], {
      cwd: makeProject({}),
      env: { ...env(), XDG_CONFIG_HOME: join(cwd, "home") },
    });
    expect(JSON.parse(ended.stdout).skills).toContainEqual(
      expect.objectContaining({ id: "prometheus@eu", state: "configured" }),
    );
  });

  it("is unavailable until its config is trusted, without a request or a recorded value", async () => {
    const config = only(`PROMETHEUS_URL: "${eu.url}", PROMETHEUS_TOKEN: { env: PROMETHEUS_TOKEN }`);
    const cwd = project(config, { "w.yml": WORKFLOW.replace("prometheus@us-1", "prometheus@eu") });
    const before = eu.requests.length;
    const ended = await runHere([...RUN, "--writes", "deny"], { cwd, env: { ...env(), PROMETHEUS_TOKEN: TOKEN } });
    expect(ended.stderr).toMatch(/prometheus@eu \(its config in .* is not trusted/);
    expect(eu.requests.length).toBe(before);
    expect(linesOf(cwd, ".skillflow/runs/r.jsonl").join("")).not.toContain(TOKEN);
  });

  it.each([
    ["a name with a digit first", "skills: { instances: { prometheus: { 1eu: {} } } }", /must begin with a letter/],
    ["a name of a version", "skills: { instances: { prometheus: { latest: {} } } }", /must begin with a letter/],
    ["a long name", `skills: { instances: { prometheus: { ${"a".repeat(33)}: {} } } }`, /at most 32/],
    [
      "the same tool twice",
      "skills: { instances: { gadget: { a: {}, a-b: {} } } }",
      /gadget@a and gadget@a-b have a tool with the same name, gadget_a_b_c/,
    ],
  ])("exits with 2 for %s", async (_, config, expected) => {
    const skill = `export default { id: "gadget", name: "G", description: "d", category: "general", config: {}, tools: ["b_c", "c"].map((name) => ({ name, description: "d", effect: "read", input_schema: { type: "object" }, handler: () => 1 })) };`;
    const cwd = makeProject({ ".skillflow.yml": config, ".claude/skills/gadget/skill.js": skill });
    const ended = await runHere(["skills", "list"], {
      cwd,
      env: { SKILLFLOW_TRUST_SKILL: "gadget,gadget@a,gadget@a-b" },
    });
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(expected)]);
  });

  it("leaves references to versions alone", async () => {
    const workflow = WORKFLOW.replace("[prometheus@us-1]", "[prometheus@^1.2, prometheus@west]");
    const cwd = makeProject({ "w.yml": workflow, ".skillflow.yml": CONFIG });
    const { stdout, stderr } = await runHere(["validate", "w.yml"], { cwd, env: env() });
    expect(stdout + stderr).toMatch(/unknown skill "prometheus@\^1.2"/);
    expect(stdout + stderr).toMatch(/warning UNKNOWN_SKILL [^\n]*unknown skill "prometheus@west"/);
  });
});
