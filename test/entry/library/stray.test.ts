import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { installation, makeProject, runAt } from "../../cli/program.ts";

/** A program that uses the built library. Its run calls one tool, and `parts` adds code with unhandled promises. */

interface Parts {
  /** Body of the tool's handler, or the bodies for one run after another. */
  readonly handler?: string | readonly string[];
  readonly observer?: string;
  readonly model?: string;
  /** Runs before the run starts. */
  readonly before?: string;
  /** Runs after the run has ended. */
  readonly after?: string;
}

const FORGET = 'Promise.reject(new Error("forgotten"));';

async function runHost({ handler = "", observer = "", model = "", before = "", after = "" }: Parts) {
  const cwd = makeProject();
  const entry = (name: string) =>
    JSON.stringify(pathToFileURL(join(installation().directory, "dist", `${name}.js`)).href);
  const handlers = [handler].flat();
  const program = `
    import { openProject, defineSkill, memoryStore } from ${entry("index")};
    import { scriptedModel } from ${entry("testing")};
    const { exit, emit } = process;
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const handlers = [${handlers.map((body) => `async () => { ${body} await turn(); return "paged"; }`).join(", ")}];
    const skill = defineSkill({
      id: "pager", name: "Pager", description: "pages", category: "general", config: {},
      tools: [{
        name: "page", description: "pages", effect: "read", input_schema: { type: "object" },
        async handler() { return handlers.shift()(); },
      }],
    });
    const replies = handlers.flatMap(() => [{ calls: [{ tool: "pager_page", input: {} }] }, { text: "done" }]);
    const scripted = scriptedModel(replies);
    const answers = { ...scripted, async reply(...given) { ${model} return scripted.reply(...given); } };
    const project = await openProject({ directory: ${JSON.stringify(cwd)}, env: {}, skills: [skill], models: { test: answers }, store: memoryStore() });
    ${before}
    const flow = { id: "w", name: "W", entry: "a", nodes: { a: { name: "A", instruction: "Page.", skills: ["pager"] } }, edges: [] };
    for (const _ of [...handlers]) {
      const { status, results } = await project.run(flow, {
        model: "test:m",
        observers: [{ onEvent(event) { ${observer} } }],
      }).result;
      console.log(JSON.stringify({ status, calls: results.a?.toolCalls }));
    }
    ${after}
    await turn();
    console.log("still here", process.listenerCount("unhandledRejection"), process.listenerCount("uncaughtException"));
  `;
  writeFileSync(join(cwd, "host.mjs"), program);
  return runAt(join(cwd, "host.mjs"), [], { cwd });
}

const paged = { status: "succeeded", calls: [{ tool: "pager_page", output: "paged" }] };
const outcomeOf = (stdout: string, run = 0) => JSON.parse(stdout.split("\n")[run] ?? "");

describe("an unhandled promise of a run's code", () => {
  it("in a handler fails that call and not the host's process", async () => {
    const ways = {
      rejects: FORGET,
      "rejects later": 'setImmediate(() => Promise.reject(new Error("forgotten"))); await new Promise(() => {});',
      "is a timer that throws": 'setTimeout(() => { throw new Error("forgotten"); }); await new Promise(() => {});',
    };
    const { code, stdout, stderr } = await runHost({ handler: Object.values(ways) });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const [index, way] of Object.keys(ways).entries()) {
      expect(outcomeOf(stdout, index), way).toMatchObject({ status: "succeeded", calls: [{ error: "forgotten" }] });
    }
    expect(stdout).toContain("still here 0 0");
  });

  it("in an observer or a model does not end the host's process", async () => {
    const { code, stdout } = await runHost({ observer: FORGET, model: FORGET });
    expect(code).toBe(0);
    expect(outcomeOf(stdout)).toMatchObject(paged);
    expect(stdout).toContain("still here 0 0");
  });

  it("that rejects after the run has ended is a warning of the process", async () => {
    const handler =
      'const { AsyncResource } = await import("node:async_hooks"); globalThis.fail = AsyncResource.bind(() => { Promise.reject(new Error("forgotten")); });';
    const { code, stdout, stderr } = await runHost({ handler, after: "globalThis.fail();" });
    expect(code).toBe(0);
    expect(outcomeOf(stdout)).toMatchObject(paged);
    expect(stderr).toContain("SkillflowWarning: no caller waited for this error: forgotten");
  });
});

describe("a handler that ends the process", () => {
  const ENDING = "the plug-in tried to end the process (exit code 7)";

  it("fails its call, and the process behaves as before within a second after its last run", async () => {
    const ways = {
      "at once": "process.exit(7);",
      "by an imported exit": 'const { exit } = await import("node:process"); exit(7);',
      "in a timer": "setTimeout(() => process.exit(7)); await new Promise(() => {});",
    };
    const { code, stdout, stderr } = await runHost({
      handler: Object.values(ways),
      observer: "globalThis.wasHeld ||= process.exit !== exit;",
      after: "while (process.exit !== exit || process.emit !== emit) await turn(); console.log(globalThis.wasHeld);",
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const [index, way] of Object.keys(ways).entries()) {
      expect(outcomeOf(stdout, index), way).toMatchObject({ status: "succeeded", calls: [{ error: ENDING }] });
    }
    expect(stdout).toContain("true\nstill here 0 0");
  });

  it("while it is imported is unavailable", async () => {
    const { code, stdout } = await runHost({
      before: `
        const { mkdirSync, writeFileSync } = await import("node:fs");
        mkdirSync("skills/ending", { recursive: true });
        writeFileSync("skills/ending/skill.mjs", 'process.exit(7); export default { id: "ending" };');
        const other = await openProject({ env: {}, trust: ["ending"] });
        const found = (await other.skills()).find(({ id }) => id === "ending");
        console.log(JSON.stringify({ state: found.state, reason: found.reason }));`,
    });
    expect(code).toBe(0);
    expect(outcomeOf(stdout)).toEqual({ state: "unavailable", reason: expect.stringContaining(ENDING) });
  });

  it("is not the host, which may end its own process during a run", async () => {
    const { code } = await runHost({ observer: 'if (event.type === "tool:call") process.exit(5);' });
    expect(code).toBe(5);
  });
});

describe("an unhandled promise of the host itself", () => {
  it.each<[string, Parts]>([
    [
      "while a run is active",
      { before: `setTimeout(() => { ${FORGET} });`, handler: "await new Promise((r) => setTimeout(r, 50));" },
    ],
    ["after a run", { after: FORGET }],
  ])("%s ends its process as it would without the library", async (_, parts) => {
    const { code, stdout, stderr } = await runHost(parts);
    expect(code).toBe(1);
    expect(stdout).not.toContain("still here");
    expect(stderr).toContain("Error: forgotten");
  });

  it("reaches the host's own listener", async () => {
    const before = 'process.on("unhandledRejection", (error) => console.log("heard", error.message));';
    const { code, stdout } = await runHost({ before, after: FORGET });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("heard forgotten\nstill here 1 0") });
  });
});
