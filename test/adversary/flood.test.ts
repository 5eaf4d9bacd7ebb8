import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import logs from "../../skills/logs/skill.ts";
import { createRedactor } from "../../src/core/base/redact/redact.ts";
import type { Outcome, Tool } from "../../src/core/skill/skill.ts";
import { createCall } from "../../src/run/call.ts";
import { memoryBlobs } from "../../src/stores/blobs.ts";
import { toolContext } from "../../src/testing.ts";
import { makeProject } from "../cli/program.ts";
import { toolOf } from "../harness/harness.ts";
import { spreadOf } from "../harness/long.ts";
import { connectStdio } from "../protocol/mcp-program.ts";

/** A client that asks for more at once than a machine can handle. */

const { logger } = toolContext();

/** A function that makes calls, each instance for its own run or client. */
function callerOf(handler: Tool["handler"], timeoutMs = 60_000) {
  const tool = { ...toolOf("ops", "t"), handler };
  const call = createCall({
    run: "r",
    findHandler: () => ({ tool, config: {} }),
    timeoutMs,
    workDir: "/",
    fetch,
    loggerFor: () => logger,
    redactor: createRedactor([]),
    blobs: memoryBlobs(),
  });
  return (signal = new AbortController().signal): Promise<Outcome> => call({ key: "k", tool, input: {} }, signal);
}

function times<Value>(count: number, make: () => Value): Value[] {
  return Array.from({ length: count }, make);
}

/** Calls that run until they are released. */
function holders() {
  let release: (value: string) => void = () => undefined;
  const released = new Promise<string>((resolve) => {
    release = resolve;
  });
  return { call: callerOf(() => released), release: () => release("released") };
}

describe("tool calls of a process", () => {
  test("run eight at a time, for all callers together, and all complete", async () => {
    let open = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++open);
      await new Promise(setImmediate);
      open -= 1;
      return "done";
    };
    const callers = times(3, () => callerOf(work));
    const outcomes = await Promise.all(callers.flatMap((call) => times(80, () => call())));
    expect(most).toBe(8);
    expect(outcomes).toEqual(times(240, () => ({ output: "done" })));
  });

  test("are refused if 256 are waiting already", async () => {
    const { call, release } = holders();
    const taken = times(8 + 256, () => call());
    const refused = { error: "256 tool calls are waiting already: try again later", code: "calls.full", acted: "no" };
    expect(await call()).toEqual(refused);
    release();
    expect(await Promise.all(taken)).toEqual(times(264, () => ({ output: "released" })));
    expect(await call()).toEqual({ output: "released" });
  });

  test("have their whole timeout once they start", async () => {
    const hanging = times(8, () => callerOf(() => new Promise(() => undefined), 80)());
    const patient = callerOf(() => "in time", 40)();
    expect(await patient).toEqual({ output: "in time" });
    expect(await Promise.all(hanging)).toEqual(
      times(8, () => ({ error: "the call took longer than 0.08 s", code: "tool.timeout", acted: expect.any(String) })),
    );
  });

  test("leave the queue when their caller aborts", async () => {
    const { call, release } = holders();
    const taken = times(8, () => call());
    const gone = new AbortController();
    let ran = false;
    const given = callerOf(() => (ran = true))(gone.signal);
    gone.abort(new Error("nobody waits"));
    expect(await given).toEqual({ error: "nobody waits", code: "run.interrupted", acted: "no" });
    release();
    await Promise.all(taken);
    expect(ran).toBe(false);
  });

  test("do not wait for themselves when they make nested calls", async () => {
    const inner = callerOf(() => "inner");
    const outer = callerOf(async () => (await Promise.all(times(3, () => inner()))).length);
    expect(await Promise.all(times(20, () => outer()))).toEqual(times(20, () => ({ output: 3 })));
  });
});

describe("a small packed log that unpacks to much", () => {
  const packed = (line: string, head?: string) => () =>
    Buffer.concat([...(head ? [gzipSync(head)] : []), gzipSync(Buffer.alloc(64 * 1024 * 1024, line), { level: 1 })]);
  const LOGS: [string, () => Buffer][] = [
    ["empty.log.gz", packed("\n")],
    ["endless.log.gz", packed("a")],
    ["empty.csv.gz", packed("\n")],
    ["endless.csv.gz", packed("\r")],
    ["empty.prom.gz", packed("\n", "# TYPE a gauge\n")],
    ["endless.prom.gz", packed("a", "# TYPE a gauge\n")],
    ["list.json.gz", packed(",{}", "[{}")],
  ];

  test.each(spreadOf(LOGS, 3))("%s is read no further once the call is aborted", async (files, content) => {
    const workDir = makeProject();
    writeFileSync(join(workDir, files), content());
    for (const [name, input] of [
      ["search", { files, since: "2026-01-01T00:00:00Z" }],
      ["search", { files, excludes: "b" }],
      ["count_by", { files, shape: true }],
      ["files", { files }],
    ] as const) {
      const abort = new AbortController();
      const context = { ...toolContext({ workDir }), signal: abort.signal };
      const tool = logs.tools.find((each) => each.name === name);
      const called = Promise.resolve(tool?.handler(input as never, context));
      setTimeout(() => abort.abort(new Error("nobody waits")), 100);
      await expect(called).rejects.toThrow("nobody waits");
    }
  });
});

test("a client of the MCP server that makes too many calls gets an error", async () => {
  const { client, transport } = await connectStdio({ cwd: makeProject() });
  const refused: unknown[] = [];
  const enough = new Promise<void>((resolve) => {
    for (const _ of times(300, () => 0)) {
      client.callTool({ name: "desk_hang", arguments: {} }).catch((error: { code?: unknown }) => {
        refused.push(error.code);
        if (refused.length === 300 - 8 - 256) resolve();
      });
    }
  });
  await enough;
  expect(refused).toEqual(times(36, () => -32_000));
  // The client waits some seconds for a server that has calls left.
  process.kill(transport.pid ?? 0, "SIGKILL");
});
