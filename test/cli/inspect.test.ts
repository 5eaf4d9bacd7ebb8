import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { publishedSchemas } from "../../src/core/outward/published.ts";
import { FLOW, scriptOf, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, resultOf, runFile } from "./program.ts";

const CANARY = "canary-7f3a9c51e2";
const SECRETS = { GITHUB_TOKEN: CANARY, DESK_TOKEN: `${CANARY}-desk`, OPENAI_API_KEY: `${CANARY}-key` };
const files = { "flow.yml": FLOW, "script.json": WORKING };
const RUN = ["run", "flow.yml", "--model", "script:script.json", "--run-id"];

const parse = (text: string) => JSON.parse(text) as { [key: string]: unknown };

describe("skills list --json", () => {
  it("prints every skill with its tools, effects and config, and no value", async () => {
    const cwd = makeProject({ "skills/mine/SKILL.md": "---\nname: mine\ndescription: My way\nowner: me\n---\nDo it." });
    const { code, stdout } = await runHere(["skills", "list", "--json"], { cwd, env: SECRETS });
    expect(code).toBe(0);
    const { skills, diagnostics } = parse(stdout);
    expect(diagnostics).toEqual([]);
    expect(skills).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          id: "desk",
          category: "general",
          format: "module",
          available: true,
          reasons: [],
          source: expect.objectContaining({ kind: "builtin", trusted: true }),
          tools: expect.arrayContaining([
            { name: "post", exposed: "desk_post", effect: "write", origin: "stranger", audience: "team" },
          ]),
          config: { DESK_TOKEN: expect.objectContaining({ env: "DESK_TOKEN", from: "environment" }) },
        }),
        expect.objectContaining({ id: "github", available: true }),
        expect.objectContaining({
          id: "mine",
          format: "agent-skills",
          kind: "instruction",
          source: expect.objectContaining({ kind: "project", trusted: false }),
        }),
      ]),
    );
    expect(stdout).not.toContain(CANARY);
  });

  it("shows one skill with its frontmatter and instruction", async () => {
    const cwd = makeProject({ "skills/mine/SKILL.md": "---\nname: mine\ndescription: My way\nowner: me\n---\nDo it." });
    const { stdout } = await runHere(["skills", "show", "mine", "--json"], { cwd });
    expect(parse(stdout)).toMatchObject({ id: "mine", frontmatter: { owner: "me" }, instruction: "Do it.", tools: [] });
  });

  it.each([
    [[], false],
    [["--trust-skill", "count"], true],
  ])("lists the tools that a skill declares, trusted or not: %j", async (flags, trusted) => {
    const cwd = makeProject({
      "skills/count/SKILL.md": "---\nname: count\ndescription: Counts\n---\nCount.",
      "skills/count/tools.json": [
        { name: "count_words", description: "Counts.", script: "scripts/a.js", origin: "team" },
      ],
      "skills/count/scripts/a.js": "export default () => 1;",
    });
    const { stdout } = await runHere(["skills", "show", "count", "--json", ...flags], { cwd });
    expect(parse(stdout)).toMatchObject({
      source: { trusted },
      tools: [
        {
          name: "count_words",
          exposed: "count_words",
          effect: "write",
          ...(trusted
            ? { origin: "team", audience: "team" }
            : { origin: "stranger", audience: "public", reads: "private" }),
        },
      ],
      reasons: trusted ? [] : [expect.stringContaining("--trust-skill count")],
    });
  });

  it("skips a broken skill with a diagnostic, and reports shadowed skills", async () => {
    const cwd = makeProject({
      "skills/broken/SKILL.md": "no frontmatter",
      "skills/mine/SKILL.md": "---\nname: mine\ndescription: lower\n---\nx",
      ".skillflow/skills/mine/SKILL.md": "---\nname: mine\ndescription: higher\n---\nx",
    });
    const { stdout } = await runHere(["skills", "list", "--json"], { cwd });
    const { skills, diagnostics } = parse(stdout) as { skills: { id: string }[]; diagnostics: unknown[] };
    expect(diagnostics).toEqual([
      expect.objectContaining({ code: "SKILL_SKIPPED" }),
      expect.objectContaining({ code: "SKILL_SHADOWED" }),
    ]);
    expect(skills.find((skill) => skill.id === "mine")).toMatchObject({
      description: "higher",
      shadows: [expect.stringMatching(/skills\/mine$/)],
    });
  });
});

describe("doctor", () => {
  const doctor = (
    args: readonly string[],
    env: Record<string, string> = {},
    project: Record<string, unknown> = files,
  ) => runHere(["doctor", ...args], { cwd: makeProject(project), env });

  it("reports with --json which skills and models can be used, and how to fix the others", async () => {
    const { code, stdout } = await doctor(["--json"], { OPENAI_API_KEY: SECRETS.OPENAI_API_KEY });
    expect(code).toBe(0);
    const { skills, models, ok } = parse(stdout) as { skills: { id: string }[]; models: { id: string }[]; ok: boolean };
    expect(ok).toBe(true);
    const github = skills.find((skill) => skill.id === "github");
    expect(github).toMatchObject({ state: "not_configured", reason: "GITHUB_TOKEN is not set", nodes: [] });
    expect(github).toHaveProperty("fix", expect.stringContaining("set GITHUB_TOKEN"));
    expect(skills.find((skill) => skill.id === "desk")).toMatchObject({ state: "available", reason: null, fix: null });
    expect(models.map(({ id, ...rest }) => [id, (rest as { state?: string }).state])).toEqual([
      ["anthropic", "not_configured"],
      ["openai", "configured"],
      ["openai-compatible", "not_configured"],
      // Depends on whether its optional package is installed: its credentials are read at the first call.
      ["bedrock", expect.any(String)],
      ["vertex", "not_configured"],
      ["azure", "not_configured"],
    ]);
    expect(stdout).not.toContain(CANARY);
  });

  it("names the nodes that use a model of each provider", async () => {
    const ask = { name: "N", instruction: "Look." };
    const own = { ...ask, model: ["anthropic:a", "openai:b"] };
    const nodes = { own, plain: ask, bare: { ...ask, model: "c" }, sure: { name: "S", approval: { ask: "Go?" } } };
    const edges = [
      { from: "own", to: "plain" },
      { from: "plain", to: "bare" },
      { from: "bare", to: "sure" },
    ];
    const project = { "w.yml": { id: "w", name: "W", entry: "own", nodes, edges } };
    const asked = async (...args: string[]) => {
      const { stdout } = await doctor(
        ["w.yml", "--json", ...args],
        { OPENAI_API_KEY: SECRETS.OPENAI_API_KEY },
        project,
      );
      const { models } = parse(stdout) as { models: { id: string; nodes: string[] }[] };
      return models.flatMap(({ id, nodes }) => (nodes.length > 0 ? [[id, ...nodes]] : []));
    };
    expect(await asked()).toEqual([
      ["anthropic", "own"],
      ["openai", "own"],
    ]);
    expect(await asked("--model", "openai:a")).toEqual([
      ["anthropic", "own"],
      ["openai", "own", "plain", "bare"],
    ]);
  });

  it.each<[string, string, number, RegExp]>([
    ["without a key", "anthropic:a", 3, /error MODEL_UNAVAILABLE anthropic needs ANTHROPIC_API_KEY, which is not set/],
    ["that has a key", "openai:a", 0, /●.* openai/],
    ["without a provider", "gpt-5", 2, /"gpt-5" has no provider/],
  ])("checks a model %s", async (_, model, expected, message) => {
    const { code, stdout, stderr } = await doctor(["--model", model], { OPENAI_API_KEY: SECRETS.OPENAI_API_KEY });
    expect([code, stdout + stderr]).toEqual([expected, expect.stringMatching(message)]);
  });

  it("shows the option that trusts a skill once", async () => {
    const plug =
      'export default { id: "plug", name: "P", description: "d", category: "general", config: {}, tools: [] };';
    const { stdout } = await doctor(
      [],
      {},
      {
        ".claude/skills/plug/SKILL.md": "---\nname: plug\ndescription: d\n---\nDo.",
        ".claude/skills/plug/skill.js": plug,
      },
    );
    expect(stdout.match(/--trust-skill plug/g)).toHaveLength(1);
  });

  it.each([
    [{ OPENAI_BASE_URL: "localhost:11434" }, "openai-compatible", /^OPENAI_BASE_URL is not an http or https URL/],
    [{ ANTHROPIC_API_KEY: "sk a key with blanks" }, "anthropic", /^ANTHROPIC_API_KEY is not a token/],
  ])(
    "agrees with run that %j cannot be used, and run starts nothing",
    async (env: Record<string, string>, id, reason) => {
      const { models } = parse((await doctor(["--json"], env)).stdout) as { models: { id: string }[] };
      const fix = expect.stringMatching(/^set /);
      const found = models.find((model) => model.id === id);
      expect(found).toMatchObject({ state: "not_configured", reason: expect.stringMatching(reason), fix });
      const cwd = makeProject(files);
      const ended = await runHere(["run", "flow.yml", "--model", `${id}:any`, "--json"], { cwd, env });
      expect(ended.code).toBe(2);
      expect(parse(ended.stdout)).toMatchObject({
        run: null,
        error: { code: "config.invalid", message: expect.stringMatching(reason) },
      });
    },
  );

  it("of a workflow reports which nodes a missing skill affects, and fails when a node could not run at all", async () => {
    const some = await doctor(["flow.yml", "--json"], {}, { "flow.yml": FLOW.replaceAll("[desk]", "[desk, github]") });
    expect(some.code).toBe(0);
    expect(parse(some.stdout)).toMatchObject({
      ok: true,
      skills: [{ id: "desk" }, { id: "github", nodes: ["look", "post"] }],
    });
    const none = await doctor(["flow.yml", "--json"], {}, { "flow.yml": FLOW.replace("[desk]", "[github]") });
    expect(none.code).toBe(3);
    expect(parse(none.stdout)).toMatchObject({ ok: false });
  });

  it("never shows a value, also not in its text output", async () => {
    const { code, stdout, stderr } = await doctor([], SECRETS);
    expect(code).toBe(0);
    expect(stdout).toContain("github");
    expect(stdout + stderr).not.toContain(CANARY);
  });
});

describe("runs", () => {
  it("are listed newest first, with their outcomes", async () => {
    const cwd = makeProject({ ...files, "none.json": scriptOf() });
    expect(await runHere(["runs", "list"], { cwd })).toMatchObject({ code: 0, stdout: "" });
    await runHere([...RUN, "a-1"], { cwd });
    await runHere(["run", "flow.yml", "--model", "script:none.json", "--run-id", "a-2"], { cwd });
    await runHere([...RUN, "b-1", "--max-steps", "1"], { cwd });
    const { stdout } = await runHere(["runs", "list", "--json"], { cwd });
    expect(parse(stdout).runs).toMatchObject([
      { id: "b-1", kind: "run", workflow: "flow", status: "stopped", exitCode: 5 },
      { id: "a-2", kind: "run", workflow: "flow", status: "failed", exitCode: 1 },
      { id: "a-1", kind: "run", workflow: "flow", status: "succeeded", exitCode: 0 },
    ]);
    const people = await runHere(["runs", "list"], { cwd });
    const firsts = people.stdout.split("\n").filter((line) => /^\S/.test(line));
    expect(firsts.map((line) => line.split(/\s+/).slice(0, 3).join(" "))).toEqual([
      "■ stopped b-1",
      "✘ failed a-2",
      "✔ succeeded a-1",
    ]);
  });

  it("are named by their id, an unambiguous prefix of it, or latest", async () => {
    const cwd = makeProject(files);
    for (const id of ["a-1", "a-2", "b-1"]) await runHere([...RUN, id], { cwd });
    const shown = async (id: string) => resultOf(await runHere(["runs", "show", id, "--json"], { cwd })).run;
    expect([await shown("a-1"), await shown("b"), await shown("latest")]).toEqual(["a-1", "b-1", "b-1"]);
    const many = await runHere(["runs", "show", "a"], { cwd });
    expect(many).toMatchObject({ code: 2, stdout: "" });
    expect(many.stderr).toContain('"a" matches 2 runs: a-2, a-1');
    const near = await runHere(["runs", "show", "a-3"], { cwd });
    expect(near).toMatchObject({ code: 2, stdout: "" });
    expect(near.stderr).toMatch(/there is no run "a-3"\n {2}did you mean a-\d\?/);
  });

  it("show the same result as when they ended, and their path in text output", async () => {
    const cwd = makeProject(files);
    const ended = await runHere([...RUN, "r", "--json"], { cwd });
    const shown = await runHere(["runs", "show", "r", "--json"], { cwd });
    expect(shown.stdout).toBe(ended.stdout);
    const people = await runHere(["runs", "show", "r"], { cwd });
    expect(people.stdout).toContain("look: success, 1 call\n");
    expect(people.stdout).toContain("→ post: only path");
    expect(people.stdout).not.toContain("runs show r\n");
  });

  it("that are damaged do not hide the others", async () => {
    const cwd = makeProject(files);
    await runHere([...RUN, "good"], { cwd });
    await runHere([...RUN, "bad"], { cwd });
    const [record = "", ...events] = readFileSync(runFile(cwd, "bad"), "utf8").split("\n");
    writeFileSync(runFile(cwd, "bad"), [record, "garbage", ...events].join("\n"));
    appendFileSync(runFile(cwd, "empty"), "");
    const listed = await runHere(["runs", "list", "--json"], { cwd });
    expect(listed.code).toBe(0);
    expect(parse(listed.stdout).runs).toMatchObject([{ id: "good" }]);
    expect(listed.stderr).toMatch(/bad.* is damaged in line 2/);
    expect(listed.stderr).toMatch(/empty is not a recorded run/);
    for (const command of ["resume", "replay"]) {
      const ended = await runHere([command, "bad"], { cwd });
      expect(ended).toMatchObject({ code: 4, stdout: "" });
      expect(ended.stderr).toContain("run bad was altered: line 2 (record 2)");
    }
  });

  it("that succeeded are not resumed, but redone from a node on demand", async () => {
    const script = scriptOf({ node: "post", text: "posted again" });
    const cwd = makeProject({ ...files, "again.json": script });
    await runHere([...RUN, "r"], { cwd });
    const finished = await runHere(["resume", "r"], { cwd });
    expect(finished).toMatchObject({ code: 2, stdout: "" });
    expect(finished.stderr).toContain("run r has succeeded: there is nothing to continue");
    const unknown = await runHere(["resume", "r", "--from", "pots"], { cwd });
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toContain('run r has no node "pots" on its path');
    const redo = ["resume", "r", "--from", "post", "--model", "script:again.json", "--json"];
    const again = await runHere(redo, { cwd });
    expect(again.code, again.stderr).toBe(0);
    expect(resultOf(again).results.post?.data).toEqual({ summary: "posted again" });
    // After a redo, the same script continues after the replies that the run has used. Another script starts from its
    // beginning.
    const spent = await runHere(redo, { cwd });
    expect(spent.stderr).toContain("the script has no work reply left for node post");
  });

  it("can only be redone from a node that is still part of the run", async () => {
    const replies = [
      { node: "post", text: "posted" },
      { node: "look", text: "looked" },
    ];
    const cwd = makeProject({ ...files, "short.json": scriptOf({ node: "look", text: "looked" }, ...replies) });
    await runHere([...RUN, "r"], { cwd });
    const stopped = ["resume", "r", "--from", "look", "--model", "script:short.json", "--max-steps", "2"];
    expect((await runHere(stopped, { cwd })).code).toBe(5);
    const gone = await runHere(["resume", "r", "--from", "post", "--max-steps", "9"], { cwd });
    expect(gone).toMatchObject({ code: 2, stdout: "" });
    expect(gone.stderr).toContain('run r has no node "post" on its path');
  });
});

describe("graph", () => {
  it("draws a workflow, and the path of a run", async () => {
    const cwd = makeProject(files);
    const plan = await runHere(["graph", "flow.yml"], { cwd });
    expect(plan.code).toBe(0);
    expect(plan.stdout).toMatch(/^flowchart [\s\S]*Look[\s\S]*Post/);
    const dot = await runHere(["graph", "flow.yml", "--format", "dot"], { cwd });
    expect(dot.stdout).toMatch(/^digraph /);
    await runHere([...RUN, "r"], { cwd });
    const taken = await runHere(["graph", "r"], { cwd });
    expect(taken.code).toBe(0);
    expect(taken.stdout).not.toBe(plan.stdout);
  });
});

describe("schema", () => {
  it("names every document in its help", async () => {
    const { stdout } = await runHere(["schema", "--help"], { cwd: makeProject() });
    const missing = [...publishedSchemas().keys()].filter((name) => !new RegExp(`\\b${name}\\b`).test(stdout));
    expect(missing).toEqual([]);
  });

  it.each(["workflow", "result", "event"])("prints the JSON Schema of a %s", async (name) => {
    const { code, stdout, stderr } = await runHere(["schema", name], { cwd: makeProject() });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(parse(stdout).$schema).toBe("https://json-schema.org/draft/2020-12/schema");
  });
});
