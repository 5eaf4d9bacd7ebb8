import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/core/base/values.ts";
import type { ForeignCommand } from "../../../../src/core/skill/sandbox.ts";
import type { ToolContext } from "../../../../src/core/skill/skill.ts";
import type { LoadedSkill } from "../../../../src/loaders/folder/format.ts";
import type { LoaderHost } from "../../../../src/loaders/folder/host.ts";
import { openSkillFolder } from "../../../../src/loaders/folder/skill-folder.ts";
import { skillTools } from "../../../../src/loaders/formats/skill-tools/skill-tools.ts";
import { handlerConfig, recordSkill } from "../../../../src/loaders/registry/entry.ts";
import { openSkillSet } from "../../../../src/loaders/registry/open.ts";
import { memoryBlobs } from "../../../../src/stores/blobs.ts";
import { foreignHost, makeFolder } from "../../foreign.ts";

const document = (name: string, frontmatter = "") =>
  `---\nname: ${name}\ndescription: d\n${frontmatter}---\nCall the tools.`;
const tool = (name: string, parts: object = {}) => ({ name, description: "d", script: "scripts/go.js", ...parts });

/** A folder `x/` with this manifest. */
function makeSkill(manifest: unknown, files: Readonly<Record<string, unknown>> = {}, frontmatter = ""): string {
  const scripts = { "x/scripts/go.js": "export default (args) => args;" };
  const root = makeFolder({ "x/SKILL.md": document("x", frontmatter), "x/tools.json": manifest, ...scripts, ...files });
  return join(root, "x");
}

function load(directory: string, host: LoaderHost = foreignHost): LoadedSkill {
  const folder = openSkillFolder(directory);
  if (!folder || !skillTools.recognises(folder)) throw new Error("not recognised");
  const { loaded } = skillTools.read(folder, host);
  if ("severity" in loaded) throw new Error(loaded.message);
  return loaded;
}

function call(loaded: LoadedSkill, name: string, input: JsonObject = {}, context: Partial<ToolContext> = {}) {
  const found = loaded.skill.tools.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no tool ${name}`);
  const quiet = () => undefined;
  return found.handler(input as never, {
    config: {},
    callId: "c",
    workDir,
    signal: new AbortController().signal,
    fetch,
    offline: false,
    now: Date.now,
    blobs: memoryBlobs(),
    logger: { debug: quiet, info: quiet, warn: quiet },
    ...context,
  });
}
const workDir = makeFolder();

describe("a folder with SKILL.md and tools.json", () => {
  test("is a skill with tools, each of which may write", () => {
    const loaded = load(makeSkill([tool("go"), tool("stay", { script: undefined })]));
    expect(loaded).toMatchObject({ format: "skill-tools", kind: "tools", runsCode: true, diagnostics: [] });
    expect(loaded.skill).toMatchObject({ id: "x", instruction: "Call the tools." });
    expect(loaded.skill.tools.map(({ name, effect }) => [name, effect])).toEqual([
      ["go", "write"],
      ["stay", "read"],
    ]);
  });

  test.each([
    ["one without tools.json", { "a/SKILL.md": document("a") }],
    ["one without SKILL.md", { "a/tools.json": [] }],
  ])("%s is not recognized", (_, files) => {
    const folder = openSkillFolder(join(makeFolder(files), "a"));
    expect(folder && skillTools.recognises(folder)).toBe(false);
  });

  test.each<[string, unknown]>([
    ["an empty manifest", []],
    ["a manifest that is no JSON", "[{]"],
    ["a manifest that is an object", {}],
    ["a manifest with parameters as JSON Schema", [tool("go", { parameters: { type: "object" } })]],
    ["a manifest of one bad tool", [tool("Bad")]],
  ])("with %s consists of its instructions", (_, manifest) => {
    const loaded = load(makeSkill(manifest));
    expect(loaded).toMatchObject({ kind: "instruction", runsCode: false, skill: { instruction: "Call the tools." } });
    expect(loaded.skill.tools).toEqual([]);
  });

  test("names the file and the place of what is wrong", () => {
    const directory = makeSkill('[\n  { "name": "go",\n    "description": 7 }\n]');
    const file = join(directory, "tools.json");
    expect(load(directory).diagnostics).toMatchObject([{ code: "TOOL_SKIPPED", file, line: 3, column: 5 }]);
  });

  test.each<[string, (directory: string) => void, string]>([
    ["is a folder", (directory) => mkdirSync(join(directory, "tools.json")), "it is not a file"],
    [
      "is a link that leads out",
      (directory) => symlinkSync(join(makeFolder({ "t.json": [tool("go")] }), "t.json"), join(directory, "tools.json")),
      "a link that leads out",
    ],
    [
      "is larger than a megabyte",
      (directory) => writeFileSync(join(directory, "tools.json"), `[${" ".repeat(1024 * 1024)}]`),
      "more than 1 MB",
    ],
  ])("whose tools.json %s remains as instructions", (_, make, message) => {
    const directory = makeSkill([]);
    rmSync(join(directory, "tools.json"));
    make(directory);
    const { skill, diagnostics } = load(directory);
    expect(skill.instruction).toBe("Call the tools.");
    expect(diagnostics).toMatchObject([{ severity: "error", code: "TOOLS_INVALID" }]);
    expect(diagnostics[0]?.message).toContain(message);
  });

  test("whose SKILL.md is invalid is skipped completely", () => {
    const folder = openSkillFolder(makeSkill([tool("go")], { "x/SKILL.md": "no frontmatter" }));
    expect(folder && skillTools.read(folder, foreignHost).loaded).toMatchObject({ code: "SKILL_SKIPPED" });
  });

  test("runs no code while it is loaded", () => {
    const runForeign = async () => {
      throw new Error("something was run");
    };
    expect(load(makeSkill([tool("go")]), { ...foreignHost, runForeign }).skill.tools).toHaveLength(1);
  });
});

describe("a tool", () => {
  test("gets its parameters and the working directory", async () => {
    const loaded = load(makeSkill([tool("go")]));
    expect(await call(loaded, "go", { text: "a" })).toEqual({ text: "a", __workDir: workDir });
  });

  test("without a script refers the model to the instructions", async () => {
    const loaded = load(makeSkill([tool("stay", { script: undefined })]));
    expect(loaded.runsCode).toBe(false);
    expect(await call(loaded, "stay")).toContain('call read_skill with the skill_name "x"');
  });

  test("whose script is missing is kept with a warning, and its call fails clearly", async () => {
    const loaded = load(makeSkill([tool("go", { script: "scripts/gone.js" })]));
    expect(loaded.diagnostics).toMatchObject([{ severity: "warning", path: [0, "script"] }]);
    await expect(call(loaded, "go")).rejects.toThrow("the script scripts/gone.js does not exist");
  });

  test.each([["scripts"], ["."]])("whose script is the folder %s is kept with a warning", (script) => {
    expect(load(makeSkill([tool("go", { script })])).diagnostics).toMatchObject([{ severity: "warning" }]);
  });

  test.each([
    ["../x/scripts/go.js"],
    ["scripts/../../out.js"],
    ["scripts\\go.js"],
    ["scripts/go.js\0"],
    ["/etc/passwd"],
    ["link.js"],
    ["folder/out.js"],
  ])("whose script is %j is refused", (script) => {
    const outside = makeFolder({ "out.js": "" });
    const directory = makeSkill([tool("go", { script })]);
    symlinkSync(join(outside, "out.js"), join(directory, "link.js"));
    symlinkSync(outside, join(directory, "folder"));
    const { skill, diagnostics } = load(directory);
    expect(skill.tools).toEqual([]);
    expect(diagnostics).toMatchObject([{ severity: "error", code: "TOOL_SKIPPED", path: [0, "script"] }]);
  });

  test("whose script is an absolute path into the folder is refused too", () => {
    const directory = makeSkill([]);
    writeFileSync(
      join(directory, "tools.json"),
      JSON.stringify([tool("go", { script: join(directory, "scripts/go.js") })]),
    );
    expect(load(directory).diagnostics[0]?.message).toContain("is an absolute path");
  });

  test("whose script became a link that leads out is refused when it is called", async () => {
    const directory = makeSkill([tool("go")]);
    const loaded = load(directory);
    rmSync(join(directory, "scripts/go.js"));
    symlinkSync(join(makeFolder({ "out.js": "" }), "out.js"), join(directory, "scripts/go.js"));
    await expect(call(loaded, "go")).rejects.toThrow("is a link that leads out");
  });

  test.each<[string, boolean | string[]]>([
    ["", false],
    ["metadata: { network: api.example.com *.example.org:8443 }\n", ["api.example.com", "*.example.org:8443"]],
    ["metadata: { network: [a.com] }\n", false],
    ["compatibility: Requires network access\nmetadata: { network: a.com }\n", true],
    ["compatibility: Requires network access\n", true],
    ["compatibility: Requires Python 3.10+, internet access and patience\n", true],
    ["compatibility: Requires Python 3.10+\n", false],
    ["compatibility: Works without network access\n", false],
    ["compatibility: No internet needed\n", false],
    ["compatibility: No database, but network access\n", true],
    ["compatibility: [network]\n", false],
  ])("of a skill with %j has the network: %s", async (frontmatter, network) => {
    let seen: ForeignCommand | undefined;
    const host: LoaderHost = {
      ...foreignHost,
      runForeign: async (command) => {
        seen = command;
        return { ended: "exit", code: 0, stdout: "1", stderr: "", truncated: false };
      },
    };
    await call(load(makeSkill([tool("go")], {}, frontmatter), host), "go");
    expect(seen?.network).toEqual(network);
  });
});

test("the user sees the hosts that the scripts can reach before they are allowed", () => {
  const { code } = load(makeSkill([tool("go")], {}, "metadata: { network: a.com b.com }\n"));
  expect(code).toEqual(["its scripts with the network (a.com, b.com)"]);
});

describe("a tool that lacks the network", () => {
  const failing = (stderr: string): LoaderHost => ({
    ...foreignHost,
    runForeign: async () => ({ ended: "exit", code: 1, stdout: "", stderr, truncated: false }),
  });

  test.each([
    ["getaddrinfo EAI_AGAIN example.com"],
    ["<urlopen error [Errno -3] Temporary failure in name resolution>"],
    ["curl: (6) Could not resolve host: example.com"],
  ])("gets an error with the line that its skill needs: %s", async (stderr) => {
    await expect(call(load(makeSkill([tool("go")]), failing(stderr)), "go")).rejects.toThrow(
      /compatibility: Requires network access/,
    );
  });

  test("gets the original error if its skill declares it, or if the cause is another", async () => {
    const asking = load(makeSkill([tool("go")], {}, "compatibility: Requires network access\n"), failing("ENOTFOUND"));
    await expect(call(asking, "go")).rejects.toThrow(/ENOTFOUND$/);
    await expect(call(load(makeSkill([tool("go")]), failing("other")), "go")).rejects.toThrow(/other$/);
  });
});

describe("in a set of skills", () => {
  const open = (path: string, options: { trust?: string[]; variables?: [string, string[]][] } = {}) =>
    openSkillSet({
      builtin: makeFolder(),
      own: [],
      levels: [{ kind: "project", path, trusted: false, root: path }],
      servers: new Map(),
      disabled: [],
      trust: { ids: new Set(options.trust), remembered: [] },
      variables: new Map(options.variables),
      overrides: new Map(),
      env: { SERVICE_TOKEN: "t", HANDED: "h", OTHER: "o" },
      host: foreignHost,
    });
  const config = "config:\n  token: { description: Token, env: SERVICE_TOKEN }\n";
  const environment = { "x/scripts/go.js": "export default () => process.env;" };

  test("its tools are offered once it is trusted, and its instruction before", async () => {
    const root = join(makeSkill([tool("go")]), "..");
    const before = await open(root).find("x");
    expect(before?.skill).toMatchObject({ tools: [], instruction: "Call the tools." });
    expect(recordSkill("x", before)).toMatchObject({ available: true, tools: [], format: "skill-tools" });
    expect(before?.withheld).toContain("--trust-skill x");
    const after = await open(root, { trust: ["x"] }).find("x");
    expect(recordSkill("x", after).tools).toMatchObject([{ exposed: "x_go", effect: "write", idempotent: false }]);
  });

  test("tools that run nothing need no trust", async () => {
    const root = join(makeSkill([tool("stay", { script: undefined })]), "..");
    expect((await open(root).find("x"))?.skill.tools).toHaveLength(1);
  });

  test("a handler sees declared and passed variables, nothing else", async () => {
    const root = join(makeSkill([tool("go")], environment, config), "..");
    const entry = await open(root, { trust: ["x"], variables: [["x", ["HANDED"]]] }).find("x");
    if (!entry) throw new Error("no skill");
    const loaded = { skill: entry.skill } as LoadedSkill;
    const seen = await call(loaded, "go", {}, { config: handlerConfig(entry) });
    expect(seen).toMatchObject({ SERVICE_TOKEN: "t", HANDED: "h" });
    expect(Object.keys(seen as object).sort()).toEqual(["HANDED", "HOME", "LANG", "PATH", "SERVICE_TOKEN", "TMPDIR"]);
  });
});
