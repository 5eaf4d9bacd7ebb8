import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { FLOW, SMALL, scriptOf } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { type Ended, makeProject, resultOf, runFile } from "./program.ts";

const texts = scriptOf({ text: "done" }, { text: "done" });

function recordOf(cwd: string, run: string): RunRecord {
  return JSON.parse(readFileSync(runFile(cwd, run), "utf8").split("\n")[0] ?? "") as RunRecord;
}

function expectRefused(ended: Ended, says: RegExp) {
  expect(ended.stderr).toMatch(says);
  expect(ended).toMatchObject({ code: 2, stdout: "" });
}

describe(".skillflow.yml", () => {
  const RUN = ["run", "small.yml", "--run-id", "r"];
  const files = { "small.yml": SMALL, "file.json": texts, "env.json": texts, "flag.json": texts };

  it("is overridden by the environment, and that by a flag", async () => {
    const project = { ...files, ".skillflow.yml": "model: script:file.json\nlimits: { max_steps: 7, timeout: 15m }" };
    const modelOf = async (args: readonly string[], env: Record<string, string>) => {
      const cwd = makeProject(project);
      expect((await runHere([...RUN, ...args], { cwd, env })).code).toBe(0);
      return recordOf(cwd, "r").settings;
    };
    const SKILLFLOW_MODEL = "script:env.json";
    expect(await modelOf([], {})).toMatchObject({
      model: "script:file.json",
      limits: { max_steps: 7, timeout_ms: 900_000 },
    });
    expect(await modelOf([], { SKILLFLOW_MODEL })).toMatchObject({ model: SKILLFLOW_MODEL });
    const flags = ["--model", "script:flag.json", "--max-steps", "9"];
    expect(await modelOf(flags, { SKILLFLOW_MODEL })).toMatchObject({
      model: "script:flag.json",
      limits: { max_steps: 9, timeout_ms: 900_000 },
    });
  });

  it("is overridden by the workflow's own limits and writes, and those by a flag", async () => {
    const strict = `${SMALL}limits: { max_steps: 5 }\nwrites: deny\n`;
    const cwd = makeProject({
      ...files,
      "small.yml": strict,
      ".skillflow.yml": "writes: allow\nlimits: { max_steps: 7 }",
    });
    const run = ["run", "small.yml", "--model", "script:flag.json", "--run-id"];
    await runHere([...run, "by-workflow"], { cwd });
    await runHere([...run, "by-flag", "--writes", "allow", "--max-steps", "2"], { cwd });
    expect(recordOf(cwd, "by-workflow").settings).toMatchObject({ writes: "deny", limits: { max_steps: 5 } });
    expect(recordOf(cwd, "by-flag").settings).toMatchObject({ writes: "allow", limits: { max_steps: 2 } });
  });

  it("of the project overrides the user's, which fills in missing keys", async () => {
    const cwd = makeProject({
      ...files,
      ".skillflow.yml": "model: script:file.json",
      "xdg/skillflow/config.yml": "model: script:env.json\nwrites: deny",
    });
    await runHere(RUN, { cwd, env: { XDG_CONFIG_HOME: join(cwd, "xdg") } });
    expect(recordOf(cwd, "r").settings).toMatchObject({ model: "script:file.json", writes: "deny" });
  });

  it("is found from a subfolder, up to the repository's root and never above it", async () => {
    const cwd = makeProject({
      ...files,
      ".skillflow.yml": "model: nonsense",
      "repository/.skillflow.yml": "model: script:../../file.json",
      "repository/deep/small.yml": SMALL,
      "other/deep/small.yml": SMALL,
    });
    mkdirSync(join(cwd, "repository/.git"));
    mkdirSync(join(cwd, "other/.git"));
    expect(await runHere(RUN, { cwd: join(cwd, "repository/deep") })).toMatchObject({ code: 0 });
    expect(await runHere(RUN, { cwd: join(cwd, "other/deep") })).toMatchObject({ code: 3 });
  });

  it.each([
    ["modle: x", /\.skillflow\.yml:1:1: modle is not a known setting \(did you mean "model"\?\)/],
    ["skills: { disable: [desk] }", /skills\.disable is not a known setting \(did you mean "disabled"\?\)/],
    ["limits: { max_cost_usd: two }", /:1:11: limits\.max_cost_usd must be a number, not the string "two"/],
    ["writes: maybe", /writes must be one of allow, plan, deny/],
    ["limits: { max_steps: 0 }", /limits\.max_steps must be at least 1/],
    ["model: [", /\.skillflow\.yml:1:8: this quote or bracket is not closed/],
    ["- a list", /\.skillflow\.yml:1:1: the file must be a map, not a list/],
  ])("that contains %j is refused, whatever the command", async (text, says) => {
    const cwd = makeProject({ ...files, ".skillflow.yml": text });
    for (const args of [RUN, ["runs", "list"]]) {
      expectRefused(await runHere(args, { cwd }), says);
    }
  });

  it("that disables a skill which does not exist is reported, and a skill that exists is not", async () => {
    const cwd = makeProject({ ...files, ".skillflow.yml": "skills: { disabled: [githb, linear] }" });
    const { stderr } = await runHere(["doctor"], { cwd });
    expect(stderr).toMatch(/\.skillflow\.yml: skills\.disabled githb: no skill has this id \(did you mean github\?\)/);
    expect(stderr).not.toContain("linear: no skill");
  });

  it("that is a folder is ignored", async () => {
    const cwd = makeProject({ ...files, ".skillflow.yml/x": "" });
    expect(await runHere(["runs", "list"], { cwd })).toMatchObject({ code: 0 });
  });

  it("turns skills off, and discovery too", async () => {
    const mine = "---\nname: mine\ndescription: Mine\n---\nDo it.";
    const cwd = makeProject({ "skills/mine/SKILL.md": mine, "team/ours/SKILL.md": mine.replaceAll("mine", "ours") });
    const list = async (config: string, ...args: string[]) => {
      writeFileSync(join(cwd, ".skillflow.yml"), config);
      const { stdout } = await runHere(["skills", "list", "--json", ...args], { cwd });
      const { skills } = JSON.parse(stdout) as { skills: { id: string; available: boolean; reasons: string[] }[] };
      return skills;
    };
    const ids = (skills: readonly { id: string }[]) => skills.map((skill) => skill.id);
    expect(ids(await list(""))).toContain("mine");
    expect(ids(await list("skills: { extraDirs: [./team] }"))).toEqual(expect.arrayContaining(["mine", "ours"]));
    expect(ids(await list("", "--skills", "team"))).toContain("ours");
    expect(ids(await list("skills: { discover: false }"))).not.toContain("mine");
    expect(ids(await list("", "--no-discover"))).not.toContain("mine");
    const off = (await list("skills: { disabled: [mine] }")).find((skill) => skill.id === "mine");
    expect(off).toMatchObject({ available: false, reasons: ["disabled in .skillflow.yml"] });
  });
});

describe("a skill's config", () => {
  const look = { node: "look", calls: [{ tool: "desk_config" }] };
  const rest = [
    { node: "look", text: "looked" },
    { node: "post", text: "posted" },
  ];
  const files = {
    "flow.yml": FLOW,
    "script.json": scriptOf(look, ...rest),
    ".env": "DESK_TOKEN=from-dot-env-file",
    "my.env": "DESK_TOKEN=from-the-env-file",
  };
  const given = async (args: readonly string[], env: Record<string, string> = {}) => {
    const cwd = makeProject(files);
    const ended = await runHere(["run", "flow.yml", "--model", "script:script.json", "--json", ...args], {
      cwd,
      env,
    });
    expect(ended.code, ended.stderr).toBe(0);
    return resultOf(ended).results.look?.toolCalls[0]?.output;
  };

  it("comes from the environment, and its value is never shown", async () => {
    expect(await given([], { DESK_TOKEN: "from-the-environment" })).toEqual({
      fields: ["DESK_TOKEN"],
      DESK_TOKEN: "[redacted:DESK_TOKEN]",
    });
  });

  it("comes from --set first", async () => {
    const { stdout } = await runHere(["skills", "show", "desk", "--json", "--set", "DESK_TOKEN=explicit"], {
      cwd: makeProject(),
      env: { DESK_TOKEN: "from-the-environment" },
    });
    expect(JSON.parse(stdout).config.DESK_TOKEN).toMatchObject({ from: "override" });
    expect(stdout).not.toContain("explicit");
    expect(await given(["--set", "DESK_TOKEN=explicit"])).toMatchObject({ fields: ["DESK_TOKEN"] });
  });

  it("comes from a file only when --env-from names it", async () => {
    expect(await given([])).toEqual({ fields: [] });
    expect(await given(["--env-from", "my.env"])).toMatchObject({ fields: ["DESK_TOKEN"] });
  });

  it("is missing if the variable is empty", async () => {
    expect(await given([], { DESK_TOKEN: "" })).toEqual({ fields: [] });
  });
});
