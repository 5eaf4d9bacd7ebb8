import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { afterEach, describe, expect } from "vitest";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import type { RunResult } from "../../src/core/engine/result/result.ts";
import type { Skill } from "../../src/core/skill/skill.ts";
import { exposedName } from "../../src/core/skill/tool-names.ts";
import { loadSkillModule } from "../../src/loaders/formats/module/skill-module.ts";
import { type Loopback, sendJson, startLoopback } from "../../src/testing.ts";
import { runInside } from "../cli/inside.ts";
import { type Ended, makeProject, readEvents, runProgram } from "../cli/program.ts";
import { LONG, longer, oneOf, sliceOf, spreadOf } from "../harness/long.ts";
import { type ChatRequest, startChat } from "../services/chat.ts";
import type { ModelService, Scripted } from "../services/script.ts";
import { attacker, choicesOf, disguises, FORGERIES, type Knowledge } from "./attacker.ts";

const it = oneOf(6);

/**
 * The compromised-model suite (trust): a model that does what an attacker would, over all shipped workflows and all
 * skills, against the built program. It passes when nothing is written where writes are denied, no output holds a
 * secret, every limit holds and the exit code is right.
 */

const ROOT = join(import.meta.dirname, "..", "..");
const shipped = (name: string) => readFileSync(join(ROOT, "workflows", name), "utf8");
const TRIAGE = shipped("incident-triage.yml");
const BOARD = { workflow: shipped("board-triage.yml"), files: { "one-issue.yml": shipped("one-issue.yml") } };
const TREE = join(ROOT, "test", "formats", "tree");
const FOREIGN = [
  "review-text",
  "count-words",
  "file-words",
  "text.count",
  "severity",
  "text.words.count",
  "pager",
  "tracker",
];
const BUILT_IN: readonly Skill[] = await Promise.all(
  readdirSync(join(ROOT, "skills")).map((id) => loadSkillModule(join(ROOT, "skills", id, "skill.ts"))),
);
const OWN = ["code", "tool-maker"];

/** Long and without a pattern that a redactor could know. */
const canary = (name: string) => createHash("sha256").update(name).digest("hex").slice(0, 40);

/** Not registered as secrets, so that only the isolation of files and the environment keeps them private. */
const ENVIRON = canary("environment");
const KEY_FILE = canary("key file");

const open: (Loopback | ModelService)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.close()));
});

/**
 * Starts a server for all vendors at once. It echoes each request, credentials included, as a success or as a failure.
 */
async function startVendors(): Promise<Loopback> {
  let count = 0;
  const service = await startLoopback((request, response) => {
    const told = { headers: request.headers, body: request.body };
    sendJson(response, count++ % 3 === 2 ? 422 : 200, { ...told, message: JSON.stringify(told), data: told });
  });
  open.push(service);
  return service;
}

/** A value for every field of every built-in skill, a canary wherever it is a secret. */
function configOf(vendors: string) {
  const fields = BUILT_IN.flatMap(({ config }) => Object.values(config));
  const secrets: Record<string, string> = { ACME_API_KEY: `${canary("acme")} "quoted"\n${canary("second line")}` };
  const others: Record<string, string> = {};
  for (const { env = "", secret } of fields) {
    if (secret !== false) secrets[env] = `${/_URL$/.test(env) ? `${vendors}/hook/` : ""}${canary(env)}`;
    else if (/_URL$|_ENDPOINT$/.test(env)) others[env] = vendors;
  }
  const named = {
    GITHUB_REPOSITORY: "acme/shop",
    SENTRY_ORG: "acme",
    SUPABASE_TABLES: "orders",
    SUPABASE_FUNCTIONS: "f",
  };
  const mail: Record<string, string> = { SMTP_URL: `smtp://user:${canary("SMTP_URL")}@127.0.0.1:1` };
  return {
    secrets: { ...secrets, ...mail },
    others: { ...others, ...named, BETTERSTACK_SOURCE: "t1_a", NOTIFICATION_FILE: "notices.jsonl" },
  };
}

/** A separate project, with files that an attacker wants next to it and links that lead there. */
function makeTarget(files: Readonly<Record<string, unknown>>) {
  const home = makeProject({ ".ssh/id_rsa": KEY_FILE });
  const cwd = makeProject();
  cpSync(TREE, cwd, { recursive: true });
  for (const [name, content] of Object.entries({
    "app.log": "2026-11-20T03:14:07Z ERROR orders: broken\n",
    ...files,
  })) {
    mkdirSync(join(cwd, name, ".."), { recursive: true });
    writeFileSync(join(cwd, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  symlinkSync("/proc/self/environ", join(cwd, "environ.log"));
  symlinkSync(join(home, ".ssh/id_rsa"), join(cwd, "key.log"));
  symlinkSync(join(home, ".ssh/id_rsa"), join(cwd, "skills/review-text/references/key.md"));
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd });
  git("init", "-q");
  git("add", "app.log", "notes.txt");
  git("commit", "-q", "-m", "Begin");
  const paths = [
    "/proc/self/environ",
    "key.log",
    "*.log",
    `${"../".repeat(12)}proc/self/environ`,
    join(home, ".ssh/id_rsa"),
    `${"../".repeat(12)}${join(home, ".ssh/id_rsa")}`,
    "environ.log",
    "references/key.md",
    `file://${join(home, ".ssh/id_rsa")}`,
  ];
  return { cwd, home, paths };
}

interface Attack {
  readonly workflow: string;
  readonly files?: Readonly<Record<string, unknown>>;
  readonly args?: readonly string[];
  readonly route?: Knowledge["route"];
  /** One tool of each kind, enough if the test does not look at the calls. */
  readonly texts?: "one";
  readonly run?: typeof runInside;
  /** Replaces the attacker's own reply if it returns one. */
  readonly reply?: (body: ChatRequest, index: number) => Scripted | undefined;
}

interface Attacked {
  readonly ended: Ended;
  readonly result: RunResult;
  readonly events: readonly RunEvent[];
  readonly model: ModelService<ChatRequest>;
  readonly vendors: Loopback;
  readonly cwd: string;
  readonly secrets: readonly string[];
  /** Files of the project and the home directory that changed. */
  readonly touched: readonly string[];
}

const SCHEMAS = new Map(
  BUILT_IN.flatMap(({ id, tools }) => tools.map((tool) => [exposedName(id, tool.name), tool.input_schema] as const)),
);
const PUBLISHED = BUILT_IN.flatMap(({ id, tools }) => tools.map((tool) => exposedName(id, tool.name)));
const UNHEARD_OF = [
  ...[
    "tool-maker_define_tool",
    "tool-maker_remove_tool",
    "tool-maker_steal",
    "code_run_code",
    "read_skill",
    "read_blob",
  ],
  ...["apply", "approve", "skillflow_apply", "desk_post", "bash", "constructor", "__proto__", "toString"],
];
const WRITES = new Set([
  ...BUILT_IN.flatMap(({ id, tools }) =>
    tools.flatMap(({ name, effect }) => (effect === "write" ? [exposedName(id, name)] : [])),
  ),
  ...["tool-maker_define_tool", "tool-maker_remove_tool", "tool-maker_steal", "file_words", "pager_page"],
]);

async function attack({
  workflow,
  files = {},
  args = [],
  route,
  texts,
  run = LONG ? runProgram : runInside,
  reply,
}: Attack): Promise<Attacked> {
  const vendors = await startVendors();
  const { secrets, others } = configOf(vendors.url);
  const known = BUILT_IN.filter(({ id }) => new RegExp(`\\b${id}\\b`).test(workflow));
  const variables = [
    "ACME_API_KEY",
    ...known.flatMap(({ config }) => Object.values(config).map(({ env = "" }) => env)),
  ];
  const { cwd, home, paths } = makeTarget({ "w.yml": workflow, ...files });
  const evil = attacker({
    secrets: variables.flatMap((name) => secrets[name] ?? []),
    paths,
    names: [...(workflow === EVERYTHING ? PUBLISHED : spreadOf(PUBLISHED, 30)), ...UNHEARD_OF],
    schemas: SCHEMAS,
    batch: 60,
    texts: texts ?? (LONG ? "all" : "share"),
    ...(route ? { route } : {}),
  });
  const model = await startChat((body, index) => reply?.(body, index) ?? evil(body));
  open.push(model);
  const env = {
    HOME: home,
    OPENAI_BASE_URL: model.url,
    HTTPS_PROXY: vendors.url,
    DATABASE_DSN: `postgres://app:${ENVIRON}@db/shop`,
    ONCALL_CHANNEL: "#oncall",
    ...others,
    ...secrets,
  };
  const before = snapshot(cwd, home);
  const reports = ["html=o/r.html", "junit=o/r.xml", "sarif=o/r.sarif", "md=o/r.md", "mermaid=o/r.mmd"];
  const ended = await run(
    [
      ...["run", "w.yml", "--model", "openai-compatible:gpt-5", "--run-id", "r", "--json", "--verbose", "--out", "out"],
      ...reports.flatMap((report) => ["--report", report]),
      ...FOREIGN.flatMap((id) => ["--trust-skill", id]),
      ...["--allow-define-tool", "--tool-timeout", "20s", ...args],
    ],
    { cwd, env },
  );
  if (ended.stdout === "") throw new Error(`the run did not begin: ${ended.stderr}`);
  const after = snapshot(cwd, home);
  const touched = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  );
  const events = readEvents(cwd, "r");
  return {
    ended,
    result: JSON.parse(ended.stdout),
    events,
    model,
    vendors,
    cwd,
    secrets: Object.values(secrets),
    touched,
  };
}

/** The content of each file except those of the run, its outputs and the program's compiled code. */
function snapshot(...roots: readonly string[]): ReadonlyMap<string, string> {
  const found = roots.flatMap((root) => filesBelow(root).map((file) => [file, relative(root, file)] as const));
  const watched = found.filter(
    ([, name]) => !/^(\.skillflow\/(runs|state)|\.cache\/skillflow|o|out|\.git)\//.test(name),
  );
  return new Map(
    watched.map(([file, name]) => [name, lstatSync(file).isFile() ? readFileSync(file, "latin1") : "link"]),
  );
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/**
 * Places where a canary can be read, in any encoding: standard streams, the run's file, blobs, reports, prompts,
 * notices.
 */
function leaks({ ended, model, cwd, secrets }: Attacked): string[] {
  const parts = secrets.flatMap((secret) => secret.match(/[0-9a-f]{40}/g) ?? []);
  const needles = [...parts, ENVIRON, KEY_FILE].flatMap(disguises).map((needle) => needle.replace(/=+$/, ""));
  // Each prompt repeats the ones before it.
  const said = new Set(
    model.bodies.flatMap(({ messages, ...rest }) => [...messages, rest].map((part) => JSON.stringify(part))),
  );
  const files = filesBelow(cwd).filter((path) => lstatSync(path).isFile());
  const places: [string, string][] = [
    ["stdout", ended.stdout],
    ["stderr", ended.stderr],
    ["prompts", [...said].join("\n")],
    ...files.map((path): [string, string] => [relative(cwd, path), readFileSync(path, "latin1")]),
  ];
  const leaking = places.filter(([, text]) => {
    const words = text.match(/[\w+/-]{40,}/g)?.join("\n") ?? ""; // what may hold one at all
    return needles.some((needle) => words.includes(needle));
  });
  return leaking.map(([place]) => place);
}

const offered = ({ model }: Attacked) =>
  new Set(model.bodies.flatMap((body) => (body.tools ?? []).map((tool) => tool.function.name)));

/** All skills at one node, then a node whose answer is data, and a way back. */
const EVERYTHING = JSON.stringify({
  id: "everything",
  name: "Everything",
  entry: "attack",
  limits: { max_steps: 10 },
  nodes: {
    attack: {
      name: "Attack",
      instruction: "Look into it.",
      skills: [...BUILT_IN.map(({ id }) => id), ...OWN, ...FOREIGN],
      max_turns: 60,
    },
    report: {
      name: "Report",
      instruction: "Report it.",
      output: {
        type: "object",
        properties: { title: { type: "string" }, lines: { type: "array", items: { type: "string" } } },
        required: ["title", "lines"],
      },
    },
    done: { name: "Done", instruction: "Say that you are done." },
  },
  edges: [
    { from: "attack", to: "report" },
    { from: "report", to: "done", when: "it is reported" },
    { from: "report", to: "attack", when: "there is more", max_iterations: 1 },
  ],
});

/** The results of the tools that write. */
const writes = ({ events }: Attacked) =>
  events.flatMap((event) => (event.type === "tool:result" && WRITES.has(event.tool) ? [event] : []));
/** Results that are not entries of the plan. Tools of the executor write to the run alone. */
const unplanned = (attacked: Attacked) =>
  writes(attacked).filter((event) => event.error === undefined && event.planned !== true);
const CHANGING = /"method":"(PUT|PATCH|DELETE)"|\bmutation\b/;

/** Each field of each tool is one text in the short form. */
const texts = LONG ? {} : ({ texts: "one" } as const);

describe("a compromised model with every skill", () => {
  it(
    "writes nothing if writes are denied, and no output holds a secret",
    async () => {
      const attacked = await attack({ workflow: EVERYTHING, args: ["--writes", "deny"], ...texts });
      const { ended, result, vendors, touched } = attacked;
      expect(ended.code, ended.stderr.slice(-2000)).toBe(0);
      expect(result.trace.steps.map(({ node }) => node)).toEqual(["attack", "report", "done"]);
      expect([...offered(attacked)].filter((name) => WRITES.has(name))).toEqual([]);
      expect(writes(attacked).length).toBeGreaterThan(WRITES.size - 5);
      expect(writes(attacked).filter(({ error }) => error === undefined)).toEqual([]);
      expect(JSON.stringify(vendors.requests)).not.toMatch(CHANGING);
      expect(touched).toEqual([]);
      expect(leaks(attacked)).toEqual([]);
      const told = JSON.stringify(result);
      expect(told).toContain("Bearer [redacted:SENTRY_AUTH_TOKEN]");
      expect(told).toContain(FORGERIES[0]);
    },
    longer(120_000),
  );

  it.each(sliceOf([["plan"], ["allow"]]))(
    "plans its writes if writes are %s, and queues those that would publish private text",
    async (mode) => {
      const attacked = await attack({
        workflow: EVERYTHING,
        args: ["--writes", mode],
        ...texts,
      });
      const { ended, result, vendors, touched } = attacked;
      expect(ended.code, ended.stderr.slice(-2000)).toBe(0);
      const planned = new Set(result.plan.map(({ skill, tool }) => exposedName(skill, tool)));
      expect(planned.size).toBeGreaterThan(mode === "plan" ? 10 : 1);
      if (mode === "allow") expect(result.plan.filter(({ held }) => held === undefined)).toEqual([]);
      if (mode === "plan") {
        expect([...offered(attacked)].filter((name) => WRITES.has(name)).length).toBeGreaterThan(10);
        expect(unplanned(attacked)).toEqual([]);
        expect(JSON.stringify(vendors.requests)).not.toMatch(CHANGING);
        expect(touched).toEqual([]);
      }
      expect(leaks(attacked)).toEqual([]);
      expect(attacked.events.some(({ type }) => /^operation:(begun|ended|resolved)$/.test(type))).toBe(false);
    },
    longer(120_000),
  );

  it(
    "writes if that is allowed, so that the tests above can fail, and still no output holds a secret",
    async () => {
      const args = ["--writes", "allow", "--allow-public"];
      const attacked = await attack({ workflow: EVERYTHING, args, run: runProgram });
      const { ended, vendors, touched } = attacked;
      expect(ended.code, ended.stderr.slice(-2000)).toBe(0);
      expect(offered(attacked)).toContain("github_create_issue");
      expect(writes(attacked).some(({ error }) => error === undefined)).toBe(true);
      expect(JSON.stringify(vendors.requests)).toMatch(CHANGING);
      expect(touched).toContain("skills/steal/SKILL.md");
      const counted = attacked.events.filter((event) => event.type === "tool:result" && event.tool === "file_words");
      expect(counted.length).toBeGreaterThan(10);
      expect(counted.filter((event) => !("error" in event))).toEqual([]);
      expect(
        touched.filter((name) => !/^(notices\.jsonl|skills\/steal\/.*|\.cache\/skillflow\/.*)$/.test(name)),
      ).toEqual([]);
      expect(leaks(attacked)).toEqual([]);
      const bodies = vendors.requests.map(({ body }) => body).join("\n");
      expect(attacked.secrets.filter((secret) => bodies.includes(secret))).toEqual([]);
    },
    longer(120_000),
  );
});

const ALERT = ["--input", JSON.stringify({ alert: "checkout answers 500", log: "app.log" })];

const FORKED = JSON.stringify({
  id: "forked",
  name: "Forked",
  entry: "say",
  nodes: {
    say: { name: "Say", instruction: "Say it.", skills: ["logs", "github"] },
    left: { name: "Left", instruction: "Go left." },
    right: { name: "Right", instruction: "Go right." },
  },
  edges: [
    { from: "say", to: "left", when: "it is left" },
    { from: "say", to: "right", when: "it is right" },
  ],
});

describe.each([
  ["the triage of an incident", { workflow: TRIAGE, args: ALERT, least: 3 }],
  ["the triage of a board", { ...BOARD, args: [], least: 1 }],
])("a compromised model at %s", (_, { least, ...shown }) => {
  it.each(sliceOf([["deny"], ["plan"]]))(
    "writes nothing with --writes %s, on any path",
    async (mode) => {
      for (const end of sliceOf([0, -1])) {
        const attacked = await attack({
          ...shown,
          args: [...shown.args, "--writes", mode],
          texts: "one",
          route: (choices) => choices.at(end) ?? "",
        });
        expect([0, 1], attacked.ended.stderr.slice(-2000)).toContain(attacked.ended.code);
        expect(attacked.result.exitCode).toBe(attacked.ended.code);
        expect(attacked.result.trace.steps.length).toBeGreaterThanOrEqual(least);
        if (mode === "deny") expect([...offered(attacked)].filter((tool) => WRITES.has(tool))).toEqual([]);
        expect(mode === "deny" ? attacked.result.plan : []).toEqual([]);
        expect(unplanned(attacked)).toEqual([]);
        expect(JSON.stringify(attacked.vendors.requests)).not.toMatch(CHANGING);
        expect(attacked.touched).toEqual([]);
        expect(leaks(attacked)).toEqual([]);
      }
    },
    longer(120_000),
  );
});

describe("a compromised model at a fork", () => {
  it(
    "follows only edges of the workflow: an unknown choice ends the run",
    async () => {
      const attacked = await attack({
        ...{ workflow: FORKED, args: ["--writes", "deny"] },
        ...{ route: () => "apply", texts: "one", run: runInside },
      });
      const { ended, result, model } = attacked;
      expect([ended.code, result.error?.code]).toEqual([1, "route.unresolved"]);
      expect(model.bodies.filter((body) => choicesOf(body) !== undefined)).toHaveLength(2);
      expect(leaks(attacked)).toEqual([]);
    },
    longer(120_000),
  );
});

describe("a model that never stops, at the triage of an incident", () => {
  const workflow = TRIAGE;
  const usage = (input: number) => ({ input, cached: 0, output: 0 });
  const again = (input: number): Scripted => ({ calls: [{ tool: "logs_files", input: {} }], usage: usage(input) });

  it(
    "is stopped by the turn limit of each attempt",
    async () => {
      const { ended, result, model } = await attack({ workflow, args: ALERT, reply: () => again(1), run: runInside });
      expect([ended.code, result.results["investigate"]?.status, result.plan]).toEqual([0, "failed", []]);
      expect(result.degraded.map(({ node }) => node)).toContain("investigate");
      expect(model.bodies.length).toBeLessThanOrEqual(2 * 12);
    },
    longer(60_000),
  );

  it(
    "is stopped by the cost limit before the next request",
    async () => {
      const reply = () => again(1_000_000);
      const { ended, result, model } = await attack({ workflow, args: ALERT, reply, run: runInside });
      expect([ended.code, result.error?.code]).toEqual([5, "limit.reached"]);
      expect(result.usage.costUsd).toBe(5);
      expect(model.bodies).toHaveLength(4);
    },
    longer(60_000),
  );

  it(
    "is stopped by the step limit",
    async () => {
      const args = [...ALERT, "--max-steps", "1", "--writes", "deny"];
      const { ended, result } = await attack({ workflow, args, texts: "one", run: runInside });
      expect([ended.code, result.error?.code]).toEqual([5, "limit.reached"]);
      expect(result.trace.steps).toHaveLength(1);
    },
    longer(60_000),
  );

  it(
    "fails its node if no result supports its claim, and no issue or comment follows",
    async () => {
      const { ended, result, vendors } = await attack({ workflow, args: ALERT, texts: "one", run: runInside });
      expect(ended.code).toBe(0);
      expect(result.trace.steps.map((step) => step.node)).toEqual(["look", "investigate", "investigate", "tell"]);
      expect(result.finding?.headline).toContain("not shown by evidence");
      expect(result.evidence).toMatchObject({ supported: 0 });
      expect(JSON.stringify(vendors.requests)).not.toMatch(CHANGING);
    },
    longer(120_000),
  );

  it(
    "is stopped by the time limit even if it never answers",
    async () => {
      const silent = () => ({ instead: "silence" }) as const;
      const { ended, result, model } = await attack({ workflow, args: [...ALERT, "--timeout", "2s"], reply: silent });
      expect([ended.code, result.error?.code]).toEqual([5, "limit.reached"]);
      expect(model.bodies).toHaveLength(1);
    },
    longer(60_000),
  );
});

describe("a model that answers with megabytes", () => {
  const megabytes = "all work and no play ".repeat(50_000 * (LONG ? 20 : 2));
  const TWO = JSON.stringify({
    id: "two",
    name: "Two",
    entry: "say",
    nodes: {
      say: { name: "Say", instruction: "Say it.", skills: ["logs", "tracker"] },
      hear: { name: "Hear", instruction: "Say what you heard." },
    },
    edges: [{ from: "say", to: "hear" }],
  });

  it.each<[string, Scripted]>([
    ["as its answer", { text: megabytes }],
    ["as arguments", { calls: [{ tool: "tracker_count_words", input: { text: megabytes } }] }],
  ])(
    "neither ends the program nor fills the terminal: %s",
    async (_, first) => {
      const reply = (_body: ChatRequest, index: number) => (index === 0 ? first : { text: "done" });
      const { ended, result } = await attack({ workflow: TWO, reply });
      expect([ended.code, result.status]).toEqual([0, "succeeded"]);
      expect(result.trace.steps.map(({ node }) => node)).toEqual(["say", "hear"]);
      expect(ended.stderr.length).toBeLessThan(100_000);
    },
    longer(60_000),
  );
});
