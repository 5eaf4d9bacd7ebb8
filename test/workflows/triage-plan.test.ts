import type { ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect } from "vitest";
import { runHere } from "../cli/in-process.ts";
import { type Ended, makeProject, readEvents, resultOf, runFile, runProgram } from "../cli/program.ts";
import { statusesOf, toldBy } from "../cli/sink.ts";
import { LONG, oneOf, sliceOf } from "../harness/long.ts";
import {
  COMMIT,
  closeWorlds,
  createReaper,
  expectNoSecrets,
  filingTurns,
  makeDesk,
  type OnWrite,
  READING,
  runOf,
  startWorld,
  TRACKERS,
  type Tracker,
  trackers,
  type World,
  WRITING,
} from "./triage-world.ts";

const it = oneOf(4);

/**
 * The triage workflow as shipped: one process finds the cause, plans an issue and a message and has no credential that
 * writes. Another applies them, and has no model.
 */

const TITLE = "checkout: declined payments leak connections";

afterEach(closeWorlds);

/** Environment of the process that calls the model: no channel, and only reading credentials of trackers. */
function analysing(world: World, tracker: Tracker): Record<string, string> {
  return { ...world.places, ...READING, ...TRACKERS[tracker].reading };
}

/** Environment of the process that writes: the plan's tracker and channel, and no model. */
function writing({ places, webhook }: World, tracker: Tracker): Record<string, string> {
  const { OPENAI_BASE_URL: _model, ...rest } = places;
  const { SLACK_BOT_TOKEN, GITHUB_TOKEN, LINEAR_API_KEY } = WRITING;
  const channel = { SLACK_BOT_TOKEN, SLACK_WEBHOOK_URL: webhook };
  return tracker === "linear" ? { ...rest, ...channel, LINEAR_API_KEY } : { ...rest, ...channel, GITHUB_TOKEN };
}

function expectNothingWritten(world: World): void {
  const written = [...trackers.flatMap((at) => [...world.issues(at), ...world.comments(at)]), ...world.messages];
  expect(written).toEqual([]);
}

describe.each(sliceOf(trackers))("a triage that files at %s", (tracker) => {
  it("plans without a credential that writes, and a process without a model writes it once", async () => {
    const cwd = makeDesk();
    const reading = [...Object.values(READING), ...Object.values(TRACKERS[tracker].reading)];
    const world = await startWorld({ turns: filingTurns(TITLE), leak: reading });
    const analysed = await runHere(runOf("r"), { cwd, env: analysing(world, tracker) });
    expect(analysed.code, analysed.stderr).toBe(0);
    const { plan, trace } = resultOf(analysed);
    expect(trace.steps.map((step) => step.node)).toEqual(["look", "investigate", "file", "link"]);
    expect(plan).toMatchObject([
      { id: "op-1", node: "file", skill: tracker, tool: "create_issue", input: { title: TITLE }, refers: [] },
      { id: "op-2", node: "link", skill: "slack", tool: "send_message", refers: ["op-1"] },
    ]);
    expect(plan.every(({ sources }) => sources.some(({ ref }) => ref === "input"))).toBe(true);
    expectNothingWritten(world);
    const asked = world.model.bodies.length;

    const apply = ["apply", "out/plan.json", "--yes", "--json"];
    const applied = await runProgram(apply, { cwd, env: writing(world, tracker) });
    expect([applied.code, statusesOf(toldBy(applied.stdout))], applied.stderr).toEqual([0, ["applied", "applied"]]);
    expect(world.issues(tracker)).toEqual([TITLE]);
    expect(world.messages).toHaveLength(1);
    expect(world.messages[0]?.text).toMatch(TRACKERS[tracker].link);
    expect(world.messages[0]?.text).toContain(COMMIT);

    const again = await runHere(apply, { cwd, env: writing(world, tracker) });
    expect([again.code, statusesOf(toldBy(again.stdout))]).toEqual([0, ["already_applied", "already_applied"]]);
    expect([world.issues(tracker).length, world.messages.length]).toEqual([1, 1]);
    expect([world.model.bodies.length, world.refusals()]).toEqual([asked, []]);
    expectNoSecrets(cwd, [analysed, applied, again], world, [...reading, ...Object.values(WRITING)]);
  });

  it("finds the first issue when the same cause is triaged again with other words", async () => {
    const cwd = makeDesk();
    const turns = [TITLE, "Orders fail since v1.14.0"].flatMap(filingTurns);
    const world = await startWorld({ turns });
    for (const run of ["first", "second"]) {
      const { code, stderr } = await runHere(runOf(run), { cwd, env: analysing(world, tracker) });
      expect(code, stderr).toBe(0);
    }
    const outcomes = [];
    for (const run of ["first", "second"]) {
      const told = await runHere(["apply", run, "--yes", "--json"], { cwd, env: writing(world, tracker) });
      outcomes.push(toldBy(told.stdout).operations[0]);
    }
    const url = expect.stringMatching(TRACKERS[tracker].link);
    expect(outcomes).toMatchObject([
      { status: "applied", result: { url } },
      { status: "already_applied", existing: true, result: { url } },
    ]);
    expect(world.issues(tracker)).toEqual([TITLE]);
    const links = world.messages.map(({ text = "" }) => TRACKERS[tracker].link.exec(text)?.[0]);
    expect([links.length, new Set(links).size]).toEqual([2, 1]);
  });
});

describe("the plan of the triage's own script, made without any key", () => {
  const SCRIPTED = [
    ...["run", "workflows/incident-triage.yml", "--run-id", "r", "--json", "--no-discover", "--out", "out"],
    ...["--input", "@workflows/incidents/checkout-5xx/alert.json"],
    ...["--model", "script:workflows/incident-triage.script.yml"],
  ];
  const APPLY = ["apply", "r", "--yes", "--json"];

  let planned: Promise<string> | undefined;
  /** The record of such a run. */
  function recordOfPlan(): Promise<string> {
    planned ??= (async () => {
      const cwd = makeDesk();
      writeFileSync(join(cwd, ".skillflow.yml"), "skills: { disabled: [linear] }\n");
      const { code, stderr } = await runHere(SCRIPTED, { cwd });
      expect(code, stderr).toBe(0);
      return readFileSync(runFile(cwd, "r"), "utf8");
    })();
    return planned;
  }

  async function makePlanned(onWrite?: OnWrite) {
    const world = await startWorld(onWrite ? { onWrite } : {});
    const cwd = makeProject();
    mkdirSync(dirname(runFile(cwd, "r")), { recursive: true });
    writeFileSync(runFile(cwd, "r"), await recordOfPlan());
    const env = writing(world, "github");
    const apply = async (...args: string[]) => {
      const ended = await runHere([...APPLY, ...args], { cwd, env });
      return { ...ended, statuses: statusesOf(toldBy(ended.stdout)) };
    };
    return { world, cwd, env, apply, written: () => [world.issues("github").length, world.messages.length] };
  }

  it("is an issue and a message that refers to it", async () => {
    const { apply, written, world } = await makePlanned();
    expect(await apply()).toMatchObject({ code: 0, statuses: ["applied", "applied"] });
    expect(written()).toEqual([1, 1]);
    expect(world.messages[0]?.text).toMatch(TRACKERS.github.link);
  });

  it("leaves out what .skillflow.yml disables", async () => {
    const cwd = makeDesk();
    writeFileSync(join(cwd, ".skillflow.yml"), "skills: { disabled: [github, linear, slack] }\n");
    const { code, stdout } = await runHere(SCRIPTED, { cwd });
    const { plan, trace } = resultOf({ stdout } as Ended);
    expect([code, plan]).toEqual([0, []]);
    expect(trace.steps.map(({ node }) => node)).toEqual(["look", "investigate", "file", "tell"]);
    expect(readEvents(cwd, "r").findLast(({ type }) => type === "node:exit")).toMatchObject({
      result: { data: {}, toolCalls: [] },
    });
  });

  it("needs credentials that write: without them nothing is applied, and the variable is named", async () => {
    const { cwd, written } = await makePlanned();
    const bare = await runHere(APPLY, { cwd });
    expect([bare.code, written()]).toEqual([3, [0, 0]]);
    expect(bare.stderr).toMatch(/GITHUB_TOKEN|SLACK_WEBHOOK_URL/);
  });

  describe("when the process that applies it is killed", () => {
    it.each(sliceOf(["arrived", "lost"] as const))("while the issue is filed (%s), files one", async (fate) => {
      const { onStart, onWrite } = createReaper("issue", fate);
      const { cwd, env, apply, written } = await makePlanned(onWrite);
      expect((await runProgram(APPLY, { cwd, env, onStart })).signal).toBe("SIGKILL");
      await expect.poll(written).toEqual([fate === "arrived" ? 1 : 0, 0]);
      const status = fate === "arrived" ? "already_applied" : "applied";
      expect(await apply()).toMatchObject({ code: 0, statuses: [status, "applied"] });
      expect(written()).toEqual([1, 1]);
    });

    it.each(sliceOf(["arrived", "lost"] as const))(
      "while the message is sent (%s), asks a user whether it was sent",
      async (fate) => {
        const { onStart, onWrite } = createReaper("message", fate);
        const { cwd, env, apply, written } = await makePlanned(onWrite);
        expect((await runProgram(APPLY, { cwd, env, onStart })).signal).toBe("SIGKILL");
        const isThere = fate === "arrived";
        await expect.poll(written).toEqual([1, isThere ? 1 : 0]);
        for (let time = 0; time < 2; time++) {
          expect(await apply()).toMatchObject({ code: 1, statuses: ["already_applied", "in_doubt"] });
          expect(written()).toEqual([1, isThere ? 1 : 0]);
        }
        const word = isThere ? "applied" : "not-applied";
        expect((await apply("--resolve", `op-2=${word}`)).code).toBe(0);
        expect(written()).toEqual([1, 1]);
      },
    );

    it.each(sliceOf([1, 2, 3, 4, 5, 6]))("at write %i of its journal, writes nothing twice", async (count) => {
      const { cwd, env, apply, written } = await makePlanned();
      let left = count;
      let child: ChildProcess | undefined;
      const watcher = watch(dirname(runFile(cwd, "r")), (_event, name) => {
        if (name === "r.jsonl" && --left === 0) child?.kill("SIGKILL");
      });
      const onStart = (started: ChildProcess) => {
        child = started;
      };
      await runProgram(APPLY, { cwd, env, onStart });
      watcher.close();
      const first = await apply();
      const [, messages] = written();
      if (first.statuses.includes("in_doubt")) {
        expect((await apply("--resolve", `op-2=${messages === 1 ? "applied" : "not-applied"}`)).code).toBe(0);
      }
      expect(await apply()).toMatchObject({ code: 0, statuses: ["already_applied", "already_applied"] });
      expect(written()).toEqual([1, 1]);
    });
  });

  it("is resumed after each record of the apply, and nothing is written twice", async () => {
    const whole = await makePlanned();
    await whole.apply();
    const record = await recordOfPlan();
    const lines = readFileSync(runFile(whole.cwd, "r"), "utf8").slice(record.length).trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    for (const kept of LONG ? [0, 1, 2, 3, 4] : [1, 3]) {
      writeFileSync(
        runFile(whole.cwd, "r"),
        record +
          lines
            .slice(0, kept)
            .map((line) => `${line}\n`)
            .join(""),
      );
      const isInDoubt = kept === 3;
      const isUnsent = kept < 3;
      const before = whole.written();
      const { code, statuses } = await whole.apply();
      expect([code, statuses.at(-1)]).toEqual(
        isInDoubt ? [1, "in_doubt"] : [0, isUnsent ? "applied" : "already_applied"],
      );
      expect(statuses[0]).toBe("already_applied");
      expect(whole.written()).toEqual([before[0], (before[1] ?? 0) + (isUnsent ? 1 : 0)]);
    }
    expect(whole.world.issues("github")).toHaveLength(1);
  });
});
