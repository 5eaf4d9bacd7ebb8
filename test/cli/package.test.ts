import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { openSandbox } from "../../src/sandbox/choose.ts";
import { sandboxHost } from "../sandbox/host.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents } from "./program.ts";

/** Skills Protocol packages in runs of the program. */

const runsPython =
  (await openSandbox(sandboxHost)).isolates &&
  (await openSandbox(sandboxHost)).name !== "missing" &&
  spawnSync("/usr/bin/python3", ["--version"]).status === 0;

const SKILL = {
  "skills/count/skill.toml": `name = "text.count"
version = "1.0.0"
description = "Counts words."
kind = "action"

[runtime]
language = "python"
entrypoint = "code/main.py"
export = "main"

[permissions]
secrets = ["COUNT_KEY"]

[inputs.text]
type = "string"
required = true
`,
  "skills/count/SKILL.md": "---\nname: Word counter\nshort_description: Counts words\ntags: [text]\n---\nCounts.\n",
  "skills/count/code/main.py":
    "import os\ndef main(args):\n    return {'words': len(args['text'].split()), 'key': os.environ['COUNT_KEY']}\n",
  "w.yml": "id: w\nname: W\nentry: a\nnodes:\n  a: { name: A, instruction: Count., skills: [text.count] }\nedges: []\n",
  "s.json": { replies: [{ calls: [{ tool: "text_count", input: { text: "a b c" } }] }, { text: "done" }] },
};
const args = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r", "--trust-skill", "text.count"];

async function result(env: Readonly<Record<string, string>>) {
  const cwd = makeProject(SKILL);
  await runHere(args, { cwd, env });
  const found = readEvents(cwd, "r").find((event) => event.type === "tool:result");
  return found?.error ?? found?.output;
}

describe("an action package", () => {
  it("whose secret is not set is left out with a message", async () => {
    const cwd = makeProject(SKILL);
    const { stderr } = await runHere(args, { cwd });
    expect(stderr).toContain("skills left out: text.count (COUNT_KEY is not set)");
  });

  it.skipIf(!runsPython)("runs in the sandbox, and its secret is redacted (needs a sandbox and Python)", async () => {
    expect(await result({ COUNT_KEY: "canary-value-1" })).toEqual({ words: 3, key: "[redacted:COUNT_KEY]" });
  });
});
