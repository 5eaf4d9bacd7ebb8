import { readFileSync } from "node:fs";
import type { Json } from "skillflow";
import { type Loopback, type LoopbackHandler, sendJson, startLoopback } from "skillflow/testing";
import { afterEach, describe, expect, it } from "vitest";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import { runHere } from "./in-process.ts";
import { makeProject, runFile } from "./program.ts";
import { statusesOf, toldBy } from "./sink.ts";

let service: Loopback | undefined;
afterEach(() => service?.close());

interface Write {
  readonly writes: string;
  readonly call: Json;
  /** Time limit of a call. */
  readonly limit?: string;
}

async function run(handler: LoopbackHandler, { writes, call, limit = "5s" }: Write) {
  const loopback = await startLoopback(handler);
  service = loopback;
  const skills = [JSON.stringify(call).includes("github_") ? "github" : "notification"];
  const cwd = makeProject({
    "w.json": {
      id: "w",
      name: "W",
      entry: "a",
      writes,
      nodes: { a: { name: "A", instruction: "Act.", skills } },
      edges: [],
    },
    "s.json": { replies: [{ calls: [call] }, { text: "done" }] },
  });
  const { url } = loopback;
  const env = { GITHUB_TOKEN: "a-token", GITHUB_API_URL: url, NOTIFICATION_WEBHOOK_URL: `${url}/hook` };
  const program = (...argv: readonly string[]) => runHere(argv, { cwd, env });
  const ended = await program("run", "w.json", "--model", "script:s.json", "--run-id", "r", "--tool-timeout", limit);
  expect(ended.code).toBe(0);
  return {
    events: () => readFileSync(runFile(cwd, "r"), "utf8").trim().split("\n").slice(1).map(eventOf),
    apply: async (...more: readonly string[]) => program("apply", "r", "--yes", "--json", ...more),
    posts: () => loopback.requests.filter(({ method }) => method === "POST").length,
  };
}

const eventOf = (line: string) => JSON.parse(line) as RunEvent;

describe("apply", () => {
  const call = { tool: "notification_send", input: { channels: ["webhook"], title: "Down", text: "It is down." } };

  it("never repeats a message that a webhook received without an answer, until a user states that it did not arrive", async () => {
    const { apply, events, posts } = await run(() => undefined, { writes: "plan", call, limit: "1s" });
    for (const _ of [1, 2]) {
      const { stdout, code } = await apply();
      expect([statusesOf(toldBy(stdout)), code, posts()]).toEqual([["in_doubt"], 1, 1]);
    }
    expect(events().filter(({ type }) => type === "operation:ended")).toMatchObject([
      { acted: "unknown", in_doubt: true },
    ]);
    const resolved = await apply("--resolve", "op-1=not-applied");
    expect([statusesOf(toldBy(resolved.stdout)), posts()]).toEqual([["in_doubt"], 2]);
  });

  it("retries a refused write, whatever its message looks like", async () => {
    const refusing: LoopbackHandler = (_, response) => {
      sendJson(response, 400, { message: "timed out? The limit is 512 characters; connection 503" });
    };
    const { apply, posts, events } = await run(refusing, { writes: "plan", call });
    for (const times of [1, 2])
      expect([statusesOf(toldBy((await apply()).stdout)), posts()]).toEqual([["failed"], times]);
    expect(events().findLast(({ type }) => type === "operation:ended")).toMatchObject({ acted: "no" });
  });
});

describe("a write whose target cannot be inspected", () => {
  const call = (repository?: string) => ({
    tool: "github_create_issue",
    input: { ...(repository ? { repository } : {}), title: "Down" },
  });
  const answering = (status: number): LoopbackHandler => {
    const pause: Record<string, string> = status === 503 ? { "retry-after": "0" } : {};
    return (_, response) => sendJson(response, status, { message: "answered so" }, pause);
  };

  it.each([
    ["a bad token", "acme/shop", answering(401), "401"],
    ["a token that may not", "acme/shop", answering(403), "403"],
    ["a repository that is not there", "acme/shop", answering(404), "404"],
    ["no repository", undefined, answering(200), "Name the repository"],
  ])("fails with %s instead of being queued, and is not sent", async (_, repository, handler, said) => {
    const { events, posts } = await run(handler, { writes: "allow", call: call(repository) });
    const results = events().filter(({ type }) => type === "tool:result");
    expect(results).toMatchObject([{ error: expect.stringContaining(said), code: "tool.failed", acted: "no" }]);
    expect([events().some(({ type }) => type === "operation:planned"), posts()]).toEqual([false, 0]);
  });

  it.each([
    ["a service that fails", answering(503)],
    ["a lost connection", ((_, response) => void response.socket?.destroy()) satisfies LoopbackHandler],
    [
      "a rate limit",
      ((_, response) => sendJson(response, 429, {}, { "retry-after": "3600" })) satisfies LoopbackHandler,
    ],
  ])("is queued with %s", async (_, handler) => {
    const { events, posts } = await run(handler, { writes: "allow", call: call("acme/shop") });
    expect(events().filter(({ type }) => type === "operation:planned")).toMatchObject([
      { operation: { held: expect.any(String), audience: "public" } },
    ]);
    expect(posts()).toBe(0);
  });

  it("is planned in a run that only plans, as another token may apply it", async () => {
    const { events } = await run(answering(401), { writes: "plan", call: call("acme/shop") });
    expect(events().some(({ type }) => type === "operation:planned")).toBe(true);
  });
});
