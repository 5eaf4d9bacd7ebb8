import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { LONG } from "../harness/long.ts";
import type { ChatRequest } from "../services/chat.ts";
import { startChat } from "../services/chat.ts";
import type { ModelService, Scripted } from "../services/script.ts";
import { FLOW, isPosting, SMALL, work } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { linesOf, makeProject, resultOf, runProgram } from "./program.ts";

const services: ModelService[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
});

async function start(script: (body: ChatRequest) => Scripted | Promise<Scripted>) {
  const service = await startChat(script);
  services.push(service);
  return { service, env: { OPENAI_BASE_URL: service.url } };
}

const MODEL = ["--model", "openai-compatible:test"];
const never = new Promise<never>(() => undefined);

interface Trouble {
  readonly when: string;
  /** The server's behavior instead of an answer at the second node. */
  readonly answer: Scripted | Promise<Scripted>;
  readonly flags?: readonly string[];
  readonly code: number;
  readonly error: string;
  readonly says: RegExp;
  readonly resume?: readonly string[];
}

const fast = { "retry-after-ms": "0" };
const short = LONG ? "5s" : "2s";
const json = (body: string): Scripted => ({ raw: { type: "application/json", body } });

const TROUBLES: readonly Trouble[] = [
  {
    when: "answers garbage",
    answer: json("<html>Bad gateway</html>"),
    code: 4,
    error: "model.garbled",
    says: /sent an invalid response: <html>Bad gateway/,
  },
  {
    when: "answers half a JSON document",
    answer: json('{"id":"chat_1","choices":[{"mess'),
    code: 4,
    error: "model.garbled",
    says: /sent an invalid response: \{"id"/,
  },
  { when: "answers nothing", answer: json(""), code: 4, error: "model.garbled", says: /an empty body/ },
  {
    when: "hangs up",
    answer: { instead: "reset" },
    code: 4,
    error: "model.unreachable",
    says: /Cannot reach the model server at 127\.0\.0\.1:\d+/,
  },
  {
    when: "breaks off in the middle of each answer",
    answer: { text: "it is pos", cut: "reset" },
    code: 4,
    error: "model.unreachable",
    says: /model server/,
  },
  {
    when: "says only blanks",
    answer: { text: "  " },
    code: 4,
    error: "model.silent",
    says: /the model's answer was empty/,
  },
  { when: "refuses the key", answer: { fault: "key" }, code: 4, error: "model.auth", says: /Check OPENAI_API_KEY/ },
  {
    when: "knows no such model",
    answer: { fault: "model" },
    code: 4,
    error: "model.unknown",
    says: /has no model "test"/,
  },
  {
    when: "wants to be paid",
    answer: { fault: "quota" },
    code: 4,
    error: "model.quota",
    says: /quota or credit at (?!The)/,
  },
  {
    when: "is too busy for ever",
    answer: { fault: "rate", headers: fast },
    code: 4,
    error: "model.overloaded",
    says: /cannot answer now \(429\): Too many requests/,
  },
  {
    when: "breaks for ever",
    answer: { fault: "server", headers: { "retry-after": "0" } },
    code: 4,
    error: "model.overloaded",
    says: /cannot answer now \(500\)/,
  },
  {
    when: "hangs until the run's time is up",
    answer: never,
    flags: ["--timeout", short],
    code: 5,
    error: "limit.reached",
    says: /the time limit of [25] s was reached/,
    resume: ["--timeout", "10m"],
  },
  {
    when: "hangs until the node's time is up",
    answer: never,
    flags: ["--node-timeout", short],
    code: 1,
    error: "node.failed",
    says: /node post took longer than its timeout/,
    resume: ["--node-timeout", "10m"],
  },
  {
    when: "stops in the middle of an answer until the run's time is up",
    answer: { text: "it is pos", cut: "silence" },
    flags: ["--timeout", short],
    code: 5,
    error: "limit.reached",
    says: /the time limit of [25] s was reached/,
    resume: ["--timeout", "10m"],
  },
];

describe.concurrent("a failing model server", () => {
  // The program waits between half of a pause and all of it before it asks again: here it is half.
  beforeAll(() => void vi.spyOn(Math, "random").mockReturnValue(0));
  afterAll(() => void vi.restoreAllMocks());
  it.each(TROUBLES)(
    "that $when ends the run with code $code and $error, and the run can be resumed once it is healthy",
    async ({ answer, flags = [], code, error, says, resume = [] }) => {
      const cwd = makeProject({ "flow.yml": FLOW });
      const sick = await startChat((body) => (isPosting(body) ? answer : work(body)));
      const healthy = await startChat(work);
      try {
        const env = { OPENAI_BASE_URL: healthy.url };
        const run = ["run", "flow.yml", ...MODEL, "--run-id", "r"];
        // A short limit applies to the second node alone.
        if (flags.length > 0) await runHere([...run, "--max-steps", "1"], { cwd, env });
        const args = flags.length > 0 ? ["resume", "r", "--max-steps", "9", ...flags] : run;
        const ended = await runHere([...args, "--json"], { cwd, env: { OPENAI_BASE_URL: sick.url } });
        expect(ended.stderr).toMatch(says);
        expect(ended.stderr).toMatch(/next: \S*skillflow resume r( --timeout \S+)?\n/);
        expect(ended.code).toBe(code);
        expect(resultOf(ended).error).toMatchObject({ code: error });
        expect(resultOf(ended).results.look).toMatchObject({ status: "success", data: { summary: "it is broken" } });

        const before = healthy.bodies.length;
        const resumed = await runHere(["resume", "r", ...resume, "--json"], { cwd, env });
        expect(resumed).toMatchObject({ code: 0 });
        expect(resultOf(resumed).results.post).toMatchObject({ status: "success", data: { summary: "it is posted" } });
        expect(linesOf(cwd, "looks.txt")).toHaveLength(1);
        expect(linesOf(cwd, "posts.txt")).toHaveLength(1);
        expect(healthy.bodies.slice(before).every(isPosting), "no work is done again").toBe(true);
      } finally {
        await Promise.all([sick.close(), healthy.close()]);
      }
    },
    60_000,
  );
});

describe("a model over the wire", () => {
  it("is called again as soon as a busy server allows", async () => {
    let asked = 0;
    const { service, env } = await start((body) => {
      asked += 1;
      return asked < 3 ? { fault: "rate", headers: { "retry-after-ms": "0" } } : work(body);
    });
    const cwd = makeProject({ "flow.yml": FLOW });
    const ended = await runProgram(["run", "flow.yml", ...MODEL, "--json"], { cwd, env });
    expect(ended.code).toBe(0);
    expect(resultOf(ended).usage.modelCalls).toBe(4);
    expect(service.bodies).toHaveLength(6);
  });

  it("is not shown tools that write with --writes deny", async () => {
    const { service, env } = await start((body) => {
      const [tool] = body.messages.filter((message) => message.role === "tool");
      return tool ? { text: "done" } : { calls: [{ tool: "desk_post", input: { text: "x" } }] };
    });
    const cwd = makeProject({ "flow.yml": FLOW });
    const denied = await runHere(["run", "flow.yml", ...MODEL, "--writes", "deny", "--json"], { cwd, env });
    const offered = service.bodies.flatMap((body) => body.tools ?? []).map((tool) => tool.function.name);
    const reading = ["read_result", "desk_look", "desk_config", "desk_fetch", "desk_fail", "desk_burst", "desk_hang"];
    expect(new Set(offered)).toEqual(new Set(reading));
    expect(linesOf(cwd, "posts.txt"), "a write that the model calls anyway reaches no handler").toEqual([]);
    expect(denied.stderr).toContain("error: no tool is named desk_post");
    service.close();

    const { service: allowing, env: other } = await start(() => ({ text: "done" }));
    await runHere(["run", "flow.yml", ...MODEL], { cwd, env: other });
    expect(allowing.bodies[0]?.tools?.map((tool) => tool.function.name)).toContain("desk_post");
  });

  it("on this machine is called with --offline, and no other", async () => {
    const { env } = await start(() => ({ text: "here" }));
    const cwd = makeProject({ "flow.yml": SMALL });
    expect(await runHere(["run", "flow.yml", ...MODEL, "--offline"], { cwd, env })).toMatchObject({ code: 0 });
    const elsewhere = { OPENAI_BASE_URL: "http://model.example/v1" };
    const ended = await runHere(["run", "flow.yml", ...MODEL, "--offline"], { cwd, env: elsewhere });
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain("model.example was not contacted: the run is offline");
  });

  it("cannot make the run longer than --max-tokens allows", async () => {
    const { env } = await start(work);
    const cwd = makeProject({ "flow.yml": FLOW });
    const ended = await runHere(["run", "flow.yml", ...MODEL, "--max-tokens", "30", "--json"], { cwd, env });
    expect(ended.code).toBe(5);
    expect(resultOf(ended).usage).toMatchObject({ modelCalls: 2, inputTokens: 24, outputTokens: 14, costUsd: null });
  });
});
