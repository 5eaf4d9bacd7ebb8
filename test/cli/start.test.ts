import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect } from "vitest";
import { oneOf } from "../harness/long.ts";
import { startAnthropic } from "../services/anthropic.ts";
import { startChat } from "../services/chat.ts";
import { startOpenai } from "../services/openai.ts";
import { runHere } from "./in-process.ts";
import { type Ended, installation, makeProject, runAt, runProgram } from "./program.ts";

const it = oneOf(3);

const HELLO = JSON.stringify({
  id: "hello",
  name: "Hello",
  entry: "greet",
  nodes: { greet: { name: "Greet", instruction: "Say hello." } },
  edges: [],
});

/** The prepared parts of the program that its start uses: its help, and compiled code. */

describe("the prepared help", () => {
  const answers = (): Readonly<Record<string, Readonly<Record<string, string>>>> =>
    JSON.parse(readFileSync(join(installation().directory, "dist", "answers.json"), "utf8"));

  it("is the same as generated help, for terminals of the usual widths", async () => {
    const cwd = makeProject();
    for (const [columns, ready] of Object.entries(answers())) {
      expect(Object.keys(ready)).toEqual(expect.arrayContaining(["--version", "--help", "run --help", "runs --help"]));
      for (const [words, text] of Object.entries(ready)) {
        const made = await runHere(words.split(" "), { cwd, columns: Number(columns) });
        expect({ words, text: made.stdout, code: made.code }).toEqual({ words, text, code: 0 });
      }
    }
  });

  it.each([["--help"], ["-h"], ["-V"], ["skills list -h"], ["runs --help"]])("is what %s prints", async (words) => {
    const cwd = makeProject();
    const made = await runHere(words.split(" "), { cwd, env: { GITHUB_ACTIONS: "true" } });
    const said = await runProgram(words.split(" "), { cwd, env: { GITHUB_ACTIONS: "true" } });
    expect(made.stdout).not.toBe("");
    expect(said).toMatchObject({ code: 0, stdout: made.stdout, stderr: "" });
  });
});

/** Reports what the process loaded of Node's own client for HTTP, which takes as long as half of Node's start. */
const WATCH = `
  const before = process.moduleLoadList.length;
  process.on("exit", () => process._rawDebug(process.moduleLoadList.slice(before).filter((name) => /undici/.test(name)).join()));`;

it.each([
  ["openai-compatible", "OPENAI", startChat],
  ["openai", "OPENAI", startOpenai],
  ["anthropic", "ANTHROPIC", startAnthropic],
] as const)("calls a model of %s without Node's own client", async (provider, vendor, startService) => {
  const service = await startService(() => ({ text: "Hello." }));
  const cwd = makeProject({ "hello.json": HELLO, "watch.cjs": WATCH });
  const env = {
    [`${vendor}_BASE_URL`]: service.url,
    [`${vendor}_API_KEY`]: "sk-test-0123456789",
    NODE_OPTIONS: `--require ${join(cwd, "watch.cjs")}`,
  };
  try {
    const { code, stderr } = await runProgram(["run", "hello.json", "--model", `${provider}:m`, "--quiet"], {
      cwd,
      env,
    });
    expect({ code, stderr: stderr.trim() }).toEqual({ code: 0, stderr: "" });
  } finally {
    await service.close();
  }
});

/** Ends the process just before a complete file gets its final name. */
const DIE = 'require("node:fs").renameSync = () => process.kill(process.pid, "SIGKILL");';

describe("the code that V8 compiled", () => {
  let shared: string;
  let dist: string;
  let cache: string;
  beforeAll(() => {
    shared = join(makeProject(), "dist");
    mkdirSync(shared);
    for (const name of ["bin.js", "load.js", "program", "package.json"]) {
      cpSync(join(installation().directory, "dist", name), join(shared, name), { recursive: true });
    }
  });
  beforeEach(() => {
    dist = shared;
    cache = join(makeProject(), "cache");
  });
  const folder = () => join(cache, "skillflow");
  const names = () => readdirSync(folder());
  /** Names without the files of the few parts that only one command loads. */
  const common = () => names().filter((name) => !name.startsWith("program."));
  const kept = (start = "program-") => join(folder(), names().find((name) => name.startsWith(start)) ?? "");
  const ONE = [expect.stringMatching(/^program-\w+-\w+$/)];
  const start = (args = ["schema", "event"], env: Record<string, string> = {}) =>
    runAt(join(dist, "bin.js"), args, { cwd: makeProject(), env: { XDG_CACHE_HOME: cache, ...env } });
  let filled: Promise<Ended> | undefined;
  let full: string;
  /**
   * Fills the cache with a copy of the first start's files of the shared program, and returns the output of that start.
   */
  const fill = async () => {
    full ??= makeProject();
    filled ??= start(undefined, { XDG_CACHE_HOME: full });
    const first = await filled;
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    for (const name of readdirSync(join(full, "skillflow"))) {
      copyFileSync(join(full, "skillflow", name), join(folder(), name));
    }
    return first;
  };
  const installed = () =>
    readdirSync(dist, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => [name, readFileSync(join(parentPath, name), "base64")]);

  it("is stored in the user's cache folder, in one file for all commands, and the installation is not changed", async () => {
    const before = installed();
    const first = await start();
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(common()).toEqual(ONE);
    expect([statSync(folder()).mode & 0o777, statSync(kept()).mode & 0o777]).toEqual([0o700, 0o600]);
    const { ino } = statSync(kept());
    expect(await start()).toEqual(first);
    expect(statSync(kept()).ino).toBe(ino);
    await start(["runs", "list"]);
    expect(common()).toEqual(ONE);
    const both = statSync(kept()).ino;
    expect(both).not.toBe(ino);
    expect(await start()).toEqual(first);
    expect(statSync(kept()).ino).toBe(both);
    expect(installed()).toEqual(before);
  });

  it("is in ~/.cache without XDG_CACHE_HOME", async () => {
    const HOME = makeProject();
    await start(undefined, { HOME, XDG_CACHE_HOME: "" });
    const inHome = process.platform === "darwin" ? "Library/Caches" : ".cache";
    expect(readdirSync(join(HOME, inHome, "skillflow"))).toEqual(expect.arrayContaining(ONE));
  });

  it("depends on the program's place", async () => {
    await fill();
    dist = cpInto(makeProject(), dist);
    expect(await start()).toMatchObject({ code: 0 });
    expect(common()).toHaveLength(2);
  });

  it.each<[string, () => void]>([
    ["is damaged", () => writeFileSync(kept(), "no code")],
    ["is cut off", () => truncateSync(kept(), 100_000)],
    ["has another bit", () => flipBit(kept())],
    ["others may write to", () => chmodSync(kept(), 0o666)],
    ["others may read", () => chmodSync(kept(), 0o644)],
  ])("is replaced if it %s", async (_what, spoil) => {
    const first = await fill();
    const { ino } = statSync(kept());
    spoil();
    expect(await start()).toEqual(first);
    expect(common()).toEqual(ONE);
    expect(statSync(kept())).toMatchObject({ mode: 0o100600 });
    expect(statSync(kept()).ino).not.toBe(ino);
  });

  it("is not written into a folder that others may write to", async () => {
    mkdirSync(folder(), { recursive: true });
    chmodSync(folder(), 0o777);
    expect(await start()).toMatchObject({ code: 0, stderr: "" });
    expect(names()).toEqual([]);
  });

  it("is not taken from a checkout, nor from a folder that others may write to, nor through a link", async () => {
    dist = cpInto(makeProject(), dist);
    const plain = await start(["runs", "list"]);
    const program = join(dist, "program", "runs.js");
    const text = readFileSync(program, "latin1");
    // Only the length of the source matters to V8.
    writeFileSync(program, text.replaceAll("no runs yet", "planted yet"), "latin1");
    rmSync(kept("program.runs-"));
    expect(await start(["runs", "list"])).toMatchObject({ stderr: expect.stringContaining("planted yet") });
    writeFileSync(program, text, "latin1");
    expect(await start(["runs", "list"])).toMatchObject({ stderr: expect.stringContaining("planted yet") });
    const planted = kept("program.runs-");
    chmodSync(folder(), 0o777);
    expect(await start(["runs", "list"])).toEqual(plain);
    chmodSync(folder(), 0o700);
    mkdirSync(join(cache, ".git"));
    expect(await start(["runs", "list"])).toEqual(plain);
    rmSync(join(cache, ".git"), { recursive: true });
    renameSync(planted, join(cache, "elsewhere"));
    symlinkSync(join(cache, "elsewhere"), planted);
    expect(await start(["runs", "list"])).toEqual(plain);
  });

  it.skipIf(process.getuid?.() !== 0)("is not written into another user's folder", async () => {
    mkdirSync(cache);
    chownSync(cache, 12_345, 12_345);
    expect(await start()).toMatchObject({ code: 0, stderr: "" });
    expect(readdirSync(cache)).toEqual([]);
  });

  it("uses at most 16 MB, and deletes the oldest files first", async () => {
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    for (const [name, seconds] of [
      ["older", 1],
      ["newer", 2],
    ] as const) {
      writeFileSync(join(folder(), name), Buffer.alloc(8 * 1024 * 1024));
      utimesSync(join(folder(), name), seconds, seconds);
    }
    await start();
    expect(common()).toEqual(["newer", ...ONE]);
  });

  it("of a killed program is deleted", async () => {
    const env = { NODE_OPTIONS: `--require ${join(makeProject({ "die.cjs": DIE }), "die.cjs")}` };
    expect((await start(undefined, env)).signal).toBe("SIGKILL");
    expect(names()).toEqual([expect.stringMatching(/\.\d+$/)]);
    await start();
    expect(common()).toEqual(ONE);
  });

  it("includes packages that are separate files", async () => {
    dist = cpInto(makeProject(), dist);
    cpSync(join(installation().directory, "dist/vendor/openai.cjs"), join(dist, "vendor/openai.cjs"));
    const service = await startChat(() => ({ text: "Hello." }));
    const cwd = makeProject({ "hello.yml": HELLO });
    const args = ["run", "hello.yml", "--model", "openai-compatible:m", "--json"];
    const env = { OPENAI_BASE_URL: service.url, XDG_CACHE_HOME: cache };
    const run = () => runAt(join(dist, "bin.js"), args, { cwd, env });
    const inodes = () => names().map((name) => statSync(join(folder(), name)).ino);
    try {
      expect(await run()).toMatchObject({ code: 0 });
      expect(common()).toEqual([expect.stringMatching(/^openai-\w+-\w+$/), ...ONE]);
      const before = inodes();
      const again = await run();
      expect(JSON.parse(again.stdout)).toMatchObject({ status: "succeeded" });
      expect(inodes()).toEqual(before);
    } finally {
      await service.close();
    }
  });

  it.each<[string, Record<string, string>]>([
    ["is not a folder", { XDG_CACHE_HOME: "/dev/null/cache" }],
    ["is missing", { XDG_CACHE_HOME: "", HOME: "" }],
    ["is turned off", { NODE_DISABLE_COMPILE_CACHE: "1" }],
  ])("is not stored if the cache folder %s", async (_, env) => {
    expect(await start(undefined, env)).toMatchObject({ code: 0, stderr: "" });
    expect(existsSync(folder())).toBe(false);
  });
});

function cpInto(parent: string, from: string): string {
  cpSync(from, join(parent, "dist"), { recursive: true });
  return join(parent, "dist");
}

function flipBit(path: string): void {
  const bytes = readFileSync(path);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}
