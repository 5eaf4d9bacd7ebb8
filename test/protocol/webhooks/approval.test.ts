import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { makeProject, readEvents, removeProjects } from "../../cli/program.ts";
import { type Answered, type Listening, send, signed, startListening } from "./listening.ts";

/** Asks before it prints anything. The content of the question comes from outside. */
const workflow = (approval: object) => ({
  id: "asking",
  name: "Asking",
  entry: "sure",
  inputs: { service: { type: "string" } },
  nodes: {
    sure: { name: "Sure", approval: { ask: "Shall it be? <script>alert(1)</script>", ...approval } },
    only: { name: "Only", instruction: "Say something." },
  },
  edges: [{ from: "sure", to: "only" }],
});

const running: Listening[] = [];
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});
afterAll(removeProjects);

const start = async (cwd: string) => {
  const listener = await startListening(cwd);
  running.push(listener);
  return listener;
};

async function asking({ approval = {}, approvals }: { readonly approval?: object; readonly approvals?: object } = {}) {
  const cwd = makeProject({
    "asking.yml": workflow(approval),
    "script.json": { replies: [{ node: "only", text: "said" }] },
    "listen.yml": {
      port: 0,
      model: "script:script.json",
      sources: { hook: { kind: "generic", secret: "HOOK", workflow: "asking.yml", input: { service: "x" } } },
      ...(approvals ? { approvals } : {}),
    },
  });
  const listener = await start(cwd);
  const { json } = await send(listener.url, signed({}));
  const run = String(json.run);
  await listener.until(() => listener.links.length > 0 && listener.ended.includes(`${run} waiting`));
  return { cwd, listener, run };
}

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const look = ({ url }: Listening, token: string, method = "GET") => send(url, { method, path: `/approve/${token}` });
const say = ({ url }: Listening, token: string, body = "word=approve"): Promise<Answered> =>
  send(url, { path: `/approve/${token}`, headers: FORM, body });
const wordsIn = (cwd: string, run: string) => readEvents(cwd, run).filter(({ type }) => type === "approval:given");

describe("a one-time link", () => {
  it("shows the question to any visitor, any number of times, and changes nothing", async () => {
    const { cwd, listener, run } = await asking();
    const [token = ""] = listener.links.map((link) => link.token);
    for (const method of ["GET", "HEAD", "GET"]) expect((await look(listener, token, method)).status).toBe(200);
    const { text, headers } = await look(listener, token);
    expect(text).toContain("Shall it be?");
    expect(text).not.toContain("<script");
    expect(text).toContain(run);
    // Enter in the field is not a decision: it presses the first button.
    expect(/<button[^>]*>/.exec(text)?.[0]).toContain("disabled");
    expect(headers).toMatchObject({
      "content-security-policy": expect.stringContaining("default-src 'none'"),
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      "x-frame-options": "DENY",
    });
    expect(wordsIn(cwd, run)).toEqual([]);
  });

  it("decides once, as its addressee, and the run continues", async () => {
    const { cwd, listener, run } = await asking({ approvals: { to: ["kim@example.org", "lee@example.org"] } });
    const [kim, lee] = listener.links;
    expect(listener.links.map(({ by }) => by)).toEqual(["kim@example.org", "lee@example.org"]);
    expect((await say(listener, lee?.token ?? "", "word=approve&note=go+on")).status).toBe(200);
    await listener.until(() => listener.ended.includes(`${run} succeeded`));
    expect(wordsIn(cwd, run)).toMatchObject([{ approved: true, by: "lee@example.org", note: "go on" }]);
    for (const link of [kim, lee]) {
      const second = await say(listener, link?.token ?? "", "word=deny");
      expect([second.status, second.text.includes("approved by lee@example.org")]).toEqual([409, true]);
    }
    expect(wordsIn(cwd, run)).toHaveLength(1);
  });

  it("is one of two at once", async () => {
    const { cwd, listener, run } = await asking();
    const [{ token } = { token: "" }] = listener.links;
    const both = await Promise.all([say(listener, token), say(listener, token, "word=deny")]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    await listener.until(() => listener.ended.includes(`${run} succeeded`));
    expect(wordsIn(cwd, run)).toHaveLength(1);
  });

  it.each<[string, (token: string) => string, string, number]>([
    ["is forged", () => "A".repeat(43), "word=approve", 404],
    ["is cut", (token) => token.slice(0, -1), "word=approve", 404],
    ["is empty", () => "", "word=approve", 404],
    ["is another's kept digest", () => "0".repeat(64), "word=approve", 404],
    ["says neither yes nor no", (token) => token, "word=perhaps", 400],
    ["says nothing", (token) => token, "", 400],
  ])("that %s changes nothing, and the page reports that", async (_, forge, body, status) => {
    const { cwd, listener, run } = await asking();
    const answer = await say(listener, forge(listener.links[0]?.token ?? ""), body);
    expect([answer.status, answer.text.includes("Nothing was changed")]).toEqual([status, true]);
    expect(wordsIn(cwd, run)).toEqual([]);
  });

  it("is stored as its digest alone, and valid after a restart", async () => {
    const { cwd, listener, run } = await asking();
    const [{ token } = { token: "" }] = listener.links;
    await listener.stop();
    running.pop();
    const state = join(cwd, ".skillflow", "state");
    const kept = readdirSync(state).map((name) => readFileSync(join(state, name), "utf8"));
    expect([...kept, readFileSync(join(cwd, ".skillflow", "runs", `${run}.jsonl`), "utf8")].join("")).not.toContain(
      token,
    );
    const again = await start(cwd);
    expect((await say(again, token, "word=deny")).status).toBe(200);
    await again.until(() => again.ended.length === 1);
    expect(wordsIn(cwd, run)).toMatchObject([{ approved: false, by: "one-time link" }]);
    expect(again.links).toEqual([]);
  });

  it("is too late once the time is over, and the run has continued by itself", async () => {
    const { cwd, listener, run } = await asking({ approval: { timeout: "1s", on_timeout: "deny" } });
    await listener.until(() => listener.ended.length === 2);
    const answer = await say(listener, listener.links[0]?.token ?? "");
    expect([answer.status, answer.text.includes("Nothing was changed")]).toEqual([409, true]);
    expect(wordsIn(cwd, run)).toMatchObject([{ approved: false, by: "timeout" }]);
  });
});
