import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { oneOf } from "../harness/long.ts";
import { isolatingSandboxes } from "../sandbox/isolating.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, resultOf } from "./program.ts";

const it = oneOf(6);

/** The count-words example of the Skill Tools document, in a project, with the built program. */

const sandbox = isolatingSandboxes.find(([, , works]) => works)?.[1];
const hasPython = sandbox !== undefined && (await hasProgram("python3"));

async function hasProgram(program: string): Promise<boolean> {
  const limits = { wallMs: 20_000, outputBytes: 1000 };
  const signal = new AbortController().signal;
  const command = { stdin: "", env: {}, mounts: [], cwd: "/", network: false, limits, signal };
  const result = await sandbox?.run({ ...command, argv: [program, "--version"] }).catch(() => undefined);
  return result?.code === 0;
}

const SKILL = `---
name: count-words
description: Counts the words of a text.
---

# Count words

Call the tool with the whole text.
`;

const TOOLS = [
  {
    name: "count_words",
    description: "Count the words of a text",
    script: "scripts/count_words.js",
    parameters: { text: { type: "string", description: "The text" } },
  },
];

const JAVASCRIPT = `export default async function handler(args) {
  const { text } = args;
  const words = text.trim().split(/\\s+/).filter(Boolean);
  return { count: words.length };
}
`;

const PYTHON = `def handler(args):
    text = args.get("text", "")
    words = text.split()
    return {"count": len(words)}
`;

const PYTHON_AS_SCRIPT = `import json, sys

def handler(args):
    work_dir = args.get("__workDir")
    text = args.get("text", "")
    words = text.split()
    return {"count": len(words)}

if __name__ == "__main__":
    args = json.loads(sys.argv[1]) if len(sys.argv) > 1 else json.load(sys.stdin)
    print(json.dumps(handler(args)))
`;

const WORKFLOW = {
  id: "words",
  name: "Words",
  entry: "count",
  nodes: { count: { name: "Count", instruction: "Count the words.", skills: ["count-words"] } },
  edges: [],
};

const CALL = { tool: "count_words", input: { text: "one two  three" } };

/** Runs one node whose model makes this call, in a project with this skill. */
async function runWith(parts: {
  readonly files?: Readonly<Record<string, unknown>>;
  readonly call?: object;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}) {
  const cwd = makeProject({
    "w.yml": WORKFLOW,
    "script.json": { replies: [{ calls: [parts.call ?? CALL] }, { text: "Counted." }] },
    "skills/count-words/SKILL.md": SKILL,
    "skills/count-words/tools.json": TOOLS,
    "skills/count-words/scripts/count_words.js": JAVASCRIPT,
    ...parts.files,
  });
  const args = ["run", "w.yml", "--model", "script:script.json", "--json", "--run-id", "r"];
  const ended = await runHere([...args, ...(parts.args ?? ["--trust-skill", "count-words"])], {
    cwd,
    ...(parts.env ? { env: parts.env } : {}),
  });
  expect(ended.code, ended.stderr).toBe(0);
  const result = resultOf(ended);
  return { cwd, ended, result, call: result.results.count?.toolCalls[0], events: readEvents(cwd, "r") };
}

const script = (name: string, text: string) => ({
  "skills/count-words/tools.json": [{ ...TOOLS[0], script: `scripts/${name}` }],
  [`skills/count-words/scripts/${name}`]: text,
});

describe.skipIf(!sandbox)("the count-words example (skipped if no sandbox works)", () => {
  it("counts, and the trace shows the call and its result", async () => {
    const { call, events, result } = await runWith({});
    expect(call).toMatchObject({ ...CALL, output: { count: 3 } });
    expect(result.degraded).toEqual([]);
    expect(events.find((event) => event.type === "tool:call")).toMatchObject(CALL);
    expect(events.find((event) => event.type === "tool:result")).toMatchObject({ output: { count: 3 } });
  });

  it.each([["commonjs"], ["module"]])("counts in a project whose package.json contains type %s", async (type) => {
    const { call } = await runWith({ files: { "package.json": { type } } });
    expect(call).toMatchObject({ output: { count: 3 } });
  });

  it.skipIf(!hasPython).each([
    ["without a __main__ block", PYTHON],
    ["with one", PYTHON_AS_SCRIPT],
  ])("counts in Python %s (skipped without python3)", async (_, text) => {
    expect((await runWith({ files: script("count_words.py", text) })).call).toMatchObject({ output: { count: 3 } });
  });

  it("counts in TypeScript and as a shell script", async () => {
    const typescript = "export default ({ text }: { text: string }): number => text.split(/\\s+/).length;";
    expect((await runWith({ files: script("count_words.ts", typescript) })).call).toMatchObject({ output: 3 });
    expect((await runWith({ files: script("count_words.sh", "wc -w") })).call).toMatchObject({ output: 3 });
  });

  it("checks its input before anything runs", async () => {
    const touching = "import { writeFileSync } from 'node:fs'; writeFileSync('ran', ''); export default () => 1;";
    const call = { tool: CALL.tool, input: { text: 7 } };
    const { call: made, cwd } = await runWith({ call, files: script("count_words.js", touching) });
    expect(made?.error).toContain("invalid input: text must be string");
    expect(existsSync(join(cwd, "ran"))).toBe(false);
  });

  const writing = (place: string) => `import { writeFileSync } from "node:fs"; import { join } from "node:path";
    export default ({ __workDir, text }) => {
      writeFileSync(join(process.env.TMPDIR, "scratch"), text);
      writeFileSync(${place}, "yes");
      return 1;
    };`;
  const WRITABLE = ["--trust-skill", "count-words", "--writable-workdir"];

  it("reads the working directory and writes to its scratch folder, and gets an error if it tries to write elsewhere", async () => {
    const files = script("count_words.js", writing('join(__workDir, "written")'));
    const { call, cwd } = await runWith({ files });
    expect(call?.error).toContain("read-only file system");
    expect(call?.error).toContain("writable-workdir");
    expect(existsSync(join(cwd, "written"))).toBe(false);
  });

  it.each<[string, string, string, boolean]>([
    ["a Python file that may not write", "count_words.py", 'def handler(a):\n  open("written", "w")\n', true],
    [
      "a message about another file system",
      "count_words.js",
      'export default () => { throw new Error("EROFS"); };',
      false,
    ],
  ])("names the option by the error's code: %s", async (_, file, text, isNamed) => {
    const { call } = await runWith({ files: script(file, text) });
    expect(call?.error).toMatch(/EROFS|Read-only/);
    expect(call?.error?.includes("writable-workdir")).toBe(isNamed);
  });

  const THROWS = 'export default () => { throw Object.assign(new Error("no such room"), { acted: "no" }); };';
  const RAISES = 'class Refused(Exception):\n  acted = "no"\n\ndef handler(a):\n  raise Refused("no such room")\n';

  it.each([
    ["count_words.js", THROWS, "no"],
    ["count_words.py", RAISES, "no"],
    ["count_words.sh", `echo '{"error": "no such room", "acted": "no"}'; exit 1`, "no"],
    ["count_words.js", 'export default () => { throw new Error("no such room"); };', "unknown"],
    ["count_words.sh", `echo '{"error": "no such room"}'; exit 1`, "unknown"],
  ])("states by its error whether it may have written: %s", async (file, text, acted) => {
    const { events } = await runWith({ files: script(file, text) });
    const result = events.find(({ type }) => type === "tool:result");
    expect(result).toMatchObject({ error: expect.stringContaining("no such room"), acted });
  });

  it("may write to the working directory with --writable-workdir, and not to its own folder", async () => {
    const files = script("count_words.js", writing('join(__workDir, "written")'));
    const { call, cwd } = await runWith({ files, args: WRITABLE });
    expect(call).toMatchObject({ output: 1 });
    expect(readFileSync(join(cwd, "written"), "utf8")).toBe("yes");
    const own = await runWith({
      files: script("count_words.js", writing('new URL("own", import.meta.url)')),
      args: WRITABLE,
    });
    expect(own.call?.error).toContain("read-only file system");
    for (const name of [".git", ".github", ".claude", "node_modules"])
      expect(existsSync(join(own.cwd, name))).toBe(false);
  });

  it("that throws or loops forever fails its call, and the run continues", async () => {
    const throwing = await runWith({
      files: script("count_words.js", "export default () => { throw new Error('no'); };"),
    });
    expect(throwing.call?.error).toBe("no");
    const looping = await runWith({
      files: script("count_words.js", "export default () => { for (;;); };"),
      args: ["--trust-skill", "count-words", "--tool-timeout", "2s"],
    });
    expect(looping.call?.error).toBe("the call took longer than 2 s");
  });

  it("sees the variables that it declares and those that are passed to it, and no other", async () => {
    const declaring = SKILL.replace("\n---\n", "\nconfig:\n  key: { description: Key, env: WORDS_KEY }\n---\n");
    const files = {
      "skills/count-words/SKILL.md": declaring,
      ...script("count_words.js", "export default () => Object.keys(process.env).sort();"),
    };
    const env = { WORDS_KEY: "key-canary-1", HANDED: "handed-canary-2", OTHER: "other", NODE_OPTIONS: "--no-warnings" };
    const args = ["--trust-skill", "count-words", "--skill-env", "count-words=HANDED"];
    const { call } = await runWith({ files, env, args });
    expect(call?.output).toEqual(["HANDED", "HOME", "LANG", "PATH", "TMPDIR", "WORDS_KEY"]);
  });

  it("cannot show a secret that it declares", async () => {
    const declaring = SKILL.replace("\n---\n", "\nconfig:\n  key: { description: Key, env: WORDS_KEY }\n---\n");
    const telling =
      "export default () => { console.log(process.env.WORDS_KEY); throw new Error(process.env.WORDS_KEY); };";
    const files = { "skills/count-words/SKILL.md": declaring, ...script("count_words.js", telling) };
    const { call, ended } = await runWith({ files, env: { WORDS_KEY: "key-canary-1" } });
    expect(call?.error).toBe("[redacted:key]");
    expect(ended.stdout + ended.stderr).not.toContain("key-canary-1");
  });
});

describe("without trust", () => {
  it("the tool is not offered, the instruction is, and the result gives the reason", async () => {
    const { call, ended, result, events, cwd } = await runWith({ args: [] });
    expect(call?.error).toContain("no tool is named count_words");
    expect(result.degraded).toEqual([
      {
        skill: "count-words",
        partial: true,
        node: "count",
        reason: expect.stringContaining("--trust-skill count-words"),
      },
      { node: "count", ref: "r1", reason: expect.stringContaining("its only call failed") },
    ]);
    expect(ended.stderr).toContain("--trust-skill count-words");
    expect(events.length).toBeGreaterThan(0);
    const record = readFileSync(join(cwd, ".skillflow/runs/r.jsonl"), "utf8").split("\n")[0] ?? "";
    expect(JSON.parse(record)).toMatchObject({
      skills: [{ id: "count-words", instruction: expect.stringContaining("Call the tool"), tools: [] }],
    });
  });

  it("a tool without a script is offered all the same", async () => {
    const files = { "skills/count-words/tools.json": [{ name: "count_words", description: "Counts" }] };
    const { call, result } = await runWith({ files, args: [] });
    expect(call?.output).toContain('the skill_name "count-words"');
    expect(result.degraded).toEqual([]);
  });

  it("a malformed manifest removes the tools, but does not stop the run", async () => {
    const { call, result } = await runWith({ files: { "skills/count-words/tools.json": "[{]" } });
    expect(result.status).toBe("succeeded");
    expect(call?.error).toContain("no tool is named");
  });
});
