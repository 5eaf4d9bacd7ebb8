import type { JsonObject } from "skillflow";
import { afterEach, describe, expect, it } from "vitest";
import { runHere } from "../cli/in-process.ts";
import { type Ended, readEvents, resultOf, runProgram } from "../cli/program.ts";
import { sliceOf } from "../harness/long.ts";
import {
  COMMIT,
  closeWorlds,
  commentingTurns,
  createReaper,
  expectNoSecrets,
  makeDesk,
  type OnWrite,
  OUTPUT,
  READING,
  runOf,
  startWorld,
  TRACKERS,
  type Tracker,
  trackers,
  type World,
  WRITING,
} from "./triage-world.ts";

/**
 * The triage workflow with every skill configured and `--writes allow`: the built program and a service for each vendor.
 * The cause is known already, so the run ends in a comment and a message.
 */

const PATH = ["look", "investigate", "comment", "link"];
const CAUSE = "When a payment is declined, placeOrder returns on line 12 of src/orders.js";
const SKILLS = ["betterstack", "datadog", "git", "github", "linear", "logs", "sentry", "slack"];
const SECRETS = { ...READING, ...WRITING };
const RUN = runOf("r", "--writes", "allow");

afterEach(closeWorlds);

function startCommenting(tracker: Tracker, onWrite?: OnWrite): Promise<World> {
  const turns = commentingTurns(tracker);
  return startWorld({ turns, leak: Object.values(SECRETS), ...(onWrite ? { onWrite } : {}) });
}

function envOf({ places, webhook }: World): Record<string, string> {
  return { ...places, ...SECRETS, SLACK_WEBHOOK_URL: webhook };
}

function expectNothingLeaked(cwd: string, ended: readonly Ended[], world: World): void {
  for (const name of Object.keys(SECRETS)) expect(ended.at(-1)?.stdout).toContain(`[redacted:${name}]`);
  expectNoSecrets(cwd, ended, world);
}

function expectTriaged(ended: Ended, world: World, tracker: Tracker, degraded: readonly unknown[] = []): void {
  expect(ended.code, ended.stderr).toBe(0);
  const result = resultOf(ended);
  expect(result).toMatchObject({ status: "succeeded", degraded, plan: [] });
  const available = result.trace.skills.filter((skill) => skill.available).map((skill) => skill.id);
  expect(available.sort()).toEqual(SKILLS);
  expect(result.trace.steps.map((step) => step.node)).toEqual(PATH);
  expect(result.results["investigate"]?.data).toMatchObject({ commit: COMMIT, file: "src/orders.js", line: 12 });
  expect(world.refusals()).toEqual([]);
  expect([...world.issues("github"), ...world.issues("linear")]).toEqual([]);
  expect(world.comments(tracker)).toEqual([expect.stringContaining(CAUSE)]);
  expect(world.messages).toHaveLength(1);
  const [message] = world.messages;
  expect(message?.text).toContain(COMMIT);
  expect(message?.text).toContain("src/orders.js:12");
  expect(message?.text).toMatch(TRACKERS[tracker].link);
}

/** The failed calls of a run, as `tool: error`. */
function failuresOf(ended: Ended): string[] {
  const calls = Object.values(resultOf(ended).results).flatMap((node) => node.toolCalls);
  return calls.flatMap(({ tool, error }) => (error === undefined ? [] : [`${tool}: ${error}`]));
}

describe.each(sliceOf(trackers))("the triage of a cause that %s knows", (tracker) => {
  it("ends in one comment and one message", async () => {
    const cwd = makeDesk();
    const world = await startCommenting(tracker);
    const ended = await runHere(RUN, { cwd, env: envOf(world) });
    expectTriaged(ended, world, tracker);
    expect(failuresOf(ended)).toEqual([]);
    expect(Object.values(resultOf(ended).results["comment"]?.data ?? {})).toMatchObject([{ url: expect.any(String) }]);
    expect(Object.values(resultOf(ended).results["link"]?.data ?? {})).toMatchObject([{ sent: true }]);
    expect(world.model.bodies).toHaveLength(commentingTurns(tracker).length);
    expectNothingLeaked(cwd, [ended], world);
  });

  it.each(sliceOf(["arrived", "lost"] as const))(
    "ends the same when the program is killed while it comments, and the comment %s",
    async (fate) => {
      const cwd = makeDesk();
      const { onStart, onWrite } = createReaper("comment", fate);
      const world = await startCommenting(tracker, onWrite);
      const killed = await runProgram(RUN, { cwd, env: envOf(world), onStart });
      expect(killed.signal).toBe("SIGKILL");
      expect(readEvents(cwd, "r").at(-1)).toMatchObject({ type: "tool:call", tool: `${tracker}_add_comment` });

      const ended = await runHere(["resume", "r", ...OUTPUT], { cwd, env: envOf(world) });
      expectTriaged(ended, world, tracker);
      expect(failuresOf(ended)).toEqual([]);
      const [call] = resultOf(ended).results["comment"]?.toolCalls ?? [];
      expect(call?.output).toHaveProperty("url");
      const found = (call?.output as JsonObject | undefined)?.["existing"];
      expect(found, "the first comment is found if there is one").toBe(fate === "arrived" ? true : undefined);
      expect(world.model.bodies, "no answer was requested twice").toHaveLength(commentingTurns(tracker).length);
      expectNothingLeaked(cwd, [killed, ended], world);
    },
  );
});

/** The message has the same target, whichever tracker was used before. */
describe.each(sliceOf(trackers))("the triage of a cause that %s knows", (tracker) => {
  it("sends no second message when the program is killed while it sends one", async () => {
    const cwd = makeDesk();
    const { onStart, onWrite } = createReaper("message", "arrived");
    const world = await startCommenting(tracker, onWrite);
    const killed = await runProgram(RUN, { cwd, env: envOf(world), onStart });
    expect(killed.signal).toBe("SIGKILL");
    const ended = await runHere(["resume", "r", ...OUTPUT], { cwd, env: envOf(world) });
    const reason = expect.stringContaining("its write did not succeed: slack_send_message: in doubt: ");
    expectTriaged(ended, world, tracker, [{ node: "link", reason }]);
    expect(failuresOf(ended)).toEqual([expect.stringMatching(/^slack_send_message: in doubt: /)]);
    expect(resultOf(ended).results["link"]?.data).toEqual({});
    expectNothingLeaked(cwd, [killed, ended], world);
  });
});
