import { chmodSync, existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect } from "vitest";
import { SkillflowError } from "../../../src/core/base/errors.ts";
import type { Json, JsonObject } from "../../../src/core/base/values.ts";
import type { ForeignCommand } from "../../../src/core/skill/sandbox.ts";
import type { LoaderHost } from "../../../src/loaders/folder/host.ts";
import { callScript, declaredEnv, type Script, type ScriptCall } from "../../../src/loaders/programs/script-handler.ts";
import { livingProcess } from "../../../src/sandbox/processes.ts";
import { oneOf, spreadOf } from "../../harness/long.ts";
import { foreignHost, hasPython, makeFolder } from "../foreign.ts";

const test = oneOf(3);

interface Parts {
  readonly input?: JsonObject;
  readonly files?: Readonly<Record<string, unknown>>;
  readonly call?: Partial<ScriptCall>;
  readonly script?: Partial<Script>;
  readonly host?: Partial<LoaderHost>;
}

/** Runs a script with this text and returns its result. */
function run(file: string, text: string, { input = {}, files = {}, call, script, host }: Parts = {}): Promise<Json> {
  const directory = makeFolder({ [file]: text, ...files });
  return callScript({ ...foreignHost, ...host }, { directory, file, ...script }, input, {
    env: {},
    workDir: makeFolder(),
    signal: new AbortController().signal,
    ...call,
  });
}
const failure = async (promise: Promise<Json>): Promise<string> => {
  const error = await promise.then(
    (value) => new Error(`it gave ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown as Error,
  );
  return error.message;
};

describe("a JavaScript handler", () => {
  test("receives its input and returns its result", async () => {
    const text = "export default async function handler(args) { return { count: args.text.split(' ').length, args }; }";
    expect(await run("h.js", text, { input: { text: "a b" } })).toEqual({ count: 2, args: { text: "a b" } });
  });

  test("receives the working directory if its format requires it, and starts in it", async () => {
    const workDir = makeFolder();
    const text = "export default (args) => [args.__workDir, process.cwd()];";
    const call = { workDir, withWorkDir: true };
    expect(await run("h.js", text, { call, input: { __workDir: "/elsewhere" } })).toEqual([workDir, workDir]);
    expect(await run("h.js", "export default (args) => args;")).toEqual({});
  });

  test.each([["commonjs"], ["module"], [undefined]])(
    "is an ES module if package.json contains type %s",
    async (type) => {
      const files = {
        "package.json": { type },
        "scripts/lib.js": "import { sep } from 'node:path';\nexport const two = 2; export { sep };",
        "scripts/old.cjs": "module.exports = { three: 3 };",
      };
      const text = "import { two } from './lib.js'; import old from './old.cjs'; export default () => two + old.three;";
      expect(await run("scripts/h.js", text, { files })).toBe(5);
    },
  );

  test("may import a neighbour that is CommonJS by its package.json", async () => {
    const files = { "package.json": { type: "commonjs" }, "lib.js": "module.exports = { three: 3 };" };
    expect(await run("h.js", "import lib from './lib.js'; export default () => lib.three;", { files })).toBe(3);
  });

  test("may export several handlers by name", async () => {
    const script = { export: "second" };
    expect(await run("h.mjs", "export const first = () => 1; export const second = () => 2;", { script })).toBe(2);
  });

  test.each(
    spreadOf<[string, Json]>(
      [
        ["undefined", null],
        ["null", null],
        ["'text'", "text"],
        ["0", 0],
        ["false", false],
        ["NaN", null],
        ["[NaN, Infinity, undefined]", [null, null, null]],
        ["({ a: undefined, b: new Date(0) })", { b: "1970-01-01T00:00:00.000Z" }],
        ["'\\u2028\\n\\ud83d\\ude00 é'", "\u2028\n😀 é"],
        ["Promise.resolve([1])", [1]],
      ],
      4,
    ),
  )("that returns %s results in %j", async (expression, value) => {
    expect(await run("h.js", `export default () => ${expression};`)).toEqual(value);
  });

  test.each(
    spreadOf(
      [
        ["() => 1", "the result is not JSON: a function is not JSON"],
        ["({ a: [() => 1] })", 'the result is not JSON: a function at "0" is not JSON'],
        ["10n", "the result is not JSON: a bigint is not JSON"],
        ["Symbol('x')", "the result is not JSON: a symbol is not JSON"],
        ["(() => { const a = {}; a.a = a; return a; })()", "the result is not JSON: it refers to itself"],
        ["({ toJSON() { throw new Error('not me'); } })", "the result is not JSON: not me"],
        ["JSON.parse('['.repeat(900) + ']'.repeat(900))", "nested too deeply"],
      ],
      3,
    ),
  )("that returns %s fails clearly", async (expression, message) => {
    expect(await failure(run("h.js", `export default () => ${expression};`))).toContain(message);
  });

  test.each(
    spreadOf(
      [
        ["throw new Error('no such city');", "no such city"],
        ["throw 'plain text';", "plain text"],
        ["throw { message: 'an object' };", "an object"],
        ["throw { code: 7 };", 'it threw {"code":7}'],
        ["throw undefined;", "it threw undefined"],
        ["throw new TypeError('fetch failed', { cause: new Error('why') });", "fetch failed: why"],
        ["await Promise.reject(new TypeError('late'));", "late"],
        ["setTimeout(() => { throw new Error('behind its back'); }); await new Promise(() => {});", "behind its back"],
        ["await new Promise(() => {});", "it waits for something that never happens"],
      ],
      3,
    ),
  )("%s: the message is the error", async (body, message) => {
    expect(await failure(run("h.js", `export default async () => { ${body} };`))).toBe(message);
  });

  test("an error without a message shows where it was thrown", async () => {
    expect(await failure(run("h.js", "export default () => { throw new RangeError(); };"))).toMatch(
      /^RangeError\n.*h\.js/,
    );
  });

  test.each(
    spreadOf(
      [
        ["export const other = 1;", "it has no default export that is a function (it exports: other)"],
        ["export default { handler() {} };", "it has no default export that is a function (it exports: default)"],
        ["1;", "it has no default export that is a function (it exports: nothing)"],
        ["export default (", "Unexpected end of input"],
        ["import './nowhere.js';", "nowhere.js"],
      ],
      2,
    ),
  )("a file that reads %s fails clearly", async (text, message) => {
    expect(await failure(run("h.js", text))).toContain(message);
  });

  test("may print anything", async () => {
    const text = `
      import { spawnSync } from "node:child_process"; import { writeSync } from "node:fs";
      export default () => {
        console.log('{"result":"forged"}'); process.stdout.write("half a line"); writeSync(1, "more {");
        spawnSync(process.execPath, ["-e", "console.log('inherited')"], { stdio: "inherit" });
        return "real";
      };`;
    expect(await run("h.js", text)).toBe("real");
  });

  test("is started again for every call", async () => {
    const directory = makeFolder({ "h.js": "let n = 0; export default () => ++n;" });
    const call = { env: {}, workDir: directory, signal: new AbortController().signal };
    const next = () => callScript(foreignHost, { directory, file: "h.js" }, {}, call);
    expect([await next(), await next()]).toEqual([1, 1]);
    writeFileSync(join(directory, "h.js"), "export default () => 'changed';");
    expect(await next()).toBe("changed");
  });

  test("accepts and returns a megabyte", async () => {
    const text = "x".repeat(1024 * 1024);
    expect(await run("h.js", "export default (args) => args;", { input: { text } })).toEqual({ text });
  });

  test("does not wait for open handles", async () => {
    expect(await run("h.js", "export default () => { setInterval(() => {}, 1000); return 1; };")).toBe(1);
  });

  test("sees the minimal environment and declared variables, nothing else", async () => {
    process.env.SCRIPT_TEST_PARENT = "parent";
    const call = { env: { DECLARED: "yes" } };
    const names = await run("h.js", "export default () => process.env;", { call });
    delete process.env.SCRIPT_TEST_PARENT;
    const { DECLARED, ...rest } = names as Record<string, string>;
    expect(DECLARED).toBe("yes");
    expect(Object.keys(rest).sort()).toEqual(["HOME", "LANG", "PATH", "TMPDIR"]);
  });
});

describe("a TypeScript handler", () => {
  test.each(spreadOf([["commonjs"], ["module"], [undefined]], 1))(
    "runs if package.json contains type %s",
    async (type) => {
      const files = { "package.json": { type }, "lib.ts": "export enum Size { Small = 1, Big }" };
      const text = `
      import { Size } from "./lib.ts";
      interface Args { readonly n: number }
      export const named = (args: Args): number => args.n * Size.Big;
      export default async function handler({ n }: Args): Promise<number> { return n + Size.Big; }`;
      expect(await run("h.ts", text, { files, input: { n: 5 } })).toBe(7);
      expect(await run("h.ts", text, { files, input: { n: 5 }, script: { export: "named" } })).toBe(10);
    },
  );

  test("leaves nothing behind in the folder", async () => {
    const directory = makeFolder({ "h.ts": "export default (): number => 1;" });
    const call = { env: {}, workDir: makeFolder(), signal: new AbortController().signal };
    await callScript(foreignHost, { directory, file: "h.ts" }, {}, call);
    expect(readdirSync(directory)).toEqual(["h.ts"]);
  });

  test.each(
    spreadOf(
      [
        ["export default () => { throw new Error('typed'); };", "typed"],
        ["export const a: number = 1;", "it has no default export that is a function"],
        ["export default (: string) => 1;", "h.ts"],
      ],
      1,
    ),
  )("that reads %s fails clearly", async (text, message) => {
    expect(await failure(run("h.ts", text))).toContain(message);
  });
});

describe.skipIf(!hasPython)("a Python handler (skipped without python3)", () => {
  const main = `
if __name__ == "__main__":
    args = json.loads(sys.argv[1]) if len(sys.argv) > 1 else json.load(sys.stdin)
    print(json.dumps(handler(args)))
`;
  const handler = `
import json, sys

def handler(args):
    print("noise")
    return {"count": len(args.get("text", "").split())}
`;
  test.each([
    ["with a __main__ block", handler + main],
    ["without one", handler],
  ])("%s is imported and called", async (_, text) => {
    expect(await run("h.py", text, { input: { text: "a b c" } })).toEqual({ count: 3 });
  });

  test.each([
    ["import json, sys\nprint(json.dumps(json.load(sys.stdin)['n'] + 1))", 2],
    ["import sys\nassert len(sys.argv) == 1\nif __name__ == '__main__':\n    print('[1, \"é\"]')", [1, "é"]],
  ])("without a function is run as a script: %s", async (text, value) => {
    expect(await run("h.py", text, { input: { n: 1 } })).toEqual(value);
  });

  test.each(
    spreadOf(
      [
        ["async def handler(args):\n    return 1", 1],
        ["from lib import handler", 2],
        ["from lib import *", 2],
        ["try:\n    import nothing_like_it\nexcept ImportError:\n    def handler(args):\n        return 3", 3],
        ["handler = lambda args: 4", 4],
        ["def handler(args):\n    pass", null],
        ["import os\ndef handler(args):\n    os.system('echo noise'); return 'é\\n😀'", "é\n😀"],
        ["import os, sys\ndef handler(args):\n    return [os.getcwd() == args['__workDir'], len(sys.argv)]", [true, 1]],
      ],
      3,
    ),
  )("may be written %j", async (text, value) => {
    const files = { "lib.py": "def handler(args):\n    return 2" };
    expect(await run("h.py", text, { files, call: { withWorkDir: true } })).toEqual(value);
  });

  test.each(
    spreadOf(
      [
        ["return float('nan')", "the result is not JSON: it holds NaN or Infinity, which JSON does not have"],
        ["return {'a': [float('inf')]}", "the result is not JSON: it holds NaN or Infinity, which JSON does not have"],
        [
          "return 12345678901234567890",
          "the script h.py returned the number 12345678901234567890, which is not between -(2^53 - 1) and 2^53 - 1: return it as text",
        ],
        ["return {1, 2}", "the result is not JSON: Object of type set is not JSON serializable"],
        ["a = []; a.append(a); return a", "the result is not JSON: it refers to itself"],
        ["raise ValueError('no such city')", "no such city"],
        ["raise ValueError()", "ValueError"],
        ["return args['text']", "KeyError: 'text'"],
        ["return nothing", "NameError: name 'nothing' is not defined"],
        ["import sys; sys.exit(3)", "the script h.py ended with exit code 3"],
        ["import sys; sys.exit('gave up')", "the script h.py ended with exit code 1: gave up"],
        ["import sys; sys.exit(0)", "the script h.py ended without a result"],
        ["import os; os.kill(os.getpid(), 9)", "the script h.py was ended by a signal"],
      ],
      4,
    ),
  )("%s fails clearly", async (body, message) => {
    expect(await failure(run("h.py", `def handler(args):\n    ${body}`))).toBe(message);
  });

  test.each(
    spreadOf(
      [
        ["def handler(args:\n    pass", "SyntaxError"],
        ["import nothing_like_it\ndef handler(args): pass", "No module named 'nothing_like_it'"],
        ["print('half {')", "the script h.py printed text that is not JSON: half {"],
        ["print(float('nan'))", "the script h.py printed text that is not JSON: nan"],
        ["raise ValueError('top')", "ValueError: top"],
      ],
      2,
    ),
  )("a file that reads %j fails clearly", async (text, message) => {
    expect(await failure(run("h.py", text))).toContain(message);
  });

  test("accepts a megabyte, and leaves nothing behind in the folder", async () => {
    const directory = makeFolder({
      "h.py": "import lib\ndef handler(args):\n    return len(args['text'])",
      "lib.py": "",
    });
    const call = { env: {}, workDir: makeFolder(), signal: new AbortController().signal };
    const input = { text: "é".repeat(1024 * 1024) };
    expect(await callScript(foreignHost, { directory, file: "h.py" }, input, call)).toBe(1024 * 1024);
    expect(readdirSync(directory).sort()).toEqual(["h.py", "lib.py"]);
  });
});

describe("a shell script", () => {
  test.each<[string, Json]>([
    ["cat", { n: 1 }],
    ["echo '{\"a\": [1]}'", { a: [1] }],
    ["echo noise >&2; echo '\"text\"'", "text"],
    ["echo $#", 0],
  ])("%s returns its output", async (text, value) => {
    expect(await run("h.sh", text, { input: { n: 1 } })).toEqual(value);
  });

  test.each([
    ["exit 3", "the script h.sh ended with exit code 3"],
    ["echo first >&2; echo second >&2; exit 1", "the script h.sh ended with exit code 1: first\nsecond"],
    ['echo \'{"error": "no such city"}\'; exit 1', "no such city"],
    ["echo plain; exit 1", "the script h.sh ended with exit code 1: plain"],
    ["kill -9 $$", "the script h.sh was ended by a signal"],
    ["true", "the script h.sh ended without a result"],
    ["echo why >&2", "the script h.sh ended without a result: why"],
    ["echo '{\"a\": '", 'the script h.sh printed text that is not JSON: {"a":'],
    ["echo NaN", "the script h.sh printed text that is not JSON: NaN"],
    ["echo 1; echo 2", "the script h.sh printed text that is not JSON: 1\n2"],
  ])("%s fails clearly", async (text, message) => {
    expect(await failure(run("h.sh", text))).toBe(message);
  });

  test("returns its full output: the caller cuts it once it is redacted", async () => {
    const told = await failure(run("h.sh", "yes text | head -c 100000"));
    expect(told).toHaveLength("the script h.sh printed text that is not JSON: ".length + 99_999);
    const many = await failure(run("h.sh", "yes line | head -n 1000 >&2; exit 1"));
    expect(many.split("\n")).toHaveLength(1000);
  });
});

describe("a script of another kind", () => {
  test("is run if it is executable", async () => {
    const directory = makeFolder({ "count.rb": "#!/bin/sh\ncat" });
    chmodSync(join(directory, "count.rb"), 0o755);
    const call = { env: {}, workDir: directory, signal: new AbortController().signal };
    expect(await callScript(foreignHost, { directory, file: "count.rb" }, { n: 1 }, call)).toEqual({ n: 1 });
  });

  test("is refused if it is not executable", async () => {
    await expect(run("count.rb", "puts 1")).rejects.toMatchObject({
      message: "the script count.rb cannot run: it is neither executable nor a .js, .mjs, .ts, .py or .sh file",
      acted: "no",
    });
  });
});

describe("a script's path", () => {
  test.each([
    ["../h.js", "contains `..`"],
    ["scripts/../../h.js", "contains `..`"],
    ["/etc/passwd", "is outside of the directory"],
    ["link.js", "is a link that leads out of the directory"],
    ["folder/h.js", "is a link that leads out of the directory"],
    ["gone.js", "does not exist"],
    ["a\\b.js", "contains a backslash"],
    ["a\0.js", "contains a NUL character"],
  ])("%j is refused when it is called", async (file, message) => {
    const outside = makeFolder({ "h.js": "export default () => 1;" });
    const directory = makeFolder();
    symlinkSync(join(outside, "h.js"), join(directory, "link.js"));
    symlinkSync(outside, join(directory, "folder"));
    const call = { env: {}, workDir: directory, signal: new AbortController().signal };
    const error = await callScript(foreignHost, { directory, file }, {}, call).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining(message), acted: "no" });
  });

  test("is resolved again at every call", async () => {
    const directory = makeFolder({ "h.js": "export default () => 1;" });
    const call = { env: {}, workDir: directory, signal: new AbortController().signal };
    expect(await callScript(foreignHost, { directory, file: "h.js" }, {}, call)).toBe(1);
    rmSync(join(directory, "h.js"));
    symlinkSync(join(makeFolder({ "h.js": "export default () => 2;" }), "h.js"), join(directory, "h.js"));
    expect(await failure(callScript(foreignHost, { directory, file: "h.js" }, {}, call))).toContain("leads out");
  });
});

describe("a hostile handler", () => {
  const until = (file: string, started: string, text: string) => {
    const stop = new AbortController();
    const workDir = makeFolder();
    const promise = run(file, text, { call: { workDir, signal: stop.signal } });
    const stopOnceStarted = async () => {
      while (!existsSync(join(workDir, started))) await setTimeout(2);
      stop.abort(new Error("the call took longer than 1 s"));
    };
    return { promise, workDir, stopOnceStarted };
  };

  test.each([
    [
      "h.js",
      "import { writeFileSync } from 'node:fs'; export default () => { writeFileSync('started', ''); for (;;); };",
    ],
    ["h.sh", "touch started; while :; do :; done"],
    ["h.sh", "trap '' TERM INT; touch started; while :; do :; done"],
  ])("%s that loops forever ends with the call: %s", async (file, text) => {
    const { promise, stopOnceStarted } = until(file, "started", text);
    const [message] = await Promise.all([failure(promise), stopOnceStarted()]);
    expect(message).toBe("the call took longer than 1 s");
  });

  test("does not start when the call was aborted already", async () => {
    const workDir = makeFolder();
    const call = { workDir, signal: AbortSignal.abort(new Error("over")) };
    expect(await failure(run("h.sh", "touch started", { call }))).toBe("over");
    expect(readdirSync(workDir)).toEqual([]);
  });

  test("leaves no child behind that outlives it", async () => {
    const child =
      "process.title = 'left-behind'; require('fs').writeFileSync('pid', String(process.pid)); setInterval(() => {}, 1000);";
    const text = `
      import { spawn } from "node:child_process"; import { existsSync, readFileSync } from "node:fs";
      export default async () => {
        spawn(process.execPath, ["-e", ${JSON.stringify(child)}], { detached: true, stdio: "ignore" }).unref();
        while (!existsSync("pid") || readFileSync("pid", "utf8") === "") await new Promise((done) => setTimeout(done, 5));
        return Number(readFileSync("pid", "utf8"));
      };`;
    const pid = (await run("h.mjs", text)) as number;
    expect(pid).toBeGreaterThan(1);
    expect(livingProcess(pid)).toBeUndefined();
  });

  test.each(
    spreadOf(
      [
        [
          "h.js",
          "export default () => { for (let n = 0; n < 100; n++) console.log('x'.repeat(1e6)); return 'done'; };",
        ],
        ["h.sh", "yes | head -c 100000000; echo '1'"],
        ["h.js", "export default () => 'x'.repeat(1e8);"],
      ],
      1,
    ),
  )("%s that prints 100 MB gets an error, or its output is discarded: %s", async (file, text) => {
    const outcome = await run(file, text).catch((error: Error) => error.message);
    expect([`the script ${file} printed more than 10 MB`, "done"]).toContain(outcome);
  });

  test("that never reads its input ends normally", async () => {
    expect(await run("h.sh", "exec <&-; echo 1", { input: { text: "x".repeat(1024 * 1024) } })).toBe(1);
  });

  test.each(
    spreadOf(
      [
        ["process.exit(3);", "the script h.js ended with exit code 3"],
        ["process.exit(0);", "the script h.js ended without a result"],
        ["process.kill(process.pid, 'SIGKILL');", "the script h.js was ended by a signal"],
        ["process.abort();", "the script h.js was ended by a signal"],
        ["process.stderr.write('half {'); process.exit(1);", "the script h.js ended with exit code 1: half {"],
      ],
      2,
    ),
  )("a handler that does %s fails clearly", async (body, message) => {
    expect(await failure(run("h.js", `export default () => { ${body} };`))).toContain(message);
  });
});

describe("the child process", () => {
  async function commandOf(file: string, call: Partial<ScriptCall> = {}, files = {}): Promise<ForeignCommand> {
    let seen: ForeignCommand | undefined;
    const host: Partial<LoaderHost> = {
      runForeign: async (command) => {
        seen = command;
        return { ended: "exit", code: 0, stdout: "1", stderr: "", truncated: false };
      },
    };
    await run(file, "", { host, call, files, input: { secret: "canary" } });
    if (!seen) throw new Error("nothing was run");
    return seen;
  }

  test.each(["no", "unknown"] as const)("that failed reports like its sandbox whether it acted: %s", async (acted) => {
    const failing = new SkillflowError("sandbox.failed", "processes cannot be ended", { acted });
    const host: Partial<LoaderHost> = { runForeign: () => Promise.reject(failing) };
    const error: unknown = await run("h.sh", "", { host }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "sandbox.failed", acted });
  });

  test.each(["h.js", "h.ts", "h.py", "h.sh"])("of %s gets its arguments on stdin alone", async (file) => {
    const command = await commandOf(file);
    expect(JSON.parse(command.stdin)).toEqual({ secret: "canary" });
    expect(JSON.stringify(command.argv)).not.toContain("canary");
  });

  test.each(["h.js", "h.ts", "h.py", "h.sh"])("of %s reads the work directory and changes no file", async (file) => {
    const { mounts, cwd } = await commandOf(file);
    expect(mounts.map(({ target }) => target)).toContain(cwd);
    expect(mounts.filter(({ writable }) => writable)).toEqual([]);
    for (const { source, target } of mounts) expect(source).toBe(target);
  });

  test("may write to the work directory if the operator allows it, except to a skill inside or around it", async () => {
    const outer = makeFolder({ "skills/x/h.sh": "", "skills/x/work/.keep": "" });
    const skill = join(outer, "skills/x");
    let mounts: ForeignCommand["mounts"] = [];
    const host: LoaderHost = {
      ...foreignHost,
      writable: { keep: () => [join(outer, "team", "skills"), "/elsewhere"] },
      runForeign: async (command) => {
        ({ mounts } = command);
        return { ended: "exit", code: 0, stdout: "1", stderr: "", truncated: false };
      },
    };
    const signal = new AbortController().signal;
    const seen = async (workDir: string) => {
      await callScript(host, { directory: skill, file: "h.sh" }, {}, { env: {}, workDir, signal });
      return mounts.map(({ target, writable }) => [target, writable]);
    };
    expect(await seen(outer)).toEqual([
      [outer, true],
      [skill, false],
    ]);
    expect(mounts[0]?.protect).toEqual([
      ".git",
      ".github",
      ".skillflow",
      ".skillflow.yml",
      "node_modules",
      "skills",
      "team",
    ]);
    expect(await seen(join(skill, "work"))).toEqual([
      [skill, false],
      [join(skill, "work"), false],
    ]);
  });

  test("has the network only if its skill declares it", async () => {
    expect((await commandOf("h.js")).network).toBe(false);
    expect((await commandOf("h.js", { network: true })).network).toBe(true);
    expect((await commandOf("h.js", { network: ["a.com"] })).network).toEqual(["a.com"]);
  });

  test("names in its error what the network refused it", async () => {
    const refused = "skillflow: evil.test:443 was refused: it is not declared";
    const host: Partial<LoaderHost> = {
      runForeign: async ({ argv }) => {
        const mark = argv.find((each) => each.startsWith("skillflow-result-"));
        const stdout = `${mark}{"error":"fetch failed"}`;
        return { ended: "exit", code: 0, stdout, stderr: `noise\n${refused}\n`, truncated: false };
      },
    };
    expect(await failure(run("h.js", "", { host }))).toBe(`fetch failed\n${refused}`);
  });

  test.each([
    ["h.py", "the script h.py could not be run with Python: not found; install it"],
    ["h.js", "the script h.js could not be run with Node: not found; install it"],
  ])("of %s that cannot be started names what is missing", async (file, message) => {
    const host: Partial<LoaderHost> = {
      runForeign: async () => {
        throw new SkillflowError("sandbox.failed", "not found", { hint: "install it" });
      },
    };
    expect(await failure(run(file, "", { host }))).toBe(message);
  });

  describe("of JavaScript on a machine without a sandbox", () => {
    const host: Partial<LoaderHost> = {
      runForeign: async () => {
        throw new SkillflowError("sandbox.missing", "node was not run", { hint: "install bubblewrap" });
      },
    };

    test("is interpreted, without access to the system", async () => {
      const code =
        "export default async ({ a }) => ({ twice: 2 * a, system: [typeof process, typeof require, typeof fetch] });";
      expect(await run("h.js", code, { host, input: { a: 21 } })).toEqual({
        twice: 42,
        system: ["undefined", "undefined", "undefined"],
      });
    });

    test("fails with the handler's message", async () => {
      const code = 'export default () => { throw new Error("no such order"); };';
      expect(await failure(run("h.mjs", code, { host }))).toContain("no such order");
    });

    test("is refused if its language would have to be translated", async () => {
      expect(await failure(run("h.ts", "export default () => 1;", { host }))).toContain("install bubblewrap");
    });
  });

  test("on a machine without a sandbox reports what the machine lacks", async () => {
    const host: Partial<LoaderHost> = {
      runForeign: async () => {
        throw new SkillflowError("sandbox.missing", "python3 was not run", { hint: "install bubblewrap" });
      },
    };
    expect(await failure(run("h.py", "", { host }))).toBe(
      "the script h.py was not run: python3 was not run; install bubblewrap",
    );
  });

  test.each([
    ["time", "took too long and was ended"],
    ["memory", "needed more than 1024 MB of memory and was ended"],
    ["processes", "started more than 128 processes and was ended"],
    ["output", "printed more than 10 MB"],
  ] as const)("stopped for its %s reports that", async (ended, message) => {
    const host: Partial<LoaderHost> = {
      runForeign: async () => ({ ended, code: undefined, stdout: "", stderr: "", truncated: false }),
    };
    expect(await failure(run("h.js", "", { host }))).toBe(`the script h.js ${message}`);
  });
});

test("variables are named by the fields, otherwise by their keys", () => {
  const config = { token: { description: "t", env: "SERVICE_TOKEN" }, REGION: { description: "r" } };
  const context = { config: { token: "t", REGION: "eu", HANDED: "h" } };
  expect(declaredEnv({ config }, context)).toEqual({ SERVICE_TOKEN: "t", REGION: "eu", HANDED: "h" });
});
