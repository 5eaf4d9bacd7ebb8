import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { publishedSchemas } from "../../src/core/outward/published.ts";
import { runHere } from "./in-process.ts";
import { makeProject, runProgram } from "./program.ts";

const FLOW = {
  id: "flow",
  name: "Flow",
  entry: "look",
  inputs: { service: { type: "string" }, count: { type: "number" } },
  nodes: { look: { name: "Look", instruction: "Look." } },
  edges: [],
};
const FILES = {
  "flow.yml": FLOW,
  "broken.yml": { ...FLOW, entry: "lok" },
  "needy.yml": { ...FLOW, nodes: { look: { name: "Look", instruction: "Look.", skills: ["slack"] } } },
  "script.json": { replies: [{ node: "look", text: "done" }] },
  "input.json": { service: "a" },
  "workflows/triage.yml": FLOW,
};
const MODEL = ["--model", "script:script.json"];

const isResult = new Ajv2020.default({ strict: false }).compile(publishedSchemas().get("result") as object);

describe("a refusal to start, with --json", () => {
  it.each([
    [["run", "broken.yml", ...MODEL], 2, "workflow.invalid", null],
    [["run", "nothing.yml", ...MODEL], 2, "workflow.invalid", null],
    [["run", "flow.yml", ...MODEL, "-i", "count=many"], 2, "input.invalid", "flow"],
    [["run", "flow.yml", "--model", "nobody:x"], 2, "usage.invalid", "flow"],
    [["run", "flow.yml", ...MODEL, "--max-cost", "-1"], 2, "usage.invalid", null],
    [["run", "flow.yml", ...MODEL, "--no-such-flag"], 2, "usage.invalid", null],
    [["run", "flow.yml", ...MODEL, "--env-file", ".env"], 2, "usage.invalid", null],
    [["run"], 2, "usage.invalid", null],
    [["run", "flow.yml", ...MODEL, "--stream"], 2, "usage.invalid", null],
    [["run", "flow.yml"], 3, "config.missing", "flow"],
    [["run", "needy.yml", ...MODEL, "--require-skills"], 3, "skills.missing", "flow"],
    [["resume", "nothing"], 2, "run.unknown", null],
    [["replay", "nothing"], 2, "run.unknown", null],
  ] as const)("%j prints a document of the published schema", async (argv, exitCode, code, workflow) => {
    const ended = await runHere([...argv, "--json"], { cwd: makeProject(FILES) });
    const told = JSON.parse(ended.stdout);
    expect(isResult(told), JSON.stringify(isResult.errors)).toBe(true);
    const document = { schema: "skillflow.result/1", run: null, workflow, status: "refused", exitCode };
    expect(told).toMatchObject({ ...document, error: { code } });
    expect(ended.code).toBe(exitCode);
    expect(ended.stderr).not.toBe("");
  });

  it("lists what is wrong with the workflow, with its place", async () => {
    const { stdout } = await runHere(["run", "broken.yml", ...MODEL, "--json"], { cwd: makeProject(FILES) });
    const [found] = JSON.parse(stdout).diagnostics;
    expect(found).toMatchObject({ severity: "error", file: "broken.yml", line: 1, field: "entry" });
  });

  it("names the workflow of a run that cannot resume", async () => {
    const cwd = makeProject(FILES);
    await runHere(["run", "flow.yml", ...MODEL, "--run-id", "r"], { cwd });
    const { stdout } = await runHere(["resume", "r", "--json"], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ workflow: "flow", status: "refused", error: { code: "run.finished" } });
    const again = await runHere(["run", "flow.yml", ...MODEL, "--run-id", "r", "--json"], { cwd });
    expect(JSON.parse(again.stdout)).toMatchObject({ workflow: "flow", error: { code: "run.exists" } });
  });

  it("is not printed for a run that started and whose reports could not be written", async () => {
    const cwd = makeProject(FILES);
    mkdirSync(join(cwd, "out/result.json"), { recursive: true });
    const { stdout, code } = await runHere(["run", "flow.yml", ...MODEL, "--out", "out", "--json"], { cwd });
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ status: "succeeded" });
  });

  it.each([
    [["runs", "show", "nothing"], "run.unknown"],
    [["runs", "verify", "nothing"], "run.unknown"],
    [["runs", "diff", "nothing", "nowhere"], "run.unknown"],
    [["runs", "list", "--no-such-flag"], "usage.invalid"],
    [["doctor", "broken.yml"], "workflow.invalid"],
    [["skills", "show", "nothing"], "usage.invalid"],
    [["validate"], "usage.invalid"],
    [["rnu", "flow.yml"], "usage.invalid"],
  ] as const)("is a document of its error if no run was requested: %j", async (argv, code) => {
    const ended = await runHere([...argv, "--json"], { cwd: makeProject(FILES) });
    expect(ended.code).toBe(2);
    expect(JSON.parse(ended.stdout)).toEqual({
      exitCode: 2,
      error: expect.objectContaining({ code, message: expect.any(String) }),
      diagnostics: expect.any(Array),
    });
    expect(ended.stderr).not.toBe("");
  });

  it("leaves stdout empty without --json", async () => {
    expect(await runHere(["run", "broken.yml", ...MODEL], { cwd: makeProject(FILES) })).toMatchObject({ stdout: "" });
  });

  it("gives GitHub Actions the status too", async () => {
    const cwd = makeProject(FILES);
    const file = join(cwd, "outputs");
    writeFileSync(file, "");
    const env = { GITHUB_ACTIONS: "true", GITHUB_OUTPUT: file };
    await runHere(["run", "broken.yml", ...MODEL], { cwd, env });
    expect(readFileSync(file, "utf8")).toMatch(/^status<<(\S+)\nrefused\n\1\n/m);
  });
});

describe("a path that cannot be written", () => {
  it.each([
    ["--out", "/proc/x/y"],
    ["--report", "html=/proc/x/y.html"],
    ["--report", "md=/dev/no-such-device"],
    ["--out", "flow.yml/out"],
    ["--store", "/proc/x/y"],
    ["--store", "flow.yml/runs"],
  ])("%s %s is refused before anything runs", async (flag, place) => {
    const cwd = makeProject(FILES);
    const ended = await runHere(["run", "flow.yml", ...MODEL, flag, place, "--json"], { cwd });
    expect(JSON.parse(ended.stdout)).toMatchObject({ run: null, status: "refused", exitCode: 4 });
    expect(existsSync(join(cwd, ".skillflow/runs"))).toBe(false);
  });

  it("a device is written to", async () => {
    const argv = ["run", "flow.yml", ...MODEL, "--report", "md=/dev/null"];
    expect(await runHere(argv, { cwd: makeProject(FILES) })).toMatchObject({ code: 0 });
  });
});

describe("a working directory that no longer exists", () => {
  const leave = ["sh", "-c", 'cd in && rm -r ../in && exec "$0" "$@"'];
  const runThere = (argv: readonly string[]) =>
    runProgram(argv, { cwd: makeProject({ "in/it.txt": "" }), through: leave });

  it("is reported without a stack trace", async () => {
    const ended = await runThere(["doctor"]);
    expect(ended).toMatchObject({ code: 4, stdout: "" });
    expect(ended.stderr).toBe("error: the working directory no longer exists\n  change to an existing directory\n");
  });

  it.each(["--help", "run --help", "--version"])("does not matter for %s, which does not read it", async (words) => {
    const cwd = makeProject();
    const { stdout } = await runProgram(words.split(" "), { cwd });
    expect(stdout).not.toBe("");
    expect(await runThere(words.split(" "))).toMatchObject({ code: 0, stdout, stderr: "" });
  });
});

describe("a misspelling", () => {
  it.each([
    [["-i", "servce=a"], 'no input "servce"; did you mean "service"?'],
    [["--input", '{"srvice": "a"}'], 'no input "srvice"; did you mean "service"?'],
    [["--input", '{"zzzzzzzzz": "a"}'], 'no input "zzzzzzzzz"; declared are service, count'],
  ])("in the name of an input is a warning: %j", async (flags, message) => {
    const ended = await runHere(["run", "flow.yml", ...MODEL, ...flags], { cwd: makeProject(FILES) });
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining(message) });
  });

  it("the program's own fields of the input need no declaration", async () => {
    const ended = await runHere(["run", "flow.yml", ...MODEL, "--dry-run"], { cwd: makeProject(FILES) });
    expect(ended.stderr).not.toContain("declares no input");
  });

  it.each([
    [["run", "flwo.yml", ...MODEL], "did you mean flow.yml?"],
    [["validate", "flow.yaml"], "did you mean flow.yml?"],
    [["run", "triage.yml", ...MODEL], "did you mean workflows/triage.yml?"],
    [["run", "flow.yml", ...MODEL, "--input", "@imput.json"], "did you mean input.json?"],
    [["run", "flow.yml", "--model", "script:scipt.json"], "did you mean script.json?"],
    [["run", "flow.yml", "--model", "replay:scipt.json"], "did you mean script.json?"],
  ])("in the name of a file gets the nearest name as a hint: %j", async (argv, hint) => {
    const ended = await runHere(argv, { cwd: makeProject(FILES) });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(hint) });
  });
});
