import { openProject } from "skillflow";
import { expect, it } from "vitest";
import { runHere } from "../../cli/in-process.ts";
import { makeProject } from "../../cli/program.ts";

/** The library returns what the command line prints. */

const SKILLS = {
  "skills/notes/SKILL.md":
    "---\nname: notes\ndescription: Notes\nconfig:\n  KEY: { description: a key, required: true }\n---\nNote.\n",
};
const FLOW =
  "id: w\nname: W\nentry: a\nnodes:\n  a: { name: A, instruction: ./absent.md, skills: [notes, nots] }\nedges: []\n";

async function printed(cwd: string, ...args: string[]) {
  const { stdout } = await runHere([...args, "--json"], { cwd, env: { HOME: cwd } });
  return JSON.parse(stdout) as Record<string, unknown>;
}

it("validate returns the diagnostics of validate --json, for a valid document and an invalid one", async () => {
  for (const text of [FLOW, FLOW.replace("entry: a", "entry: b"), "nodes: ["]) {
    const cwd = makeProject({ "flow.yml": text, ...SKILLS });
    const project = await openProject({ directory: cwd, env: { HOME: cwd } });
    const { diagnostics } = await printed(cwd, "validate", "flow.yml");
    expect(diagnostics).not.toEqual([]);
    expect(await project.validate("flow.yml")).toEqual(diagnostics);
  }
});

it("skills returns the rows of doctor --json", async () => {
  const cwd = makeProject(SKILLS);
  const project = await openProject({ directory: cwd, env: { HOME: cwd } });
  const { skills } = (await printed(cwd, "doctor")) as { skills: { id: string }[] };
  // The tests' installation has one extra skill.
  expect(await project.skills()).toEqual(skills.filter(({ id }) => id !== "desk"));
});
