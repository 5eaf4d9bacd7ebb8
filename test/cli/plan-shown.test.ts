import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LONG } from "../harness/long.ts";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";
import { ENV, plannedRun, SINK, scriptOf, statusesOf, toldBy, WORKFLOW } from "./sink.ts";

/** Output about a plan: while a run plans it, after it, and in the review. */

const RUN = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r"];

function project(...titles: readonly string[]): string {
  const script = scriptOf(titles.map((title) => ({ title })));
  return makeProject({ "w.yml": WORKFLOW, "s.json": script, "skills/sink/skill.ts": SINK });
}

const bare = { ...ENV, NO_COLOR: "1" };

describe("a run that plans", () => {
  it("prints each call's operation, in plain lines and in the tree", async () => {
    const plain = await runHere(RUN, { cwd: project("one", "one"), env: bare });
    expect(plain.stderr.match(/^tool:result a sink_file .*$/gm)).toEqual([
      "tool:result a sink_file planned op-1",
      "tool:result a sink_file planned op-1",
    ]);
    expect(plain.stderr).toContain("operation:planned a op-1 sink file: “one”\n");
    const tree = await runHere(RUN, { cwd: project("one"), env: bare, isTerminal: true });
    expect(tree.stderr).toContain("  │ planned op-1\n");
  });

  it("ends with the first of its operations and with the command that applies it", async () => {
    const { stderr } = await runHere(RUN, { cwd: project(..."abcdefgh"), env: bare });
    expect(stderr).toContain("8 planned writes: none carried out yet\n  ○ op-1  sink file: “a”\n");
    expect(stderr).toContain("  ○ op-6  sink file: “f”\n  (2 more)\n");
    expect(stderr).toContain("next: skillflow apply r\n");
  });

  it("that planned nothing prints nothing about a plan", async () => {
    const { stderr } = await runHere(RUN, { cwd: project(), env: bare });
    expect(stderr).not.toContain("planned write");
    expect(stderr).toContain("next: skillflow runs show r\n");
  });
});

describe("runs show", () => {
  it("shows the state of each operation, and who applied it when", async () => {
    const { cwd, apply } = await plannedRun({ title: "one" }, { title: "boom" }, { title: "500" }, { title: "four" });
    await apply("--approve", "op-1,op-2,op-3");
    const { stdout } = await runHere(["runs", "show", "r"], { cwd, env: bare });
    expect(stdout).toContain("4 planned writes: 1 planned, 1 applied, 1 failed, 1 in doubt\n");
    expect(stdout).toMatch(
      / {2}✔ op-1 {2}sink file: “one” {2}applied by kim@\S+, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n/,
    );
    expect(stdout).toMatch(/ {2}✘ op-2 .* {2}failed by kim@\S+, .* UTC: boom\n/);
    expect(stdout).toMatch(/ {2}\? op-3 .* {2}in doubt by kim@/);
    expect(stdout).toMatch(/ {2}○ op-4 {2}sink file: “four”\n/);
    expect(stdout).toContain("next: skillflow apply r\n");
  });
});

describe("a review on a terminal", () => {
  it("shows every operation before the prompt, even with --quiet", async () => {
    const { cwd } = await plannedRun({ title: "one" }, { title: "two" });
    const asked = await runHere(["apply", "r", "--quiet"], { cwd, env: bare, isTerminal: true, answers: ["n"] });
    expect(asked.stderr).toContain("title: one\n");
    expect(asked.stderr).toContain("title: two\n");
    const told = await runHere(["apply", "r", "--quiet", "--yes"], { cwd, env: bare, isTerminal: true });
    expect(told.stderr).not.toContain("title: one");
  });

  it("shows hidden characters of an input, and a text that looks like a number as a text", async () => {
    const { cwd } = await plannedRun({ title: "a\u202eb\u001b[31mc" }, { title: "12" });
    const { stderr } = await runHere(["apply", "r"], { cwd, env: bare, isTerminal: true, answers: ["n"] });
    expect(stderr).toContain("title: a⟨U+202E⟩b⟨U+001B⟩[31mc\n");
    expect(stderr).toContain('title: "12"\n');
  });
});

describe("apply --report", () => {
  it("writes the plan for review, applies nothing and does not prompt, without the skills' config", async () => {
    const { cwd, plan, written } = await plannedRun({ title: "one" }, { title: "two", link: "${op-1.url}" });
    const args = ["apply", "r", "--report", "md=plan.md", "--report", "html=plan.html", "--json"];
    const { code, stdout, stderr } = await runHere(args, {
      cwd,
      env: { NO_COLOR: "1" },
      isTerminal: true,
      answers: [],
    });
    expect([code, written()]).toEqual([0, []]);
    expect(toldBy(stdout)).toMatchObject({ schema: "skillflow.apply/1", exitCode: 0 });
    expect(statusesOf(toldBy(stdout))).toEqual(["not_approved", "not_approved"]);
    expect(stderr).toContain("written: plan.md, plan.html\nnext: skillflow apply r\n");
    const text = readFileSync(join(cwd, "plan.md"), "utf8");
    for (const { digest } of plan) expect(text).toContain(`- **Digest:** \`${digest}\``);
    expect(text).toContain('"link": "${op-1.url}"');
    expect(readFileSync(join(cwd, "plan.html"), "utf8")).toContain('<article class="operation" id="op-2">');
  });

  it("shows the results after an application", async () => {
    const { cwd, apply } = await plannedRun(
      { title: "boom" },
      { title: "two", link: "${op-1.url}" },
      { title: "three" },
    );
    expect((await apply("--yes", "--report", "md=plan.md")).code).toBe(1);
    const text = readFileSync(join(cwd, "plan.md"), "utf8");
    expect(text).toContain("3 planned writes, 1 applied, 1 failed, 1 skipped");
    expect(text).toMatch(/^- \*\*State:\*\* skipped: it refers to `?op-1`?, which was not applied$/m);
    expect(text).toMatch(/^- \*\*State:\*\* applied by `kim@\S+`, .* UTC\n- \*\*Link:\*\* `https:\/\/sink\/three`$/m);
  });

  it("accepts no other kind and no path that cannot be written", async () => {
    const { cwd, apply, written } = await plannedRun({ title: "one" });
    const { code, stderr } = await apply("--yes", "--report", "junit=plan.xml");
    expect([code, stderr]).toEqual([2, expect.stringContaining("KIND is one of md, html")]);
    expect((await apply("--yes", "--report", "md=/proc/nowhere/plan.md")).code).toBe(4);
    expect([written(), existsSync(join(cwd, "plan.xml"))]).toEqual([[], false]);
  });
});

describe("apply --json", () => {
  it("prints a document with the reason if it cannot start", async () => {
    const { cwd } = await plannedRun({ title: "one" });
    const { code, stdout } = await runHere(["apply", "r", "--yes", "--json"], { cwd, env: {} });
    expect([code, JSON.parse(stdout)]).toMatchObject([3, { run: null, status: "refused", exitCode: 3 }]);
    expect(JSON.parse((await runHere(["apply", "r", "--json"], { cwd, env: ENV })).stdout)).toMatchObject({
      schema: "skillflow.apply/1",
      exitCode: 2,
    });
  });
});

const TICKER = `
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { defineSkill, defineTool } from "skillflow";
let turns = 0;
const handler = (_input, { workDir, callId }) => {
  appendFileSync(join(workDir, "written.txt"), callId + "\\n");
  const heard = turns;
  setImmediate(() => (turns += 1));
  return { heard };
};
const input_schema = { type: "object", properties: { title: { type: "string" } } };
export default defineSkill({
  id: "sink", name: "Sink", description: "counts turns of the event loop", category: "general", config: {},
  tools: [defineTool({ name: "file", description: "counts", effect: "write", input_schema, handler })],
});
`;

describe("a plan of many writes", () => {
  it("is applied without blocking the event loop, so that signals are handled and no check times out", async () => {
    const script = scriptOf(["a", "b", "c"].map((title) => ({ title })));
    const cwd = makeProject({ "w.yml": WORKFLOW, "s.json": script, "skills/sink/skill.ts": TICKER });
    await runHere(RUN, { cwd, env: ENV });
    const { stdout } = await runHere(["apply", "r", "--yes", "--json"], { cwd, env: ENV });
    expect(toldBy(stdout).operations.map(({ result }) => result)).toEqual([{ heard: 0 }, { heard: 1 }, { heard: 2 }]);
  });

  it("is shown completely before the prompt, applied in one run, and resumed where it stopped", async () => {
    const count = LONG ? 1000 : 200;
    const titles = Array.from({ length: count }, (_, index) => `issue ${index}`);
    const turns = Array.from({ length: count / 50 }, (_, turn) => titles.slice(turn * 50, turn * 50 + 50));
    const calls = turns.map((some) => ({ calls: some.map((title) => ({ tool: "sink_file", input: { title } })) }));
    const cwd = makeProject({
      "w.yml": WORKFLOW,
      "s.json": { replies: [...calls, { text: "done" }] },
      "skills/sink/skill.ts": TICKER,
    });
    const ran = await runHere([...RUN, "--quiet"], { cwd, env: bare });
    expect(ran.code).toBe(0);
    const first = titles.slice(0, 50).map((_, index) => `op-${index + 1}`);
    await runHere(["apply", "r", "--approve", first.join(","), "--quiet"], { cwd, env: bare });
    const asked = await runHere(["apply", "r"], { cwd, env: bare, isTerminal: true, answers: ["y"] });
    expect(asked.code, asked.stderr.slice(-2000)).toBe(0);
    for (const title of [titles[50], titles.at(-1)]) expect(asked.stderr).toContain(`title: ${title}\n`);
    expect(asked.stderr).toContain(`? Apply ${count - 50} writes? [y/N, or op-1,op-2,…]`);
    expect(asked.stderr).toContain(`● ${count - 50} applied, 50 already applied\n`);
    const lines = readFileSync(join(cwd, "written.txt"), "utf8").trim().split("\n");
    expect([lines.length, new Set(lines).size]).toEqual([count, count]);
  }, 60_000);
});
