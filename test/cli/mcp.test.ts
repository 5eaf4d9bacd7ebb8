import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { oneOf } from "../harness/long.ts";
import { type Answers, httpServer, stdioServer } from "../services/mcp.ts";
import { scriptOf } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { pinned } from "./pins.ts";
import { linesOf, makeProject, readEvents, resultOf, runProgram } from "./program.ts";

const it = oneOf(6);

/** MCP servers in runs of the built program. */

const EVERYTHING = join(
  import.meta.dirname,
  "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

const everything = { command: "node", args: [EVERYTHING, "stdio"] };

/** One node with the skill `served`, an MCP server alone. */
function flow(mcp: object, node: object = {}): string {
  return JSON.stringify({
    id: "flow",
    name: "Flow",
    entry: "use",
    skills: { served: { name: "Served", mcp } },
    nodes: { use: { name: "Use", instruction: "Use it.", skills: ["served"], ...node } },
    edges: [],
  });
}

const use = (tool: string, input: object = {}) => ({ calls: [{ tool, input }] });
const WITH_DESK = { skills: ["served", "desk"] };
const done = { text: "done" };
const TRUST = ["--trust-skill", "served"];
const RUN = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r", "--json", ...TRUST];

/** A server that notes each start and the ids of its processes. */
const NOTING: Answers = { start: (_, io) => io.note(`start ${process.pid}`) };

function project(mcp: object, script: object, node: object = {}): string {
  return makeProject({ "flow.yml": flow(mcp, node), "script.json": script });
}

/** A project whose server keeps notes in the file `notes`. */
function notingProject(answers: Answers, script: object, node: object = {}): string {
  const cwd = makeProject({ "script.json": script });
  const mcp = stdioServer({ ...NOTING, ...answers }, join(cwd, "notes"));
  return makeProjectIn(cwd, flow(mcp, node));
}

function makeProjectIn(cwd: string, workflow: string): string {
  writeFileSync(join(cwd, "flow.yml"), workflow);
  return cwd;
}

function pidsOf(cwd: string): number[] {
  return linesOf(cwd, "notes").flatMap((line) => (line.startsWith("start ") ? [Number(line.slice(6))] : []));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync("/proc/self/stat") || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("a skill with an MCP server", () => {
  it("offers its tools to the model, and the trace has them like others", async () => {
    const cwd = project(everything, scriptOf(use("served_echo", { message: "hi" }), done));
    const ended = await runHere(RUN, { cwd });
    expect(ended.code).toBe(0);
    const events = readEvents(cwd, "r").filter(({ type }) => type.startsWith("tool:"));
    expect(events).toMatchObject([
      { type: "tool:call", node: "use", tool: "served_echo", input: { message: "hi" } },
      { type: "tool:result", node: "use", tool: "served_echo", output: "Echo: hi" },
    ]);
    expect(resultOf(ended)).toMatchObject({ degraded: [], trace: { skills: [{ id: "served", available: true }] } });
  });

  it("passes its server the declared variables alone, and their values are redacted", async () => {
    const mcp = { ...everything, env: { SERVED_CODE: "what opens it", ABSENT: "what else" } };
    const cwd = project(mcp, scriptOf(use("served_get-env"), done));
    const ended = await runHere(RUN, { cwd, env: { SERVED_CODE: "canary-0123", OTHER: "canary-4567" } });
    const [result] = readEvents(cwd, "r").filter(({ type }) => type === "tool:result") as { output?: string }[];
    const seen = JSON.parse(String(result?.output));
    expect(Object.keys(seen).sort()).toEqual(["HOME", "PATH", "SERVED_CODE", "TMPDIR"]);
    expect(seen.SERVED_CODE).toBe("[redacted:SERVED_CODE]");
    expect(JSON.stringify(ended) + JSON.stringify(readEvents(cwd, "r"))).not.toContain("canary");
    expect(ended.stderr).toContain("the MCP server of served starts without ABSENT, which is not set");
  });

  it("stops its server when the run ends, and lists its tools once", async () => {
    const cwd = notingProject({}, scriptOf(use("served_look"), use("served_look"), done));
    const ended = await runProgram(RUN, { cwd });
    expect(ended.code).toBe(0);
    expect(pidsOf(cwd)).toHaveLength(1);
    expect(pidsOf(cwd).map(isAlive)).toEqual([false]);
  });

  it.each([
    [{ tools: { allow: ["served_echo", "served_get-sum"] } }, ["served_echo", "served_get-sum"]],
    [{ tools: { allow: ["echo", "get-sum"], deny: ["served_echo"] } }, ["served_get-sum"]],
    [{ effects: "read", tools: { allow: ["served_echo", "served_toggle-simulated-logging"] } }, ["served_echo"]],
  ])("offers what the node allows (%#)", async (node, offered) => {
    const cwd = project(everything, scriptOf(use("served_none"), done), node);
    await runHere(RUN, { cwd });
    const [refused] = readEvents(cwd, "r").filter(({ type }) => type === "tool:result");
    expect(refused).toMatchObject({
      error: `no tool is named served_none; the available tools are ${[...offered, "read_result"].join(", ")}`,
    });
  });

  it.each<[string, object, RegExp]>([
    ["is not there", { command: "no-such-server" }, /no-such-server was not found on the PATH/],
    [
      "dies",
      { command: "node", args: ["-e", "console.error('no licence'); process.exit(1)"] },
      /exit code 1.*no licence/,
    ],
  ])("is left out if its server %s, and the run continues", async (_what, mcp, reason) => {
    const cwd = project(mcp, scriptOf(use("desk_look"), done), WITH_DESK);
    const ended = await runHere(RUN, { cwd });
    expect(ended.code).toBe(0);
    expect(linesOf(cwd, "looks.txt")).toHaveLength(1);
    const expected = { reason: expect.stringMatching(reason) };
    expect(resultOf(ended)).toMatchObject({
      degraded: [{ skill: "served", node: "use", ...expected }],
      trace: {
        skills: [
          { id: "served", available: false, ...expected },
          { id: "desk", available: true },
        ],
      },
    });
    const required = await runHere([...RUN.slice(0, 4), "--require-skills", ...TRUST], { cwd });
    expect(required).toMatchObject({ code: 3, stderr: expect.stringMatching(reason) });
  });

  it("keeps the tools of the built-in skill with the same id if its server is not available", async () => {
    const cwd = makeProject({
      "flow.yml": flow({})
        .replaceAll("served", "desk")
        .replace(/"skills":\{.*?\}\},/, ""),
      "script.json": scriptOf(use("desk_look"), done),
      ".sweny/skills/desk/SKILL.md": "---\nname: desk\nmcp: { url: 'http://127.0.0.1:1/mcp' }\n---\nLook twice.",
    });
    const ended = await runHere([...RUN, "--trust-skill", "desk"], { cwd });
    expect(ended.code, ended.stderr).toBe(0);
    expect(linesOf(cwd, "looks.txt")).toHaveLength(1);
    const reason = expect.stringContaining("its MCP server cannot be used");
    expect(resultOf(ended)).toMatchObject({
      degraded: [{ skill: "desk", reason }],
      trace: { skills: [{ id: "desk", available: true, reason }] },
    });
  });

  it("does not mix its server's output into the program's streams", async () => {
    const loud: Answers = { start: () => void process.stderr.write("LOUD\n"), "tools/call": () => ({ content: [] }) };
    const cwd = notingProject({ ...loud }, scriptOf(use("served_look"), done));
    const { stdout, stderr, code } = await runProgram(RUN, { cwd });
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain("LOUD");
  });

  it("has its tools hidden by those of a skill with the same id and name", async () => {
    const workflow = JSON.parse(flow(stdioServer({})));
    workflow.skills = { desk: workflow.skills.served };
    workflow.nodes.use.skills = ["desk"];
    const cwd = makeProject({
      "flow.yml": workflow,
      "script.json": scriptOf(use("desk_look", { text: "a" }), done),
    });
    const ended = await runHere([...RUN, "--trust-skill", "desk"], { cwd });
    expect(ended.stderr).toContain(
      "the MCP server of desk offers a tool desk_look, which is hidden by the skill's own",
    );
    expect(linesOf(cwd, "looks.txt")).toHaveLength(1);
  });

  it("does not offer a tool that would have the name of one of skillflow's own", async () => {
    const tools = () => ({ tools: [{ name: "skill", description: "Reads.", inputSchema: { type: "object" } }] });
    const workflow = JSON.parse(flow(stdioServer({ "tools/list": tools })));
    workflow.skills = { read: workflow.skills.served };
    workflow.nodes.use.skills = ["read"];
    const cwd = makeProject({ "flow.yml": workflow, "script.json": scriptOf(use("read_skill"), done) });
    const ended = await runHere([...RUN, "--trust-skill", "read"], { cwd });
    expect(ended.stderr).toContain("the MCP server of read offers a tool read_skill, which is left out");
    expect(resultOf(ended).results.use?.toolCalls[0]?.error).toContain("no tool is named read_skill");
  });

  it("does not start its server for a check, a drawing or a replay", async () => {
    const cwd = notingProject({}, scriptOf(use("served_look"), done));
    await runHere(RUN, { cwd });
    expect(pidsOf(cwd)).toHaveLength(1);
    for (const args of [
      ["validate", "flow.yml"],
      ["graph", "flow.yml"],
      ["doctor", "flow.yml", ...TRUST],
      ["skills", "list"],
    ]) {
      expect((await runHere(args, { cwd })).code).toBe(0);
    }
    const again = await runHere(["replay", "r", "--json", "--run-id", "again"], { cwd });
    expect(again.code).toBe(0);
    expect(readEvents(cwd, "again").filter(({ type }) => type === "tool:result")).toMatchObject([{ output: "seen" }]);
    expect(pidsOf(cwd)).toHaveLength(1);
    const live = await runHere(
      ["replay", "r", "--json", "--tools", "live", "--run-id", "live", ...pinned(cwd, "served")],
      { cwd },
    );
    expect(live.code).toBe(0);
    expect(pidsOf(cwd)).toHaveLength(2);
    expect(pidsOf(cwd).map(isAlive)).toEqual([false, false]);
  });
});

describe("the origin of a server", () => {
  /** A project whose own SKILL.md names a command. */
  function checkout(): string {
    const cwd = makeProject({ "script.json": scriptOf(use("served_look"), done) });
    const mcp = stdioServer({ ...NOTING }, join(cwd, "notes"));
    const head = `---\nname: served\ndescription: Serves.\nmcp: ${JSON.stringify(mcp)}\n---\nLook.\n`;
    const workflow = JSON.parse(flow({}));
    delete workflow.skills;
    mkdirSync(join(cwd, ".claude/skills/served"), { recursive: true });
    writeFileSync(join(cwd, ".claude/skills/served/SKILL.md"), head);
    writeFileSync(join(cwd, "flow.yml"), JSON.stringify(workflow));
    return cwd;
  }

  it("decides whether its command runs: one from the checkout needs the operator's trust", async () => {
    const cwd = checkout();
    await runHere(RUN.slice(0, -2), { cwd });
    expect(pidsOf(cwd)).toEqual([]);
    const trusted = await runHere(RUN.with(5, "t"), { cwd });
    expect(trusted.code).toBe(0);
    expect(pidsOf(cwd)).toHaveLength(1);
  });

  it("is the user if the user's config names one with the same id", async () => {
    const cwd = checkout();
    const home = makeProject();
    const mine = stdioServer({ ...NOTING }, join(home, "notes"));
    mkdirSync(join(home, ".config/skillflow"), { recursive: true });
    writeFileSync(join(home, ".config/skillflow/config.yml"), JSON.stringify({ mcpServers: { served: mine } }));
    const ended = await runHere(RUN.slice(0, -2), { cwd, env: { HOME: home } });
    expect(ended.code).toBe(0);
    expect(pidsOf(cwd)).toEqual([]);
    expect(pidsOf(home)).toHaveLength(1);
  });
});

describe("an MCP server of an interrupted run", () => {
  /** Interrupts a program when its server notes that it is running. */
  function interruptAt(cwd: string, note: string) {
    return (child: ChildProcess) => {
      const look = setInterval(() => {
        if (!linesOf(cwd, "notes").some((line) => line.startsWith(note))) return;
        clearInterval(look);
        child.kill("SIGINT");
      }, 20);
      child.once("exit", () => clearInterval(look));
    };
  }

  it("is stopped, and the run can be resumed with another", async () => {
    const hanging: Answers = {
      "tools/call": (_, io) => {
        if (io.notes().includes("hang")) return { content: [{ type: "text", text: "seen" }] };
        io.note("hang");
        return undefined;
      },
    };
    const cwd = notingProject(hanging, scriptOf(use("served_look"), use("served_look"), done));
    const ended = await runProgram(RUN, { cwd, onStart: interruptAt(cwd, "hang") });
    expect(ended.code).toBe(130);
    const resumed = await runProgram(["resume", "r", "--json", ...pinned(cwd, "served")], { cwd });
    expect(resumed.code).toBe(0);
    const results = readEvents(cwd, "r").filter(({ type }) => type === "tool:result");
    expect(results.at(-1)).toMatchObject({ output: "seen" });
    expect(pidsOf(cwd)).toHaveLength(2);
    expect(pidsOf(cwd).map(isAlive)).toEqual([false, false]);
  });

  it("that was still being connected is stopped, and nothing is recorded", async () => {
    const cwd = notingProject({ initialize: () => undefined }, scriptOf(done));
    const ended = await runProgram(RUN, { cwd, onStart: interruptAt(cwd, "start") });
    expect(ended.code).toBe(130);
    expect(ended.stderr).toContain("interrupted (Ctrl-C) before the run started");
    expect(pidsOf(cwd).map(isAlive)).toEqual([false]);
    expect(existsSync(join(cwd, ".skillflow", "runs", "r.jsonl"))).toBe(false);
  });
});

describe("an MCP server that never answers", () => {
  it("uses up the run's time limit. The run ends with it and can be resumed", async () => {
    const cwd = notingProject({ initialize: () => undefined }, scriptOf(done));
    const { code, stdout, stderr } = await runHere([...RUN, "--timeout", "1s"], { cwd });
    expect(code, stderr).toBe(5);
    expect(JSON.parse(stdout)).toMatchObject({ status: "stopped", error: { code: "limit.reached" } });
    expect(stderr).toContain("the time limit of 1 s was reached");
    expect(readEvents(cwd, "r").some(({ type }) => type === "node:enter")).toBe(false);
    const resumed = await runHere(["resume", "r", "--json", "--timeout", "500ms", ...pinned(cwd, "served")], { cwd });
    expect(resumed.code, resumed.stderr).toBe(5);
    expect(pidsOf(cwd).length).toBeGreaterThan(0);
    expect(pidsOf(cwd).map(isAlive)).not.toContain(true);
  });
});

describe("an MCP server over HTTP", () => {
  it("is called with the declared variables in its headers, which are not shown", async () => {
    const service = await httpServer({
      "tools/call": () => ({ content: [{ type: "text", text: "it was canary-0123" }] }),
    });
    const mcp = {
      url: service.url,
      headers: { Authorization: "Bearer ${SERVED_CODE}" },
      env: { SERVED_CODE: "a code" },
    };
    const cwd = project(mcp, scriptOf(use("served_look"), done));
    const ended = await runHere([...RUN, "--offline"], { cwd, env: { SERVED_CODE: "canary-0123" } });
    await service.close();
    expect(ended.code).toBe(0);
    expect(service.requests[0]?.headers.authorization).toBe("Bearer canary-0123");
    expect(JSON.stringify(ended) + JSON.stringify(readEvents(cwd, "r"))).not.toContain("canary");
  });

  it("by command is not started by an offline run", async () => {
    const cwd = notingProject({}, scriptOf(use("desk_look"), done), WITH_DESK);
    const ended = await runHere([...RUN, "--offline"], { cwd });
    expect(ended.code).toBe(0);
    expect(resultOf(ended).degraded[0]?.reason).toContain("is a command, which was not started: the run is offline");
    expect(linesOf(cwd, "notes")).toEqual([]);
  });

  it("is not contacted by an offline run unless it is on this machine", async () => {
    const cwd = project({ url: "http://mcp.example/mcp" }, scriptOf(use("desk_look"), done), WITH_DESK);
    const ended = await runHere([...RUN, "--offline"], { cwd });
    expect(ended.code).toBe(0);
    expect(resultOf(ended).degraded[0]?.reason).toContain("mcp.example was not contacted: the run is offline");
  });
});

describe("doctor", () => {
  const findingOf = async (mcp: object, args: readonly string[] = []) => {
    const cwd = project(mcp, {});
    const { stdout } = await runHere(["doctor", "flow.yml", "--json", ...TRUST, ...args], { cwd });
    const { skills } = JSON.parse(stdout) as { skills: { id: string }[] };
    return skills.find(({ id }) => id === "served");
  };

  it("reports that a skill with a server is configured, and contacts the server only with --live", async () => {
    expect(await findingOf({ command: "no-such-server" })).toMatchObject({ state: "configured" });
    expect(await findingOf(stdioServer({}), ["--live"])).toMatchObject({
      state: "available",
      reason: "tools of its MCP server: 1",
    });
    expect(await findingOf({ command: "no-such-server" }, ["--live"])).toMatchObject({
      state: "unavailable",
      reason: expect.stringContaining("not found on the PATH"),
    });
  });
});
