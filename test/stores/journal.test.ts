import { afterEach, expect, test, vi } from "vitest";
import type { EventBody } from "../../src/core/engine/event/event.ts";
import { createJournal } from "../../src/stores/journal.ts";

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

test.each<[string, readonly EventBody[], boolean]>([
  ["a reply, which was paid for", [replied], true],
  ["the announcement of a call", [called], true],
  ["a result", [answered], true],
  ["an end", [ended], true],
  ["a reply among others", [entered, replied], true],
  ["a node's beginning, which is decided again", [entered], false],
  ["a route, which is decided again", [routed], false],
])("a record of %s is made to outlive the machine where it must", async (_, bodies, expected) => {
  const asked: boolean[] = [];
  const journal = createJournal({
    run: "r",
    events: [],
    epoch: 0,
    digest: undefined,
    now: () => new Date(0),
    append: ({ outlivesMachine }) => void asked.push(outlivesMachine),
    close: () => undefined,
  });
  await journal.record("k", async () => bodies);
  expect(asked).toEqual([expected]);
});

afterEach(() => vi.useRealTimers());

test("events are no further apart than their work took, however the machine's clock is set meanwhile", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const times: number[] = [];
  const journal = createJournal({
    run: "r",
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
