import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type ErrorCode, SkillflowError } from "../../src/core/base/errors.ts";
import type { EventOf, RunEvent } from "../../src/core/engine/event/event.ts";
import type { Part, Prompt, Reply } from "../../src/core/engine/event/prompt.ts";
import type { Model, ModelCall } from "../../src/core/engine/ports.ts";
import { openProject } from "../../src/entry/library.ts";
import { priceOf } from "../../src/models/prices.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { inline, type NodeParts, workflowOf } from "../harness/harness.ts";

const folder = mkdtempSync(join(tmpdir(), "fallback-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FIRST = "first:claude-haiku-4-5";
const SECOND = "second:claude-sonnet-4-5";

const STATE = { state: { board: { keep: "90d" } } };

const LOOK: NodeParts = {
  state: ["board"],
  output: { type: "object", properties: { items: { type: "array" } }, required: ["items"] },
  eval: [{ kind: "judge", name: "good", rubric: "Is it good?" }],
  retry: { max: 1, instruction: { reflect: "Why did it fail?" } },
};

/** Has every purpose of a model call: work with a tool, a judge that rejects, a diagnosis, a route, inner runs. */
const FLOW = workflowOf(
  {
    look: LOOK,
    each: { map: { over: "look.items", as: "row" }, ...inline({ read: {} }) },
    none: {},
  },
  ["look -> each: there are items", "look -> none: there are none"],
  STATE,
);

const usage = { inputTokens: 1000, cachedTokens: 0, outputTokens: 100 };

/** Answers from the prompt alone, so that any model may answer any call. */
function answer({ turns }: Prompt, { purpose, node, key }: ModelCall): Reply {
  const parts = (text: string): Reply => ({ parts: [{ type: "text", text }], stop: "end", usage });
  if (purpose === "judge") return parts(`VERDICT: ${key.includes("/0/judge") ? "no" : "yes"}\nREASONING: seen`);
  if (purpose === "reflect") return parts("it was too short");
  if (purpose === "route") return parts('{"reason":"two","choice":"each"}');
  if (node !== "look") return parts("read it");
  const call: Part = { type: "call", id: "c1", tool: "state_get", input: { key: "k" } };
  return turns.length === 0 ? { ...parts(""), parts: [call] } : parts('{"items":["a","b"]}');
}

interface Outage {
  /** Calls of the first model that fail, counted from 0. */
  readonly fails: (index: number, call: ModelCall) => boolean;
  readonly code?: ErrorCode;
  /** Calls of the second model that fail, counted from 0. */
  readonly secondFails?: (index: number) => ErrorCode | undefined;
}

async function setUp({ fails, code = "model.quota", secondFails = () => undefined }: Outage) {
  const asked: string[] = [];
  const refusal = (which: ErrorCode) => new SkillflowError(which, `no answer: ${which}`);
  const count = { first: 0, second: 0 };
  const first: Model = {
    provider: "first",
    async reply(prompt, call) {
      asked.push(`first ${call.key}`);
      if (fails(count.first++, call)) throw refusal(code);
      return answer(prompt, call);
    },
  };
  const second: Model = {
    provider: "second",
    async reply(prompt, call) {
      asked.push(`second ${call.key}`);
      const wrong = secondFails(count.second++);
      if (wrong) throw refusal(wrong);
      return answer(prompt, call);
    },
  };
  const project = await openProject({
    directory: folder,
    env: {},
    discover: false,
    models: { first, second },
    store: memoryStore(),
    state: mkdtempSync(join(folder, "state-")),
  });
  const follow = async (running: ReturnType<typeof project.run>) => {
    const events: RunEvent[] = [];
    for await (const event of running) events.push(event);
    return { result: await running.result, events };
  };
  const run = (workflow = FLOW) => follow(project.run(workflow, { model: [FIRST, SECOND] }));
  return { project, run, follow, asked };
}

type Switch = RunEvent & EventOf<"model:switch">;
const switches = (events: readonly RunEvent[]) =>
  events.filter((event): event is Switch => event.type === "model:switch");
const replies = (events: readonly RunEvent[]) =>
  events.filter((event): event is RunEvent & EventOf<"model:reply"> => event.type === "model:reply");
/** Key of the visit that a model call belongs to. */
const visitOf = (key: string) =>
  key.replace(/\/(?:\d+\/(?:\d+|judge\/\d+\/\d+|reflect)|route\/\d+)(?:@\d+)?(?:~\d+)?$/, "");
const costOf = (events: readonly RunEvent[]) =>
  replies(events).reduce((sum, { model }) => sum + (priceOf(model.replace(/^\w+:/, ""), usage) ?? Number.NaN), 0);

describe("an outage of the first model at any call", async () => {
  const calm = await setUp({ fails: () => false });
  const undisturbed = await calm.run();
  const calls = calm.asked.length;

  it("does not happen without a failure", () => {
    expect(undisturbed.result.status).toBe("succeeded");
    expect(calls).toBe(10); // two turns each of two attempts, two judges, a diagnosis, a route, two items
    expect(switches(undisturbed.events)).toEqual([]);
  });

  it.each(Array.from({ length: calls }, (_, n) => n))("call %i: the second answers until the visit ends", async (n) => {
    const { run, follow, project } = await setUp({ fails: (index) => index === n });
    const { result, events } = await run();
    expect(result.status).toBe("succeeded");
    expect(result.results).toEqual(undisturbed.result.results);
    const [found, ...others] = switches(events);
    expect(others).toEqual([]);
    expect(found).toMatchObject({ from: FIRST, to: SECOND, reason: "no answer: model.quota", code: "model.quota" });
    const visit = found?.visit ?? "";
    expect(visitOf(found?.key ?? "")).toBe(visit);
    const models = replies(events).map(({ key, model, seq }) => [
      visitOf(key) === visit && seq > (found?.seq ?? 0),
      model,
    ]);
    expect(models.every(([isAfter, model]) => model === (isAfter ? SECOND : FIRST))).toBe(true);
    expect(result.usage.costUsd).toBeCloseTo(costOf(events), 8);
    for (const kind of ["html", "md"] as const)
      expect((await project.report(result.run, kind)).replaceAll("\\", "")).toContain(`${FIRST} could not answer`);
    const replayed = await follow(project.replay(result.run));
    expect(replayed.result).toMatchObject({ exitCode: 0, results: result.results });
    expect(switches(replayed.events)).toMatchObject([{ key: found?.key, from: FIRST, to: SECOND }]);
  });
});

it("shows the switches of a map's items in the summary and at each item", async () => {
  const { run, project } = await setUp({ fails: () => true });
  const { result, events } = await run();
  const items = switches(events).filter(({ at }) => at !== undefined);
  expect(items).toHaveLength(2);
  const text = `${FIRST} could not answer, so ${SECOND} is asked until the end of the visit: no answer: model.quota`;
  const summary = (await project.report(result.run, "md")).replace(/[\\`]/g, "");
  expect(summary).toContain(`${text} (in ${switches(events).length} visits)`);
  const cases = (await project.report(result.run, "junit"))
    .split("<testcase")
    .filter((each) => /^ name="\w+\[/.test(each));
  expect(cases).toHaveLength(2);
  for (const each of cases) expect(each).toContain(`model switch: ${text}`);
});

describe("a resumed run", () => {
  it("asks the second model for the rest of the visit, and the first one at the next", async () => {
    const isTool = (call: ModelCall) => call.key === "1:look/0/0";
    const { run, follow, project, asked } = await setUp({
      fails: (_, call) => isTool(call),
      secondFails: (index) => (index === 1 ? "model.auth" : undefined),
    });
    const stopped = await run(workflowOf({ look: LOOK, after: {} }, ["look -> after"], STATE));
    expect(stopped.result).toMatchObject({ status: "failed", error: { code: "model.auth" } });
    const before = asked.length;
    const resumed = await follow(project.resume(stopped.result.run));
    expect(resumed.result.status).toBe("succeeded");
    const later = asked.slice(before);
    expect(later.filter((line) => line.includes("1:look")).every((line) => line.startsWith("second "))).toBe(true);
    expect(later.filter((line) => line.includes("2:after")).every((line) => line.startsWith("first "))).toBe(true);
    expect(switches(resumed.events)).toEqual([]);
  });
});

describe("a failure", () => {
  const SMALL = workflowOf({ only: {} });

  it.each<[ErrorCode, boolean]>([
    ["model.quota", true],
    ["model.overloaded", true],
    ["model.unreachable", true],
    ["model.auth", false],
    ["model.unknown", false],
    ["model.rejected", false],
    ["model.garbled", false],
    ["offline.refused", false],
  ])("%s asks the next model: %s", async (code, isSwitched) => {
    const { run } = await setUp({ fails: () => true, code });
    const { result, events } = await run(SMALL);
    expect(switches(events)).toHaveLength(isSwitched ? 1 : 0);
    expect(result.status).toBe(isSwitched ? "succeeded" : "failed");
    if (!isSwitched) expect(result.error?.code).toBe(code);
  });

  it("of the last model is the visit's", async () => {
    const { run } = await setUp({ fails: () => true, secondFails: () => "model.unreachable" });
    const { result, events } = await run(SMALL);
    expect(switches(events)).toHaveLength(1);
    expect(result.error).toMatchObject({ code: "model.unreachable" });
  });

  it("is the only model's if a node replaces the list", async () => {
    const { run } = await setUp({ fails: () => true });
    const { result, events } = await run(workflowOf({ only: { model: FIRST } }));
    expect(switches(events)).toEqual([]);
    expect(result.error).toMatchObject({ code: "model.quota" });
  });
});

describe("a list", () => {
  it.each<[readonly string[], string]>([
    [[], "the list of models is empty"],
    [[FIRST, FIRST], "the list of models names a model twice"],
    [[FIRST, "replay:run.jsonl"], "the list of models contains replay:run.jsonl, which answers a whole run"],
  ])("%j is refused", async (model, message) => {
    const { project } = await setUp({ fails: () => false });
    const running = project.run(FLOW, { model });
    await expect(running.result).rejects.toMatchObject({ exitCode: 2, message });
  });
});
