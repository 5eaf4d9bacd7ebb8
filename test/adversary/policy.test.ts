import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { invokeSkill } from "../../src/app/calls/call-skill.ts";
import { createProject } from "../../src/app/library/project.ts";
import { openWorkspace } from "../../src/app/workspace.ts";
import { forbidsSkill } from "../../src/core/document/policy.ts";
import { openService } from "../../src/protocol/skills-protocol/service.ts";
import { memoryBlobs } from "../../src/stores/blobs.ts";
import { FLOW, WORKING } from "../cli/flows.ts";
import { runInside } from "../cli/inside.ts";
import { makeProject, readEvents, resultOf, runFile } from "../cli/program.ts";

/** Attempts to loosen a policy through every setting that it bounds. */

type Files = Readonly<Record<string, unknown>>;
const MODEL = ["--model", "script:script.json"];
const RUN = ["run", "flow.yml", "--run-id", "r", "--json"];
const SCRIPT = { replies: [...WORKING.replies, ...WORKING.replies] };
const project = (files: Files = {}) =>
  makeProject({ ".git/HEAD": "", "flow.yml": FLOW, "script.json": SCRIPT, ...files });
const policyAt = (policy: unknown) => join(makeProject({ "policy.yml": policy }), "policy.yml");
const under = (policy: unknown, more = {}) => ({ SKILLFLOW_POLICY: policyAt(policy), ...more });
const posts = (cwd: string) => existsSync(join(cwd, "posts.txt"));
const settingsOf = (cwd: string) => JSON.parse(readFileSync(runFile(cwd, "r"), "utf8").split("\n")[0] ?? "").settings;
const home = (config: object) => ({ HOME: makeProject({ ".config/skillflow/config.yml": config }) });

describe("writes and limits", () => {
  const loose = "writes: allow\nlimits: { max_steps: 100, timeout: 2h }\n";
  it.each<[string, readonly string[], Files, Record<string, string>]>([
    ["nothing", [], {}, {}],
    ["flags", ["--writes", "allow", "--max-steps", "100", "--timeout", "2h"], {}, {}],
    ["variables", [], {}, { SKILLFLOW_WRITES: "allow", SKILLFLOW_MAX_STEPS: "100", SKILLFLOW_TIMEOUT: "2h" }],
    ["the project's file", [], { ".skillflow.yml": loose }, {}],
    ["the user's file", [], {}, home({ writes: "allow", limits: { max_steps: 100 } })],
    ["the workflow", [], { "flow.yml": `${FLOW}${loose}` }, {}],
  ])("are not loosened by %s", async (_, args, files, more) => {
    const cwd = project(files);
    const env = under("writes: deny\nlimits: { max_steps: 9, timeout: 1h }\n", more);
    const ended = await runInside([...RUN, ...MODEL, ...args], { cwd, env });
    expect(posts(cwd), ended.stderr).toBe(false);
    expect(settingsOf(cwd)).toMatchObject({ writes: "deny", limits: { max_steps: 9, timeout_ms: 3_600_000 } });
    expect(ended.stderr).toMatch(
      /the policy \S+policy\.yml limits this run: writes deny instead of allow, max_steps 9 instead of \d+/,
    );
    if (args.length > 0) expect(ended.stderr).toContain(", timeout 1h instead of 2h");
  });

  it("apply to a run that resumes, to its approvals, and to a recording that is replayed with live tools", async () => {
    const cwd = project();
    await runInside([...RUN, ...MODEL], { cwd });
    writeFileSync(join(cwd, "posts.txt"), "");
    const env = under("writes: deny\nlimits: { max_steps: 50 }\n");
    const resumed = await runInside(["resume", "r", "--from", "look", "--writes", "allow"], { cwd, env });
    expect(resumed.stderr).toMatch(/limits this run: writes deny instead of allow, max_steps 50 instead of 200/);
    await runInside(["replay", "r", "--tools", "live"], { cwd, env });
    expect(readFileSync(join(cwd, "posts.txt"), "utf8")).toBe("");
    expect(readEvents(cwd, "r").findLast(({ type }) => type === "run:resume")).toMatchObject({
      settings: { writes: "deny", limits: { max_steps: 50 } },
    });
  });

  it("apply to a plan that is applied", async () => {
    const cwd = project();
    await runInside([...RUN, ...MODEL, "--writes", "plan"], { cwd });
    const env = under("writes: deny");
    const ended = await runInside(["apply", "r", "--yes"], { cwd, env });
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(env.SKILLFLOW_POLICY)]);
    const asked = await runInside(["apply", "r"], { cwd, env });
    expect([asked.code, asked.stderr]).toEqual([2, expect.not.stringContaining("desk_post")]);
    expect(posts(cwd)).toBe(false);
    const applied = await runInside(["apply", "r", "--yes"], { cwd, env: under("writes: plan") });
    expect([applied.code, posts(cwd)]).toEqual([0, true]);
  });

  it("apply to the tools that an MCP client is offered", async () => {
    const cwd = project();
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } };
    const messages = [
      { id: 1, method: "initialize", params },
      { id: 2, method: "tools/call", params: { name: "desk_post", arguments: { text: "b" } } },
      { id: 3, method: "tools/list" },
    ];
    const stdin = messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join("");
    const { stdout } = await runInside(["mcp", "--writes", "allow"], { cwd, stdin, env: under("writes: plan") });
    expect(stdout).toContain('"desk_look"');
    expect(stdout.split("\n").at(-2)).not.toContain('"desk_post"');
    expect(posts(cwd)).toBe(false);
  });
});

describe("models", () => {
  const env = under("models: [openai-compatible:good-*]", {
    OPENAI_API_KEY: "k",
    OPENAI_BASE_URL: "http://127.0.0.1:9",
  });
  const KEYLESS = { OPENAI_API_KEY: "", OPENAI_BASE_URL: "" };
  const node = (field: string) => FLOW.replace("    name: Post", `    ${field}\n    name: Post`);
  it.each<[string, readonly string[], Files, Record<string, string>]>([
    ["a flag", MODEL, {}, {}],
    ["a variable", [], {}, { SKILLFLOW_MODEL: "script:script.json" }],
    ["the project's file", [], { ".skillflow.yml": "model: openai:gpt-5" }, {}],
    ["the user's file", [], {}, home({ model: "openai:gpt-5" })],
    ["a flag without the model's key", ["--model", "anthropic:a"], {}, KEYLESS],
    ["a list without keys", ["--model", "openai-compatible:good-1,openai:gpt-5"], {}, KEYLESS],
    ["the workflow", ["--model", "openai-compatible:good-1"], { "flow.yml": `${FLOW}model: openai:gpt-5\n` }, {}],
    ["a node", ["--model", "openai-compatible:good-1"], { "flow.yml": node("model: bad") }, {}],
    [
      "a judge",
      ["--model", "openai-compatible:good-1"],
      { "flow.yml": node("eval: [{ name: e, kind: judge, rubric: fine, model: bad }]") },
      {},
    ],
  ])("are not chosen by %s", async (_, args, files, more) => {
    const cwd = project(files);
    const ended = await runInside([...RUN, ...args], { cwd, env: { ...env, ...more } });
    expect(ended.code, ended.stderr).toBe(2);
    expect(ended.stderr).toMatch(/the policy \S+policy\.yml does not allow the model/);
    expect(existsSync(runFile(cwd, "r"))).toBe(false);
  });

  it("are not chosen by a record", async () => {
    const cwd = project();
    await runInside([...RUN, ...MODEL], { cwd });
    const resumed = await runInside(["resume", "r", "--from", "look"], { cwd, env });
    expect([resumed.code, resumed.stderr]).toEqual([2, expect.stringMatching(/does not allow the model script:/)]);
    expect((await runInside(["replay", "r"], { cwd, env })).code).toBe(0);
  });

  it("are not chosen by listen.yml", async () => {
    const listen = { model: "openai:gpt-5", sources: { in: { kind: "generic", secret: "S", workflow: "flow.yml" } } };
    const cwd = project({ "listen.yml": listen });
    const ended = await runInside(["listen", "--port", "0"], {
      cwd,
      env: { ...env, S: "0123456789abcdef0123456789abcdef" },
    });
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(/does not allow the model openai:gpt-5/)]);
  });
});

describe("skills and servers", () => {
  const state = async (cwd: string, id: string, env: Record<string, string>, args: readonly string[] = []) => {
    const { stdout } = await runInside(["doctor", "--json", ...args], { cwd, env });
    const { cause, reason } = JSON.parse(stdout).skills.find((each: { id: string }) => each.id === id);
    return { cause, reason };
  };
  const barred = { cause: "policy", reason: expect.stringMatching(/^policy: \S+policy\.yml does not allow it/) };
  const code =
    'import { writeFileSync } from "node:fs"; writeFileSync("ran.txt", ""); export default { id: "plug", name: "P", description: "d", category: "general", config: {}, tools: [] };';

  it("that are not allowed are unavailable, and their code does not run", async () => {
    const cwd = project({ ".claude/skills/plug/skill.js": code });
    const env = under("skills: { allow: [desk, 'prom*'] }");
    expect(await state(cwd, "plug", env, ["--trust-skill", "plug"])).toEqual(barred);
    expect(existsSync(join(cwd, "ran.txt"))).toBe(false);
    expect(await state(cwd, "logs", env)).toEqual(barred);
    expect((await state(cwd, "prometheus", env)).cause).toBe("config_missing");
    const ended = await runInside([...RUN, ...MODEL, "--add-skill", "look=logs"], { cwd, env });
    expect(resultOf(ended).degraded).toMatchObject([{ skill: "logs", reason: barred.reason }]);
  });

  it.each<[string, Files, readonly string[]]>([
    ["the project's file", { ".skillflow.yml": { mcpServers: { docs: { url: "http://127.0.0.1:9/mcp" } } } }, ["docs"]],
    [
      "a workflow",
      {
        "flow.yml": `${FLOW}skills: { docs: { mcp: { url: "http://127.0.0.1:9/mcp" } } }\n`.replace("[desk]", "[docs]"),
      },
      ["docs"],
    ],
  ])("are not added by %s", async (_, files, [id = ""]) => {
    const cwd = project(files);
    const args = files["flow.yml"] ? ["flow.yml"] : [];
    const trusted = ["--trust-skill", id, ...args];
    expect(await state(cwd, id, under("mcp_servers: { allow: [other] }"), trusted)).toEqual(barred);
    expect(await state(cwd, id, under("skills: { allow: [desk] }"), trusted)).toEqual(barred);
    for (const allow of [["docs"], ["http://127.0.0.1:9/*"]])
      expect(
        (await state(cwd, id, under({ skills: { allow: ["desk"] }, mcp_servers: { allow } }), trusted)).cause,
      ).not.toBe("policy");
  });

  it.each([
    ["https://a.good.test/mcp", true],
    ["https://a.b.good.test/", true],
    ["https://evil.test/.good.test/mcp", false],
    ["https://evil.test?.good.test/mcp", false],
    ["https://evil.test#.good.test/mcp", false],
    ["https://evil.test\\.good.test/mcp", false],
    ["https://x.good.test@evil.test/.good.test/mcp", false],
    ["HTTPS://evil.test/.good.test/mcp", false],
  ])("are not added by a URL that only looks like an allowed one: %s", (url, isAllowed) => {
    const policies = [{ path: "p", policy: { mcp_servers: { allow: ["https://*.good.test/*"] } } }];
    expect(forbidsSkill(policies, { id: "docs", server: { url }, isServer: true }) === undefined).toBe(isAllowed);
  });

  it.each([
    ["https://hub.test/team-a/mcp", true],
    ["https://hub.test/team-a/mcp..v2/.well-known?a=../b", true],
    ["https://hub.test/team-a/mcp?root=/srv/../data#/..", true],
    ["https://hub.test/team-a/../team-b/mcp", false],
    ["https://hub.test/team-a/%2E%2e/team-b/mcp", false],
    ["https://hub.test/team-a/.%2e/team-b/mcp", false],
    ["https://hub.test/team-a/..", false],
    ["https://hub.test/team-a/.\t./team-b/mcp", false],
    ["https://hub.test/team-a/..\\team-b/mcp", false],
  ])("the path of %s is allowed: %s", (url, isAllowed) => {
    const policies = [{ path: "p", policy: { mcp_servers: { allow: ["https://hub.test/team-a/*"] } } }];
    const forbidden = forbidsSkill(policies, { id: "x", server: { url }, isServer: true });
    expect(forbidden === undefined).toBe(isAllowed);
  });

  it("need a lock if the policy requires it", async () => {
    const cwd = project({
      "flow.yml": `${FLOW}skills: { docs: { mcp: { url: "http://127.0.0.1:9/mcp" } } }\n`.replace("[desk]", "[docs]"),
    });
    const ended = await runInside([...RUN, ...MODEL, "--trust-skill", "docs"], {
      cwd,
      env: under("require_frozen: true"),
    });
    expect([ended.code, ended.stderr]).toEqual([3, expect.stringMatching(/there is no skillflow\.lock/)]);
  });
});

describe("the policy itself", () => {
  it.each<[string, unknown, RegExp]>([
    ["is missing", undefined, /there is no policy \S+none\.yml, which SKILLFLOW_POLICY names\n {2}create the file/],
    ["has an unknown key", "writess: deny", /writess is not a known setting \(did you mean "writes"\?\)/],
    ["is not YAML", "writes: [", /policy\.yml:1/],
    ["has a wrong value", "skills: { allow: logs }", /skills\.allow/],
  ])("stops every command if it %s", async (_, content, expected) => {
    const cwd = project();
    await runInside([...RUN, ...MODEL], { cwd });
    const SKILLFLOW_POLICY = content === undefined ? join(cwd, "none.yml") : policyAt(content);
    for (const args of [
      RUN,
      ["resume", "r", "--from", "look"],
      ["apply", "r"],
      ["test"],
      ["mcp"],
      ["listen"],
      ["skills", "list"],
    ]) {
      const ended = await runInside(args, { cwd, env: { SKILLFLOW_POLICY } });
      expect([args, ended.code, ended.stderr]).toEqual([args, 2, expect.stringMatching(expected)]);
    }
  });

  it("is not read from a path in a file of variables", async () => {
    const cwd = project({ vars: "SKILLFLOW_POLICY=lax.yml\n", "lax.yml": "writes: allow" });
    const ended = await runInside([...RUN, ...MODEL, "--env-from", "vars"], { cwd, env: under("writes: deny") });
    expect([ended.code, posts(cwd)]).toEqual([2, false]);
  });

  const options = { overrides: new Map(), skillDirs: [], discover: false, store: undefined };
  const hostAt = (cwd: string, more: object) => ({
    ...{ env: {}, cwd, self: { pid: 1, host: "h", started: "" }, isAlive: () => true },
    ...{ execPath: process.execPath, uid: undefined, kill: () => undefined },
    ...more,
  });

  it("is combined with those of the machine and the process, whatever the library's environment names", () => {
    const cwd = project();
    const more = { machinePolicy: policyAt("writes: plan"), namedPolicy: policyAt("writes: deny") };
    const host = hostAt(cwd, { ...more, env: { SKILLFLOW_POLICY: policyAt("writes: allow"), HOME: cwd } });
    const { policies = [] } = openWorkspace(host, options).host;
    expect(policies.map(({ policy }) => policy.writes)).toEqual(["plan", "deny", "allow"]);
    expect(() => openWorkspace({ ...host, machinePolicy: cwd }, options)).toThrow(/cannot be read/);
  });

  it("applies to the skills, models and calls of an embedding program", async () => {
    const cwd = project();
    const host = hostAt(cwd, { machinePolicy: policyAt("writes: plan\nmodels: [own:a]\nskills: { allow: [pen] }") });
    let written = 0;
    const tool = { name: "write", description: "d", effect: "write" as const, input_schema: { type: "object" } };
    const skill = (id: string) => ({
      ...{ id, name: id, description: "d", category: "general" as const, config: {} },
      tools: [{ ...tool, handler: () => ++written }],
    });
    const workspace = openWorkspace(host, { ...options, given: [skill("pen"), skill("other")] });
    expect((await workspace.skills.find("other"))?.unavailable).toMatchObject({ kind: "policy" });
    const call = { skill: "pen", tool: "write", arguments: {} };
    const calling = { timeoutMs: 1000, signal: AbortSignal.timeout(1000), blobs: memoryBlobs() };
    const quiet = () => undefined;
    const loggerFor = () => ({ debug: quiet, info: quiet, warn: quiet });
    expect(await invokeSkill(workspace, call, { ...calling, loggerFor })).toMatchObject({ code: "call.refused" });
    expect(written).toBe(0);
    const own = { provider: "own", reply: () => Promise.reject(new Error("asked")) };
    const library = await createProject(host, { models: { own } });
    const { result } = library.run({ ...parse(FLOW) }, { model: "own:b" });
    await expect(result).rejects.toThrow(/does not allow the model own:b/);
  });

  it("applies to the calls of a client of serve", async () => {
    let called = 0;
    const tool = (effect: "read" | "write") => {
      return { name: effect, description: "d", effect, input_schema: { type: "object" }, handler: () => ++called };
    };
    const skill = (id: string, effect: "read" | "write") => ({
      ...{ id, name: id, description: "d", category: "general" as const, config: {} },
      tools: [tool(effect)],
    });
    const given = [skill("pen", "write"), skill("eye", "read"), skill("other", "read")];
    const env = { SKILLFLOW_POLICY: policyAt("writes: plan\nskills: { allow: [pen, eye] }") };
    const workspace = openWorkspace(hostAt(project(), { env }), { ...options, given });
    const quiet = () => undefined;
    const place = { host: "127.0.0.1", port: 0, token: undefined, onFault: quiet, warn: quiet };
    const service = await openService(workspace, place);
    const call = async (name: string) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "execute_skill", params: { name, args: {} } });
      const headers = { "content-type": "application/json" };
      return JSON.stringify(await (await fetch(`${service.url}/rpc`, { method: "POST", headers, body })).json());
    };
    expect([await call("pen"), await call("other")]).toEqual([
      expect.stringContaining("only reading is allowed here"),
      expect.stringMatching(/policy: \S+policy\.yml does not allow it/),
    ]);
    expect(called).toBe(0);
    expect([await call("eye"), called]).toEqual([expect.stringContaining("completed"), 1]);
    await service.close(0);
  });

  it("is shown by doctor, with its path", async () => {
    const cwd = project();
    const env = under(
      "writes: plan\nmodels: [anthropic:*]\nlimits: { max_cost_usd: 2 }\nskills: { allow: [desk] }\nrequire_frozen: true",
    );
    const { stdout } = await runInside(["doctor"], { cwd, env });
    expect(stdout).toContain(
      `Policy ${env.SKILLFLOW_POLICY}\n  writes: at most plan\n  models: only anthropic:*\n  limits: at most max_cost_usd 2\n  skills: only desk\n`,
    );
    const json = JSON.parse((await runInside(["doctor", "--json"], { cwd, env })).stdout);
    expect(json.policies).toMatchObject([{ path: env.SKILLFLOW_POLICY, writes: "plan", models: ["anthropic:*"] }]);
  });
});
