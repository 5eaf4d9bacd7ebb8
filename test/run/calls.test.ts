import { expect, it } from "vitest";
import type { Call } from "../../src/core/engine/event/call.ts";
import type { Outcome } from "../../src/core/skill/skill.ts";
import { nextTurn } from "../../src/run/beside.ts";
import type { Budget } from "../../src/run/budget.ts";
import { noCalls, performCalls } from "../../src/run/calls.ts";
import { Stop } from "../../src/run/stop.ts";

const tool = {
  skill: "s",
  name: "t",
  exposed: "s_t",
  description: "",
  input_schema: {},
  effect: "read",
  idempotent: true,
} as const;
const calls = ["a", "b"].map((key): Call => ({ key, tool, input: {} }));
const step = { kind: "call", key: "k", node: "n", calls } as const;
const budget: Budget = {
  stop: new Stop(),
  orEnd: (work) => work,
  ended: () => false,
  reason: () => "",
  event: () => ({ type: "run:interrupt", reason: "" }),
  close: () => undefined,
};

/** Performs two calls, which take so many promises each. Returns the ids of the recorded ones, and if a turn passed. */
async function performed(work: (key: string) => Promise<void>) {
  let hasTurned = false;
  setImmediate(() => {
    hasTurned = true;
  });
  const callTool = async ({ key }: Call): Promise<Outcome> => work(key).then(() => ({ output: key }));
  const entries = await performCalls({ callTool }, step, { running: noCalls(), budget });
  return { ids: entries.map((entry) => "id" in entry && entry.id), hasTurned };
}

it("records calls together once all are done, without a turn of the event loop", async () => {
  const work = async (key: string) => {
    for (let hop = 0; hop < (key === "a" ? 1 : 40); hop++) await undefined;
  };
  expect(await performed(work)).toEqual({ ids: ["a", "b"], hasTurned: false });
});

it("records the call that is done at the end of a turn, and leaves the other one running", async () => {
  const work = (key: string) => (key === "a" ? Promise.resolve() : nextTurn().then(nextTurn).then(nextTurn));
  expect(await performed(work)).toEqual({ ids: ["a"], hasTurned: true });
});
