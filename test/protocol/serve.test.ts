import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import jayson from "jayson/promise/index.js";
import { afterAll, describe, expect } from "vitest";
import type { JsonObject } from "../../src/core/base/values.ts";
import { runHere } from "../cli/in-process.ts";
import { type Ended, makeProject, runProgram } from "../cli/program.ts";
import { LONG, oneOf } from "../harness/long.ts";
import { runsPython } from "../sandbox/python.ts";
import { COUNT, packageFiles } from "./packages.ts";

const it = oneOf(5);

/** The built program as a service, driven by a stock client and by bare requests. */

const SLOW = "import time\ndef main(args):\n    time.sleep(args['seconds'])\n    return 'done'\n";
const STUCK = [
  "import subprocess",
  "def main(args):",
  "    subprocess.Popen(['sleep', args['mark']], start_new_session=True)",
  "    while True: pass",
].join("\n");
const TELL = [
  "import os",
  "def main(args):",
  "    token = os.environ['TELL_TOKEN']",
  "    print('print', token)",
  "    return {'token': token, 'blob': runtime.blobs.create('blob ' + token)}",
].join("\n");
const PLAIN = "---\nname: plain\ndescription: Plain advice\n---\nDo it.\n";
const FILES = {
  ...COUNT,
  ...packageFiles({ name: "test.slow", code: SLOW }),
  ".claude/skills/plain/SKILL.md": PLAIN,
  ...packageFiles({ name: "test.stuck", code: STUCK }),
  ...packageFiles({ name: "test.tell", more: '[permissions]\nsecrets = ["TELL_TOKEN"]\n', code: TELL }),
  ...packageFiles({ name: "test.versions", version: "1.0.0" }),
  ...packageFiles({ name: "test.versions", version: "1.10.0" }),
  ...packageFiles({ name: "test.versions", version: "1.9.0" }),
};
const TRUSTED = ["acme.text.count", "test.slow", "test.stuck", "test.tell", "test.versions"];
const TRUST = TRUSTED.flatMap((id) => ["--trust-skill", id]);

interface Service {
  /** `http://host:port` */
  readonly url: string;
  readonly cwd: string;
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Its entries in the folder for temporary files. */
  leftovers(): readonly string[];
}

const started: ChildProcess[] = [];
afterAll(() => {
  for (const child of started) child.kill("SIGKILL");
});

async function startService(
  args: readonly string[] = TRUST,
  env: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, unknown>> = FILES,
): Promise<Service> {
  const cwd = makeProject(files);
  const temporary = join(cwd, "tmp");
  mkdirSync(temporary, { mode: 0o777 });
  let child: ChildProcess | undefined;
  const ended = runProgram(["serve", "--port", "0", "--json", ...args], {
    cwd,
    env: { TMPDIR: temporary, TELL_TOKEN: "canary-7f31", ...env },
    onStart: (process) => {
      child = process;
    },
  });
  if (!child?.stdout) throw new Error("the program has no output");
  started.push(child);
  const told = await Promise.race([once(child.stdout, "data"), ended]);
  if (!Array.isArray(told)) throw new Error(told.stderr);
  const { url } = JSON.parse(String(told[0])) as { url: string };
  return { url, cwd, child, ended, leftovers: () => readdirSync(temporary) };
}

const service = await startService();

const { hostname, port } = new URL(service.url);
const client = jayson.client.http({ host: hostname, port: Number(port), path: "/rpc" });

/** Calls through the stock client. A protocol error is thrown. */
async function call(method: string, params: object = {}): Promise<JsonObject> {
  const { result, error } = await client.request(method, params);
  if (error) throw Object.assign(new Error(error.message), error);
  return result as JsonObject;
}

const JSON_TYPE = { "content-type": "application/json" };

function post(
  body: unknown,
  { url, headers = {}, ...more }: { url?: string; headers?: object; signal?: AbortSignal } = {},
) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(`${url ?? service.url}/rpc`, {
    method: "POST",
    headers: { ...JSON_TYPE, ...headers },
    body: text,
    ...more,
  });
}

const request = (method: string, params: object = {}, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });

/** Whether a process runs with this word among its arguments. */
function runs(word: string): boolean {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => `/proc/${pid}/cmdline`)
    .some((file) => existsSync(file) && read(file).split("\0").includes(word));
}

/** Ids of the Python programs that run this file, started by this process or by what it started. */
function programsBelow(root: number | undefined, file: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parents = new Map(
    pids.map((pid) => [Number(pid), Number(read(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ")[1])]),
  );
  const isBelow = (pid: number): boolean => pid === root || (parents.has(pid) && isBelow(parents.get(pid) ?? 0));
  const isProgram = (pid: number) => {
    const [program = "", ...args] = read(`/proc/${pid}/cmdline`).split("\0");
    return program.startsWith("python") && args.includes(file);
  };
  return [...parents.keys()].filter((pid) => isBelow(pid) && isProgram(pid));
}

/** Empty for a process that is gone by now. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}

const WAIT = { timeout: 20_000, interval: 20 };

describe("a stock client", () => {
  it("finds and inspects skills", async () => {
    const listed = await call("list_skills", { namespace: "acme", detail: "summary" });
    expect(listed).toMatchObject({ skills: [{ name: "acme.text.count", kind: "action" }], next_cursor: null });
    const { skill } = await call("describe_skill", { name: "acme.text.count" });
    expect(skill).toMatchObject({ manifest: { name: "acme.text.count", input_schema: { required: ["text"] } } });
  });

  it("may omit parameters in both forms", async () => {
    expect(await call("load_skills_protocol_guide")).toEqual(await call("load_skills_protocol_guide", []));
  });

  it("stores and samples large data", async () => {
    const { blob_id } = await call("create_blob", { content: "one two three", kind: "text/plain" });
    expect(await call("read_blob", { blob_id, max_bytes: 3 })).toMatchObject({ preview: "one", truncated: true });
  });

  it("gets an error for a wrong request", async () => {
    await expect(call("describe_skill", { name: "nobody" })).rejects.toMatchObject({
      code: -32001,
      data: { type: "SkillNotFound" },
    });
  });
});

describe.skipIf(!runsPython)("an execution (needs a sandbox that isolates, and Python)", () => {
  it("is requested as the quickstart describes", async () => {
    const { skills } = await call("list_skills", { namespace: "acme" });
    const [{ name }] = skills as [{ name: string }];
    const { skill } = (await call("describe_skill", { name })) as { skill: { manifest: { kind: string } } };
    expect(skill.manifest.kind).toBe("action");
    expect(await call("execute_skill", { name, args: { text: "a b c" } })).toMatchObject({
      status: "completed",
      run_id: expect.stringMatching(/^run_/),
      summary: expect.any(String),
      output: { count: 3 },
      output_blobs: [],
      logs_preview: "",
    });
    const { blob_id } = await call("create_blob", { content: "one two", kind: "text/plain" });
    const { content } = (await call("load_skills_protocol_guide")) as { content: string };
    const code = /```python\n([\s\S]*?)```/.exec(content)?.[1];
    const run = { language: "python", code, args: { blob_id }, mount_skills: [name], input_blobs: [blob_id] };
    expect(await call("run_code", run)).toMatchObject({ status: "completed", output: { words: 2 } });
  });

  it("runs the requested version, otherwise the highest", async () => {
    const output = async (more: object) => (await call("execute_skill", { name: "test.versions", ...more })).output;
    expect(await output({})).toBe("1.10.0");
    expect(await output({ version: "1.9.0" })).toBe("1.9.0");
  });

  it("that fails, takes too long or prints is a result", async () => {
    const code = "def main(args):\n    print('before')\n    return args['gone']\n";
    expect(await call("run_code", { language: "python", code })).toMatchObject({
      status: "failed",
      error: { type: "KeyError", message: "'gone'" },
      logs_preview: expect.stringMatching(/^before\nTraceback[^\n]+\n {2}File "<code>", line 3, in main/),
    });
    const slow = { name: "test.slow", args: { seconds: 60 }, timeout_ms: 300 };
    expect(await call("execute_skill", slow)).toMatchObject({ status: "failed", error: { type: "TimeoutError" } });
    const loop = { language: "python", code: "def main(): return 1\nwhile True: pass", limits: { timeout_ms: 300 } };
    expect(await call("run_code", loop)).toMatchObject({ status: "failed", error: { type: "TimeoutError" } });
  });

  it("fails when a tool throws an unhandled error, and the service continues", async () => {
    const burst = { name: "desk.burst", args: { text: "thrown" } };
    const failed = { status: "failed", error: { type: "SkillError", message: "thrown" } };
    expect(await call("execute_skill", burst)).toMatchObject(failed);
    expect(await call("execute_skill", burst)).toMatchObject(failed);
  });

  it("calls the named function, with the given arguments", async () => {
    const run = { language: "python", code: "def other(a): return a", entrypoint: "other", args: { n: [1] } };
    expect((await call("run_code", run)).output).toEqual({ n: [1] });
  });

  it("returns blobs, and large output as blobs", async () => {
    const code = "def main():\n    return [runtime.blobs.create('a,b', 'text/csv')]\n";
    const made = await call("run_code", { language: "python", code });
    expect(made.output).toEqual(made.output_blobs);
    const [blob_id] = made.output as string[];
    expect(await call("read_blob", { blob_id })).toMatchObject({ kind: "text/csv", preview: "a,b" });
    const again = "def main(args):\n    return runtime.blobs.read_bytes(args['id']).decode()\n";
    const run = { language: "python", code: again, args: { id: blob_id }, input_blobs: [blob_id] };
    expect((await call("run_code", run)).output).toBe("a,b");
    expect(await call("run_code", { ...run, input_blobs: [] })).toMatchObject({ error: { type: "LookupError" } });
    const large = await call("run_code", { language: "python", code: "def main(): return {'text': 'x' * 100000}" });
    const [held] = large.output_blobs as string[];
    expect(large.output).toMatchObject({ text: { blob_id: held, size_bytes: 100_000 } });
    expect(await call("read_blob", { blob_id: held, mode: "full" })).toMatchObject({ preview: "x".repeat(100_000) });
  });

  it("reveals no secret: neither in its result, nor in its output, nor in blobs", async () => {
    const run = await call("execute_skill", { name: "test.tell" });
    const mark = "[redacted:TELL_TOKEN]";
    expect(run).toMatchObject({ status: "completed", output: { token: mark }, logs_preview: `print ${mark}\n` });
    const { blob } = run.output as { blob: string };
    expect(run.output_blobs).toEqual([blob]);
    expect(await call("read_blob", { blob_id: blob })).toMatchObject({ preview: `blob ${mark}` });
    const code = "from skills.test.tell import main as tell\ndef main(): return tell({})\n";
    expect(await call("run_code", { language: "python", code, mount_skills: ["test.tell"] })).toMatchObject({
      status: "failed",
      error: { type: "KeyError" },
    });
  });

  it("is one of many at once, all answered under their own ids", async () => {
    const answers = await Promise.all(
      Array.from({ length: LONG ? 100 : 8 }, async (_, n) => {
        const params = { name: "acme.text.count", args: { text: "w ".repeat(n) } };
        return (await post(request("execute_skill", params, n))).json();
      }),
    );
    expect(answers).toEqual(
      answers.map((_, id) => ({
        jsonrpc: "2.0",
        id,
        result: expect.objectContaining({ status: "completed", output: { count: id } }),
      })),
    );
  }, 60_000);

  it("stops everything that it started when its caller is gone", async () => {
    const mark = "98765.25";
    const caller = new AbortController();
    const params = { name: "test.stuck", args: { mark } };
    const asked = post(request("execute_skill", params), { signal: caller.signal }).catch((error: Error) => error.name);
    await expect.poll(() => runs(mark), WAIT).toBe(true);
    caller.abort();
    expect(await asked).toBe("AbortError");
    await expect.poll(() => runs(mark), WAIT).toBe(false);
    expect(await call("execute_skill", { name: "test.versions" })).toMatchObject({ status: "completed" });
  }, 60_000);

  it("that is in progress when the service is stopped is answered first", async () => {
    const other = await startService();
    const params = { name: "test.slow", args: { seconds: 1.5 } };
    const asked = post(request("execute_skill", params), { url: other.url });
    await expect.poll(() => other.leftovers().some((name) => name.includes("workspace")), WAIT).toBe(true);
    other.child.kill("SIGINT");
    expect(await (await asked).json()).toMatchObject({ result: { status: "completed", output: "done" } });
    expect(await other.ended).toMatchObject({ code: 0, signal: null });
    expect(other.leftovers()).toEqual([]);
  }, 60_000);

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "that was started ahead of the next call is stopped with the service that is stopped by %s",
    async (signal) => {
      const other = await startService();
      const asked = await post(request("execute_skill", { name: "test.versions" }), { url: other.url });
      expect(await asked.json()).toMatchObject({ result: { status: "completed" } });
      const waiting = () => programsBelow(other.child.pid, "/runtime/package.py");
      await expect.poll(() => waiting().length, WAIT).toBe(1);
      const [pid] = waiting();
      other.child.kill(signal);
      expect(await other.ended).toMatchObject(signal === "SIGTERM" ? { code: 0 } : { signal });
      if (signal === "SIGTERM") expect(other.leftovers()).toEqual([]);
      await expect.poll(() => read(`/proc/${pid}/cmdline`), WAIT).toBe("");
    },
    60_000,
  );

  it("is stopped with the service that is killed", async () => {
    const other = await startService();
    const mark = "98765.75";
    const asked = post(request("execute_skill", { name: "test.stuck", args: { mark } }), { url: other.url }).catch(
      (error: Error) => error.name,
    );
    await expect.poll(() => runs(mark), WAIT).toBe(true);
    other.child.kill("SIGKILL");
    expect(await asked).toBe("TypeError");
    await expect.poll(() => runs(mark), WAIT).toBe(false);
  }, 60_000);
});

describe("over HTTP", () => {
  it.each<[string, RequestInit & { path?: string }, number]>([
    ["the health is reported", { path: "/health" }, 200],
    ["a GET is refused", {}, 405],
    ["another type is refused", { method: "POST", body: "{}", headers: { "content-type": "text/plain" } }, 415],
    [
      "a page of another site is refused",
      { method: "POST", body: "{}", headers: { ...JSON_TYPE, origin: "http://evil.example" } },
      403,
    ],
    [
      "a body of more than 32 MB is refused",
      { method: "POST", body: "x".repeat(33 * 2 ** 20), headers: JSON_TYPE },
      413,
    ],
    ["another path is unknown", { path: "/other" }, 404],
  ])("%s", async (_, { path = "/rpc", ...init }, status) => {
    expect((await fetch(service.url + path, init)).status).toBe(status);
  });

  it("a notification is executed and not answered", async () => {
    const content = "told by nobody";
    const answer = await post({ jsonrpc: "2.0", method: "create_blob", params: { content, kind: "text/plain" } });
    expect([answer.status, await answer.text()]).toEqual([204, ""]);
  });

  it("a batch is answered call by call", async () => {
    const calls = [
      request("list_skills", { limit: 1 }, "a"),
      { jsonrpc: "2.0", method: "list_skills" },
      7,
      request("nothing", {}, null),
    ];
    expect(await (await post(calls)).json()).toMatchObject([
      { id: "a", result: { skills: [{}] } },
      { id: null, error: { code: -32600 } },
      { id: null, error: { code: -32601 } },
    ]);
  });

  it("invalid JSON gets an error with status 200", async () => {
    const answer = await post("{");
    expect([answer.status, await answer.json()]).toMatchObject([200, { id: null, error: { code: -32700 } }]);
  });
});

describe("discovery", () => {
  it("lists the skills whose names follow the rules, with the digests of the content at their addresses", async () => {
    const index = new URL("/.well-known/agent-skills/index.json", service.url);
    const { skills } = (await (await fetch(index)).json()) as { skills: Record<string, string>[] };
    const plain = skills.find(({ name }) => name === "plain");
    const digest = `sha256:${createHash("sha256").update(PLAIN).digest("hex")}`;
    const url = "/.well-known/agent-skills/plain/SKILL.md";
    expect(plain).toEqual({ name: "plain", type: "skill-md", description: "Plain advice", url, digest });
    const answer = await fetch(new URL(url, index));
    expect([answer.headers.get("content-type"), await answer.text()]).toEqual(["text/markdown; charset=utf-8", PLAIN]);
    expect(skills.map(({ name }) => name)).not.toContain("test.slow");
  });
});

describe("the command", () => {
  it("requires the token of --token-env", async () => {
    const guarded = await startService(["--token-env", "SERVE_TOKEN"], { SERVE_TOKEN: "a-long-token" });
    const status = async (headers: object) =>
      (await post(request("list_skills"), { url: guarded.url, headers })).status;
    expect(await status({})).toBe(401);
    expect(await status({ authorization: "Bearer another" })).toBe(401);
    expect(await status({ authorization: "Bearer a-long-token" })).toBe(200);
    expect((await fetch(`${guarded.url}/.well-known/agent-skills/index.json`)).status).toBe(401);
    expect((await fetch(`${guarded.url}/health`)).status).toBe(200);
    guarded.child.kill("SIGTERM");
    expect((await guarded.ended).code).toBe(0);
    expect(guarded.leftovers()).toEqual([]);
  });

  it("reports ignored keys of the project's files and ignored flags, and with --quiet nothing else", async () => {
    const files = { ".skillflow.yml": "mcpServers: { board: { url: http://127.0.0.1:9/mcp } }\n" };
    const taking = packageFiles({ name: "git.log" });
    const flags = ["--quiet", "--trust-skill", "git-", "--skills", "elsewhere"];
    const served = await startService(flags, {}, { ...files, ...taking });
    served.child.kill("SIGTERM");
    const { stderr } = await served.ended;
    expect(stderr).toContain("mcpServers.board.url is ignored");
    expect(stderr).toContain("elsewhere");
    expect(stderr).toContain("--trust-skill git-: no skill has this id");
    expect(stderr).toContain("the skill git.log hides the tool git.log of the skill git");
    expect(stderr).not.toContain("serving");
  });

  it.each<[string, readonly string[], number, RegExp]>([
    ["beyond this machine without a token", ["--host", "0.0.0.0"], 3, /needs a token[\s\S]*--token-env/],
    ["with a token that is not set", ["--token-env", "NOT_SET"], 3, /NOT_SET is not set/],
    ["on a port that is none", ["--port", "70000"], 2, /--port takes a number/],
    ["on a port that is taken", ["--port", port], 4, /cannot listen on 127\.0\.0\.1:\d+[\s\S]*--port/],
  ])("does not serve %s", async (_, args, code, message) => {
    const cwd = makeProject({ "tmp/.keep": "" });
    const ended = await runHere(["serve", ...args], { cwd, env: { TMPDIR: join(cwd, "tmp") } });
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(message) });
    expect(readdirSync(join(cwd, "tmp"))).toEqual([".keep"]);
  });
});

it("the temporary files of a killed service are deleted once another program starts", async () => {
  const other = await startService([]);
  const temporary = join(other.cwd, "tmp");
  mkdirSync(join(temporary, "skillflow-of-somebody"));
  other.child.kill("SIGKILL");
  await other.ended;
  expect([...other.leftovers()].sort()).toEqual([
    "skillflow-of-somebody",
    expect.stringMatching(/^skillflow-serve-\d+@/),
  ]);
  await runProgram(["skills", "list"], { cwd: other.cwd, env: { TMPDIR: temporary } });
  expect(other.leftovers()).toEqual(["skillflow-of-somebody"]);
});

/** docs/serve.md: its files, its command and its requests with the answers that it shows. */
function readQuickstart() {
  const text = readFileSync(join(import.meta.dirname, "../../docs/serve.md"), "utf8");
  const files = [...text.matchAll(/^`(skills\/\S+)`\n\n```\w+\n([\s\S]*?)^```$/gm)];
  const exchanges = [
    ...text.matchAll(/^curl [^']+'content-type: application\/json' -d '([^']+)'\n```\n\n```json\n([^`]+)```/gm),
  ];
  const [, command = ""] = /^npx --no-install skillflow (serve --.*)$/m.exec(text) ?? [];
  return {
    files: Object.fromEntries(files.map(([, path, content]) => [path, content])),
    command: command.split(" "),
    exchanges: exchanges.map(([, body = "", answer = ""]) => [body, JSON.parse(answer)] as const),
  };
}

it.skipIf(!runsPython)("the quickstart of the documentation has the documented answers", async () => {
  const { files, command, exchanges } = readQuickstart();
  expect([Object.keys(files).length, exchanges.length]).toEqual([3, 6]);
  const other = await startService(command.slice(1), {}, files);
  for (const [body, answer] of exchanges) {
    const told = await (await post(body, { url: other.url })).json();
    expect(told).toEqual(withAnyRun(answer));
  }
  other.child.kill("SIGINT");
  expect((await other.ended).code).toBe(0);
});

function withAnyRun(answer: { readonly result: { readonly run_id?: string } }) {
  if (answer.result.run_id === undefined) return answer;
  return { ...answer, result: { ...answer.result, run_id: expect.stringMatching(/^run_[0-9a-f]+$/) } };
}
