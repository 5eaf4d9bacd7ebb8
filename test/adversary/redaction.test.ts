import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { openRecording } from "../../src/app/adapters/stores.ts";
import type { Workspace } from "../../src/app/host.ts";
import { type FinishedRun, resumeRun, startRun, type Watch } from "../../src/app/runs/drive.ts";
import { prepareRun } from "../../src/app/runs/prepare.ts";
import { prepareReplay } from "../../src/app/runs/replay.ts";
import { prepareResume } from "../../src/app/runs/resume.ts";
import { openWorkspace } from "../../src/app/workspace.ts";
import { createRedactor } from "../../src/core/base/redact/redact.ts";
import type { Json } from "../../src/core/base/values.ts";
import { linkProgram } from "../../src/core/engine/decide/link.ts";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import type { Part } from "../../src/core/engine/event/prompt.ts";
import type { Model, Observer } from "../../src/core/engine/ports.ts";
import { createAsk } from "../../src/run/ask.ts";
import { createCall } from "../../src/run/call.ts";
import { driveRun } from "../../src/run/drive.ts";
import { bodyOf } from "../../src/run/recall.ts";
import { memoryBlobs } from "../../src/stores/blobs.ts";
import { memoryStore } from "../../src/stores/memory.ts";
import { toolContext } from "../../src/testing.ts";
import { makeProject, runProgram } from "../cli/program.ts";
import { OPS, recordOf, workflowOf } from "../harness/harness.ts";
import { LONG } from "../harness/long.ts";
import { sandboxHost } from "../sandbox/host.ts";

/** Values of variables with names of secrets, in runs of the real program, in this process. */

const WORKFLOW = `
id: release
name: Release
description: Nothing here is a secret.
entry: run_tests
nodes:
  run_tests:
    name: Run the tests
    instruction: Test what is deployed to production; if none of these fits, say so.
    output: { type: object, properties: { verdict: { type: string, enum: [fine, broken] } }, required: [verdict] }
    eval: [{ name: is_fine, kind: value, rule: { output_matches: [{ path: verdict, equals: fine }] } }]
    retry: { max: 1, instruction: Look at production again. }
  decide: { name: Decide, instruction: Decide what to do., context: [Mind the staging environment.] }
  ship: { name: Ship, instruction: Ship it. }
edges:
  - { from: run_tests, to: decide }
  - { from: decide, to: ship, when: it is fine }
  - { from: decide, to: run_tests, when: it is broken, max_iterations: 2 }
`;

const SCRIPT = {
  replies: [
    { node: "run_tests", text: '{"verdict": "broken"}' },
    { node: "run_tests", text: '{"verdict": "fine"}' },
    { node: "decide", text: "go" },
    { node: "decide", choice: "ship", reasoning: "good" },
    { node: "ship", text: "away" },
  ],
};

function projectIn(cwd: string, env: Readonly<Record<string, string>>): Workspace {
  const self = { pid: process.pid, host: "here", started: "" };
  const host = { ...sandboxHost, cwd, env, self, isAlive: () => true };
  return openWorkspace(host, { overrides: new Map(), skillDirs: [], discover: false, store: undefined });
}

const QUIET: Watch = {
  observers: [],
  signal: new AbortController().signal,
  onPromptChanged: () => undefined,
  loggerFor: () => toolContext().logger,
};
const CHOICES = { model: "script:script.json", offline: false, requireSkills: false };
const FILES = { "flow.yml": WORKFLOW, "script.json": SCRIPT };

async function runFlow(cwd: string, env: Readonly<Record<string, string>>, choices = {}): Promise<FinishedRun> {
  const project = projectIn(cwd, env);
  const request = {
    document: "flow.yml",
    input: () => ({ service: "checkout" }),
    runId: "r",
    choices: { ...CHOICES, ...choices },
  };
  const prepared = await prepareRun(project, { ...request, connect: undefined });
  return startRun(project, prepared, QUIET);
}

/** Without what differs from run to run, and without the one notice about secrets. */
function traceOf({ record, events, result }: Pick<FinishedRun, "record" | "events" | "result">) {
  const timeless = (event: RunEvent) => ({ ...bodyOf(event), key: event.key });
  return {
    record: { ...record, at: "", warnings: [] },
    events: events.filter(({ type }) => type !== "warning").map((event, seq) => ({ ...timeless(event), seq })),
    result: { ...result, usage: { ...result.usage, durationMs: 0 }, trace: { ...result.trace } },
  };
}

describe("a secret that is an ordinary word, or a name that a run is made of", () => {
  test.each([
    ["start"],
    ["none"],
    ["test"],
    ["run_tests"],
    ["production"],
    ["prod"],
    ["workflow:start"],
    ["workflow:end"],
    ["node:enter"],
    ["model:reply"],
    ["skillflow.run/1"],
    ["succeeded"],
    ["properties"],
    ["1:run_tests/0/0"],
    ["script:script.json"],
    ["is_fine-not"],
    ["environment"],
    ["instruction"],
    ["flow.yml"],
    ["sha256:abc"],
  ])("%s changes nothing of the run", async (value) => {
    const plain = await runFlow(makeProject(FILES), {});
    const env = { ANTHROPIC_API_KEY: value, STAGE_KEY: value, MY_PASSWORD: value };
    const secret = await runFlow(makeProject(FILES), env);
    expect(plain.result.status).toBe("succeeded");
    expect(traceOf(secret)).toEqual(traceOf(plain));
  });

  it("changes nothing of a resumed and of a replayed run", async () => {
    const env = { ANTHROPIC_API_KEY: "workflow:start", STAGE_KEY: "run_tests", OTHER_TOKEN: "decide" };
    const whole = await runFlow(makeProject(FILES), {});
    const cwd = makeProject(FILES);
    await runFlow(cwd, env, { maxSteps: 1 });
    const project = projectIn(cwd, env);
    const store = project.store;
    const choices = { ...CHOICES, model: undefined, maxSteps: 9 };
    const prepared = await prepareResume(project, await store.read("r"), { choices, connect: undefined });
    const resumed = await resumeRun(project, prepared, QUIET, undefined);
    expect(resumed.result.results).toEqual(whole.result.results);
    const recording = openRecording(project, join(cwd, ".skillflow/runs/r.jsonl"));
    if (!recording) throw new Error("no recording");
    const again = await prepareReplay(project, recording, { runId: "again", tools: "recorded", connect: undefined });
    const replayed = await startRun(project, again, QUIET);
    expect(replayed.result.results).toEqual(whole.result.results);
    expect(replayed.result.status).toBe("succeeded");
  });

  it("is reported once, by its name and without its value", async () => {
    const { record } = await runFlow(makeProject(FILES), { PIN_KEY: "77-55-3", STAGE_KEY: "production" });
    const said = record.warnings.filter((warning) => warning.startsWith("not redacted"));
    expect(said).toEqual([
      expect.stringMatching(/under 8 characters.*: PIN_KEY$/),
      expect.stringMatching(/a word of the workflow: STAGE_KEY$/),
    ]);
    expect(said.join()).not.toContain("77-55-3");
  });
});

describe("a secret in the workflow itself", () => {
  const key = "Xk29fjQ0aLm4Pz7Rt5Wb";
  const files = { "flow.yml": WORKFLOW.replace("Ship it.", `Ship it with ${key}.`), "script.json": SCRIPT };
  const env = { DEPLOY_TOKEN: key, STAGE_KEY: "production" };

  it("is found by validate, with its place and its name alone", async () => {
    const { code, stdout, stderr } = await runProgram(["validate", "flow.yml", "--json"], {
      cwd: makeProject(files),
      env,
    });
    expect([code, stderr]).toEqual([0, ""]);
    const { diagnostics } = JSON.parse(stdout) as { readonly diagnostics: readonly { readonly code: string }[] };
    expect([...diagnostics].sort((a, b) => (a.code < b.code ? -1 : 1))).toEqual([
      expect.objectContaining({
        severity: "warning",
        code: "secret.in_document",
        field: "nodes.ship.instruction",
        line: 14,
      }),
      expect.objectContaining({ code: "taint.free_text_route", field: "nodes.decide" }),
    ]);
    expect(stdout).toContain("DEPLOY_TOKEN");
    expect(stdout).not.toContain(key);
    expect((await runProgram(["validate", "flow.yml", "--strict"], { cwd: makeProject(files), env })).code).toBe(2);
  });

  it("is shown as its author's text, but not in what a model writes about it", async () => {
    const said = {
      replies: SCRIPT.replies.map((reply) => (reply.text === "away" ? { ...reply, text: `used ${key}` } : reply)),
    };
    const { record, events } = await runFlow(makeProject({ ...files, "script.json": said }), env);
    expect(record.workflow.nodes.ship?.instruction).toContain(key);
    expect(record.warnings.join()).toMatch(/nodes\.ship\.instruction: the value of DEPLOY_TOKEN/);
    expect(JSON.stringify(events.at(-1))).toContain("used [redacted:DEPLOY_TOKEN]");
  });

  it("is reported by doctor if it is a word of the workflow", async () => {
    const { code, stderr } = await runProgram(["doctor", "flow.yml"], { cwd: makeProject(files), env });
    expect(code).toBe(0);
    expect(stderr.replaceAll(/\s+/g, " ")).toMatch(/secret\.not_searched .*a word of the workflow: STAGE_KEY/);
  });
});

// ---- whatever a model and its tools say

const secretText = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_-]{12,40}$/),
  fc.string({ minLength: 12, maxLength: 40, unit: "grapheme-ascii" }),
);
const lines = (width: number, text: string) => (text.match(new RegExp(`.{1,${width}}`, "g")) ?? []).join("\n");
const ENCODERS: readonly ((text: string, width: number) => string)[] = [
  (text) => text,
  (text) => encodeURIComponent(text),
  (text) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  (text) => Buffer.from(text).toString("hex"),
  (text) => Buffer.from(text).toString("base64"),
  (text, width) => lines(width, Buffer.from(text).toString("base64")),
  (text, width) => JSON.stringify(lines(width, Buffer.from(text).toString("base64url"))),
  (text) => JSON.stringify(JSON.stringify(text)),
  (text) => text.replace(/[\s\S]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`),
  (text) =>
    dump(
      text,
      (row, at) => `${at.toString(16).padStart(8, "0")}: ${row.toString("hex").replace(/....(?=.)/g, "$& ")}  ${row}`,
    ),
  (text) => dump(text, (row) => ` ${row.toString("hex").replace(/..(?=.)/g, "$& ")}`),
  (text) =>
    dump(
      text,
      (row, at) => `${at.toString(8).padStart(7, "0")}${[...row.toString()].map((one) => one.padStart(4)).join("")}`,
    ),
];

/** Sixteen bytes in a row. */
function dump(text: string, rowOf: (row: Buffer, at: number) => string): string {
  const bytes = Buffer.from(text);
  const starts = Array.from({ length: Math.ceil(bytes.length / 16) }, (_, index) => index * 16);
  return starts.map((at) => rowOf(bytes.subarray(at, at + 16), at)).join("\n");
}

/** All readings of a text that could reveal the secret: decoded as the encoders above are undone. */
function readings(said: string): readonly string[] {
  const parsed = said.replaceAll(/\\u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
  const plain = parsed.replaceAll(/\\+n/g, "\n").replaceAll(/\\+(["\\/])/g, "$1");
  const percent = plain.replaceAll(/(?:%[0-9a-f]{2})+/gi, (codes) =>
    Buffer.from(codes.replaceAll("%", ""), "hex").toString(),
  );
  const runs = plain.replaceAll("\n", "").match(/[A-Za-z0-9+/_=-]{12,}/g) ?? [];
  const base64 = runs.flatMap((run) => [0, 1, 2, 3].map((skip) => Buffer.from(run.slice(skip), "base64").toString()));
  const hex = runs.flatMap((run) => [0, 1].map((skip) => Buffer.from(run.slice(skip), "hex").toString()));
  const offsets = /(?<![\da-f])[\da-f]{8}: |(?<!\d)\d{7}(?= )| {2}.{0,16}$/gm;
  const dumped = Buffer.from(plain.replaceAll(offsets, "").replaceAll(/\s/g, ""), "hex").toString();
  return [said, parsed, plain, percent, dumped, ...base64, ...hex];
}

interface Said {
  readonly reply: string;
  readonly input: Json;
  readonly output: Json;
  readonly error: string;
}

/**
 * One run in which a model and its tools output these texts. Returns all that is recorded, observed and sent to the
 * model.
 */
async function hear(secret: string, said: Said): Promise<string> {
  const redactor = createRedactor([{ name: "S", value: secret }]);
  const record = recordOf(workflowOf({ a: { skills: ["ops"] } }), { skills: [OPS] });
  const store = memoryStore();
  const journal = await store.create(record);
  const heard: unknown[] = [];
  const replies: (readonly Part[])[] = [
    [
      { type: "text", text: said.reply },
      { type: "call", id: "1", tool: "ops_look", input: { q: said.input } },
      { type: "call", id: "2", tool: "ops_look", input: { q: "fail" } },
    ],
    [{ type: "text", text: said.reply }],
  ];
  const model: Model = {
    provider: "script",
    async reply(prompt) {
      heard.push(prompt.turns, prompt.text);
      const parts = replies[prompt.turns.length === 0 ? 0 : 1] ?? [];
      return { parts, stop: "end", usage: null };
    },
  };
  const { logger } = toolContext({});
  const listening: Observer = { onEvent: (event) => heard.push(event) };
  const handler = (input: { readonly q: Json }): Json => {
    if (input.q === "fail") throw new Error(said.error);
    return said.output;
  };
  await driveRun({
    program: linkProgram(record),
    journal,
    ask: createAsk({
      findModel: async (name) => ({ model, name }),
      priceOf: () => 0,
      clock: { random: () => 0, sleep: async () => undefined },
      onProgress: (...told) => heard.push(told),
      onAnswering: () => undefined,
    }),
    callTool: createCall({
      run: record.run,
      findHandler: ({ tool }) => ({ tool: { ...tool, handler: handler as never }, config: {} }),
      timeoutMs: 60_000,
      workDir: "/",
      fetch,
      loggerFor: () => logger,
      redactor,
      blobs: memoryBlobs(),
    }),
    redactor,
    observers: [listening],
    signal: new AbortController().signal,
    afterwards: [],
  });
  await journal.close();
  return JSON.stringify([heard, (await store.read(record.run)).events]);
}

describe("a random secret", () => {
  const encoded = fc.record({
    secret: secretText,
    before: fc.string({ maxLength: 8 }),
    after: fc.string({ maxLength: 8 }),
    width: fc.integer({ min: 4, max: 76 }),
    how: fc.array(fc.constantFrom(...ENCODERS), { minLength: 4, maxLength: 4 }),
  });

  it("reaches no reader, in any place and any encoding", async () => {
    await fc.assert(
      fc.asyncProperty(encoded, async ({ secret, before, after, width, how }) => {
        fc.pre(secret.trim().length >= 12);
        const [reply = "", input = "", output = "", error = ""] = how.map(
          (encode) => `${before} ${encode(secret, width)} ${after}`,
        );
        const heard = await hear(secret, {
          reply,
          input: [input],
          output: { rows: [{ output }], secret: output },
          error,
        });
        for (const reading of readings(heard)) expect(reading.includes(secret)).toBe(false);
        expect(heard).toContain("[redacted:S]");
      }),
      { numRuns: LONG ? 2000 : 40 },
    );
  });

  it("that is split over up to eight neighbouring texts leaves no piece of four characters", async () => {
    const split = fc.record({
      secret: fc.stringMatching(/^[A-Za-z0-9]{32,40}$/),
      sizes: fc.array(fc.integer({ min: 4, max: 12 }), { minLength: 1, maxLength: 7 }),
      shape: fc.constantFrom<(pieces: readonly string[]) => Json>(
        (pieces) => [...pieces],
        (pieces) => ({ list: pieces.map((piece) => ({ piece, n: 1 })) }),
        (pieces) => Object.fromEntries(pieces.map((piece, index) => [`part${index}`, piece])),
      ),
    });
    await fc.assert(
      fc.asyncProperty(split, async ({ secret, sizes, shape }) => {
        const pieces: string[] = [];
        let at = 0;
        for (const size of sizes) {
          if (at + size >= secret.length - 4) break;
          pieces.push(secret.slice(at, at + size));
          at += size;
        }
        pieces.push(secret.slice(at));
        const heard = await hear(secret, { reply: "ok", input: shape(pieces), output: shape(pieces), error: "no" });
        for (const piece of pieces) expect(heard).not.toContain(`"${piece}"`);
      }),
      { numRuns: LONG ? 1000 : 20 },
    );
  });
});

describe("a secret where a text is truncated", () => {
  const secret = "Canary0123456789abcdefghijKLMNOP";

  it("leaves no part of itself in an error, whatever precedes it", async () => {
    for (let place = 0; place < 9000; place += 97) {
      const error = `${"x".repeat(place)}${secret}${"y".repeat(9000)}`;
      const heard = await hear(secret, { reply: "ok", input: "q", output: null, error });
      for (let from = 0; from + 8 <= secret.length; from += 8)
        expect(heard).not.toContain(secret.slice(from, from + 8));
    }
  });

  it("leaves no part of itself in a message of the model's provider", async () => {
    const { failureOf } = await import("../../src/models/faults.ts");
    const service = { name: "It", baseURL: "http://x", apiKey: secret, keyName: "KEY", fetch, idleMs: 1 };
    for (const place of [1980, 1999, 2000]) {
      const { message } = failureOf(service, "m", { status: 400, kinds: "", message: `${"x".repeat(place)}${secret}` });
      expect(message).not.toContain(secret.slice(0, 8));
    }
  });
});

// ---- what else is a secret

describe("a file of the checkout that holds credentials", () => {
  const held = "Held0123456789abcdefghij";
  const mixed = "h3Ld0xY9zQ7wK2mN8pR4";
  const basic = (user: string) => Buffer.from(`${user}:${held}`).toString("base64");
  const files: readonly (readonly [string, string, string])[] = [
    [".git/config", `[remote "origin"]\n\turl = https://ci:${held}@git.example.com/a.git\n`, held],
    [".git/config", `[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic ${held}\n`, held],
    [".git/config", "[include]\n\tpath = ../hidden/more\n", held],
    [".git/config", `[http]\n\textraheader = AUTHORIZATION: basic ${basic("x-access-token")}\n`, held],
    [".git/config", `[http "https://b/"] extraheader = AUTHORIZATION: bearer ${held} ; note\n`, held],
    [".git/config", `[http]\n\textraheader = "AUTHORIZATION: \\\nbearer ${held}" # note\n`, held],
    [".git/modules/libs/a/config", `[http]\n\textraheader = AUTHORIZATION: basic ${basic("x")}\n`, held],
    [".npmrc", `//registry.npmjs.org/:_authToken=${held}\n`, held],
    [".npmrc", `//registry.npmjs.org/:_authToken=${held} ; note\n`, held],
    [".npmrc", `_auth = "${held}"\n`, held],
    [".npmrc", `_auth=${basic("npm")}\n`, held],
    [".npmrc", `//registry.npmjs.org/:_password=${Buffer.from(held).toString("base64")}\n`, held],
    [".env", `DEPLOY_TOKEN=${held}\n`, held],
    [".env", `A=${mixed}\n`, mixed],
    [".env.production", `export PGPASSWORD='${held}'\n`, held],
  ];

  test.each(files)("%s: %s", async (name, content, secret) => {
    const more = { "hidden/more": `[url "https://x:${held}@example.com/"]\n\tinsteadOf = https://example.com/\n` };
    const cwd = makeProject({ ...FILES, ...more, "script.json": saying(`it is ${secret} there`), [name]: content });
    const { events } = await runFlow(cwd, {});
    expect(JSON.stringify(events)).toContain("it is [redacted:");
    expect(JSON.stringify(events)).not.toContain(secret);
  });

  it("is read before those of many submodules, one of which cannot be read", async () => {
    const names = Array.from({ length: 300 }, (_, index) => `.git/modules/m${index}/config`);
    const config = `# a comment that ends in \\\n[remote "origin"]\n\turl = https://ci:${held}@git.example.com/a.git\n`;
    const modules = Object.fromEntries(names.map((name) => [name, "[core]\n"]));
    const cwd = makeProject({ ...FILES, ...modules, "script.json": saying(held), ".git/config": config });
    symlinkSync("config", join(cwd, ".git/modules/config"));
    expect(JSON.stringify((await runFlow(cwd, {})).events)).not.toContain(held);
  });

  it("is searched for at the repository's root too", async () => {
    const root = makeProject({ ".env": `DEPLOY_TOKEN=${held}\n`, ".git/HEAD": "" });
    const cwd = join(root, "deep", "er");
    for (const [name, content] of Object.entries({ ...FILES, "script.json": saying(held) })) {
      mkdirSync(dirname(join(cwd, name)), { recursive: true });
      writeFileSync(join(cwd, name), typeof content === "string" ? content : JSON.stringify(content));
    }
    expect(JSON.stringify((await runFlow(cwd, {})).events)).not.toContain(held);
  });

  it("is read no further when it is a pattern, a pipe or a folder", async () => {
    const cwd = makeProject({ ...FILES, "script.json": saying(held), ".env.example": `DEPLOY_TOKEN=${held}\n` });
    mkdirSync(join(cwd, ".env"));
    execFileSync("mkfifo", [join(cwd, ".npmrc"), join(cwd, ".env.local")]);
    expect(JSON.stringify((await runFlow(cwd, {})).events)).toContain(held);
  });

  function saying(text: string) {
    const [, ...rest] = SCRIPT.replies;
    return { replies: [rest[0], { node: "decide", text }, ...rest.slice(2)] };
  }
});
