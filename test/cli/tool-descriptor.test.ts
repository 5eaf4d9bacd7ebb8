import { chmodSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { linesOf, makeProject, readEvents, runProgram } from "./program.ts";

/** A tools.json descriptor, from its folder to the program that it names. */

const NOTES = readFileSync(join(import.meta.dirname, "..", "loaders", "data", "notes-tools.json"), "utf8");
const WORKFLOW =
  "id: w\nname: W\nentry: a\nnodes:\n  a: { name: A, instruction: Find my note., skills: [notes] }\nedges: []\n";
const PROGRAM = `#!/bin/sh
for argument in "$@"; do echo "$argument" >> calls; done
echo "found: $2"
[ -z "$CANARY" ] || echo "and $CANARY"
`;

async function run(query: unknown, flags: readonly string[], files: Readonly<Record<string, unknown>> = {}) {
  const script = {
    replies: [{ calls: [{ tool: "notes_notesmd_cli_search", input: { query } }] }, { text: "done" }, { text: "done" }],
  };
  const cwd = makeProject({
    "w.yml": WORKFLOW,
    "s.json": script,
    "skills/notes/SKILL.md": "# Notes\n\nSearch first.\n",
    "skills/notes/tools.json": NOTES,
    "bin/notesmd-cli": PROGRAM,
    ...files,
  });
  if (!("bin/notesmd-cli" in files)) chmodSync(join(cwd, "bin/notesmd-cli"), 0o755);
  const env = { PATH: `${join(cwd, "bin")}${delimiter}${process.env.PATH}`, CANARY: "secret" };
  const args = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r", ...flags];
  const { code, stdout, stderr } = await runProgram(args, { cwd, env });
  const results = readEvents(cwd, "r").flatMap((event) => (event.type === "tool:result" ? [event] : []));
  return { code, shown: stdout + stderr, results, ran: linesOf(cwd, "calls") };
}

describe("the notes of a tools.json", () => {
  it("are searched by the program that it names, with the query as one argument", async () => {
    const { code, results, ran, shown } = await run("my note; touch x", ["--trust-skill", "notes"]);
    expect(shown).toContain("notes_notesmd_cli_search");
    expect(results).toMatchObject([{ tool: "notes_notesmd_cli_search", output: "found: my note; touch x\n" }]);
    expect(ran).toEqual(["search", "my note; touch x"]);
    expect(code).toBe(0);
  });

  it("are not searched without trust", async () => {
    const { results, ran, shown } = await run("my note", []);
    expect(ran).toEqual([]);
    expect(results[0]).toMatchObject({ error: expect.stringContaining("no tool is named") });
    expect(shown).toContain("--trust-skill notes");
  });

  it("are not searched with a query that is an option", async () => {
    const { results, ran } = await run("--vault=/etc", ["--trust-skill", "notes"]);
    expect(ran).toEqual([]);
    expect(results[0]).toMatchObject({ error: expect.stringContaining('begins with "-"') });
  });

  it("follow the profile that the project chooses", async () => {
    const files = {
      ".skillflow.yml": "skills: { descriptor: seed }\n",
      "skills/notes/SKILL.md": "---\nname: notes\n---\nSearch first.\n",
    };
    const seed = await run("../x", ["--trust-skill", "notes"], files);
    expect(seed.ran).toEqual(["search", "../x"]);
    const current = await run("../x", ["--trust-skill", "notes"]);
    expect(current.ran).toEqual([]);
  });

  it("are missing with the reason where a required program is", async () => {
    const document = "---\nmetadata: { requires: { bins: [no-such-program] } }\n---\nSearch first.\n";
    const files = { "w.yml": WORKFLOW, "skills/notes/SKILL.md": document, "skills/notes/tools.json": NOTES };
    const { stdout } = await runProgram(["doctor", "w.yml", "--json"], { cwd: makeProject(files) });
    expect(stdout).toContain("no-such-program is not on the PATH");
  });
});
