import { describe, expect, test } from "vitest";
import { type CallCode, NothingDone, SkillflowError } from "../../src/core/base/errors.ts";
import { createRedactor } from "../../src/core/base/redact/redact.ts";
import type { Outcome, Tool, ToolContext, ToolDescriptor } from "../../src/core/skill/skill.ts";
import { requestsOf } from "../../src/kit/http.ts";
import { type CallOptions, createCall } from "../../src/run/call.ts";
import { MOST_RESULT } from "../../src/run/results/large.ts";
import { memoryBlobs } from "../../src/stores/blobs.ts";
import { toolContext } from "../../src/testing.ts";
import { toolOf } from "../harness/harness.ts";

const { logger } = toolContext();
type Handler = (input: never, context: ToolContext) => unknown;

function caller(
  handler: Handler,
  options: Partial<CallOptions> = {},
  descriptor: Partial<ToolDescriptor & Pick<Tool, "most_result">> = {},
) {
  const tool: Tool = { ...toolOf("ops", "t", descriptor), handler };
  const call = createCall({
    run: "r1",
    findHandler: () => ({ tool, config: { TOKEN: "s3cret" } }),
    timeoutMs: 60_000,
    workDir: "/work",
    fetch: async () => new Response("none"),
    loggerFor: () => logger,
    redactor: createRedactor([]),
    blobs: memoryBlobs(),
    ...options,
  });
  return (input: unknown = {}, signal = new AbortController().signal): Promise<Outcome> =>
    call({ key: "1:a/0/1/0", tool: toolOf("ops", "t", descriptor), input: input as never }, signal);
}
const returning = (value: unknown) => caller(() => value)();

describe("a failure", () => {
  const thrown = (error: unknown) =>
    caller(() => {
      throw error;
    })();

  test.each<[string, unknown, CallCode]>([
    ["in the tool's own words", new Error("no"), "tool.failed"],
    ["that is not an error at all", "no", "tool.failed"],
    ["with a code that calls have", new SkillflowError("input.invalid", "no"), "input.invalid"],
    ["of what carries it out", new SkillflowError("sandbox.missing", "no"), "sandbox.missing"],
    ["with a code that no call has", new SkillflowError("run.finished", "no"), "tool.failed"],
    [
      "with what passes for a code",
      Object.assign(new Error("no"), { code: "sandbox.missing", acted: "no" }),
      "tool.failed",
    ],
  ])("%s has its code", async (_, error, code) => {
    expect(await thrown(error)).toEqual({ error: "no", code, acted: "no" });
  });
});

describe("a failed write", () => {
  const acted = async (handler: Handler, options: Partial<CallOptions> = {}) => {
    const outcome = await caller(handler, options, { effect: "write" })();
    return "acted" in outcome ? outcome.acted : undefined;
  };
  test.each([
    [["http://127.0.0.1/", "https://x.example/"], "unknown"],
    [["https://x.example/", "http://127.0.0.1/"], "no"],
  ])("of the requests %j may have acted: %s", async (urls, expected) => {
    const fetch = async (url: unknown) => {
      if (String(url).startsWith("https:")) throw new SkillflowError("offline.refused", "no");
      return new Response("ok");
    };
    const handler: Handler = async (_, context) => {
      for (const url of urls) await context.fetch(url);
    };
    expect(await acted(handler, { fetch })).toBe(expected);
  });

  const connecting = Object.assign(new Error("connect"), { code: "ECONNREFUSED", syscall: "connect" });
  const refused = (error: unknown) => (_: unknown, context: ToolContext) =>
    requestsOf(context)
      .send("write", () => Promise.reject(error))
      .catch((thrown: unknown) => Promise.reject(requestsOf(context).failure(thrown, "no")));

  test.each<[string, unknown, "no" | "unknown"]>([
    ["a plain error", new Error("400 Bad Request: the limit is 512 characters"), "unknown"],
    ["NothingDone", new NothingDone("timeout 503"), "no"],
    ["the same from another copy of the library", Object.assign(new Error("no"), { acted: "no" }), "no"],
    ["a code of calls that never begin", new SkillflowError("call.refused", "no"), "no"],
    ["a code of calls that may have begun", new SkillflowError("server.failed", "no"), "unknown"],
    ["the same where it was refused", new SkillflowError("server.failed", "no", { acted: "no" }), "no"],
    ["a value that is not an error", "no", "unknown"],
  ])("by %s", async (_, error, expected) => {
    expect(await acted(() => Promise.reject(error))).toBe(expected);
  });

  test.each<[string, unknown, "no" | "unknown"]>([
    ["refused with a 4xx", Object.assign(new Error("no"), { status: 422 }), "no"],
    ["timed out at the server (408)", Object.assign(new Error("no"), { status: 408 }), "unknown"],
    ["answered with a 5xx", Object.assign(new Error("no"), { status: 503 }), "unknown"],
    ["not connected", new TypeError("fetch failed", { cause: connecting }), "no"],
    ["cut off", new TypeError("fetch failed", { cause: new Error("other side closed") }), "unknown"],
  ])("whose request was %s", async (_, error, expected) => {
    expect(await acted(refused(error))).toBe(expected);
  });

  test("is unknown once an earlier request of the call succeeded", async () => {
    const both: Handler = async (input, context) => {
      await requestsOf(context).send("write", async () => "done");
      return refused(Object.assign(new Error("no"), { status: 404 }))(input, context);
    };
    expect(await acted(both)).toBe("unknown");
  });

  const failing = (context: ToolContext) => Promise.reject(requestsOf(context).failure(new Error("too long"), "no"));
  test.each<[string, Handler, "no" | "unknown"]>([
    [
      "a write that a copy of the context sent",
      async (_, context) => {
        await requestsOf({ ...context, signal: context.signal }).send("write", async () => "done");
        return failing(context);
      },
      "unknown",
    ],
    [
      "a request by the call's own fetch",
      async (_, context) => {
        await context.fetch("https://x.example/", { method: "POST" });
        return failing(context);
      },
      "unknown",
    ],
    [
      "the same while another request is read",
      async (_, context) => {
        const { send } = requestsOf(context);
        const read = send("read", () => context.fetch("https://x.example/", { method: "POST" }));
        await Promise.all([read, context.fetch("https://x.example/", { method: "POST" })]);
        return failing(context);
      },
      "unknown",
    ],
    [
      "a read that is posted",
      async (_, context) => {
        await requestsOf(context).send("read", () => context.fetch("https://x.example/", { method: "POST" }));
        return failing({ ...context });
      },
      "no",
    ],
    [
      "a request by the call's own fetch that was refused",
      async (_, context) => {
        await context.fetch("https://x.example/no", { method: "POST" });
        return failing(context);
      },
      "no",
    ],
  ])("that failed after %s", async (_, handler, expected) => {
    const fetch = async (url: unknown) => new Response("", { status: String(url).endsWith("/no") ? 422 : 200 });
    expect(await acted(handler, { fetch })).toBe(expected);
  });

  test("is unknown after its time limit, or if its result is not valid", async () => {
    expect(await acted(() => new Promise(() => undefined), { timeoutMs: 1 })).toBe("unknown");
    const value = {
      get x() {
        throw new Error("no x");
      },
    };
    expect(await acted(() => value)).toBe("unknown");
  });

  test("has not acted if its skill no longer exists", async () => {
    expect(await acted(() => 1, { findHandler: () => undefined })).toBe("no");
  });
});

describe("a result", () => {
  test.each([
    [{ a: 1 }, { a: 1 }],
    [undefined, null],
    [12n, "12"],
    [Promise.resolve([1]), [1]],
    [Number.NaN, null],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [{ error: null }, { error: null }],
  ])("%o becomes the output %j", async (value, output) => {
    expect(await returning(value)).toEqual({ output });
  });

  test("with a circular reference is a failed call", async () => {
    const value: Record<string, unknown> = {};
    value["self"] = value;
    expect(await returning(value)).toEqual({
      error: "the value refers to itself at .self",
      code: "output.invalid",
      acted: "no",
    });
  });

  test.each([1_000, 4_000, 100_000])("nested %i levels deep is a failed call", async (depth) => {
    let value: unknown = 1;
    for (let i = 0; i < depth; i++) value = { a: value };
    expect(await returning(value)).toMatchObject({
      error: expect.stringContaining("nested more than 500 levels deep"),
    });
  });

  test("whose getter throws is a failed call", async () => {
    const value = {
      get x() {
        throw new Error("no x");
      },
    };
    expect(await returning(value)).toEqual({ error: "no x", code: "output.invalid", acted: "no" });
  });

  /** A blob store that accepts nothing: large results are cut then. */
  const none = memoryBlobs({ mostBytes: 0, quotaBytes: 0 });

  test("of 100 MB of text becomes a blob, and the model sees its ends", async () => {
    const blobs = memoryBlobs();
    const value = `head${"x".repeat(100 * 1024 * 1024)}tail`;
    const outcome = await caller(() => value, { blobs })();
    const info = {
      blob_id: expect.stringMatching(/^blob:[0-9a-f]{32}$/),
      kind: "text/plain",
      size_bytes: value.length,
    };
    expect(outcome).toEqual({
      output: {
        ...info,
        lines: 1,
        head: expect.stringMatching(/^headx+$/),
        tail: expect.stringMatching(/^x+tail$/),
        read_on_with: "read_blob, search_blob",
      },
      blobs: [info],
    });
    expect(JSON.stringify(outcome).length).toBeLessThan(2200);
  });

  test("with one large text keeps the other parts unchanged", async () => {
    const outcome = await returning({ path: "a.log", content: "line\n".repeat(20_000), more: { n: 1 } });
    expect(outcome).toMatchObject({ output: { path: "a.log", content: { lines: 20_000 }, more: { n: 1 } } });
  });

  test("up to the tool's own limit stays whole, and beyond it becomes a blob", async () => {
    const log = "line\n".repeat(12_000);
    const outcome = (most_result: number) => caller(() => ({ log }), {}, { most_result })();
    expect(await outcome(80_000)).toEqual({ output: { log } });
    expect(await outcome(60_000)).toMatchObject({ output: { log: { lines: 12_000 } } });
  });

  test("of much JSON becomes one blob whose lines can be searched", async () => {
    const outcome = await returning(Array.from({ length: 100_000 }, (_, index) => ({ index })));
    expect(outcome).toMatchObject({ output: { kind: "application/json", lines: 300_002 } });
  });

  test("that exceeds the limit of blobs is cut to its head and tail", async () => {
    const outcome = await caller(() => `head${"x".repeat(1024 * 1024)}tail`, { blobs: none })();
    const output = "output" in outcome ? String(outcome.output) : "";
    expect(output.length).toBeLessThanOrEqual(MOST_RESULT);
    expect(output).toMatch(/^head.*tail$/s);
    expect(output).toMatch(/\[… \d+ characters left out …\]/);
  });

  test("of much JSON that exceeds the limit of blobs is cut, with a note", async () => {
    const outcome = await caller(() => Array.from({ length: 100_000 }, (_, index) => ({ index })), { blobs: none })();
    expect(outcome).toMatchObject({ output: { truncated: true, characters: expect.any(Number) } });
    expect(JSON.stringify(outcome).length).toBeLessThan(2 * MOST_RESULT);
  });

  test("that contains an unknown blob id creates no blob", async () => {
    const made = { blob_id: `blob:${"0".repeat(32)}`, kind: "text/plain", size_bytes: 1 };
    expect(await returning(made)).toEqual({ output: made });
  });

  test("may contain the id of a blob that the handler created, free of secrets", async () => {
    const blobs = memoryBlobs();
    const redactor = createRedactor([{ name: "TOKEN", value: "s3cret-value" }]);
    const make: Handler = (_, context) => context.blobs.create(Buffer.from("a s3cret-value"), "text/plain");
    const outcome = await caller(make, { blobs, redactor })();
    const [info] = "output" in outcome ? (outcome.blobs ?? []) : [];
    const content = await blobs.read(info?.blob_id ?? "", 0, 100);
    expect(Buffer.from(content).toString()).toBe("a [redacted:TOKEN]");
  });

  test("that just fits is not cut", async () => {
    const value = "x".repeat(MOST_RESULT);
    expect(await returning(value)).toEqual({ output: value });
  });

  test("that does not fit output_schema makes the call a failed one", async () => {
    const output_schema = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
    expect(await caller(() => ({ id: 7 }), {}, { output_schema })()).toEqual({
      error: "the result does not fit the tool's output schema: id must be string",
      code: "output.invalid",
      acted: "no",
    });
    expect(await caller(() => ({ id: "7" }), {}, { output_schema })()).toEqual({ output: { id: "7" } });
  });

  test("with an invalid output_schema is a failed call", async () => {
    expect(await caller(() => 1, {}, { output_schema: { type: "nonsense" } })()).toMatchObject({
      error: expect.any(String),
    });
  });
});

describe("a handler that fails", () => {
  test.each<[string, unknown, string]>([
    ["an error", new Error("boom"), "boom"],
    ["an error without words", new TypeError(), "TypeError"],
    ["a text", "boom", "boom"],
    ["nothing", undefined, "undefined"],
    ["null", null, "null"],
    ["an object without a prototype", Object.create(null), "an unprintable value was thrown"],
    [
      "an error whose message throws",
      Object.defineProperty(new Error(), "message", {
        get: () => {
          throw new Error("no");
        },
      }),
      "an unprintable value was thrown",
    ],
    ["a plain object with a message", { message: "boom" }, "boom"],
    ["an error whose message is not a string", Object.assign(new Error(), { message: { a: 1 } }), "[object Object]"],
  ])("throwing %s results in an error", async (_, thrown, error) => {
    expect(
      await caller(() => {
        throw thrown;
      })(),
    ).toEqual({ error, code: "tool.failed", acted: "no" });
    expect(await caller(() => Promise.reject(thrown))()).toEqual({ error, code: "tool.failed", acted: "no" });
  });

  test("with a very long message: the error is cut", async () => {
    const outcome = await caller(() => {
      throw new Error("x".repeat(1_000_000));
    })();
    expect("error" in outcome && outcome.error.length).toBeLessThanOrEqual(8192);
  });

  test("has a time limit of a month, although no timer of Node is that long", async () => {
    const slow = () => new Promise((resolve) => setTimeout(() => resolve("done"), 5));
    expect(await caller(slow, { timeoutMs: 30 * 86_400_000 })()).toEqual({ output: "done" });
  });

  test("by never returning is aborted by the tool's timeout", async () => {
    let aborted = false;
    const call = caller(
      (_, { signal }) => {
        signal.addEventListener("abort", () => {
          aborted = true;
        });
        return new Promise(() => undefined);
      },
      { timeoutMs: 1 },
    );
    expect(await call()).toEqual({ error: "the call took longer than 0.001 s", code: "tool.timeout", acted: "no" });
    expect(aborted).toBe(true);
  });

  test("after it was aborted affects nothing", async () => {
    let refuse: (reason: unknown) => void = () => undefined;
    const call = caller(
      () =>
        new Promise((_, no) => {
          refuse = no;
        }),
      { timeoutMs: 1 },
    );
    expect(await call()).toMatchObject({ error: expect.stringContaining("took longer") });
    refuse(new Error("too late"));
    await new Promise((done) => setImmediate(done));
  });

  test("because it no longer exists is reported", async () => {
    const call = caller(() => 1, { findHandler: () => undefined });
    expect(await call()).toEqual({ error: "the skill ops is no longer available", code: "tool.unknown", acted: "no" });
  });
});

describe("an abort", () => {
  test("ends the call with the signal's reason", async () => {
    const stop = new AbortController();
    const called = caller(() => new Promise(() => undefined))({}, stop.signal);
    stop.abort(new Error("the run stopped"));
    expect(await called).toEqual({ error: "the run stopped", code: "run.interrupted", acted: "no" });
  });

  test("from before the call ends it too", async () => {
    expect(await caller(() => new Promise(() => undefined))({}, AbortSignal.abort(new Error("too late")))).toEqual({
      error: "too late",
      code: "run.interrupted",
      acted: "no",
    });
  });

  test("aborts the handler's fetch", async () => {
    const stop = new AbortController();
    const call = caller((_, context) => context.fetch("http://x.test"), {
      fetch: (_, init) =>
        new Promise((_resolve, refuse) => init?.signal?.addEventListener("abort", () => refuse(init.signal?.reason))),
    });
    const called = call({}, stop.signal);
    stop.abort(new Error("the run stopped"));
    expect(await called).toEqual({ error: "the run stopped", code: "run.interrupted", acted: "no" });
  });
});

describe("the arguments of a handler", () => {
  test("are its input, its skill's config and the run's objects, and nothing else", async () => {
    const seen: ToolContext[] = [];
    const inputs: unknown[] = [];
    await caller((input, context) => {
      inputs.push(input);
      seen.push(context);
    })({ q: 1 });
    expect(inputs).toEqual([{ q: 1 }]);
    expect(Object.keys(seen[0] ?? {}).sort()).toEqual([
      "blobs",
      "callId",
      "config",
      "fetch",
      "logger",
      "now",
      "offline",
      "signal",
      "workDir",
    ]);
    expect(seen[0]).toMatchObject({ config: { TOKEN: "s3cret" }, callId: "r1/1:a/0/1/0", workDir: "/work" });
  });

  test("include a range that ends at the run's clock, if that is not now", async () => {
    const inputs: unknown[] = [];
    const range = { clock: "range", range: { from: "from", to: "to" } } as const;
    const keep = (input: unknown) => inputs.push(input);
    for (const asOf of [Date.parse("2026-03-01T12:00:00Z"), undefined]) {
      await caller(keep, { asOf }, range)({ to: "2026-03-01T13:00:00Z" });
    }
    expect(inputs).toEqual([{ to: "2026-03-01T12:00:00Z" }, { to: "2026-03-01T13:00:00Z" }]);
  });

  test("include a copy of the input: changes to it have no effect", async () => {
    const input = { list: [1] };
    await caller((given: { list: number[] }) => given.list.push(2))(input);
    expect(input).toEqual({ list: [1] });
  });
});

describe("secrets", () => {
  const redactor = createRedactor([{ name: "TOKEN", value: "s3cret-value" }]);

  test("are redacted in results and errors", async () => {
    expect(await caller(() => ({ a: "has s3cret-value in it" }), { redactor })()).toEqual({
      output: { a: "has [redacted:TOKEN] in it" },
    });
    expect(
      await caller(
        () => {
          throw new Error("bad s3cret-value");
        },
        { redactor },
      )(),
    ).toEqual({ error: "bad [redacted:TOKEN]", code: "tool.failed", acted: "no" });
  });

  test("are redacted before a result is cut, so that no part of one is left", async () => {
    for (let shift = 0; shift < 12; shift++) {
      const at = Math.floor(MOST_RESULT * 0.75) - shift;
      const blobs = memoryBlobs({ mostBytes: 0, quotaBytes: 0 });
      const value = `${"x".repeat(at)}s3cret-value${"y".repeat(MOST_RESULT)}`;
      const outcome = await caller(() => value, { redactor, blobs })();
      expect(JSON.stringify(outcome)).not.toContain("s3c");
    }
  });

  test("are redacted before an error is cut, so that no part of one is left at either end of the cut", async () => {
    const mostOfError = 8192;
    for (const edge of [
      Math.floor(mostOfError * 0.75),
      20_000 - (mostOfError - Math.floor(mostOfError * 0.75) - 100),
    ]) {
      for (let shift = 1; shift < 12; shift++) {
        const message = `${"x".repeat(edge - shift)}s3cret-value`.padEnd(20_000, "y");
        const fail = () => {
          throw new Error(message);
        };
        const outcome = JSON.stringify(await caller(fail, { redactor })());
        expect(outcome).not.toMatch(/s3c|x(?:s|3)|t-v|valu|ue(?=y)/);
      }
    }
  });
});

test("a board stays in the result if another result of its size becomes a blob", async () => {
  const large = { issues: Array.from({ length: 200 }, (_, n) => ({ title: `${n} ${"x".repeat(300)}` })) };
  const board = { skill: "skillflow", name: "board_read" };
  expect(await caller(() => large, {}, board)()).toEqual({ output: large });
  expect(await caller(() => large)()).toMatchObject({ blobs: [expect.anything()] });
});
