import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect } from "vitest";
import { type Loopback, startLoopback } from "../../src/testing.ts";
import { oneOf } from "../harness/long.ts";
import { isolatingSandboxes } from "../sandbox/isolating.ts";
import { type ChatRequest, startChat } from "../services/chat.ts";
import type { ModelService, Scripted } from "../services/script.ts";
import { scriptOf } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, resultOf } from "./program.ts";

const it = oneOf(4);

/** The skill `code`, against the built program. */

const FLOW = `
id: counting
name: Counting
entry: count
nodes:
  count: { name: Count, instruction: Count the errors by service., skills: [code, desk], effects: read }
edges: []
`;
const call = (code: string, more: object = {}) => ({
  node: "count",
  calls: [{ tool: "code_run_code", input: { language: "python", code, ...more } }],
});
const DONE = { node: "count", text: "done" };
const projectOf = (replies: readonly object[], files: Readonly<Record<string, unknown>> = {}) =>
  makeProject({ "flow.yml": FLOW, "script.yml": scriptOf(...replies, DONE), ...files });
const RUN = ["run", "flow.yml", "--model", "script:script.yml", "--json"];
const callsOf = (ended: Parameters<typeof resultOf>[0]) =>
  (resultOf(ended).results.count?.toolCalls ?? []).map(({ output, error }) => error ?? output);

const isolates = isolatingSandboxes.some(([, , works]) => works);
/** Whether this machine's sandbox has a Python to run. */
const runsPython =
  isolates && !String(callsOf(await runHere(RUN, { cwd: projectOf([call("def main(): pass")]) }))[0]).includes("Error");

const open: (Loopback | ModelService)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((service) => service.close()));
});

describe("the skill code", () => {
  it("is listed without any access to this machine", async () => {
    const { stdout } = await runHere(["skills", "list", "--json"], {
      cwd: makeProject(),
      env: { PATH: "/nowhere" },
    });
    const { skills } = JSON.parse(stdout) as { skills: { id: string }[] };
    expect(skills.find(({ id }) => id === "code")).toMatchObject({
      available: true,
      source: { kind: "builtin", path: null, priority: 0, trusted: true },
      tools: [{ name: "run_code", exposed: "code_run_code", effect: "read" }],
    });
  });

  it("rejects input that does not fit the protocol's parameters", async () => {
    const project = projectOf([
      call("x", { language: "bash" }),
      call("x", { args: [] }),
      call("x", { mount_skills: "a" }),
    ]);
    const ended = await runHere(RUN, { cwd: project });
    expect(ended.code).toBe(0);
    for (const error of callsOf(ended)) expect(error).toMatch(/^invalid input/);
  });

  it("rejects a blob that no result named, and packages that are missing, malformed or untrusted", async () => {
    const id = `blob:${"0".repeat(32)}`;
    const mounts = ["no.such.package", "logs", "text.words.count"];
    const project = projectOf(
      [call("x", { input_blobs: [id] }), ...mounts.map((name) => call("x", { mount_skills: [name] }))],
      PACKAGE,
    );
    expect(callsOf(await runHere(RUN, { cwd: project, env: { COUNT_TOKEN: "a token" } }))).toEqual([
      `no result of this run named the blob ${id}`,
      expect.stringContaining("skill no.such.package cannot be mounted"),
      "skill logs cannot be mounted: it has no Python function",
      expect.stringContaining("skill text.words.count cannot be mounted: its code is not trusted: --trust-skill"),
    ]);
  });
});

const PACKAGE = {
  "skills/text-words-count/skill.toml": `name = "text.words.count"
version = "1.0.0"
description = "Counts words"
kind = "action"
[runtime]
language = "python"
entrypoint = "code/main.py"
export = "main"
[permissions]
secrets = ["COUNT_TOKEN"]
`,
  "skills/text-words-count/SKILL.md": "---\nname: Words\nshort_description: Counts words\n---\nCounts.",
  "skills/text-words-count/code/main.py":
    "import os\ndef main(args):\n    return [len(args['text'].split()), os.environ.get('COUNT_TOKEN')]\n",
};

describe.skipIf(!runsPython)("code (needs a sandbox that isolates, and Python)", () => {
  it("returns JSON, prints to the log, and fails with its error and what it printed", async () => {
    const project = projectOf([
      call("def main(args):\n    print('halfway')\n    return {'sum': args['a'] + 2}", { args: { a: 40 } }),
      call("def other(): return [1.5, None, 'ü']", { entrypoint: "other" }),
      call("def main(args):\n    print('so far')\n    raise ValueError('no sum')"),
      call("def main(args: return 1"),
      call("x = 1"),
      call("def main():\n    while True: pass", { limits: { timeout_ms: 700 } }),
    ]);
    const ended = await runHere(RUN, { cwd: project });
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).toContain("code: halfway");
    expect(callsOf(ended)).toEqual([
      { sum: 42 },
      [1.5, null, "ü"],
      expect.stringMatching(/^ValueError: no sum\nWhat it printed:\nso far\nTraceback/),
      expect.stringContaining("SyntaxError: "),
      expect.stringContaining("there is no function main to call"),
      "TimeoutError: the code took longer than 700 ms",
    ]);
  });

  it("imports packages that the operator trusts, without their secrets", async () => {
    const code = "from skills.text.words.count import main as count\ndef main(args): return count(args)";
    const project = projectOf([call(code, { args: { text: "a b c" }, mount_skills: ["text.words.count"] })], PACKAGE);
    const env = { COUNT_TOKEN: "canary-of-the-package" };
    const ended = await runHere([...RUN, "--trust-skill", "text.words.count"], { cwd: project, env });
    expect(callsOf(ended)).toEqual([[3, null]]);
  });

  it("cannot reach or leave anything outside, and the run continues", async () => {
    const service = await startLoopback((_, response) => void response.end("reached"));
    open.push(service);
    const project = projectOf([]);
    const canary = join(project, "canary.txt");
    const attempts = [
      `import urllib.request\ndef main(): return urllib.request.urlopen("${service.url}", timeout=5).read().decode()`,
      `def main(): return open(${JSON.stringify(canary)}).read()`,
      `def main(): return open(${JSON.stringify(join(project, "written.txt"))}, "w").write("x")`,
      "import os\ndef main():\n    while True: os.fork()",
      "def main():\n    while True: pass",
      "def main(): return 'x' * (3 * 1024 ** 3)",
      "import sys\ndef main():\n    while True: print('x' * 100000)",
    ].map((code) => call(code, { limits: { timeout_ms: code.endsWith("pass") ? 700 : 2000 } }));
    const environment = call("import os\ndef main(): return sorted(os.environ)");
    const others = call(
      "import os\ndef main(): return [open(f'/proc/{p}/environ').read() for p in os.listdir('/proc') if p.isdigit()]",
    );
    writeFileSync(canary, "canary-of-a-file");
    writeFileSync(join(project, "script.yml"), JSON.stringify(scriptOf(...attempts, environment, others, DONE)));
    const before = readdirSync(project).sort();
    const env = { GITHUB_TOKEN: "canary-of-the-environment" };
    const ended = await runHere([...RUN, "--store", join(makeProject(), "runs")], { cwd: project, env });
    expect(ended.code, ended.stderr).toBe(0);
    const answers = callsOf(ended);
    for (const answer of answers.slice(0, attempts.length)) expect(answer).toMatch(/Error: /);
    expect(answers.at(-2)).not.toContain("GITHUB_TOKEN");
    expect(ended.stdout + ended.stderr).not.toContain("canary-of");
    expect(readdirSync(project).sort()).toEqual(before);
    expect(resultOf(ended).results.count?.data).toEqual({ summary: "done" });
  }, 60_000);
});

describe.skipIf(!runsPython)("a log of 20 MB (needs a sandbox that isolates, and Python)", () => {
  const SERVICES = ["orders", "cart", "mail"];
  const LINE = "2026-11-20T03:14:07Z INFO orders: request served in 12 ms, status 200\n";

  /** With one error for orders, two for cart, three for mail. */
  function hugeLog(): string {
    const lines = Array<string>(Math.ceil((20 * 1024 * 1024) / LINE.length)).fill(LINE);
    const errors = SERVICES.flatMap((service, index) => Array<string>(index + 1).fill(service));
    for (const [at, service] of errors.entries())
      lines[(at + 1) * 40_000] = `2026-11-20T03:15:00Z ERROR ${service}: broken\n`;
    return lines.join("");
  }

  const COUNT = `
from collections import Counter
def main(args):
    lines = runtime.blobs.read_text(args["log"]).splitlines()
    return Counter(line.split()[2].rstrip(":") for line in lines if " ERROR " in line)
`;

  /** Answers of a model that saw only the beginning of the log. */
  function countErrors(address: string) {
    return (body: ChatRequest): Scripted => {
      const answers = body.messages.flatMap((message) => (message.role === "tool" ? [message.content] : []));
      const last = JSON.parse(answers.at(-1)?.replace(/^\[r\d+\]\n/, "") ?? "null") as { blob_id?: string } | null;
      if (!last) return { calls: [{ tool: "desk_fetch", input: { text: address } }] };
      if (!last.blob_id) return { text: JSON.stringify(last) };
      const input = { language: "python", code: COUNT, args: { log: last.blob_id }, input_blobs: [last.blob_id] };
      return { calls: [{ tool: "code_run_code", input }] };
    };
  }

  it("is counted by code, is not part of any prompt, and is replayed without Python", async () => {
    const log = hugeLog();
    const service = await startLoopback((_, response) => void response.end(log));
    const model = await startChat(countErrors(`${service.url}/orders.log`));
    open.push(service, model);
    const project = makeProject({ "flow.yml": FLOW });
    const args = ["run", "flow.yml", "--model", "openai-compatible:test", "--json", "--run-id", "r1"];
    const ended = await runHere(args, { cwd: project, env: { OPENAI_BASE_URL: model.url } });
    expect(ended.code, ended.stderr).toBe(0);
    const counted = { orders: 1, cart: 2, mail: 3 };
    expect(callsOf(ended)[1]).toEqual(counted);
    expect(JSON.parse(String(resultOf(ended).results.count?.data.summary))).toEqual(counted);
    const [first = 0, , last = 0] = model.sizes;
    expect(model.sizes).toHaveLength(3);
    expect(last - first).toBeLessThan(8000);

    rmSync(join(project, ".skillflow/runs/r1.blobs"), { recursive: true });
    const replay = await runHere(["replay", "r1", "--json"], { cwd: project, env: { PATH: "/nowhere" } });
    expect(replay.code, replay.stderr).toBe(0);
    expect(callsOf(replay)[1]).toEqual(counted);
  });
});
