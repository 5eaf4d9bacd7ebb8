import { describe, expect, it } from "vitest";
import { runsPython } from "../sandbox/python.ts";
import { scriptOf } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, resultOf } from "./program.ts";

/** The effects that the files of a skill state for their tools, and when they apply. */

const skillMd = (id: string, more = "") => `---\nname: ${id}\ndescription: Does it\n${more}---\nRun it.`;
const TOOL = { description: "Looks.", parameters: {}, script: "scripts/look.py" };
const LOOK = "def handler(args):\n    return {'seen': True}\nprint('{\"seen\": true}')\n";
const DESCRIPTOR = {
  tools: [{ name: "peek", description: "Peeks.", parameters: { type: "object", properties: {} }, effect: "read" }],
  allowlist: { wc: ["-w"] },
  execution: [{ tool: "peek", binary: "wc", subcommand: "-w", args: [] }],
};
const READS = "metadata:\n  effect: read\n";
const FILES = {
  "skills/stated/SKILL.md": skillMd("stated"),
  "skills/stated/tools.json": [
    { name: "look", ...TOOL, effect: "read" },
    { name: "change", ...TOOL },
  ],
  "skills/stated/scripts/look.py": LOOK,
  "skills/whole/SKILL.md": skillMd("whole", READS),
  "skills/whole/tools.json": [
    { name: "check", ...TOOL },
    { name: "alter", ...TOOL, effect: "write" },
  ],
  "skills/whole/scripts/look.py": LOOK,
  "skills/described/SKILL.md": skillMd("described"),
  "skills/described/tools.json": DESCRIPTOR,
  "skills/reader/SKILL.md": skillMd("reader", READS),
  "skills/reader/scripts/look.py": LOOK,
  "skills/writer/SKILL.md": skillMd("writer"),
  "skills/writer/scripts/look.py": LOOK,
};
const TRUST = ["stated", "whole", "described", "reader", "writer"].flatMap((id) => ["--trust-skill", id]);

async function effects(...flags: readonly string[]) {
  const cwd = makeProject(FILES);
  const { stdout } = await runHere(["skills", "list", "--json", ...flags], { cwd, env: { HOME: cwd } });
  const { skills } = JSON.parse(stdout) as { skills: { tools: { exposed: string; effect: string }[] }[] };
  const all = skills.flatMap(({ tools }) => tools.map(({ exposed, effect }) => [exposed, effect] as const));
  return Object.fromEntries(all.filter(([name]) => /^(?:stated|whole|described)_/.test(name)));
}

describe("an effect that a skill's files state", () => {
  it("applies if the skill is trusted, and a tool's own effect overrides that of its SKILL.md", async () => {
    expect(await effects(...TRUST)).toEqual({
      stated_look: "read",
      stated_change: "write",
      whole_check: "read",
      whole_alter: "write",
      described_peek: "read",
    });
  });

  it("does not apply if the skill is not trusted", async () => {
    expect(new Set(Object.values(await effects()))).toEqual(new Set(["write"]));
  });

  it("is overridden by the operator", async () => {
    const said = [
      "--effect",
      "stated.change=read",
      "--effect",
      "whole.check=write",
      "--effect",
      "described.peek=write",
    ];
    expect(await effects(...TRUST, ...said)).toMatchObject({
      stated_change: "read",
      whole_check: "write",
      described_peek: "write",
    });
  });

  it("of a built-in skill can only be made stricter", async () => {
    const said = ["--effect", "http.get=write", "--effect", "notification.send=read"];
    const { stdout } = await runHere(["skills", "list", "--json", ...said], { cwd: makeProject() });
    const { skills } = JSON.parse(stdout) as { skills: { id: string; tools: { name: string; effect: string }[] }[] };
    const tools = skills.flatMap(({ id, tools }) => tools.map(({ name, effect }) => [`${id}.${name}`, effect]));
    expect(tools).toContainEqual(["http.get", "write"]);
    expect(tools).toContainEqual(["notification.send", "write"]);
  });

  it("is reported if an option cannot set it", async () => {
    const said = [
      "notification.send=read",
      "http.gett=write",
      "http.get=write",
      "stated.chance=read",
      "stated.look=read",
      "stated.longer_id.chance=read",
    ];
    const flags = said.flatMap((pair) => ["--effect", pair]);
    const cwd = makeProject(FILES);
    const { stdout, stderr } = await runHere(["skills", "list", ...TRUST, ...flags], { cwd, env: { HOME: cwd } });
    const told = (stdout + stderr).split("\n").filter((line) => line.includes("--effect"));
    expect(told).toEqual([
      expect.stringContaining("--effect http.gett=write has no effect: http has no tool gett (did you mean get?)"),
      expect.stringContaining("--effect notification.send=read has no effect: a built-in tool that writes cannot"),
      expect.stringContaining("--effect stated.chance=read has no effect: stated has no tool chance (did you mean"),
    ]);
  });

  it("is not reported as an unknown key", async () => {
    const cwd = makeProject(FILES);
    const { stdout, stderr } = await runHere(["skills", "lint"], { cwd, env: { HOME: cwd } });
    expect(stdout + stderr).not.toMatch(/effect/);
  });
});

const calls = [
  { tool: "stated_look", input: {} },
  { tool: "stated_change", input: {} },
  { tool: "whole_check", input: {} },
  ...["reader", "writer"].map((id) => ({ tool: "run_script", input: { skill_name: id, path: "scripts/look.py" } })),
];
const FLOW = {
  ...{ id: "w", name: "W", entry: "a", writes: "plan", edges: [] },
  nodes: { a: { name: "A", instruction: "Look.", skills: ["stated", "whole", "reader", "writer"] } },
};

it.skipIf(!runsPython)(
  "a reading tool runs if writes are planned, next to skills that write (needs a sandbox)",
  async () => {
    const script = scriptOf({ node: "a", calls }, { node: "a", text: "done" });
    const cwd = makeProject({ ...FILES, "w.yml": JSON.stringify(FLOW), "s.json": script });
    const args = ["run", "w.yml", "--model", "script:s.json", "--json", ...TRUST];
    const { results } = resultOf(await runHere(args, { cwd, env: { HOME: cwd } }));
    const planned = results.a?.toolCalls.map(({ output }) => JSON.stringify(output).includes("planned"));
    expect([planned, results.a?.toolCalls.filter(({ error }) => error)]).toEqual([
      [false, true, false, false, true],
      [],
    ]);
  },
);
