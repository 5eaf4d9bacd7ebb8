import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { SkillflowError } from "../../../../src/core/base/errors.ts";
import type { JsonObject } from "../../../../src/core/base/values.ts";
import type { SkillPackage } from "../../../../src/loaders/folder/format.ts";
import type { LoaderHost } from "../../../../src/loaders/folder/host.ts";
import { openSkillFolder } from "../../../../src/loaders/folder/skill-folder.ts";
import { skillPackage } from "../../../../src/loaders/formats/skills-protocol/skill-package.ts";
import { keepMade, type PackageRun, runCode, runPackage } from "../../../../src/loaders/programs/package-run.ts";
import { firstThatWorks } from "../../../../src/sandbox/choose.ts";
import { memoryBlobs } from "../../../../src/stores/blobs.ts";
import { toolContext } from "../../../../src/testing.ts";
import { oneOf } from "../../../harness/long.ts";
import { runsPython, sandbox } from "../../../sandbox/python.ts";
import { foreignHost, makeFolder } from "../../foreign.ts";

const it = oneOf(3);

const { signal } = new AbortController();
const host: LoaderHost = { ...foreignHost, runForeign: sandbox.run };
const TOML = `name = "text.count"
version = "1.2.0"
description = "Counts words."
kind = "action"

[runtime]
language = "python"
entrypoint = "code/main.py"
export = "main"

[permissions]
secrets = ["COUNT_TOKEN"]
network = false

[inputs.text]
type = "string"
description = "What to count"
required = true
`;
const DOCUMENT =
  "---\nname: Word counter\nshort_description: Counts words\ntags: [text, count]\n---\n# Overview\n\nCounts.\n";
const MAIN = "def main(args):\n    return {'words': len(args['text'].split())}\n";
const FILES = { "skill.toml": TOML, "SKILL.md": DOCUMENT, "code/main.py": MAIN };

function read(files: Readonly<Record<string, unknown>> | string) {
  const folder = openSkillFolder(typeof files === "string" ? files : makeFolder(files));
  if (!folder) throw new Error("the folder is missing");
  expect(skillPackage.recognises(folder)).toBe(true);
  return skillPackage.read(folder, host).loaded;
}

function readSound(files: Readonly<Record<string, unknown>>): SkillPackage {
  const found = read(files);
  if ("severity" in found || !found.package) throw new Error("it is not a package");
  expect(found.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return found.package;
}

function load(files: Readonly<Record<string, unknown>>, parts: Partial<LoaderHost> = {}) {
  const folder = openSkillFolder(makeFolder(files));
  const loaded = folder && skillPackage.read(folder, { ...host, ...parts }).loaded;
  if (!loaded || "severity" in loaded) throw new Error(loaded?.message);
  return loaded;
}

describe("a package", () => {
  it("is read completely", () => {
    expect(readSound(FILES)).toMatchObject({
      name: "text.count",
      namespace: "text",
      runtime: { language: "python", entrypoint: "code/main.py", export: "main" },
      secrets: ["COUNT_TOKEN"],
      network: false,
      input: { type: "object", required: ["text"] },
    });
  });

  it("has the hosts that it declares, and the user sees them before it is allowed", () => {
    const toml = TOML.replace("network = false", 'network = ["api.example.com", "*.example.org"]');
    expect(readSound({ ...FILES, "skill.toml": toml }).network).toEqual(["api.example.com", "*.example.org"]);
    const { code } = load({ ...FILES, "skill.toml": toml });
    expect(code).toEqual(["file code/main.py, with COUNT_TOKEN, the network (api.example.com, *.example.org)"]);
    expect(readSound({ ...FILES, "skill.toml": TOML.replace("network = false", "network = []") }).network).toBe(false);
  });

  it("of kind action is one tool named after it that counts as a write", () => {
    const { skill, kind, format, runsCode, unavailable } = load(FILES);
    expect({ kind, format, runsCode, unavailable }).toEqual({
      kind: "action",
      format: "skills-protocol",
      runsCode: true,
      unavailable: undefined,
    });
    expect(skill).toMatchObject({
      id: "text.count",
      name: "Word counter",
      description: "Counts words.",
      version: "1.2.0",
    });
    expect(skill.tools).toMatchObject([{ name: "text.count", effect: "write" }]);
    expect(skill.config).toMatchObject({ COUNT_TOKEN: { env: "COUNT_TOKEN" } });
  });

  it("of kind instruction consists of its document", () => {
    const toml = 'name = "text.guide"\nversion = "0.1.0"\ndescription = "How to."\nkind = "instruction"\n';
    const { skill, kind, runsCode } = load({ "skill.toml": toml, "SKILL.md": DOCUMENT });
    expect({ kind, runsCode, tools: skill.tools }).toEqual({ kind: "instruction", runsCode: false, tools: [] });
    expect(skill.instruction).toBe("# Overview\n\nCounts.");
  });

  it.each<[string, string, string, number]>([
    ["a name in capitals", TOML.replace("text.count", "Text.Count"), "is not the name of a package", 1],
    ["a name with a hyphen", TOML.replace("text.count", "text-count"), "is not the name of a package", 1],
    ["no name", TOML.replace('name = "text.count"\n', ""), "it has no name", 1],
    ["broken TOML", 'name = "a"\nversion = \n', "skipped", 2],
  ])("with %s is skipped, at its place", (_, toml, message, line) => {
    const found = read({ ...FILES, "skill.toml": toml });
    expect(found).toMatchObject({ severity: "warning", code: "SKILL_SKIPPED", line });
    expect(found).toHaveProperty("message", expect.stringContaining(message));
  });

  it.each<[string, [string, string], string, number]>([
    ["a version of two parts", ['"1.2.0"', '"1.2"'], "major.minor.patch", 2],
    ["a version that is a number", ['"1.2.0"', "1.2"], "major.minor.patch", 2],
    ["a description of two lines", ['"Counts words."', '"Counts\\nwords."'], "several lines", 3],
    ["a kind that is none", ['"action"', '"tool"'], "needs a kind", 4],
    ["a language that is none", ['"python"', '"cobol"'], "needs a language", 7],
    ["an entrypoint that is missing", ["code/main.py", "code/gone.py"], "does not exist", 8],
    ["an entrypoint outside", ["code/main.py", "../main.py"], "is not in the folder", 8],
    ["an absolute entrypoint", ["code/main.py", "/etc/passwd"], "is not in the folder", 8],
    ["an entrypoint that is a folder", ["code/main.py", "code"], "is not a file", 8],
    ["an entrypoint with a long name", ["code/main.py", `${"x".repeat(300)}.py`], "", 8],
    ["an entrypoint of another language", ["code/main.py", "SKILL.md"], "not a python file", 8],
    ["an export that is not a name", ['"main"', '"main()"'], "needs an export", 9],
    ["secrets that are not names", ['["COUNT_TOKEN"]', '["A B"]'], "secrets that are not a list", 12],
    ["a network that is true", ["network = false", "network = true"], "neither a list of hosts nor false", 13],
    ["a network of all hosts", ["network = false", 'network = ["a.com", "*"]'], 'has the invalid host "*"', 13],
    ["a URL in its network", ["network = false", 'network = ["http://a.com/"]'], "write api.example.com", 13],
  ])("with %s is unavailable, at its place", (_, [from, to], message, line) => {
    const loaded = load({ ...FILES, "skill.toml": TOML.replace(from, to) });
    expect(loaded.unavailable?.reason).toContain(message);
    expect(loaded.skill.tools).toEqual([]);
    expect(loaded.diagnostics).toMatchObject([{ severity: "error", line }]);
  });

  it("without a SKILL.md is unavailable", () => {
    expect(load({ "skill.toml": TOML, "code/main.py": MAIN }).unavailable?.reason).toBe("a package needs a SKILL.md");
  });

  it("without a short_description causes a warning", () => {
    const { diagnostics, unavailable } = load({ ...FILES, "SKILL.md": "---\nname: X\n---\nBody" });
    expect(unavailable).toBeUndefined();
    expect(diagnostics).toMatchObject([{ severity: "warning", code: "SKILL_DOCUMENT" }]);
  });

  it("whose entrypoint goes through a link is unavailable", () => {
    const directory = makeFolder({ "skill.toml": TOML, "SKILL.md": DOCUMENT });
    symlinkSync(makeFolder({ "main.py": MAIN }), join(directory, "code"));
    expect(read(directory)).toMatchObject({
      diagnostics: [{ message: expect.stringContaining("goes through a link") }],
    });
  });

  it("that Python cannot import remains, with a warning", () => {
    const { diagnostics, unavailable } = load({ ...FILES, "skill.toml": TOML.replace("text.count", "text.import.2x") });
    expect(unavailable).toBeUndefined();
    expect(diagnostics).toMatchObject([{ severity: "warning", code: "SKILL_NOT_IMPORTABLE", line: 1 }]);
  });

  it("with a secret that is not set is listed, and fails when it is called", async () => {
    const { skill, unavailable } = load(FILES);
    expect(unavailable).toBeUndefined();
    await expect(call(skill.tools[0], { text: "a" })).rejects.toThrow(
      "MissingSecretError: text.count needs a secret that is not set: COUNT_TOKEN",
    );
  });
});

type LoadedTool = ReturnType<typeof load>["skill"]["tools"][number] | undefined;

async function call(tool: LoadedTool, args: JsonObject, config: Readonly<Record<string, string>> = {}) {
  return tool?.handler(args as never, toolContext({ config }));
}

const bare = (name: string) =>
  TOML.replace("text.count", name)
    .replace('secrets = ["COUNT_TOKEN"]\n', "")
    .replace(/\[inputs[\s\S]*$/, "");
const packageOf = (name: string, code: string, more: Readonly<Record<string, unknown>> = {}) =>
  readSound({ "skill.toml": bare(name), "SKILL.md": DOCUMENT, "code/main.py": code, ...more });
const run = (target: SkillPackage, parts: Partial<PackageRun> = {}) =>
  runPackage({ host, package: target, args: {}, mounts: [], blobs: [], secrets: {}, signal, ...parts });

describe.skipIf(!runsPython)("a Python package in the sandbox (needs a sandbox that isolates, and Python)", () => {
  it("is called with its arguments, as a tool", async () => {
    const { skill } = load(FILES);
    expect(await call(skill.tools[0], { text: "a b c" }, { COUNT_TOKEN: "t" })).toEqual({ words: 3 });
  });

  it("prints into the logs, and its result is its return value", async () => {
    const code =
      "import os, sys\ndef main(args):\n    print('out')\n    print('err', file=sys.stderr)\n    os.system('echo child')\n    return [1, 'ä', None]\n";
    const outcome = await run(packageOf("a.b", code));
    expect(outcome).toMatchObject({ status: "completed", output: [1, "ä", null] });
    for (const line of ["out", "err", "child"]) expect(outcome.logs).toContain(line);
  });

  it.each<[string, string, string, string | RegExp]>([
    ["throws", "def main(args):\n    raise ValueError('no luck')\n", "ValueError", "no luck"],
    ["gives no JSON", "def main(args):\n    return {1, 2}\n", "TypeError", /not JSON serializable/],
    ["gives NaN", "def main(args):\n    return float('nan')\n", "ValueError", /JSON compliant/],
    [
      "gives a number beyond 2^53",
      "def main(args):\n    return [2**53]\n",
      "ValueError",
      /9007199254740992.*return it as text/,
    ],
    ["gives a huge number", "def main(args):\n    return 10**400\n", "ValueError", /return it as text/],
    ["has no such function", "def other(args):\n    return 1\n", "AttributeError", "there is no function main to call"],
    ["is no Python", "def main(:\n", "SyntaxError", /invalid syntax/],
    ["exits", "import sys\ndef main(args):\n    sys.exit(3)\n", "SystemExit", "3"],
    ["exits at once", "import os\ndef main(args):\n    os._exit(3)\n", "ProcessError", /exit code 3/],
  ])("that %s has failed", async (_, code, type, message) => {
    const outcome = await run(packageOf("a.b", code));
    expect(outcome).toMatchObject({
      status: "failed",
      error: { type, message: typeof message === "string" ? message : expect.stringMatching(message) },
    });
  });

  it("reaches the hosts that it declares, and no other", async () => {
    const service = createServer((_asked, answer) => answer.end("told")).listen(0, "127.0.0.1");
    await once(service, "listening");
    const { port } = service.address() as AddressInfo;
    const code =
      "from urllib.request import urlopen\ndef main(args):\n    return urlopen(args['url']).read().decode()\n";
    const target = { ...packageOf("a.b", code), network: [`127.0.0.1:${port}`] };
    try {
      expect(await run(target, { args: { url: `http://127.0.0.1:${port}/` } })).toMatchObject({ output: "told" });
      const refused = await run(target, { args: { url: "https://evil.test/" } });
      expect(refused).toMatchObject({
        error: { message: expect.stringContaining("403 Host not declared: evil.test:443") },
      });
      expect(refused.logs).toContain('add "evil.test" to its network');
    } finally {
      service.close();
    }
  });

  it("that takes too long has failed with a TimeoutError", async () => {
    const outcome = await run(packageOf("a.b", "def main(args):\n    while True: pass\n"), {
      limits: { wallMs: 1500 },
    });
    expect(outcome).toMatchObject({ status: "failed", error: { type: "TimeoutError" } });
  });

  it("may await, may take nothing, and may leave threads behind", async () => {
    const code =
      "import threading, time\nasync def main():\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return 'done'\n";
    expect(await run(packageOf("a.b", code))).toMatchObject({ status: "completed", output: "done" });
  });

  it("imports others by their dotted names, also where one name begins another", async () => {
    const outer = packageOf("a.b", "from .helper import N\ndef main(args):\n    return N\n", {
      "code/helper.py": "N = 7\n",
    });
    const inner = packageOf(
      "a.b.c",
      "from skills.a.b import main as outer\ndef main(args):\n    return outer({}) * 2\n",
    );
    const target = packageOf(
      "x.y",
      "from skills.a.b.c import main as f\nimport skills.a.b\ndef main(args):\n    return [f({}), skills.a.b.main({})]\n",
    );
    expect(await run(target, { mounts: [outer, inner] })).toMatchObject({ output: [14, 7] });
    expect(await run(target, { mounts: [outer] })).toMatchObject({
      status: "failed",
      error: { type: "ModuleNotFoundError" },
    });
  });

  it("sees its own folder read-only, an empty workspace and the secrets that it declares", async () => {
    const code = [
      "import os",
      "def main(args):",
      "    def fails(path):",
      "        try: open(path, 'w')",
      "        except OSError: return True",
      "        return False",
      "    open('/workspace/x', 'w').write('y')",
      "    return {'cwd': os.getcwd(), 'ls': os.listdir('/workspace'), 'ro': fails('/skills/a.b/x'), 'root': os.getuid() == 0,",
      "            'env': sorted(os.environ), 'home': os.path.exists(args['home'])}",
    ].join("\n");
    const secret = makeFolder({ "secret.txt": "x" });
    const target = { ...packageOf("a.b", code), secrets: ["TOKEN"] };
    const { output } = await run(target, { args: { home: secret }, secrets: { TOKEN: "t", OTHER: "o" } });
    expect(output).toMatchObject({ cwd: "/workspace", ls: ["x"], ro: true, root: false, home: false });
    expect(output).toHaveProperty("env", expect.arrayContaining(["TOKEN"]));
    expect(JSON.stringify(output)).not.toContain("OTHER");
  });

  it("reads blobs that it receives, as files and by their handles", async () => {
    const code =
      "from runtime import blobs\ndef main(args):\n    return [blobs.read_text(args['id']), open('/blobs/' + args['id']).read()]\n";
    const file = join(makeFolder({ data: "content" }), "data");
    const blobs = [{ id: "blob:abc", file }];
    expect(await run(packageOf("a.b", code), { args: { id: "blob:abc" }, blobs })).toMatchObject({
      output: ["content", "content"],
    });
    expect(await run(packageOf("a.b", code), { blobs: [{ id: "../x", file }] })).toMatchObject({ status: "failed" });
  });

  it("returns blobs under the handles that it received", async () => {
    const code = [
      "def main(args):",
      "    text = runtime.blobs.create('ä' * 3, 'text/csv')",
      "    data = runtime.blobs.create(b'\\x00\\x01')",
      "    return [text, data, runtime.blobs.read_text(text), runtime.blobs.create('ä' * 3, 'text/csv') == text]",
    ].join("\n");
    const outcome = await run(packageOf("a.b", code));
    if (outcome.status !== "completed") throw new Error(outcome.error.message);
    const blobs = memoryBlobs();
    const { output, ids } = await keepMade(outcome, blobs);
    expect(output).toEqual([expect.any(String), expect.any(String), "äää", true]);
    expect([...ids].sort()).toEqual((output as string[]).slice(0, 2).sort());
    expect(await blobs.info((output as string[])[0] ?? "")).toMatchObject({ kind: "text/csv", size_bytes: 6 });
    expect(await blobs.info((output as string[])[1] ?? "")).toMatchObject({ kind: "application/octet-stream" });
  });

  it.each<[string, string, RegExp]>([
    ["more blobs than are taken", "for n in range(65): runtime.blobs.create(str(n))", /at most 64 blobs, not 65/],
    ["more bytes than are taken", "runtime.blobs.create('x' * (64 * 1024 * 1024 + 1))", /at most 67108864 bytes/],
    ["a kind that is none", "runtime.blobs.create('x', 'no kind')", /must be a MIME type/],
    ["a link instead of a blob", "plant(lambda file: os.symlink('/etc/passwd', file))", /bytes in files/],
    ["a pipe instead of a blob", "plant(os.mkfifo)", /bytes in files/],
    ["a folder instead of a blob", "plant(os.mkdir)", /bytes in files/],
  ])("that returns %s has failed", async (_, line, message) => {
    const code = [
      "import os",
      "def plant(make):",
      "    os.makedirs(runtime.blobs.MADE)",
      "    make(runtime.blobs.MADE + '/' + '0' * 32)",
      "def main(args):",
      `    ${line}`,
    ].join("\n");
    expect(await run(packageOf("a.b", code))).toMatchObject({
      status: "failed",
      error: { type: "BlobError", message: expect.stringMatching(message) },
    });
  });

  it("that fails reports the place, starting at its author's own code", async () => {
    const code = "from . import part\ndef main(args):\n    return part.divide(1)\n";
    const outcome = await run(packageOf("a.b", code, { "code/part.py": "def divide(n):\n    return n / 0\n" }));
    expect(outcome.logs.split("\n").filter((line) => line.includes("File "))).toEqual([
      '  File "/skills/a.b/code/main.py", line 3, in main',
      '  File "/skills/a.b/code/part.py", line 2, in divide',
    ]);
    const parts = { host, args: {}, mounts: [], blobs: [], signal, entrypoint: "main" };
    const { logs } = await runCode({ ...parts, code: "def main():\n    return [][1]\n" });
    expect(logs).toMatch(/^Traceback[^\n]+\n {2}File "<code>", line 2, in main\n {4}return \[\]\[1\]\n/);
    expect((await runCode({ ...parts, code: "x = 1" })).logs).toBe(
      "AttributeError: there is no function main to call\n",
    );
    expect((await runCode({ ...parts, code: "def main(:" })).logs).toMatch(/^ {2}File "<code>", line 1\n/);
  });

  it("shows no path of this machine to its runner", async () => {
    const code =
      "import sys\ndef main(args):\n    return [sys.path[0], sys.modules['__main__'].__file__, open('/proc/self/cmdline').read()]\n";
    const outcome = await run(packageOf("a.b", code));
    expect(outcome).toMatchObject({ output: ["/skills/a.b/code", "/runtime/package.py", expect.any(String)] });
    expect(JSON.stringify(outcome)).not.toContain(process.cwd());
  });

  it("may return any JSON, however deep and large", async () => {
    const args = {
      deep: [[[{ a: null }]]],
      text: 'ä\u{1F600}\u2028"\\\n',
      numbers: [0, -1.5, 1e300, 12345678901234],
      yes: true,
    };
    expect(await run(packageOf("a.b", "def main(args):\n    return args\n"), { args })).toMatchObject({ output: args });
    const large = packageOf("a.b", "def main(args):\n    return {1: ('x' * 1000000, None)}\n");
    expect(await run(large)).toMatchObject({ output: { 1: ["x".repeat(1_000_000), null] } });
  });

  it("whose code became a link after it was read is not run", async () => {
    const target = packageOf("a.b", MAIN);
    const { renameSync } = await import("node:fs");
    const elsewhere = makeFolder();
    renameSync(join(target.directory, "code"), join(elsewhere, "code"));
    symlinkSync(join(elsewhere, "code"), join(target.directory, "code"));
    expect(await run(target)).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("leads out") },
    });
  });

  it("is the module of code that was written for one run, which sees no secret", async () => {
    const secretive = { ...packageOf("a.b", "def main(args):\n    return args['n'] + 1\n"), secrets: ["TOKEN"] };
    const code =
      "import os\nfrom skills.a.b import main as add\ndef main(args):\n    return [add(args), 'TOKEN' in os.environ]\n";
    const parts = { host, args: { n: 1 }, mounts: [secretive], blobs: [], signal };
    expect(await runCode({ ...parts, code, entrypoint: "main" })).toMatchObject({ output: [2, false] });
    expect(await runCode({ ...parts, code, entrypoint: "other" })).toMatchObject({
      status: "failed",
      error: { type: "AttributeError", message: "there is no function other to call" },
    });
  });
});

describe.skipIf(sandbox.name === "missing")("a JavaScript package in the sandbox (needs one that isolates)", () => {
  it("is called with its arguments", async () => {
    const toml = bare("a.js").replace('"python"', '"javascript"').replace("main.py", "main.mjs");
    const code = "export async function main({ n }) { console.log('working'); return { n: n * 2 }; }";
    const target = readSound({ "skill.toml": toml, "SKILL.md": DOCUMENT, "code/main.mjs": code });
    const outcome = await run(target, { args: { n: 21 } });
    expect(outcome).toMatchObject({ status: "completed", output: { n: 42 } });
    expect(outcome.logs).toContain("working");
    const faulty = readSound({
      "skill.toml": toml,
      "SKILL.md": DOCUMENT,
      "code/main.mjs": "export const main = () => { throw new RangeError('far'); };",
    });
    const failed = await run(faulty);
    expect(failed).toMatchObject({ status: "failed", error: { type: "RangeError", message: "far" } });
    expect(failed.logs).toMatch(/^RangeError: far\n +at main \(file:\/\/\/skills\/a\.js\/code\/main\.mjs:1:\d+\)\n$/);
  });
});

describe("a package without a sandbox", () => {
  it("has failed, and the error names what to install", async () => {
    const { run: runForeign } = await firstThatWorks([]);
    const target = packageOf("a.b", "def main(args):\n    return 1\n");
    expect(await run(target, { host: { ...host, runForeign } })).toMatchObject({
      status: "failed",
      error: {
        type: "SandboxError",
        message: expect.stringMatching(/python3 was not run.*install bubblewrap|Linux with bubblewrap/),
      },
    });
  });
});

describe("a package whose processes cannot be stopped", () => {
  it("may have acted, and is not run again", async () => {
    let runs = 0;
    const runForeign: LoaderHost["runForeign"] = async () => {
      runs++;
      throw new SkillflowError("sandbox.failed", "processes cannot be ended", { acted: "unknown" });
    };
    const target = packageOf("a.b", "def main(args):\n    return 1\n");
    const { error } = (await run(target, { host: { ...host, runForeign } })) as { error: object };
    expect(error).toEqual({
      type: "SandboxError",
      message: "processes cannot be ended",
      code: "sandbox.failed",
      acted: "unknown",
    });
    expect(runs).toBe(1);
  });
});

describe("a package that is not an action", () => {
  it("is not run", async () => {
    const target = { ...readSound(FILES), runtime: undefined };
    expect(await run(target)).toMatchObject({ status: "failed", error: { type: "NotExecutableError" } });
  });

  it("may have any other files", () => {
    const directory = makeFolder(FILES);
    mkdirSync(join(directory, "resources"));
    writeFileSync(join(directory, "resources", "data.bin"), "x");
    expect(read(directory)).toMatchObject({ package: { name: "text.count" } });
  });
});
