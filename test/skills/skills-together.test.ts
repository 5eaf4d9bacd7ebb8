import { execFileSync } from "node:child_process";
import type { JsonObject } from "skillflow";
import { type Loopback, type LoopbackHandler, sendJson, startLoopback } from "skillflow/testing";
import { afterEach, describe, expect, it } from "vitest";
import { runHere } from "../cli/in-process.ts";
import { makeProject, readEvents, resultOf } from "../cli/program.ts";
import { ANSWERING, WITHOUT_VENDOR } from "../services/vendors.ts";

/** All built-in skills at one node at once: most vendors answer, one is down, one refuses, one is slow. */

interface Vendor {
  /** Its call, and a server that answers as soon as it has started. */
  readonly asked: readonly [tool: string, input: JsonObject];
  readonly start?: () => Promise<Loopback>;
  readonly env?: (url: string) => Readonly<Record<string, string>>;
  /** The expected error, if the call fails. */
  readonly fails?: RegExp;
  /** It answers after all others have. */
  readonly isSlow?: boolean;
}

const SLOW = "elasticsearch";

const loopback = (handler: LoopbackHandler) => () => startLoopback(handler);

/** Skills without a loopback service in test/services. */
const OTHERS: Readonly<Record<string, Vendor>> = {
  git: { asked: ["log", {}], env: () => ({ GIT_REPOSITORY: ".", PATH: process.env["PATH"] ?? "" }) },
  http: {
    asked: ["check", { urls: ["{{url}}/health"] }],
    start: loopback((_request, response) => sendJson(response, 503, { status: "degraded" })),
    env: (url) => ({ HTTP_HOSTS: url }),
  },
  logs: { asked: ["search", { files: ["app.log"] }] },
  notification: { asked: ["channels", {}], env: () => ({ NOTIFICATION_FILE: "notices.jsonl" }) },
  postgres: {
    asked: ["list_queries", {}],
    env: () => ({ POSTGRES_URL: "postgres://triage:pgcanary0123456789@127.0.0.1:1/shop" }),
    fails: /ECONNREFUSED|did not answer|does not answer/,
  },
  supabase: {
    asked: ["count", { table: "orders" }],
    start: loopback((_request, response) =>
      sendJson(response, 403, { code: "42501", message: "permission denied for table orders" }),
    ),
    env: (url) => ({
      SUPABASE_URL: url,
      SUPABASE_SERVICE_ROLE_KEY: "sb_secret_canary0123456789",
      SUPABASE_TABLES: "orders",
    }),
    fails: /42501|permission denied|does not allow/,
  },
};

const ASKED: readonly (readonly [id: string, vendor: Vendor])[] = [
  ...[...ANSWERING].map(([id, vendor]) => [id, { ...vendor, isSlow: id === SLOW }] as const),
  ...Object.entries(OTHERS),
];

const open: Loopback[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.close()));
});

/** A service whose requests wait for the others. */
function delayed({ url }: Loopback, others: Promise<void>): Promise<Loopback> {
  return startLoopback(async ({ method, url: path, headers }, response) => {
    await others;
    const { host: _, connection: __, ...kept } = headers;
    const answer = await fetch(`${url}${path}`, { method, headers: kept as Record<string, string> });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(await answer.text());
  });
}

async function startAll(others: Promise<void>) {
  const env: Record<string, string> = {};
  const calls: { tool: string; input: JsonObject }[] = [];
  for (const [id, { asked, start, env: envOf, isSlow }] of ASKED) {
    const own = await start?.();
    const service = own && isSlow ? await delayed(own, others) : own;
    open.push(...(own ? [own] : []), ...(service && service !== own ? [service] : []));
    const url = service?.url ?? "";
    Object.assign(env, envOf?.(url));
    const [tool, input] = asked;
    calls.push({ tool: `${id}_${tool}`, input: JSON.parse(JSON.stringify(input).replaceAll("{{url}}", url)) });
  }
  return { env, calls };
}

const WORKFLOW = `
id: look-at-all
name: Look at all
entry: look
nodes:
  look:
    name: Look
    instruction: Look at every system.
    skills: [${ASKED.map(([id]) => id).join(", ")}]
edges: []
`;

describe("all built-in skills at once", () => {
  it("are those that exist", () => {
    expect(Object.keys(OTHERS).sort()).toEqual(WITHOUT_VENDOR);
  });

  it("answer side by side, whichever of them is down, refuses or is slow, and each error names its service", async () => {
    let tellAll: () => void = () => undefined;
    const others = new Promise<void>((resolve) => {
      tellAll = resolve;
    });
    const { env, calls } = await startAll(others);
    const script = { replies: [{ calls }, { text: "Looked at." }] };
    const cwd = makeProject({ "all.yml": WORKFLOW, "script.json": script, "app.log": "2026-11-20T14:38:05Z ERROR\n" });
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd });
    git("init", "-q");
    git("commit", "-q", "--allow-empty", "-m", "Begin");
    let told = "";
    const onText = (_: string, text: string) => {
      told += text;
      if (told.split("tool:result ").length > calls.length - 1) tellAll();
    };
    const args = ["run", "all.yml", "--run-id", "all", "--model", "script:script.json", "--no-discover", "--json"];
    const ended = await runHere(args, { cwd, env, onText });
    expect(ended.code, ended.stderr).toBe(0);
    const made = resultOf(ended).results["look"]?.toolCalls ?? [];
    expect(made.map(({ tool }) => tool)).toEqual(calls.map(({ tool }) => tool));
    for (const [index, [id, { fails }]] of ASKED.entries()) {
      const { error, output } = made[index] ?? {};
      if (fails) expect(error, id).toMatch(fails);
      else expect([id, error, output === undefined]).toEqual([id, undefined, false]);
    }
    const results = readEvents(cwd, "all").flatMap((event) => (event.type === "tool:result" ? [event.tool] : []));
    expect(results.at(-1)).toBe(`${SLOW}_list_indices`);
    for (const secret of Object.values(env).filter((value) => /canary/i.test(value))) {
      expect(ended.stdout + ended.stderr).not.toContain(secret);
    }
  });
});
