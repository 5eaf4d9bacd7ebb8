import { describe, expect } from "vitest";
import { oneOf } from "../harness/long.ts";
import { scriptOf } from "./flows.ts";
import { makeProject, readEvents, resultOf, runProgram } from "./program.ts";

/** Plug-ins that try to end the program. */

const it = oneOf(2);

const skillOf = (handler: string, top = "") => `
import { defineSkill, defineTool } from "skillflow";
${top}
export default defineSkill({
  id: "pager", name: "Pager", description: "Pages", category: "notification", config: {},
  tools: [defineTool({
    name: "page", description: "Pages", input_schema: { type: "object" }, effect: "write",
    handler: async (input) => { ${handler} },
  })],
});`;
const FLOW =
  "id: flow\nname: Flow\nentry: only\nnodes:\n  only: { name: Only, instruction: Page., skills: [pager] }\nedges: []\n";

/** Makes one call after the other, each with one of these ways to exit. */
function run(skill: string, ways: readonly string[] = ["usual"]) {
  const calls = ways.map((way) => ({ node: "only", calls: [{ tool: "pager_page", input: { way } }] }));
  const script = scriptOf(...calls, { node: "only", text: "done" });
  const cwd = makeProject({ "flow.yml": FLOW, "script.json": script, "skills/pager/skill.mjs": skill });
  const args = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r", "--json", "--writes", "allow"];
  return runProgram([...args, "--trust-skill", "pager"], { cwd }).then((ended) => ({ ...ended, cwd }));
}

/** Handlers that try to end the process, and the call that the error names. */
const EXITS: Readonly<Record<string, readonly [string, string]>> = {
  exit: ["process.exit(7);", "process.exit(7)"],
  "an imported exit": ['const { exit } = await import("node:process"); exit(7);', "process.exit(7)"],
  reallyExit: ["process.reallyExit(7);", "process.reallyExit(7)"],
  abort: ["process.abort();", "process.abort()"],
  "a timer": ["setTimeout(() => process.exit(7)); await new Promise(() => {});", "process.exit(7)"],
  "a promise that it forgets": [
    "Promise.resolve().then(() => process.exit(7)); await new Promise(() => {});",
    "process.exit(7)",
  ],
};

describe("a plug-in that ends the process", () => {
  it("in a call fails only that call, however it exits", async () => {
    const ways = Object.entries(EXITS);
    const handlers = ways.map(([way, [handler]]) => `"${way}": async () => { ${handler} }`);
    const skill = skillOf(`await ({ ${handlers.join(", ")} })[input.way]?.(); return "paged";`);
    const ended = await run(skill, [...Object.keys(EXITS), "none"]);
    expect(ended.code, ended.stderr).toBe(0);
    const events = readEvents(ended.cwd, "r");
    expect(events.filter(({ type }) => type === "tool:result")).toMatchObject([
      ...ways.map(([, [, says]]) => ({ code: "tool.failed", error: expect.stringContaining(says) })),
      { output: "paged" },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "workflow:end" });
  });

  it("while it is imported is not loaded", async () => {
    const ended = await run(skillOf("", "process.exit(7);"));
    expect(ended.code).toBe(3);
    expect(ended.stdout + ended.stderr).toMatch(
      /skill\.mjs cannot be loaded: process\.exit\(7\) was called at .*skill\.mjs:3/,
    );
  });

  it("whose import never ends is a fault of the command, which would otherwise exit silently", async () => {
    const cwd = makeProject({ "skills/pager/skill.mjs": skillOf("", "await new Promise(() => {});") });
    const ended = await runProgram(["skills", "show", "pager", "--trust-skill", "pager"], { cwd });
    expect(ended).toMatchObject({ code: 4, stdout: "" });
    expect(ended.stderr).toContain("a module whose top-level await never ends");
  });

  it("in a timer, outside of a run, ends the command as a fault that names the place", async () => {
    const cwd = makeProject({
      "skills/pager/skill.mjs": skillOf("", "setTimeout(() => process.exit(7)); await new Promise(() => {});"),
    });
    const ended = await runProgram(["skills", "show", "pager", "--trust-skill", "pager"], { cwd });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toMatch(/error: process\.exit\(7\) was called at .*skill\.mjs:3/);
  });

  it.each([
    ["process.exitCode", "process.exitCode = 7; return 'paged';"],
    ["a listener of its end", "process.on('exit', () => process.exit(7)); return 'paged';"],
    ["a listener that sets the code", "process.on('exit', () => { process.exitCode = 7; }); return 'paged';"],
    ["a listener that throws", "process.on('exit', () => { throw new Error('no'); }); return 'paged';"],
  ])("does not choose the exit code by %s", async (_, handler) => {
    const ended = await run(skillOf(handler));
    expect(ended.code, ended.stderr).toBe(0);
    expect(resultOf(ended).results.only?.toolCalls).toMatchObject([{ output: "paged" }]);
  });
});

describe("a plug-in that fails outside of every call", () => {
  it("is reported if no run is in progress, and the command continues", async () => {
    const top = 'Promise.reject(new Error("never handled")); setTimeout(() => { throw new Error("too late"); }, 1);';
    const cwd = makeProject({ "skills/pager/skill.mjs": skillOf("return 1;", top) });
    const ended = await runProgram(["skills", "list", "--json", "--trust-skill", "pager"], { cwd });
    expect(ended.code, ended.stderr).toBe(0);
    expect(JSON.parse(ended.stdout).skills).toContainEqual(expect.objectContaining({ id: "pager", available: true }));
    for (const message of ["never handled", "too late"])
      expect(ended.stderr).toContain(`skill pager: an error outside of a call: ${message}`);
  });
});
