import { mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import type { Loopback } from "../../src/testing.ts";
import { scriptOf } from "../cli/flows.ts";
import { runInside } from "../cli/inside.ts";
import { makeProject, readEvents, resultOf, runProgram } from "../cli/program.ts";
import { hasTerminal, runOnTerminal } from "../cli/pseudo-terminal.ts";
import { oneOf } from "../harness/long.ts";
import { httpServer } from "../services/mcp.ts";

const it = oneOf(4);

/**
 * A checkout names MCP servers in every place that can name one. No command starts or contacts them before the operator
 * trusts them.
 */

const SECRET = "canary-of-the-operator";
const env = { AWS_SECRET_ACCESS_KEY: SECRET };
const MODEL = ["--model", "script:script.json"];

let http: Loopback;
beforeAll(async () => {
  http = await httpServer({});
});
afterAll(() => http.close());

/** A program that leaves a mark and ends. */
const command = (mark: string) => ({
  command: "node",
  args: ["-e", `require("fs").writeFileSync("ran-${mark}", process.env.AWS_SECRET_ACCESS_KEY ?? "")`],
  env: { AWS_SECRET_ACCESS_KEY: "wanted" },
});
const address = () => ({
  url: `${http.url}/mcp`,
  headers: { Authorization: "Bearer ${AWS_SECRET_ACCESS_KEY}", "X-Plain": "plain" },
  env: { AWS_SECRET_ACCESS_KEY: "wanted" },
});

const CONTRACT = {
  version: "1.0.0",
  description: "Looks.",
  input: { type: "object" },
  output: { type: "object" },
};
const skillMd = (name: string, mcp: object) =>
  `---\nname: ${name}\ndescription: d\nmcp: ${JSON.stringify(mcp)}\n---\nAsk.`;

/** Every place that can name a server, by the skill's id. */
const IDS = ["md-run", "md-ask", "yml-run", "yml-ask", "own-run", "own-ask", "bound-run", "bound-ask", "bound-agent"];

function checkout(): string {
  return makeProject({
    ".git/HEAD": "ref: refs/heads/main\n",
    "flow.yml": {
      id: "flow",
      name: "Flow",
      entry: "only",
      skills: { "own-run": { mcp: command("own-run") }, "own-ask": { mcp: address() } },
      nodes: { only: { name: "Only", instruction: "Look around.", skills: [...IDS, "desk"] } },
      edges: [],
    },
    "script.json": scriptOf(
      { node: "only", calls: IDS.map((id) => ({ tool: id.startsWith("bound") ? id : `${id}_look` })) },
      { node: "only", text: "done" },
      { node: "only", text: "done again" },
    ),
    ".skillflow.yml": { mcpServers: { "yml-run": command("yml-run"), "yml-ask": address() } },
    "skills/md-run/SKILL.md": skillMd("md-run", command("md-run")),
    "skills/md-ask/SKILL.md": skillMd("md-ask", address()),
    "skills/bound-run/contract.yml": { id: "bound-run", ...CONTRACT },
    "skills/bound-run/binding.yml": { mcp: { ...command("bound-run"), tool: "look" } },
    "skills/bound-ask/contract.yml": { id: "bound-ask", ...CONTRACT },
    "skills/bound-ask/binding.yml": { mcp: { ...address(), tool: "look" } },
    "skills/bound-agent/contract.yml": { id: "bound-agent", ...CONTRACT },
    "skills/bound-agent/binding.yml": { a2a: { url: `${http.url}/agent` } },
  });
}

const marks = (cwd: string) => readdirSync(cwd).filter((name) => name.startsWith("ran-"));
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } },
};
const ask = (...messages: readonly object[]) => messages.map((message) => `${JSON.stringify(message)}\n`).join("");

describe("a server that a checkout names", () => {
  it("is not started, not contacted and given no variable by any command, and none of its tools is offered", async () => {
    const cwd = checkout();
    const asked = http.requests.length;
    const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "run_flow", arguments: {} } };
    const ended = [
      await runInside(["validate", "flow.yml"], { cwd, env }),
      await runInside(["doctor", "flow.yml", "--live"], { cwd, env }),
      await runInside(["doctor", "--live"], { cwd, env }),
      await runInside(["skills", "list"], { cwd, env }),
      await runInside(["run", "flow.yml", "--dry-run", ...MODEL], { cwd, env }),
      await runProgram(["run", "flow.yml", "--run-id", "r", "--json", ...MODEL], { cwd, env }),
      await runInside(["resume", "r", "--from", "only"], { cwd, env }),
      await runProgram(["replay", "r", "--tools", "live"], { cwd, env }),
      await runInside(["mcp", "flow.yml", ...MODEL], { cwd, env, stdin: ask(INITIALIZE, call) }),
    ];
    for (const { code, stderr } of ended) expect(code, stderr).toBe(0);
    expect(marks(cwd)).toEqual([]);
    expect(http.requests.slice(asked)).toEqual([]);
    expect(JSON.stringify(ended)).not.toContain(SECRET);
    const [only] = readEvents(cwd, "r").filter(({ type }) => type === "tool:result");
    expect(only).toMatchObject({ error: expect.stringMatching(/no tool is named \S+; the available tools are desk_/) });
    const { degraded } = resultOf(ended[5] as (typeof ended)[number]);
    const missing = degraded.filter(({ skill }) => skill !== undefined);
    expect(missing.map(({ skill }) => skill)).toEqual(IDS);
    for (const { skill, reason } of missing) {
      expect(reason).toMatch(new RegExp(`not trusted: --trust-skill ${skill}`));
    }
  });

  it.each<[string, (id: string) => readonly string[], (id: string) => Record<string, string>]>([
    ["the flag", (id) => ["--trust-skill", id], () => ({})],
    ["the variable", () => [], (id) => ({ SKILLFLOW_TRUST_SKILL: id })],
    [
      "the user's own file",
      () => [],
      (id) => ({ HOME: makeProject({ ".config/skillflow/config.yml": `skills: { trust: [${id}] }` }) }),
    ],
  ])("runs once %s names its skill, and no other does", async (_, args, more) => {
    const cwd = checkout();
    await runInside(["run", "flow.yml", ...MODEL, ...args("own-run")], { cwd, env: { ...env, ...more("own-run") } });
    expect(marks(cwd)).toEqual(["ran-own-run"]);
  });

  it.each(["md-ask", "yml-ask", "own-ask", "bound-ask"])("%s is contacted once the operator trusts it", async (id) => {
    const cwd = checkout();
    const asked = http.requests.length;
    const run = id === "md-ask" ? runProgram : runInside;
    const ended = await run(["run", "flow.yml", "--json", ...MODEL, "--trust-skill", id], { cwd, env });
    expect(http.requests[asked]?.headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(resultOf(ended).degraded.map(({ skill }) => skill)).not.toContain(id);
    expect(marks(cwd)).toEqual([]);
  });

  it("that is an A2A agent is contacted once the operator trusts it, and no other is", async () => {
    const cwd = checkout();
    const asked = http.requests.length;
    await runInside(["run", "flow.yml", ...MODEL, "--trust-skill", "bound-agent"], { cwd, env });
    expect(http.requests.slice(asked)).toMatchObject([{ method: "POST", url: "/agent" }]);
    expect(marks(cwd)).toEqual([]);
  });

  it("of a committed run must be trusted too, whatever folder the runs are in", async () => {
    const mine = checkout();
    await runInside(["run", "flow.yml", "--run-id", "r", ...MODEL], { cwd: mine, env });
    const cwd = makeProject({ ".git/HEAD": "", "script.json": scriptOf({ text: "done" }) });
    mkdirSync(join(cwd, "shared"));
    symlinkSync(join(mine, ".skillflow/runs"), join(cwd, "shared/runs"));
    const asked = http.requests.length;
    let told = "";
    for (const args of [
      ["resume", "r", "--from", "only", ...MODEL],
      ["resume", "r", "--from", "only", ...MODEL, "--trust-skill", "own-run"],
      ["replay", "r", "--tools", "live", "--trust-skill", "own-run"],
    ]) {
      told += (await runInside([...args, "--store", "shared/runs"], { cwd, env })).stderr;
    }
    expect(marks(cwd)).toEqual([]);
    expect(http.requests.slice(asked)).toEqual([]);
    const pinned = /--trust-skill\s+(own-run@[0-9a-f]{64})/.exec(told)?.[1] ?? told;
    await runInside(["resume", "r", "--from", "only", "--store", "shared/runs", "--trust-skill", pinned], { cwd, env });
    expect(marks(cwd)).toEqual(["ran-own-run"]);
  });
});

describe("a server of the user's own", () => {
  const flow = (mcp: object) => ({
    id: "flow",
    name: "Flow",
    entry: "only",
    skills: { own: { mcp } },
    nodes: { only: { name: "Only", instruction: "Look around.", skills: ["own"] } },
    edges: [],
  });
  const script = { "script.json": scriptOf({ text: "done" }), ".git/HEAD": "" };

  it("needs no trust in a workflow of the user's own folders", async () => {
    const HOME = makeProject({
      ".config/skillflow/flow.yml": flow(command("config")),
      ".skillflow/workflows/flow.yml": flow(command("dotted")),
    });
    const cwd = makeProject(script);
    for (const file of [".config/skillflow/flow.yml", ".skillflow/workflows/flow.yml"]) {
      await runInside(["run", join(HOME, file), ...MODEL], { cwd, env: { HOME } });
    }
    expect(marks(cwd)).toEqual(["ran-config", "ran-dotted"]);
  });

  it.each<[string, (home: string) => string]>([
    ["elsewhere in the home directory", (home) => join(home, "downloads/flow.yml")],
    ["behind a link in the user's folder", (home) => join(home, ".skillflow/linked/flow.yml")],
    ["in another checkout", (home) => join(home, "src/other/flow.yml")],
    ["in a checkout that lies in the user's folder", (home) => join(home, ".claude/plugins/other/flow.yml")],
  ])("does not count as the user's own %s", async (_, place) => {
    const HOME = makeProject({
      "downloads/flow.yml": flow(command("own")),
      "src/other/flow.yml": flow(command("own")),
      "src/other/.git/HEAD": "",
      ".claude/plugins/other/flow.yml": flow(command("own")),
      ".claude/plugins/other/.git/HEAD": "",
      ".skillflow/keep": "",
    });
    symlinkSync(join(HOME, "downloads"), join(HOME, ".skillflow/linked"));
    const cwd = makeProject(script);
    const ended = await runInside(["run", place(HOME), ...MODEL], { cwd, env: { HOME } });
    expect(marks(cwd)).toEqual([]);
    expect(ended.stderr).toContain("--trust-skill own");
  });

  it("does not count as the user's own if the home directory is the checkout itself", async () => {
    const cwd = makeProject({ ...script, ".skillflow/flow.yml": flow(command("own")) });
    await runInside(["run", ".skillflow/flow.yml", ...MODEL], { cwd, env: { HOME: cwd } });
    expect(marks(cwd)).toEqual([]);
  });
});

describe("a dry run", () => {
  it("connects no server, not even a trusted one, and reports whose tools it leaves out", async () => {
    const cwd = checkout();
    const asked = http.requests.length;
    const trusting = { ...env, SKILLFLOW_TRUST_SKILL: IDS.join(",") };
    for (const args of [["--dry-run"], ["--input", '{"dryRun":true}']]) {
      const ended = await runInside(["run", "flow.yml", ...args, "--json", ...MODEL], { cwd, env: trusting });
      expect(ended.code, ended.stderr).toBe(0);
      for (const id of IDS) expect(ended.stderr).toMatch(new RegExp(`${id} \\(.*a dry run`));
      expect(resultOf(ended).results.only?.toolCalls.map(({ error }) => error ?? "")).not.toContain("");
    }
    expect(marks(cwd)).toEqual([]);
    expect(http.requests.slice(asked)).toEqual([]);
  });
});

describe("on a terminal", () => {
  const files = {
    ".git/HEAD": "",
    "serve.cjs": 'require("fs").writeFileSync("ran-served", "");',
    "script.json": scriptOf({ node: "only", text: "done" }),
    "flow.yml": {
      id: "flow",
      name: "Flow",
      entry: "only",
      skills: { served: { mcp: { command: "node", args: ["./serve.cjs"], env: { TOKEN: "t" } } } },
      nodes: { only: { name: "Only", instruction: "Look around.", skills: ["served", "desk"] } },
      edges: [],
    },
  };
  const RUN = ["run", "flow.yml", ...MODEL];

  const answer = (
    answers: readonly string[],
    cwd: string,
    env: Record<string, string>,
    args: readonly string[] = RUN,
  ) => runInside(args, { cwd: realpathSync(cwd), env, isTerminal: true, answers });

  it.skipIf(!hasTerminal)("a run asks about the workflow's own server and shows it (python3 makes one)", async () => {
    const cwd = makeProject(files);
    const asked = await runOnTerminal(RUN, ["y\n"], { cwd, env: { HOME: makeProject({ ".keep": "" }) } });
    expect(asked.stdout).toContain("runs command node ./serve.cjs");
    expect(asked.stdout).toContain("passes TOKEN to it");
    expect(marks(cwd)).toEqual(["ran-served"]);
  });

  it("a yes counts until what the server names changes", async () => {
    const cwd = makeProject(files);
    const env = { HOME: makeProject({ ".keep": "" }) };
    expect((await answer(["y"], cwd, env)).stderr).toContain("[y/N]");
    expect(marks(cwd)).toEqual(["ran-served"]);
    expect((await answer([], cwd, env)).stderr).not.toContain("[y/N]");
    writeFileSync(join(cwd, "serve.cjs"), "// changed\n");
    expect((await answer(["n"], cwd, env)).stderr).toContain("[y/N]");
  });

  it("another server under the same id needs a new answer", async () => {
    const cwd = makeProject(files);
    const env = { HOME: makeProject({ ".keep": "" }) };
    await answer(["y"], cwd, env);
    const other = JSON.stringify(files["flow.yml"]).replace('"TOKEN":"t"', '"OTHER":"t"');
    writeFileSync(join(cwd, "flow.yml"), other);
    expect((await answer(["n"], cwd, env)).stderr).toContain("[y/N]");
  });

  it.each<[string, readonly string[], Record<string, string>]>([
    ["in CI", RUN, { CI: "1" }],
    ["by a replay", ["replay", "r", "--tools", "live"], {}],
    ["by doctor", ["doctor", "flow.yml", "--live"], {}],
  ])("asks nothing %s", async (_, args, more) => {
    const cwd = makeProject(files);
    const HOME = makeProject({ ".keep": "" });
    if (args.includes("r")) await runInside([...RUN, "--run-id", "r"], { cwd });
    const { stdout, stderr } = await answer(["y"], cwd, { HOME, ...more }, args);
    expect(stdout + stderr).not.toContain("[y/N]");
    expect(marks(cwd)).toEqual([]);
  });
});
