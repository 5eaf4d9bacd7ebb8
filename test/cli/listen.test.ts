import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest";
import type { RunSummary } from "../../src/core/engine/record/run-summary.ts";
import { LONG, longer, oneOf } from "../harness/long.ts";
import { SECRET, send, signed } from "../protocol/webhooks/listening.ts";
import { type EngineDatabase, startEngineDatabase, whyNoEngine } from "../services/engine.ts";
import { valuesIn } from "../services/prometheus-text.ts";
import { runHere } from "./in-process.ts";
import { killListening, type Process, start } from "./listening-process.ts";
import { makeProject, readEvents, removeProjects } from "./program.ts";

const it = oneOf(2);

const WORKFLOW = {
  id: "small",
  name: "Small",
  entry: "one",
  inputs: { n: { type: "number", required: true } },
  nodes: { one: { name: "One", instruction: "Say something." }, two: { name: "Two", instruction: "Say more." } },
  edges: [{ from: "one", to: "two" }],
};
const FILES = {
  "small.yml": WORKFLOW,
  "script.json": {
    replies: [
      { node: "one", text: "said" },
      { node: "two", text: "said more" },
    ],
  },
  "listen.yml": {
    model: "script:script.json",
    sources: { hook: { kind: "generic", secret: "HOOK", workflow: "small.yml", input: { n: "{{body.n}}" } } },
    limits: { queue: 5000, per_day: { max_runs: 5000 } },
  },
};

afterEach(killListening);
afterAll(removeProjects);

/** Sends deliveries again that were not answered, or refused for now, as vendors do. Returns the accepted runs. */
async function deliver(count: number, living: () => Promise<Process>, onAccepted: (accepted: number) => void) {
  const accepted = new Map<number, string>();
  let next = 0;
  const sender = async () => {
    while (next < count) {
      const n = next++;
      while (!accepted.has(n)) {
        const { url, ended } = await living();
        const answer = await send(url, signed({ n }, { delivery: `n-${n}` })).catch(() => undefined);
        if (!answer) await ended;
        else if (answer.status < 300) accepted.set(n, String(answer.json.run));
        if (accepted.has(n)) onAccepted(accepted.size);
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, sender));
  return accepted;
}

describe("the process", () => {
  it(
    "loses no accepted delivery and starts no run twice, however often it is killed in a burst",
    async () => {
      const [count, kills] = LONG ? [1000, 20] : [24, 2];
      const cwd = makeProject(FILES);
      let living = start(cwd);
      let killed = 0;
      const accepted = await deliver(
        count,
        () => living,
        (size) => {
          if (killed >= kills || size < ((killed + 1) * count) / (kills + 2)) return;
          killed++;
          living = living.then(({ child, ended }) => {
            child.kill("SIGKILL");
            return ended.then(() => start(cwd));
          });
        },
      );
      const now = await living;
      expect(killed).toBe(kills);
      expect(accepted.size).toBe(count);
      expect(new Set(accepted.values()).size).toBe(count);
      const isOver = (run: string) => readEvents(cwd, run).at(-1)?.type === "workflow:end";
      await now.until(() => [...accepted.values()].every(isOver));
      now.child.kill("SIGTERM");
      expect(await now.ended).toBe(0);
      for (const run of accepted.values()) {
        const events = readEvents(cwd, run);
        const replies = events.filter(({ type }) => type === "model:reply");
        expect([run, replies.length, events.at(-1)]).toMatchObject([run, 2, { status: "succeeded" }]);
      }
      const { stdout } = await runHere(["runs", "list", "--json"], { cwd });
      expect(JSON.parse(stdout).runs).toHaveLength(count);
      // biome-ignore lint/suspicious/noConsole: what was measured
      if (LONG) console.log(`${count} webhooks, ${killed} kills`);
    },
    longer(90_000),
  );

  it("refuses a folder of runs that another process uses, until that process ends", async () => {
    const cwd = makeProject(FILES);
    const { child, ended } = await start(cwd);
    await expect(start(cwd)).rejects.toThrow(
      new RegExp(
        `ended with 4: error: the queue of .* is being driven by process ${child.pid} on .*\\n.*delete .*\\.queue\\.lock`,
      ),
    );
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    const next = await start(cwd);
    next.child.kill("SIGTERM");
    expect(await next.ended).toBe(0);
  });

  it("prints its address, and ends with 0 on request", async () => {
    const cwd = makeProject(FILES);
    const { child, url, said, ended, until } = await start(cwd);
    expect((await send(url, signed({ n: 1 }))).status).toBe(202);
    expect((await send(url, { body: "{}" })).status).toBe(401);
    await until(() => /✔/.test(said()));
    const { status, text } = await send(url, { method: "GET", path: "/metrics" });
    expect([status, valuesIn(text, "skillflow_runs_total")]).toEqual([200, { "small succeeded": 1 }]);
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(said()).toMatch(/POST \/hook \(generic\) starts small\.yml/);
    expect(said()).toMatch(/● hook 202 accepted as hook-[0-9a-f]{20}\n/);
    expect(said()).toMatch(/! hook 401 the signature is missing or wrong\n/);
    expect(said()).toMatch(/hook-[0-9a-f]{20} ✔ .*in \d/);
    expect(said()).not.toContain(SECRET);
  });
});

const missing = whyNoEngine();
describe.skipIf(missing !== undefined)(`with the engine dbos${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let database: EngineDatabase;
  beforeAll(async () => {
    database = await startEngineDatabase();
  });
  afterAll(() => database?.stop());

  const ASKING = {
    id: "asking",
    name: "Asking",
    entry: "sure",
    nodes: {
      sure: { name: "Sure", approval: { ask: "Shall it be?" } },
      two: { name: "Two", instruction: "Say more." },
    },
    edges: [{ from: "sure", to: "two" }],
  };

  it(
    "stores accepted deliveries in the database, drives their runs, and continues a waiting run through its link",
    async () => {
      const { sources, ...more } = FILES["listen.yml"];
      const ask = { kind: "generic", secret: "HOOK", workflow: "asking.yml", fingerprint: "body.n", cool_down: "1h" };
      const cwd = makeProject({
        ...FILES,
        "asking.yml": ASKING,
        "listen.yml": { ...more, sources: { ...sources, ask } },
      });
      const env = { SKILLFLOW_DATABASE_URL: database.url };
      let living = start(cwd, ["--engine", "dbos"], env);
      let killed = 0;
      const accepted = await deliver(
        12,
        () => living,
        (size) => {
          if (size < 6 || killed++ > 0) return;
          living = living.then(({ child, ended }) => {
            child.kill("SIGKILL");
            return ended.then(() => start(cwd, ["--engine", "dbos"], env));
          });
        },
      );
      const now = await living;
      const asked = signed({ n: 1 }, { path: "/ask", delivery: "asked" });
      const { json } = await send(now.url, asked);
      expect(await send(now.url, asked)).toMatchObject({ status: 200, json: { run: json.run, duplicate: true } });
      const again = signed({ n: 1 }, { path: "/ask" });
      expect(await send(now.url, again)).toMatchObject({ status: 200, json: { run: json.run, joined: true } });
      await now.until(() => /\/approve\/\S+/.test(now.said()));
      const [path = ""] = /\/approve\/\S+/.exec(now.said()) ?? [];
      expect((await send(now.url, { path, body: "word=approve" })).status).toBe(200);
      expect((await send(now.url, { path, body: "word=approve" })).status).toBe(409);
      await now.until(() => now.said().includes(`${json.run} ✔`));
      const listed = async () => {
        const { stdout } = await runHere(["runs", "list", "--engine", "dbos", "--json"], { cwd, env });
        return (JSON.parse(stdout) as { readonly runs: readonly RunSummary[] }).runs;
      };
      let runs = await listed();
      while (!runs.every(({ status }) => status === "succeeded")) runs = await listed();
      expect(runs.map(({ id }) => id).sort()).toEqual([...accepted.values(), json.run].sort());
      now.child.kill("SIGTERM");
      expect(await now.ended).toBe(0);
    },
    longer(90_000),
  );
});

describe("a source whose secret is short", () => {
  it("is reported at the start", async () => {
    const { child, until, said, ended } = await start(makeProject(FILES), [], { HOOK: "ab" });
    await until(() => said().includes("HOOK has fewer than 8 characters: a secret of hook that can be guessed"));
    child.kill("SIGTERM");
    await ended;
  });
});

describe("a listener that cannot start", () => {
  it.each<[string, readonly string[], Readonly<Record<string, string>>, number, RegExp]>([
    [
      "no file",
      ["--config", "lisen.yml"],
      { HOOK: SECRET },
      2,
      /there is no file lisen\.yml[\s\S]*did you mean listen\.yml\?/,
    ],
    ["a variable that is not set", [], {}, 3, /HOOK/],
    ["a port that is none", ["--port", "99999"], { HOOK: SECRET }, 2, /--port/],
    ["a model that is none", ["--model", "nope"], { HOOK: SECRET }, 2, /nope/],
  ])("%s", async (_, args, env, code, message) => {
    const cwd = makeProject(FILES);
    const ended = await runHere(["listen", ...args], { cwd, env });
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
    expect(ended.stderr).toMatch(message);
    expect(existsSync(join(cwd, ".skillflow"))).toBe(false);
  });
});
