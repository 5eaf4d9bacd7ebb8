import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Reply } from "../../src/core/engine/event/prompt.ts";
import type { Model } from "../../src/core/engine/ports.ts";
import { makeProject, removeProjects } from "../cli/program.ts";
import { type Listening, SECRET, type Sent, send, signed, startListening } from "../protocol/webhooks/listening.ts";
import { labelsIn, typesIn, valuesIn } from "../services/prometheus-text.ts";

const living: Listening[] = [];
afterEach(async () => {
  await Promise.all(living.splice(0).map((listener) => listener.stop()));
});
afterAll(removeProjects);

const usage = { inputTokens: 1000, cachedTokens: 400, outputTokens: 100 };

/** Calls a tool that fails and one that does not exist, then answers. */
const model: Model = {
  provider: "acme",
  async reply({ turns }): Promise<Reply> {
    const call = (id: string, tool: string, input: object) => ({
      type: "call" as const,
      id,
      tool,
      input: { ...input },
    });
    if (turns.length > 0) return { parts: [{ type: "text", text: "done" }], stop: "end", usage };
    const parts = [call("c1", "files_read", { path: 7 }), call("c2", "made_up_by_the_model", {})];
    return { parts, stop: "end", usage };
  },
};

const FLOW = {
  id: "flow",
  name: "Flow",
  entry: "one",
  model: "acme:claude-haiku-4-5",
  nodes: { one: { name: "One", instruction: "Look.", state: ["board"] } },
  edges: [],
  state: { board: { keep: "1d" } },
};
const source = { kind: "generic", secret: "HOOK", workflow: "flow.yml", input: { n: "{{body.n}}" } };

async function listening(file: object = {}, env: object = {}): Promise<Listening> {
  const cwd = makeProject({ "flow.yml": FLOW, "listen.yml": { sources: { hook: source }, ...file } });
  const models = new Map([["acme", model]]);
  const listener = await startListening(cwd, {}, { env: { HOOK: SECRET, ...env }, models });
  living.push(listener);
  return listener;
}

const scrape = (url: string, sent: Sent = {}) => send(url, { method: "GET", path: "/metrics", ...sent });

describe("metrics", () => {
  it("count runs, tokens, cost, failed calls and times, under names that outsiders cannot choose", async () => {
    const { url, ended, until } = await listening();
    for (const n of [1, 2]) await send(url, signed({ n }));
    await until(() => ended.length === 2);
    const { status, text, headers } = await scrape(url);
    expect([status, headers["content-type"]]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
    expect(typesIn(text)).toEqual({
      skillflow_runs_total: "COUNTER",
      skillflow_queue: "GAUGE",
      skillflow_running: "GAUGE",
      skillflow_tokens_total: "COUNTER",
      skillflow_cost_usd_total: "COUNTER",
      skillflow_tool_errors_total: "COUNTER",
      skillflow_run_duration_seconds: "HISTOGRAM",
    });
    expect(valuesIn(text, "skillflow_runs_total")).toEqual({ "flow succeeded": 2 });
    expect(labelsIn(text, "skillflow_runs_total")).toEqual(["workflow", "status"]);
    expect(valuesIn(text, "skillflow_tokens_total")).toEqual({
      "acme:claude-haiku-4-5 input": 4000,
      "acme:claude-haiku-4-5 cached": 1600,
      "acme:claude-haiku-4-5 output": 400,
    });
    expect(labelsIn(text, "skillflow_tokens_total")).toEqual(["model", "kind"]);
    expect(valuesIn(text, "skillflow_cost_usd_total")["acme:claude-haiku-4-5"]).toBeCloseTo(0.00456, 8);
    expect(valuesIn(text, "skillflow_tool_errors_total")).toEqual({ "other other": 4 });
    expect(labelsIn(text, "skillflow_tool_errors_total")).toEqual(["skill", "tool"]);
    expect(valuesIn(text, "skillflow_run_duration_seconds")).toEqual({ "": 2 });
    expect([valuesIn(text, "skillflow_queue"), valuesIn(text, "skillflow_running")]).toEqual([{ "": 0 }, { "": 0 }]);
    expect(text).not.toContain("made_up");
  });

  it("are served to this machine alone without a token", async () => {
    const { url } = await listening();
    expect((await scrape(url, { headers: { host: "attacker.example" } })).status).toBe(403);
    expect((await scrape(url, { method: "POST" })).status).toBe(405);
    const open = await listening({ host: "0.0.0.0" });
    expect((await scrape(open.url)).status).toBe(404);
  });

  it("need the token that the file names", async () => {
    const { url } = await listening({ host: "0.0.0.0", metrics: { token: "SCRAPE" } }, { SCRAPE: "scrape-token" });
    expect((await scrape(url)).status).toBe(401);
    expect((await scrape(url, { headers: { authorization: "Bearer wrong" } })).status).toBe(401);
    expect((await scrape(url, { headers: { authorization: "Bearer scrape-token" } })).status).toBe(200);
    await expect(listening({ metrics: { token: "SCRAPE" } })).rejects.toMatchObject({ exitCode: 3 });
  });
});
