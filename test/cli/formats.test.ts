import { spawnSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect } from "vitest";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { FORMATS } from "../../src/core/skill/skill.ts";
import { oneOf } from "../harness/long.ts";
import { httpServer } from "../services/mcp.ts";
import { runHere } from "./in-process.ts";
import { type Ended, makeProject, readEvents, resultOf, runFile } from "./program.ts";

const it = oneOf(2);

/** One project with a skill of every format: test/formats/tree. A scripted model calls a tool of each. */

const TREE = join(import.meta.dirname, "../formats/tree");
const SKILLS = {
  "review-text": "agent-skills",
  "count-words": "skill-tools",
  "file-words": "tool-descriptor",
  "text.count": "contract",
  severity: "sweny",
  "text.words.count": "skills-protocol",
  pager: "module",
  tracker: "mcp",
} as const;
const TRUST = Object.keys(SKILLS).flatMap((id) => ["--trust-skill", id]);
const RUN = ["run", "flow.yml", "--model", "script:script.yml", "--run-id", "r", "--json"];

/** One node. */
const flowOf = (skills: readonly string[]) => ({
  id: "flow",
  name: "Flow",
  entry: "use",
  nodes: { use: { name: "Use", instruction: "Use them.", skills } },
  edges: [],
});
const treeProject = () => {
  const cwd = makeProject();
  cpSync(TREE, cwd, { recursive: true });
  return cwd;
};
const readRecord = (cwd: string, run: string) =>
  JSON.parse(readFileSync(runFile(cwd, run), "utf8").split("\n")[0] ?? "") as RunRecord;
const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe("a workflow with a skill of every format", () => {
  let cwd = "";
  let ended: Ended;
  beforeAll(async () => {
    cwd = treeProject();
    ended = await runHere([...RUN, ...TRUST], { cwd, env: { ONCALL_CHANNEL: "#oncall" } });
  });

  const callOf = (node: string) =>
    resultOf(ended).results[node]?.toolCalls.map(({ input, output, error }) => ({ input, output, error }));
  const text = "three plain words";

  it("runs from its first node to its last", () => {
    expect(ended.code, ended.stderr).toBe(0);
    const { status, trace } = resultOf(ended);
    expect(status).toBe("succeeded");
    expect(trace.steps.map(({ node }) => node)).toEqual(Object.values(SKILLS));
  });

  it("knows the format of each, and finds all of them available", () => {
    const record = readRecord(cwd, "r");
    expect(Object.fromEntries(record.skills.map(({ id, format }) => [id, format]))).toEqual(SKILLS);
    expect(record.skills.filter(({ available }) => !available)).toEqual([]);
  });

  it.each([
    ["skill-tools", { text }, { words: 3 }],
    ["tool-descriptor", { file: "notes.txt" }, "3 notes.txt\n"],
    ["contract", { text: "four is the minimum" }, { words: 2 }],
    ["module", { text: "wake up" }, { paged: "wake up" }],
    ["mcp", { text }, { words: 3 }],
  ])("records the call of the tool of %s, and its result", (node, input, output) => {
    expect(callOf(node)).toEqual([{ input, output, error: undefined }]);
  });

  it.skipIf(!hasPython)("records the call of the tool of skills-protocol, which is Python, and its result", () => {
    expect(callOf("skills-protocol")).toMatchObject([{ input: { text }, error: undefined }]);
    expect(JSON.stringify(callOf("skills-protocol")?.[0]?.output)).toContain('"words":3');
  });

  it.each(["agent-skills", "sweny"])("shows the model the text of %s, which has no tools", (node) => {
    expect(callOf(node)).toEqual([]);
    const { skills } = readRecord(cwd, "r");
    expect(skills.find(({ format }) => format === node)).toMatchObject({ tools: [], instruction: expect.any(String) });
  });

  it("records each call in an event before its result", () => {
    const told = readEvents(cwd, "r").filter(({ type }) => type === "tool:call" || type === "tool:result");
    const types = told.map(({ type }) => type);
    expect(types).toEqual(types.map((_, index) => (index % 2 === 0 ? "tool:call" : "tool:result")));
    expect(types).toHaveLength(12);
  });

  it("runs no code of the checkout without trust: the tools are not offered", async () => {
    const untrusted = treeProject();
    const held = await runHere(RUN, { cwd: untrusted });
    const { results } = resultOf(held);
    for (const node of FORMATS) {
      expect(results[node]?.toolCalls.filter((call) => call.error === undefined) ?? [], node).toEqual([]);
    }
  });

  it("lists every skill with its format", async () => {
    const { stdout } = await runHere(["skills", "list", "--json"], { cwd });
    const { skills } = JSON.parse(stdout) as { skills: { id: string; format: string; source: { kind: string } }[] };
    const own = skills.filter(({ source }) => source.kind !== "builtin");
    expect(Object.fromEntries(own.map(({ id, format }) => [id, format]))).toEqual(SKILLS);
  });

  const texts = [
    ["review-text", "Read the text against"],
    ["count-words", "Call count_words"],
    ["file-words", "Call file_words"],
    ["text.count", "Give it the whole text."],
    ["severity", "High means"],
    ["text.words.count", "Give it `text`."],
    ["pager", "Page only when"],
    ["tracker", "Call count_words"],
  ] as const;

  it.each(texts)("shows the instruction of %s", async (id, beginning) => {
    const { stdout } = await runHere(["skills", "show", id, "--json", "--trust-skill", id], { cwd });
    const { instruction } = JSON.parse(stdout) as { instruction: string };
    expect(instruction.startsWith(beginning)).toBe(true);
  });

  it("returns each instruction on demand, in every format", async () => {
    const project = treeProject();
    const calls = texts.map(([id]) => ({ tool: "read_skill", input: { skill_name: id } }));
    const skills = texts.map(([id]) => id);
    const files = makeProject({
      "flow.yml": flowOf(skills),
      "script.yml": { replies: [{ calls }, { text: "read" }] },
    });
    cpSync(files, project, { recursive: true });
    const read = await runHere([...RUN, ...TRUST, "--context-mode", "readOnDemand"], { cwd: project });
    expect(read.code, read.stderr).toBe(0);
    const outputs = resultOf(read).results.use?.toolCalls.map(({ output }) => JSON.stringify(output));
    expect(outputs).toEqual(texts.map(([, beginning]) => expect.stringContaining(beginning)));
  });

  it("passes lint without an error", async () => {
    const { code, stdout } = await runHere(["skills", "lint", "--json"], { cwd });
    const { problems } = JSON.parse(stdout) as { problems: { severity: string }[] };
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(code).toBe(0);
  });
});

describe("an MCP server of .skillflow.yml", () => {
  it("by its address is a skill once the operator trusts it", async () => {
    const tool = {
      name: "count",
      description: "Counts.",
      inputSchema: { type: "object" },
      annotations: { readOnlyHint: true },
    };
    const server = await httpServer({
      "tools/list": () => ({ tools: [tool] }),
      "tools/call": () => ({ content: [{ type: "text", text: "3" }] }),
    });
    const cwd = makeProject({
      ".skillflow.yml": { mcpServers: { board: { url: `${server.url}/mcp` } } },
      "flow.yml": flowOf(["board"]),
      "script.yml": { replies: [{ calls: [{ tool: "board_count" }] }, { text: "counted" }] },
    });
    const held = await runHere(RUN, { cwd });
    expect([resultOf(held).degraded, server.requests]).toMatchObject([[{ skill: "board" }, { node: "use" }], []]);
    expect(held.stderr).toContain("mcpServers.board.url is ignored");
    const ended = await runHere([...RUN.with(-2, "t"), "--trust-skill", "board"], { cwd });
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).not.toContain("is ignored");
    expect(resultOf(ended).results.use?.toolCalls).toMatchObject([{ tool: "board_count", output: "3" }]);
    await server.close();
  });

  it("uses the effects that the user's file or a flag sets for its tools, and not the project's", async () => {
    let calls = 0;
    const server = await httpServer({
      "tools/list": () => ({ tools: [{ name: "count", description: "Counts.", inputSchema: { type: "object" } }] }),
      "tools/call": () => {
        calls++;
        return { content: [{ type: "text", text: "3" }] };
      },
    });
    const said = { mcpServers: { board: { url: `${server.url}/mcp`, effects: { count: "read" }, origin: "team" } } };
    const files = {
      "flow.yml": flowOf(["board"]),
      "script.yml": { replies: [{ calls: [{ tool: "board_count" }] }, { text: "counted" }] },
    };
    const offered = async (more: object, flags: readonly string[] = [], home = "") => {
      const cwd = makeProject({ ...files, ...more });
      const env: Record<string, string> = home === "" ? {} : { HOME: home };
      const args = [...RUN, "--writes", "deny", "--trust-skill", "board", ...flags];
      calls = 0;
      const { stderr } = await runHere(args, { cwd, env });
      const [tool] = readRecord(cwd, "r").skills[0]?.tools ?? [];
      return { effect: tool?.effect, origin: tool?.origin, calls, stderr };
    };
    const project = { ".skillflow.yml": said };
    const held = await offered(project);
    expect(held).toMatchObject({ effect: "write", origin: undefined, calls: 0 });
    for (const key of ["effects.count", "origin"]) expect(held.stderr).toContain(`mcpServers.board.${key} is ignored`);
    const flagged = await offered(project, ["--effect", "board.count=read", "--effect", "board.gone=write"]);
    expect(flagged).toMatchObject({ effect: "read", origin: undefined, calls: 1 });
    expect(flagged.stderr).toContain("the MCP server of board has no tool gone, for which an effect is set");
    const home = makeProject({ ".config/skillflow/config.yml": said });
    expect(await offered({}, [], home)).toMatchObject({ effect: "read", origin: "team", calls: 1 });
    const closed = await offered({}, ["--effect", "board.count=write"], home);
    expect(closed).toMatchObject({ effect: "write", origin: "team", calls: 0 });
    await server.close();
  });
});

describe("a skill written by skills new", () => {
  const text = "three plain words";
  it.each([
    ["skill-tools", "word-count_count_words", { text, unit: "words" }, { words: 3 }],
    ["tool-descriptor", "word-count_count_words", { file: "notes.txt" }, "3 notes.txt\n"],
    ["contract", "word-count", { text }, { words: 3 }],
    ["module", "word-count_count_words", { text }, { words: 3 }],
    ["mcp", "word-count_count_words", { text }, { words: 3 }],
  ])("works unchanged: a tool of %s is called", async (format, tool, input, output) => {
    const cwd = makeProject({ "notes.txt": "three plain words\n" });
    await runHere(["skills", "new", "word-count", "--format", format], { cwd });
    expect(await callOnce(cwd, "word-count", { tool, input })).toMatchObject([{ tool, output }]);
  });

  it.skipIf(!hasPython)("works unchanged: a tool of skills-protocol is called, which is Python", async () => {
    const cwd = makeProject();
    await runHere(["skills", "new", "word.count", "--format", "skills-protocol"], { cwd });
    const calls = await callOnce(cwd, "word.count", { tool: "word_count", input: { text } });
    expect(JSON.stringify(calls)).toContain('"words":3');
  });

  const callOnce = async (cwd: string, skill: string, call: object) => {
    const flow = makeProject({
      "flow.yml": flowOf([skill]),
      "script.yml": { replies: [{ calls: [call] }, { text: "counted" }] },
    });
    cpSync(flow, cwd, { recursive: true });
    const ended = await runHere([...RUN, "--trust-skill", skill], { cwd });
    expect(ended.code, ended.stderr).toBe(0);
    return resultOf(ended).results.use?.toolCalls;
  };
});
