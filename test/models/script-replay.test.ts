import { describe, expect, test } from "vitest";
import type { ChangedPrompt, Prompt } from "../../src/core/engine/event/prompt.ts";
import type { Model, ModelCall } from "../../src/core/engine/ports.ts";
import { scriptSchema } from "../../src/core/outward/testing/script.ts";
import { type Resumed, replayModel } from "../../src/models/replay.ts";
import { scriptModel } from "../../src/models/script.ts";
import { breaks, calls, gives, OPS, type Played, play, recordOf, says, workflowOf } from "../harness/harness.ts";

const PROMPT: Prompt = { text: "x", turns: [], tools: [] };
const ask = (model: Model, parts: Partial<ModelCall> = {}, prompt = PROMPT) =>
  model.reply(prompt, {
    key: "1:a/0/0",
    purpose: "work",
    node: "a",
    model: "m",
    signal: new AbortController().signal,
    ...parts,
  });
const text = async (...args: Parameters<typeof ask>) => {
  const [part] = (await ask(...args)).parts;
  return part?.type === "text" ? part.text : part;
};

describe("a script", () => {
  test("answers each call with the first reply that fits it, once", async () => {
    const model = scriptModel({
      replies: [
        { choice: "b", reasoning: "r" },
        { node: "b", text: "for b" },
        { text: "one" },
        { text: "two" },
        { verdict: "yes" },
        { reflection: "why" },
      ],
    });
    expect(await text(model)).toBe("one");
    expect(await text(model, { node: "b" })).toBe("for b");
    expect(await text(model, { purpose: "route" })).toBe('{"reason":"r","choice":"b"}');
    expect(await text(model, { purpose: "judge" })).toBe("VERDICT: yes\nREASONING: ");
    expect(await text(model, { purpose: "reflect" })).toBe("why");
    expect(await text(model)).toBe("two");
    await expect(ask(model)).rejects.toMatchObject({ code: "script.exhausted" });
  });

  test("answers in the run of one item of a map", async () => {
    const model = scriptModel({ replies: [{ item: "shop/7", text: "seven" }, { text: "any" }] });
    expect(await text(model, { key: "3:each[shop%2F8]/1:a/0/0" })).toBe("any");
    await expect(ask(model, { key: "3:each[shop%2F77]/1:a/0/0" })).rejects.toMatchObject({ code: "script.exhausted" });
    expect(await text(model, { key: "3:each[shop%2F7]/1:a/0/0" })).toBe("seven");
  });

  test("may make calls, in addition to text, and return data", async () => {
    const model = scriptModel({
      replies: [{ text: "let me see", calls: [{ tool: "t", input: { q: 1 } }] }, { data: { x: 1 } }],
    });
    expect((await ask(model)).parts).toEqual([
      { type: "text", text: "let me see" },
      { type: "call", id: "1:a/0/0/0", tool: "t", input: { q: 1 } },
    ]);
    expect(await text(model)).toBe('{"x":1}');
  });

  test("does not repeat what a resumed run used up", async () => {
    const { events } = play(recordOf(workflowOf({ a: {} })), { answers: ["one"] });
    expect(await text(scriptModel({ replies: [{ text: "one" }, { text: "two" }] }, events))).toBe("two");
  });

  test("stops at an abort", async () => {
    await expect(
      ask(scriptModel({ replies: [{ text: "x" }] }), { signal: AbortSignal.abort(new Error("enough")) }),
    ).rejects.toThrow("enough");
  });

  test.each([[{}], [{ replies: [{ say: "x" }] }], [{ replies: [{ calls: [{}] }] }], [[]]])(
    "%j is not a valid script",
    (script) => {
      expect(scriptSchema().safeParse(script).success).toBe(false);
    },
  );
});

describe("a replay", () => {
  const workflow = workflowOf({ a: { skills: ["ops"] }, b: { instruction: "Then b." } }, ["a -> b: x"]);
  const record = recordOf(workflow, { skills: [OPS] });
  const digest = (prompt: Prompt) => JSON.stringify([prompt.text, prompt.turns]);

  function recorded(played: Played) {
    const prompts = new Map(played.asks.map((step) => [step.key, digest(step.prompt)]));
    return played.events.map((event) =>
      event.type === "model:reply" ? { ...event, prompt: prompts.get(event.key) ?? "" } : event,
    );
  }
  const replayOf = (played: Played, resumed: Resumed = "latest") => {
    const changed: ChangedPrompt[] = [];
    const recording = { record, events: recorded(played) };
    return { changed, model: replayModel({ recording, resumed, digest, onChanged: (change) => changed.push(change) }) };
  };
  const first = play(record, { answers: [calls("ops_look"), "found", gives({ reason: "", choice: "b" }), "done"] });

  test("answers every step as recorded", async () => {
    const { model, changed } = replayOf(first);
    const answers = await Promise.all(
      first.asks.map(({ key, node, purpose, prompt }) => ask(model, { key, node, purpose }, prompt)),
    );
    expect(answers.map(({ parts }) => parts)).toEqual(
      first.events.flatMap((event) => (event.type === "model:reply" ? [event.parts] : [])),
    );
    expect(changed).toEqual([]);
  });

  test("answers a changed prompt too, and reports the recorded one", async () => {
    const { model, changed } = replayOf(first);
    const last = first.asks.at(-1);
    const now = { ...PROMPT, text: "Now c." };
    expect(await text(model, { key: last?.key ?? "", node: "b" }, now)).toBe("done");
    expect(changed).toMatchObject([{ node: "b", now, recorded: { text: "Then b." } }]);
  });

  test("has no answer for a step that was not recorded", async () => {
    await expect(ask(replayOf(first).model, { key: "9:z/0/0" })).rejects.toMatchObject({ code: "replay.missing" });
  });

  test("repeats a recorded error", async () => {
    const failed = play(record, { answers: [breaks("model.quota", "no more")] });
    await expect(ask(replayOf(failed).model)).rejects.toMatchObject({ code: "model.quota", message: "no more" });
  });

  test("answers a step that failed and was retried with its final result", async () => {
    const failed = play(record, { answers: [breaks("model.quota")] });
    const resumed = play(record, {
      past: failed.events,
      epoch: 1,
      resume: {},
      answers: [says("later"), gives({ reason: "", choice: "none" })],
    });
    expect(failed.asks[0]?.key).toBe("1:a/0/0");
    expect(await text(replayOf(resumed).model, { key: "1:a/0/0" })).toBe("later");
    const each = replayOf(resumed, "each").model;
    await expect(ask(each, { key: "1:a/0/0" })).rejects.toMatchObject({ code: "model.quota" });
    expect(await text(each, { key: "1:a/0/0~1" })).toBe("later");
  });
});
