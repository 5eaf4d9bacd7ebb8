import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it as every, expect, vi } from "vitest";
import { openContents } from "../../src/loaders/folder/skill-contents.ts";
import { openMcp } from "../../src/loaders/mcp/client.ts";
import { openServerContents } from "../../src/loaders/mcp/contents.ts";
import { openSkillSet } from "../../src/loaders/registry/open.ts";
import { followProcess } from "../../src/sandbox/processes.ts";
import { toolContext } from "../../src/testing.ts";
import { makeProject, runProgram } from "../cli/program.ts";
import { oneOf } from "../harness/long.ts";
import { foreignHost, hasPython, makeFolder } from "../loaders/foreign.ts";
import { sandboxHost } from "../sandbox/host.ts";

/** For tests that start programs. Those of digests take milliseconds, and `every` one runs. */
const it = oneOf(4);

/** Trust applies to files in one place. Other files, and later versions, need a new decision. */

const write = (root: string, path: string, text: string) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
const digestOf = (root: string) => openContents({ path: join(root, "skills/x") }).digest();

const checkedContents = (root: string) => {
  const contents = openContents({ path: join(root, "skills/x") });
  contents.check();
  contents.check();
  return contents;
};

type Files = Readonly<Record<string, string>>;

describe("the digest of a skill covers what its code would load", () => {
  every.each<[what: string, files: Files, changed: string]>([
    [
      "an import of JavaScript next to the folder",
      { "skills/x/run.mjs": 'import "../lib/a.mjs";' },
      "skills/lib/a.mjs",
    ],
    [
      "an import of that import",
      { "skills/x/run.mjs": 'import "../b.mjs";', "skills/b.mjs": 'export * from "./lib/a.mjs"' },
      "skills/lib/a.mjs",
    ],
    ["a require without an ending", { "skills/x/run.cjs": 'require("../../lib/a")' }, "lib/a.js"],
    ["a folder that is required", { "skills/x/run.cjs": "require('../../lib')" }, "lib/index.js"],
    ["the .ts that a .js is", { "skills/x/run.ts": 'export * from "../a.js";' }, "skills/a.ts"],
    [
      "a worker that is named by a URL",
      { "skills/x/run.mjs": 'new Worker(new URL("../w.mjs", import.meta.url));' },
      "skills/w.mjs",
    ],
    ["an import after a comment", { "skills/x/run.mjs": 'await import(/* quiet */ "../a.mjs");' }, "skills/a.mjs"],
    ["a package of the checkout", { "skills/x/run.mjs": 'import p from "pkg";' }, "node_modules/pkg/lib/deep.js"],
    ["a scoped package's part", { "skills/x/run.mjs": 'import p from "@s/pkg/part";' }, "node_modules/@s/pkg/part.js"],
    [
      "what a package needs",
      { "skills/x/run.mjs": 'import "pkg";', "node_modules/pkg/package.json": '{"dependencies":{"dep":"1"}}' },
      "node_modules/dep/index.js",
    ],
    [
      "what a package imports without needing it",
      { "skills/x/run.mjs": 'import "pkg";', "node_modules/pkg/index.js": 'require("dep")' },
      "node_modules/dep/index.js",
    ],
    [
      "a `#` name of the checkout's package.json",
      { "skills/x/run.mjs": 'import "#lib";', "package.json": '{"imports":{"#lib":"./lib/a.mjs"}}' },
      "lib/a.mjs",
    ],
    ["a script that is started from the working directory", { "skills/x/run.sh": "sh -e lib/a.sh" }, "lib/a.sh"],
    ["a program that is started from there", { "skills/x/run.sh": "set -e\nlib/a --fast" }, "lib/a"],
    ["a program of Node without its ending", { "skills/x/run.sh": "exec node ../../lib/a" }, "lib/a.js"],
    ["a module that a shell starts", { "skills/x/run.sh": "python3 -B -m lib.a" }, "lib/a.py"],
    ["a command of JavaScript", { "skills/x/run.cjs": "execSync('node --no-warnings lib/a')" }, "lib/a.js"],
    ["a list of words in Python", { "skills/x/run.py": 'run(["sh", "lib/a.sh"])' }, "lib/a.sh"],
    ["a module of Python next to the folder", { "skills/x/run.py": "import shared" }, "skills/shared.py"],
    [
      "a package of Python around it",
      { "skills/x/run.py": "from lib.part import go", "lib/__init__.py": "" },
      "lib/part.py",
    ],
    [
      "a module in a folder that the code names",
      { "skills/x/run.py": 'sys.path.append("../vendor")\nimport shared' },
      "skills/vendor/shared.py",
    ],
    ["a relative import of Python", { "skills/x/a/run.py": "from ... import other" }, "skills/other.py"],
    ["a program that Python starts", { "skills/x/run.py": 'subprocess.run(["sh", "../go.sh"])' }, "skills/go.sh"],
    ["a file that a shell script reads in", { "skills/x/run.sh": '. "$(dirname "$0")/../env"' }, "skills/env"],
    ["a file that a shell script starts", { "skills/x/run.sh": "exec python3 $HERE/../go.py" }, "skills/go.py"],
    ["a program without an ending", { "skills/x/run": "#!/bin/sh\nsource ../lib.sh" }, "skills/lib.sh"],
    ["a file in its .git", { "skills/x/SKILL.md": "x" }, "skills/x/.git/hooks/run.sh"],
    ["a package in its own node_modules", { "skills/x/SKILL.md": "x" }, "skills/x/node_modules/p/index.js"],
  ])("%s", (_, files, changed) => {
    const root = makeFolder({ ".git/HEAD": "", [changed]: "1", ...files });
    const before = digestOf(root);
    expect(digestOf(root)).toBe(before);
    write(root, changed, "2");
    expect(digestOf(root)).not.toBe(before);
    // Checks again without reading the files again, as before each call: a file that changes, and one that appears.
    const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 3_600_000);
    try {
      const written = checkedContents(root);
      write(root, changed, "3");
      expect(() => written.check()).toThrow("changed after it was loaded");
      rmSync(join(root, changed));
      const absent = checkedContents(root);
      write(root, changed, "4");
      expect(() => absent.check()).toThrow("changed after it was loaded");
    } finally {
      later.mockRestore();
    }
  });

  every("and targets of links, files and folders, also in pnpm's layout", () => {
    const root = makeFolder({
      "skills/x/run.mjs": 'import "p"; import "./lib/a.mjs";',
      "elsewhere/a.mjs": "1",
      "node_modules/.pnpm/p@1/node_modules/p/index.js": "1",
      "node_modules/.pnpm/p@1/node_modules/p/package.json": '{"dependencies":{"dep":"1"}}',
      "node_modules/.pnpm/dep@1/node_modules/dep/index.js": "1",
    });
    symlinkSync("../../elsewhere", join(root, "skills/x/lib"));
    symlinkSync(".pnpm/p@1/node_modules/p", join(root, "node_modules/p"));
    symlinkSync("../../dep@1/node_modules/dep", join(root, "node_modules/.pnpm/p@1/node_modules/dep"));
    for (const changed of [
      "elsewhere/a.mjs",
      "elsewhere/new.mjs",
      "node_modules/.pnpm/p@1/node_modules/p/index.js",
      "node_modules/.pnpm/dep@1/node_modules/dep/index.js",
    ]) {
      const before = digestOf(root);
      write(root, changed, "2");
      expect(digestOf(root), changed).not.toBe(before);
    }
  });

  every("and whether a file is executable, and a new file that would be found first", () => {
    const root = makeFolder({ "skills/x/run.cjs": 'require("../a")', "skills/a.json": "{}" });
    const before = digestOf(root);
    write(root, "skills/a.js", "");
    expect(digestOf(root)).not.toBe(before);
  });

  every("but not files next to it: other files of the checkout, and skillflow's own records", () => {
    const root = makeFolder({ "skills/x/run.mjs": 'import "../a.mjs";', "skills/a.mjs": "", "skills/other.mjs": "1" });
    const before = digestOf(root);
    write(root, "skills/other.mjs", "2");
    write(root, "skills/x/.skillflow/runs/r.jsonl", "{}");
    expect(digestOf(root)).toBe(before);
  });

  every("a folder of the checkout that holds a link to everything does not cause an endless read", () => {
    const root = makeFolder({ "skills/x/run.mjs": "1" });
    symlinkSync("../..", join(root, "skills/x/up"));
    symlinkSync(".", join(root, "skills/x/here"));
    expect(digestOf(root)).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("the digest of a server covers the files of the checkout that its command names", () => {
  every.each<[string, readonly string[], Files, string]>([
    ["a script", ["node", "tools/server.mjs"], {}, "tools/server.mjs"],
    ["its imports", ["node", "./tools/server.mjs"], { "tools/server.mjs": 'import "../lib/a.mjs"' }, "lib/a.mjs"],
    ["the program itself", ["./serve"], {}, "serve"],
    ["a word in a text", ["sh", "-c", "exec node tools/server.mjs --stdio"], {}, "tools/server.mjs"],
    ["the value of an option", ["node", "--import=./hook.mjs", "-e", "0"], {}, "hook.mjs"],
    ["a module of Python", ["python3", "-m", "tools.server"], {}, "tools/server.py"],
    ["a folder", ["python3", "tools"], {}, "tools/__main__.py"],
    ["the folder itself", ["node", "."], { "package.json": '{"main":"start.js"}' }, "start.js"],
    ["what npm would start", ["npm", "start"], { "package.json": '{"scripts":{"start":"node a/s.js"}}' }, "a/s.js"],
    ["an installed program", ["npx", "p"], {}, "node_modules/p/index.js"],
    ["a script without its ending", ["node", "server"], {}, "server.js"],
    ["the value of an option without its ending", ["node", "--require=./hook", "a.js"], {}, "hook.cjs"],
    ["a source named as its output", ["npx", "tsx", "src/server.js"], {}, "src/server.ts"],
    ["a program behind another one", ["env", "A=b", "node", "server"], {}, "server.mjs"],
    ["the registry that npx installs from", ["npx", "p"], {}, ".npmrc"],
    ["a package manager behind a shell", ["sh", "-c", "npm start"], {}, "package.json"],
    ["a Makefile", ["make", "serve"], {}, "Makefile"],
    ["what a Makefile starts", ["make", "serve"], { Makefile: "serve: a\n\t@tools/serve --stdio\n" }, "tools/serve"],
    ["a script of a Makefile", ["make", "serve"], { Makefile: "serve:\n\tnode tools/s.mjs\n" }, "tools/s.mjs"],
    ["a line that make ignores errors of", ["make"], { Makefile: "serve:\n\t-bin/a --stdio\n" }, "bin/a"],
    ["a silent line of that kind", ["make"], { Makefile: "serve:\n\t@-A=1 B= bin/a\n" }, "bin/a"],
    ["a line that make always runs", ["make"], { Makefile: "serve:\n\t+ bin/a\n" }, "bin/a"],
    ["what a variable of make runs", ["make"], { Makefile: "V := $(shell bin/a --short)\n" }, "bin/a"],
    ["what a substitution runs", ["sh", "s.sh"], { "s.sh": 'V="$(bin/a)"\n' }, "bin/a"],
    ["an included Makefile", ["make"], { Makefile: "-include rules.mk\n" }, "rules.mk"],
    ["what an included Makefile starts", ["make", "-f", "r.mk"], { "r.mk": "serve:\n\tbin/a\n" }, "bin/a"],
    ["what a Taskfile starts", ["task"], { "Taskfile.yml": "tasks: {a: {cmds:\n  - bin/a\n}}" }, "bin/a"],
    ["what a task of one command starts", ["task"], { "Taskfile.yml": "tasks:\n  a:\n    cmd: bin/a\n" }, "bin/a"],
    ["the sources of Cargo", ["cargo", "run", "-q"], { "Cargo.toml": "" }, "src/main.rs"],
    ["the settings of Cargo", ["cargo", "run"], {}, ".cargo/config.toml"],
    [
      "sources of another crate",
      ["cargo", "run", "--manifest-path=a/Cargo.toml"],
      { "a/Cargo.toml": "" },
      "a/src/x.rs",
    ],
    ["tasks of Deno", ["deno", "task", "serve"], {}, "deno.json"],
    ["a project of uv", ["uv", "run", "serve"], {}, "pyproject.toml"],
    ["services of Docker", ["docker", "compose", "up"], {}, "compose.yaml"],
  ])("%s", (_, [command = "", ...args], files, changed) => {
    const root = makeFolder({ ".git/HEAD": "", [changed]: "1", ...files });
    const digest = () => openServerContents({ command, args }, root).digest();
    const before = digest();
    expect(digest()).toBe(before);
    write(root, changed, "2");
    expect(digest()).not.toBe(before);
  });

  every.each([
    ["a container", ["docker", "run", "-i", "image"], "compose.yaml"],
    ["a tool of uv", ["uvx", "server"], "pyproject.toml"],
    ["a tool of pipx", ["pipx", "run", "server"], "pyproject.toml"],
  ])("but not settings that %s ignores", (_, [command = "", ...args], changed) => {
    const root = makeFolder({ ".git/HEAD": "", [changed]: "1" });
    const before = openServerContents({ command, args }, root).digest();
    write(root, changed, "2");
    expect(openServerContents({ command, args }, root).digest()).toBe(before);
  });

  every("and its JSON, in any order of keys", () => {
    const root = makeFolder({});
    const digest = (config: object) => openServerContents(config, root).digest();
    const before = digest({ url: "https://a.test", headers: { a: "1", b: "2" } });
    expect(digest({ headers: { b: "2", a: "1" }, url: "https://a.test" })).toBe(before);
    expect(digest({ url: "https://a.test", headers: { a: "1", b: "3" } })).not.toBe(before);
  });
});

const MODULE = `
import { writeFileSync } from "node:fs";
import "pkg";
writeFileSync("ran-pager", "");
export default { id: "pager", name: "N", description: "d", category: "general", config: {}, tools: [] };
`;
const CHECKOUT = {
  ".git/HEAD": "ref: refs/heads/main\n",
  "skills/pager/skill.mjs": MODULE,
  "node_modules/pkg/index.js": "",
  "node_modules/pkg/package.json": '{"name":"pkg"}',
};
const HOSTILE = 'require("node:fs").writeFileSync("ran-package", "");';

describe("a stored decision", () => {
  const remembering = (cwd: string) => {
    const path = join(realpathSync(cwd), "skills/pager");
    const entry = { id: "pager", path, digest: openContents({ path }).digest(), at: "2026-01-01T00:00:00.000Z" };
    return makeProject({ ".config/skillflow/trust.json": [entry] });
  };
  const ran = async (cwd: string, HOME: string) => {
    await runProgram(["doctor"], { cwd, env: { HOME } });
    const { stdout } = await runProgram(["skills", "show", "pager", "--json"], { cwd, env: { HOME } });
    return (JSON.parse(stdout) as { source: { trusted: boolean } }).source.trusted;
  };

  it("applies in the place where it was made, so that the next tests can fail", async () => {
    const cwd = makeProject(CHECKOUT);
    expect(await ran(cwd, remembering(cwd))).toBe(true);
  });

  it("does not apply to the same skill in another checkout", async () => {
    const home = remembering(makeProject(CHECKOUT));
    const cwd = makeProject({ ...CHECKOUT, "node_modules/pkg/index.js": HOSTILE });
    expect(await ran(cwd, home)).toBe(false);
    expect(await ran(makeProject(CHECKOUT), home)).toBe(false);
  });

  it("does not apply once a package that the skill imports has changed", async () => {
    const cwd = makeProject(CHECKOUT);
    const home = remembering(cwd);
    write(cwd, "node_modules/pkg/index.js", HOSTILE);
    expect(await ran(cwd, home)).toBe(false);
  });

  it("does not apply if another checkout replaced the first", async () => {
    const cwd = makeProject(CHECKOUT);
    const home = remembering(cwd);
    renameSync(join(cwd, "skills"), join(cwd, "former"));
    write(cwd, "skills/pager/skill.mjs", `${MODULE}//`);
    expect(await ran(cwd, home)).toBe(false);
  });
});

const DOCUMENT = "---\nname: x\ndescription: d\nconfig:\n  SECRET: { description: s, env: SECRET }\n---\nUse it.";
const CONTRACT = {
  id: "x",
  version: "1.0.0",
  description: "d",
  input: { type: "object" },
  output: { type: "object" },
};

/** Files from the skill's folder, the one that is rewritten, and whether it can be called here before. */
const FORMATS: readonly [what: string, files: Record<string, unknown>, rewritten: string, canRun: boolean][] = [
  [
    "a script",
    {
      "SKILL.md": DOCUMENT,
      "tools.json": [{ name: "go", description: "d", script: "go.mjs" }],
      "go.mjs": "export default () => ({ said: 1 })",
    },
    "go.mjs",
    true,
  ],
  [
    "what a script imports next to the folder",
    {
      "SKILL.md": DOCUMENT,
      "tools.json": [{ name: "go", description: "d", script: "go.mjs" }],
      "go.mjs": 'export { default } from "../lib.mjs"',
      "../lib.mjs": "export default () => ({ said: 1 })",
    },
    "../lib.mjs",
    true,
  ],
  [
    "a contract's function",
    {
      "contract.json": CONTRACT,
      "binding.yml": "function: ./go.mjs#go",
      "go.mjs": "export const go = () => ({ said: 1 })",
    },
    "go.mjs",
    true,
  ],
  [
    "a contract's command",
    {
      "contract.json": CONTRACT,
      "binding.yml": "command: { binary: node, args: [./go.mjs] }",
      "go.mjs": "console.log('{}')",
    },
    "go.mjs",
    true,
  ],
  [
    "a module",
    {
      "skill.mjs": `export default { id: "x", name: "N", description: "d", category: "general", config: {}, tools: [
        { name: "go", description: "d", input_schema: { type: "object" }, handler: () => import("./late.mjs").then((m) => m.default()) }] };`,
      "late.mjs": "export default () => ({ said: 1 })",
    },
    "late.mjs",
    true,
  ],
  [
    "a package",
    {
      "skill.toml":
        'name = "x"\nversion = "1.0.0"\ndescription = "d"\nkind = "action"\n[runtime]\nlanguage = "python"\nentrypoint = "go.py"\nexport = "main"\n',
      "SKILL.md": "---\nname: X\nshort_description: d\n---\nUse it.",
      "go.py": "def main(args):\n    return {}\n",
    },
    "go.py",
    false,
  ],
];

const open = (root: string) =>
  openSkillSet({
    builtin: makeFolder(),
    own: [],
    levels: [{ kind: "project", path: join(root, "skills"), trusted: false, root }],
    servers: new Map(),
    disabled: [],
    trust: { ids: new Set(["x"]), remembered: [] },
    variables: new Map(),
    overrides: new Map(),
    env: { SECRET: "canary-of-the-operator" },
    host: { ...foreignHost, cwd: root, env: { PATH: process.env.PATH } } as typeof foreignHost,
  });

const script = (file: string) => [{ name: "go", description: "d", script: file }];

describe("a script runs no file of the checkout that no import names in plain text", () => {
  it.each<[what: string, needs: boolean, files: Record<string, unknown>, loaded: boolean]>([
    [
      "by a module of JavaScript",
      true,
      {
        "tools.json": script("go.mjs"),
        "go.mjs": `export default async () => (await import("../" + "evil.mjs")).default`,
      },
      false,
    ],
    [
      "by a require",
      true,
      {
        "tools.json": script("go.mjs"),
        "go.mjs": 'export { default } from "./a.cjs"',
        "a.cjs": 'module.exports = () => require("../" + "evil.cjs");',
      },
      false,
    ],
    [
      "by TypeScript",
      true,
      {
        "tools.json": script("go.ts"),
        "go.ts": `export default async () => (await import("../" + "evil.ts")).default`,
      },
      false,
    ],
    [
      "by Python",
      hasPython,
      {
        "tools.json": script("go.py"),
        "go.py":
          'import importlib, os, sys\ndef handler(args):\n    sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))\n    return importlib.import_module("ev" + "il").said\n',
      },
      false,
    ],
    [
      "but a file that an import names",
      true,
      { "tools.json": script("go.mjs"), "go.mjs": 'import said from "../evil.mjs"; export default () => said' },
      true,
    ],
    [
      "and a module of Python that an import names",
      hasPython,
      {
        "tools.json": script("go.py"),
        "go.py":
          "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))\nimport evil\ndef handler(args):\n    return evil.said\n",
      },
      true,
    ],
  ])("%s", async (_, canRun, files, loaded) => {
    if (!canRun) return;
    const evil = {
      "skills/evil.mjs": "export default 'ran'",
      "skills/evil.ts": "export default 'ran'",
      "skills/evil.cjs": "module.exports = 'ran'",
      "skills/evil.py": "said = 'ran'",
    };
    const own = Object.entries({ ...("skill.mjs" in files ? {} : { "SKILL.md": DOCUMENT }), ...files }).map(
      ([path, text]) => [join("skills/x", path), text],
    );
    const root = makeFolder({ ".git/HEAD": "", ...evil, ...Object.fromEntries(own) });
    const tool = (await open(root).find("x"))?.skill.tools[0];
    const call = async () => tool?.handler({} as never, toolContext({ workDir: root }));
    if (loaded) expect(await call()).toBe("ran");
    else await expect(call()).rejects.toThrow(/evil\.\w+ is not run/);
  });
});

describe("code that was rewritten after the start does not run", () => {
  it.each(FORMATS)("%s", async (_, files, rewritten, canRun) => {
    const root = makeFolder(
      Object.fromEntries(Object.entries(files).map(([path, text]) => [join("skills/x", path), text])),
    );
    const set = open(root);
    const tool = (await set.find("x"))?.skill.tools[0];
    const call = async () => tool?.handler({} as never, toolContext({ workDir: root, config: { SECRET: "canary" } }));
    if (canRun) await call();
    write(root, join("skills/x", rewritten), 'throw new Error("it ran");');
    await expect(call()).rejects.toThrow(/its files changed after it was loaded/);
  });

  it("in a skill that was not called before, or only named", async () => {
    const root = makeFolder({
      "skills/x/SKILL.md": DOCUMENT,
      "skills/x/tools.json": [{ name: "go", description: "d", script: "go.mjs" }],
      "skills/x/go.mjs": "export default () => ({})",
    });
    const set = open(root);
    write(root, "skills/x/go.mjs", 'throw new Error("it ran");');
    const tool = (await set.find("x"))?.skill.tools[0];
    const call = async () => tool?.handler({} as never, toolContext({ workDir: root }));
    await expect(call()).rejects.toThrow(/its files changed/);
  });

  it("in a server that is connected again", async () => {
    const root = makeFolder({ ".git/HEAD": "", "server.mjs": SERVER });
    const config = { command: process.execPath, args: ["server.mjs"] };
    const contents = openServerContents(config, root);
    contents.digest();
    const connection = await openMcp({
      id: "x",
      config,
      env: { PATH: process.env.PATH },
      cwd: root,
      check: contents.check,
      fetch,
      processes: { ...sandboxHost, isAlive: () => false, follow: followProcess },
      onWarning: () => undefined,
    });
    write(root, "server.mjs", `require("node:fs").writeFileSync("ran-server", "");${SERVER}`);
    const call = async () => connection.tools[0]?.handler({} as never, toolContext({ workDir: root }));
    await call().catch(() => undefined);
    await expect(call()).rejects.toThrow(/its files changed/);
    await connection.close();
    rmSync(root, { recursive: true });
  });
});

/** Lists one tool, and ends when that is called. */
const SERVER = `
import { createInterface } from "node:readline";

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "tools/call") process.exit(1);
  const results = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
    "tools/list": { tools: [{ name: "look", description: "d", inputSchema: { type: "object" } }] },
  };
  if (id !== undefined) process.stdout.write(JSON.stringify(results[method] ? { jsonrpc: "2.0", id, result: results[method] } : { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) + "\\n");
});
`;
