import { afterEach, describe, expect, it } from "vitest";
import { openFetch } from "../../../../src/app/adapters/fetch.ts";
import { actedOf } from "../../../../src/core/base/errors.ts";
import type { LoadedSkill } from "../../../../src/loaders/folder/format.ts";
import type { LoaderHost } from "../../../../src/loaders/folder/host.ts";
import { openSkillFolder } from "../../../../src/loaders/folder/skill-folder.ts";
import { askAgent } from "../../../../src/loaders/formats/contract/agent-call.ts";
import { skillContract } from "../../../../src/loaders/formats/contract/skill-contract.ts";
import { type Loopback, toolContext } from "../../../../src/testing.ts";
import { type AgentRequest, startAgent, task } from "../../../services/a2a.ts";
import { foreignHost, makeFolder } from "../../foreign.ts";

/** Contracts that an A2A agent implements. */

const open: Loopback[] = [];
afterEach(async () => {
  for (const service of open.splice(0)) await service.close();
});

async function agent(...args: Parameters<typeof startAgent>): Promise<Loopback> {
  const service = await startAgent(...args);
  open.push(service);
  return service;
}

const CONTRACT = {
  id: "count.words",
  version: "1.0.0",
  description: "Counts words.",
  input: { type: "object", properties: { text: { type: "string" }, least: { type: "integer", default: 1 } } },
  output: { type: "object", required: ["words"] },
};

function load(binding: unknown, host: Partial<LoaderHost> = { askAgent }): LoadedSkill {
  const folder = openSkillFolder(makeFolder({ "contract.json": CONTRACT, "binding.json": binding }));
  const loaded = folder && skillContract.read(folder, { ...foreignHost, ...host }).loaded;
  if (!loaded || "severity" in loaded) throw new Error("it is no contract");
  return loaded;
}

async function call(url: string, context: Parameters<typeof toolContext>[0] = {}) {
  const [tool] = load({ a2a: { url } }).skill.tools;
  return tool?.handler({ text: "a b" } as never, toolContext(context));
}

const data = (value: object) => ({ kind: "data", data: value });
const text = (value: string) => ({ kind: "text", text: value });
const message = (...parts: object[]) => ({ result: { kind: "message", messageId: "m1", role: "agent", parts } });

describe("a contract that an agent implements", () => {
  it("sends one message whose data is the envelope, defaults applied, with the same id when it is sent again", async () => {
    const asked: AgentRequest[] = [];
    const { url } = await agent((request) => {
      asked.push(request);
      return task("completed", [data({ words: 2 })]);
    });
    expect(await call(url)).toEqual({ words: 2 });
    await call(url);
    await call(url, { callId: "another" });
    const [first, again, other] = asked.map(({ params }) => params.message);
    expect(first?.parts).toEqual([data({ skill: "count.words", arguments: { text: "a b", least: 1 } })]);
    expect(again).toEqual(first);
    expect(other?.messageId).not.toBe(first?.messageId);
  });

  it.each<[string, object, unknown]>([
    ["text that is JSON", task("completed", [text("Done."), text('{"words":3}')]), { words: 3 }],
    ["data before text", task("completed", [text('{"words":1}'), data({ words: 4 })]), { words: 4 }],
    ["the data of a message", message(text("Here:"), data({ words: 5 })), { words: 5 }],
    ["what a completed task says", task("completed", [], '{"words":6}'), { words: 6 }],
  ])("accepts %s", async (_, answer, value) => {
    const { url } = await agent(() => answer);
    expect(await call(url)).toEqual(value);
  });

  it.each<[string, object, string]>([
    ["an error", { error: { code: -32005, message: "no such mode" } }, '"no such mode" (-32005)'],
    ["a task that failed", task("failed", [data({ words: 1 })], "out of words"), "which is failed: out of words"],
    ["a task that goes on", task("working"), "which is working"],
    ["a task that asks back", task("input-required", [], "Which?"), "which is input-required: Which?"],
    ["text that is no JSON", message(text("two")), "neither data nor text that is JSON"],
    ["nothing", message(), "neither data nor text that is JSON"],
    ["no result", {}, "did not answer with JSON-RPC"],
  ])("fails because of %s", async (_, answer, said) => {
    const { url } = await agent(() => answer);
    await expect(call(url)).rejects.toThrow(said);
  });

  it.each([
    [-32601, "no"],
    [-32005, "no"],
    [-32602, "unknown"],
    [-32603, "unknown"],
  ])("states after the error %d whether the agent acted: %s", async (code, acted) => {
    const { url } = await agent(() => ({ error: { code, message: "no" } }));
    const error = await call(url).catch((thrown: unknown) => thrown);
    expect(actedOf(error)).toBe(acted);
  });

  it("follows a redirect within its place, and none that leads elsewhere or changes the request", async () => {
    const away = await agent(() => task("completed", [data({ words: 9 })]));
    const here = await agent(
      () => task("completed", [data({ words: 2 })]),
      ({ url }, response) => {
        const [, status, location] = /^\/(\d+)\?(.*)$/.exec(url) ?? [];
        if (status) response.writeHead(Number(status), { location: decodeURIComponent(location ?? "") }).end();
        return status !== undefined;
      },
    );
    const by = (status: number, to: string) => call(`${here.url}/${status}?${encodeURIComponent(to)}`);
    expect(await by(308, "/agent")).toEqual({ words: 2 });
    await expect(by(307, `${away.url}/agent`)).rejects.toThrow("redirects to another origin");
    await expect(by(302, "/agent")).rejects.toThrow("answered 302");
    expect(away.requests).toEqual([]);
  });

  it("fails because of an answer that is too large, a web page and silence", async () => {
    const { url } = await agent(
      () => ({}),
      ({ url: path }, response) => {
        if (path === "/page") response.writeHead(503).end("<html>");
        if (path === "/large") for (let chunk = 0; chunk < 11; chunk++) response.write(" ".repeat(1024 * 1024));
        return true;
      },
    );
    await expect(call(`${url}/page`)).rejects.toThrow("answered 503");
    await expect(call(`${url}/large`)).rejects.toThrow("more than 10 MB");
    await expect(call(`${url}/silent`, { signal: AbortSignal.timeout(50) })).rejects.toThrow(/timeout/);
  });

  it("makes no request offline, and is unavailable if agents may not be called", async () => {
    await expect(call("http://agent.test/", { fetch: await openFetch({}, true) })).rejects.toThrow(
      "the run is offline",
    );
    expect(load({ a2a: { url: "http://agent.test/" } }, {}).unavailable?.reason).toBe("a dry run does not call agents");
  });

  it("needs trust, and names the agent that it would call", () => {
    const loaded = load({ a2a: { url: "http://agent.test/" } });
    expect(loaded).toMatchObject({ runsCode: true, code: ["agent http://agent.test/"] });
  });

  it.each<[string, unknown, string]>([
    ["without an address", {}, "needs an a2a agent with a url"],
    ["that is a text", "http://agent.test", "needs an a2a agent with a url"],
    ["of another scheme", { url: "file:///etc/passwd" }, "needs an a2a agent with a url"],
    ["with a password in its address", { url: "http://me:pass@agent.test" }, "needs an a2a agent with a url"],
    ["with more than an address", { url: "http://agent.test", headers: {} }, "a2a accepts only url"],
  ])("is unavailable if its agent has %s", (_, a2a, said) => {
    const loaded = load({ a2a });
    expect(loaded.unavailable?.reason).toContain(said);
    expect(loaded.diagnostics).toMatchObject([{ severity: "error" }]);
  });
});
