import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { parse } from "yaml";
import { scriptOf } from "../../cli/flows.ts";
import { runHere } from "../../cli/in-process.ts";
import { linesOf, makeProject, readEvents, resultOf, runProgram } from "../../cli/program.ts";
import { oneOf } from "../../harness/long.ts";
import { stdioServer } from "../../services/mcp.ts";
import { connectHere, connectHttp, connectStdio, startHttp } from "../mcp-program.ts";

const it = oneOf(6);

const GREET = `
id: greet-all
name: Greet
description: Greets whom it is told.
entry: greet
inputs:
  who: { type: string, required: true, description: whom to greet }
  tone: { type: string, enum: [warm, cool], default: warm }
  times: { type: number }
  marks: { type: "string[]" }
nodes:
  greet: { name: Greet, instruction: Greet them., skills: [desk] }
edges: []
`;
const WAIT = `
id: wait
name: Wait
entry: wait
nodes:
  wait: { name: Wait, instruction: Wait., skills: [desk], effects: read }
edges: []
`;
const SCRIPT = scriptOf(
  { node: "greet", calls: [{ tool: "desk_post", input: { text: "hello" } }] },
  { node: "greet", text: "greeted" },
  { node: "wait", calls: [{ tool: "desk_hang", input: {} }] },
  { node: "wait", text: "waited" },
);
const FILES = {
  "workflows/greet.yml": GREET,
  "workflows/wait.yml": WAIT,
  "script.json": SCRIPT,
  "app.log": "2026-01-01T00:00:00Z ERROR it broke\n2026-01-01T00:00:01Z INFO it goes on\n",
  ".claude/skills/manners/SKILL.md":
    "---\nname: manners\ndescription: How to greet\n---\nRead references/forms.md, then greet.\n",
  ".claude/skills/manners/references/forms.md": "# Forms\nHello.\n",
};
const MODEL = ["--model", "script:script.json"];
const MODERN = { versionNegotiation: { mode: { pin: "2026-07-28" } } } as const;
const textOf = (result: { readonly content: readonly unknown[] }) =>
  (result.content[0] as { readonly text?: string } | undefined)?.text ?? "";

/** Creates a file when it is imported, and prints to stdout, which is reserved for messages. */
const PAGER = `
import { writeFileSync } from "node:fs";

writeFileSync(process.cwd() + "/imported", "");
console.log("loaded, loudly");
export default {
  id: "pager", name: "Pager", description: "Pages people", category: "notification",
  config: { PAGER_TOKEN: { description: "a token", env: "PAGER_TOKEN" } },
  tools: [{
    name: "page", description: "Pages somebody", effect: "write", idempotent: true,
    input_schema: { type: "object", properties: { who: { type: "string" } }, required: ["who"] },
    output_schema: { type: "object", properties: { paged: { type: "string" } }, required: ["paged"] },
    handler: ({ who }, { config }) => {
      console.log("paging", who);
      return { paged: who, with: config.PAGER_TOKEN };
    },
  }, {
    name: "people", description: "Who can be paged", effect: "read", input_schema: { type: "object" },
    output_schema: { type: "array", items: { type: "string" } },
    handler: () => ["Ada", "Grace"],
  }],
};
`;
const PAGER_FILES = { ...FILES, "pager.mjs": PAGER, ".skillflow.yml": { skills: { modules: ["./pager.mjs"] } } };
const PAGER_ENV = { PAGER_TOKEN: "a-secret-of-the-pager" };

describe("a tool that throws an unhandled error", () => {
  it("has failed, and the server continues", async () => {
    const { client } = await connectStdio({ cwd: makeProject() });
    const thrown = { name: "desk_burst", arguments: { text: "thrown" } };
    const failed = { isError: true, content: [{ type: "text", text: "thrown" }] };
    expect(await client.callTool(thrown)).toMatchObject(failed);
    expect(await client.callTool(thrown)).toMatchObject(failed);
    const look = await client.callTool({ name: "desk_look", arguments: { text: "a" } });
    expect(look).toMatchObject({ content: [{ type: "text", text: '{"seen":"a"}' }] });
  });
});

describe.each<[string, Parameters<typeof connectStdio>[0]["client"]]>([
  ["a stock client", undefined],
  ["a client of the newest revision", MODERN],
])("over the standard streams, %s", (_, options) => {
  it("lists the tools with their known effects, and calls one that reads", async () => {
    const cwd = makeProject(FILES);
    const author = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    for (const args of [
      ["init", "-q"],
      [...author, "commit", "-qm", "first", "--allow-empty"],
    ]) {
      execFileSync("git", args, { cwd });
    }
    const { client, stderr } = await connectStdio({ cwd, ...(options ? { client: options } : {}) });
    const { tools } = await client.listTools();
    const { prompts } = await client.listPrompts();
    const find = (name: string) => tools.find((tool) => tool.name === name);
    expect(find("logs_search")).toMatchObject({
      title: "Log files: search",
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
      inputSchema: { type: "object" },
    });
    expect(find("desk_post")?.annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
    });
    expect(find("desk_mark")?.annotations).toMatchObject({ destructiveHint: true, idempotentHint: true });
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    const found = await client.callTool({ name: "logs_search", arguments: { files: "app.log", contains: "ERROR" } });
    expect(found.isError, textOf(found)).toBeFalsy();
    expect(textOf(found)).toContain("it broke");
    // Only the skills that are not available here.
    expect(stderr()).toMatch(/^(?:! kubernetes: .*\n|! not offered, .*\n)*$/);
    // The tools of a run's own copy fail outside of a run.
    expect([...tools, ...prompts].filter(({ name }) => /^workspace(?:_|$)/.test(name))).toEqual([]);
  });

  it("runs a workflow, reports progress, and returns a summary of its result", async () => {
    const cwd = makeProject(FILES);
    const { client } = await connectHere({ cwd, args: MODEL, ...(options ? { client: options } : {}) });
    const told: string[] = [];
    const result = await client.callTool(
      { name: "run_greet_all", arguments: { who: "Ada" } },
      { onprogress: ({ progress, message = "" }) => told.push(`${progress} ${message}`) },
    );
    expect(result.isError, textOf(result)).toBeFalsy();
    const gist = result.structuredContent as { readonly run: string };
    expect(gist).toEqual({
      run: expect.any(String),
      status: "succeeded",
      exitCode: 0,
      results: { greet: { status: "success", data: { summary: "greeted" } } },
      degraded: [],
    });
    expect(textOf(result)).toContain(`greet-all: succeeded (run ${gist.run})`);
    expect(linesOf(cwd, "posts.txt")).toHaveLength(1);
    expect(told).toContainEqual(expect.stringMatching(/^\d+ node:enter greet/));
    expect(told).toContainEqual(expect.stringMatching(/^\d+ tool:call greet desk_post/));
    expect(told.map((line) => Number(line.split(" ")[0]))).toEqual(told.map((_line, index) => index + 1));
    expect(readEvents(cwd, gist.run).at(-1)).toMatchObject({ type: "workflow:end", status: "succeeded" });
  });

  it("lists the skills' instructions as resources and as prompts", async () => {
    const { client } = await connectHere({ cwd: makeProject(FILES), ...(options ? { client: options } : {}) });
    const { resources } = await client.listResources();
    expect(resources).toContainEqual({
      uri: "skill://manners/SKILL.md",
      name: "manners",
      description: "How to greet",
      mimeType: "text/markdown",
    });
    const { prompts } = await client.listPrompts();
    expect(prompts).toContainEqual(expect.objectContaining({ name: "manners", description: "How to greet" }));
    const prompt = await client.getPrompt({ name: "manners" });
    expect(prompt.messages).toEqual([
      { role: "user", content: { type: "text", text: "Read references/forms.md, then greet." } },
    ]);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
  });
});

describe("over the standard streams", () => {
  it("describes the inputs of a workflow, and whether it can write", async () => {
    const { client } = await connectHere({ cwd: makeProject(FILES) });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "run_greet_all")).toMatchObject({
      title: "Greet",
      description: 'Runs the workflow "Greet": Greets whom it is told.',
      inputSchema: {
        type: "object",
        properties: {
          who: { type: "string", description: "whom to greet" },
          tone: { type: "string", enum: ["warm", "cool"], default: "warm" },
          times: { type: "number" },
          marks: { type: "array", items: { type: "string" } },
        },
        required: ["who"],
      },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
    });
    expect(tools.find(({ name }) => name === "run_wait")?.annotations).toMatchObject({
      readOnlyHint: true,
      destructiveHint: false,
    });
  });

  it("cancels a run, which is recorded and can be resumed", async () => {
    const cwd = makeProject(FILES);
    const { client, said } = await connectStdio({ cwd, args: MODEL });
    const cancel = new AbortController();
    const call = client.callTool(
      { name: "run_wait", arguments: {} },
      {
        signal: cancel.signal,
        onprogress: ({ message = "" }) => {
          if (message.startsWith("tool:call")) cancel.abort("enough");
        },
      },
    );
    await expect(call).rejects.toThrow();
    const [, run = ""] = await said(/run (\S+) of wait interrupted: skillflow resume/);
    expect(readEvents(cwd, run).slice(-3)).toMatchObject([
      { type: "run:interrupt", reason: "interrupted (its MCP client cancelled it, or the connection ended)" },
      { type: "node:exit" },
      { type: "workflow:end", status: "interrupted" },
    ]);
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    const resumed = await runHere(["resume", run, "--from", "wait", "--json"], { cwd });
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(resultOf(resumed).status).toBe("succeeded");
  });

  it("returns failures as results: of a tool, of arguments that do not fit, of a run, of an input", async () => {
    const script = { "script.json": scriptOf({ node: "wait", text: "waited" }) };
    const { client } = await connectHere({ cwd: makeProject({ ...FILES, ...script }), args: MODEL });
    const call = (name: string, args?: Record<string, unknown>) =>
      client.callTool({ name, ...(args ? { arguments: args } : {}) });
    expect(await call("desk_fail", { text: "the desk is on fire" })).toMatchObject({
      isError: true,
      content: [{ text: "the desk is on fire" }],
    });
    const misfit = await call("desk_look", { text: 5, more: true });
    expect(misfit.isError).toBe(true);
    expect(textOf(misfit)).toContain("invalid_input");
    const failed = await call("run_greet_all", { who: "Ada" });
    expect(failed).toMatchObject({ isError: true, structuredContent: { status: "failed", exitCode: 1 } });
    const missing = await call("run_greet_all", {});
    expect(missing.isError).toBe(true);
    expect(textOf(missing)).toContain('input "who" is missing');
  });

  it("refuses unknown methods and names, and continues", async () => {
    const { client } = await connectHere({ cwd: makeProject(FILES) });
    const refused = { code: -32602 };
    await expect(client.callTool({ name: "desk_lok" })).rejects.toMatchObject(refused);
    await expect(client.callTool({ name: "desk_lok" })).rejects.toThrow("did you mean desk_look?");
    await expect(client.getPrompt({ name: "nobody" })).rejects.toMatchObject(refused);
    for (const uri of [
      "skill://nobody/SKILL.md",
      "skill://manners",
      "skill://manners/..%2F..%2F..%2Fscript.json",
      "skill://manners/../../../script.json",
      "skill://manners/%ff",
      "skillflow://skills/manners",
      "skillflow://blobs/blob:00000000000000000000000000000000",
      "skillflow://blobs/../secrets",
      "file:///etc/passwd",
      "nonsense",
    ]) {
      await expect(client.readResource({ uri }), uri).rejects.toThrow(/there is no resource/);
    }
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  });

  it("stores a large result as a blob, which can be read in full, in ranges and with tools", async () => {
    const { client } = await connectHere({ cwd: makeProject(FILES) });
    const text = `${"a line of text\n".repeat(10_000)}the end`;
    const result = await client.callTool({ name: "desk_look", arguments: { text } });
    const link = result.content.find((part) => part.type === "resource_link");
    if (link?.type !== "resource_link") throw new Error("there is no link");
    expect(textOf(result).length).toBeLessThan(5000);
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0];
    expect(await read(link.uri)).toMatchObject({ mimeType: "text/plain", text });
    expect(await read(`${link.uri}?offset=${text.length - 7}&length=3`)).toMatchObject({ text: "the" });
    await expect(read(`${link.uri}?offset=-1`)).rejects.toThrow(/must be a number of bytes/);
    await expect(read(`${link.uri}?length=99999999`)).rejects.toThrow(/at most/);
    const found = await client.callTool({ name: "search_blob", arguments: { blob_id: link.name, query: "the end" } });
    expect(JSON.parse(textOf(found))).toMatchObject({ total: 1 });
    const misread = await client.callTool({ name: "read_blob", arguments: { blob_id: "blob:1" } });
    expect(misread.isError).toBe(true);
  });

  it("imports only trusted code, and keeps its output out of the messages", async () => {
    const cwd = makeProject(PAGER_FILES);
    const without = await connectStdio({ cwd, env: PAGER_ENV });
    expect((await without.client.listTools()).tools.some(({ name }) => name.startsWith("pager"))).toBe(false);
    expect(existsSync(join(cwd, "imported"))).toBe(false);
    await without.said(/pager: its code is not trusted: --trust-skill pager lets it run/);
    const { client, said } = await connectStdio({ cwd, env: PAGER_ENV, args: ["--trust-skill", "pager"] });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "pager_page")).toMatchObject({
      outputSchema: { type: "object", required: ["paged"] },
      annotations: { destructiveHint: true, idempotentHint: true },
    });
    const paged = await client.callTool({ name: "pager_page", arguments: { who: "Ada" } });
    expect(paged.structuredContent).toEqual({ paged: "Ada", with: "[redacted:PAGER_TOKEN]" });
    expect(JSON.stringify(paged)).not.toContain(PAGER_ENV.PAGER_TOKEN);
    await said(/paging Ada/);
    const people = await client.callTool({ name: "pager_people" });
    expect(people.structuredContent).toEqual({ result: ["Ada", "Grace"] });
    const large = await client.callTool({ name: "pager_page", arguments: { who: "A".repeat(100_000) } });
    expect(large.structuredContent).toMatchObject({ paged: "A".repeat(100_000) });
  });

  it("returns a built-in tool's result as structured content, with the listed schema", async () => {
    const cwd = makeProject({ ...FILES, "app.log": "2026-01-31T08:00:00Z level=error msg=down\n" });
    const { client } = await connectHere({ cwd });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "logs_files")?.outputSchema).toMatchObject({ required: ["files"] });
    const listed = await client.callTool({ name: "logs_files", arguments: { files: "app.log" } });
    expect(listed.structuredContent).toMatchObject({ matched: 1, files: [{ file: "app.log", lines: 1 }] });
    expect(JSON.parse(textOf(listed))).toEqual(listed.structuredContent);
  });

  it("offers the tools of a skill's MCP server, and reports which server cannot be reached", async () => {
    const servers = { mcpServers: { tracker: stdioServer({}), gone: { command: "no-such-program-here" } } };
    const HOME = makeProject({ ".config/skillflow/config.yml": servers });
    const { client, said } = await connectHere({ cwd: makeProject(FILES), env: { HOME } });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "tracker_look")?.annotations).toMatchObject({ readOnlyHint: false });
    expect(tools.some(({ name }) => name.startsWith("gone"))).toBe(false);
    await said(/gone: its MCP server cannot be used/);
    const seen = await client.callTool({ name: "tracker_look", arguments: {} });
    expect(seen.isError, textOf(seen)).toBeFalsy();
    expect(textOf(seen)).toContain("seen");
  });

  it("accepts large arguments, refuses deep ones, and closes the connection for extremely large ones", async () => {
    const cwd = makeProject(FILES);
    const { client } = await connectStdio({ cwd });
    const result = await client.callTool({ name: "desk_look", arguments: { text: "x".repeat(5_000_000) } });
    expect(textOf(result)).toContain("5000000");
    const nested = JSON.parse(`${"[".repeat(2000)}${"]".repeat(2000)}`);
    const deep = client.callTool({ name: "run_greet_all", arguments: { who: "Ada", nested } });
    await expect(deep).rejects.toThrow(/nested more than 500 levels/);
    const ended = await runProgram(["mcp"], { cwd, stdin: `{"jsonrpc":"2.0","id":"${"x".repeat(11_000_000)}` });
    expect(ended.code).toBe(0);
    expect(ended.stderr).toMatch(/exceed/i);
  });

  it("hides tools that write with --writes deny, and runs workflows without them", async () => {
    const cwd = makeProject(FILES);
    const { client } = await connectHere({ cwd, args: [...MODEL, "--writes", "deny"] });
    const { tools } = await client.listTools();
    expect(tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)).toEqual([]);
    await expect(client.callTool({ name: "desk_post", arguments: {} })).rejects.toThrow("there is no tool desk_post");
    await client.callTool({ name: "run_greet_all", arguments: { who: "Ada" } });
    expect(linesOf(cwd, "posts.txt")).toEqual([]);
  });

  it("leaves out workflows that cannot be run, numbers names that are taken, and reports both", async () => {
    const other = GREET.replace("id: greet-all", "id: greet_all").replace("name: Greet\n", "name: Greet again\n");
    const files = {
      ...FILES,
      "more/again.json": JSON.stringify(parse(other)),
      "more/script.json": '{"replies": []}',
      "more/broken.yml": "id: broken\nnodes: {}\n",
      "more/other.yml": "replies: []\n",
    };
    const { client, said } = await connectHere({ cwd: makeProject(files), args: ["workflows/greet.yml", "more"] });
    const { tools } = await client.listTools();
    const runs = tools.filter(({ name }) => name.startsWith("run_"));
    expect(runs.map(({ name, title }) => [name, title])).toEqual([
      ["run_greet_all", "Greet"],
      ["run_greet_all_2", "Greet again"],
    ]);
    await said(/more\/broken\.yml is skipped/);
    await said(/run_greet_all of workflow greet_all is offered as run_greet_all_2/);
  });

  it("answers requests that arrived before the input ended, and exits with 0", async () => {
    const cwd = makeProject(FILES);
    const clientInfo = { name: "test", version: "1" };
    const messages = [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/call", params: { name: "run_greet_all", arguments: { who: "Ada" } } },
      { id: 3, method: "ping" },
    ];
    const lines = messages.map((message) => JSON.stringify({ jsonrpc: "2.0", ...message }));
    const stdin = [lines[0], "no message", "[1,2", '{"jsonrpc":"2.0","id":9}', ...lines.slice(1), ""].join("\n");
    const ended = await runProgram(["mcp", ...MODEL], { cwd, stdin });
    expect(ended.code, ended.stderr).toBe(0);
    const answers = ended.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: number; result?: object });
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([1, 2, 3]));
    expect(answers.find(({ id }) => id === 2)?.result).toMatchObject({ structuredContent: { status: "succeeded" } });
    expect(ended.stderr).toContain("a line is not a message");
  });

  it("records running runs when the client disconnects, and exits with 0", async () => {
    const cwd = makeProject(FILES);
    const clientInfo = { name: "test", version: "1" };
    const messages = [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } },
      { id: 2, method: "tools/call", params: { name: "run_wait", arguments: {} } },
    ];
    const stdin = messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join("");
    const ended = await runProgram(["mcp", ...MODEL], { cwd, stdin });
    expect(ended.code, ended.stderr).toBe(0);
    const run = /run (\S+) of wait interrupted/.exec(ended.stderr)?.[1] ?? "";
    expect(readEvents(cwd, run).at(-1)).toMatchObject({ type: "workflow:end", status: "interrupted" });
  });

  it.each(["SIGTERM", "SIGINT"] as const)("exits with 0 on %s", async (signal) => {
    const cwd = makeProject(FILES);
    const ended = await runProgram(["mcp", "--http", "--port", "0"], {
      cwd,
      onStart: (child) => child.stderr?.on("data", (text: string) => text.includes("serving") && child.kill(signal)),
    });
    expect(ended).toMatchObject({ code: 0, signal: null });
  });

  it.each([
    [["--port", "1"], 2, "--port requires --http"],
    [["nowhere.yml"], 2, "there is no workflow nowhere.yml"],
    [["--http", "--host", "0.0.0.0"], 3, "needs a token"],
  ])("refuses %j", async (args, code, message) => {
    const ended = await runHere(["mcp", ...args], { cwd: makeProject(FILES) });
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(message);
    expect(ended.stdout).toBe("");
  });
});

describe.each<[string, Parameters<typeof connectHttp>[1]]>([
  ["a stock client", undefined],
  ["a client of the newest revision", MODERN],
])("over HTTP, %s", (_, options) => {
  it("lists and calls, reports a run's progress, and cancels it", async () => {
    const cwd = makeProject(FILES);
    const { url, said } = await startHttp({ cwd, args: MODEL });
    const client = await connectHttp(url, options);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("run_greet_all");
    const told: string[] = [];
    const result = await client.callTool(
      { name: "run_greet_all", arguments: { who: "Ada" } },
      { onprogress: ({ message = "" }) => told.push(message) },
    );
    expect(result.structuredContent).toMatchObject({ status: "succeeded" });
    expect(told).toContainEqual(expect.stringMatching(/^tool:call greet desk_post/));
    const cancel = new AbortController();
    const call = client.callTool(
      { name: "run_wait", arguments: {} },
      {
        signal: cancel.signal,
        onprogress: ({ message = "" }) => {
          if (message.startsWith("tool:call")) cancel.abort("enough");
        },
      },
    );
    await expect(call).rejects.toThrow();
    const [, run = ""] = await said(/run (\S+) of wait interrupted/);
    expect(readEvents(cwd, run).at(-1)).toMatchObject({ type: "workflow:end", status: "interrupted" });
  });

  it("shares the server with another one", async () => {
    const { url } = await startHttp({ cwd: makeProject(FILES), args: MODEL });
    const clients = await Promise.all([connectHttp(url, options), connectHttp(url)]);
    const calls = clients.flatMap((client, index) => [
      client.callTool({ name: "desk_look", arguments: { text: `client ${index}` } }),
      client.callTool({ name: "run_greet_all", arguments: { who: "Ada" } }),
    ]);
    const results = await Promise.all(calls);
    expect(textOf(results[0] ?? { content: [] })).toBe('{"seen":"client 0"}');
    expect(textOf(results[2] ?? { content: [] })).toBe('{"seen":"client 1"}');
    const runs = [results[1], results[3]].map((result) => result?.structuredContent as { run: string; status: string });
    expect(runs.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    expect(new Set(runs.map(({ run }) => run)).size).toBe(2);
  });
});

describe("over HTTP", () => {
  const post = (url: string, headers: Record<string, string>, body: string) =>
    new Promise<{ readonly status: number | undefined; readonly text: string }>((resolve, reject) => {
      const sent = httpRequest(url, { method: "POST", headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode, text }));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  const JSON_TYPES = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

  it("accepts no other site, requires the token, and survives malformed requests", async () => {
    const env = { MCP_TOKEN: "a-token-for-callers" };
    const { url } = await startHttp({ cwd: makeProject(FILES), args: ["--token-env", "MCP_TOKEN"], env });
    const authorization = "Bearer a-token-for-callers";
    const headers = { ...JSON_TYPES, authorization };
    const statusOf = async (more: Record<string, string>, body = LIST) =>
      (await post(url, { ...headers, ...more }, body)).status;
    expect(await statusOf({})).toBe(200);
    expect(await statusOf({ origin: "https://evil.example" })).toBe(403);
    expect(await statusOf({ host: "evil.example" })).toBe(403);
    expect(await statusOf({ authorization: "Bearer no" })).toBe(401);
    expect(await statusOf({ "mcp-session-id": "nobody" })).toBe(404);
    expect(await statusOf({ "content-type": "text/plain" })).toBe(415);
    expect(await statusOf({}, "{")).toBe(400);
    expect(await statusOf({ "content-length": String(33 * 1024 * 1024) }, "x")).toBe(413);
    expect((await post(url.replace(/mcp$/, "rpc"), headers, LIST)).status).toBe(404);
    const client = await connectHttp(url, undefined, { authorization });
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  });
});
