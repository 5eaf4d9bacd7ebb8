import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, resultOf } from "./program.ts";
import { ENV, linesOf, SINK, scriptOf } from "./sink.ts";

/** A user's decision for a waiting run. */

const ASKING = `
id: w
name: W
entry: each
nodes:
  each:
    name: Each
    map: { over: input.list, as: it, key: it }
    entry: ask
    nodes:
      ask: { name: Ask, approval: { ask: Go on? } }
      yes: { name: "Yes", instruction: It was agreed to. }
      no: { name: "No", instruction: It was not. }
    edges:
      - { from: ask, to: yes }
      - { from: ask, to: no, if: ask.approved = false }
edges: []
`;
const RUN = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r", "--input", '{"list":["a","b"]}'];

function project(workflow = ASKING) {
  return makeProject({ "w.yml": workflow, "s.json": { replies: [{ text: "one" }, { text: "two" }] } });
}

async function waitingRun(workflow = ASKING) {
  const cwd = project(workflow);
  const ended = await runHere([...RUN, "--json"], { cwd });
  return { cwd, ended, signal: (...args: string[]) => runHere(["signal", "r", ...args], { cwd, env: ENV }) };
}

describe("a run that reaches an approval", () => {
  it("ends as waiting, with 7, and shows the nodes, the time, and the questions", async () => {
    const { ended } = await waitingRun();
    expect(ended.code).toBe(7);
    const { status, exitCode, waiting, error } = resultOf(ended);
    expect({ status, exitCode, code: error?.code }).toEqual({ status: "waiting", exitCode: 7, code: "run.waiting" });
    const since = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(waiting).toEqual(["a", "b"].map((item) => ({ node: `each[${item}]/ask`, ask: "Go on?", since })));
  });

  it("has the verdict of its nodes so far, in its result and in the list", async () => {
    const cwd = makeProject({
      "w.yml":
        "id: w\nname: W\nentry: a\nverdict: a.v\nedges: [{ from: a, to: ask }]\nnodes:\n" +
        "  a: { name: A, instruction: Look., output: { type: object, properties: { v: { type: string } } } }\n  ask: { name: Ask, approval: { ask: Go on? } }\n",
      "s.json": { replies: [{ data: { v: "broken" } }] },
    });
    const ended = await runHere(["run", "w.yml", "--model", "script:s.json", "--json"], { cwd });
    expect([ended.code, resultOf(ended).verdict]).toEqual([7, "broken"]);
    const { stdout } = await runHere(["runs", "list", "--json"], { cwd });
    expect(JSON.parse(stdout).runs).toMatchObject([{ status: "waiting", verdict: "broken" }]);
  });

  it("still waits when it is resumed, and records nothing", async () => {
    const { cwd } = await waitingRun();
    const before = readEvents(cwd, "r");
    expect(await runHere(["resume", "r"], { cwd })).toMatchObject({ code: 7 });
    expect(readEvents(cwd, "r")).toEqual(before);
  });

  it("is not applied before a decision", async () => {
    const { cwd } = await waitingRun();
    const { code, stderr } = await runHere(["apply", "r", "--yes"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("skillflow signal r 'each[a]/ask' --approve");
  });
});

describe("signal", () => {
  it("records who decided what and why, and continues the run until it waits again, and to its end", async () => {
    const { cwd, signal } = await waitingRun();
    expect(await signal("each[a]/ask", "--approve", "--note", "go")).toMatchObject({ code: 7 });
    const { code, stdout } = await signal("each[b]/ask", "--deny", "--json");
    expect(code).toBe(0);
    const words = readEvents(cwd, "r").filter(({ type }) => type === "approval:given");
    expect(words).toMatchObject([
      { at: "each[a]", node: "ask", approved: true, by: expect.stringMatching(/^kim@/), note: "go" },
      { at: "each[b]", node: "ask", approved: false },
    ]);
    const items = JSON.parse(stdout).results.each.data.items;
    expect(items.map(({ data }: { data: { results: object } }) => Object.keys(data.results))).toEqual([
      ["ask", "yes"],
      ["ask", "no"],
    ]);
    expect(items[0].data.results.ask).toEqual({ approved: true, by: expect.stringMatching(/^kim@/), note: "go" });
  });

  it("only records the decision with --no-run, and resume continues the run", async () => {
    const { cwd, signal } = await waitingRun();
    const recorded = await signal("each[a]/ask", "--approve", "--no-run", "--json");
    expect([recorded.code, JSON.parse(recorded.stdout)]).toEqual([0, { run: "r" }]);
    expect(readEvents(cwd, "r").at(-1)).toMatchObject({ type: "approval:given", at: "each[a]", later: true });
    const { stdout } = await runHere(["runs", "list", "--json"], { cwd });
    expect(JSON.parse(stdout).runs).toMatchObject([{ id: "r", status: "waiting" }]);
    expect(await runHere(["resume", "r"], { cwd })).toMatchObject({ code: 7 });
    expect(readEvents(cwd, "r").at(-1)).toMatchObject({ status: "waiting", waiting: [{ node: "each[b]/ask" }] });
  });

  describe("of several pending decisions", () => {
    const BESIDE = ASKING.replace("over: input.list", "over: input.list, concurrency: 2");
    const said = (cwd: string) =>
      readEvents(cwd, "r").flatMap((event) => (event.type === "approval:given" ? [event] : []));

    it("accepts each alone, in any order, and resume continues with all", async () => {
      const { cwd, signal } = await waitingRun(BESIDE);
      expect(await signal("each[b]/ask", "--deny", "--no-run")).toMatchObject({ code: 0 });
      expect(await signal("each[b]/ask", "--approve", "--no-run")).toMatchObject({ code: 2 });
      expect(await signal("each[a]/ask", "--approve", "--no-run")).toMatchObject({ code: 0 });
      expect(await signal("each[a]/ask", "--approve")).toMatchObject({ code: 2 });
      expect(await runHere(["resume", "r"], { cwd })).toMatchObject({ code: 0 });
      expect(said(cwd)).toMatchObject([
        { at: "each[b]", approved: false },
        { at: "each[a]", approved: true },
      ]);
      const replayed = await runHere(["replay", "r", "--json"], { cwd });
      expect([replayed.code, JSON.parse(replayed.stdout).status]).toEqual([0, "succeeded"]);
      expect(await runHere(["runs", "verify", "r"], { cwd })).toMatchObject({ code: 0 });
    });

    it("continues with those so far once one is given without --no-run, or on resume", async () => {
      const { cwd, signal } = await waitingRun(BESIDE);
      await signal("each[b]/ask", "--approve", "--no-run");
      expect(await signal("each[a]/ask", "--approve")).toMatchObject({ code: 0 });
      const other = await waitingRun(BESIDE);
      await other.signal("each[b]/ask", "--approve", "--no-run");
      expect(await runHere(["resume", "r"], { cwd: other.cwd })).toMatchObject({ code: 7 });
      expect(readEvents(other.cwd, "r").at(-1)).toMatchObject({ waiting: [{ node: "each[a]/ask" }] });
      expect(await other.signal("each[a]/ask", "--approve")).toMatchObject({ code: 0 });
      expect(said(cwd)).toHaveLength(2);
    });

    it("applies nothing before the run has continued with them", async () => {
      const { cwd, signal } = await waitingRun(BESIDE);
      await signal("each[a]/ask", "--approve", "--no-run");
      await signal("each[b]/ask", "--approve", "--no-run");
      const { code, stderr } = await runHere(["apply", "r", "--yes"], { cwd });
      expect([code, stderr]).toEqual([2, expect.stringMatching(/has not ended\n {2}continue it first/)]);
    });
  });

  it.each([
    ["a second word", ["each[a]/ask", "--deny"], "is not waiting"],
    ["a node that waits for nothing", ["each[c]/ask", "--approve"], "did you mean each[a]/ask"],
    ["a node that is none", ["each[z]/nothing", "--approve"], "each[z]/nothing"],
    ["no word", ["each[a]/ask"], "exactly one of --approve and --deny"],
    ["both words", ["each[a]/ask", "--approve", "--deny"], "exactly one of --approve and --deny"],
  ])("decides nothing and records nothing with %s", async (what, args, said) => {
    const { cwd, signal } = await waitingRun();
    if (what === "a second word") await signal("each[a]/ask", "--approve");
    const before = readEvents(cwd, "r");
    const { code, stderr } = await signal(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
    expect(readEvents(cwd, "r")).toEqual(before);
  });

  it("names who already decided, once nothing waits", async () => {
    const { signal } = await waitingRun(ASKING.replace("over: input.list", "over: input.list, max_items: 1"));
    expect(await signal("each[a]/ask", "--approve")).toMatchObject({ code: 0 });
    const { code, stderr } = await signal("each[a]/ask", "--deny");
    expect(code).toBe(2);
    expect(stderr).toMatch(/approved by kim@/);
  });

  it.each([[[]], [["--no-run"]]])("removes secrets from the recorded decision, with %j too", async (flags) => {
    const { cwd } = await waitingRun();
    const env = { ...ENV, PAGER_TOKEN: "canary-0123456789" };
    const said = ["signal", "r", "each[a]/ask", "--approve", "--note", "with canary-0123456789"];
    await runHere([...said, ...flags], { cwd, env });
    const words = readEvents(cwd, "r").filter(({ type }) => type === "approval:given");
    expect(words).toMatchObject([{ note: "with [redacted:PAGER_TOKEN]" }]);
  });

  it("does not continue a run whose record was altered", async () => {
    const { cwd, signal } = await waitingRun();
    const file = join(cwd, ".skillflow/runs/r.jsonl");
    writeFileSync(file, readFileSync(file, "utf8").replace("Go on?", "Go in?"));
    const { code, stderr } = await signal("each[a]/ask", "--approve");
    expect(code).toBe(4);
    expect(stderr).toContain("line");
  });

  it("is too late after the timeout: resume continues without it, as on_timeout requires", async () => {
    const late = ASKING.replace("ask: Go on?", "ask: Go on?, timeout: 1ms, on_timeout: deny").replace(
      "over: input.list",
      "over: input.list, max_items: 1",
    );
    const { cwd, signal } = await waitingRun(late);
    const { code, stderr } = await signal("each[a]/ask", "--approve");
    expect(code).toBe(2);
    expect(stderr).toContain("too late");
    expect(await runHere(["resume", "r", "--json"], { cwd })).toMatchObject({ code: 0 });
    const words = readEvents(cwd, "r").filter(({ type }) => type === "approval:given");
    expect(words).toMatchObject([{ by: "timeout", approved: false, late: true }]);
  });
});

const PLANNING = `
id: w
name: W
entry: a
writes: plan
nodes:
  a: { name: A, instruction: File it., skills: [sink] }
  ask: { name: Ask, approval: { ask: File these?, of: plan } }
  b: { name: B, instruction: File more., skills: [sink] }
edges:
  - { from: a, to: ask }
  - { from: ask, to: b, if: ask.approved = true }
`;

describe("an approval of the plan", () => {
  async function planned(word: string) {
    const { replies } = scriptOf([{ title: "one" }, { title: "two" }]);
    const script = { replies: [...replies, ...scriptOf([{ title: "three" }]).replies] };
    const cwd = makeProject({ "w.yml": PLANNING, "s.json": script, "skills/sink/skill.ts": SINK });
    const run = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r"];
    expect(await runHere(run, { cwd, env: ENV })).toMatchObject({ code: 7 });
    expect(await runHere(["signal", "r", "ask", word], { cwd, env: ENV })).toMatchObject({ code: 0 });
    return { cwd, apply: () => runHere(["apply", "r", "--json"], { cwd, env: ENV }) };
  }

  it("is applied without another prompt, and exactly as approved: operations planned later need a new approval", async () => {
    const { cwd, apply } = await planned("--approve");
    const { code, stdout, stderr } = await apply();
    expect(code).toBe(0);
    expect(stderr).toMatch(/approved during the run by kim@.*: op-1, op-2/);
    const told = JSON.parse(stdout).operations as { id: string; status: string }[];
    expect(told.map(({ id, status }) => `${id} ${status}`)).toEqual([
      "op-1 applied",
      "op-2 applied",
      "op-3 not_approved",
    ]);
    expect(linesOf(cwd)).toHaveLength(2);
    expect(await apply()).toMatchObject({ code: 2 });
    expect(linesOf(cwd)).toHaveLength(2);
  });

  it("that was denied is not applied, also with --yes", async () => {
    const { cwd, apply } = await planned("--deny");
    expect(await apply()).toMatchObject({ code: 2, stderr: expect.stringContaining("the plan was denied by kim@") });
    expect((await runHere(["runs", "show", "r"], { cwd })).stdout).not.toContain("skillflow apply");
    const all = await runHere(["apply", "r", "--yes", "--json"], { cwd, env: ENV });
    expect([all.code, JSON.parse(all.stdout).operations]).toMatchObject([
      1,
      [{ status: "refused" }, { status: "refused" }],
    ]);
    const { rows } = JSON.parse((await runHere(["stats", "--json"], { cwd })).stdout);
    expect(rows).toMatchObject([{ planned: 2, applied: 0, rejected: 2 }]);
    expect(linesOf(cwd)).toEqual([]);
  });

  it("is not applied while a line of the feedback, which may be a denial, cannot be read", async () => {
    const { cwd, apply } = await planned("--approve");
    const path = join(cwd, ".skillflow/state/_feedback.jsonl");
    expect((await runHere(["feedback", "r", "right"], { cwd, env: ENV })).code).toBe(0);
    const kept = readFileSync(path, "utf8");
    writeFileSync(path, `${kept}{"kind": "withdr\n`);
    expect(await apply()).toMatchObject({ code: 4, stderr: expect.stringContaining("may be a denial") });
    expect(linesOf(cwd)).toEqual([]);
    writeFileSync(path, kept);
    expect(await apply()).toMatchObject({ code: 0 });
  });

  it("is not applied by itself once a later decision has denied it", async () => {
    const twice = PLANNING.replace(
      "b: { name: B, instruction: File more., skills: [sink] }",
      "b: { name: B, approval: { ask: Sure?, of: plan } }",
    );
    const cwd = makeProject({ "w.yml": twice, "s.json": scriptOf([{ title: "one" }]), "skills/sink/skill.ts": SINK });
    const here = (...args: string[]) => runHere(args, { cwd, env: ENV });
    expect(await here("run", "w.yml", "--model", "script:s.json", "--run-id", "r")).toMatchObject({ code: 7 });
    expect(await here("signal", "r", "ask", "--approve")).toMatchObject({ code: 7 });
    expect(await here("signal", "r", "b", "--deny")).toMatchObject({ code: 0 });
    expect(await here("apply", "r", "--json")).toMatchObject({ code: 2 });
    expect(linesOf(cwd)).toEqual([]);
  });
});
