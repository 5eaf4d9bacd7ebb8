import type { ServerResponse } from "node:http";
import { arch, hostname, platform, release, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { type LoopbackRequest, sendJson, startLoopback } from "../../src/testing.ts";
import { oneOf, sliceOf } from "../harness/long.ts";
import { FLOW, SMALL, scriptOf, WORKING } from "./flows.ts";
import { linesOf, makeProject, type ProgramOptions, runProgram } from "./program.ts";

const it = oneOf(4);

/** An event as Sentry's ingest endpoint receives it: an envelope's header, then each item's header and payload. */
interface Envelope {
  readonly header: Readonly<Record<string, unknown>>;
  readonly items: readonly { readonly header: Readonly<Record<string, unknown>>; readonly payload: unknown }[];
}

function parseEnvelope({ method, url, body }: LoopbackRequest): Envelope {
  expect(`${method} ${url}`).toMatch(/^POST \/api\/42\/envelope\/\?/);
  const [header = {}, ...lines] = body.trimEnd().split("\n").map(parseLine);
  const items = lines.flatMap((line, at) => (at % 2 === 0 ? [{ header: line, payload: lines[at + 1] }] : []));
  return { header, items };
}

function parseLine(line: string): Readonly<Record<string, unknown>> {
  return JSON.parse(line);
}

const accept = (_request: LoopbackRequest, response: ServerResponse) => sendJson(response, 200, { id: "0" });
const hang = () => undefined;

/** Runs the program with reports to an ingest server that gives the specified answer. */
async function runReporting(args: readonly string[], options: ProgramOptions, answer = accept) {
  const ingest = await startLoopback(answer);
  const env = { SENTRY_DSN: ingest.url.replace("//", "//publickey@").concat("/42"), ...options.env };
  const ended = await runProgram(args, { ...options, env }).finally(ingest.close);
  return { ...ended, envelopes: ingest.requests.map(parseEnvelope), sent: ingest.requests };
}

const RUN = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r"];
const BURST_LINE = "error: internal error in skillflow: burst\n";

/** A machine on which no folder can be listed: `thrown` says what happens instead. */
function brokenMachine(thrown: string) {
  const broken = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    fs.readdirSync = () => { throw ${thrown}; };
    syncBuiltinESMExports();`;
  return { cwd: makeProject({ "broken.mjs": broken }), env: { NODE_OPTIONS: "--import ./broken.mjs" } };
}

/** A machine on which an unhandled error is thrown before a run starts. */
function burstingMachine() {
  const bursting = `
    import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const list = fs.readdirSync;
    fs.readdirSync = (...args) => {
      fs.readdirSync = list;
      syncBuiltinESMExports();
      queueMicrotask(() => { throw new Error("burst"); });
      return list(...args);
    };
    syncBuiltinESMExports();`;
  const files = { "flow.yml": FLOW, "script.json": WORKING, "bursting.mjs": bursting };
  return { cwd: makeProject(files), env: { NODE_OPTIONS: "--import ./bursting.mjs" } };
}

describe("an internal error of skillflow", () => {
  it("that is unhandled is reported once, with the usual message and exit code 4", async () => {
    const { code, stdout, stderr, envelopes } = await runReporting([...RUN, "--json"], burstingMachine());
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toContain(BURST_LINE);
    expect(stderr).toContain("  run it again with --verbose, and report the output\n");
    expect(envelopes.map(({ items }) => items.map(({ header }) => header.type))).toEqual([["event"]]);
    expect(envelopes[0]?.items[0]?.payload).toMatchObject({
      exception: { values: [{ type: "Error", value: "burst" }] },
      tags: { command: "run" },
    });
  });

  it("thrown by a command is reported with its kind, its place in the package, versions, and nothing else", async () => {
    const { cwd, env } = brokenMachine(`Object.assign(new TypeError("no folders", { cause: new Error("a cause") }), {
      path: "/somewhere", request: { url: "https://example.com/?q=1" } })`);
    const args = ["skills", "list", "--set", "LINEAR_TEAM=engineering"];
    const { code, stderr, envelopes } = await runReporting(args, { cwd, env });
    expect(code).toBe(4);
    expect(stderr).toContain("error: internal error in skillflow: no folders\n");
    expect(envelopes).toHaveLength(1);
    const frame = {
      filename: expect.stringMatching(/^(dist\/|node_modules\/|node:|elsewhere$)/),
      function: expect.any(String),
      lineno: expect.any(Number),
      colno: expect.any(Number),
      in_app: expect.any(Boolean),
    };
    const payload = {
      event_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      timestamp: expect.any(Number),
      platform: "node",
      level: "fatal",
      release: expect.stringMatching(/^skillflow@\d+\.\d+\.\d+$/),
      exception: {
        values: [{ type: "TypeError", value: "no folders", stacktrace: { frames: expect.any(Array) } }],
      },
      contexts: { runtime: { name: "node", version: process.version }, os: { name: platform() } },
      tags: { command: "skills list" },
      sdk: expect.objectContaining({ name: "sentry.javascript.node", integrations: [] }),
    };
    const event = envelopes[0]?.items[0]?.payload;
    expect(event).toEqual(payload);
    const { frames } = (event as { exception: { values: { stacktrace: { frames: object[] } }[] } }).exception.values[0]
      ?.stacktrace ?? { frames: [] };
    expect(frames).toEqual(frames.map(() => frame));
    expect(frames).toContainEqual(
      expect.objectContaining({ filename: expect.stringMatching(/^dist\/.*\.js$/), in_app: true }),
    );
    expect(frames.at(-1), "the place of a third-party file").toMatchObject({ filename: "elsewhere" });
    expect(Object.keys(envelopes[0]?.header ?? {}).sort()).toEqual(["event_id", "sdk", "sent_at"]);
  });

  it("is reported without any secret of the environment, an env file or the command line, however written", async () => {
    const secrets = {
      OPENAI_API_KEY: "sk-canary-Z9y8X7w6V5u4T3s2R1q0",
      UNRELATED: "canary-of-no-known-name/with+odd=characters",
      SIGNING_PRIVATE_KEY: `-----BEGIN KEY-----\n${"canaryLineOne".repeat(5)}\n${"canaryLineTwo".repeat(5)}\n-----END KEY-----`,
    };
    const filed = "canary-that-is-in-the-env-file";
    const given = "lin_api_canary0123456789";
    const all = [...Object.values(secrets), filed, given];
    const written = all.flatMap((secret) => [
      secret,
      Buffer.from(secret).toString("base64"),
      Buffer.from(`user:${secret}`).toString("base64"),
      encodeURIComponent(secret),
      JSON.stringify(secret),
    ]);
    // Lines that look like frames, of which the SDK would cut the longest (at 1024) within the secret.
    const frames = all.map((secret) => `    at f (node_modules/${"x".repeat(989)}${secret}:1:1)`);
    const message = [...written, ...frames].join("\n");
    const { cwd, env } = brokenMachine(
      `Object.assign(new Error(${JSON.stringify(message)}), { name: ${JSON.stringify(`Error of ${given}`)} })`,
    );
    const file = join(makeProject({ ".env": `FILED=${filed}\n` }), ".env");
    const args = ["skills", "list", "--set", `LINEAR_API_KEY=${given}`, "--env-from", file];
    const { code, sent } = await runReporting(args, { cwd, env: { ...secrets, ...env } });
    expect(code).toBe(4);
    expect(sent).toHaveLength(1);
    const body = sent.map((request) => request.body).join("");
    expect(body).toContain("[redacted:UNRELATED]");
    expect(body.toLowerCase()).not.toContain("canary");
    for (const form of written) expect(body).not.toContain(JSON.stringify(form).slice(1, -1));
    for (const form of all) expect(body).not.toContain(Buffer.from(form).toString("base64").slice(4, 20));
  });

  it("is reported without the machine's name, its user, its folders and its environment", async () => {
    const { cwd, env } = brokenMachine(`new Error("no folders")`);
    const set = { SENTRY_NAME: "the-server", SENTRY_ENVIRONMENT: "the-environment", SENTRY_RELEASE: "the-release" };
    const { sent } = await runReporting(["runs", "list"], { cwd, env: { ...set, ...env } });
    expect(sent).toHaveLength(1);
    const [{ body, headers } = { body: "", headers: {} }] = sent;
    const said = body + JSON.stringify({ ...headers, host: "" });
    for (const text of [cwd, tmpdir(), hostname(), release(), `"${arch()}"`, `"${userInfo().username}"`, "the-"]) {
      expect(said).not.toContain(text);
    }
  });

  it("that is not an Error is reported by its type", async () => {
    const { cwd, env } = brokenMachine(`"a bare text"`);
    const { code, envelopes } = await runReporting(["skills", "list"], { cwd, env });
    expect(code).toBe(4);
    expect(envelopes[0]?.items[0]?.payload).toMatchObject({
      exception: { values: [{ type: "string", value: "a bare text" }] },
    });
  });

  it("is announced as reported with --verbose", async () => {
    const { cwd, env } = brokenMachine(`new Error("no folders")`);
    const { stderr, envelopes } = await runReporting(["skills", "list", "--verbose"], { cwd, env });
    const { event_id } = envelopes[0]?.header ?? {};
    expect(stderr.endsWith(`the error was reported to SENTRY_DSN as ${event_id}\n`), stderr).toBe(true);
  });

  it("does not hang while it is reported to a server that never answers", async () => {
    const machine = burstingMachine();
    const { code, signal, stdout, stderr, sent } = await runReporting([...RUN, "--verbose"], machine, hang);
    expect({ code, signal, stdout }).toEqual({ code: 4, signal: null, stdout: "" });
    expect(sent).toHaveLength(1);
    expect(stderr).toContain(BURST_LINE);
    expect(stderr.endsWith("the error was not reported: SENTRY_DSN did not answer in time\n"), stderr).toBe(true);
    expect(linesOf(machine.cwd, "posts.txt")).toEqual([]);
  });

  it.each<readonly [string, string, string]>(
    sliceOf(
      [
        ["refuses the connection", "http://publickey@127.0.0.1:1/42", "SENTRY_DSN could not be reached"],
        ["is not a DSN", "publickey-without-a-host", "SENTRY_DSN is not the DSN of a Sentry project"],
        [
          "has an impossible port",
          "http://publickey@127.0.0.1:99999/42",
          "SENTRY_DSN is not the DSN of a Sentry project",
        ],
      ] as const,
      2,
    ),
  )("shows the usual message if SENTRY_DSN %s, which only --verbose mentions", async (_what, dsn, reason) => {
    const { cwd, env } = brokenMachine(`new Error("no folders")`);
    const plain = await runProgram(["skills", "list"], { cwd, env });
    expect(plain).toMatchObject({ code: 4, stdout: "" });
    const set = { ...env, SENTRY_DSN: dsn };
    expect(await runProgram(["skills", "list"], { cwd, env: set })).toEqual(plain);
    const verbose = await runProgram(["skills", "list", "--verbose"], { cwd, env: set });
    expect(verbose).toMatchObject({ code: 4, stdout: "" });
    expect(verbose.stderr.endsWith(`the error was not reported: ${reason}\n`), verbose.stderr).toBe(true);
  });

  it("shows the usual message if the server refuses the report", async () => {
    const { cwd, env } = brokenMachine(`new Error("no folders")`);
    const refuse = (_request: LoopbackRequest, response: ServerResponse) => sendJson(response, 403, {});
    const { code, stderr } = await runReporting(["skills", "list", "--verbose"], { cwd, env }, refuse);
    expect(code).toBe(4);
    expect(stderr.endsWith("the error was not reported: SENTRY_DSN answered 403\n"), stderr).toBe(true);
  });

  it.each([
    ["without SENTRY_DSN", [], { SENTRY_DSN: "" }],
    ["with --offline", ["--offline"], {}],
  ])("is not reported %s", async (_when, flags, env) => {
    const { cwd, env: bursting } = burstingMachine();
    const { code, stderr, sent } = await runReporting([...RUN, ...flags], { cwd, env: { ...bursting, ...env } });
    expect(code).toBe(4);
    expect(stderr).toContain(BURST_LINE);
    expect(sent).toEqual([]);
  });
});

describe("an error that is not internal", () => {
  const failing = { "flow.yml": FLOW, "script.json": scriptOf({ node: "look", fail: "gone" }) };
  const required = SMALL.replace(
    "Say something.",
    "Say something.\n    requires: { output_required: [input.service] }",
  );

  it.each<[string, number, readonly string[], Readonly<Record<string, unknown>>]>([
    ["a wrong command line", 2, ["run"], {}],
    ["an unknown run", 2, ["runs", "show", "nothing"], {}],
    ["a missing key", 3, ["run", "flow.yml"], { "flow.yml": FLOW }],
    ["a failed node", 1, RUN, { "flow.yml": required, "script.json": WORKING }],
    ["a script that is wrong", 2, RUN, failing],
    ["a success", 0, RUN, { "flow.yml": FLOW, "script.json": WORKING }],
  ])("is not reported: %s", async (_what, expected, args, files) => {
    const { code, stderr, sent } = await runReporting(args, { cwd: makeProject(files) });
    expect(code, stderr).toBe(expected);
    expect(sent).toEqual([]);
  });
});
