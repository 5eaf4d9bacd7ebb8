import { describe, expect, it } from "vitest";
import { openPace } from "../../src/app/runs/rates.ts";
import { type ProjectConfig, projectConfigSchema } from "../../src/core/document/config.ts";
import type { Call } from "../../src/core/engine/event/call.ts";
import { declaredRates } from "../../src/core/engine/settings/rates.ts";
import { Stop } from "../../src/run/stop.ts";

const said: string[] = [];
const paceOf = (config: ProjectConfig) => {
  const file = { path: "", directory: "", config };
  const pace = openPace({ project: file, user: undefined }, (node, message) => said.push(`${node}: ${message}`));
  if (!pace) throw new Error("there are no rates");
  return pace;
};

/** Work that ends when `ends` is called. */
function gated() {
  const ends: (() => void)[] = [];
  const begin = () => new Promise<void>((resolve) => ends.push(resolve));
  return { begin, ends };
}

const PROMPT = { system: "", text: "", tools: [], turns: [] };
const CALL = (skill: string): Call => ({
  key: "2:look/1/1",
  tool: {
    skill,
    name: "find",
    exposed: `${skill}_find`,
    description: "",
    input_schema: {},
    effect: "read",
    idempotent: true,
  },
  input: {},
});

describe("rates of a project", () => {
  it("make a model's calls wait for their turn, with a notice, until the run is stopped", async () => {
    const { begin, ends } = gated();
    const reply = async () => {
      await begin();
      return { parts: [], stop: "end" as const, usage: null };
    };
    const find = paceOf({ rates: { models: { "acme:*": 1 } } }).findModel(async (name) => ({
      model: { provider: "acme", reply },
      name,
    }));
    const { model } = await find("large");
    const stop = new AbortController();
    const call = { key: "1:look/1", purpose: "work" as const, node: "look", model: "large" };
    const first = model.reply(PROMPT, { ...call, signal: stop.signal });
    const second = model.reply(PROMPT, { ...call, signal: stop.signal });
    await expect.poll(() => said).toEqual(["look: waiting for acme's turn (1 at a time)"]);
    expect(ends).toHaveLength(1);
    stop.abort(new Error("the time is over"));
    await expect(second).rejects.toThrow("the time is over");
    ends[0]?.();
    await first;
    expect(ends).toHaveLength(1);
  });

  it("make a skill's tools wait, and do not affect those of others", async () => {
    const called: string[] = [];
    const callTool = paceOf({ rates: { skills: { linear: "1/day" } } }).callTool(async ({ tool }) => {
      called.push(tool.skill);
      return { output: null };
    });
    const stop = new Stop();
    await callTool(CALL("linear"), stop);
    const late = callTool(CALL("linear"), stop);
    await callTool(CALL("github"), stop);
    await callTool(CALL("github"), stop);
    expect(said.at(-1)).toBe("look: waiting for linear's turn (1 a day)");
    stop.abort(() => new Error("interrupted"));
    expect(await late).toEqual({ error: "interrupted", code: "run.interrupted", acted: "no" });
    expect(called).toEqual(["linear", "github", "github"]);
  });

  it("make runs wait for each other, and let an interrupted one finish", async () => {
    const pace = paceOf({ rates: { runs: 1 } });
    const { begin, ends } = gated();
    const stop = new AbortController();
    const first = pace.run(new AbortController().signal, begin);
    const second = pace.run(stop.signal, async () => "told as interrupted");
    await expect.poll(() => said.at(-1)).toBe("undefined: waiting for the run's turn (1 at a time)");
    stop.abort(new Error("interrupted"));
    expect(await second).toBe("told as interrupted");
    ends[0]?.();
    await first;
  });

  it("cost nothing if none are declared, and the strictest of several files applies", () => {
    expect(openPace({ project: undefined, user: undefined })).toBeUndefined();
    const rates = declaredRates([
      { rates: { models: { "anthropic:*": "50/minute", "*haiku*": 4 } } },
      { rates: { models: { "anthropic:*": "20/minute", "anthropic:claude-opus-4-8": "100/hour" } } },
    ]);
    const bounds = (model: string) => rates?.ofModel(model).map(({ name, most }) => [name, most]);
    expect(bounds("anthropic:claude-haiku-4-5")).toEqual([
      ["model anthropic:* per minute", 20],
      ["model *haiku*", 4],
    ]);
    expect(bounds("anthropic:claude-opus-4-8")).toEqual([
      ["model anthropic:* per minute", 20],
      ["model anthropic:claude-opus-4-8 per hour", 100],
    ]);
    expect(bounds("openai:gpt-5")).toEqual([]);
  });

  it.each([{ runs: 0 }, { runs: "3" }, { models: { a: "50 a minute" } }, { skills: { a: "0/minute" } }, { tools: 3 }])(
    "are rejected if invalid: %o",
    (rates) => {
      expect(projectConfigSchema().safeParse({ rates }).success).toBe(false);
    },
  );
});
