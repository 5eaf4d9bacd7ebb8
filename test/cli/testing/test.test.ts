import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { stdioServer } from "../../services/mcp.ts";
import { makeProject, removeProjects } from "../program.ts";
import { caseOf, HEAD, makeDesk, runTest, SCRIPT, tested, WORKFLOW } from "./desk.ts";

afterAll(removeProjects);

const GOOD = `{
      status: succeeded, verdict: incident, path: [gather, assess], data: { gather.n: { at_least: 2 } },
      called: [sentry_get_issue, linear_create_issue], not_called: [sentry_update_issue],
      planned: [{ tool: linear_create_issue, input: { title: { matches: SEV1 } } }],
      evidence: { dropped: 0 }, cost_usd: { at_most: 0.5 }, tokens: { at_most: 1000 } }`;

describe("a case", () => {
  it("passes without any config, network or trust if everything is as expected", async () => {
    const { ended, document } = await tested(caseOf(GOOD));
    expect(ended).toMatchObject({ code: 0 });
    expect(document).toEqual({
      schema: "skillflow.tests/1",
      passed: 1,
      failed: 0,
      files: [
        {
          file: "triage.test.yml",
          cases: [
            {
              name: "a leak is filed once",
              model: "script:./triage.script.yml",
              passed: true,
              runs: 1,
              passes: 1,
              failures: [],
            },
          ],
        },
      ],
    });
  });

  it.each<[string, string, object]>([
    ["status", "{ status: failed }", { path: "status", expected: "failed", actual: "succeeded" }],
    ["verdict", "{ verdict: false_alarm }", { path: "verdict", expected: "false_alarm", actual: "incident" }],
    ["path", "{ path: [gather] }", { path: "path", expected: ["gather"], actual: ["gather", "assess"] }],
    ["data", "{ data: { gather.n: 4 } }", { path: "data.gather.n", expected: 4, actual: 3 }],
    ["data that is missing", "{ data: { gather.x.y: 1 } }", { path: "data.gather.x.y", expected: 1 }],
    ["called", "{ called: [sentry_update_issue] }", { path: "called" }],
    ["not_called", "{ not_called: [linear_create_issue] }", { path: "not_called", actual: ["linear_create_issue"] }],
    ["planned", "{ planned: [{ tool: linear_create_issue, input: { title: x } }] }", { path: "planned" }],
    ["nothing planned", "{ planned: [] }", { path: "planned", expected: [] }],
    ["evidence", "{ evidence: { claims: { at_least: 1 } } }", { path: "evidence.claims", actual: 0 }],
    ["cost_usd", "{ cost_usd: { at_least: 1 } }", { path: "cost_usd", actual: 0 }],
    ["tokens", "{ tokens: { at_most: 1 } }", { path: "tokens" }],
  ])("fails because of its %s alone", async (_what, expected, failure) => {
    const { ended, failures } = await tested(caseOf(expected));
    expect(ended.code).toBe(1);
    expect(failures).toMatchObject([failure]);
  });

  it("must succeed by default", async () => {
    const short = SCRIPT.split("  - node: assess")[0] ?? "";
    const { failures } = await tested(caseOf("{ path: [gather, assess] }"), { files: { "triage.script.yml": short } });
    expect(failures).toMatchObject([{ path: "status", expected: "succeeded", actual: "failed" }]);
    expect(failures[0].message).toContain("the script has no work reply left for node assess");
  });

  it("accepts the quantifiers of paths", async () => {
    const script = SCRIPT.replace("{ n: 3 }", "{ n: 3, list: [{ x: 1 }, { x: 2 }] }");
    const files = {
      "triage.script.yml": script,
      "triage.yml": WORKFLOW.replace("n: { type: integer }", "n: { type: integer }, list: { type: array }"),
    };
    const expected = '{ data: { "any:gather.list[*].x": 2, "gather.list[*].x": { at_least: 1 } } }';
    expect((await tested(caseOf(expected), { files })).failures).toEqual([]);
    const { failures } = await tested(caseOf('{ data: { "gather.list[*].x": 2 } }'), { files });
    expect(failures).toMatchObject([{ actual: [1, 2] }]);
  });

  it("gets its input from a file or from itself", async () => {
    const inputs = "inputs: { alert: { type: string, required: true } }\n";
    const files = { "triage.yml": inputs + WORKFLOW, "alerts/leak.json": { alert: "leak" } };
    const good = await tested(caseOf("{}", '    input: "@alerts/leak.json"\n'), { files });
    expect(good.ended.code).toBe(0);
    const bad = await tested(caseOf("{}", "    input: { alert: 3 }\n"), { files });
    expect(bad.ended.code).toBe(2);
    expect(bad.ended.stderr).toContain("triage.test.yml:6:5 a leak is filed once: the input does not fit");
  });
});

describe("fixtures", () => {
  const answeredBy = (rows: string) =>
    caseOf("{ called: [sentry_get_issue] }").replace(/sentry_get_issue: \[.*\]/, `sentry_get_issue: ${rows}`);

  it("answer with the first row that fits, as often as the tool is called", async () => {
    const twice = SCRIPT.replace(
      "calls: [{ tool: sentry_get_issue, input: { issue: APP-14 } }]",
      "calls: [{ tool: sentry_get_issue, input: { issue: A-1 } }, { tool: sentry_get_issue, input: { issue: B-1 } }]",
    );
    const rows = '[{ when: { issue: "A-*" }, output: 1 }, { when: { issue: "*-1" }, output: 2 }, { output: 3 }]';
    const { cwd } = await tested(answeredBy(rows), {
      files: { "triage.script.yml": twice },
      args: ["--store", "runs"],
    });
    const { events } = await theRun(cwd);
    const outputs = events.flatMap((event) => (event.type === "tool:result" ? [event.output] : []));
    expect(outputs.slice(0, 2)).toEqual([1, 2]);
  });

  it.each([
    ["no row fits", answeredBy("[{ when: { issue: X }, output: 1 }]")],
    ["there is no row", answeredBy("[]")],
    ["the tool has no entry", caseOf("{ called: [sentry_get_issue] }").replace(/tools:[\s\S]*?\ncases/, "cases")],
  ])("are required: the case fails if %s", async (_what, text) => {
    const { ended, failures } = await tested(text);
    expect(ended.code).toBe(1);
    expect(failures).toMatchObject([{ path: "tools.sentry_get_issue", actual: { issue: "APP-14" } }]);
    expect(failures[0].message).toContain("no fixture for sentry_get_issue");
  });

  it("that are missing are reported once if the tool was not expected to be called", async () => {
    const text = answeredBy("[]").replace("called:", "not_called:");
    expect((await tested(text)).failures).toMatchObject([{ path: "not_called" }]);
  });

  it("answer with errors, as the tool would", async () => {
    const { cwd, failures } = await tested(answeredBy('[{ error: "404: gone" }]'), { args: ["--store", "runs"] });
    expect(failures).toEqual([]);
    const { events } = await theRun(cwd);
    expect(events.find((event) => event.type === "tool:result")).toMatchObject({ error: "404: gone" });
  });

  it("answer writes too, whether or not they are planned, and the plan is reported", async () => {
    const text = caseOf("{ planned: [{ tool: linear_create_issue }], called: [linear_create_issue] }").replace(
      "cases:",
      "  linear_create_issue: [{ output: { url: https://tracker/1 } }]\ncases:",
    );
    for (const writes of ["plan", "allow"]) {
      const expected =
        writes === "plan" ? text : text.replace("planned: [{ tool: linear_create_issue }]", "planned: []");
      const { cwd, failures } = await tested(`writes: ${writes}\n${expected}`, { args: ["--store", "runs"] });
      expect(failures).toEqual([]);
      const { events } = await theRun(cwd);
      const result = events.findLast((event) => event.type === "tool:result");
      expect(result).toMatchObject({ tool: "linear_create_issue", output: { url: "https://tracker/1" } });
    }
  });

  it("make their skill available without config or trust, and a skill without fixtures is missing", async () => {
    const workflow = WORKFLOW.replace("skills: [sentry]", "skills: [sentry, datadog, counter]");
    const skill = "---\nname: counter\ndescription: Counts.\nmcp: { command: ./never-run }\n---\nCount.\n";
    const script = SCRIPT.replace("sentry_get_issue, input: { issue: APP-14 }", "counter_count, input: { of: words }");
    const text = caseOf("{ called: [counter_count] }").replace(
      /sentry_get_issue: .*/,
      "counter_count: [{ output: 3 }]",
    );
    const files = { "triage.yml": workflow, "triage.script.yml": script, ".claude/skills/counter/SKILL.md": skill };
    const { cwd, failures } = await tested(text, { files, args: ["--store", "runs"] });
    expect(failures).toEqual([]);
    const { record } = await theRun(cwd);
    expect(record.skills.map(({ id, available }) => [id, available])).toEqual([
      ["sentry", false],
      ["datadog", false],
      ["counter", true],
      ["linear", true],
    ]);
  });

  it("replace the configuration: variables of the environment change nothing", async () => {
    const cwd = makeDesk({ "triage.test.yml": caseOf(GOOD) });
    const env = {
      SENTRY_AUTH_TOKEN: "t".repeat(40),
      SENTRY_ORG: "acme",
      LINEAR_API_KEY: "k".repeat(40),
      SKILLFLOW_WRITES: "deny",
    };
    expect(await runTest(cwd, [], { env })).toMatchObject({ code: 0 });
  });

  it("are not used if fixtures are live and the tool has none", async () => {
    const workflow = WORKFLOW.replace("skills: [sentry]", "skills: [logs]");
    const script = SCRIPT.replace(
      "sentry_get_issue, input: { issue: APP-14 }",
      "logs_search, input: { files: app.log }",
    );
    const text = caseOf("{ called: [logs_search] }", "    fixtures: live\n").replace(/tools:[\s\S]*?\ncases/, "cases");
    const files = { "triage.yml": workflow, "triage.script.yml": script, "app.log": "an error of mine\n" };
    const { cwd, failures } = await tested(text, { files, args: ["--store", "runs"] });
    expect(failures).toEqual([]);
    expect(JSON.stringify((await theRun(cwd)).events)).toContain("an error of mine");
  });

  it("do not count the time that live servers take to close", async () => {
    const mcp = stdioServer({ start: () => void setInterval(() => undefined, 1000) });
    const skills = `skills: { slow: { name: Slow, mcp: ${JSON.stringify(mcp)} } }\n`;
    const workflow = WORKFLOW.replace("skills: [sentry]", "skills: [sentry, slow]");
    const text = caseOf("{ called: [sentry_get_issue] }", "    fixtures: live\n");
    const cwd = makeDesk({ "triage.test.yml": text, "triage.yml": `${workflow}${skills}` });
    const began = performance.now();
    await runTest(cwd, ["--trust-skill", "slow", "--report", "junit=tests.xml"]);
    const seconds = Number(/<testcase [^>]*time="([\d.]+)"/.exec(readFileSync(join(cwd, "tests.xml"), "utf8"))?.[1]);
    expect(performance.now() - began - seconds * 1000).toBeGreaterThan(950);
  });

  it.each([
    ["allow", {}, "plan"],
    ["allow", { SKILLFLOW_WRITES: "deny" }, "deny"],
    ["deny", { SKILLFLOW_WRITES: "allow" }, "deny"],
    ["plan", {}, "plan"],
  ])(
    "that are live let a test tighten how writes are handled, and loosen nothing: %s %j",
    async (said, env, writes) => {
      const cwd = makeDesk({ "triage.test.yml": `writes: ${said}\n${caseOf("{}", "    fixtures: live\n")}` });
      await runTest(cwd, ["--store", "runs"], { env });
      expect((await theRun(cwd)).record.settings.writes).toBe(writes);
    },
  );
});

/** The only run in the store of the tests. */
async function theRun(cwd: string) {
  const { readdirSync } = await import("node:fs");
  const [name = ""] = readdirSync(join(cwd, "runs")).filter((each) => each.endsWith(".jsonl"));
  const [record, ...events] = readFileSync(join(cwd, "runs", name), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { record, events } as Awaited<ReturnType<import("../../../src/core/engine/ports.ts").Store["read"]>>;
}

describe("runs of tests", () => {
  test("are not stored unless a store is named, and then as tests that are never the latest run", async () => {
    const { cwd } = await tested(caseOf(GOOD));
    expect(existsSync(join(cwd, ".skillflow"))).toBe(false);
    const kept = await tested(caseOf(GOOD), { args: ["--store", "runs"] });
    expect((await theRun(kept.cwd)).record.kind).toBe("test");
  });
});

describe("test discovery", () => {
  it("finds the tests below a folder, but none of dependencies and hidden folders, nor behind links", async () => {
    const cwd = makeDesk({ "a/x.test.yml": caseOf("{}").replaceAll("./", "../").replace("@", "@../") });
    const text = readFileSync(join(cwd, "a/x.test.yml"), "utf8");
    for (const folder of ["node_modules/p", ".hidden", "b/c"]) {
      mkdirSync(join(cwd, folder), { recursive: true });
      writeFileSync(join(cwd, folder, "y.test.yml"), text.replaceAll("../", "../../"));
    }
    symlinkSync(join(cwd, "a"), join(cwd, "link"));
    const { stdout, code } = await runTest(cwd, ["--json"]);
    expect([code, JSON.parse(stdout).files.map(({ file }: { file: string }) => file)]).toEqual([
      0,
      ["a/x.test.yml", "b/c/y.test.yml"],
    ]);
    const named = JSON.parse((await runTest(cwd, ["--json", "b", "a/x.test.yml"])).stdout);
    expect(named.files).toHaveLength(2);
  });

  it.each([
    ["nothing", [], "there are no tests in ."],
    ["no such place", ["nowhere"], "there is no file or folder nowhere"],
  ])("%s ends with 2", async (_what, args, message) => {
    const cwd = makeProject();
    const ended = await runTest(cwd, args);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(message);
  });

  it("can be limited to cases by a part of their names", async () => {
    const text = `${caseOf("{}")}  - name: another\n    expect: { verdict: no }\n`;
    const cwd = makeDesk({ "triage.test.yml": text });
    const { code, stderr } = await runTest(cwd, ["--filter", "LEAK"]);
    expect([code, stderr.includes("another")]).toEqual([0, false]);
    expect(await runTest(cwd, ["--filter", "nobody"])).toMatchObject({ code: 2 });
  });
});

describe("the text output", () => {
  it("has a line for each case, and for a failure the expected and the actual value", async () => {
    const cwd = makeDesk({ "triage.test.yml": `${caseOf("{ path: [gather] }")}  - name: fine\n` });
    const { stderr, stdout, code } = await runTest(cwd);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr.replace(/\d+(\.\d+)? (ms|s)\n/g, "N ms\n")).toBe(`✘ triage.test.yml > a leak is filed once N ms
✔ triage.test.yml > fine N ms

- expected, + actual
FAIL triage.test.yml:6:5 > a leak is filed once
  path: 2 items, expected 1
     [
    -  "gather"
    +  "gather",
    +  "assess"
     ]

1 failed, 1 passed (2 cases)
`);
  });

  it("has colours on a terminal alone, and no control characters of untrusted text", async () => {
    const text = caseOf('{ verdict: "\\e[2J\\e]0;x\\a" }')
      .replace("a leak is", '"a leak\\u202E')
      .replace("once", 'once"');
    const cwd = makeDesk({ "triage.test.yml": text });
    const plain = await runTest(cwd);
    for (const mark of ["\u001b", "\u202e"]) expect(plain.stderr.includes(mark)).toBe(false);
    const shown = await runTest(cwd, [], { isTerminal: true });
    expect(shown.stderr).toContain("\u001b[31m");
    expect(shown.stderr).not.toContain("\u001b[2J");
  });

  it("shows how many runs of a repeated case passed", async () => {
    const cwd = makeDesk({ "triage.test.yml": caseOf("{ verdict: no }") });
    const { stderr, code } = await runTest(cwd, ["--repeat", "3"]);
    expect([code, /once 0 of 3/.test(stderr)]).toEqual([1, true]);
    expect((await runTest(makeDesk({ "triage.test.yml": caseOf("{}") }), ["--repeat", "2"])).stderr).toContain(
      "2 of 2",
    );
  });

  it("shows models side by side", async () => {
    const cwd = makeDesk({
      "triage.test.yml": caseOf("{ verdict: incident }"),
      "other.yml": SCRIPT.replace("incident", "false_alarm"),
    });
    const models = ["--model", "script:triage.script.yml", "--model", "script:other.yml"];
    const { stderr, stdout, code } = await runTest(cwd, [...models, "--json"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/script:triage\.script\.yml +script:other\.yml\n.*once +✔ 1 of 1 +✘ 0 of 1/);
    expect(JSON.parse(stdout).files[0].cases).toMatchObject([
      { model: "script:triage.script.yml", passed: true },
      { model: "script:other.yml", passed: false },
    ]);
  });
});

test("a live model without its key ends with 3", async () => {
  const cwd = makeDesk({ "triage.test.yml": caseOf("{}").replace(/model: .*/, "model: anthropic:claude-sonnet-4-5") });
  const { code, stderr, stdout } = await runTest(cwd, ["--json"]);
  expect(code).toBe(3);
  expect(stderr).toContain("ANTHROPIC_API_KEY");
  expect(JSON.parse(stdout)).toMatchObject({ schema: "skillflow.tests/1", error: { code: "config.missing" } });
});

test("JUnit gets an entry for each case", async () => {
  const cwd = makeDesk({ "triage.test.yml": `${caseOf('{ verdict: "<no>" }')}  - name: fine\n` });
  expect((await runTest(cwd, ["--report", "junit=out/tests.xml"])).code).toBe(1);
  const xml = readFileSync(join(cwd, "out/tests.xml"), "utf8");
  expect(xml).toContain('tests="2" failures="1"');
  expect(xml).toContain('<failure message="verdict: &#34;incident&#34; is not &#34;&#60;no&#62;&#34;" type="verdict">');
  const wrong = await runTest(cwd, ["--report", "html=x"]);
  expect([wrong.code, wrong.stderr.includes("--report takes junit=PATH")]).toEqual([2, true]);
});

describe("a file with mistakes", () => {
  const found = async (text: string, files = {}) => {
    const { ended, document } = await tested(text, { files });
    expect([ended.code, document.passed + document.failed]).toEqual([2, 0]);
    return document.diagnostics as readonly {
      readonly line: number;
      readonly message: string;
      readonly hint?: string;
    }[];
  };

  it("is reported with every mistake and its place, all at once, and nothing runs", async () => {
    const text = caseOf(
      "{ path: [gater], called: [sentry_get_isue], data: { gather.n: { at_leest: 1 }, asess.x: 1 }, statuss: failed }",
    )
      .replace("@fixtures/issue-14.json", "@fixtures/issue-15.json")
      .replace("sentry_get_issue: [", "sentry_get_isue: [")
      .replace("triage.script.yml", "triage.scrpt.yml");
    const told = await found(text);
    expect(told.map(({ line, message, hint }) => `${line}: ${message} ${hint}`).sort()).toEqual([
      "2: there is no file triage.scrpt.yml did you mean triage.script.yml?",
      '4: no skill of the workflow has a tool "sentry_get_isue" did you mean "sentry_get_issue"?',
      "4: there is no file fixtures/issue-15.json did you mean fixtures/issue-14.json?",
      '7: cases[0].expect.statuss is not a known field did you mean "status"?',
      '7: no skill of the workflow has a tool "sentry_get_isue" did you mean "sentry_get_issue"?',
      '7: the workflow has no node "asess" did you mean "assess"?',
      '7: the workflow has no node "gater" did you mean "gather"?',
      '7: unknown matcher "at_leest" did you mean at_least?',
    ]);
  });

  it.each<[string, string, string]>([
    ["a file without quotes", caseOf("{}", "    input: @alerts/leak.json\n"), 'a file is named in quotes: "@file"'],
    ["a workflow that is not there", caseOf("{}").replace("./triage.yml", "./triaeg.yml"), "did you mean triage.yml?"],
    ["a script that is not there", caseOf("{}").replace("triage.script", "triage.scrpt"), "did you mean"],
    ["two cases of one name", `${caseOf("{}")}  - name: a leak is filed once\n`, "an earlier case has the name"],
    ["prompts without a recording", caseOf("{ prompts: unchanged }"), "the test needs model: replay:FILE"],
    [
      "an output next to an error",
      caseOf("{}").replace('{ error: "404', '{ output: 1, error: "404'),
      "exactly one of output and error",
    ],
    ["no cases", HEAD, "cases is required"],
    ["no map", "[]", "must be a map"],
  ])("is reported for %s", async (_what, text, message) => {
    const cwd = makeDesk({ "triage.test.yml": text });
    const { code, stderr } = await runTest(cwd);
    expect(code).toBe(2);
    expect(stderr).toMatch(/triage\.test\.yml:\d+:\d+ error/);
    expect(stderr).toContain(message);
  });

  it("is reported with mistakes in its workflow and its script, in their own lines", async () => {
    const [script] = await found(caseOf("{}"), { "triage.script.yml": "replies:\n  - nod: gather\n" });
    expect(script).toMatchObject({ file: "triage.script.yml", line: 2, hint: 'did you mean "node"?' });
    const workflow = await found(caseOf("{}"), { "triage.yml": WORKFLOW.replace("to: assess", "to: asess") });
    expect(workflow).toContainEqual(expect.objectContaining({ file: "triage.yml", code: "UNKNOWN_EDGE_TARGET" }));
  });
});

test("with a commit, the tests of the commit are used, and the checkout is data", async () => {
  const cwd = makeDesk({ "triage.test.yml": caseOf("{ verdict: incident }") });
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], { cwd, encoding: "utf8" });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "base");
  writeFileSync(join(cwd, "triage.test.yml"), caseOf("{ verdict: false_alarm }"));
  writeFileSync(join(cwd, "fixtures/issue-14.json"), "no JSON");
  expect(await runTest(cwd, ["--from-ref", "HEAD"])).toMatchObject({ code: 0 });
  expect(await runTest(cwd)).toMatchObject({ code: 2 });
  expect(await runTest(cwd, ["--from-ref", "HEAD", "-u"])).toMatchObject({ code: 2 });
});

test("in GitHub Actions a failure is annotated at the place of its case", async () => {
  const cwd = makeDesk({ "triage.test.yml": caseOf("{ verdict: no }") });
  const { code, stderr } = await runTest(cwd, [], { env: { GITHUB_ACTIONS: "true", GITHUB_EVENT_NAME: "push" } });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^::error file=triage\.test\.yml,line=6,col=5,title=TEST_FAILED::a leak is filed once: verdict: /m,
  );
});
