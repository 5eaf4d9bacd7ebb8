import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/core/base/values.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { scriptOf } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, resultOf, runFile } from "./program.ts";

const FLOW = `
id: reading
name: Reading
entry: a
nodes:
  a: { name: A, instruction: Do a., skills: [notes, maps] }
  b: { name: B, instruction: Do b., skills: [maps] }
edges: [{ from: a, to: b }]
`;
const SKILLS = {
  "flow.yml": FLOW,
  "skills/notes/SKILL.md": "---\nname: notes\ndescription: How to take notes\n---\n\nTake them at once.\n",
  "skills/maps/SKILL.md": "---\nname: maps\ndescription: How to read maps\n---\nNorth is up: references/legend.md.",
  "skills/maps/references/legend.md": "Blue is water.\n",
  "skills/maps/tools/.secret": "hidden",
  "skills/maps/references/photo.png": "\u0089PNG\0",
};
const reads = (node: string, ...inputs: object[]) => ({
  node,
  calls: inputs.map((input) => ({ tool: "read_skill", input })),
});
const start = async (replies: object[], ...args: string[]) => {
  const project = makeProject({ ...SKILLS, "script.yml": scriptOf(...replies) });
  const run = ["run", "flow.yml", "--model", "script:script.yml", "--run-id", "r", "--json", ...args];
  return { project, ended: await runHere(run, { cwd: project }) };
};
const callsAt = (ended: Parameters<typeof resultOf>[0], node: string) =>
  resultOf(ended).results[node]?.toolCalls.map(({ output, error }): Json => error ?? output ?? null);
const recordOf = (project: string) =>
  JSON.parse(readFileSync(runFile(project, "r"), "utf8").split("\n")[0] ?? "") as RunRecord;

describe("skills that are read on demand", () => {
  test("return their instruction and files to the node that lists them", async () => {
    const { ended } = await start(
      [
        reads("a", { skill_name: "notes" }, { skill_name: "maps" }),
        reads("a", { skill_name: "notes" }, { skill_name: "maps", path: "references/legend.md" }),
        { node: "a", text: "done" },
        reads("b", { skill_name: "maps" }, { skill_name: "notes" }, {}),
        { node: "b", text: "done" },
      ],
      "--context-mode",
      "readOnDemand",
    );
    expect(ended.code).toBe(0);
    const maps = `<skill_content name="maps">
North is up: references/legend.md.

<skill_files>
  <file>references/legend.md</file>
  <file>references/photo.png</file>
</skill_files>
</skill_content>`;
    expect(callsAt(ended, "a")).toEqual([
      '<skill_content name="notes">\nTake them at once.\n</skill_content>',
      maps,
      "The instructions of notes are already above.",
      "Blue is water.\n",
    ]);
    expect(callsAt(ended, "b")).toEqual([maps, "unknown skill: notes", "missing skill_name"]);
  });

  test("name their tools in the text as the model sees them, including those that the run does not have", async () => {
    const module = `const tool = (name, more) => ({ name, description: name, input_schema: { type: "object" }, effect: "read", handler: () => 1, ...more });
export default { id: "bench", name: "Bench", description: "d", category: "general",
  config: { key: { description: "k" } }, tools: [tool("look"), tool("act", { needs: ["key"] })] };`;
    const project = makeProject({
      "flow.yml": FLOW.replaceAll("notes", "bench").replaceAll("maps", "bench"),
      "skills/bench/skill.mjs": module,
      "skills/bench/SKILL.md": "---\nname: bench\ndescription: d\n---\n`{{look}}` before `{{act}}`, not {{nope}}.\n",
      "script.yml": scriptOf(reads("a", { skill_name: "bench" }), { text: "done" }, { text: "done" }),
    });
    const args = ["run", "flow.yml", "--model", "script:script.yml", "--context-mode", "readOnDemand", "--json"];
    const ended = await runHere([...args, "--trust-skill", "bench"], { cwd: project });
    expect(callsAt(ended, "a")).toEqual([
      '<skill_content name="bench">\n`bench_look` before `bench_act`, not nope.\n</skill_content>',
    ]);
    expect(ended.stderr).toContain("its text names {{nope}}, which is not one of its tools");
  });

  test("return no file that is not meant for reading", async () => {
    const paths = ["../notes/SKILL.md", "SKILL.md", "tools/.secret", "references/photo.png", "/etc/passwd"];
    const { ended } = await start(
      [reads("a", ...paths.map((path) => ({ skill_name: "maps", path }))), { text: "done" }, { text: "done" }],
      "--context-mode",
      "readOnDemand",
    );
    expect(callsAt(ended, "a")).toEqual([
      "the file ../notes/SKILL.md of maps contains `..`",
      "SKILL.md is not a file that maps bundles for reading",
      "tools/.secret is not a file that maps bundles for reading",
      "references/photo.png is not text: a binary file of 6 bytes",
      "the file /etc/passwd of maps is outside of the directory",
    ]);
  });

  test.each<[string, Record<string, string>, string[], string]>([
    ["nothing said", {}, [], "full"],
    ["the flag", { SKILLFLOW_CONTEXT_MODE: "full" }, ["--context-mode", "readOnDemand"], "readOnDemand"],
    ["the environment", { SKILLFLOW_CONTEXT_MODE: "readOnDemand" }, [], "readOnDemand"],
  ])("are chosen by %s, and the run records it", async (_, env, args, mode) => {
    const project = makeProject({ ...SKILLS, "script.yml": scriptOf({ text: "x" }, { text: "x" }) });
    const run = ["run", "flow.yml", "--model", "script:script.yml", "--run-id", "r", ...args];
    expect((await runHere(run, { cwd: project, env })).code).toBe(0);
    expect(recordOf(project).settings.context_mode).toBe(mode);
  });

  test("stay so for a resumed run unless the flag is given again", async () => {
    const replies = [reads("a", { skill_name: "notes" }), { node: "a", text: "done" }];
    const { project, ended } = await start(replies, "--context-mode", "readOnDemand", "--max-steps", "1");
    expect(ended.code).toBe(5);
    const again = scriptOf(
      ...replies,
      reads("b", { skill_name: "maps" }),
      { node: "b", text: "done" },
      reads("b", { skill_name: "maps" }),
      { node: "b", text: "done" },
    );
    const moved = makeProject({ "script.yml": again });
    const resume = async (...args: string[]) => {
      const model = ["--model", `script:${moved}/script.yml`];
      const result = await runHere(["resume", "r", ...model, "--max-steps", "5", "--json", ...args], {
        cwd: project,
      });
      expect(result.code, result.stderr).toBe(0);
      return callsAt(result, "b")?.[0];
    };
    expect(await resume()).toContain("<skill_content");
    expect(await resume("--from", "b", "--context-mode", "full")).toContain("are already above");
    expect(readEvents(project, "r").filter((event) => event.type === "run:resume")).toMatchObject([
      { settings: {} },
      { settings: { context_mode: "full" } },
    ]);
  });
});

test("in full mode read_skill is offered for files alone", async () => {
  const { ended, project } = await start([
    reads("a", { skill_name: "maps", path: "references/legend.md" }, { skill_name: "notes" }),
    { node: "a", text: "done" },
    { node: "b", text: "done" },
  ]);
  expect(callsAt(ended, "a")).toEqual(["Blue is water.\n", "unknown skill: notes"]);
  expect(recordOf(project).skills.map(({ id, files }) => [id, files])).toEqual([
    ["notes", undefined],
    ["maps", ["references/legend.md", "references/photo.png"]],
  ]);
});
