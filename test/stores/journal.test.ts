import { afterEach, expect, test, vi } from "vitest";
import type { EventBody } from "../../src/core/engine/event/event.ts";
import { createJournal, type Durability } from "../../src/stores/journal.ts";

const usage = { inputTokens: 1, cachedTokens: 0, outputTokens: 1, costUsd: 0 };
const entered: EventBody = { type: "node:enter", node: "a", instruction: "", iteration: 1 };
const replied: EventBody = {
  type: "model:reply",
  node: "a",
  purpose: "work",
  model: "m",
  parts: [],
  stop: "end",
  usage,
  prompt: "0",
};
const called: EventBody = { type: "tool:call", node: "a", tool: "t", input: {}, ref: "r1", id: "c" };
const answered: EventBody = { type: "tool:result", node: "a", tool: "t", output: 1, ref: "r1", id: "c" };
const routed: EventBody = { type: "route", from: "a", to: "b", reason: "r", edge: 0 };
const ended: EventBody = { type: "workflow:end", results: {}, status: "succeeded", reason: "" };

const noted: EventBody = { type: "state:written", delta: "d", entries: 1, touches: 0, cost_usd: 0 };

test.each<[what: string, bodies: readonly EventBody[], expected: Durability]>([
  ["a reply, which can be asked for again", [replied], "start"],
  ["a node's beginning, which is decided again", [entered], "none"],
  ["a route, which is decided again", [routed], "none"],
  ["the announcement of a write", [called], "wait"],
  ["the result of a write", [answered], "wait"],
  ["a change of a state", [noted], "wait"],
  ["an end", [ended], "wait"],
  ["an end after a reply", [replied, ended], "wait"],
  ["a reply among decisions", [entered, replied], "start"],
])("a record of %s reaches the disk as soon as it must", async (_, bodies, expected) => {
  const { journal, asked } = askedOf();
  await journal.record("k", async () => bodies);
  expect(asked).toEqual([expected]);
});

test("a read and its result are not synced at once, but the next result of the same call is", async () => {
  const { journal, asked } = askedOf();
  await journal.record("1", async () => [called], true);
  await journal.record("2", async () => [answered]);
  await journal.record("3", async () => [answered]);
  expect(asked).toEqual(["none", "start", "wait"]);
});

function askedOf() {
  const asked: Durability[] = [];
  const journal = createJournal({
    record: { run: "r", schema: "skillflow.run/2" },
    events: [],
    epoch: 0,
    digest: undefined,
    now: () => new Date(0),
    append: ({ durability }) => void asked.push(durability),
    close: () => undefined,
  });
  return { journal, asked };
}

afterEach(() => vi.useRealTimers());

test("times of events are as far apart as their work took, even if the machine's clock is changed meanwhile", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const times: number[] = [];
  const journal = createJournal({
    record: { run: "r", schema: "skillflow.run/2" },
    events: [],
    epoch: 0,
    digest: undefined,
    append: ({ events }) => void times.push(...events.map(({ time }) => Date.parse(time))),
    close: () => undefined,
  });
  const begun = Date.now();
  for (const [key, days] of [
    ["ahead", 3],
    ["back", -6],
    ["there", 0],
  ] as const) {
    vi.setSystemTime(begun + days * 86_400_000);
    await journal.record(key, async () => [entered]);
  }
  const [first = 0, ...others] = times;
  expect(first - begun).toBeLessThan(60_000);
  expect(times.toSorted((one, other) => one - other)).toEqual(times);
  expect((others.at(-1) ?? 0) - first).toBeLessThan(60_000);
});
