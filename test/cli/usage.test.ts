import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FLOW, SMALL, scriptOf, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { type Ended, makeProject, resultOf, runFile, runProgram } from "./program.ts";

const TYPED = `
id: typed
name: Typed
entry: only
inputs:
  service: { type: string, required: true, description: what is broken }
  count: { type: number, required: true }
  urgent: { type: boolean, default: false }
  tags: { type: "string[]" }
  level: { type: string, enum: [low, high] }
nodes:
  only: { name: Only, instruction: Say something. }
edges: []
`;

const WAIT = `
id: wait
name: Wait
entry: sure
nodes:
  sure: { name: Sure, approval: { ask: Go on? } }
edges: []
`;

const files = { "flow.yml": FLOW, "wait.yml": WAIT, "small.yml": SMALL, "typed.yml": TYPED, "script.json": WORKING };
const OK = ["--model", "script:script.json"];

function expectRefused(ended: Ended, says: RegExp | string) {
  expect(ended.stderr).toMatch(says);
  expect(ended.code).toBe(2);
  if (ended.stdout !== "")
    expect(JSON.parse(ended.stdout)).toMatchObject({ run: null, status: "refused", exitCode: 2 });
  expect(ended.stderr).not.toMatch(/\n\s+at .*[:(]\d+/);
}

describe("a command line", () => {
  it.each([
    [["rnu", "flow.yml"], /unknown command 'rnu'\n\(Did you mean run\?\)/],
    [["runs", "lsit"], /unknown command 'lsit'\n\(Did you mean list\?\)/],
    [["run", "flow.yml", "--modle", "x"], /unknown option '--modle'\n\(Did you mean --model\?\)/],
    [["run"], /missing required argument 'workflow'/],
    [["run", "flow.yml", "small.yml"], /too many arguments/],
    [["run", "flow.yml", "--model"], /argument missing/],
    [["run", "flow.yml", "--model", "gpt-5"], /"gpt-5" has no provider[\s\S]*PROVIDER:NAME/],
    [["run", "flow.yml", ...OK, "--writes", "maybe"], /Allowed choices are allow, plan, deny/],
    [["run", "flow.yml", ...OK, "--max-cost", "0"], /--max-cost must be a number above zero, not "0"/],
    [["run", "flow.yml", ...OK, "--max-cost", "cheap"], /--max-cost must be a number above zero, not "cheap"/],
    [["run", "flow.yml", ...OK, "--max-tokens", "1.5"], /--max-tokens must be a whole number above zero/],
    [["run", "flow.yml", ...OK, "--max-steps", "-1"], /--max-steps must be a whole number above zero/],
    [
      ["run", "flow.yml", ...OK, "--timeout", "soon"],
      /--timeout must be a duration such as 500ms, 90s, 10m, 2h or 14d/,
    ],
    [["run", "flow.yml", ...OK, "--tool-timeout", "0"], /--tool-timeout must be a duration/],
    [["run", "flow.yml", ...OK, "--set", "KEY"], /--set takes KEY=VALUE, not "KEY"/],
    [["run", "flow.yml", ...OK, "-i", "service"], /-i takes KEY=VALUE, not "service"/],
    [["run", "flow.yml", ...OK, "--report", "htm=x.html"], /--report takes KIND=PATH[\s\S]*did you mean html=PATH/],
    [["run", "flow.yml", ...OK, "--run-id", "../../etc/cron"], /"\.\.\/\.\.\/etc\/cron" is not a run id/],
    [["run", "flow.yml", ...OK, "--run-id", "latest"], /no run can have the id latest/],
    [["run", "flow.yml", "--model", "script:nowhere.json"], /there is no script .*nowhere\.json/],
    [["run", "flow.yml", "--model", "script:."], /is a folder: script needs a file/],
    [["run", "wait.yml", ...OK, "--add-skill", "sure=logs"], /the node sure, which calls no tools itself/],
    [["run", "flow.yml", ...OK, "--add-skill", "a"], /--add-skill takes NODE=SKILL, not "a"/],
    [["run", "flow.yml", ...OK, "--report", "html=."], /nothing ran: .* is a folder/],
    [["run", "flow.yml", ...OK, "--out", "flow.yml"], /nothing ran: .*flow\.yml is not a folder/],
    [["run", "flow.yml", ...OK, "--report", "html=flow.yml/x.html"], /nothing ran: .*flow\.yml is not a folder/],
    [["graph", "nope.yml"], /there is no file nope\.yml/],
    [["run", "flow.yml", ...OK, "--from-ref", "HEAD"], /there is no git repository in /],
    [["run", "flow.yml", "--model", "script:flow.yml"], /flow\.yml is not a script: line 2, column 1: replies/],
    [["run", "flow.yml", "--model", "replay:nowhere.jsonl"], /there is no recording .*nowhere\.jsonl/],
    [["run", "flow.yml", "--model", "replay:flow.yml"], /not a recorded run/],
    [["resume", ""], /the id of the run is empty/],
    [["apply", " ", "--yes"], /the id of the run is empty/],
    [["resume", "nobody"], /there is no run "nobody"/],
    [["replay", "nobody"], /there is no run "nobody"/],
    [["resume", "../../etc/passwd"], /there is no run/],
    [["runs", "show", "latest"], /there is no run yet/],
    [["skills", "show", "dsek"], /there is no skill "dsek"\n {2}did you mean desk\?/],
    [["schema", "resul"], /there is no schema "resul"\n {2}did you mean result\?/],
    [["graph", "nowhere"], /nowhere/],
    [["validate"], /missing required argument/],
  ] as const)("of %j is refused with a hint", async (args, says) => {
    const cwd = makeProject(files);
    expectRefused(await runHere(args, { cwd }), says);
    expect(existsSync(join(cwd, ".skillflow", "runs")), "nothing ran").toBe(false);
  });

  it("without a command shows the help", async () => {
    expectRefused(await runProgram([], { cwd: makeProject() }), /Usage: skillflow/);
  });

  it.each([["--help"], ["run", "--help"], ["runs", "list", "--help"], ["help", "run"]])(
    "of %s %s %s prints help to stdout",
    async (...args) => {
      const ended = await runHere(args, { cwd: makeProject() });
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      expect(ended.stdout).toMatch(/^Usage: skillflow/);
    },
  );
});

describe("a workflow file", () => {
  it.each([
    ["that is missing", "nowhere.yml", /there is no file nowhere\.yml/],
    ["that is a folder", "folder", /folder is a directory, not a workflow\n +name a workflow's file in it/],
    ["that is not text", "binary.yml", /binary\.yml is not UTF-8 text/],
    ["of 10 MB", "large.yml", /large\.yml has 9\.5 MB; a workflow may have 5 MB at most/],
    ["that is empty", "empty.yml", /empty\.yml:1:1 error SCHEMA a workflow must be a map/],
    [
      "that is a script",
      "script.yml",
      /script\.yml:1:1 error SCHEMA this is a script, not a workflow\n +pass it to a run/,
    ],
    ["that is a test", "one.test.yml", /one\.test\.yml:1:1 error SCHEMA this is a test, not a workflow\n +run it: /],
    ["that is no YAML", "broken.yml", /broken\.yml:1:5 error PARSE/],
  ])("%s is refused with the reason", async (_, name, says) => {
    const cwd = makeProject({
      "folder/file": "",
      "binary.yml": "",
      "large.yml": "# a comment\n".repeat(833_334),
      "script.yml": "replies: [{ text: done }]\n",
      "one.test.yml": "workflow: ./flow.yml\n",
      "empty.yml": "",
      "broken.yml": 'id: "x\nname: [',
    });
    writeFileSync(
      join(cwd, "binary.yml"),
      Uint8Array.from({ length: 3000 }, (_, index) => index % 256),
    );
    expectRefused(await runHere(["run", name, ...OK], { cwd }), says);
  });

  it("with several problems has all of them reported at once", async () => {
    const wrong = FLOW.replace("to: post", "to: pots")
      .replace("entry: look", "entry: lok")
      .replace("name: Post", "nam: Post");
    const ended = await runProgram(["run", "flow.yml", ...OK], { cwd: makeProject({ ...files, "flow.yml": wrong }) });
    expectRefused(ended, /flow\.yml:\d+:\d+ error/);
    const fixed = wrong.replace("nam: Post", "name: Post");
    const structure = await runHere(["run", "flow.yml"], { cwd: makeProject({ ...files, "flow.yml": fixed }) });
    expect(structure.stderr).toMatch(/MISSING_ENTRY/);
    expect(structure.stderr).toMatch(/UNKNOWN_EDGE_TARGET.*\n.*did you mean "post"/);
  });
});

describe("the input", () => {
  const run = (cwd: string, args: readonly string[], start = runHere) =>
    start(["run", "typed.yml", ...OK, "--json", ...args], { cwd, stdin: JSON.stringify(GOOD) });
  const inputOf = (cwd: string, ended: Ended) => {
    expect(ended.code, ended.stderr).toBe(0);
    const [record = ""] = readFileSync(join(cwd, ".skillflow/runs", `${resultOf(ended).run}.jsonl`), "utf8").split(
      "\n",
    );
    return JSON.parse(record).input;
  };
  const project = () => makeProject({ ...files, "script.json": scriptOf({ text: "done" }) });
  const GOOD = { service: "checkout", count: 2 };

  it("with missing and mistyped fields has all of them reported at once", async () => {
    const given = { count: "two", urgent: "yes", tags: ["a", 1], level: "middle" };
    const ended = await run(project(), ["--input", JSON.stringify(given)]);
    expectRefused(
      ended,
      /the input does not fit\n {2}pass one JSON object: --input '\{"service": …\}', or a file as @FILE\n/,
    );
    expect(ended.stderr.match(/^error INPUT_\w+ input "\w+"/gm)).toEqual([
      'error INPUT_MISSING input "service"',
      'error INPUT_INVALID input "count"',
      'error INPUT_INVALID input "urgent"',
      'error INPUT_INVALID input "tags"',
      'error INPUT_INVALID input "level"',
    ]);
  });

  it.each([
    [["--input", "@nowhere.json"], /there is no input file nowhere\.json/],
    [["--input", "@."], /\. cannot be read/],
    [["--input", "{service:"], /--input is not valid JSON[\s\S]*pass a file as @FILE/],
    [["--input", "@flow.yml"], /flow\.yml is not valid JSON/],
    [["--input", `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`], /--input is nested too deeply/],
    [["--input", "[1]"], /the input must be a JSON object/],
    [["--input", "null"], /the input must be a JSON object/],
    [["-i", "service=x", "-i", "count=many"], /input "count" must be a number, not string/],
    [["-i", "service=x", "-i", "count=1", "-i", "urgent=maybe"], /input "urgent" must be a boolean, not string/],
  ] as const)("of %j is refused", async (args, says) => {
    expectRefused(await run(project(), args), says);
  });

  it.each([
    ["JSON", ["--input", JSON.stringify(GOOD)], runHere],
    ["a file", ["--input", "@input.json"], runHere],
    ["standard input", ["--input", "-"], runProgram],
    ["fields", ["-i", "service=checkout", "-i", "count=2"], runHere],
  ] as const)("comes from %s", async (_, args, start) => {
    const cwd = makeProject({
      ...files,
      "script.json": scriptOf({ text: "done" }),
      "input.json": `\uFEFF${JSON.stringify(GOOD)}`,
    });
    expect(inputOf(cwd, await run(cwd, args, start))).toEqual({ ...GOOD, urgent: false });
  });

  it("from standard input is refused if it is not JSON", async () => {
    const ended = await runHere(["run", "typed.yml", ...OK, "--json", "--input", "-"], { cwd: project(), stdin: "{" });
    expectRefused(ended, /standard input is not valid JSON/);
  });

  it("accepts fields with the workflow's types, which override those of --input", async () => {
    const cwd = project();
    const fields = ["-i", "count=-1.5e2", "-i", "urgent=true", "-i", "tags=a,b", "-i", "tags=c=d", "-i", "other=1"];
    const ended = await run(cwd, ["--input", JSON.stringify(GOOD), ...fields, "--dry-run"]);
    expect(inputOf(cwd, ended)).toEqual({
      service: "checkout",
      count: -150,
      urgent: true,
      tags: ["a", "b", "c=d"],
      other: "1",
      dryRun: true,
    });
  });
});

describe("file sources", () => {
  const context = (path: string) => `${SMALL}context: ["${path}"]\n`;

  it("are in the document's repository, or its folder without one, unless --file-root names another", async () => {
    const cwd = makeProject({
      "inner/flow.yml": context("../secret.txt"),
      "secret.txt": "outside",
      "script.json": scriptOf({ text: "x" }),
    });
    const run = ["run", "inner/flow.yml", ...OK];
    expectRefused(await runHere(run, { cwd }), /SOURCE_FILE_OUTSIDE_ROOT|secret\.txt is outside/);
    for (const root of [".", "/"]) {
      expect(await runHere([...run, "--file-root", root], { cwd })).toMatchObject({ code: 0 });
    }
    mkdirSync(join(cwd, ".git"));
    expect(await runHere(run, { cwd })).toMatchObject({ code: 0 });
    expectRefused(await runHere([...run, "--file-root", "inner"], { cwd }), /secret\.txt/);
  });

  it("that are missing or outside are reported by validate, at their place", async () => {
    const cwd = makeProject({ "flow.yml": `${SMALL}context: [./gone.md, ../out.md]\n` });
    const { code, stdout } = await runHere(["validate", "flow.yml", "--json"], { cwd });
    const [missing, outside] = ["SOURCE_FILE_NOT_FOUND", "SOURCE_FILE_OUTSIDE_ROOT"].map((found) => ({ code: found }));
    const line = expect.any(Number);
    expect(code).toBe(2);
    expect(JSON.parse(stdout).diagnostics).toMatchObject([
      { ...missing, field: "context[0]", file: "flow.yml", line },
      { ...outside, field: "context[1]", file: "flow.yml", line },
    ]);
    const freed = await runHere(["validate", "flow.yml", "--json", "--file-root", "/"], { cwd });
    expect(JSON.parse(freed.stdout).diagnostics).toMatchObject([missing, missing]);
  });

  it("of the input are read with --input-sources alone, from the working directory", async () => {
    const cwd = makeProject({
      "inner/flow.yml": SMALL,
      "inner/near.txt": "near",
      "secret.txt": "outside",
      "script.json": scriptOf({ text: "x" }),
    });
    const inputOf = (file: string) => ["--input", JSON.stringify({ context: [{ file }], rules: "http://x.example" })];
    const run = ["run", "flow.yml", "--model", "script:../script.json"];
    const place = { cwd: join(cwd, "inner") };
    const data = await runHere([...run, ...inputOf("../secret.txt"), "--run-id", "data"], place);
    expect(data.code, data.stderr).toBe(0);
    expect(data.stderr.match(/--input-sources/g)).toHaveLength(1);
    expect(data.stderr).toContain("input.rules, input.context[0]");
    expect(readFileSync(runFile(place.cwd, "data"), "utf8")).not.toContain("outside");
    const outside = await runHere([...run, "--input-sources", ...inputOf("../secret.txt")], place);
    expectRefused(outside, /secret\.txt/);
    const near = ["--input", '{"context":"./near.txt"}', "--input-sources", "--run-id", "near"];
    expect(await runHere([...run, ...near], place)).toMatchObject({ code: 0 });
    expect(readFileSync(runFile(place.cwd, "near"), "utf8")).toContain('"content":"near"');
  });

  it("of another machine are not fetched with --offline", async () => {
    const cwd = makeProject({
      "flow.yml": context("https://rules.example/x.md"),
      "script.json": scriptOf({ text: "x" }),
    });
    expectRefused(await runHere(["run", "flow.yml", ...OK, "--offline"], { cwd }), /offline/);
  });
});
