import { chmodSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { linesOf, makeProject, readEvents } from "./program.ts";

/** A tools.json descriptor, from its folder to the program that it names. */

const NOTES = readFileSync(
  join(import.meta.dirname, "../loaders/formats/tool-descriptor/data/notes-tools.json"),
  "utf8",
);
const WORKFLOW =
  "id: w\nname: W\nentry: a\nnodes:\n  a: { name: A, instruction: Find my note., skills: [notes] }\nedges: []\n";
const PROGRAM = `#!/bin/sh
for argument in "$@"; do echo "$argument" >> calls; done
echo "found: $2"
[ -z "$CANARY" ] || echo "and $CANARY"
`;

async function run(query: unknown, flags: readonly string[], files: Readonly<Record<string, unknown>> = {}) {
  return runWith({ query }, flags, files);
}

async function runWith(input: unknown, flags: readonly string[], files: Readonly<Record<string, unknown>> = {}) {
  const script = {
    replies: [{ calls: [{ tool: "notes_notesmd_cli_search", input }] }, { text: "done" }, { text: "done" }],
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
  const { code, stdout, stderr } = await runHere(args, { cwd, env });
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

  it("use the profile that the project chooses", async () => {
    const files = {
      ".skillflow.yml": "skills: { descriptor: seed }\n",
      "skills/notes/SKILL.md": "---\nname: notes\n---\nSearch first.\n",
    };
    const seed = await run("../x", ["--trust-skill", "notes"], files);
    expect(seed.ran).toEqual(["search", "../x"]);
    const current = await run("../x", ["--trust-skill", "notes"]);
    expect(current.ran).toEqual([]);
  });

  it("are missing with the reason if a required program is", async () => {
    const document = "---\nmetadata: { requires: { bins: [no-such-program] } }\n---\nSearch first.\n";
    const files = { "w.yml": WORKFLOW, "skills/notes/SKILL.md": document, "skills/notes/tools.json": NOTES };
    const { stdout } = await runHere(["doctor", "w.yml", "--json"], { cwd: makeProject(files) });
    expect(stdout).toContain("no-such-program is not on the PATH");
  });

  it.each<[string, string, unknown, string]>([
    ["no query", "current", {}, "tool notesmd_cli_search: missing required parameter 'query'"],
    ["no query", "seed", {}, "missing parameter: query"],
    ["a null", "current", { query: null }, "tool notesmd_cli_search: missing required parameter 'query'"],
    ["a null", "seed", { query: null }, "parameter query must be a string, number, or boolean"],
    [
      "a number",
      "current",
      { query: 5 },
      "tool notesmd_cli_search: parameter 'query' type mismatch: expected string, got number",
    ],
    ["a list", "seed", { query: ["a"] }, "parameter query must be a string, number, or boolean"],
    ["a text", "current", "find it", "arguments must be an object"],
  ])("answer %s with the messages of the %s profile, and run nothing", async (_, profile, input, error) => {
    const files = { ".skillflow.yml": `skills: { descriptor: ${profile} }\n` };
    const { results, ran } = await runWith(input, ["--trust-skill", "notes"], files);
    expect(results).toMatchObject([{ error }]);
    expect(ran).toEqual([]);
  });

  it.each(["current", "seed"])("leave out a flag that is null, in the profile %s", async (profile) => {
    const tools = JSON.parse(NOTES) as {
      tools: [{ parameters: { properties: object } }];
      execution: [{ args: object[] }];
    };
    tools.tools[0].parameters.properties = { query: { type: "string" }, tag: { type: "string" } };
    tools.execution[0].args.push({ param: "tag", kind: "flag" });
    const files = { ".skillflow.yml": `skills: { descriptor: ${profile} }\n`, "skills/notes/tools.json": tools };
    const { ran } = await runWith({ query: "x", tag: null }, ["--trust-skill", "notes"], files);
    expect(ran).toEqual(["search", "x"]);
  });

  it("have a tool without an implementation, which fails when it is called", async () => {
    const tools = { ...(JSON.parse(NOTES) as object), execution: [] };
    const { results, shown } = await run("x", ["--trust-skill", "notes"], { "skills/notes/tools.json": tools });
    expect(results).toMatchObject([{ error: "unknown tool: notesmd_cli_search" }]);
    expect(shown).toContain("it has no execution entry");
  });
});
