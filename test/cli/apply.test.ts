import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { type Operation, type Plan, planDigest } from "../../src/core/engine/event/operation.ts";
import { lock } from "../../src/stores/lock.ts";
import { runHere } from "./in-process.ts";
import { forgedRecord, makeProject, runFile, runProgram } from "./program.ts";
import { ENV, linesOf, plannedRun, SINK, scriptOf, statusesOf, toldBy, WORKFLOW } from "./sink.ts";

/** Planned writes, reviewed and applied. */

describe("apply", () => {
  it("carries out approved operations once, with the digest as the call's id, and stores the results in the run", async () => {
    const { plan, apply, written, cwd } = await plannedRun({ title: "one" }, { title: "two", link: "${op-1.url}" });
    const first = await apply("--yes");
    expect(first.code).toBe(0);
    expect(first.told).toMatchObject({ exitCode: 0, run: "r", schema: "skillflow.apply/1" });
    expect(statusesOf(first.told)).toEqual(["applied", "applied"]);
    expect(written()).toEqual([
      `${plan[0]?.digest} {"title":"one"}`,
      `${plan[1]?.digest} {"title":"two","link":"https://sink/one"}`,
    ]);
    const again = await apply("--yes");
    expect([again.code, statusesOf(again.told)]).toEqual([0, ["already_applied", "already_applied"]]);
    expect(again.told.operations[0]?.result).toEqual({ url: "https://sink/one", number: 7 });
    expect((await runHere(["runs", "show", "r"], { cwd, env: ENV })).stdout).toContain("https://sink/one");
    expect(written()).toHaveLength(2);
    expect(readFileSync(runFile(cwd, "r"), "utf8")).toContain('"by":"kim@');
  });

  it("does not prompt without a terminal, shows the plan and does nothing", async () => {
    const { apply, written } = await plannedRun({ title: "one" });
    const { code, stderr, told } = await apply();
    expect(code).toBe(2);
    expect(stderr).toContain("sink file: “one”");
    expect(stderr).toMatch(/--yes.*--approve op-1\n/);
    expect(statusesOf(told)).toEqual(["not_approved"]);
    expect(written()).toEqual([]);
  });

  it.each([
    ["y", ["applied", "applied"]],
    ["op-2", ["not_approved", "applied"]],
    ["no", ["not_approved", "not_approved"]],
    ["", ["not_approved", "not_approved"]],
  ])("prompts the user at a terminal, who answers %j", async (answer, statuses) => {
    const { cwd } = await plannedRun({ title: "one" }, { title: "two" });
    const screen = { cwd, env: ENV, isTerminal: true, answers: [answer] };
    const { stdout, stderr, code } = await runHere(["apply", "r", "--json"], screen);
    expect([statusesOf(toldBy(stdout)), code]).toEqual([statuses, 0]);
    const shown = stripVTControlCharacters(stderr);
    expect([shown.includes(" · run r · apply\n"), / · 1 of 2 · \d+ ms/.test(shown)]).toEqual([true, true]);
  });

  it("accepts approvals by operation and by digest, and nothing else", async () => {
    const { cwd, plan, apply, written } = await plannedRun({ title: "one" }, { title: "two" });
    const digest = plan[1]?.digest ?? "";
    for (const wrong of [`op-2@${"f".repeat(32)}`, "op-9", `op-2@${digest.slice(0, 31)}`, `op-2@${digest}0`, "two"]) {
      expect((await apply("--approve", wrong)).code).toBe(2);
    }
    expect((await apply("--yes", "--plan-digest", digest)).code).toBe(2);
    expect((await apply("--yes", "--plan-digest", planDigest(plan).slice(0, 31))).code).toBe(2);
    for (const ci of [
      { CI: "true" },
      { CI: "false", GITLAB_CI: "true" },
      { JENKINS_URL: "https://ci.example" },
      { BUILD_ID: "7" },
    ]) {
      for (const args of [
        ["--approve", `op-2@${digest.slice(0, 63)}`],
        ["--yes", "--plan-digest", planDigest(plan).slice(0, 63)],
      ]) {
        const short = await runHere(["apply", "r", ...args], { cwd, env: { ...ENV, ...(ci as object) } });
        expect([short.code, short.stderr]).toEqual([
          2,
          expect.stringContaining("is not a digest with 64 hexadecimal digits"),
        ]);
      }
    }
    expect(written()).toEqual([]);
    const { told } = await apply(
      "--approve",
      `op-2@${digest.slice(0, 32)}`,
      "--plan-digest",
      planDigest(plan).slice(0, 32),
    );
    expect(statusesOf(told)).toEqual(["not_approved", "applied"]);
    expect(written()).toHaveLength(1);
  });

  it("continues after a failure with operations that do not depend on it, and the failed one can be applied again", async () => {
    const { apply, written } = await plannedRun(
      { title: "boom" },
      { title: "two", link: "${op-1.url}" },
      { title: "three" },
    );
    const first = await apply("--yes");
    expect(first.code).toBe(1);
    expect(statusesOf(first.told)).toEqual(["failed", "skipped", "applied"]);
    expect(first.stderr).toContain("try again: skillflow apply r");
    expect(statusesOf((await apply("--yes")).told)).toEqual(["failed", "skipped", "already_applied"]);
    expect(written()).toHaveLength(1);
  });

  it("refuses an input that does not fit its schema once references are resolved", async () => {
    const { cwd, apply, written } = await plannedRun(
      { title: "one" },
      { title: "two", count: "${op-1.url}" },
      { title: "three", link: "${op-1.nothing}" },
      { title: "four", count: "${op-1.number}" },
    );
    const { told, stderr } = await apply("--yes");
    expect(statusesOf(told)).toEqual(["applied", "refused", "refused", "applied"]);
    expect(stderr).toContain("2 applied, 2 refused\n");
    expect(told.operations[2]?.error).toContain("${op-1.nothing}");
    expect(written()).toHaveLength(2);
    const { stdout } = await runHere(["runs", "show", "r"], { cwd, env: ENV });
    expect(stdout).toContain("4 planned writes: 2 applied, 2 refused\n");
    expect(stdout).toMatch(/op-3 .*refused by .*: \$\{op-1.nothing\}/);
  });

  it("needs only the config of the operations' skills, and no model: exit 3 before anything is written", async () => {
    const { cwd, written } = await plannedRun({ title: "one" });
    const bare = await runHere(["apply", "r", "--yes"], { cwd, env: { SKILLFLOW_TRUST_SKILL: "sink" } });
    expect([bare.code, written()]).toEqual([3, []]);
    expect(bare.stderr).toContain("SINK_TOKEN");
    expect(bare.stderr).not.toContain("the other operations");
    const untrusted = await runHere(["apply", "r", "--yes"], { cwd, env: { SINK_TOKEN: "a-token-of-the-sink" } });
    expect([untrusted.code, written()]).toEqual([3, []]);
  });

  it.each(["outside of the checkout", "in it"])(
    "is stopped by writes: deny of the operator's file %s",
    async (where) => {
      const { cwd, written } = await plannedRun({ title: "one" });
      const home = where === "in it" ? join(cwd, "home") : makeProject();
      mkdirSync(join(home, ".config/skillflow"), { recursive: true });
      writeFileSync(join(home, ".config/skillflow/config.yml"), "writes: deny");
      const denied = await runHere(["apply", "r", "--yes"], { cwd, env: { ...ENV, HOME: home } });
      expect([denied.code, written()]).toEqual([2, []]);
    },
  );

  it("refuses the plan of a run that was altered in its record", async () => {
    const { cwd, apply, written } = await plannedRun({ title: "one" });
    const file = runFile(cwd, "r");
    writeFileSync(file, readFileSync(file, "utf8").replaceAll('{"title":"one"}', '{"title":"ten"}'));
    expect([(await apply("--yes")).code, written()]).toEqual([4, []]);
  });

  it("reports an operation as in doubt when its sink may have done it, and never repeats it", async () => {
    const { apply, written } = await plannedRun({ title: "500" }, { title: "two", link: "${op-1.url}" });
    expect(statusesOf((await apply("--yes")).told)).toEqual(["in_doubt", "skipped"]);
    const again = await apply("--yes", "--trust-skill", "sink");
    expect([again.code, statusesOf(again.told)]).toEqual([1, ["in_doubt", "skipped"]]);
    expect(again.told.operations[0]?.error).toContain("its outcome is unknown");
    expect(again.stderr).toMatch(
      /has op-1, then answer: skillflow apply r --trust-skill sink .*--resolve op-1=applied, or op-1=not-applied\n/,
    );
    expect(again.stderr).toMatch(/try the others again: skillflow apply r/);
    expect(written()).toHaveLength(1);
  });

  it("accepts the user's decision about an operation in doubt", async () => {
    const { apply, written } = await plannedRun({ title: "500" });
    await apply("--yes");
    expect((await apply("--yes", "--resolve", "op-2=applied")).code).toBe(2);
    const done = await apply("--yes", "--resolve", "op-1=applied");
    expect([done.code, statusesOf(done.told), written().length]).toEqual([0, ["already_applied"], 1]);
    expect((await apply("--yes", "--resolve", "op-1=applied")).code).toBe(2);
  });

  it("repeats a call to a sink that recognizes its calls, and finds what it did", async () => {
    const { apply, written } = await plannedRun({ tool: "put", title: "500" });
    expect(statusesOf((await apply("--yes")).told)).toEqual(["failed"]);
    const again = await apply("--yes");
    expect(again.told.operations).toMatchObject([{ status: "already_applied", existing: true }]);
    expect(written()).toHaveLength(1);
  });

  it("finds at the sink what another run's plan has written, and writes it again only on request", async () => {
    const { cwd, apply, written } = await plannedRun({ tool: "put", title: "one" });
    await apply("--yes");
    const run = (id: string) => ["run", "w.yml", "--model", "script:s.json", "--run-id", id, "--json"];
    await runHere(run("r2"), { cwd, env: ENV });
    const second = await runHere(["apply", "r2", "--yes", "--json"], { cwd, env: ENV });
    expect(toldBy(second.stdout).operations).toMatchObject([
      { status: "already_applied", existing: true, result: { url: "https://sink/one" } },
    ]);
    await runHere(run("r3"), { cwd, env: ENV });
    const anew = await runHere(["apply", "r3", "--yes", "--again", "--json"], { cwd, env: ENV });
    expect([statusesOf(toldBy(anew.stdout)), written().length]).toEqual([["applied"], 2]);
  });

  it("does not apply the plan of a replay, or of a run that has not ended", async () => {
    const { cwd, written } = await plannedRun({ title: "one" });
    await runHere(["replay", "r", "--run-id", "p"], { cwd, env: ENV });
    const ofReplay = await runHere(["apply", "p", "--yes"], { cwd, env: ENV });
    expect([ofReplay.code, ofReplay.stderr]).toEqual([2, expect.stringContaining("replay")]);
    const file = runFile(cwd, "r");
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    writeFileSync(file, `${lines.slice(0, -1).join("\n")}\n`);
    const unended = await runHere(["apply", "r", "--yes"], { cwd, env: ENV });
    expect([unended.code, unended.stderr]).toEqual([2, expect.stringContaining("skillflow resume r")]);
    const self = { pid: process.pid, host: hostname(), started: "" };
    const unlock = lock(file.replace(/jsonl$/, "lock"), "run r is being driven", { self, isAlive: () => true });
    const driven = await runHere(["apply", "r", "--yes"], { cwd, env: ENV });
    unlock();
    expect([driven.code, driven.stderr]).toEqual([
      4,
      expect.stringMatching(/run r is being driven by process \d+ on .*\n.*if that machine is gone, delete .*r\.lock/),
    ]);
    expect(written()).toEqual([]);
  });
});

describe("a skill that lacks its config", () => {
  const BARE = { SKILLFLOW_TRUST_SKILL: "sink" };
  const project = () =>
    makeProject({ "w.yml": WORKFLOW, "s.json": scriptOf([{ title: "one" }]), "skills/sink/skill.ts": SINK });
  const RUN = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r", "--json", "--require-skills"];

  it("still has its writing tools if writes are planned, and nothing is degraded", async () => {
    const cwd = project();
    const { stdout, stderr, code } = await runHere(RUN, { cwd, env: BARE });
    const result = JSON.parse(stdout) as { plan: Operation[]; degraded: unknown[] };
    expect([code, result.plan.length, result.degraded]).toEqual([0, 1, []]);
    expect(stderr).toMatch(/cannot read.*: sink \(SINK_TOKEN is not set\)/);
    const told = await runHere(["apply", "r", "--yes"], { cwd, env: ENV });
    expect([told.code, linesOf(cwd).length]).toEqual([0, 1]);
  });

  it("is reported before any prompt, with everything that is missing", async () => {
    const flow = WORKFLOW.replace("[sink]", "[sink, notification, linear]").replace("entry:", "skills: {}\nentry:");
    const comment = { tool: "linear_add_comment", input: { issue: "A-1", body: "text" } };
    const script = { replies: [...scriptOf([{ title: "one" }, { title: "two" }]).replies] };
    script.replies.splice(0, 0, { calls: [comment] } as never);
    const cwd = makeProject({ "w.yml": flow, "s.json": script, "skills/sink/skill.ts": SINK });
    await runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r"], { cwd, env: BARE });
    const screen = { cwd, env: BARE, isTerminal: true, answers: ["y"] };
    const { code, stderr } = await runHere(["apply", "r"], screen);
    expect(code).toBe(3);
    expect(stderr).not.toContain("[y/N");
    expect(stderr).toMatch(/op-1 needs the skill linear: LINEAR_API_KEY is not set/);
    expect(stderr).toMatch(/op-2, op-3 need\s+the skill sink: SINK_TOKEN is not set/);
    expect(linesOf(cwd)).toEqual([]);
  });

  it("is reported by doctor as able to plan, and nothing is missing", async () => {
    const { stdout, code } = await runHere(["doctor", "w.yml", "--json"], { cwd: project(), env: BARE });
    const { skills } = JSON.parse(stdout) as { skills: { state: string; reason: string }[] };
    expect([code, skills]).toEqual([
      0,
      [expect.objectContaining({ state: "plannable", reason: "SINK_TOKEN is not set" })],
    ]);
  });

  it("is left out if writes are carried out", async () => {
    const { code } = await runHere([...RUN, "--writes", "allow"], { cwd: project(), env: BARE });
    expect(code).toBe(3);
  });
});

describe("a plan's file", () => {
  async function withFile(change: (plan: Plan) => unknown) {
    const run = await plannedRun({ title: "one" }, { title: "two" });
    const { cwd, plan: operations } = run;
    const { sha256 } = await import("../../src/core/base/sha256.ts");
    const plan: Plan = {
      schema: "skillflow.plan/1",
      run: "r",
      workflow: "w",
      created: "2026-01-01T00:00:00.000Z",
      digest: sha256(operations.map(({ digest }) => digest).join("")),
      operations,
    };
    writeFileSync(join(cwd, "plan.json"), JSON.stringify(change(plan)));
    const { code, stderr } = await runHere(["apply", "plan.json", "--yes"], { cwd, env: ENV });
    return { code, stderr, written: run.written() };
  }

  it("identifies the run that it names", async () => {
    expect(await withFile((plan) => plan)).toMatchObject({ code: 0, written: { length: 2 } });
  });

  it.each<[string, (plan: Plan) => unknown, number]>([
    ["an input changed", (plan) => edited(plan, { input: { title: "evil" } }), 4],
    ["a summary changed", (plan) => edited(plan, { summary: "harmless" }), 4],
    ["an operation taken out", (plan) => ({ ...plan, operations: plan.operations.slice(1) }), 4],
    ["its digest changed", (plan) => ({ ...plan, digest: "0".repeat(64) }), 4],
    ["another run named", (plan) => ({ ...plan, run: "other" }), 2],
    ["no plan in it", () => ({ hello: "world" }), 2],
  ])("is refused with %s", async (_, change, exit) => {
    expect(await withFile(change)).toMatchObject({ code: exit, written: [] });
  });

  function edited(plan: Plan, change: Partial<Operation>): Plan {
    return { ...plan, operations: plan.operations.map((operation) => ({ ...operation, ...change })) };
  }
});

describe("a process that is killed while it applies", () => {
  const APPLY = ["apply", "r", "--yes", "--json"];

  it.each(["die first", "die after"])("never repeats what it may have done (%s)", async (title) => {
    const { cwd, apply, written } = await plannedRun({ title }, { title: "two" });
    const { signal } = await runProgram(APPLY, { cwd, env: ENV });
    expect(signal).toBe("SIGKILL");
    const before = written();
    const { told, code } = await apply("--yes");
    expect([code, statusesOf(told)]).toEqual([1, ["in_doubt", "applied"]]);
    expect(written()).toHaveLength(before.length + 1);
  });

  it.each(["die first", "die after"])("finds what it did if the sink recognizes its calls (%s)", async (title) => {
    const { cwd, apply, written } = await plannedRun({ tool: "put", title });
    await runProgram(APPLY, { cwd, env: ENV });
    expect((await apply("--yes")).code).toBe(0);
    expect(written().filter((line) => line !== "died")).toHaveLength(1);
  });

  it("is resumed after any of its records, and nothing is written twice", async () => {
    const whole = await plannedRun({ title: "one" }, { title: "two", link: "${op-1.url}" }, { title: "three" });
    const file = runFile(whole.cwd, "r");
    const planned = readFileSync(file, "utf8");
    await whole.apply("--yes");
    const records = readFileSync(file, "utf8").slice(planned.length).trimEnd().split("\n");
    expect(records).toHaveLength(6);
    for (let kept = 0; kept <= records.length; kept += 2) {
      writeFileSync(
        file,
        planned +
          records
            .slice(0, kept)
            .map((line) => `${line}\n`)
            .join(""),
      );
      writeFileSync(join(whole.cwd, "written.txt"), "x\n".repeat(kept / 2));
      const { code } = await whole.apply("--yes");
      expect([code, whole.written().length]).toEqual([0, 3]);
    }
  });
});

describe("a record", () => {
  const plannedInput = /("type":"operation:planned".*?"input":\{"title":)"one"/;
  const verify = (cwd: string) => runHere(["runs", "verify", "r", "--json"], { cwd, env: ENV });

  it("is valid together with what was applied of its plan", async () => {
    const { apply, cwd } = await plannedRun({ title: "one" });
    const before = JSON.parse((await verify(cwd)).stdout);
    await apply("--yes");
    const after = JSON.parse((await verify(cwd)).stdout);
    expect([before.ok, after.ok, before.digest === after.digest]).toEqual([true, true, false]);
  });

  it("that was altered, or has no digests, is not applied", async () => {
    const unsealed = (text: string) => text.replace(/(?:,"record":"\w{64}")?(?:,"seal":"\w{64}")?\}$/gm, "}");
    for (const [change, why] of [
      [(text: string) => text.replace(plannedInput, '$1"two"'), "was altered: line"],
      [unsealed, "is unchained"],
    ] as const) {
      const { apply, written, cwd } = await plannedRun({ title: "one" });
      writeFileSync(runFile(cwd, "r"), change(readFileSync(runFile(cwd, "r"), "utf8")));
      const refused = await runHere(["apply", "r", "--yes"], { cwd, env: ENV });
      expect(refused.code).toBe(4);
      expect(refused.stderr).toContain(why);
      expect((await apply("--yes")).code).toBe(4);
      expect(written()).toEqual([]);
    }
  });

  it("that was rewritten with another operation than its digest states is not valid", async () => {
    const { cwd } = await plannedRun({ title: "one" });
    const forged = forgedRecord(readFileSync(runFile(cwd, "r"), "utf8").replace(plannedInput, '$1"two"'));
    writeFileSync(runFile(cwd, "r"), forged);
    const { code, stdout } = await verify(cwd);
    expect(code).toBe(4);
    expect(JSON.parse(stdout).problems).toMatchObject([{ what: "the operation op-1 does not match its digest" }]);
  });
});
