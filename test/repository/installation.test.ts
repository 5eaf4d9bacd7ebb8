import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { satisfies } from "semver";
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest";
import type { RunEvent } from "../../src/core/engine/event/event.ts";
import { openSandbox } from "../../src/sandbox/choose.ts";
import { type LoopbackHandler, sendJson, startLoopback } from "../../src/testing.ts";
import { type Ended, runAt } from "../cli/program.ts";
import { lostLinks } from "../docs/links.ts";
import { LONG, oneOf } from "../harness/long.ts";
import { type Installed, installPacked, type Manifest, readManifest } from "../harness/packed-package.ts";
import { sandboxHost } from "../sandbox/host.ts";
import { startAnthropic } from "../services/anthropic.ts";
import { startChat } from "../services/chat.ts";
import { startMail } from "../services/mail.ts";
import { startOpenai } from "../services/openai.ts";
import { startPostgres, whyNoPostgres } from "../services/postgres.ts";
import type { ModelService } from "../services/script.ts";
import * as sentry from "../services/sentry.ts";
import * as slack from "../services/slack.ts";
import { ANSWERING, VENDORS } from "../services/vendors.ts";

const it = oneOf(6);

/** The installed package: its size, its content, and that everything works from there. */

const ROOT = join(import.meta.dirname, "..", "..");
const MEGABYTES = 20;
const isSandboxed = (await openSandbox(sandboxHost)).name !== "missing";

let installed: Installed;
let packages: readonly (Manifest & { readonly folder: string })[] = [];
beforeAll(async () => {
  installed = await installPacked();
  const modules = join(installed.project, "node_modules");
  const names = readdirSync(modules).flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(modules, name)).map((inner) => join(name, inner)) : [name],
  );
  const folders = names.filter((name) => !name.startsWith(".")).map((name) => join(modules, name));
  packages = folders.map((folder) => ({ ...readManifest(folder), folder }));
}, 120_000);
afterAll(() => installed?.remove());

const started: { close(): Promise<unknown> }[] = [];
afterEach(() => Promise.all(started.splice(0).map((service) => service.close())));

async function start<Service extends { close(): Promise<unknown> }>(service: Promise<Service>): Promise<Service> {
  started.push(await service);
  return service;
}

/** The installed program, in a project that has nothing else. */
function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return runAt(join(installed.project, "node_modules", "skillflow", "dist", "bin.js"), args, {
    cwd: installed.project,
    env: { HOME: join(installed.project, "..", "home"), ...env },
  });
}

function write(files: Readonly<Record<string, unknown>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(installed.project, name, ".."), { recursive: true });
    writeFileSync(join(installed.project, name), typeof content === "string" ? content : JSON.stringify(content));
  }
}

describe("an installation", () => {
  it("installs without a warning, and runs nothing", () => {
    expect(installed.said).not.toMatch(/warn|deprecat|vulnerab/i);
    for (const { name, scripts } of packages) {
      for (const moment of ["preinstall", "install", "postinstall"])
        expect(scripts ?? {}, name).not.toHaveProperty(moment);
    }
  });

  it(`takes no more than ${MEGABYTES} MB of disk`, () => {
    expect(blocksOf(join(installed.project, "node_modules")) / 1024).toBeLessThan(MEGABYTES);
  });

  it("contains what users' own code shares with the program, and nothing else", () => {
    expect(packages.map(({ name }) => name).sort()).toEqual(["skillflow", "zod"]);
  });

  it("has only packages that support the oldest supported Node", () => {
    const unfit = packages.filter(({ engines }) => !satisfies("20.19.0", engines?.node ?? "*"));
    expect(unfit.map(({ name }) => name)).toEqual([]);
  });

  it("contains no tests, no sources and no source maps", () => {
    const folders = new Set(installed.files.map((path) => path.replace(/[^/]*$/, "")));
    expect(installed.files.filter((path) => /\.map$|(?<!\.d)\.ts$|\.tsx$|\.test\./.test(path))).toEqual([]);
    expect([...folders].filter((path) => /(^|\/)(test|tests|bench|src|contracts|services)\//.test(path))).toEqual([]);
    expect(installed.files).toEqual(
      expect.arrayContaining(["README.md", "LICENSE", "dist/bin.js", "dist/LICENSES.txt"]),
    );
  });

  it("has pages for users and coding agents, whose links lead to existing targets", () => {
    const pages = installed.files.filter((path) => path.endsWith(".md") && !path.startsWith("dist/"));
    expect(pages).toEqual(expect.arrayContaining(["CHANGELOG.md", "SKILL.md", "docs/ci.md", "docs/fields.md"]));
    expect(pages.flatMap((page) => lostLinks(packageFolder(), page).map((link) => `${page}: ${link}`))).toEqual([]);
    const texts = pages.map((page) => readFileSync(join(packageFolder(), page), "utf8")).join("\n");
    expect(texts).not.toMatch(/npm (?:install|i|add)(?: -\S+)* skillflow\b/);
  });

  it("has schemas that can be imported, and the name of its MCP server in registries", () => {
    write({
      "schema.mjs": `
        import { createRequire } from "node:module";
        const require = createRequire(import.meta.url);
        const { mcpName } = require("skillflow/package.json");
        const { name } = require("skillflow/package.json").name && JSON.parse(require("node:fs").readFileSync("node_modules/skillflow/server.json", "utf8"));
        const imported = (await import("skillflow/schemas/workflow.json", { with: { type: "json" } })).default;
        console.log(JSON.stringify([mcpName === name, imported.type, require("skillflow/schemas/record.json").$schema]));`,
    });
    expect(JSON.parse(outputOf(["--no-warnings", "schema.mjs"]))).toEqual([
      true,
      "object",
      "https://json-schema.org/draft/2020-12/schema",
    ]);
  });

  it("contains the licences of all bundled packages", () => {
    const licences = readFileSync(join(packageFolder(), "dist", "LICENSES.txt"), "utf8");
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const bundled = Object.entries(devDependencies).filter(([name]) => usedBySource().has(name));
    expect(bundled.length).toBeGreaterThan(15);
    for (const [name, version] of bundled) expect(licences, name).toContain(`${name} ${version}\n`);
    expect(licences).not.toMatch(/Licence: undefined/);
  });

  it("has types that depend on Node's alone, at any strictness", () => {
    write({
      "types/use.ts": `
        import { defineSkill, openInside, openProject, resolveSkills, type Diagnostic, type Skill } from "skillflow";
        import { startLoopback, toolContext } from "skillflow/testing";
        export const skill: Skill = defineSkill({ id: "a", name: "A", description: "Does a.", category: "general", config: {}, tools: [] });
        export const known: Diagnostic["code"] = "SELF_LOOP";
        // @ts-expect-error: no finding has this code
        export const unknown: Diagnostic["code"] = "SELF_LOOPS";
        export const service = startLoopback((request, response) => void response.end(request.body));
        export const used = [openInside, openProject, resolveSkills, toolContext()];`,
      "types/tsconfig.json": {
        compilerOptions: {
          ...{ module: "NodeNext", target: "ES2023", strict: true, skipLibCheck: false, noEmit: true },
          ...{ typeRoots: [join(ROOT, "node_modules", "@types")], types: ["node"] },
        },
        files: ["use.ts"],
      },
      "types/package.json": { type: "module" },
    });
    const tsc = [join(ROOT, "node_modules", "typescript", "bin", "tsc"), "--singleThreaded", "-p", "types"];
    expect(outputOf(tsc)).toBe("");
    const declarations = installed.files.filter((path) => path.endsWith(".d.ts"));
    const named = declarations.flatMap((path) => {
      const text = readFileSync(join(packageFolder(), path), "utf8");
      return [...text.matchAll(/(?:from |import\()"((?!node:)[^."][^"]*)"/g)].map((match) => match[1]);
    });
    expect([...new Set(named)]).toEqual(["zod"]);
  });
});

function packageFolder(): string {
  return join(installed.project, "node_modules", "skillflow");
}

/** Disk blocks, in kilobytes. */
function blocksOf(path: string): number {
  const stats = lstatSync(path);
  const inner = stats.isDirectory() ? readdirSync(path).map((name) => blocksOf(join(path, name))) : [];
  return inner.reduce((sum, blocks) => sum + blocks, stats.blocks / 2);
}

/** The packages that the program's sources import at run time. */
function usedBySource(): ReadonlySet<string> {
  const files = ["src", "skills"].flatMap((folder) => {
    const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".ts")).map((name) => readFileSync(join(ROOT, folder, name), "utf8"));
  });
  const imports = /^import (?!type\b)[^;]*?from "([^".][^"]*)"|(?<!typeof )\bimport\("([^".][^"]*)"\)/gm;
  const targets = files.flatMap((text) => [...text.matchAll(imports)].map((match) => match[1] ?? match[2] ?? ""));
  return new Set(targets.map((target) => /^(?:@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? ""));
}

function outputOf(args: readonly string[]): string {
  try {
    return execFileSync(process.execPath, args, { cwd: installed.project, encoding: "utf8" });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

/** One call of each skill: its tool, its input, and the place of its service. */
async function skillCalls(): Promise<readonly SkillCall[]> {
  const [onSlack, onSentry, rows, mail] = await Promise.all([
    start(slack.startSlack()),
    start(sentry.startSentry(() => (sentry.hasContract ? undefined : { body: [PROJECT] }))),
    start(startLoopback(answerRows)),
    start(startMail()),
  ]);
  const special: SkillCall[] = [
    {
      tool: "slack_send_message",
      input: { text: "Checkout is down" },
      env: { SLACK_WEBHOOK_URL: `${onSlack.url}${slack.WEBHOOK_PATH}` },
    },
    { tool: "sentry_list_projects", input: {}, env: sentry.vendor.env(`${onSentry.url}/`) },
    { tool: "http_check", input: { urls: [rows.url] }, env: { HTTP_HOSTS: new URL(rows.url).host } },
    {
      tool: "supabase_query",
      input: { table: "incidents" },
      env: { SUPABASE_URL: rows.url, SUPABASE_SERVICE_ROLE_KEY: "sb_secret_canary", SUPABASE_TABLES: "incidents" },
    },
    {
      tool: "notification_send",
      input: { channels: ["email"], title: "Checkout is down", text: "5xx since 08:00." },
      env: {
        SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
        NOTIFICATION_EMAIL_FROM: "bot@example.com",
        NOTIFICATION_EMAIL_TO: "ops@example.com",
      },
    },
    { tool: "logs_search", input: { files: "*.log", contains: "ERROR" }, env: {} },
    { tool: "git_log", input: {}, env: {} },
    ...(await databaseCalls()),
  ];
  const others = [...ANSWERING].filter(([id]) => !special.some(({ tool }) => tool.startsWith(`${id}_`)));
  const calls = others.map(
    async ([
      id,
      {
        start: startService,
        env,
        asked: [tool, input],
      },
    ]) => {
      const { url } = await start(startService());
      return { tool: `${id}_${tool}`, input, env: env(url) };
    },
  );
  return [...special, ...(await Promise.all(calls))];
}

const PROJECT = { slug: "shop", name: "Shop", teams: [] };

const sayHello = () => ({ text: "Hello there." });

interface SkillCall {
  readonly tool: string;
  readonly input: object;
  readonly env: Readonly<Record<string, string>>;
}

const answerRows: LoopbackHandler = (_request, response) =>
  sendJson(response, 200, [{ id: 1, title: "Checkout is down" }], { "content-range": "0-0/1" });

function flow(skills: readonly string[], more: object = {}): string {
  const nodes = { a: { name: "A", instruction: "Use everything.", skills } };
  return JSON.stringify({ id: "w", name: "W", entry: "a", nodes, edges: [], ...more });
}

/** A contract whose function is TypeScript, which may reach the host if one is given. */
function codeSkill(name: string, host?: string): Readonly<Record<string, string>> {
  const input = "{ type: object, properties: { url: { type: string } } }";
  const file = host === undefined ? "mjs" : "ts";
  return {
    [`skills/web-${name}/contract.yml`]: `id: web.${name}\nversion: 1.0.0\ndescription: Does.\ninput: ${input}\noutput: { type: object }\n`,
    [`skills/web-${name}/binding.yml`]: `function: ./${name}.${file}#${name}\n${host === undefined ? "" : `network: ["${host}"]\n`}`,
    [`skills/web-${name}/${name}.ts`]: `export async function ${name}({ url }: { url: string }) { return { told: await (await fetch(url)).text() }; }\n`,
  };
}

/** Returns the result of a tool in a run whose model calls it once. */
async function callIn(file: string, tool: string, input: object, env: Readonly<Record<string, string>> = {}) {
  write({ "call.json": { replies: [{ calls: [{ tool, input }] }, { text: "Done." }] } });
  const trust = ["own", "mine", "web.get", "web.add"].flatMap((id) => ["--trust-skill", id]);
  const { code, stdout, stderr } = await run(["run", file, "--model", "script:call.json", "--stream", ...trust], env);
  expect(code, stderr).toBe(0);
  const result = eventsOf(stdout).find((event) => event.type === "tool:result");
  return result?.error ?? result?.output;
}

/** Calls of a database, if this machine has one. */
async function databaseCalls(): Promise<readonly SkillCall[]> {
  if (whyNoPostgres()) return [];
  const { url = "", stop } = await startPostgres({ listens: true });
  await start(Promise.resolve({ close: stop }));
  return [{ tool: "postgres_query", input: { sql: "SELECT 1" }, env: { POSTGRES_URL: url } }];
}

describe("an installed program", () => {
  it("runs every skill", async () => {
    const calls = await skillCalls();
    const skills = calls.map(({ tool }) => tool.slice(0, tool.indexOf("_")));
    const unanswered = [...VENDORS.keys()].filter((id) => id !== "sentry" && !ANSWERING.has(id));
    const lacking = new Set([...unanswered, ...(whyNoPostgres() ? ["postgres"] : [])]);
    const present = readdirSync(join(packageFolder(), "dist", "skills"));
    expect([...skills].sort()).toEqual(present.filter((id) => !lacking.has(id)).sort());
    write({
      "all.json": flow(skills),
      "all.log": "2026-01-31 08:00:00 ERROR pay failed\n",
      "all-replies.json": {
        replies: [{ calls: calls.map(({ tool, input }) => ({ tool, input })) }, { text: "Done." }],
      },
    });
    makeRepository(installed.project);
    const args = ["run", "all.json", "--model", "script:all-replies.json", "--writes", "allow", "--stream"];
    const { code, stdout, stderr } = await run(args, Object.assign({}, ...calls.map(({ env }) => env)));
    expect(code, stderr + stdout).toBe(0);
    const results = eventsOf(stdout).flatMap((event) => (event.type === "tool:result" ? [event] : []));
    expect(results.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(results).toHaveLength(calls.length);
  });

  it.each([
    ["anthropic", () => startAnthropic(sayHello), "ANTHROPIC"],
    ["openai", () => startOpenai(sayHello), "OPENAI"],
    ["openai-compatible", () => startChat(sayHello), "OPENAI"],
  ] as const)("calls a model of %s, offline too", async (provider, startService, prefix) => {
    const service = await start<ModelService>(startService());
    write({ "hello.json": flow([]) });
    const env = { [`${prefix}_API_KEY`]: "sk-test-0123456789", [`${prefix}_BASE_URL`]: service.url };
    const args = ["run", "hello.json", "--model", `${provider}:some-model`, "--json"];
    for (const more of LONG ? [[], ["--offline"]] : [["--offline"]]) {
      const { code, stdout, stderr } = await run([...args, ...more], env);
      expect(code, stderr).toBe(0);
      expect(stdout).toContain("Hello there.");
      expect(service.bodies.length).toBeGreaterThan(0);
    }
  });

  it("replays its recording, and draws it", async () => {
    write({ "once.json": flow([]), "once-replies.json": { replies: [{ text: "Said once." }] } });
    const first = await run(["run", "once.json", "--model", "script:once-replies.json", "--run-id", "once", "--json"]);
    expect(first.code, first.stderr).toBe(0);
    const again = await run(["replay", "once", "--json"]);
    expect(again.code, again.stderr).toBe(0);
    expect(again.stdout).toContain("Said once.");
    const drawn = await run(["graph", "once", "--format", "svg"]);
    expect(drawn.stdout, drawn.stderr).toContain("<svg");
  });

  it("connects to itself over MCP, as server and as client", async () => {
    const bin = join(packageFolder(), "dist", "bin.js");
    const skills = { own: { name: "Own", mcp: { command: process.execPath, args: [bin, "mcp"] } } };
    const input = { files: "own.log", contains: "ERROR" };
    write({ "own.json": flow(["own"], { skills }), "own.log": "2026-01-31 08:00:00 ERROR pay failed\n" });
    expect(JSON.stringify(await callIn("own.json", "own_logs_search", input))).toContain("pay failed");
  });

  it("runs users' own TypeScript, with the bundled zod", async () => {
    write({
      "skills/mine/skill.ts": `
        import { defineSkill, defineTool } from "skillflow";
        import * as z from "zod";
        const input_schema = z.object({ who: z.string() });
        const greet = defineTool({ name: "greet", description: "Greets.", effect: "read", input_schema, handler: ({ who }) => ({ said: "Hi " + who }) });
        export default defineSkill({ id: "mine", name: "Mine", description: "Greets.", category: "general", config: {}, tools: [greet] });`,
      "mine.json": flow(["mine"]),
    });
    expect(await callIn("mine.json", "mine_greet", { who: "Ada" })).toEqual({ said: "Hi Ada" });
  });

  it.skipIf(!isSandboxed)("runs TypeScript in the sandbox, which reaches the hosts that it declares", async () => {
    const service = await start(startLoopback((_request, response) => void response.end("hello")));
    write({ ...codeSkill("get", new URL(service.url).host), "get.json": flow(["web.get"]) });
    expect(await callIn("get.json", "web_get", { url: service.url })).toEqual({ told: "hello" });
  });

  it("runs JavaScript in an interpreter if no sandbox works", async () => {
    write({
      ...codeSkill("add"),
      "skills/web-add/add.mjs": "export const add = ({ url }) => ({ told: url + '!' });\n",
      "elsewhere.mjs": `Object.defineProperty(process, "platform", { value: "sunos" });`,
      "add.json": flow(["web.add"]),
    });
    const env = { NODE_OPTIONS: "--import ./elsewhere.mjs" };
    expect(await callIn("add.json", "web_add", { url: "a" }, env)).toEqual({ told: "a!" });
  });

  it("reports its own errors to Sentry", async () => {
    const ingest = await start(startLoopback((_request, response) => sendJson(response, 200, { id: "0" })));
    write({
      "broken.mjs": `
        import fs from "node:fs";
        import { syncBuiltinESMExports } from "node:module";
        fs.readdirSync = () => { throw new Error("no folders"); };
        syncBuiltinESMExports();`,
    });
    const dsn = ingest.url.replace("//", "//publickey@").concat("/42");
    const { code } = await run(["skills", "list"], { SENTRY_DSN: dsn, NODE_OPTIONS: "--import ./broken.mjs" });
    expect(code).toBe(4);
    expect(ingest.requests).toHaveLength(1);
  });
});

function eventsOf(stdout: string): readonly RunEvent[] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as RunEvent);
}

function makeRepository(cwd: string): void {
  const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
  for (const args of [
    ["init", "-q"],
    ["commit", "-q", "--allow-empty", "-m", "Begin"],
  ])
    execFileSync("git", [...who, ...args], { cwd });
}
