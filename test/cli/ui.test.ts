import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import type { EventBody, RunEvent } from "../../src/core/engine/event/event.ts";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import type { Journal } from "../../src/core/engine/ports.ts";
import { fileStore } from "../../src/stores/file/store.ts";
import { oneOf } from "../harness/long.ts";
import { axeSource } from "../reports/browser.ts";
import { noBrowser, openBrowser } from "../services/browser.ts";
import { FLOW, scriptOf, WORKING } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, programCommand } from "./program.ts";

const it = oneOf(2);

const ROOT = join(import.meta.dirname, "../..");
const HOSTILE = `<img src=x onerror="alert(1)">`;

let cwd = "";
let child: ChildProcess;
let address = "";
let ended: Promise<number | null>;

beforeAll(async () => {
  cwd = makeProject({
    "flow.yml": FLOW.replace("name: Look and post", `name: '${HOSTILE} run'`),
    "script.json": WORKING,
    "short.json": scriptOf({ node: "look", text: HOSTILE }),
  });
  for (const [id = "", script = ""] of [
    ["good", "script.json"],
    ["bad", "short.json"],
  ]) {
    await runHere(["run", "flow.yml", "--model", `script:${script}`, "--run-id", id], { cwd });
  }
  const { command, args, env } = programCommand(["ui"]);
  child = spawn(command, args, { cwd, env });
  ended = new Promise((resolve) => child.once("close", resolve));
  address = await new Promise((resolve, reject) => {
    let said = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.endsWith("\n")) resolve(said.trimEnd());
    });
    void ended.then((code) => reject(new Error(`it ended with ${code}: ${said}`)));
  });
});
afterAll(async () => {
  child.kill("SIGINT");
  expect(await ended).toBe(0);
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends a request that a browser would not: any host, any method, any path. */
function ask(path: string, options: { method?: string; headers?: Record<string, string> } = {}): Promise<Answer> {
  const { hostname: host, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ host, port, path, ...options }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    asked.on("error", reject).end();
  });
}

const token = () => new URL(address).searchParams.get("token") ?? "";
const signedIn = () => ({ headers: { cookie: `skillflow-${new URL(address).port}=${token()}` } });

describe("the address", () => {
  it("is all that is printed, and logs in with a cookie that no script and no other site can use", async () => {
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}$/);
    const { status, headers, body } = await ask(`/?token=${token()}`);
    expect([status, headers.location, body]).toEqual([303, "/", ""]);
    expect(headers["set-cookie"]).toEqual([
      expect.stringMatching(/^skillflow-\d+=[\w-]+; HttpOnly; SameSite=Strict; Path=\/$/),
    ]);
  });

  it.each([
    ["without the token", {}, 401],
    ["with another token", { headers: { authorization: "Bearer no" } }, 401],
    ["with a token of the same length", { headers: { authorization: `Bearer ${"x".repeat(32)}` } }, 401],
  ])("does not authenticate %s", async (_, options, status) => {
    for (const path of [
      "/",
      "/runs/good",
      "/api/runs",
      "/api/runs/good",
      "/api/runs/good/events",
      "/stats",
      "/nothing",
    ]) {
      const answer = await ask(path, options);
      expect([path, answer.status]).toEqual([path, status]);
      expect(answer.body).not.toContain("good");
    }
  });

  it("is answered under its own host name alone, with the token too", async () => {
    for (const host of ["evil.test", `localhost:${new URL(address).port}`, "127.0.0.1", "127.0.0.1:1"]) {
      const headers = { ...signedIn().headers, host };
      expect([host, (await ask("/", { headers })).status]).toEqual([host, 421]);
    }
  });

  it.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND"])("refuses %s", async (method) => {
    const { status, headers } = await ask("/api/runs/good", { method, ...signedIn() });
    expect([status, headers.allow]).toEqual([405, "GET"]);
    const without = await ask("/api/runs/good", { method });
    expect([without.status, without.headers.allow]).toEqual([405, "GET"]);
    expect((await ask(`/?token=${token()}`, { method })).status).toEqual(405);
  });

  it.each(["//evil.test/", "/.//evil.test", "/x/../runs", "/runs/a%2fb"])(
    "does not redirect elsewhere with %s",
    async (path) => {
      const { status, headers } = await ask(`${path}?token=${token()}`);
      expect([status, headers.location]).toEqual([303, path === "/runs/a%2fb" ? path : "/"]);
    },
  );
});

describe("a port", () => {
  it.each([
    ["that is taken", () => new URL(address).port, 4, "cannot listen"],
    ["that is none", () => "70000", 2, "--port takes a number up to 65535"],
  ])("%s is reported", async (_, port, code, said) => {
    const { stdout, stderr, ...ended } = await runHere(["ui", "--port", port()], { cwd });
    expect([ended.code, stdout, stderr]).toEqual([code, "", expect.stringContaining(said)]);
  });
});

describe("the pages", () => {
  it("have a policy that loads nothing else, and are not cached", async () => {
    for (const path of ["/", "/runs/good", "/runs/none"]) {
      const { headers } = await ask(path, signedIn());
      expect(headers).toMatchObject({
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "content-type": "text/html; charset=utf-8",
      });
      expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
      expect(headers["content-security-policy"]).not.toMatch(/script-src[^;]*(unsafe|https?:|\*)/);
    }
    const nonces = await Promise.all([ask("/", signedIn()), ask("/", signedIn())]);
    expect(new Set(nonces.map(({ headers }) => headers["content-security-policy"])).size).toBe(2);
  });

  it("list the runs with state, workflow, duration and cost, and untrusted text as text", async () => {
    const { status, body } = await ask("/", signedIn());
    expect(status).toBe(200);
    expect(body).toContain('href="/runs/good"');
    expect(body).toMatch(/ui-state succeeded/);
    expect(body).toMatch(/ui-state failed/);
    expect(body).not.toContain("<img");
  });

  it("are filtered by state and text, and list runs by their headline", async () => {
    const idsOf = async (query: string) => {
      const { runs, total } = JSON.parse((await ask(`/api/runs${query}`, signedIn())).body);
      expect(runs).toHaveLength(total);
      return runs.map(({ id }: { id: string }) => id);
    };
    expect(await idsOf("?state=succeeded")).toContain("good");
    expect(await idsOf("?state=failed")).not.toContain("good");
    expect(await idsOf("?q=GOOD")).toEqual(["good"]);
    expect(await idsOf("?q=nothing-like-it")).toEqual([]);
    const { body } = await ask("/?q=%22%3E%3Cimg", signedIn());
    expect(body).toContain('value="&#34;&#62;&#60;img"');
    expect(body).toContain("No run matches.");
    const [{ headline, name }] = JSON.parse((await ask("/api/runs?q=good", signedIn())).body).runs;
    expect((await ask("/?q=good", signedIn())).body).toContain(`dir="auto">${headline ?? name}</b>`);
  });

  it("show a run as its report does", async () => {
    const { status, body } = await ask("/runs/good", signedIn());
    expect(status).toBe(200);
    expect(body).toContain("it is posted");
    expect(body).not.toMatch(/<img|http-equiv="Content-Security-Policy"|<script/);
  });

  it("show statistics of the runs in plots that need no script, with numbers as text", async () => {
    await runHere(["feedback", "good", "right", "--cause", HOSTILE], { cwd });
    const { status, body, headers } = await ask("/stats?days=7", signedIn());
    expect([status, body.match(/<script|<img|style=/)]).toEqual([200, null]);
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src/);
    expect(body).toContain('<a href="/stats?days=7" aria-current="page">7 days</a>');
    expect(body).toMatch(/<svg class="bar" role="img" aria-label="Judgements: 1 right, 0 partly, 0 wrong"/);
    const found = JSON.parse((await ask("/api/stats", signedIn())).body);
    expect(found).toMatchObject({ schema: "skillflow.stats/1", rows: [{ runs: 1, right: 1 }, { runs: 1 }] });
    expect((await ask("/stats?days=", signedIn())).body).toContain('30" aria-current');
    const odd = await ask("/stats?days=no%3Cb%3E", signedIn());
    expect([odd.status, odd.body]).toEqual([400, expect.stringContaining("days must be a whole number")]);
    expect(odd.body).not.toContain("<b>");
    for (const query of ["page=0", "page=1.5", "state=lost"]) {
      const { status, body } = await ask(`/api/runs?${query}`, signedIn());
      expect([query, status, JSON.parse(body).error.code]).toEqual([query, 400, "input.invalid"]);
    }
    for (const [after, status] of [
      ["-1", 200],
      ["-2", 400],
    ] as const) {
      const streamed = await ask(`/api/runs/good/events?after=${after}`, signedIn());
      expect([after, streamed.status]).toEqual([after, status]);
    }
    expect((await ask("/", signedIn())).body).toContain('href="/stats"');
  });

  it("report that a run does not exist", async () => {
    const { status, body } = await ask("/runs/%3Cb%3Enone", signedIn());
    expect(status).toBe(404);
    expect(body).not.toContain("<b>none");
  });
});

describe("the documents", () => {
  it("are the list, a run's result, and its events from any position", async () => {
    const list = JSON.parse((await ask("/api/runs", signedIn())).body);
    expect(list).toMatchObject({ schema: "skillflow.runs/1", total: 2, page: 1, pages: 1, underWay: [], problems: [] });
    expect(list.runs.map(({ id }: { id: string }) => id)).toEqual(["bad", "good"]);
    const { body } = await ask("/api/runs/good", signedIn());
    expect(JSON.parse(body)).toMatchObject({ schema: "skillflow.result/1", run: "good", status: "succeeded" });
    const { stdout } = await runHere(["runs", "show", "good", "--stream"], { cwd });
    const recorded = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as RunEvent);
    const told = eventsIn((await ask("/api/runs/good/events", signedIn())).body);
    expect(told).toEqual(recorded);
    const later = { headers: { ...signedIn().headers, "last-event-id": "3" } };
    expect(eventsIn((await ask("/api/runs/good/events", later)).body)).toEqual(recorded.slice(4));
    const after = { headers: { ...signedIn().headers, "last-event-id": String(recorded.length - 1) } };
    expect((await ask("/api/runs/good/events", after)).status).toBe(204);
  });

  it("are served to programs with a bearer token too, and errors are JSON", async () => {
    const headers = { authorization: `Bearer ${token()}` };
    const { status, body } = await ask("/api/runs/none", { headers });
    expect([status, JSON.parse(body)]).toEqual([404, { error: { code: "run.unknown", message: expect.any(String) } }]);
    expect((await ask(`/api/runs?token=${token()}`)).status).toBe(200);
    const odd = await ask("/api/nothing", { headers });
    expect([odd.status, JSON.parse(odd.body)]).toMatchObject([404, { error: { message: "there is no /api/nothing" } }]);
  });
});

function eventsIn(text: string): RunEvent[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
}

/** A run that this process drives, one record at a time. */
async function beginRun(id: string): Promise<{ readonly journal: Journal; readonly records: RunEvent[][] }> {
  const lines = readFileSync(join(ROOT, "workflows/incident-triage.run.jsonl"), "utf8").trimEnd().split("\n");
  const [head = "", ...events] = lines;
  const self = { pid: process.pid, host: hostname(), started: "" };
  const store = fileStore({ directory: join(cwd, ".skillflow/runs"), self, isAlive: () => true });
  const record = { ...(JSON.parse(head) as RunRecord), run: id, kind: "run" as const, at: new Date().toISOString() };
  const journal = await store.create(record);
  const records: RunEvent[][] = [[]];
  for (const line of events) {
    const event = JSON.parse(line) as RunEvent;
    records.at(-1)?.push(event);
    if (event.more !== true) records.push([]);
  }
  return { journal, records: records.filter((each) => each.length > 0) };
}

async function go(journal: Journal, events: readonly RunEvent[]): Promise<void> {
  const bodies = events.map(
    ({ seq: _s, time: _t, epoch: _e, key: _k, more: _m, record: _r, seal: _l, ...body }) => body,
  );
  await journal.record(events[0]?.key ?? "", async () => bodies as EventBody[]);
}

describe("a run in progress", () => {
  it("is streamed event by event to each listener, and its end closes the stream", async () => {
    const { journal, records } = await beginRun("streamed");
    const { host } = new URL(address);
    const gone = new AbortController();
    await go(journal, records[0] ?? []);
    const answer = await fetch(`http://${host}/api/runs/streamed/events`, { ...signedIn(), signal: gone.signal });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (const [index, record] of records.entries()) {
      if (index > 0) await go(journal, record);
      // One after the other at first, then many between two polls.
      if (index > 3 && index < records.length - 1) continue;
      const last = record.at(-1)?.seq ?? 0;
      while (!text.includes(`id: ${last}\n`)) text += (await reader?.read())?.value ?? "";
    }
    await journal.close();
    while (true) {
      const { done, value = "" } = (await reader?.read()) ?? { done: true };
      if (done) break;
      text += value;
    }
    expect(eventsIn(text).map(({ seq }) => seq)).toEqual(records.flat().map(({ seq }) => seq));
  });

  it("has neither an exit code nor a failure before its end", async () => {
    const { journal, records } = await beginRun("running");
    for (const record of records.slice(0, 3)) await go(journal, record);
    const during = await (await fetch(`${new URL(address).origin}/runs/running`, signedIn())).text();
    expect(during).toContain("running");
    for (const early of ["Exit code", ": interrupted", ">interrupted", "skillflow resume"])
      expect(during).not.toContain(early);
    for (const record of records.slice(3)) await go(journal, record);
    await journal.close();
    expect(await (await fetch(`${new URL(address).origin}/runs/running`, signedIn())).text()).toContain("Exit code");
  });

  it.skipIf(noBrowser !== undefined)(
    `is updated in a browser until it has ended${noBrowser === undefined ? "" : ` (${noBrowser})`}`,
    async () => {
      const { journal, records } = await beginRun("seen");
      const { tab, close } = await openBrowser();
      const upTo = async (type: RunEvent["type"]) => {
        for (;;) {
          const record = records.shift() ?? [];
          await go(journal, record);
          if (record.some((event) => event.type === type)) return;
        }
      };
      try {
        await upTo("node:enter");
        await tab.open(address);
        expect(await tab.evaluate("location.href")).toBe(`${new URL(address).origin}/`);
        expect(await tab.evaluate("document.cookie")).toBe("");
        await tab.until(`document.querySelector('a[href="/runs/seen"] .ui-state.running')`);
        await tab.evaluate(axeSource());
        expect(await tab.evaluate("axe.run().then((found) => found.violations.map(({ id }) => id))")).toEqual([]);
        await tab.open(`${new URL(address).origin}/runs/seen`);
        await tab.until(`document.getElementById("ui-doing").textContent.includes("asking the model")`);
        expect(await tab.evaluate("document.querySelector('h1').textContent")).not.toContain("interrupted");
        expect(await tab.evaluate("document.body.textContent")).not.toContain("skillflow resume");
        const inner = `take["inner:start"]({ inner: "each[fp-81]" }); take["node:enter"]({ at: "each[fp-81]", node: "look", iteration: 1 })`;
        await tab.evaluate(inner);
        await tab.until(`document.getElementById("ui-doing").textContent.startsWith("each[fp-81] › look: asking")`);
        await tab.evaluate(axeSource());
        expect(
          await tab.evaluate("axe.run(document.querySelector('.ui-live')).then((found) => found.violations)"),
        ).toEqual([]);
        await upTo("tool:call");
        await tab.until(`/calling|waiting for/.test(document.getElementById("ui-doing").textContent)`);
        await upTo("node:exit");
        await tab.until(`document.getElementById("ui-feed").textContent.includes("success")`);
        const visits = `document.querySelector("main").textContent`;
        await upTo("route");
        await upTo("node:enter");
        while (records.length > 0) await go(journal, records.shift() ?? []);
        await journal.close();
        await tab.until(`document.querySelector(".ui-live .ui-state.succeeded")`);
        await tab.until(`${visits}.includes("declined")`);
        expect(tab.complaints).toEqual([]);
      } finally {
        await close();
      }
    },
    60_000,
  );
});

describe("many runs", () => {
  it("come in pages, the newest first", async () => {
    const self = { pid: process.pid, host: hostname(), started: "" };
    const [head = ""] = readFileSync(join(cwd, ".skillflow/runs/good.jsonl"), "utf8").split("\n");
    for (let n = 0; n < 120; n++) {
      const store = fileStore({ directory: join(cwd, ".skillflow/runs"), self, isAlive: () => true });
      const at = new Date(Date.UTC(2020, 0, 1) + n * 1000).toISOString();
      await (await store.create({ ...(JSON.parse(head) as RunRecord), run: `old-${n}`, at })).close();
    }
    const last = JSON.parse((await ask("/api/runs?page=3", signedIn())).body);
    expect([last.pages, last.runs.length, last.runs.at(-1).id]).toEqual([3, last.total - 100, "old-0"]);
    expect((await ask("/?page=2", signedIn())).body).toMatch(/href="\/\?page=1".*page 2 of 3.*href="\/\?page=3"/s);
    expect((await ask("/?page=99", signedIn())).body).toContain("page 3 of 3");
  });
});
