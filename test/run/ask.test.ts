import { describe, expect, test } from "vitest";
import { SkillflowError } from "../../src/core/base/errors.ts";
import type { Prompt, Reply } from "../../src/core/engine/event/prompt.ts";
import type { Model, ModelCall } from "../../src/core/engine/ports.ts";
import { type AskOptions, type Clock, createAsk } from "../../src/run/ask.ts";

const PROMPT: Prompt = { text: "hello", turns: [], tools: [] };
const STEP = {
  kind: "ask",
  key: "1:a/0/0",
  purpose: "work",
  node: "a",
  model: "vendor:m",
  fallback: undefined,
  visit: "1:a",
  prompt: PROMPT,
} as const;
const REPLY: Reply = {
  parts: [{ type: "text", text: "hi" }],
  stop: "end",
  usage: { inputTokens: 10, cachedTokens: 2, outputTokens: 3 },
};
const busy = (afterMs?: number) =>
  new SkillflowError("model.overloaded", "too busy", {
    hint: "wait",
    repeatable: afterMs === undefined ? {} : { afterMs },
  });

/** A model that fails with each of `errors`, then answers. */
function setUp(errors: readonly unknown[], options: Partial<AskOptions> & { random?: number } = {}) {
  const waits: number[] = [];
  const tries: ModelCall[] = [];
  const messages: string[] = [];
  const model: Model = {
    provider: "vendor",
    async reply(_prompt, call) {
      tries.push(call);
      if (tries.length <= errors.length) throw errors[tries.length - 1];
      call.onDelta?.("hi");
      return REPLY;
    },
  };
  const clock: Clock = {
    random: () => options.random ?? 1,
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      waits.push(ms);
    },
  };
  const ask = createAsk({
    findModel: async (name) => ({ model, name: name.replace("vendor:", "") }),
    priceOf: (_, { inputTokens, outputTokens }) => inputTokens + outputTokens,
    clock,
    onProgress: (node, message) => messages.push(`${node}: ${message}`),
    onAnswering: (node, characters) => messages.push(`${node}: answering (${characters} characters)`),
    ...options,
  });
  return { ask, waits, tries, messages };
}
const calm = () => new AbortController().signal;

describe("an answer", () => {
  test("is recorded with its price and the digest of its prompt", async () => {
    const { ask, tries, messages } = setUp([]);
    expect(await ask(STEP, calm())).toEqual({
      type: "model:reply",
      node: "a",
      purpose: "work",
      model: "vendor:m",
      parts: REPLY.parts,
      stop: "end",
      usage: { inputTokens: 10, cachedTokens: 2, outputTokens: 3, costUsd: 13 },
      prompt: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(tries).toMatchObject([{ key: "1:a/0/0", purpose: "work", node: "a", model: "m" }]);
    expect(messages).toEqual(["a: answering (2 characters)"]);
  });

  test("without usage has none, and an unknown price is null", async () => {
    const silent: Model = { provider: "vendor", reply: async () => ({ ...REPLY, usage: null }) };
    const { ask } = setUp([], { findModel: async (name) => ({ model: silent, name }) });
    expect(await ask(STEP, calm())).toMatchObject({ usage: null });
    const { ask: unpriced } = setUp([], { priceOf: () => null });
    expect(await unpriced(STEP, calm())).toMatchObject({ usage: { costUsd: null } });
  });
});

describe("a failed model call", () => {
  test("that may succeed later is repeated, waiting twice as long each time, jitter included", async () => {
    const { ask, waits, tries } = setUp([busy(), busy(), busy(), busy(), busy()]);
    expect(await ask(STEP, calm())).toMatchObject({ type: "model:reply" });
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000]);
    expect(new Set(tries.map(({ key }) => key)).size).toBe(1);
    const early = setUp([busy(), busy()], { random: 0 });
    await early.ask(STEP, calm());
    expect(early.waits).toEqual([250, 500]);
  });

  test("waits as long as the provider requests", async () => {
    const { ask, waits } = setUp([busy(7_000), busy(0), busy(120_000)]);
    expect(await ask(STEP, calm())).toMatchObject({ type: "model:reply" });
    expect(waits).toEqual([7_000, 0, 120_000]);
  });

  test("fails when the provider requests too long a wait", async () => {
    const { ask, waits } = setUp([busy(120_001)]);
    expect(await ask(STEP, calm())).toMatchObject({ type: "model:error", code: "model.overloaded" });
    expect(waits).toEqual([]);
  });

  test("fails with a code that only its model knows, and asks no other model", async () => {
    const { ask, tries } = setUp([Object.assign(busy(), { code: "model.odd", repeatable: undefined })]);
    const found = await ask({ ...STEP, fallback: "vendor:other" }, calm());
    expect([found, tries.length]).toMatchObject([{ type: "model:error", code: "model.odd" }, 1]);
  });

  test("fails after the sixth try, with the last error's message", async () => {
    const { ask, tries, waits } = setUp([
      busy(),
      busy(),
      busy(),
      busy(),
      busy(),
      new SkillflowError("model.quota", "no more", { repeatable: {} }),
      busy(),
    ]);
    expect(await ask(STEP, calm())).toEqual({
      type: "model:error",
      node: "a",
      purpose: "work",
      model: "vendor:m",
      code: "model.quota",
      message: "no more",
    });
    expect([tries.length, waits.length]).toEqual([6, 5]);
  });

  test("that cannot succeed later is not repeated", async () => {
    const { ask, tries } = setUp([new SkillflowError("model.auth", "wrong key", { hint: "set it" })]);
    expect(await ask(STEP, calm())).toMatchObject({
      type: "model:error",
      code: "model.auth",
      message: "wrong key",
      hint: "set it",
    });
    expect(tries).toHaveLength(1);
  });

  test("reports while it waits what it waits for", async () => {
    const { ask, messages } = setUp([busy(1500)]);
    await ask(STEP, calm());
    expect(messages[0]).toBe("a: too busy; trying again in 1.5 s (1 of 5)");
  });

  test("counts a model that cannot be opened as failed", async () => {
    const { ask } = setUp([], {
      findModel: async () => {
        throw new SkillflowError("config.missing", "no key");
      },
    });
    expect(await ask(STEP, calm())).toMatchObject({ type: "model:error", code: "config.missing" });
  });

  test("that is a defect of the adapter is rethrown", async () => {
    const { ask } = setUp([new TypeError("x is undefined")]);
    await expect(ask(STEP, calm())).rejects.toThrow("x is undefined");
  });
});

describe("an abort", () => {
  test("while the model works ends the call with the signal's reason", async () => {
    const stop = new AbortController();
    const patient: Model = {
      provider: "vendor",
      reply: (_, { signal }) =>
        new Promise((_resolve, refuse) => {
          signal.addEventListener("abort", () => refuse(signal.reason));
          stop.abort(new Error("enough"));
        }),
    };
    const { ask } = setUp([], { findModel: async (name) => ({ model: patient, name }) });
    await expect(ask(STEP, stop.signal)).rejects.toThrow("enough");
  });

  test("while waiting ends the wait, and there is no further try", async () => {
    const stop = new AbortController();
    const clock: Clock = {
      random: () => 0,
      sleep: (_, signal) =>
        new Promise((_resolve, refuse) => {
          signal.addEventListener("abort", () => refuse(signal.reason));
          stop.abort(new Error("enough"));
        }),
    };
    const { ask, tries } = setUp([busy()], { clock });
    await expect(ask(STEP, stop.signal)).rejects.toThrow("enough");
    expect(tries).toHaveLength(1);
  });

  test("is not masked by a repeatable error that it caused", async () => {
    const stop = new AbortController();
    const { ask, tries } = setUp([], {
      findModel: async () => {
        stop.abort(new Error("enough"));
        throw busy();
      },
    });
    await expect(ask(STEP, stop.signal)).rejects.toThrow("too busy");
    expect(tries).toHaveLength(0);
  });
});
