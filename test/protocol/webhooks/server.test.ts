import { createHmac } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { readSetting } from "../../../src/app/listen/setting.ts";
import { SkillflowError } from "../../../src/core/base/errors.ts";
import type { Model } from "../../../src/core/engine/ports.ts";
import { makeProject, readEvents, removeProjects, runFile } from "../../cli/program.ts";
import { type Listening, SECRET, send, signed, startListening, workspaceAt } from "./listening.ts";

const WORKFLOW = {
  id: "small",
  name: "Small",
  entry: "only",
  inputs: { service: { type: "string", required: true }, level: { type: "number" } },
  nodes: { only: { name: "Only", instruction: "Say something." } },
  edges: [],
};
const SOURCE = { kind: "generic", secret: "HOOK", workflow: "small.yml", input: { service: "{{body.service}}" } };

const running: Listening[] = [];
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});
afterAll(removeProjects);

function project(listen: object, files: Readonly<Record<string, unknown>> = {}): string {
  return makeProject({
    "small.yml": WORKFLOW,
    "script.json": { replies: [{ node: "only", text: "said" }] },
    "listen.yml": { port: 0, model: "script:script.json", ...listen },
    ...files,
  });
}

async function listening(source: object = {}, more: object = {}) {
  const cwd = project({ sources: { hook: { ...SOURCE, ...source } }, ...more });
  const listener = await startListening(cwd);
  running.push(listener);
  return { cwd, listener };
}

const runOf = ({ json }: { readonly json: Readonly<Record<string, unknown>> }) => String(json.run);

describe("an alert", () => {
  it("becomes a run on disk before it is accepted, and is driven", async () => {
    const { cwd, listener } = await listening();
    const answer = await send(listener.url, signed({ service: "api" }));
    expect(answer).toMatchObject({ status: 202, json: { run: expect.stringMatching(/^hook-[0-9a-f]{20}$/) } });
    const run = runOf(answer);
    expect(existsSync(runFile(cwd, run))).toBe(true);
    await listener.until(() => listener.ended.includes(`${run} succeeded`));
    const [record = ""] = readFileSync(runFile(cwd, run), "utf8").split("\n");
    expect(JSON.parse(record)).toMatchObject({ kind: "run", input: { service: "api" } });
    expect(listener.told).toMatchObject([{ source: "hook", status: 202 }]);
  });

  it("starts one run, however often it is delivered, also after a restart", async () => {
    const { cwd, listener } = await listening();
    const alert = signed({ service: "api" }, { delivery: "same" });
    const all = await Promise.all([1, 2, 3].map(() => send(listener.url, alert)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, 200, 202]);
    expect(new Set(all.map(runOf)).size).toBe(1);
    await listener.stop();
    running.pop();
    const again = await startListening(cwd);
    running.push(again);
    expect(await send(again.url, alert)).toMatchObject({ status: 200, json: { duplicate: true } });
    expect(again.ended).toEqual([]);
  });

  it.each<[string, object, object, number]>([
    ["with a field of another type", {}, { service: 3 }, 400],
    ["without a field that is mapped", {}, {}, 400],
    ["that does not fit `when`", { when: "body.state = firing" }, { service: "api", state: "ok" }, 200],
    ["that fits it", { when: "body.state = firing" }, { service: "api", state: "firing" }, 202],
  ])("%s is answered, and starts only what it may", async (_, source, body, status) => {
    const { listener } = await listening(source);
    const answer = await send(listener.url, signed(body));
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer.json.error).toContain("service");
    if (status === 200) expect(answer.json).toMatchObject({ ignored: true, reason: expect.stringContaining("firing") });
  });

  it("cannot turn its text into a template, a source or a prototype", async () => {
    const { cwd, listener } = await listening();
    const body = '{"service": "{{body.secret}} ./etc/passwd", "secret": "s", "__proto__": {"polluted": 1}}';
    const run = runOf(await send(listener.url, signed(body)));
    await listener.until(() => listener.ended.length === 1);
    const [record = ""] = readFileSync(runFile(cwd, run), "utf8").split("\n");
    expect(JSON.parse(record).input).toEqual({ service: "{{body.secret}} ./etc/passwd" });
    expect("polluted" in {}).toBe(false);
  });
});

describe("a refused request starts nothing", () => {
  const good = () => signed({ service: "api" });
  it.each<[string, () => Parameters<typeof send>[1], number]>([
    ["no signature", () => ({ body: '{"service":"api"}' }), 401],
    ["another secret", () => signed({ service: "api" }, { secret: "other" }), 401],
    ["a body that was changed", () => ({ ...good(), body: '{"service":"apj"}' }), 401],
    ["a time of yesterday", () => signed({ service: "api" }, { at: Date.now() - 86_400_000 }), 401],
    ["a time to come", () => signed({ service: "api" }, { at: Date.now() + 400_000 }), 401],
    [
      "another time than was signed",
      () => ({ ...good(), headers: { ...good().headers, "x-skillflow-timestamp": "1" } }),
      401,
    ],
    ["no JSON", () => signed("{"), 400],
    ["no body", () => signed(""), 400],
    ["no UTF-8", () => signed(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])), 400],
    ["JSON too deep", () => signed(`${"[".repeat(5000)}${"]".repeat(5000)}`), 400],
    ["JSON that is not an object", () => signed("3"), 400],
    ["a form", () => signed("payload=%7B%7D"), 400],
    ["more than a mebibyte", () => signed({ service: "x".repeat(1024 * 1024) }), 413],
    ["another source", () => ({ ...good(), path: "/hok" }), 404],
    ["a path below it", () => ({ ...good(), path: "/hook/.." }), 404],
    ["the root", () => ({ ...good(), path: "/" }), 404],
    ["a GET", () => ({ method: "GET" }), 405],
    ["a PUT", () => ({ ...good(), method: "PUT" }), 405],
    ["no delivery", () => ({ ...good(), headers: { ...good().headers, "x-skillflow-delivery": "" } }), 400],
  ])("%s", async (_, sent, status) => {
    const { cwd, listener } = await listening();
    const answer = await send(listener.url, sent());
    expect([answer.status, answer.headers["content-type"]]).toEqual([status, "application/json"]);
    expect(answer.json.error).toEqual(expect.any(String));
    expect(answer.text).not.toContain(SECRET);
    expect(existsSync(join(cwd, ".skillflow"))).toBe(false);
  });

  it("an endless body is cut off while it is read", async () => {
    const { listener } = await listening({}, { max_body: "10KB" });
    const { port } = new URL(listener.url);
    const socket = connect(Number(port), "127.0.0.1");
    const said = new Promise<string>((resolve) => {
      let text = "";
      socket.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      socket.on("error", () => undefined).on("close", () => resolve(text));
    });
    socket.write("POST /hook HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    const pump = setInterval(() => socket.writable && socket.write(`1000\r\n${"x".repeat(0x1000)}\r\n`), 5);
    expect(await said).toMatch(/^HTTP\/1.1 413/);
    clearInterval(pump);
  });

  it("too many headers are refused by the server", async () => {
    const { listener } = await listening();
    const answer = await send(listener.url, {
      ...good(),
      headers: { ...good().headers, "x-much": "x".repeat(32_000) },
    });
    expect(answer.status).toBe(431);
  });
});

describe("each vendor", () => {
  const hmac = (body: string) => createHmac("sha256", SECRET).update(body).digest("hex");
  it("that uses a token is the same delivery for five minutes, by its body", async () => {
    const { listener } = await listening({ kind: "grafana" });
    const alert = { body: '{"service":"api"}', headers: { authorization: `Bearer ${SECRET}` } };
    expect((await send(listener.url, { ...alert, headers: { authorization: "Bearer no" } })).status).toBe(401);
    const first = await send(listener.url, alert);
    expect(first.status).toBe(202);
    expect(await send(listener.url, alert)).toMatchObject({
      status: 200,
      json: { run: first.json.run, duplicate: true },
    });
    expect((await send(listener.url, { ...alert, body: '{"service":"api", "n":2}' })).status).toBe(202);
  });

  it("that only sends a test event is answered, if it is genuine", async () => {
    const { listener } = await listening({ kind: "github" });
    const body = '{"zen":"Keep it logically awesome."}';
    const headers = {
      "x-github-event": "ping",
      "x-github-delivery": "1",
      "x-hub-signature-256": `sha256=${hmac(body)}`,
    };
    expect(await send(listener.url, { body, headers })).toMatchObject({ status: 200, json: { ok: true } });
    expect((await send(listener.url, { body: "{}", headers })).status).toBe(401);
  });

  it("names the event in its header", async () => {
    const { cwd, listener } = await listening({ kind: "github", input: { service: "{{event}}" } });
    const body = "{}";
    const headers = {
      "x-github-event": "issues",
      "x-github-delivery": "2",
      "x-hub-signature-256": `sha256=${hmac(body)}`,
    };
    const run = runOf(await send(listener.url, { body, headers }));
    expect(readFileSync(runFile(cwd, run), "utf8")).toContain('"input":{"service":"issues"}');
  });
});

describe("alerts with one cause", () => {
  it("are joined to one run, at once and during its cool-down", async () => {
    const { listener } = await listening({ fingerprint: "body.cause", cool_down: "1h" });
    const alert = () => signed({ service: "api", cause: "disk" });
    const [one, two] = await Promise.all([send(listener.url, alert()), send(listener.url, alert())]);
    expect([one.status, two.status].sort()).toEqual([200, 202]);
    await listener.until(() => listener.ended.length === 1);
    const later = await send(listener.url, alert());
    expect(later).toMatchObject({ status: 200, json: { run: one.json.run, joined: true } });
    expect((await send(listener.url, signed({ service: "api", cause: "net" }))).status).toBe(202);
    expect((await send(listener.url, signed({ service: "api" }))).status).toBe(202);
    expect((await send(listener.url, signed({ service: "api" }))).status).toBe(202);
  });

  it("are recognized if sent again after the run that they joined", async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const model: Model = {
      provider: "held",
      async reply() {
        await held;
        return { parts: [{ type: "text", text: "said" }], stop: "end", usage: null };
      },
    };
    const models = new Map([["held", model]]);
    const cwd = project({ model: "held:x", sources: { hook: { ...SOURCE, fingerprint: "input.service" } } });
    const listener = await startListening(cwd, {}, { models });
    running.push(listener);
    const alerts = [signed({ service: "api" }), signed({ service: "api" })];
    const answers = await Promise.all(alerts.map((alert) => send(listener.url, alert)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 202]);
    const run = answers.map(runOf)[0];
    release();
    await listener.until(() => listener.ended.length === 1);
    for (const alert of alerts) expect((await send(listener.url, alert)).json).toEqual({ run, duplicate: true });
  });

  it("start another run once the first is over, without a cool-down", async () => {
    const { listener } = await listening({ fingerprint: "input.service" });
    expect((await send(listener.url, signed({ service: "api" }))).status).toBe(202);
    await listener.until(() => listener.ended.length === 1);
    expect((await send(listener.url, signed({ service: "api" }))).status).toBe(202);
  });
});

describe("a flood", () => {
  it("starts no more runs than the day allows, also after restarts", async () => {
    const { cwd, listener } = await listening({}, { limits: { per_day: { max_runs: 3 } } });
    const flood = (url: string) => Promise.all(Array.from({ length: 12 }, () => send(url, signed({ service: "api" }))));
    const first = await flood(listener.url);
    expect(first.filter(({ status }) => status === 202)).toHaveLength(3);
    const refused = first.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(9);
    expect(Number(refused[0]?.headers["retry-after"])).toBeGreaterThan(0);
    await listener.stop();
    running.pop();
    const again = await startListening(cwd);
    running.push(again);
    expect(new Set((await flood(again.url)).map(({ status }) => status))).toEqual(new Set([429]));
  });

  it("costs no more per day than configured: further alerts are refused, and accepted ones wait for the next day", async () => {
    const paid: Model = {
      provider: "acme",
      reply: async () => ({
        parts: [{ type: "text", text: "said" }],
        stop: "end",
        usage: { inputTokens: 10_000_000, cachedTokens: 0, outputTokens: 0 },
      }),
    };
    const models = new Map([["acme", paid]]);
    const listen = (max_cost_usd: number) => ({
      sources: { hook: SOURCE },
      model: "acme:claude-haiku-4-5",
      limits: { concurrency: 1, per_day: { max_cost_usd } },
    });
    const cwd = project(listen(1));
    const listener = await startListening(cwd, {}, { models });
    running.push(listener);
    const alerts = [1, 2].map((level) => send(listener.url, signed({ service: "api", level })));
    expect((await Promise.all(alerts)).map(({ status }) => status)).toEqual([202, 202]);
    await listener.until(() => listener.ended.length === 1);
    const refused = await send(listener.url, signed({ service: "api", level: 3 }));
    expect(refused).toMatchObject({ status: 429, json: { error: "the daily limit of $1 is reached" } });
    await listener.stop();
    running.pop();
    expect([listener.ended.length, listener.faults]).toEqual([1, []]);
    writeFileSync(join(cwd, "listen.yml"), JSON.stringify({ port: 0, ...listen(1000) }));
    const again = await startListening(cwd, {}, { models });
    running.push(again);
    await again.until(() => again.ended.length === 1);
    expect(again.ended[0]).not.toBe(listener.ended[0]);
  });

  it("does not fill the queue beyond its limit", async () => {
    const { listener } = await listening({}, { limits: { concurrency: 1, queue: 2, per_day: { max_runs: 1000 } } });
    const all = await Promise.all(Array.from({ length: 30 }, () => send(listener.url, signed({ service: "api" }))));
    const taken = all.filter(({ status }) => status === 202);
    expect(all.filter(({ status }) => ![202, 429].includes(status))).toEqual([]);
    await listener.until(() => listener.ended.length === taken.length);
    expect(new Set(listener.ended).size).toBe(taken.length);
  });
});

describe("a listener that is stopping", () => {
  it("accepts nothing new, reports that to visitors, and lets its runs end", async () => {
    const { listener } = await listening();
    const run = runOf(await send(listener.url, signed({ service: "api" })));
    expect((await send(listener.url, { method: "GET", path: "/health" })).status).toBe(200);
    listener.drain();
    expect((await send(listener.url, { method: "GET", path: "/health" })).status).toBe(503);
    const refused = await send(listener.url, signed({ service: "api" }));
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "10"]);
    await listener.until(() => listener.ended.includes(`${run} succeeded`));
  });
});

describe("an accepted alert without a run", () => {
  it("continues at the next start, from its record", async () => {
    const { cwd, listener } = await listening({}, { limits: { concurrency: 1 } });
    const all = await Promise.all([1, 2, 3, 4, 5].map(() => send(listener.url, signed({ service: "api" }))));
    await listener.stop();
    running.pop();
    const left = 5 - listener.ended.length;
    const again = await startListening(cwd);
    running.push(again);
    await again.until(() => again.ended.length === left);
    for (const run of all.map(runOf)) {
      expect(readEvents(cwd, run).filter(({ type }) => type === "workflow:end")).toHaveLength(1);
    }
  });
});

describe("a file that is wrong", () => {
  const wrongsOf = (cwd: string, env: Readonly<Record<string, string>> = { HOOK: SECRET }) => {
    try {
      readSetting(workspaceAt(cwd, { env }), "listen.yml", { offline: false, requireSkills: false });
    } catch (error) {
      if (error instanceof SkillflowError) return error;
      throw error;
    }
    return undefined;
  };

  it("is reported completely, each error with its line", () => {
    const cwd = project({});
    writeFileSync(
      join(cwd, "listen.yml"),
      `sources:
  a: { kind: generic, secret: HOOK, workflow: smal.yml }
  b:
    kind: generic
    secret: NOT_SET
    workflow: small.yml
    input: { servce: "{{bdy.x}}", service: "" }
`,
    );
    const wrong = wrongsOf(cwd);
    expect(wrong).toMatchObject({ code: "config.invalid", exitCode: 2 });
    expect(wrong?.diagnostics.map(({ code, line, hint }) => [code, line, hint])).toEqual([
      ["UNKNOWN_PATH_ROOT", 7, "did you mean body?"],
      ["IO", 2, "did you mean small.yml?"],
      ["VARIABLE_MISSING", 5, undefined],
      ["INPUT_UNKNOWN", 7, 'did you mean "service"?'],
    ]);
  });

  it("is valid if only its variables are missing, and they are named", () => {
    const wrong = wrongsOf(project({ sources: { hook: SOURCE } }), {});
    expect(wrong).toMatchObject({ code: "config.missing", exitCode: 3 });
    expect(wrong?.message).toContain("HOOK");
  });

  it.each<[string, object, string]>([
    ["an unknown kind", { sources: { hook: { ...SOURCE, kind: "sentri" } } }, 'did you mean "sentry"?'],
    ["an unknown field", { sources: { hook: SOURCE }, limit: {} }, 'did you mean "limits"?'],
  ])("suggests the similar name: %s", (_, listen, hint) => {
    const [found] = wrongsOf(project(listen))?.diagnostics ?? [];
    expect(`${found?.message} ${found?.hint}`).toContain(hint);
    expect(found).toMatchObject({ file: "listen.yml", line: expect.any(Number), column: expect.any(Number) });
  });

  it.each<[object, string]>([
    [{ sources: {} }, "sources must not be empty"],
    [{ max_body: 0 }, "max_body must be between 1 and 64MiB"],
    [{ max_body: 1e9 }, "max_body must be between 1 and 64MiB"],
    [{ max_body: "65MiB" }, "max_body must be between 1 and 64MiB"],
    [{ max_body: "5GiB" }, "max_body is not a size: use bytes, or 256KiB, 1MiB"],
    [{ approvals: { to: ["a@b", "a@b"] } }, "approvals.to must not have anyone twice"],
    [{ approvals: { to: [" "] } }, "approvals.to[0] must not be blank"],
  ])("is reported once: %j", (listen, message) => {
    const wrong = wrongsOf(project({ sources: { hook: SOURCE }, ...listen }));
    expect(wrong?.diagnostics.map((found) => found.message)).toEqual([message]);
  });
});
