import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unshareSandbox } from "../../src/sandbox/isolation/unshare.ts";
import { oneOf } from "../harness/long.ts";
import { sandboxHost } from "../sandbox/host.ts";
import { scriptOf } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, resultOf, runFile, runProgram } from "./program.ts";

const it = oneOf(4);

const FLOW = `
id: making
name: Making
entry: make
nodes:
  make: { name: Make, instruction: Make a tool., skills: [tool-maker] }
  plain: { name: Plain, instruction: Do without., skills: [desk] }
  use: { name: Use, instruction: Use it., skills: [desk, tool-maker] }
edges: [{ from: make, to: plain }, { from: plain, to: use }]
`;
const PARAMETERS = '{"a":{"type":"number","description":"a"},"b":{"type":"number","description":"b","optional":true}}';
const ADD = { name: "add_up", description: "Adds", parameters: PARAMETERS, code: "return args.a + (args.b ?? 0);" };
const call = (node: string, ...calls: (readonly [tool: string, input?: object])[]) => ({
  node,
  calls: calls.map(([tool, input = {}]) => ({ tool, input })),
});
const define = (parts: object = {}) => call("make", ["tool-maker_define_tool", { ...ADD, ...parts }]);
const done = (node: string) => ({ node, text: "done" });
const ALLOWED = "--allow-define-tool";

const runIn = (project: string, ...args: string[]) =>
  runHere(["run", "flow.yml", "--model", "script:script.yml", "--json", ...args], { cwd: project });
const projectOf = (replies: readonly object[], files = {}) =>
  makeProject({ "flow.yml": FLOW, "script.yml": scriptOf(...replies), ...files });
const callsAt = (ended: Parameters<typeof resultOf>[0], node: string) =>
  resultOf(ended).results[node]?.toolCalls.map(({ output, error }) => error ?? output);

/** Whether this machine can isolate the tools that a run defines. They are refused if it cannot. */
const isolates = await unshareSandbox(sandboxHost)
  .run({
    argv: [process.execPath, "--version"],
    stdin: "",
    env: {},
    mounts: [],
    cwd: "/",
    network: false,
    limits: { wallMs: 20_000, outputBytes: 1000 },
    signal: new AbortController().signal,
  })
  .then(
    () => true,
    () => false,
  );

describe("the skill tool-maker", () => {
  test("is in the list, and unavailable until the operator allows it", async () => {
    const project = makeProject();
    const listed = async (...args: string[]) => {
      const { stdout } = await runHere(["skills", "list", "--json", ...args], { cwd: project });
      const { skills } = JSON.parse(stdout) as { skills: { id: string }[] };
      return skills.find(({ id }) => id === "tool-maker");
    };
    expect(await listed()).toMatchObject({ available: false, reasons: ["needs --allow-define-tool"] });
    expect(await listed(ALLOWED)).toMatchObject({
      available: true,
      reasons: [],
      source: { kind: "builtin", path: null, priority: 0, trusted: true },
      tools: [
        { name: "define_tool", exposed: "tool-maker_define_tool", effect: "write" },
        { name: "remove_tool", exposed: "tool-maker_remove_tool", effect: "write" },
      ],
    });
  });

  test("leaves the run unchanged without that", async () => {
    const project = projectOf([define({ persistent: "true" }), done("make"), done("plain"), done("use")]);
    const ended = await runIn(project);
    expect(ended.code).toBe(0);
    expect(callsAt(ended, "make")).toEqual([expect.stringContaining("no tool is named tool-maker_define_tool")]);
    expect(resultOf(ended).degraded).toContainEqual({
      skill: "tool-maker",
      node: "make",
      reason: "needs --allow-define-tool",
    });
    expect(existsSync(join(project, "skills"))).toBe(false);
  });

  test("is not allowed by the project's own file", async () => {
    const project = projectOf([define(), done("make"), done("plain"), done("use")], {
      ".skillflow.yml": "skills: { defineTool: true }",
    });
    expect(callsAt(await runIn(project), "make")?.[0]).toContain("no tool is named");
  });
});

describe("a tool that a run defines", () => {
  it.skipIf(!isolates)("is called, isolated, from the next turn on and at later nodes (needs namespaces)", async () => {
    const probe = {
      name: "probe",
      description: "Looks around",
      parameters: "{}",
      code: `const { writeFileSync } = await import("node:fs");
        writeFileSync(process.env.TMPDIR + "/probe.txt", "written");
        let kept; try { writeFileSync("probe.txt", "written"); } catch (error) { kept = error.code; }
        const reached = await fetch("http://127.0.0.1:9").then(() => "yes", (error) => error.cause?.code ?? error.message);
        return { names: Object.keys(process.env).sort(), reached, kept, dir: args.__workDir };`,
    };
    const project = projectOf([
      define(),
      call("make", ["tool-maker_define_tool", probe], ["tool-maker_add_up", { a: 1, b: 2 }]),
      call("make", ["tool-maker_add_up", { b: 2 }]),
      done("make"),
      call("plain", ["tool-maker_add_up", { a: 1 }]),
      done("plain"),
      call("use", ["tool-maker_add_up", { a: 40, b: 2 }], ["tool-maker_probe"]),
      done("use"),
    ]);
    const ended = await runHere(
      ["run", "flow.yml", "--model", "script:script.yml", "--json", "--run-id", "r", ALLOWED],
      { cwd: project, env: { DESK_TOKEN: "desk-secret", OTHER: "x" } },
    );
    expect(ended.code, ended.stderr).toBe(0);
    expect(callsAt(ended, "make")?.slice(1)).toEqual([
      { defined: "tool-maker_probe" },
      3,
      "invalid input: the value must have required property 'a'",
    ]);
    expect(callsAt(ended, "plain")?.[0]).toContain("no tool is named tool-maker_add_up");
    const [sum, seen] = callsAt(ended, "use") ?? [];
    expect(sum).toBe(42);
    expect(seen).toMatchObject({ names: ["HOME", "LANG", "PATH", "TMPDIR"], kept: "EROFS" });
    expect((seen as { reached: string }).reached).not.toBe("yes");
    expect(existsSync(join(project, "probe.txt"))).toBe(false);
    expect(ended.stdout).not.toContain("desk-secret");
    const defined = readEvents(project, "r").filter((event) => event.type === "tool:defined");
    expect(defined).toMatchObject([
      { node: "make", code: ADD.code, persistent: false, tool: { exposed: "tool-maker_add_up", effect: "write" } },
      { node: "make", code: probe.code, tool: { exposed: "tool-maker_probe" } },
    ]);
  });

  it.skipIf(!isolates)("exists after a crash, from the events alone (needs namespaces)", async () => {
    const use = call("use", ["tool-maker_add_up", { a: 2, b: 3 }]);
    const project = projectOf([define(), done("make"), done("plain"), use, done("use")]);
    const ended = await runIn(project, ALLOWED, "--run-id", "r");
    expect(callsAt(ended, "use")).toEqual([5]);
    const lines = readFileSync(runFile(project, "r"), "utf8").trimEnd().split("\n");
    const cut = lines.findLastIndex((line) => line.includes('"node:enter"')) + 1;
    writeFileSync(runFile(project, "r"), `${lines.slice(0, cut).join("\n")}\n`);
    const resumed = await runProgram(["resume", "r", "--json", ALLOWED], { cwd: project });
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(callsAt(resumed, "use")).toEqual([5]);
  });

  test("does not run in a resumed run that does not allow it again", async () => {
    const use = call("use", ["tool-maker_add_up", { a: 2, b: 3 }]);
    const project = projectOf([define(), done("make"), done("plain"), use, done("use")]);
    await runIn(project, ALLOWED, "--run-id", "r", "--max-steps", "2");
    const resumed = await runHere(["resume", "r", "--json", "--max-steps", "9"], { cwd: project });
    expect(callsAt(resumed, "use")).toEqual([expect.stringContaining("no tool is named tool-maker_add_up")]);
  });

  test("is replayed without being run", async () => {
    const use = call("use", ["tool-maker_add_up", { a: 2, b: 3 }]);
    const project = projectOf([define({ persistent: "true" }), done("make"), done("plain"), use, done("use")]);
    const recorded = await runIn(project, ALLOWED, "--run-id", "r");
    rmSync(join(project, "skills"), { recursive: true });
    const replayed = await runHere(["replay", "r", "--run-id", "again", "--json"], { cwd: project });
    expect(callsAt(replayed, "use")).toEqual(callsAt(recorded, "use"));
    expect(existsSync(join(project, "skills"))).toBe(false);
    const defined = (run: string) => readEvents(project, run).filter((event) => event.type === "tool:defined");
    expect(defined("again").map(({ code }) => code)).toEqual(defined("r").map(({ code }) => code));
  });

  test("is not offered if writes are denied", async () => {
    const denied = await runIn(
      projectOf([define(), done("make"), done("plain"), done("use")]),
      ALLOWED,
      "--writes",
      "deny",
    );
    expect(callsAt(denied, "make")?.[0]).toContain("no tool is named");
  });

  test("is refused because of its name, parameters or code, and the run continues", async () => {
    const refusals = [{ name: "Add-Up" }, { name: "read_skill" }, { parameters: "[" }, { code: "return ((;" }];
    const project = projectOf([...refusals.map(define), done("make"), done("plain"), done("use")]);
    const ended = await runIn(project, ALLOWED, "--run-id", "r");
    expect(ended.code).toBe(0);
    expect(callsAt(ended, "make")).toEqual([
      expect.stringContaining('"Add-Up" is not a valid tool name'),
      expect.stringContaining("read_skill is the name of an existing tool"),
      "the parameters are not valid JSON",
      expect.stringContaining("the code is not a function body"),
    ]);
    expect(readEvents(project, "r").some((event) => event.type === "tool:defined")).toBe(false);
  });
});

describe("a tool that is saved", () => {
  const keep = define({ persistent: "true" });
  const remove = call("use", ["tool-maker_remove_tool", { name: "tool-maker_add_up" }]);

  test("is a skill of the project, below its root from wherever the run starts", async () => {
    const project = projectOf([keep, done("make"), done("plain"), done("use")]);
    mkdirSync(join(project, ".git"));
    mkdirSync(join(project, "deep"));
    const args = ["run", "../flow.yml", "--model", "script:../script.yml", ALLOWED];
    expect((await runHere(args, { cwd: join(project, "deep") })).code).toBe(0);
    expect(readFileSync(join(project, "skills/add-up/SKILL.md"), "utf8")).toContain("name: add-up\n");
    expect(JSON.parse(readFileSync(join(project, "skills/add-up/tools.json"), "utf8"))).toMatchObject([
      { name: "add_up", script: "scripts/add_up.js", parameters: JSON.parse(PARAMETERS) },
    ]);
    const { stdout } = await runHere(["skills", "list", "--json"], { cwd: project });
    const { skills } = JSON.parse(stdout) as { skills: { id: string; source: { trusted: boolean } }[] };
    expect(skills.find(({ id }) => id === "add-up")).toMatchObject({ source: { kind: "project", trusted: false } });
  });

  it.skipIf(!isolates)("is a skill like any other in a later run, once it is trusted (needs namespaces)", async () => {
    const project = projectOf([keep, done("make"), done("plain"), done("use")]);
    await runIn(project, ALLOWED);
    writeFileSync(join(project, "flow.yml"), FLOW.replace("skills: [desk]", "skills: [add-up]"));
    const use = call("plain", ["add_up", { a: 20, b: 3 }]);
    const later = async (...args: string[]) => {
      writeFileSync(
        join(project, "script.yml"),
        JSON.stringify(scriptOf(done("make"), use, done("plain"), done("use"))),
      );
      return callsAt(await runIn(project, ...args), "plain");
    };
    expect(await later()).toEqual([expect.stringContaining("no tool is named add_up")]);
    expect(await later("--trust-skill", "add-up")).toEqual([23]);
  });

  test("is deleted with its skill, by this run or a later one", async () => {
    const project = projectOf([keep, done("make"), done("plain"), remove, remove, done("use")]);
    const ended = await runIn(project, ALLOWED);
    expect(callsAt(ended, "use")).toEqual([{ removed: "add_up", deleted: "skills/add-up" }, "unknown tool: add_up"]);
    expect(existsSync(join(project, "skills/add-up"))).toBe(false);
    const later = projectOf([keep, done("make"), done("plain"), done("use"), done("make"), done("plain"), remove]);
    await runIn(later, ALLOWED);
    writeFileSync(
      join(later, "script.yml"),
      JSON.stringify(scriptOf(done("make"), done("plain"), remove, done("use"))),
    );
    expect(callsAt(await runIn(later, ALLOWED), "use")).toEqual([{ removed: "add_up", deleted: "skills/add-up" }]);
    expect(existsSync(join(later, "skills/add-up"))).toBe(false);
  });

  test.each<[string, Record<string, string>]>([
    ["a skill that people wrote", { "skills/add-up/SKILL.md": "---\nname: add-up\ndescription: mine\n---\nMine." }],
    ["any other folder", { "skills/add-up/notes.txt": "mine" }],
  ])("does not replace %s, and does not delete it", async (_, files) => {
    const project = projectOf([keep, done("make"), done("plain"), remove, done("use")], files);
    const ended = await runIn(project, ALLOWED);
    expect(callsAt(ended, "make")?.[0]).toContain("was not made by define_tool: it is not replaced");
    expect(callsAt(ended, "use")).toEqual(["unknown tool: add_up"]);
    for (const [path, content] of Object.entries(files))
      expect(readFileSync(join(project, path), "utf8")).toBe(content);
  });

  test("does not take the id of a built-in skill", async () => {
    const project = projectOf([
      define({ name: "github", persistent: "true" }),
      done("make"),
      done("plain"),
      done("use"),
    ]);
    expect(callsAt(await runIn(project, ALLOWED), "make")?.[0]).toContain("a skill has the id github already");
    expect(existsSync(join(project, "skills/github"))).toBe(false);
  });
});
