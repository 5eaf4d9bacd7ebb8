import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { FLOW, scriptOf, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, resultOf, runFile, runProgram } from "./program.ts";

const files = { "flow.yml": FLOW, "script.json": WORKING };
const RUN = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r"];

const validators = new Map<string, ReturnType<typeof makeValidator>>();

/** Compiles each schema once: that takes longer than a run. */
function validatorOf(document: string) {
  const known = validators.get(document) ?? makeValidator(document);
  validators.set(document, known);
  return known;
}

async function makeValidator(document: string) {
  const { stdout } = await runHere(["schema", document], { cwd: makeProject() });
  const ajv = new Ajv2020.default({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile(JSON.parse(stdout));
  return (value: unknown) => (validate(value) ? [] : validate.errors);
}

describe("stdout", () => {
  it("is empty unless output was requested", async () => {
    const ended = await runProgram(RUN, { cwd: makeProject(files) });
    expect(ended).toMatchObject({ code: 0, stdout: "" });
    expect(ended.stderr).toContain("✔ succeeded");
  });

  it("has one result document with --json that fits its schema", async () => {
    const problems = await validatorOf("result");
    const ended = await runHere([...RUN, "--json"], { cwd: makeProject(files) });
    expect(problems(JSON.parse(ended.stdout))).toEqual([]);
    expect(resultOf(ended)).toMatchObject({
      schema: "skillflow.result/1",
      run: "r",
      workflow: "flow",
      status: "succeeded",
      exitCode: 0,
      degraded: [],
      plan: [],
      trace: { edges: [{ from: "look", to: "post", reason: "only path" }] },
    });
  });

  it("has the result document of a failed run too", async () => {
    const problems = await validatorOf("result");
    const cwd = makeProject({ ...files, "script.json": scriptOf() });
    const ended = await runHere([...RUN, "--json"], { cwd });
    expect(ended.code).toBe(1);
    expect(problems(JSON.parse(ended.stdout))).toEqual([]);
    expect(resultOf(ended).exitCode).toBe(1);
  });

  it("has one event per line with --stream that fits its schema, and they are the recorded ones", async () => {
    const problems = await validatorOf("event");
    const cwd = makeProject(files);
    const ended = await runHere([...RUN, "--stream"], { cwd });
    const events = ended.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.flatMap((event) => problems(event) ?? [])).toEqual([]);
    expect(events).toEqual(readEvents(cwd, "r"));
    expect(events.at(-1)).toMatchObject({ type: "workflow:end", status: "succeeded" });
    const shown = await runHere(["runs", "show", "r", "--stream"], { cwd });
    expect(shown.stdout).toBe(ended.stdout);
  });

  it("that its reader closes early does not stop the run, and only its exit code shows it", async () => {
    const cwd = makeProject(files);
    const ended = await runProgram([...RUN, "--stream"], { cwd, onStart: (child) => child.stdout?.destroy() });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain("✔ succeeded");
    expect(ended.stderr).not.toContain("EPIPE");
    expect(readEvents(cwd, "r").at(-1)).toMatchObject({ type: "workflow:end", status: "succeeded" });
  });

  it("that cannot be written is an error with its own exit code", async () => {
    const through = ["sh", "-c", 'exec "$0" "$@" > /dev/full'];
    const ended = await runProgram([...RUN, "--json"], { cwd: makeProject(files), through });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain("error: cannot write the output: ENOSPC");
  });
});

describe("stderr", () => {
  it("has a line per event without a terminal, then the findings and the next command", async () => {
    const { stderr } = await runHere(RUN, { cwd: makeProject(files) });
    expect(stderr).toMatch(/^workflow:start flow\n/);
    expect(stderr).toContain('tool:call look desk_look {"text":"a"}\n');
    expect(stderr).toContain("route look -> post: only path\n");
    expect(stderr).toMatch(/next: \S*skillflow runs show r\n$/);
  });

  it("is empty with --quiet when nothing went wrong", async () => {
    expect(await runHere([...RUN, "--quiet"], { cwd: makeProject(files) })).toMatchObject({ code: 0, stderr: "" });
  });

  it("reports with --quiet what went wrong", async () => {
    const cwd = makeProject({ ...files, "script.json": scriptOf() });
    const { code, stderr } = await runHere([...RUN, "--quiet"], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^✘ failed the script has no work reply left for node look\nnext: \S*skillflow resume r\n$/);
  });

  it.each([
    ["off a terminal", [], {}],
    ["with --no-color", ["--no-color"], { FORCE_COLOR: "1" }],
    ["with NO_COLOR", [], { NO_COLOR: "1", FORCE_COLOR: "1" }],
  ])("is plain %s", async (_, args, env) => {
    const cwd = makeProject({ ...files, "broken.yml": "id: x" });
    for (const command of [
      RUN,
      ["run", "broken.yml"],
      ["runs", "list"],
      ["doctor"],
      ["skills", "list"],
      ["skills", "show", "desk"],
    ]) {
      const { stdout, stderr } = await runHere([...command, ...args], { cwd, env });
      expect(stdout + stderr, command.join(" ")).not.toContain("\u001b");
    }
  });

  it("has colours if they are forced", async () => {
    const { stderr } = await runHere(RUN, { cwd: makeProject(files), env: { FORCE_COLOR: "1" } });
    expect(stderr).toContain("\u001b[");
  });

  it.skipIf(!existsSync("/usr/bin/script"))("on a terminal of unknown size is still readable", async () => {
    const through = ["sh", "-c", 'exec script -qec "$*" /dev/null', "sh"];
    const { code, stdout } = await runProgram(RUN, { cwd: makeProject(files), env: { TERM: "xterm" }, through });
    expect(code).toBe(0);
    const plain = stripVTControlCharacters(stdout);
    expect(plain).toContain("● Look\r\n");
    expect(plain).toContain('├ desk_look {"text":"a"}');
    expect(plain).toContain("✔ success 2 turns, 1 call");
    expect(plain).toMatch(/next: \S*skillflow runs show r/);
  });

  it("has control characters neither of models nor of files in it", async () => {
    const evil = "done\u001b[2J\u001b]0;title\u0007\r\u202egnp.exe";
    const cwd = makeProject({ ...files, "script.json": scriptOf({ text: evil }, { text: evil }) });
    const { stderr } = await runHere(RUN, { cwd });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e]/);
  });
});

describe("--out", () => {
  it("receives the result, the trace and the reports", async () => {
    const cwd = makeProject(files);
    const ended = await runHere([...RUN, "--json", "--out", "made/out", "--report", "mermaid=graph.mmd"], { cwd });
    expect(ended.code).toBe(0);
    expect(readdirSync(join(cwd, "made/out")).sort()).toEqual([
      "junit.xml",
      "report.html",
      "result.json",
      "summary.md",
      "trace.jsonl",
    ]);
    expect(JSON.parse(readFileSync(join(cwd, "made/out/result.json"), "utf8"))).toEqual(resultOf(ended));
    expect(readFileSync(join(cwd, "made/out/trace.jsonl"), "utf8")).toBe(readFileSync(runFile(cwd, "r"), "utf8"));
    expect(readFileSync(join(cwd, "graph.mmd"), "utf8")).toMatch(/^flowchart /);
    expect(ended.stderr).toContain("written: made/out/result.json");
  });

  it("holds the whole run after a resume", async () => {
    const cwd = makeProject(files);
    await runHere([...RUN, "--max-steps", "1"], { cwd });
    const ended = await runHere(["resume", "r", "--max-steps", "9", "--out", "out"], { cwd });
    expect(ended.code).toBe(0);
    expect(readFileSync(join(cwd, "out/trace.jsonl"), "utf8")).toBe(readFileSync(runFile(cwd, "r"), "utf8"));
  });

  it("makes a trace that can be replayed anywhere, with every answer from it", async () => {
    const cwd = makeProject(files);
    await runHere([...RUN, "--out", "out"], { cwd });
    const elsewhere = makeProject({ "trace.jsonl": readFileSync(join(cwd, "out/trace.jsonl"), "utf8") });
    const ended = await runHere(["replay", "trace.jsonl", "--json"], { cwd: elsewhere });
    expect(ended.code).toBe(0);
    expect(resultOf(ended).results.post?.data).toEqual({ summary: "it is posted" });
    expect(readdirSync(elsewhere)).not.toContain("posts.txt");
  });

  it("of a replay reports which prompts an edit has changed, and fails unless changes are allowed", async () => {
    const cwd = makeProject(files);
    await runHere(RUN, { cwd });
    writeFileSync(join(cwd, "flow.yml"), FLOW.replace("Look at the desk.", "Look below the desk."));
    const ended = await runHere(["replay", "r", "--json", "--out", "out"], { cwd });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain("2 prompts changed since the recording");
    expect(ended.stderr).toContain("--allow-changes");
    expect(ended.stderr).toContain("✘ failed");
    const told = { status: "failed", exitCode: 1, error: { code: "replay.changed" } };
    expect(resultOf(ended)).toMatchObject(told);
    expect(JSON.parse(readFileSync(join(cwd, "out/result.json"), "utf8"))).toMatchObject(told);
    expect(readFileSync(join(cwd, "out/summary.md"), "utf8")).toMatch(
      /`skillflow replay \S*\br\.jsonl --allow-changes`/,
    );
    expect(await runHere(["replay", "r", "--json", "--allow-changes"], { cwd })).toMatchObject({ code: 0 });
    expect(ended.stderr).toMatch(/-Look at the desk\.\n\s+\+Look below the desk\./);
  });

  it("of a run that is answered from a recording only reports which prompts an edit has changed", async () => {
    const cwd = makeProject(files);
    await runHere(RUN, { cwd });
    writeFileSync(join(cwd, "flow.yml"), FLOW.replace("Look at the desk.", "Look below the desk."));
    const model = ["--model", "replay:.skillflow/runs/r.jsonl"];
    const ended = await runHere(["run", "flow.yml", ...model, "--json"], { cwd });
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stderr).toContain("2 prompts changed since the recording");
  });
});
