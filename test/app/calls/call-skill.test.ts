import { describe, expect, it } from "vitest";
import { type InvokeOptions, invokeSkill } from "../../../src/app/calls/call-skill.ts";
import { openWorkspace } from "../../../src/app/workspace.ts";
import type { Invocation } from "../../../src/loaders/folder/host.ts";
import { memoryBlobs } from "../../../src/stores/blobs.ts";
import { makeFolder } from "../../loaders/foreign.ts";
import { sandboxHost } from "../../sandbox/host.ts";
import { httpServer } from "../../services/mcp.ts";

const contract = (version: string) => ({
  id: "notes.read",
  version,
  description: "Reads notes.",
  input: { type: "object", properties: { limit: { type: "integer", maximum: 9, default: 3 } } },
  output: { type: "object", properties: { limit: { type: "integer" } }, required: ["limit"] },
});
const binding = (code: string) => ({ command: { binary: "node", args: ["-e", code] } });
const ECHO = "process.stdin.on('data', (text) => console.log(String(text)))";

/** Returns the result of one call in a project with two versions: the older echoes its input, the newer runs `code`. */
function invoke(call: Partial<Invocation>, code = ECHO, options: Partial<InvokeOptions> = {}) {
  const cwd = makeFolder({
    "skills/one/contract.json": contract("1.0.0"),
    "skills/one/binding.json": binding(ECHO),
    "skills/two/contract.json": contract("2.0.0"),
    "skills/two/binding.json": binding(code),
    "skills/two/SKILL.md": "---\nconfig: { WORD: { env: NOTES_WORD } }\n---\n",
  });
  return invokeIn(cwd, { skill: "notes.read", arguments: {}, ...call }, options);
}

function invokeIn(cwd: string, call: Invocation, options: Partial<InvokeOptions> = {}) {
  const host = {
    ...sandboxHost,
    env: { PATH: process.env.PATH, HOME: cwd, NOTES_WORD: "zebra-crossing" },
    cwd,
    self: { pid: process.pid, host: "test", started: "" },
    isAlive: () => false,
  };
  const project = openWorkspace(host, {
    overrides: new Map(),
    skillDirs: [],
    discover: true,
    store: undefined,
    skillFlags: { trustSkill: ["notes.read", "remote"] },
  });
  const quiet = () => undefined;
  return invokeSkill(project, call, {
    timeoutMs: 20_000,
    signal: new AbortController().signal,
    loggerFor: () => ({ debug: quiet, info: quiet, warn: quiet }),
    blobs: memoryBlobs(),
    ...options,
  });
}

describe("an invocation of a skill", () => {
  it("returns its result, with defaults applied", async () => {
    expect(await invoke({ arguments: {} })).toEqual({ output: { limit: 3 } });
    expect(await invoke({ arguments: { limit: 5 } })).toEqual({ output: { limit: 5 } });
  });

  it("may request a version, and a tool by its name", async () => {
    const code = "console.log('{\"limit\": 99}')";
    expect(await invoke({ version: "^1" }, code)).toEqual({ output: { limit: 3 } });
    expect(await invoke({ skill: "notes.read@1.0.0" }, code)).toEqual({ output: { limit: 3 } });
    expect(await invoke({ tool: "notes.read" }, code)).toEqual({ output: { limit: 99 } });
  });

  it.each<[string, Partial<Invocation>, string, string]>([
    [
      "input that does not fit",
      { arguments: { limit: 10 } },
      '{"type":"invalid_input","message":"limit must be <= 9","path":"limit"}',
      "input.invalid",
    ],
    ["arguments that are not an object", { arguments: ["x"] as never }, "the value must be object", "input.invalid"],
    [
      "a skill that is not there",
      { skill: "other" },
      "skill other cannot be called: no skill has this id",
      "tool.unknown",
    ],
    ["a version that is not there", { version: "^3" }, "no version of the skill notes.read matches ^3", "tool.unknown"],
    ["a tool that is not there", { tool: "write" }, "skill notes.read has no tool write", "tool.unknown"],
    [
      "a tool that may write, where only reading is allowed",
      { effects: "read" },
      "only reading is allowed here",
      "call.refused",
    ],
  ])("with %s returns an error", async (_, call, error, code) => {
    expect(await invoke(call)).toEqual({ error: expect.stringContaining(error), code, acted: "no" });
  });

  it("that throws an error with a code of the program is reported as the tool's failure", async () => {
    const code = "console.error('invalid input: it took longer than ever'); process.exit(1)";
    expect(await invoke({}, code)).toEqual({
      error: expect.stringContaining("invalid input: it took longer"),
      code: "tool.failed",
      acted: "unknown",
    });
  });

  it("that may have written is not reported as having done nothing when its result cannot be stored", async () => {
    const full = () => Promise.reject(new Error("ENOSPC: no space left on device"));
    const code = "console.log(JSON.stringify({ limit: 3, text: 'x'.repeat(50_000) }))";
    expect(await invoke({}, code, { blobs: { ...memoryBlobs(), create: full } })).toEqual({
      error: "ENOSPC: no space left on device",
      code: "tool.failed",
      acted: "unknown",
    });
  });

  it("returns an error when the result breaks its guarantee", async () => {
    const outcome = await invoke({}, 'console.log(\'{"limit": "many"}\')');
    expect(outcome).toEqual({
      error: expect.stringContaining("limit must be integer"),
      code: "output.invalid",
      acted: "unknown",
    });
  });

  it("is aborted when it takes too long", async () => {
    const outcome = await invoke({}, "setInterval(() => {}, 1000)", { timeoutMs: 500 });
    expect(outcome).toEqual({ error: "the call took longer than 0.5 s", code: "tool.timeout", acted: "unknown" });
  });

  it("is redacted in the same way as a call in a run", async () => {
    const code = "console.log(JSON.stringify({ limit: 1, word: process.env.NOTES_WORD }))";
    expect(await invoke({}, code)).toEqual({ output: { limit: 1, word: "[redacted:WORD]" } });
    const failure = await invoke({}, "console.error(process.env.NOTES_WORD); process.exit(1)");
    expect(JSON.stringify(failure)).not.toContain("zebra-crossing");
  });
});

describe("an invocation of a tool of an MCP server", () => {
  it("is refused with the lock's reason if the tool has changed since it was locked", async () => {
    const look = { name: "look", description: "Looks.", inputSchema: { type: "object" } };
    const server = await httpServer({ "tools/list": () => ({ tools: [look] }) });
    const url = `${server.url}/mcp`;
    const cwd = makeFolder({
      ".git/HEAD": "",
      ".skillflow.yml": { mcpServers: { remote: { type: "http", url } } },
      "skillflow.lock": { schema: "skillflow.lock/1", servers: { remote: { url, tools: { look: "0".repeat(64) } } } },
    });
    try {
      expect(await invokeIn(cwd, { skill: "remote", tool: "look", arguments: {} })).toMatchObject({
        error: expect.stringMatching(/^the MCP server of remote has changed the tool "look" since skillflow.lock/),
        code: "tool.unknown",
      });
      expect(await invokeIn(cwd, { skill: "remote", tool: "other", arguments: {} })).toMatchObject({
        error: "skill remote has no tool other",
      });
    } finally {
      await server.close();
    }
  });
});
