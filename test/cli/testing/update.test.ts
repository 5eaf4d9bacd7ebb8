import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { runHere } from "../in-process.ts";
import { forgedRecord, makeProject, removeProjects } from "../program.ts";
import { caseOf, makeDesk, runTest, SCRIPT, WORKFLOW } from "./desk.ts";

afterAll(removeProjects);

const LOGGED = WORKFLOW.replace("skills: [sentry]", "skills: [logs]");
const SEARCHING = SCRIPT.replace(
  "sentry_get_issue, input: { issue: APP-14 }",
  "logs_search, input: { files: app.log }",
);

const WRONG = caseOf(`
      # what it comes to
      verdict: false_alarm # for now
      path: [gather]
      data: { gather.n: { at_least: 2 }, assess.verdict: x }`).replace("expect: \n", "expect:\n");

const ASKING = `id: flow
name: Flow
entry: each
nodes:
  each:
    name: Each
    map: { over: input.issues, as: issue, key: issue }
    entry: look
    nodes:
      look: { name: Look, instruction: Look. }
      ok: { name: Really?, approval: { ask: "Really?" } }
    edges: [{ from: look, to: ok }]
  sure: { name: May it go out?, approval: { ask: "Really?" } }
  noted: { name: OK?, approval: { ask: "Was it noted?" }, requires: { on_fail: skip, output_required: [input.none] } }
edges:
  - { from: each, to: sure }
  - { from: sure, to: noted, if: sure.note = fine }
`;

const READ = { skills: ["workspace"], steps: [{ id: "file", tool: "workspace_read_file", with: { path: "a.txt" } }] };
const shows = (text: string) => [
  { name: text, kind: "value", rule: { output_matches: [{ path: "file.text", equals: text }] } },
];
const EDIT = { path: "a.txt", old: "old", new: "new" };
const EDITING = JSON.stringify({
  ...{ id: "flow", name: "Flow", entry: "before" },
  nodes: {
    before: { name: "Before", ...READ, eval: shows("old") },
    edit: { name: "Edit", skills: ["workspace"], steps: [{ id: "edit", tool: "workspace_edit_file", with: EDIT }] },
    after: { name: "After", ...READ, eval: shows("new") },
    again: { name: "Again", ...READ, eval: shows("new") },
  },
  edges: [
    { from: "before", to: "edit" },
    { from: "edit", to: "after" },
    { from: "after", to: "again" },
  ],
});
const AUTHOR = ["-c", "user.name=t", "-c", "user.email=t@example.com"];

describe("skillflow test -u", () => {
  it("replaces expected values with actual ones, and keeps comments and matchers", async () => {
    const cwd = makeDesk({ "triage.test.yml": WRONG });
    const { code, stderr } = await runTest(cwd, ["-u"]);
    expect([code, stderr.includes("1 updated, 0 passed")]).toEqual([0, true]);
    expect(readFileSync(join(cwd, "triage.test.yml"), "utf8")).toBe(
      WRONG.replace("verdict: false_alarm", "verdict: incident")
        .replace("[gather]", "[gather, assess]")
        .replace("assess.verdict: x", "assess.verdict: incident"),
    );
    expect(await runTest(cwd)).toMatchObject({ code: 0 });
  });

  it.each<[string, string, string]>([
    ["a status that is worse", "{ path: [gather, assess] }", 'status: nothing -> "failed"'],
    ["a node that is no longer visited", "{ path: [gather, assess, assess] }", 'it no longer expects "assess"'],
    ["a tool that is no longer called", "{ called: [sentry_get_issue, sentry_update_issue] }", '"sentry_update_issue"'],
    ["a tool that is called now", "{ not_called: [sentry_get_issue] }", 'it no longer expects "sentry_get_issue"'],
    ["a field that is gone", "{ data: { gather: { n: 5, more: 1 } } }", 'it no longer expects {"more":1}'],
    [
      "a plan of fewer writes",
      "{ planned: [{ tool: linear_create_issue }, { tool: linear_create_issue }] }",
      "planned",
    ],
  ])("does not accept %s without --yes", async (what, expected, told) => {
    const text = caseOf(expected);
    const script = what.includes("status") ? { "triage.script.yml": "replies: []\n" } : {};
    const cwd = makeDesk({ "triage.test.yml": text, ...script });
    const refused = await runTest(cwd, ["-u"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(told);
    expect(refused.stderr).toContain("-u --yes");
    expect(readFileSync(join(cwd, "triage.test.yml"), "utf8")).toBe(text);
    expect((await runHere(["test", "-u"], { cwd, isTerminal: true, answers: ["n"] })).code).toBe(1);
    expect(readFileSync(join(cwd, "triage.test.yml"), "utf8")).toBe(text);
    expect((await runHere(["test", "-u"], { cwd, isTerminal: true, answers: ["y"] })).code).toBe(0);
    writeFileSync(join(cwd, "triage.test.yml"), text);
    expect((await runTest(cwd, ["-u", "--yes"])).code).toBe(0);
    expect(readFileSync(join(cwd, "triage.test.yml"), "utf8")).not.toBe(text);
  });

  it("leaves a matcher that does not match, and reports it", async () => {
    const text = caseOf("{ tokens: { at_most: 1 } }");
    const cwd = makeDesk({ "triage.test.yml": text });
    expect(await runTest(cwd, ["-u"])).toMatchObject({ code: 1 });
    expect(readFileSync(join(cwd, "triage.test.yml"), "utf8")).toBe(text);
  });

  it.each<[string, readonly string[], Readonly<Record<string, string>>]>([
    ["in CI", ["-u"], { CI: "true" }],
    ["in a CI that does not set CI", ["-u"], { JENKINS_URL: "https://ci.example" }],
    ["of several runs", ["-u", "--repeat", "2"], {}],
    ["of several models", ["-u", "--model", "script:a", "--model", "script:b"], {}],
    ["without a terminal to watch", ["--watch"], {}],
  ])("is not accepted %s", async (_what, args, env) => {
    const cwd = makeDesk({ "triage.test.yml": WRONG });
    expect(await runTest(cwd, args, { env })).toMatchObject({ code: 2 });
    expect(readFileSync(join(cwd, "triage.test.yml"), "utf8")).toBe(WRONG);
  });

  it("does not write through a link", async () => {
    const cwd = makeDesk();
    const elsewhere = makeProject({ "victim.test.yml": WRONG });
    const victim = join(elsewhere, "victim.test.yml");
    symlinkSync(victim, join(cwd, "triage.test.yml"));
    expect((await runTest(cwd, ["-u", "triage.test.yml"])).code).toBe(2);
    mkdirSync(join(cwd, "inside"));
    writeFileSync(join(cwd, "inside", "real.test.yml"), WRONG.replaceAll("./", "../").replace("@", "@../"));
    rmSync(join(cwd, "triage.test.yml"));
    symlinkSync(join(cwd, "inside", "real.test.yml"), join(cwd, "triage.test.yml"));
    await runTest(cwd, ["-u", "triage.test.yml"]);
    expect(readFileSync(victim, "utf8")).toBe(WRONG);
  });
});

describe("a recording", () => {
  /** A project with a recorded run, and a test of it. */
  async function recorded() {
    const cwd = makeDesk({ "triage.yml": LOGGED, "triage.script.yml": SEARCHING, "app.log": "an error of mine\n" });
    const model = ["--model", "script:triage.script.yml"];
    const run = await runHere(["run", "triage.yml", ...model, "--run-id", "first"], { cwd });
    expect(run.code).toBe(0);
    const written = await runTest(cwd, ["--from", "latest"]);
    expect(written).toMatchObject({ code: 0, stdout: "triage.first.test.yml\n" });
    return cwd;
  }

  it("becomes a passing test next to its workflow, once", async () => {
    const cwd = await recorded();
    expect(existsSync(join(cwd, "triage.first.jsonl"))).toBe(true);
    const text = readFileSync(join(cwd, "triage.first.test.yml"), "utf8");
    expect(text).toContain("path:\n        - gather\n        - assess\n");
    expect(text).toContain("verdict: incident\n");
    expect(text).toContain(
      "planned:\n        - tool: linear_create_issue\n          input:\n            title: SEV1 leak\n",
    );
    expect(text).toContain("logs_search:\n    - when:\n        files: app.log\n      output:");
    rmSync(join(cwd, "app.log"));
    expect(await runTest(cwd)).toMatchObject({ code: 0 });
    const again = await runTest(cwd, ["--from", "first"]);
    expect([again.code, again.stderr.includes("triage.first.test.yml already exists")]).toEqual([2, true]);
  });

  it("answers equal calls with their results in order, such as a file before and after an edit", async () => {
    const cwd = makeProject({ "flow.yml": EDITING, "a.txt": "old\n" });
    const git = (...args: string[]) => execFileSync("git", ["-C", cwd, ...AUTHOR, ...args]);
    git("init", "-q");
    git("add", "a.txt");
    git("commit", "-qm", "first");
    expect(await runHere(["run", "flow.yml", "--run-id", "r"], { cwd })).toMatchObject({ code: 0 });
    expect(await runTest(cwd, ["--from", "r"])).toMatchObject({ code: 0 });
    const rows = parse(readFileSync(join(cwd, "flow.r.test.yml"), "utf8")).tools.workspace_read_file;
    expect(rows.map((row: { output: { text: string } }) => row.output.text)).toEqual(["old", "new"]);
    expect(await runTest(cwd)).toMatchObject({ code: 0 });
  });

  it("answers the approvals of its run, with their authors and notes", async () => {
    const script = { replies: ["a", "b"].map((item) => ({ node: "look", item, text: "a bug" })) };
    const cwd = makeProject({ "flow.yml": ASKING, "s.json": JSON.stringify(script) });
    const input = JSON.stringify({ issues: ["a", "b"] });
    await runHere(["run", "flow.yml", "--model", "script:s.json", "--run-id", "r", "--input", input], { cwd });
    await runHere(["signal", "r", "each[a]/ok", "--deny"], { cwd });
    await runHere(["signal", "r", "each[b]/ok", "--approve"], { cwd });
    expect(await runHere(["signal", "r", "sure", "--approve", "--note", "fine"], { cwd })).toMatchObject({ code: 0 });
    expect(await runTest(cwd, ["--from", "r"])).toMatchObject({ code: 0 });
    const text = readFileSync(join(cwd, "flow.r.test.yml"), "utf8");
    expect(text).toContain("approvals:\n      each[a]/ok: deny\n      each[b]/ok: approve\n      sure: approve\n");
    const path = ["each", "each[a]/look", "each[a]/ok", "each[b]/look", "each[b]/ok", "sure", "noted"];
    expect(text).toContain(`path:\n${path.map((node) => `        - ${node}\n`).join("")}`);
    expect(await runTest(cwd)).toMatchObject({ code: 0 });
  });

  it("ends its path with the approval that its run waits for", async () => {
    const flow = "id: w\nname: W\nentry: ok\nnodes: { ok: { name: OK, approval: { ask: Really? } } }\nedges: []\n";
    const cwd = makeProject({ "flow.yml": flow });
    expect(await runHere(["run", "flow.yml", "--run-id", "r"], { cwd })).toMatchObject({ code: 7 });
    expect(await runTest(cwd, ["--from", "r"])).toMatchObject({ code: 0 });
    const { cases } = parse(readFileSync(join(cwd, "flow.r.test.yml"), "utf8"));
    expect(cases[0].expect).toMatchObject({ status: "waiting", path: ["ok"] });
    expect(await runTest(cwd)).toMatchObject({ code: 0 });
  });

  it("is not made from a run that was resumed from an earlier node", async () => {
    const cwd = await recorded();
    const resumed = ["resume", "first", "--from", "assess", "--model", "script:again.yml"];
    writeFileSync(join(cwd, "again.yml"), "replies: [{ node: assess, data: { verdict: other } }]\n");
    expect(await runHere(resumed, { cwd })).toMatchObject({ code: 0 });
    for (const made of ["triage.first.test.yml", "triage.first.jsonl"]) rmSync(join(cwd, made));
    const { code, stdout, stderr } = await runTest(cwd, ["--from", "first"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("a resume of the run repeated nodes: a test cannot repeat that");
    expect(existsSync(join(cwd, "triage.first.jsonl"))).toBe(false);
  });

  it("is not made from a run that a time-out cut off, or that was resumed with other limits", async () => {
    const flow = {
      id: "flow",
      name: "Flow",
      limits: { max_steps: 1 },
      entry: "look",
      nodes: {
        look: { name: "Look", instruction: "Look.", timeout: 1, fail_soft: true, skills: ["http"] },
        next: { name: "Next", instruction: "Next." },
      },
      edges: [{ from: "look", to: "next" }],
    };
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const hangs = { calls: [{ tool: "http_get", input: { url: `http://${host}/` } }] };
    const cwd = makeProject({
      "flow.yml": JSON.stringify(flow),
      "slow.json": JSON.stringify({ replies: [hangs] }),
      "s.json": JSON.stringify({ replies: [{ text: "a" }, { text: "b" }] }),
    });
    const run = (id: string, file: string) =>
      runHere(["run", "flow.yml", "--model", `script:${file}`, "--run-id", id], { cwd, env: { HTTP_HOSTS: host } });
    expect(await run("slow", "slow.json")).toMatchObject({ code: 5 });
    silent.closeAllConnections();
    silent.close();
    const slow = await runTest(cwd, ["--from", "slow"]);
    expect([slow.code, slow.stderr]).toEqual([
      2,
      expect.stringContaining("node look took longer than its timeout: a test cannot repeat that"),
    ]);
    expect(await run("raised", "s.json")).toMatchObject({ code: 5 });
    expect(await runHere(["resume", "raised", "--max-steps", "5"], { cwd })).toMatchObject({ code: 0 });
    const raised = await runTest(cwd, ["--from", "raised"]);
    expect([raised.code, raised.stderr]).toEqual([
      2,
      expect.stringContaining("a resume of the run changed a limit that was reached: a test cannot repeat that"),
    ]);
  });

  it("reports which prompts have changed, and is recorded again if that is accepted", async () => {
    const cwd = await recorded();
    const file = join(cwd, "triage.first.test.yml");
    writeFileSync(file, `${readFileSync(file, "utf8")}      prompts: unchanged\n`);
    expect(await runTest(cwd)).toMatchObject({ code: 0 });
    writeFileSync(join(cwd, "triage.yml"), LOGGED.replace("Judge.", "Judge fairly."));
    const changed = await runTest(cwd);
    expect(changed.code).toBe(1);
    expect(changed.stderr).toContain("prompts: the prompts of 2 steps differ from the recording");
    expect(changed.stderr).toMatch(/-Judge\.[\s\S]*\+Judge fairly\./);
    expect(await runTest(cwd, ["-u"])).toMatchObject({ code: 0 });
    expect(await runTest(cwd)).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(join(cwd, "triage.first.jsonl"), "utf8").split("\n")[0] ?? "")).toMatchObject({
      kind: "run",
    });
  });

  it.each([
    ["a run's name that leads elsewhere", { run: "../../evil" }],
    ["a workflow outside of the project", { file: "../../other.yml" }],
    ["a workflow that is gone", { file: "gone.yml" }],
  ])("with %s becomes no test", async (_what, change) => {
    const cwd = await recorded();
    const lines = readFileSync(join(cwd, "triage.first.jsonl"), "utf8").split("\n");
    lines[0] = JSON.stringify({ ...JSON.parse(lines[0] ?? ""), ...change });
    writeFileSync(join(cwd, "forged.jsonl"), forgedRecord(lines.join("\n")));
    const { code, stdout } = await runTest(cwd, ["--from", "forged.jsonl"]);
    expect([code, stdout]).toEqual([2, ""]);
  });
});

describe("an answer that does not fit its schema", () => {
  it.each([
    ["before the script has no reply left", ['{ "verdict": 5 }']],
    ["for good", ['{ "verdict": 5 }', '{ "verdict": 5 }']],
  ])("is in the headline, with field and value, %s", async (_, answers) => {
    const replies = answers.map((answer) => `  - node: assess\n    text: '${answer}'`).join("\n");
    const script = SCRIPT.replace(/ {2}- node: assess\n {4}data:[\s\S]*/, `${replies}\n`);
    const { code, stderr } = await runTest(makeDesk({ "triage.test.yml": caseOf("{}"), "triage.script.yml": script }));
    expect(code).toBe(1);
    expect(stderr).toMatch(/\(assess: .{0,40}: verdict must be string, not 5/);
  });
});

describe("a hostile test", () => {
  it.each<[string, string]>([
    ["an output", '{ output: "@../../../../../../etc/passwd" }'],
    ["an absolute output", '{ output: "@/etc/passwd" }'],
    ["an output behind a link", '{ output: "@leak.txt" }'],
  ])("reads nothing outside of its project by %s", async (_what, row) => {
    const text = caseOf("{}").replace('{ error: "404: no such issue" }', row);
    const cwd = makeDesk({ "triage.test.yml": text });
    symlinkSync("/etc/passwd", join(cwd, "leak.txt"));
    const { code, stderr } = await runTest(cwd);
    expect([code, stderr.includes("is outside"), stderr.includes("root:")]).toEqual([2, true, false]);
  });

  it.each([
    ["workflow", "./triage.yml"],
    ["script", "script:./triage.script.yml"],
  ])("refers to no %s outside of its project", async (_what, named) => {
    const outside = makeProject({ "triage.yml": WORKFLOW, "triage.script.yml": SCRIPT });
    const prefix = named.startsWith("script:") ? "script:" : "";
    const text = caseOf("{}").replace(named, `${prefix}${join(outside, named.replace(/^.*\.\//, ""))}`);
    const { code, stderr } = await runTest(makeDesk({ "triage.test.yml": text }));
    expect([code, stderr.includes("is outside")]).toEqual([2, true]);
  });

  it("cannot block a case with a pattern", async () => {
    const script = SCRIPT.replace("verdict: incident", `verdict: ${"a".repeat(40)}`);
    const cwd = makeDesk({
      "triage.test.yml": caseOf('{ verdict: { matches: "^(a+)+$x" } }'),
      "triage.script.yml": script,
    });
    const { code, stderr } = await runTest(cwd);
    expect([code, stderr.includes("pattern took over 1 s")]).toEqual([1, true]);
  });

  it("cannot make a report write through a link", async () => {
    const cwd = makeDesk({ "triage.test.yml": caseOf("{}"), "kept.txt": "mine" });
    symlinkSync(join(cwd, "kept.txt"), join(cwd, "tests.xml"));
    expect(await runTest(cwd, ["--report", "junit=tests.xml"])).toMatchObject({ code: 0 });
    expect([readFileSync(join(cwd, "kept.txt"), "utf8"), lstatSync(join(cwd, "tests.xml")).isSymbolicLink()]).toEqual([
      "mine",
      false,
    ]);
  });
});
