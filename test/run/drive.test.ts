import { afterEach, describe, expect, test, vi } from "vitest";
import { SkillflowError } from "../../src/core/base/errors.ts";
import { createRedactor, type Redactor } from "../../src/core/base/redact/redact.ts";
import { linkProgram } from "../../src/core/engine/decide/link.ts";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import type { Program } from "../../src/core/engine/fold/program.ts";
import type { Model, Observer } from "../../src/core/engine/ports.ts";
import type { Script } from "../../src/core/outward/testing/script.ts";
import type { Tool } from "../../src/core/skill/skill.ts";
import { scriptModel } from "../../src/models/script.ts";
import { createAsk } from "../../src/run/ask.ts";
import { createCall } from "../../src/run/call.ts";
import { driveRun, tell } from "../../src/run/drive.ts";
import { blameStray } from "../../src/run/stray.ts";
import { memoryBlobs } from "../../src/stores/blobs.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { recordingObserver, toolContext } from "../../src/testing.ts";
import { eventsOf, lines, OPS, recordOf, workflowOf } from "../harness/harness.ts";
import { LONG } from "../harness/long.ts";

const { logger } = toolContext();
type Handlers = Readonly<Record<string, Tool["handler"]>>;

interface DriveOptions {
  readonly script?: Script["replies"];
  readonly model?: Model;
  readonly handlers?: Handlers;
  readonly observers?: readonly Observer[];
  readonly signal?: AbortSignal;
  readonly redactor?: Redactor;
  readonly store?: ReturnType<typeof memoryStore>;
  readonly again?: boolean;
  readonly program?: Program;
}

/** Drives a record with real parts. Unscripted model calls are answered with "done". */
async function drive(record: RunRecord, options: DriveOptions = {}) {
  const store = options.store ?? memoryStore();
  const { redactor = createRedactor([]), handlers = {}, signal = new AbortController().signal } = options;
  const { events: past, journal } = options.again
    ? await store.open(record.run)
    : { events: [], journal: await store.create(record) };
  const model = options.model ?? scriptModel({ replies: options.script ?? [] }, past);
  const seen = recordingObserver();
  const state = await driveRun({
    program: options.program ?? linkProgram(record),
    journal,
    ask: createAsk({
      findModel: async (name) => ({ model, name }),
      priceOf: () => 0,
      clock: { random: () => 0, sleep: async (_, stop) => stop.throwIfAborted() },
      onProgress: () => undefined,
      onAnswering: () => undefined,
    }),
    callTool: createCall({
      run: record.run,
      findHandler: ({ tool }) => ({ tool: { ...tool, handler: handlers[tool.name] ?? (() => "ok") }, config: {} }),
      timeoutMs: 60_000,
      workDir: "/",
      fetch,
      loggerFor: () => logger,
      redactor,
      blobs: memoryBlobs(),
    }),
    redactor,
    observers: [...(options.observers ?? []), seen],
    signal,
    afterwards: [],
  });
  await journal.close();
  return { state, events: (await store.read(record.run)).events, seen: seen.events, store };
}

const one = (node = {}, parts: Parameters<typeof recordOf>[1] = {}) =>
  recordOf(workflowOf({ a: { skills: ["ops"], ...node } }), { skills: [OPS], ...parts });
const never = () => new Promise<never>(() => undefined);

describe("a run", () => {
  test("inspects earlier events no more often when it is long", async () => {
    const looksOf = async (length: number) => {
      const ids = Array.from({ length }, (_, index) => `n${index}`);
      const nodes = Object.fromEntries(ids.map((id) => [id, { skills: ["ops"] }]));
      const edges = ids.slice(1).map((to, index) => `n${index} -> ${to}`);
      const record = recordOf(workflowOf(nodes, edges), { skills: [OPS] });
      const program = linkProgram(record);
      let looks = 0;
      const counted = <Look extends (...given: never[]) => unknown>(look: Look) =>
        ((...given) => {
          looks += 1;
          return look(...given);
        }) as Look;
      const watched = { ...program, tools: counted(program.tools), inside: counted(program.inside) };
      const asks = ids.flatMap(() => [{ calls: [{ tool: "ops_look", input: {} }] }, { text: "done" }]);
      const { state } = await drive(record, { program: watched, script: asks });
      expect(state.run.calls.size).toBe(length);
      return looks;
    };

    expect(await looksOf(60)).toBeLessThan(2.1 * (await looksOf(30)));
  });

  test("is recorded, observed and folded as one list", async () => {
    const { events, seen, state } = await drive(one(), {
      script: [{ calls: [{ tool: "ops_look", input: { q: 1 } }] }, { text: "found" }],
    });
    expect(seen).toEqual(events);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(state.results.get("a")).toMatchObject({
      status: "success",
      data: { summary: "found" },
      toolCalls: [{ output: "ok" }],
    });
    expect(lines(events).at(-1)).toBe("workflow:end succeeded");
  });

  test("that is driven again after its end does nothing and notifies no observer", async () => {
    const record = one();
    const first = await drive(record, { script: [{ text: "t" }] });
    const second = await drive(record, { store: first.store, again: true });
    expect(second.events).toEqual(first.events);
    expect(second.seen).toEqual([]);
    expect(second.state.end).toEqual(first.state.end);
  });

  test("whose process died continues from its record", async () => {
    const record = recordOf(workflowOf({ a: {}, b: {} }, ["a -> b"]));
    const store = memoryStore();
    const dying: Model = {
      provider: "script",
      reply: async (_, { node }) => {
        if (node === "b") throw new Error("power cut");
        return { parts: [{ type: "text", text: "one" }], stop: "end", usage: null };
      },
    };
    await expect(drive(record, { store, model: dying })).rejects.toThrow("power cut");
    store.crash();
    const { events, seen } = await drive(record, {
      store,
      again: true,
      script: [{ text: "used up by a" }, { text: "two" }],
    });
    expect(eventsOf(events, "model:reply").map(({ node, epoch }) => [node, epoch])).toEqual([
      ["a", 0],
      ["b", 1],
    ]);
    expect(seen.every(({ epoch }) => epoch === 1)).toBe(true);
    expect(lines(events).at(-1)).toBe("workflow:end succeeded");
  });

  test("does not record secrets", async () => {
    const redactor = createRedactor([{ name: "KEY", value: "s3cret-value" }]);
    const { events } = await drive(one(), {
      redactor,
      script: [{ calls: [{ tool: "ops_look", input: { q: "s3cret-value" } }] }, { text: "it is s3cret-value" }],
    });
    expect(JSON.stringify(events)).not.toContain("s3cret-value");
    expect(JSON.stringify(events)).toContain("[redacted:KEY]");
  });
});

describe("observers", () => {
  test.each<[string, Observer["onEvent"]]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no"))],
    ["never answers", never],
    [
      "gives a broken promise",
      () => {
        const refuse = () => {
          throw new Error("no");
        };
        return new Proxy({}, { get: refuse });
      },
    ],
  ])("one that %s does not affect the run or the others", async (_, onEvent) => {
    const { events, seen, state } = await drive(one(), { observers: [{ onEvent }], script: [{ text: "t" }] });
    expect(state.end?.status).toBe("succeeded");
    expect(seen).toEqual(events);
  });

  test("one that fails at progress does not either", () => {
    const heard: string[] = [];
    const broken: Observer = {
      onEvent: () => undefined,
      onProgress: () => {
        throw new Error("no");
      },
    };
    const quiet: Observer = { onEvent: () => undefined };
    const good: Observer = {
      onEvent: () => undefined,
      onProgress: ({ node, message }) => heard.push(`${node}: ${message}`),
    };
    tell([broken, quiet, good], (each) => each.onProgress?.({ node: "a", message: "at work" }));
    expect(heard).toEqual(["a: at work"]);
  });
});

/** A store whose clock jumps by an hour with the first event of a type. */
function jumpingStore(type: RunEvent["type"]): ReturnType<typeof memoryStore> {
  const store = memoryStore();
  return {
    ...store,
    async create(record) {
      const journal = await store.create(record);
      let late = 0;
      return {
        ...journal,
        async record(key, work) {
          const events = await journal.record(key, work);
          if (events.some((event) => event.type === type)) late = 3_600_000;
          return events.map((event) => ({ ...event, time: new Date(Date.parse(event.time) + late).toISOString() }));
        },
      };
    },
  };
}

describe("with no time left", () => {
  const limited = { settings: { limits: { timeout_ms: 60_000 } } };
  const script: Script["replies"] = [{ calls: [{ tool: "ops_act", input: {} }] }, { text: "t" }];

  test("a write is not announced", async () => {
    const acts: string[] = [];
    const handlers = { act: () => acts.push("acted") };
    const { events } = await drive(one({}, limited), { script, handlers, store: jumpingStore("model:reply") });
    expect(lines(events)).not.toContainEqual(expect.stringContaining("tool:call"));
    expect(lines(events).slice(-3)).toEqual(["limit:reached timeout", "node:exit a failed", "workflow:end stopped"]);
    expect(acts).toEqual([]);
  });

  test.each([
    ["of the run", one({}, limited), "the time limit of 60 s was reached"],
    ["of the node", one({ timeout: "60s" }), "node a took longer than its timeout"],
  ])("%s an announced write is not started, and not in doubt", async (_, record, why) => {
    const acts: string[] = [];
    const handlers = { act: () => acts.push("acted") };
    const { events } = await drive(record, { script, handlers, store: jumpingStore("tool:call") });
    expect(eventsOf(events, "tool:result")).toMatchObject([
      { tool: "ops_act", error: `was not started: ${why}`, code: "limit.reached" },
    ]);
    expect(acts).toEqual([]);
  });
});

describe("an unhandled error", () => {
  /** Throws in the context of a call, in which the process then receives the error. */
  const throwLater = <Value>(message: string, answer: Value) => {
    setImmediate(() => blameStray(new Error(message)));
    return answer;
  };
  const calls: Script["replies"] = [{ calls: [{ tool: "ops_look", input: {} }] }, { text: "t" }];

  test("fails the call that it came from", async () => {
    const handlers = { look: () => throwLater("burst", never()) };
    const { events, state } = await drive(one(), { script: calls, handlers });
    expect(eventsOf(events, "tool:result")).toMatchObject([{ tool: "ops_look", error: "burst" }]);
    expect(state.end?.status).toBe("succeeded");
  });

  test("is a warning of its run once its call has ended", async () => {
    const handlers = { look: () => throwLater("late", "seen") };
    const { events, state } = await drive(one(), { script: calls, handlers });
    expect(eventsOf(events, "tool:result")).toMatchObject([{ output: "seen" }]);
    expect(eventsOf(events, "warning")).toMatchObject([{ message: "an unhandled error in the background: late" }]);
    expect(state.end?.status).toBe("succeeded");
  });

  test("belongs to no call when there is no run", () => {
    expect(blameStray(new Error("alone"))).toBe(false);
  });
});

test("a turn carries out 64 calls, and rejects the rest with an error", async () => {
  const ran: string[] = [];
  const asked = Array.from({ length: 400 }, (_, n) => ({ tool: "ops_look", input: { n } }));
  const { events, state } = await drive(one(), {
    script: [{ calls: asked }, { text: "t" }],
    handlers: { look: (_, { callId }) => ran.push(callId) },
  });
  const results = eventsOf(events, "tool:result");
  expect(results).toHaveLength(400);
  expect(ran).toHaveLength(64);
  const beyond = "a turn can make at most 64 calls, so this one did not run";
  expect(results.filter(({ error }) => error === beyond)).toHaveLength(336);
  expect(state.end?.status).toBe("succeeded");
});

test("a turn with very many calls takes linear time", async () => {
  const most = LONG ? 100_000 : 5000;
  const parts = Array.from({ length: most }, (_, index) => {
    return { type: "call", id: `c${index}`, tool: "ops_look", input: { index } } as const;
  });
  const { state } = await drive(one(), {
    model: {
      provider: "eager",
      reply: async ({ turns }) => ({
        parts: turns.length === 0 ? parts : [{ type: "text", text: "t" }],
        stop: "end",
        usage: null,
      }),
    },
    handlers: { look: () => null },
  });
  expect(state.results.get("a")?.toolCalls).toHaveLength(most);
});

describe("tool calls", () => {
  test("that may write are announced with a sync to disk if they are alone", async () => {
    const announced: [tools: string, isRepeatable: boolean | undefined][] = [];
    const store = memoryStore();
    const noting: typeof store = {
      ...store,
      async create(record) {
        const journal = await store.create(record);
        return {
          ...journal,
          async record(key, work, isRepeatable) {
            const events = await journal.record(key, work, isRepeatable);
            const calls = eventsOf(events, "tool:call").map(({ tool }) => tool);
            if (calls.length > 0) announced.push([calls.join(" "), isRepeatable]);
            return events;
          },
        };
      },
    };
    const call = (tool: string) => ({ tool, input: {} });
    await drive(one(), {
      store: noting,
      script: [{ calls: [call("ops_look"), call("ops_peek"), call("ops_act"), call("ops_nothing")] }, { text: "t" }],
    });
    expect(announced).toEqual([
      ["ops_look ops_peek", true],
      ["ops_act", false],
      ["ops_nothing", true],
    ]);
  });

  test("that end within one turn of the event loop are one record", async () => {
    const calls = [1, 2, 3].map((n) => ({ tool: "ops_look", input: { n } }));
    const { events } = await drive(one(), {
      script: [{ calls }, { text: "t" }],
      handlers: { look: async () => "seen" },
    });
    expect(new Set(eventsOf(events, "tool:result").map(({ key }) => key)).size).toBe(1);
  });

  test("that read overlap within a turn: each waits for the other", async () => {
    const meeting = new Map<string, () => void>();
    const arrive = (me: string, other: string) =>
      new Promise<string>((done) => {
        meeting.set(me, () => done(me));
        if (meeting.has(other)) for (const go of meeting.values()) go();
      });
    const { state } = await drive(one(), {
      handlers: { look: () => arrive("look", "peek"), peek: () => arrive("peek", "look") },
      script: [
        {
          calls: [
            { tool: "ops_look", input: {} },
            { tool: "ops_peek", input: {} },
          ],
        },
        { text: "t" },
      ],
    });
    expect(state.results.get("a")?.toolCalls).toMatchObject([{ output: "look" }, { output: "peek" }]);
  });

  test("are recorded when they are done, while others are still running", async () => {
    let finish: () => void = () => undefined;
    const { events } = await drive(one(), {
      handlers: {
        look: () =>
          new Promise<string>((done) => {
            finish = () => done("late");
          }),
      },
      observers: [{ onEvent: (event) => event.type === "tool:result" && event.tool === "ops_peek" && finish() }],
      script: [
        {
          calls: [
            { tool: "ops_look", input: {} },
            { tool: "ops_peek", input: {} },
          ],
        },
        { text: "t" },
      ],
    });
    expect(eventsOf(events, "tool:result").map(({ tool }) => tool)).toEqual(["ops_peek", "ops_look"]);
  });

  test("writes never overlap", async () => {
    let open = 0;
    let most = 0;
    const act = async () => {
      most = Math.max(most, ++open);
      await new Promise((done) => setImmediate(done));
      open--;
      return "ok";
    };
    await drive(one(), {
      handlers: { act, put: act },
      script: [{ calls: ["ops_act", "ops_put", "ops_act"].map((tool) => ({ tool, input: {} })) }, { text: "t" }],
    });
    expect(most).toBe(1);
  });

  test("a write is announced in the record before it runs", async () => {
    const record = one();
    const store = memoryStore();
    let recorded: string[] = [];
    const act = async () => {
      recorded = lines((await store.read(record.run)).events);
      return "ok";
    };
    await drive(record, {
      store,
      handlers: { act },
      script: [{ calls: [{ tool: "ops_act", input: {} }] }, { text: "t" }],
    });
    expect(recorded.at(-1)).toBe("tool:call ops_act");
  });
});

describe("an interruption", () => {
  test("before the start: no node is entered and no model called", async () => {
    const { events } = await drive(one(), { signal: AbortSignal.abort("SIGINT") });
    expect(lines(events)).toEqual([
      "workflow:start flow",
      "sources:resolved",
      "run:interrupt",
      "workflow:end interrupted",
    ]);
    expect(eventsOf(events, "run:interrupt")[0]?.reason).toBe("SIGINT");
  });

  test.each([
    ["before a node is left: the next is not entered", "model:reply", ["a"]],
    ["once a node is left: the next, which the same record entered, asks no model", "node:exit", ["a", "b"]],
  ] as const)("%s", async (_, type, entered) => {
    const stop = new AbortController();
    const record = recordOf(workflowOf({ a: {}, b: {} }, ["a -> b"]));
    const { events } = await drive(record, {
      signal: stop.signal,
      script: [{ text: "t" }],
      observers: [{ onEvent: (event) => event.type === type && stop.abort("SIGTERM") }],
    });
    expect(eventsOf(events, "node:enter").map(({ node }) => node)).toEqual(entered);
    expect(eventsOf(events, "model:reply")).toHaveLength(1);
    expect(lines(events).at(-1)).toBe("workflow:end interrupted");
  });

  test("while the model works, even if it ignores the signal", async () => {
    const stop = new AbortController();
    const deaf: Model = {
      provider: "script",
      reply: () => {
        stop.abort("SIGINT");
        return never();
      },
    };
    const { events } = await drive(one(), { model: deaf, signal: stop.signal });
    expect(lines(events).slice(-3)).toEqual(["run:interrupt", "node:exit a failed", "workflow:end interrupted"]);
  });

  test("while a tool works: it gets the signal, and finished results are kept", async () => {
    const stop = new AbortController();
    let told: unknown;
    const { events, state } = await drive(one(), {
      signal: stop.signal,
      handlers: {
        look: (_, { signal }) => {
          signal.addEventListener("abort", () => {
            told = signal.reason;
          });
          return never();
        },
      },
      observers: [{ onEvent: (event) => event.type === "tool:result" && stop.abort("SIGINT") }],
      script: [
        {
          calls: [
            { tool: "ops_look", input: {} },
            { tool: "ops_peek", input: {} },
          ],
        },
        { text: "t" },
      ],
    });
    expect(String(told)).toContain("SIGINT");
    expect(lines(events).slice(-3)).toEqual(["run:interrupt", "node:exit a failed", "workflow:end interrupted"]);
    expect(state.results.get("a")?.toolCalls).toMatchObject([
      { tool: "ops_look", error: expect.any(String) },
      { tool: "ops_peek", output: "ok" },
    ]);
  });

  test("during routing", async () => {
    const stop = new AbortController();
    const model: Model = {
      provider: "script",
      reply: (_, { purpose }) => {
        if (purpose === "work")
          return Promise.resolve({ parts: [{ type: "text", text: "t" }], stop: "end", usage: null });
        stop.abort("SIGINT");
        return never();
      },
    };
    const { events } = await drive(recordOf(workflowOf({ a: {}, b: {} }, ["a -> b: x"])), {
      model,
      signal: stop.signal,
    });
    expect(lines(events).slice(-3)).toEqual(["node:exit a success", "run:interrupt", "workflow:end interrupted"]);
  });
});

describe("time limits", () => {
  test("a node's timeout aborts its model call", async () => {
    const { events, state } = await drive(one({ timeout: "50ms" }), { model: { provider: "script", reply: never } });
    expect(lines(events)).toContain("limit:reached node_timeout");
    expect(state.results.get("a")).toMatchObject({
      status: "failed",
      data: { error: "node a took longer than its timeout" },
    });
    expect(state.end?.status).toBe("failed");
  });

  test("a node's timeout aborts its tools, and every call has its result", async () => {
    const { events, state } = await drive(one({ timeout: "50ms" }), {
      handlers: { look: never },
      script: [
        {
          calls: [
            { tool: "ops_look", input: {} },
            { tool: "ops_act", input: {} },
          ],
        },
      ],
    });
    expect(eventsOf(events, "tool:result")).toMatchObject([
      { tool: "ops_look", error: expect.stringContaining("took longer than its timeout") },
    ]);
    expect(state.results.get("a")?.toolCalls).toMatchObject([
      { tool: "ops_look", error: expect.any(String) },
      { tool: "ops_act", error: "was not carried out" },
    ]);
  });

  test("a node's timeout is softened if the node has fail_soft", async () => {
    const { state } = await drive(one({ timeout: "50ms", fail_soft: true }), {
      model: { provider: "script", reply: never },
    });
    expect(state.results.get("a")).toMatchObject({ status: "success", data: { fail_soft: true } });
  });

  test("the run's timeout interrupts running work and is never softened", async () => {
    const record = one({ fail_soft: true }, { settings: { limits: { timeout_ms: 50 } } });
    const { events, state } = await drive(record, { model: { provider: "script", reply: never } });
    expect(lines(events).slice(-3)).toEqual(["limit:reached timeout", "node:exit a failed", "workflow:end stopped"]);
    expect(state.end?.error?.code).toBe("limit.reached");
  });

  test("the run's timeout aborts tools", async () => {
    const record = one({}, { settings: { limits: { timeout_ms: 50 } } });
    const { events } = await drive(record, {
      handlers: { look: never },
      script: [{ calls: [{ tool: "ops_look", input: {} }] }],
    });
    expect(lines(events).at(-1)).toBe("workflow:end stopped");
  });
});

describe("the machine's clock, set three days ahead while a tool works,", () => {
  afterEach(() => vi.useRealTimers());

  test.each([
    ["the run's", one({}, { settings: { limits: { timeout_ms: 60_000 } } })],
    ["a node's", one({ timeout: "60s" })],
  ])("uses up nothing of %s time", async (_, record) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const look = () => vi.setSystemTime(Date.now() + 259_200_000) && "seen";
    const script: Script["replies"] = [{ calls: [{ tool: "ops_look", input: {} }] }, { text: "t" }];
    const { state } = await drive(record, { handlers: { look }, script });
    expect(state.end?.status).toBe("succeeded");
    expect(state.run.activeMs).toBeLessThan(60_000);
  });
});

describe("a model's failure", () => {
  test("is data if it is a known one", async () => {
    const model: Model = {
      provider: "script",
      reply: () => Promise.reject(new SkillflowError("model.auth", "wrong key")),
    };
    const { state } = await drive(one(), { model });
    expect(state.end).toMatchObject({ status: "failed", error: { code: "model.auth" } });
  });

  test("of a script that has run out is reported as that", async () => {
    const { state } = await drive(one(), { script: [] });
    expect(state.end?.error?.code).toBe("script.exhausted");
  });
});
