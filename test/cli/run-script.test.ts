import { describe, expect, test } from "vitest";
import type { Json } from "../../src/core/base/values.ts";
import { runsPython } from "../sandbox/python.ts";
import { scriptOf } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, resultOf } from "./program.ts";

/** Scripts that a plain Agent Skill bundles, run by the built program. */

const FLOW = `
id: check
name: Check
entry: a
nodes:
  a: { name: A, instruction: Check it., skills: [checker] }
edges: []
`;
const CHECK = `import json, os, sys
try:
    open(os.path.join(os.path.dirname(__file__), "made"), "w")
    wrote = True
except OSError:
    wrote = False
open(os.path.join(os.environ["TMPDIR"], "scratch"), "w").write("x")
print(json.dumps({"args": sys.argv[1:], "stdin": sys.stdin.read(), "wrote": wrote, "home": os.environ["HOME"]}))
sys.exit(3)
`;
const FILES = {
  "flow.yml": FLOW,
  "skills/checker/SKILL.md": "---\nname: checker\ndescription: Checks\n---\nRun scripts/check.py.",
  "skills/checker/scripts/check.py": CHECK,
  "skills/checker/notes.txt": "no script",
};
const run = async (inputs: readonly object[], ...args: string[]) => {
  const calls = inputs.map((input) => ({ tool: "run_script", input: { skill_name: "checker", ...input } }));
  const script = scriptOf({ node: "a", calls }, { node: "a", text: "done" });
  const cwd = makeProject({ ...FILES, "script.json": script });
  const given = ["run", "flow.yml", "--model", "script:script.json", "--json", ...args];
  const ended = await runHere(given, { cwd, env: { HOME: cwd } });
  return resultOf(ended).results.a?.toolCalls.map(({ output, error }): Json => error ?? output ?? null);
};

describe("run_script", () => {
  test.skipIf(!runsPython)("runs a script of a trusted skill in the sandbox (needs a sandbox and Python)", async () => {
    const wanted = { path: "scripts/check.py", args: ["-x", "; touch pwned"], stdin: "text" };
    const [found] = (await run([wanted], "--trust-skill", "checker")) ?? [];
    expect(found).toMatchObject({ exit_code: 3, stderr: "" });
    const { stdout } = found as { stdout: string };
    expect(JSON.parse(stdout)).toMatchObject({ args: wanted.args, stdin: "text", wrote: false });
  });

  test("runs nothing else of the skill, and nothing outside of it", async () => {
    const paths = ["notes.txt", "SKILL.md", "../checker/scripts/check.py", "/bin/sh", "scripts/gone.py", "scripts"];
    const found = await run(
      paths.map((path) => ({ path })),
      "--trust-skill",
      "checker",
    );
    expect(found).toEqual([
      "notes.txt is not a file in scripts/ of checker",
      "SKILL.md is not a file in scripts/ of checker",
      expect.stringContaining("contains `..`"),
      expect.stringContaining("is outside of the directory"),
      expect.stringContaining("does not exist"),
      "scripts is not a file in scripts/ of checker",
    ]);
  });

  test("is not offered if the skill is not trusted", async () => {
    expect(await run([{ path: "scripts/check.py" }])).toEqual([expect.stringContaining("run_script")]);
  });
});
