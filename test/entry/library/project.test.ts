import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  defineSkill,
  defineTool,
  type Model,
  memoryStore,
  type Observer,
  openProject,
  type ProjectOptions,
  type Reply,
  type RunEvent,
  resolveSkills,
  type Skill,
  SkillflowError,
  type Store,
  type Tool,
  type Workflow,
} from "skillflow";
import { recordingObserver, scriptedModel } from "skillflow/testing";
import { describe, expect, it } from "vitest";
import { makeProject } from "../../cli/program.ts";

const FLOW: Workflow = {
  id: "page",
  name: "Page",
  entry: "look",
  inputs: { service: { type: "string", required: true } },
  nodes: {
    look: { name: "Look", instruction: "Look.", skills: ["pager"] },
    tell: { name: "Tell", instruction: "Tell." },
  },
  edges: [{ from: "look", to: "tell" }],
};

const REPLIES = [{ calls: [{ tool: "pager_page", input: { text: "down" } }] }, { text: "paged" }, { text: "told" }];

interface Paged {
  readonly text: string;
  readonly token: string | undefined;
}

function pagerInto(paged: Paged[], parts: Partial<Skill> = {}): Skill {
  return defineSkill({
    id: "pager",
    name: "Pager",
    description: "Pages people",
    category: "notification",
    config: { PAGER_TOKEN: { description: "token", required: true, env: "PAGER_TOKEN" } },
    tools: [
      defineTool({
        name: "page",
        description: "Pages",
        effect: "write",
        input_schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        handler: ({ text }, { config }) => {
          paged.push({ text, token: config.PAGER_TOKEN });
          return { sent: text };
        },
      }),
    ],
    ...parts,
  });
}

/** A separate project, with a pager and a model that pages. */
async function openPaging(options: ProjectOptions = {}) {
  const paged: Paged[] = [];
  const directory = makeProject();
  const project = await openProject({
    directory,
    env: {},
    skills: [pagerInto(paged)],
    config: { PAGER_TOKEN: "token-of-the-pager" },
    models: { acme: scriptedModel(REPLIES) },
    store: memoryStore(),
    ...options,
  });
  return { project, paged, directory };
}

const SETTINGS = { input: { service: "shop" }, model: "acme:large" };

async function collect(run: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

/** Returns the error that a promise rejects with. */
async function failure(promise: Promise<unknown>): Promise<SkillflowError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof SkillflowError) return error;
  throw new Error(`no SkillflowError: ${String(error)}`);
}

const anyModel = (reply: Model["reply"]): Record<string, Model> => ({ acme: { provider: "acme", reply } });

describe("a run from code", () => {
  it("executes a workflow object with a custom skill, model and store", async () => {
    const { project, paged, directory } = await openPaging();
    const run = project.run(FLOW, SETTINGS);
    expect("then" in run).toBe(false);
    const result = await run.result;
    expect(result).toMatchObject({
      schema: "skillflow.result/1",
      run: await run.id,
      workflow: "page",
      status: "succeeded",
      exitCode: 0,
      degraded: [],
    });
    expect(Object.keys(result.results)).toEqual(["look", "tell"]);
    expect(paged).toEqual([{ text: "down", token: "token-of-the-pager" }]);
    expect(readdirSync(directory)).toEqual([]);
  });

  it("executes a file too, and stores its runs below the directory", async () => {
    const directory = makeProject({ "flow.yml": JSON.stringify(FLOW) });
    const { project } = await openPaging({ directory, store: undefined } as ProjectOptions);
    const run = project.run("flow.yml", SETTINGS);
    expect((await run.result).status).toBe("succeeded");
    expect(existsSync(join(directory, ".skillflow", "runs", `${await run.id}.jsonl`))).toBe(true);
  });

  it("is read by several readers side by side, each from the first event to the last, also after its end", async () => {
    const { project } = await openPaging();
    const run = project.run(FLOW, SETTINGS);
    const [one, other] = await Promise.all([collect(run), collect(run)]);
    expect(one[0]?.type).toBe("workflow:start");
    expect(one.at(-1)?.type).toBe("workflow:end");
    expect(other).toEqual(one);
    expect(await collect(run)).toEqual(one);
  });

  it("continues when a reader leaves, and readers do not see each other's changes", async () => {
    const { project } = await openPaging();
    const run = project.run(FLOW, SETTINGS);
    for await (const _event of run) break;
    expect((await run.result).status).toBe("succeeded");
    const watched = recordingObserver();
    const spoiling = {
      onEvent: (event: RunEvent) => void Object.assign(event, { type: "spoilt", result: null, output: null }),
    };
    const again = (await openPaging()).project.run(FLOW, { ...SETTINGS, observers: [spoiling, watched] });
    expect((await again.result).status).toBe("succeeded");
    expect(watched.events).toEqual(await collect(again));
  });

  it("rejects with the same error in each place if nothing ran", async () => {
    const { project } = await openPaging();
    const wrongs = [
      [project.run({ ...FLOW, entry: "nowhere" }, SETTINGS), "workflow.invalid", 2],
      [project.run("absent.yml", SETTINGS), "workflow.invalid", 2],
      [project.run(FLOW, { ...SETTINGS, input: {} }), "input.invalid", 2],
      [project.run(FLOW, { input: SETTINGS.input }), "config.missing", 3],
      [project.run(FLOW, { ...SETTINGS, model: "acne:large" }), "usage.invalid", 2],
      [project.run(FLOW, { ...SETTINGS, limits: { max_steps: -1 } }), "usage.invalid", 2],
      [project.resume("none"), "run.unknown", 2],
      [project.replay("none"), "run.unknown", 2],
    ] as const;
    for (const [run, code, exitCode] of wrongs) {
      const error = await failure(run.result);
      expect([error.code, error.exitCode]).toEqual([code, exitCode]);
      expect(await failure(run[Symbol.asyncIterator]().next())).toBe(error);
      expect(await failure(run.id)).toBe(error);
    }
    const [{ result }] = wrongs[0];
    expect((await failure(result)).diagnostics[0]).toMatchObject({ code: "MISSING_ENTRY", field: "entry" });
  });

  it("resolves as interrupted when it is stopped, and records nothing if that was before its start", async () => {
    const store = memoryStore();
    const stop = new AbortController();
    const { project } = await openPaging({
      store,
      models: anyModel(() => new Promise(() => stop.abort())),
    });
    const run = project.run(FLOW, { ...SETTINGS, signal: stop.signal });
    expect(await run.result).toMatchObject({
      status: "interrupted",
      exitCode: 130,
      error: { code: "run.interrupted" },
    });
    expect((await collect(run)).at(-1)?.type).toBe("workflow:end");
    const atOnce = new AbortController();
    const stopped = project.run(FLOW, { ...SETTINGS, signal: atOnce.signal });
    atOnce.abort();
    expect((await stopped.result).exitCode).toBe(130);
    const never = project.run(FLOW, { ...SETTINGS, signal: stop.signal });
    expect(await never.result).toMatchObject({ workflow: "page", status: "interrupted", exitCode: 130 });
    expect(await collect(never)).toEqual([]);
    expect(await store.list()).toEqual([await run.id]);
  });

  it("is stopped together with all runs that share its signal, without a warning of Node.js", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on("warning", note);
    const stop = new AbortController();
    const { project } = await openPaging({ models: anyModel(() => new Promise(() => undefined)) });
    const runs = Array.from({ length: 12 }, () => project.run(FLOW, { ...SETTINGS, signal: stop.signal }));
    await Promise.all(runs.map((run) => run.id));
    stop.abort();
    const results = await Promise.all(runs.map((run) => run.result));
    process.off("warning", note);
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(["interrupted"]));
    expect(warnings).toEqual([]);
  });

  it("ends a call that is in progress when it is stopped", async () => {
    const stop = new AbortController();
    const stuck = pagerInto([], {
      config: {},
      tools: [
        defineTool({
          name: "page",
          description: "",
          input_schema: { type: "object" },
          handler: () => new Promise(() => stop.abort("enough")),
        }),
      ],
    });
    const { project } = await openPaging({ skills: [stuck], config: {} });
    const { status, error } = await project.run(FLOW, { ...SETTINGS, signal: stop.signal }).result;
    expect([status, error?.message]).toEqual(["interrupted", "interrupted (enough)"]);
  });

  it("does not change with later changes to its arguments", async () => {
    const { project } = await openPaging();
    const flow = structuredClone(FLOW);
    const input = { service: "shop" };
    const run = project.run(flow, { ...SETTINGS, input });
    Object.assign(flow, { nodes: {}, entry: "gone" });
    input.service = "other";
    expect((await run.result).status).toBe("succeeded");
    const frozen = Object.freeze({ ...FLOW, nodes: Object.freeze(FLOW.nodes) }) as Workflow;
    const other = (await openPaging()).project.run(frozen, Object.freeze({ ...SETTINGS }));
    expect((await other.result).status).toBe("succeeded");
  });

  it("does not hang if a custom limit, store or model fails", async () => {
    const rows: [Partial<ProjectOptions>, string, number][] = [
      [{ models: anyModel(() => Promise.reject(new TypeError("boom"))) }, "model.rejected", 4],
      [
        {
          models: anyModel(() => {
            throw new Error("at once");
          }),
        },
        "model.rejected",
        4,
      ],
      [{ models: anyModel(async () => ({ parts: "?" }) as unknown as Reply) }, "model.garbled", 4],
      [{ models: anyModel(async () => undefined as unknown as Reply) }, "model.garbled", 4],
    ];
    for (const [options, code, exitCode] of rows) {
      const { project } = await openPaging(options);
      const result = await project.run(FLOW, SETTINGS).result;
      expect([result.status, result.error?.code, result.exitCode]).toEqual(["failed", code, exitCode]);
    }
    const { project } = await openPaging({ models: anyModel(() => new Promise(() => undefined)) });
    const late = await project.run(FLOW, { ...SETTINGS, limits: { timeout: "20ms" } }).result;
    expect([late.status, late.exitCode]).toEqual(["stopped", 5]);
  });

  it("reports a failing store: nothing runs if it cannot be opened, and the run is aborted later", async () => {
    const broken: Store = {
      ...memoryStore(),
      create: () => Promise.reject(new Error("no room")),
    };
    const refused = await failure((await openPaging({ store: broken })).project.run(FLOW, SETTINGS).result);
    expect([refused.code, refused.exitCode, refused.message]).toEqual(["store.failed", 4, "the store: no room"]);
    const memory = memoryStore();
    const failing: Store = {
      ...memory,
      async create(record) {
        const journal = await memory.create(record);
        let records = 0;
        return {
          ...journal,
          record: (key, work) => (++records > 3 ? Promise.reject(new Error("gone")) : journal.record(key, work)),
        };
      },
    };
    const run = (await openPaging({ store: failing })).project.run(FLOW, SETTINGS);
    expect(await run.result).toMatchObject({ run: await run.id, exitCode: 4, error: { code: "store.failed" } });
    expect((await collect(run)).length).toBeGreaterThan(0);
  });

  it("stops with a store that records nothing, and names what it lacks", async () => {
    const journals: [journal: unknown, message: string][] = [
      [undefined, "the store: it returned no journal"],
      [{}, "the store: it returned no journal"],
      [{ epoch: 0, record: async () => undefined, close: async () => undefined }, "the store: it returned no record"],
      [{ epoch: 0, record: async () => [], close: async () => undefined }, "the store: it returned no record"],
      [
        { epoch: 0, record: (_: string, work: () => unknown) => work(), close: async () => undefined },
        "the store: it returned no record",
      ],
    ];
    for (const [journal, message] of journals) {
      const store = { ...memoryStore(), create: async () => journal } as Store;
      const { result } = (await openPaging({ store })).project.run(FLOW, SETTINGS);
      const told = await result.then(
        ({ error }) => error,
        (reason: SkillflowError) => reason,
      );
      expect([told?.code, told?.message]).toEqual(["store.failed", message]);
    }
    const store = { ...memoryStore(), list: async () => [1] } as unknown as Store;
    expect((await failure((await openPaging({ store })).project.resume("1").result)).code).toBe("store.failed");
  });

  it("is not affected by a model that changes the prompt", async () => {
    const pager = pagerInto([]);
    const [page] = structuredClone(pager.tools.map(({ input_schema }) => input_schema));
    const models = anyModel(async (prompt) => {
      for (const tool of prompt.tools) Object.assign(tool.input_schema, { properties: {}, required: [] });
      return { parts: [{ type: "text", text: "done" }], stop: "end", usage: null };
    });
    const { project } = await openPaging({ skills: [pager], models });
    expect((await project.run(FLOW, SETTINGS).result).status).toBe("succeeded");
    expect(pager.tools[0]?.input_schema).toEqual(page);
  });

  it("calls the handler of a tool that is a class instance", async () => {
    class Page {
      readonly name = "page";
      readonly description = "Pages";
      readonly input_schema = { type: "object" } as const;
      readonly sent: string[] = [];
      handler() {
        return this.sent.push("down");
      }
    }
    const page = new Page();
    const { project } = await openPaging({ skills: [pagerInto([], { tools: [page] })] });
    await project.run(FLOW, SETTINGS).result;
    expect(page.sent).toEqual(["down"]);
  });

  it("gives its tools the blobs of a store that consists of class instances", async () => {
    const memory = memoryStore();
    const blobsOf = (run: string) => {
      const blobs = memory.blobs(run);
      return new (class {
        create(...given: Parameters<typeof blobs.create>) {
          return blobs.create(...given);
        }
        info(id: string) {
          return blobs.info(id);
        }
        read(...given: Parameters<typeof blobs.read>) {
          return blobs.read(...given);
        }
        file(id: string) {
          return blobs.file(id);
        }
      })();
    };
    const read: string[] = [];
    const keeping = pagerInto([], {
      config: {},
      tools: [
        defineTool({
          name: "page",
          description: "",
          input_schema: { type: "object" },
          async handler(_, { blobs }) {
            const { blob_id } = await blobs.create(Buffer.from("kept"), "text/plain");
            read.push(Buffer.from(await blobs.read(blob_id, 0, 4)).toString());
            return {};
          },
        }),
      ],
    });
    const { project } = await openPaging({ skills: [keeping], config: {}, store: { ...memory, blobs: blobsOf } });
    await project.run(FLOW, SETTINGS).result;
    expect(read).toEqual(["kept"]);
  });

  it("gives each reader separate events", async () => {
    const run = (await openPaging()).project.run(FLOW, SETTINGS);
    for await (const event of run) Object.assign(event, { type: "changed" });
    expect((await collect(run))[0]?.type).toBe("workflow:start");
  });

  it("removes the values of config from the reason for a stop, and shortens the reason", async () => {
    const reason = `token-of-the-pager ${"at length ".repeat(1000)}`;
    const stop = new AbortController();
    const { project } = await openPaging({ models: anyModel(() => new Promise(() => stop.abort(reason))) });
    const stopped = project.run(FLOW, { ...SETTINGS, signal: stop.signal });
    const events = await collect(stopped);
    const told = JSON.stringify([await stopped.result, events]);
    const never = JSON.stringify(await project.run(FLOW, { ...SETTINGS, signal: stop.signal }).result);
    for (const text of [told, never]) {
      expect(text).not.toContain("token-of-the-pager");
      expect(text).toContain("interrupted ([redacted:PAGER_TOKEN] at length");
    }
    const recorded = events.find((event) => event.type === "run:interrupt");
    expect(recorded?.reason.length).toBeLessThan(reason.length / 2);
  });

  it("rejects for every invalid argument, and never throws", async () => {
    const { project } = await openPaging();
    const calls = [
      () => project.run(FLOW, { ...SETTINGS, signal: {} as AbortSignal }),
      () => project.run(FLOW, { ...SETTINGS, observers: [null] as never }),
      () => project.run(FLOW, { ...SETTINGS, model: 7 as never }),
      () => project.run(FLOW, { ...SETTINGS, writes: "perhaps" as never }),
      () => project.run(FLOW, { ...SETTINGS, limits: { max_cost: 1 } as never }),
      () => project.run(undefined as never),
      () => project.run(FLOW, { ...SETTINGS, input: null as never, limits: null as never }),
      () => project.run(FLOW, { ...SETTINGS, input: null as never }),
      () => project.run(FLOW, { ...SETTINGS, input: { n: Number.NaN } }),
      () => project.resume(undefined as never, null as never),
      () => project.replay("latest", { tools: "made-up" as never }),
    ];
    for (const call of calls) expect((await failure(call().result)).exitCode, String(call)).toBe(2);
  });

  it("removes a value of config from the error of a store that a report reads", async () => {
    const list = () => Promise.reject(new Error("no answer of redis://:token-of-the-pager@host"));
    const { project } = await openPaging({ store: { ...memoryStore(), list } });
    const { code, message } = await failure(project.report("latest", "md"));
    expect([code, message]).toEqual(["store.failed", "the store: no answer of redis://:[redacted:PAGER_TOKEN]@host"]);
  });

  it("removes a value of config from the error that prevents its start", async () => {
    const { project } = await openPaging({ env: { SHOP_SECRET: "secret-of-the-shop" } });
    const error = await failure(project.run("token-of-the-pager/secret-of-the-shop.yml", SETTINGS).result);
    expect(error.message).toBe("[redacted:PAGER_TOKEN]/[redacted:SHOP_SECRET].yml cannot be run");
    expect(error.diagnostics[0]?.message).not.toMatch(/token-of|secret-of/);
  });

  it("ignores observers that throw", async () => {
    const { project } = await openPaging();
    const bad = {
      onEvent: () => {
        throw new Error("no");
      },
      onProgress: () => Promise.reject(new Error("no")),
    };
    expect((await project.run(FLOW, { ...SETTINGS, observers: [bad] }).result).status).toBe("succeeded");
  });

  it("passes the logs of skills to observers, without the values of config", async () => {
    const handler: Tool["handler"] = (_, { config, logger }) => {
      logger.debug("looking");
      logger.warn(`with ${config.PAGER_TOKEN}`);
      return null;
    };
    const page = defineTool({ name: "page", description: "Pages", effect: "write", input_schema: {}, handler });
    const { project } = await openPaging({ skills: [pagerInto([], { tools: [page] })] });
    const logs: unknown[] = [];
    const observer: Observer = { onEvent: () => undefined, onLog: (log) => logs.push(log) };
    await project.run(FLOW, { ...SETTINGS, observers: [observer] }).result;
    expect(logs).toEqual([
      { skill: "pager", level: "debug", message: "looking" },
      { skill: "pager", level: "warn", message: "with [redacted:PAGER_TOKEN]" },
    ]);
  });

  it("names options, not flags, in the hints of errors", async () => {
    const { project } = await openPaging();
    const hints = [
      (await failure(project.run(FLOW, { input: SETTINGS.input }).result)).hint,
      (await failure(project.run(FLOW, { ...SETTINGS, writes: "perhaps" as never }).result)).message,
      (await failure(project.resume("none", { from: "look" }).result)).hint,
    ];
    const run = project.run(FLOW, SETTINGS);
    await run.result;
    hints.push((await failure(project.resume(await run.id).result)).hint);
    expect(hints.join("\n")).not.toMatch(/--[a-z]/);
    expect(hints[0]).toContain("name one: `model` openai-compatible:NAME");
    expect(hints.at(-1)).toBe("repeat a part of it with `from` NODE");
  });

  it("names options, not flags, in messages about missing parts of skills and workflows", async () => {
    const directory = makeProject({
      "skills/count/SKILL.md": "---\nname: count\ndescription: Counts\n---\nCount.",
      "skills/count/tools.json": [{ name: "count", description: "Counts.", script: "scripts/count.js" }],
      "skills/count/scripts/count.js": "export default () => 1;",
      "script.yml": "replies: []",
    });
    const { project } = await openPaging({ directory });
    const found = (await project.skills()).find(({ id }) => id === "count");
    expect(found).toMatchObject({ fix: "`trust` count", reason: expect.stringContaining("`trust` count lets it run") });
    expect(await project.validate("script.yml")).toMatchObject([{ hint: "pass it to a run: `model` script:FILE" }]);
  });

  it("removes the values of config from all results and events", async () => {
    const { project } = await openPaging({
      models: { acme: scriptedModel([{ text: "it is token-of-the-pager" }, { text: "told" }]) },
    });
    const run = project.run(FLOW, SETTINGS);
    const told = JSON.stringify([await collect(run), await run.result]);
    expect(told).not.toContain("token-of-the-pager");
    expect(told).toContain("[redacted:PAGER_TOKEN]");
  });
});

describe("a recorded run", () => {
  it("is replayed, reported and resumed from a custom store", async () => {
    const { project, paged } = await openPaging();
    const run = project.run(FLOW, SETTINGS);
    const { results } = await run.result;
    const replayed = await project.replay(await run.id).result;
    expect([replayed.status, replayed.results]).toEqual(["succeeded", results]);
    expect(paged).toHaveLength(1);
    expect(await project.report(await run.id, "md")).toContain("Page");
    expect(await project.report("latest", "junit")).toMatch(/^<\?xml/);
    expect(JSON.parse(await project.report("latest", "json"))).toEqual(await run.result);
    expect((await failure(project.report("latest", "pdf" as never))).code).toBe("usage.invalid");
    const error = await failure(project.resume("latest").result);
    expect([error.code, error.exitCode]).toEqual(["run.finished", 2]);
  });

  it("continues where it stopped, with another model", async () => {
    const models = {
      silent: scriptedModel(REPLIES.slice(0, 2)),
      acme: scriptedModel([{ node: "tell", text: "told" }]),
    };
    const { project, paged } = await openPaging({ models });
    const run = project.run(FLOW, { ...SETTINGS, model: "silent:1" });
    expect(await run.result).toMatchObject({ exitCode: 1, error: { code: "script.exhausted" } });
    const resumed = project.resume(await run.id, { model: "acme:large", from: "tell" });
    expect((await resumed.result).status).toBe("succeeded");
    expect((await collect(resumed))[0]?.type).toBe("run:resume");
    expect(paged).toHaveLength(1);
    const fresh = await failure(project.resume(await run.id, { from: "nowhere" }).result);
    expect(fresh.code).toBe("usage.invalid");
  });

  it("resumes with the remaining skills, and observers get a warning about the missing ones", async () => {
    const store = memoryStore();
    const { project } = await openPaging({ store });
    const run = project.run(FLOW, { ...SETTINGS, limits: { max_steps: 1 } });
    expect((await run.result).status).toBe("stopped");
    const { project: poorer } = await openPaging({ store, config: {} });
    const warnings: string[] = [];
    const observers = [
      { onEvent: () => undefined, onWarning: (told: { message: string }) => warnings.push(told.message) },
    ];
    await poorer.resume(await run.id, { limits: { max_steps: 9 }, observers }).result;
    expect(warnings).toEqual(["pager has lost pager_page since the run started: PAGER_TOKEN is not set"]);
  });

  it("resumes without a skill that was left out at the start, and observers are advised to start a new run", async () => {
    const store = memoryStore();
    const { project: poorer } = await openPaging({ store, config: {} });
    const run = poorer.run(FLOW, SETTINGS);
    await run.result.catch(() => undefined);
    const { project } = await openPaging({ store });
    const warnings: string[] = [];
    const observers = [
      { onEvent: () => undefined, onWarning: (told: { message: string }) => warnings.push(told.message) },
    ];
    await project.resume(await run.id, { from: "look", observers }).result.catch(() => undefined);
    expect(warnings).toEqual(["pager is left out, as it was when the run started: start a new run to use it"]);
  });

  it("with a changed prompt on replay ends as changed, unless that is allowed", async () => {
    const directory = makeProject({ "flow.yml": JSON.stringify(FLOW) });
    const { project } = await openPaging({ directory });
    const run = project.run("flow.yml", SETTINGS);
    await run.result;
    const tell = { name: "Tell", instruction: "Tell it otherwise." };
    writeFileSync(join(directory, "flow.yml"), JSON.stringify({ ...FLOW, nodes: { ...FLOW.nodes, tell } }));
    const changed = await project.replay(await run.id).result;
    expect([changed.exitCode, changed.error?.code]).toEqual([1, "replay.changed"]);
    expect(changed.error?.hint).toBe("record the run again, or accept the changes with `allowChanges`");
    const warnings: string[] = [];
    const observers = [
      { onEvent: () => undefined, onWarning: (told: { message: string }) => warnings.push(told.message) },
    ];
    expect((await project.replay(await run.id, { allowChanges: true, observers }).result).exitCode).toBe(0);
    expect(warnings).toEqual([expect.stringMatching(/^the prompt of tell differs from the recording$/)]);
  });
});

describe("a project", () => {
  it("reports everything that is wrong with a workflow, without rejecting", async () => {
    const { project, directory } = await openPaging();
    expect(await project.validate({ ...FLOW, writes: "plan" })).toEqual([]);
    expect(await project.validate(FLOW)).toMatchObject([{ code: "taint.write_held", field: "nodes.look" }]);
    const found = await project.validate({ ...FLOW, entry: "lok" });
    expect(found[0]).toMatchObject({
      severity: "error",
      code: "MISSING_ENTRY",
      field: "entry",
      hint: expect.any(String),
    });
    const round: Record<string, unknown> = { ...FLOW };
    round.nodes = round;
    for (const value of [undefined, null, 7, [], round, {}, "absent.yml", directory]) {
      const diagnostics = await project.validate(value as Workflow);
      expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true);
    }
  });

  it("reports what each skill lacks", async () => {
    const { project } = await openPaging({ config: {} });
    const states = await project.skills();
    const pager = states.find(({ id }) => id === "pager");
    expect(pager).toEqual({
      id: "pager",
      state: "not_configured",
      cause: "config_missing",
      reason: "PAGER_TOKEN is not set",
      fix: "set PAGER_TOKEN (token)",
      nodes: [],
    });
    expect(states.map(({ id }) => id)).toContain("logs");
  });

  it("prefers its own skills to discovered ones, also built-in ones, and reports that", async () => {
    const directory = makeProject({
      "skills/pager/SKILL.md": "---\nname: pager\ndescription: found\n---\nShout.\n",
      ".skillflow.yml": "mcpServers: { pager: { url: 'https://example.com/mcp' } }\n",
    });
    const sent: string[] = [];
    const slack = pagerInto([], {
      id: "slack",
      config: {},
      tools: [
        defineTool({
          name: "send",
          description: "",
          input_schema: { type: "object" },
          handler: () => sent.push("slack"),
        }),
      ],
    });
    const { project, paged } = await openPaging({
      directory,
      skills: [pagerInto([]), slack],
      models: { acme: scriptedModel([{ calls: [{ tool: "slack_send" }] }, { text: "sent" }, { text: "told" }]) },
    });
    const nodes = { ...FLOW.nodes, look: { name: "Look", instruction: "Look.", skills: ["slack", "pager"] } };
    const run = project.run({ ...FLOW, nodes }, SETTINGS);
    expect((await run.result).status).toBe("succeeded");
    expect([sent, paged]).toEqual([["slack"], []]);
    expect((await project.validate(FLOW)).map(({ code }) => code)).toContain("SKILL_SHADOWED");
  });

  it("reads nothing of the process if environment and directory are given", async () => {
    const { project } = await openPaging({ env: {} });
    const configured = (await project.skills()).filter(({ state }) => state === "configured");
    expect(configured.map(({ id }) => id)).toEqual(["pager"]);
    const home = makeProject({ ".config/skillflow/config.yml": "model: acme:large\n" });
    const { project: other } = await openPaging({ env: { HOME: home } });
    expect((await other.run(FLOW, { input: SETTINGS.input }).result).status).toBe("succeeded");
  });

  it("keeps its own skills enabled, whatever a config file disables", async () => {
    const directory = makeProject({ ".skillflow.yml": "skills: { disabled: [pager, github] }\n" });
    const { project } = await openPaging({ directory });
    const reasons = new Map((await project.skills()).map(({ id, reason }) => [id, reason]));
    expect([reasons.get("pager"), reasons.get("github")]).toEqual([null, "disabled in .skillflow.yml"]);
  });

  it("keeps its skills as they were when it was opened", async () => {
    const paged: Paged[] = [];
    const skill = pagerInto(paged) as { config: Record<string, unknown>; tools: Record<string, unknown>[] } & Skill;
    const { project } = await openPaging({ skills: [skill] });
    delete skill.config["PAGER_TOKEN"];
    const [tool] = skill.tools;
    Object.assign(tool ?? {}, { handler: () => "another" });
    Object.assign((tool?.["input_schema"] as object) ?? {}, { required: ["other"] });
    const { status } = await project.run(FLOW, SETTINGS).result;
    expect([status, paged]).toEqual(["succeeded", [{ text: "down", token: "token-of-the-pager" }]]);
  });

  it("removes values of config from findings about a workflow", async () => {
    const { project } = await openPaging();
    const found = await project.validate({ ...FLOW, entry: "token-of-the-pager" });
    expect(found.length).toBeGreaterThan(0);
    expect(JSON.stringify(found.map(({ message, hint }) => [message, hint]))).not.toContain("token-of-the-pager");
  });

  it("reports invalid options as an error of the caller", async () => {
    const { project } = await openPaging();
    const throwing = (key: string): object =>
      Object.defineProperty({}, key, { get: () => expect.fail("not to be read") });
    for (const key of ["input", "model", "limits", "signal", "observers"]) {
      expect((await failure(project.run(FLOW, throwing(key)).result)).code, key).toBe("usage.invalid");
    }
    expect((await failure(project.resume("latest", throwing("from")).result)).code).toBe("usage.invalid");
    expect((await failure(project.replay("latest", throwing("tools")).result)).code).toBe("usage.invalid");
  });

  it("reports arguments of another type as an error of the caller", async () => {
    const { project } = await openPaging();
    await project.run(FLOW, SETTINGS).result;
    const text = "op-1=applied" as never;
    const faults = [
      project.apply("latest", { approve: text }),
      project.apply("latest", { yes: true, resolve: text }),
      project.test("x.test.yml" as never),
      project.signal("latest", "a", undefined as never).result,
    ];
    const errors = await Promise.all(faults.map(failure));
    expect(errors.map(({ code, exitCode, message }) => [code, exitCode, message])).toEqual([
      ["usage.invalid", 2, "approve: must be a list of strings"],
      ["usage.invalid", 2, "resolve: must be a list of strings"],
      ["usage.invalid", 2, "test: must be a list of strings"],
      ["usage.invalid", 2, "approve: must be true or false"],
    ]);
  });

  it("works next to another in one process, each with its own skills, config and runs", async () => {
    const [one, two] = await Promise.all([openPaging(), openPaging({ config: { PAGER_TOKEN: "another-token" } })]);
    const runs = [one, two].map(({ project }) => project.run(FLOW, SETTINGS));
    expect(await Promise.all(runs.map(async (run) => (await run.result).status))).toEqual(["succeeded", "succeeded"]);
    expect([one.paged, two.paged].map(([call]) => call?.token)).toEqual(["token-of-the-pager", "another-token"]);
  });

  it("opens with the valid skills alone, and reports the invalid ones", async () => {
    const pager = pagerInto([]);
    const rows: [ProjectOptions, string][] = [
      [{ directory: "/absent/folder" }, "usage.invalid"],
      [{ skills: [pager, pager] }, "skill.invalid"],
      [{ skills: [{ ...pager, id: "../escape" }] }, "skill.invalid"],
      [{ skills: [{ ...pager, id: "skillflow" }] }, "skill.invalid"],
      [{ skills: [{ ...pager, tools: [{ name: "read_blob" }] }] } as unknown as ProjectOptions, "skill.invalid"],
      [{ skills: [null] } as unknown as ProjectOptions, "skill.invalid"],
      [{ models: { script: scriptedModel([]) } }, "usage.invalid"],
      [{ models: { "a:b": scriptedModel([]) } }, "usage.invalid"],
      [{ models: { acme: {} } } as unknown as ProjectOptions, "usage.invalid"],
      [{ config: { A: 7 } } as unknown as ProjectOptions, "usage.invalid"],
      [{ trust: "pager" } as unknown as ProjectOptions, "usage.invalid"],
      [{ state: 7 } as unknown as ProjectOptions, "usage.invalid"],
      [{ store: 7 } as unknown as ProjectOptions, "usage.invalid"],
    ];
    for (const [options, code] of rows) {
      const error = await failure(openProject({ directory: makeProject(), env: {}, ...options }));
      expect([options, error.code]).toEqual([options, code]);
    }
    const broken = makeProject({ ".skillflow.yml": "modle: x\n" });
    expect((await failure(openProject({ directory: broken, env: {} }))).exitCode).toBe(2);
  });
});

describe("resolving skills", () => {
  const pager = pagerInto([]);
  const other = pagerInto([], { id: "other" });

  it("returns which can be used, and what the others lack", () => {
    expect(resolveSkills([pager], { env: { PAGER_TOKEN: "x" } })).toEqual({ available: [pager], unavailable: [] });
    expect(resolveSkills([pager], { config: { PAGER_TOKEN: "x" }, env: {} }).available).toEqual([pager]);
    expect(resolveSkills([pager], { config: { PAGER_TOKEN: "" }, env: { PAGER_TOKEN: "x" } })).toEqual({
      available: [],
      unavailable: [{ skill: pager, reason: "PAGER_TOKEN is set but empty", missing: ["PAGER_TOKEN"], malformed: [] }],
    });
  });

  it.each([
    ["no list", undefined, "usage.invalid"],
    ["a value that is not a skill", [null], "skill.invalid"],
    ["a skill without config", [{ id: "x" }], "skill.invalid"],
    ["a field that is none", [{ id: "x", config: { KEY: null } }], "skill.invalid"],
  ])("reports what is wrong with %s", (_, skills, code) => {
    expect(() => resolveSkills(skills as never, { env: {} })).toThrow(expect.objectContaining({ code }));
  });

  it("requires a skill's name if several declare the key", () => {
    expect(() => resolveSkills([pager, other], { config: { PAGER_TOKEN: "x" }, env: {} })).toThrow(SkillflowError);
    const { available, unavailable } = resolveSkills([pager, other], { config: { "other.PAGER_TOKEN": "x" }, env: {} });
    expect([available, unavailable.map(({ skill }) => skill)]).toEqual([[other], [pager]]);
  });
});
