import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/** A model's text must not become a workflow command in the log of GitHub Actions. */

const WORKFLOW = "id: w\nname: W\nentry: a\nnodes:\n  a: { name: A, instruction: Say it. }\nedges: []\n";
const SAID = "fine\n::stop-commands::x\n  ::add-mask::y\n##[add-path]/evil ::error::mid";
/** Matches commands as the runner does: at a line's start after white space, and the old form anywhere. */
const COMMAND = /^\s*::|##\[/m;
const env = { GITHUB_ACTIONS: "true" };

async function run(flags: readonly string[]) {
  const cwd = makeProject({ "w.yml": WORKFLOW, "s.json": { replies: [{ text: SAID }] } });
  const ended = await runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r", ...flags], { cwd, env });
  return { cwd, ended };
}

describe("on GitHub Actions", () => {
  it("a model's text is shown, and is not a command", async () => {
    const { cwd, ended } = await run([]);
    expect(ended.code).toBe(0);
    expect(ended.stderr).toContain(": :stop-commands::x");
    expect(ended.stderr).not.toMatch(COMMAND);
    const shown = await runHere(["runs", "show", "r"], { cwd, env });
    expect(shown.stdout).toContain(": :stop-commands::x");
    expect(shown.stdout).not.toMatch(COMMAND);
  });

  it.each([["--json"], ["--stream"]])(
    "a document printed by %s holds the same text, and is not a command",
    async (flag) => {
      const { ended } = await run([flag]);
      expect(ended.stdout).not.toMatch(COMMAND);
      const documents = flag === "--json" ? [ended.stdout] : ended.stdout.trimEnd().split("\n");
      expect(documents.map((text) => JSON.stringify(JSON.parse(text))).join("")).toContain(JSON.stringify(SAID));
    },
  );

  it.each([
    ["bad input", ["w.yml", "--input", "{"]],
    ["a missing workflow", ["none.yml"]],
    ["an invalid workflow", ["bad.yml"]],
    ["no model", ["w.yml", "--model", "openai:gpt-5"]],
    ["a bad place for results", ["w.yml", "--out", "taken"]],
  ])("secrets are masked before a refusal for %s is shown", async (_, args) => {
    const cwd = makeProject({
      "w.yml": WORKFLOW,
      "bad.yml": WORKFLOW.replace("entry: a", "entry: b"),
      "s.json": { replies: [] },
      taken: "a file",
    });
    const given = args.includes("--model") ? args : [...args, "--model", "script:s.json"];
    const refused = await runHere(["run", ...given], { cwd, env: { ...env, MY_KEY: "1", MY_TOKEN: "q81kkpw92mmxv" } });
    expect(refused.stderr).not.toContain("::add-mask::1\n");
    expect(refused.code).toBeGreaterThan(1);
    expect(refused.stderr).toMatch(/^::add-mask::q81kkpw92mmxv\n[\s\S]*^::error /m);
    expect(refused.stderr.split("\n")[0]).toBe("::add-mask::q81kkpw92mmxv");
  });

  it.each([
    ["Azure Pipelines", { TF_BUILD: "True" }],
    ["TeamCity", { TEAMCITY_VERSION: "2026.1" }],
  ])("a model's text is not a command of %s either", async (_, env) => {
    const text = "a ##vso[task.setvariable variable=PATH]/evil\n##teamcity[setParameter name='env.PATH' value='/evil']";
    const cwd = makeProject({ "w.yml": WORKFLOW, "s.json": { replies: [{ text }] } });
    for (const flags of [[], ["--json"]]) {
      const { stdout, stderr } = await runHere(["run", "w.yml", "--model", "script:s.json", ...flags], { cwd, env });
      expect(stdout + stderr).toContain("task.setvariable");
      expect(stdout + stderr).not.toMatch(/##(vso|teamcity)\[/);
    }
  });

  it("a failed run still has its own commands", async () => {
    const cwd = makeProject({ "w.yml": WORKFLOW, "s.json": { replies: [] } });
    const failed = await runHere(["run", "w.yml", "--model", "script:s.json"], { cwd, env });
    expect(failed.stderr).toMatch(/^::error file=w\.yml,/m);
  });
});
