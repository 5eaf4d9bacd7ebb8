import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect } from "vitest";
import type { Json } from "../../../../src/core/base/values.ts";
import type { ForeignCommand } from "../../../../src/core/skill/sandbox.ts";
import type { ToolContext } from "../../../../src/core/skill/skill.ts";
import type { LoadedSkill } from "../../../../src/loaders/folder/format.ts";
import type { FormatOptions, LoaderHost } from "../../../../src/loaders/folder/host.ts";
import { openSkillFolder } from "../../../../src/loaders/folder/skill-folder.ts";
import { toolDescriptor } from "../../../../src/loaders/formats/tool-descriptor/tool-descriptor.ts";
import { processSandbox } from "../../../../src/sandbox/process.ts";
import { toolContext } from "../../../../src/testing.ts";
import { oneOf } from "../../../harness/long.ts";
import { sandboxHost } from "../../../sandbox/host.ts";

const test = oneOf(3);

const root = realpathSync(mkdtempSync(join(tmpdir(), "descriptor-")));
let directory = "";
let count = 0;
beforeEach(() => {
  directory = join(root, String(count++));
  mkdirSync(join(directory, "work"), { recursive: true });
  mkdirSync(join(directory, "bin"));
});
afterAll(() => rmSync(root, { recursive: true }));

const write = (path: string, content: unknown) => {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
};
const program = (name: string, body: string) => chmodSync(write(`bin/${name}`, `#!/bin/sh\n${body}\n`), 0o755);
/** Prints its arguments as JSON, one by one. */
const ECHO = 'exec node -e "process.stdout.write(JSON.stringify(process.argv.slice(1)))" -- "$@"';

const PROFILES = ["current", "seed"] as const;
const CURRENT: FormatOptions = { descriptor: "current", allowScripts: false };
const pathHere = () => `${join(directory, "bin")}${delimiter}${process.env.PATH}`;

interface Started extends ForeignCommand {
  readonly as: "program" | "foreign";
}

/** Runs everything in the process sandbox, and notes what was started. */
function hostOf(options: Partial<FormatOptions> = {}) {
  const started: Started[] = [];
  const env = { ...process.env, PATH: pathHere() };
  const sandbox = processSandbox({ ...sandboxHost, env });
  const run = (as: Started["as"]) => (command: ForeignCommand) => {
    started.push({ ...command, as });
    return sandbox.run(command);
  };
  const host: LoaderHost = {
    env,
    cwd: directory,
    self: { pid: 1, host: "here", started: "1" },
    options: { ...CURRENT, ...options },
    runProgram: run("program"),
    runForeign: run("foreign"),
    runJavaScript: () => Promise.reject(new Error("no descriptor runs JavaScript")),
    nodePath: process.execPath,
    invoke: () => Promise.reject(new Error("nothing is invoked here")),
  };
  return { host, started };
}

function load(options: Partial<FormatOptions> = {}, { host } = hostOf(options)): LoadedSkill {
  const folder = openSkillFolder(join(directory, "notes"));
  if (!folder || !toolDescriptor.recognises(folder)) throw new Error("the folder is not recognised");
  const { loaded } = toolDescriptor.read(folder, host);
  if ("severity" in loaded) throw new Error(loaded.message);
  return loaded;
}

interface Answer {
  readonly output?: unknown;
  readonly error?: string;
  readonly started: readonly Started[];
}

async function callTool(
  input: Json,
  options: Partial<FormatOptions> = {},
  more: Partial<ToolContext> = {},
): Promise<Answer> {
  const made = hostOf(options);
  const [tool] = load(options, made).skill.tools;
  if (!tool) throw new Error("there is no tool");
  const answer = await Promise.resolve(
    tool.handler(input as never, toolContext({ workDir: join(directory, "work"), ...more })),
  ).then(
    (output) => ({ output }),
    (error: Error) => ({ error: error.message }),
  );
  return { ...answer, started: made.started };
}

const properties = { query: { type: "string" }, other: {}, path: {} };
const TOOL = { name: "notes_search", description: "Search.", parameters: { type: "object", properties } };
const RUN = { tool: "notes_search", binary: "notes", subcommand: "search", args: [{ param: "query" }] };
const WHOLE = { tools: [TOOL], allowlist: { notes: ["search", "find"] }, execution: [RUN] };
const skill = (
  tools: unknown = WHOLE,
  document = "---\nname: my-notes\ndescription: About notes\n---\n\nUse them.\n",
) => {
  write("notes/SKILL.md", document);
  write("notes/tools.json", tools);
};
const running = (change: object) => skill({ ...WHOLE, execution: [{ ...RUN, ...change }] });
const mapping = (...args: readonly object[]) => running({ args });

describe("folders that are descriptors", () => {
  const recognised = () => {
    const folder = openSkillFolder(join(directory, "notes"));
    return folder !== undefined && toolDescriptor.recognises(folder);
  };
  test.each<[string, unknown, boolean]>([
    ["a map with tools", { tools: [] }, true],
    ["a map with an allowlist", { allowlist: {} }, true],
    ["a map with execution", { execution: [] }, true],
    ["a map of anything else", { other: 1 }, true],
    ["text", '"x"', true],
    ["what is no JSON", "{", true],
    ["a list of Skill Tools", [{ name: "a", parameters: { type: { type: "string" } } }], false],
    ["an empty list", [], false],
    ["a list that is no JSON", "[{", false],
    ["a list with JSON Schemas", [TOOL], true],
  ])("%s: %j", (_, tools, expected) => {
    skill(tools);
    expect(recognised()).toBe(expected);
  });

  test.each(["allowlist.json", "execution.json"])("a list next to %s is one", (name) => {
    skill([]);
    write(`notes/${name}`, "{}");
    expect(recognised()).toBe(true);
  });

  test("a folder without SKILL.md is not one", () => {
    write("notes/tools.json", WHOLE);
    expect(recognised()).toBe(false);
  });

  test("a folder without tools.json is not one", () => {
    write("notes/SKILL.md", "Body");
    write("notes/allowlist.json", {});
    expect(recognised()).toBe(false);
  });
});

describe("the skill of a descriptor", () => {
  test("has the folder's tools, which are writes and run code", () => {
    skill();
    const loaded = load();
    expect(loaded).toMatchObject({ format: "tool-descriptor", kind: "tools", runsCode: true, diagnostics: [] });
    expect(loaded.skill).toMatchObject({
      id: "notes",
      description: "About notes",
      instruction: "Use them.",
      tools: [{ name: "notes_search", description: "Search.", input_schema: TOOL.parameters, effect: "write" }],
    });
    expect(loaded.unavailable).toBeUndefined();
  });

  test.each<[string, string, string, string]>([
    ["a name", "---\nname: my-notes\n---\nBody", "notes", "my-notes"],
    ["a title", "---\nname: My Notes, all of them\n---\nBody", "notes", "notes"],
    ["no frontmatter", "Body", "notes", "notes"],
    ["frontmatter that is no YAML", "---\nname: [x\n---\nBody", "notes", "notes"],
    ["frontmatter that is not a map", "---\n- x\n---\nBody", "notes", "notes"],
  ])("with %s has its folder's name today, its own name in the seed", (_, document, current, seed) => {
    skill(WHOLE, document);
    expect([load().skill.id, load({ descriptor: "seed" }).skill.id]).toEqual([current, seed]);
    expect(load().skill).toMatchObject({ instruction: "Body", tools: { length: 1 } });
  });

  test("a rule in a text without frontmatter removes nothing", () => {
    skill(WHOLE, "Above.\n\n---\n\nBelow.");
    expect(load().skill.instruction).toBe("Above.\n\n---\n\nBelow.");
  });

  test("a folder whose name cannot be used in a flag is skipped", () => {
    write("a,b/SKILL.md", "Body");
    write("a,b/tools.json", WHOLE);
    const folder = openSkillFolder(join(directory, "a,b"));
    const loaded = folder && toolDescriptor.read(folder, hostOf().host).loaded;
    expect(loaded).toMatchObject({
      code: "SKILL_SKIPPED",
      message: expect.stringContaining('"a,b" is not a skill id'),
    });
  });

  test("may consist of three files", () => {
    skill([TOOL]);
    write("notes/allowlist.json", WHOLE.allowlist);
    write("notes/execution.json", [{ ...RUN, tool: "other" }, RUN]);
    const { skill: loaded, diagnostics } = load();
    expect(loaded.tools).toHaveLength(1);
    expect(diagnostics).toMatchObject([
      {
        message: 'there is no tool "other"',
        file: join(directory, "notes/execution.json"),
        line: 1,
        column: 2,
      },
    ]);
  });

  test.each<[string, Readonly<Record<string, unknown>>, string]>([
    ["no companions", {}, "needs allowlist.json and execution.json next to it"],
    ["no allowlist", { "execution.json": [] }, "needs allowlist.json next to it"],
    ["no execution", { "allowlist.json": {} }, "needs execution.json next to it"],
  ])("in three files with %s has no tools, and its instruction", (_, files, message) => {
    skill([TOOL]);
    for (const [name, content] of Object.entries(files)) write(`notes/${name}`, content);
    const loaded = load();
    expect(loaded).toMatchObject({
      kind: "instruction",
      runsCode: false,
      skill: { tools: [], instruction: "Use them." },
    });
    expect(loaded.diagnostics.map((each) => each.message).join()).toContain(message);
  });

  test.each<[string, string, number, number]>([
    ["text that ends early", '{\n  "tools": [', 2, 13],
    ["a trailing comma", '{\n  "tools": [],\n}', 3, 1],
    ["a key without quotes", "{\n  tools: []\n}", 2, 3],
    ["nesting without end", `{"tools":${"[".repeat(5000)}`, 1, 109],
  ])("with %s keeps its instruction, and reports the place", (_, text, line, column) => {
    skill(text);
    const loaded = load();
    expect(loaded.skill).toMatchObject({ id: "notes", tools: [], instruction: "Use them." });
    expect(loaded.diagnostics[0]).toMatchObject({
      code: "DESCRIPTOR_INVALID",
      file: join(directory, "notes/tools.json"),
      line,
    });
    expect(loaded.diagnostics[0]?.column ?? column).toBe(column);
  });

  test.each(["tools.json", "allowlist.json"])(
    "with a %s that leads out of the folder keeps its instruction",
    (name) => {
      skill([TOOL]);
      write("notes/execution.json", [RUN]);
      rmSync(join(directory, "notes", name), { force: true });
      symlinkSync(write("elsewhere.json", {}), join(directory, "notes", name));
      const loaded = load();
      expect(loaded.skill).toMatchObject({ tools: [], instruction: "Use them." });
      expect(loaded.diagnostics[0]?.message).toContain("is a link that leads out of the folder");
    },
  );

  test("with a tools.json of another shape consists of instructions under its own name", () => {
    skill('"x"');
    expect(load()).toMatchObject({
      skill: { id: "my-notes", tools: [] },
      format: "agent-skills",
      diagnostics: [
        {},
        { message: "tools.json is neither a list of tools nor a map with tools, allowlist and execution" },
      ],
    });
  });

  test("an unknown key invalidates the tools in the seed alone", () => {
    skill({ ...WHOLE, version: 1 });
    expect(load().skill.tools).toHaveLength(1);
    const seed = load({ descriptor: "seed" });
    expect(seed.skill).toMatchObject({ tools: [], instruction: "Use them." });
    expect(seed.diagnostics).toMatchObject([{ message: "version is not a key of this format", line: 1 }]);
  });

  test("a finding has its line and column", () => {
    skill('{\n  "tools": [],\n  "execution": [\n    { "tool": "x", "binary": "b", "subcommand": 7 }\n  ]\n}');
    expect(load().diagnostics[0]).toMatchObject({ path: ["execution", 0, "subcommand"], line: 4, column: 35 });
  });

  test("a byte-order mark is ignored", () => {
    skill(`\uFEFF${JSON.stringify(WHOLE)}`);
    expect(load().skill.tools).toHaveLength(1);
  });
});

describe("the programs that a skill requires", () => {
  const lacks = (requires: string) => {
    program("here", "true");
    program("there", "true");
    write("bin/plain", "no program");
    skill(WHOLE, `---\nname: my-notes\n${requires}\n---\nBody`);
    return load().unavailable?.reason;
  };
  test.each<[string, string | undefined]>([
    ["metadata: { requires: { bins: [here, there] } }", undefined],
    ["metadata: { requires: { bins: [] } }", undefined],
    ["metadata: { requires: { bins: [here, gone, lost] } }", "gone is not on the PATH; lost is not on the PATH"],
    ["requires: { bins: [gone] }", "gone is not on the PATH"],
    ["metadata: { requires: { bins: [plain] } }", "plain is not on the PATH"],
    ["metadata: { requires: { bins: [[gone], [here]] } }", undefined],
    ["metadata: { requires: { bins: [[gone, here], [lost]] } }", "gone is not on the PATH; lost is not on the PATH"],
    ["metadata: { requires: { bins: [/dev/null/x] } }", "/dev/null/x is not a file"],
  ])("%s", (requires, reason) => {
    expect(lacks(requires)).toBe(reason);
  });

  test("one with a path is looked up as a file", () => {
    expect(lacks(`requires: { bins: [${join(directory, "bin/plain")}] }`)).toBeUndefined();
  });

  test("a requirement of another shape is reported", () => {
    expect(lacks("requires: { bins: here }")).toBeUndefined();
    expect(load().diagnostics).toMatchObject([{ code: "DESCRIPTOR_INVALID", file: join(directory, "notes/SKILL.md") }]);
  });

  test("the first installed group chooses how a tool is run", async () => {
    program("wrap", 'shift; exec "$@"');
    program("notes", ECHO);
    const execution = [
      { ...RUN, binary: "gone", condition: { binGroup: 0 } },
      { ...RUN, binaryWrapper: ["wrap", "-q"], condition: { binGroup: 1 } },
    ];
    skill({ ...WHOLE, execution }, "---\nname: n\nmetadata: { requires: { bins: [[gone], [wrap]] } }\n---\nBody");
    expect(await callTool({ query: "a b" })).toMatchObject({ output: '["search","a b"]' });
  });
});

describe("a call", () => {
  test("runs the program without a shell, in the working directory, with the config as its environment", async () => {
    program("notes", `pwd; echo "$TOKEN/$SECRET"; ${ECHO}`);
    skill();
    const query = "$(id) `id` ; 'x' \"y\" *\n";
    const { output, started } = await callTool({ query }, {}, { config: { TOKEN: "t" } });
    expect(output).toBe(`${join(directory, "work")}\nt/\n${JSON.stringify(["search", query])}`);
    expect(started).toMatchObject([
      { as: "program", argv: ["notes", "search", query], env: { TOKEN: "t" }, mounts: [] },
    ]);
  });

  test.each<[string, object, string]>([
    ["a program", { allowlist: {} }, "binary not allowlisted: notes"],
    ["a subcommand", { allowlist: { notes: ["Search"] } }, "subcommand not allowlisted: notes search"],
  ])("of %s that is not allowlisted starts nothing", async (_, more, error) => {
    program("notes", ECHO);
    skill({ ...WHOLE, ...more });
    expect(await callTool({ query: "x" })).toEqual({ error, started: [] });
  });

  test("with a subcommand of the model's choice checks that one against the allowlist", async () => {
    mapping({ param: "other", kind: "flagifboolean", subcommandOverride: "delete" });
    expect(await callTool({ other: true })).toEqual({ error: "subcommand not allowlisted: notes delete", started: [] });
  });

  test.each(PROFILES)("with a value that would be an option starts nothing (%s)", async (descriptor) => {
    skill();
    const { error, started } = await callTool({ query: "--vault=/etc" }, { descriptor });
    expect(error).toContain('parameter query begins with "-" and would be read as an option');
    expect(started).toEqual([]);
  });

  test("of a program that fails returns status and output", async () => {
    program("notes", "echo out; echo err >&2; exit 3");
    skill();
    expect(await callTool({ query: "x" })).toMatchObject({ error: "exit 3: out\n\nerr\n" });
  });

  test("of a program that is missing reports that", async () => {
    skill();
    const { error } = await callTool({ query: "x" });
    expect(error).toMatch(/^(exec failed: .*notes|exit 127: )/s);
  });

  test("that is aborted fails with the reason, and starts no more", async () => {
    program("notes", "sleep 60");
    skill();
    const abort = new AbortController();
    abort.abort(new Error("the run ends"));
    expect(await callTool({ query: "x" }, {}, { signal: abort.signal })).toEqual({
      error: "the run ends",
      started: [],
    });
  });

  test("of a program that prints much returns the beginning, and a mark", async () => {
    program("notes", "head -c 2000000 /dev/zero | tr '\\0' x");
    skill();
    const { output } = await callTool({ query: "x" });
    expect(String(output)).toMatch(
      /^x{1048576}…\n\[… the output is longer than 1048576 bytes; the rest is left out\]$/,
    );
  });

  test("passes the standard input", async () => {
    program("notes", "cat");
    mapping({ param: "query", kind: "stdin" });
    expect(await callTool({ query: "--a\nb" })).toMatchObject({ output: "--a\nb" });
  });

  test("interprets exit statuses as the file declares", async () => {
    program("notes", "printf out; echo err >&2; exit 1");
    running({ successExitCodes: [1] });
    expect(await callTool({ query: "x" })).toMatchObject({ output: "out\nerr\n" });
    running({ successExitCodes: [2] });
    expect(await callTool({ query: "x" })).toMatchObject({ error: "exit 1: out\nerr\n" });
  });

  test("keeps as many lines as the file declares", async () => {
    program("notes", "echo 1; echo 2; echo 3");
    running({ maxOutputLines: 2, truncationHint: "Narrow it." });
    expect(await callTool({ query: "x" })).toMatchObject({ output: "1\n2\n[… 1 of 3 lines left out]\nNarrow it." });
    running({ maxOutputLines: 3 });
    expect(await callTool({ query: "x" })).toMatchObject({ output: "1\n2\n3\n" });
  });
});

describe("additions of version 0.5.0 to a call", () => {
  test("a hint is a line after the output, which includes errors", async () => {
    program("notes", "echo out; echo warning: old >&2");
    running({ hintConditions: [{ match: "warning", hint: "renew {query}" }] });
    expect(await callTool({ query: "q" })).toMatchObject({ output: "out\nwarning: old\n\nhint: renew q\n" });
  });

  test("a value is passed in a separate file, which is deleted afterwards", async () => {
    program("notes", 'cat "$3"; printf "\\n%s %s" "$2" "$3"');
    mapping({ param: "query", kind: "tempfile", flag: "from" });
    const { output } = await callTool({ query: '-a\n"b" ' });
    const [, text, file] = /^([\s\S]*)\n--from (.+)$/.exec(String(output)) ?? [];
    expect(text).toBe('-a\n"b" ');
    expect(file && existsSync(file)).toBe(false);
    expect((await callTool({})).error).toContain("query");
  });

  describe("a file next to the output", () => {
    const beside = async (sideRead: object, query = "docs") => {
      running({ sideRead: { pathParam: "query", filename: "AGENTS.md", ...sideRead } });
      return (await callTool({ query })).output;
    };
    const folder = (path: string, text: string) => {
      mkdirSync(join(directory, "work", path), { recursive: true });
      writeFileSync(join(directory, "work", path, "AGENTS.md"), text);
    };

    test("is shown between marks, and is not counted", async () => {
      program("notes", "echo out");
      folder("docs", "\nBe kind.\n\n");
      expect(await beside({})).toBe("out\n\n--- AGENTS.md (BOF) ---\n\n\nBe kind.\n\n--- AGENTS.md (EOF) ---");
      expect(await beside({ label: "Rules" })).toContain("--- Rules (BOF) ---");
    });

    test.each([["gone"], ["empty"]])("that is missing or empty is ignored: %s", async (query) => {
      program("notes", "echo out");
      folder("empty", " \n");
      expect(await beside({}, query)).toBe("out\n");
    });

    test("that a link leads to outside is ignored", async () => {
      program("notes", "echo out");
      const outside = write("outside/AGENTS.md", "secret");
      mkdirSync(join(directory, "work/linked"), { recursive: true });
      symlinkSync(outside, join(directory, "work/linked/AGENTS.md"));
      expect(await beside({}, "linked")).toBe("out\n");
    });

    test("is shown once if the file declares it so", async () => {
      program("notes", "echo out");
      folder("docs", "Be kind.");
      running({ sideRead: { pathParam: "query", filename: "AGENTS.md", oncePerSession: true } });
      const [tool] = load().skill.tools;
      const call = () => tool?.handler({ query: "docs" } as never, toolContext({ workDir: join(directory, "work") }));
      expect(await call()).toContain("Be kind.");
      expect(await call()).toBe("out\n");
    });
  });
});

describe("a value that a command resolves", () => {
  const by = (resolveCommand: object) => mapping({ param: "query", resolveCommand });
  const COMMAND = { binary: "notes", subcommand: "find", args: ["$param", "$other"] };
  const RESOLVED = '["search","day:x/"]';

  beforeEach(() => {
    program(
      "notes",
      `case "$1" in find) [ "$2" = bad ] && exit 4; [ "$2" = none ] || echo " day:$2/$3 ";; *) ${ECHO};; esac`,
    );
  });

  test.each<[string, string, Partial<FormatOptions>, object]>([
    ["is its output without the space around it", "x", {}, { output: RESOLVED }],
    ["stays where nothing is printed", "none", {}, { output: '["search","none"]' }],
    ["that fails refuses the call today", "bad", {}, { error: "parameter query was refused: exit 4: \n" }],
    ["that fails stays in the seed", "bad", { descriptor: "seed" }, { output: '["search","bad"]' }],
  ])("%s", async (_, query, options, expected) => {
    by({ ...COMMAND, args: options.descriptor === "seed" ? ["$param"] : COMMAND.args });
    expect(await callTool({ query }, options)).toMatchObject(expected);
  });

  test("may depend on other parameters today", async () => {
    by(COMMAND);
    expect(await callTool({ query: "x", other: 7 })).toMatchObject({ output: '["search","day:x/7"]' });
  });

  test("must be allowed by the allowlist", async () => {
    by({ ...COMMAND, subcommand: "delete" });
    expect(await callTool({ query: "x" })).toEqual({
      error: "parameter query was refused: subcommand not allowlisted: notes delete",
      started: [],
    });
    expect(await callTool({ query: "x" }, { descriptor: "seed" })).toMatchObject({ output: '["search","x"]' });
  });

  test("cannot become an option during resolution", async () => {
    by(COMMAND);
    const { error, started } = await callTool({ query: "--delete" });
    expect(error).toContain("would be read as an option");
    expect(started).toEqual([]);
  });

  test("cannot become an option after resolution", async () => {
    program("notes", "echo --delete");
    by(COMMAND);
    expect(await callTool({ query: "x" })).toMatchObject({ error: expect.stringContaining('begins with "-"') });
  });

  test("that is left out may still be resolved, if it is optional", async () => {
    mapping({ param: "query", optional: true, resolveCommand: { ...COMMAND, args: ["$param"] } });
    expect(await callTool({})).toMatchObject({ output: '["search","day:/"]' });
    program("notes", `[ "$1" = find ] || ${ECHO}`);
    expect(await callTool({})).toMatchObject({ output: '["search"]' });
  });
});

describe("a value that a script resolves", () => {
  const SCRIPT = 'echo "day:$1"';
  const script = (name = "daily", more: object = {}) => {
    program("notes", ECHO);
    mapping({ param: "query", resolveCommand: { script: name, args: ["$param"], ...more } });
  };
  const allowed = (descriptor: FormatOptions["descriptor"] = "current") => ({ descriptor, allowScripts: true });

  test.each(PROFILES)("runs isolated, if the operator allows it (%s)", async (descriptor) => {
    script();
    const file = write("notes/scripts/daily.sh", SCRIPT);
    const { output, started } = await callTool({ query: "a b" }, allowed(descriptor));
    expect(output).toBe('["search","day:a b"]');
    expect(started[0]).toMatchObject({ as: "foreign", argv: ["sh", file, "a b"], network: false });
    expect(started[0]?.mounts.some(({ writable }) => writable)).toBe(false);
  });

  test("remains unchanged without that, and is reported when it is loaded", async () => {
    script();
    write("notes/scripts/daily.sh", SCRIPT);
    expect(await callTool({ query: "x" })).toMatchObject({ output: '["search","x"]' });
    expect(await callTool({ query: "x" }, { descriptor: "seed" })).toMatchObject({ output: '["search","x"]' });
    expect(load().diagnostics).toMatchObject([
      { code: "DESCRIPTOR_SCRIPTS", file: join(directory, "notes/tools.json") },
    ]);
    expect(load(allowed()).diagnostics).toEqual([]);
  });

  test("may use a command instead while scripts are off, not when the script fails", async () => {
    script("daily", { binary: "notes", subcommand: "find" });
    write("notes/scripts/daily.sh", "exit 1");
    expect(await callTool({ query: "x" })).toMatchObject({ output: '["search","[\\"find\\",\\"x\\"]"]' });
    expect(await callTool({ query: "x" }, allowed("seed"))).toMatchObject({ output: '["search","x"]' });
    expect(await callTool({ query: "x" }, allowed())).toMatchObject({
      error: "parameter query was refused: exit 1: \n",
    });
  });

  test.each(["daily", "daily.sh", "daily.py"])("is found by the name %s", async (name) => {
    script(name);
    write("notes/scripts/daily.sh", SCRIPT);
    expect(await callTool({ query: "x" }, allowed())).toMatchObject({ output: '["search","day:x"]' });
  });

  test.each(["../daily", "..", "a/daily", "a\\daily", "daily..sh", ""])("is not found by the name %j", async (name) => {
    script(name);
    write("notes/daily.sh", SCRIPT);
    write("notes/scripts/a/daily.sh", SCRIPT);
    write("notes/scripts/daily..sh", SCRIPT);
    const { error, started } = await callTool({ query: "x" }, allowed());
    expect(error).toContain("must be named by a plain file name");
    expect(started).toEqual([]);
  });

  test.each<[string, (outside: string) => void]>([
    ["a script that is a link", (outside) => symlinkSync(outside, join(directory, "notes/scripts/daily.sh"))],
    [
      "scripts that are a link",
      (outside) => {
        rmSync(join(directory, "notes/scripts"), { recursive: true });
        symlinkSync(dirname(outside), join(directory, "notes/scripts"));
      },
    ],
  ])("%s that leads out is not run", async (_, link) => {
    script();
    mkdirSync(join(directory, "notes/scripts"));
    link(write("elsewhere/daily.sh", `touch ${join(directory, "touched")}`));
    const { error, started } = await callTool({ query: "x" }, allowed());
    expect(error).toContain("is a link that leads out of the directory");
    expect(started).toEqual([]);
    expect(existsSync(join(directory, "touched"))).toBe(false);
  });

  test("and a link in scripts/ to another file of the skill is not run either", async () => {
    script();
    mkdirSync(join(directory, "notes/scripts"));
    symlinkSync(write("notes/daily.sh", SCRIPT), join(directory, "notes/scripts/daily.sh"));
    expect((await callTool({ query: "x" }, allowed())).error).toContain("leads out");
  });

  test("that is missing fails the call", async () => {
    script();
    mkdirSync(join(directory, "notes/scripts/daily"), { recursive: true });
    expect((await callTool({ query: "x" }, allowed())).error).toContain("the script daily does not exist in scripts/");
  });
});

describe("an output that is piped through a script", () => {
  const through = (body: string, helper: object = { script: "trim", args: ["$query"] }) => {
    program("notes", "echo out; echo err >&2");
    write("notes/scripts/trim.sh", body);
    running({ postProcess: helper });
    return callTool({ query: "q" }, { allowScripts: true });
  };

  test("is the script's output for its standard input", async () => {
    expect(await through('echo "$1: $(cat)"')).toMatchObject({ output: "q: out\n" });
  });

  test.each(["exit 1", "true"])("remains unchanged after %s", async (body) => {
    expect(await through(body)).toMatchObject({ output: "out\n" });
  });

  test("may be piped through an allowlisted command", async () => {
    const helper = { binary: "notes", subcommand: "find" };
    expect(await through("", helper)).toMatchObject({ output: "out\n" });
  });
});

describe("a value that is not marked as a path", () => {
  beforeEach(() => {
    program("notes", ECHO);
    mkdirSync(join(directory, "work/sub"));
    write("outside/x", "x");
    symlinkSync(join(directory, "outside"), join(directory, "work/out"));
    symlinkSync(join(directory, "outside/x"), join(directory, "work/sub/x"));
    symlinkSync(join(directory, "work/sub"), join(directory, "work/in"));
  });

  test.each(["out", "out/x", "out/new", "out/new/deep", "sub/x"])(
    "is refused where links lead out: %s",
    async (query) => {
      for (const how of [{}, { kind: "flag" }, { split: true }]) {
        mapping({ param: "query", ...how });
        const { error, started } = await callTool({ query });
        expect(error).toMatch(/^parameter query: the path .* leads out/);
        expect(started).toEqual([]);
      }
    },
  );

  test.each(["in", "in/new", "plain words", "a\\b", "https://x.test/out/x", "", "x".repeat(300)])(
    "is passed unchanged otherwise: %s",
    async (query) => {
      mapping({ param: "query" });
      expect(await callTool({ query })).toMatchObject({ output: JSON.stringify(["search", query]) });
    },
  );

  test("is not checked if the file declares it safe, or in the seed", async () => {
    const output = JSON.stringify(["search", "out/x"]);
    mapping({ param: "query", unsafePath: true });
    expect(await callTool({ query: "out/x" })).toMatchObject({ output });
    mapping({ param: "query" });
    expect(await callTool({ query: "out/x" }, { descriptor: "seed" })).toMatchObject({ output });
  });
});

describe("a value that is marked as a path", () => {
  const marked = (mark: object) => {
    program("notes", `cd . ; ${ECHO}`);
    mapping({ param: "path", ...mark });
    mkdirSync(join(directory, "work/sub"));
    write("outside", "x");
  };
  const inside = (path: string) => JSON.stringify(["search", join(directory, "work", path)]);

  test.each<[string, string]>([
    ["sub", "sub"],
    ["./sub/new.md", "sub/new.md"],
    ["new/deeper/x.md", "new/deeper/x.md"],
    [".", ""],
    ["-x", "-x"],
  ])("%s is a place in the working directory", async (path, place) => {
    for (const mark of [{ readPath: true }, { writePath: true }]) {
      rmSync(join(directory, "work"), { recursive: true });
      mkdirSync(join(directory, "work"));
      marked(mark);
      expect(await callTool({ path })).toMatchObject({ output: inside(place) });
    }
  });

  test("an absolute one may be in it", async () => {
    marked({ readPath: true });
    expect(await callTool({ path: join(directory, "work/sub") })).toMatchObject({ output: inside("sub") });
  });

  test.each(["../outside", "sub/../../outside", "/etc/passwd", "out", "out/new", "nowhere", "nowhere/x"])(
    "%s is refused",
    async (path) => {
      marked({ writePath: true });
      symlinkSync(directory, join(directory, "work/out"));
      symlinkSync(join(directory, "not-there"), join(directory, "work/nowhere"));
      const { error, started } = await callTool({ path });
      expect(error).toMatch(/^parameter path: the path .* (contains|is|leads|does)/);
      expect(started).toEqual([]);
    },
  );

  test("several in one parameter are resolved separately", async () => {
    marked({ readPath: true, split: true });
    const places = ["sub", "new.md"].map((path) => join(directory, "work", path));
    expect(await callTool({ path: "sub new.md" })).toMatchObject({ output: JSON.stringify(["search", ...places]) });
    expect((await callTool({ path: "sub ../x" })).error).toContain("the path ../x contains `..`");
  });

  test("a working directory is where the program starts", async () => {
    marked({ kind: "workingdir" });
    program("notes", "pwd");
    expect(await callTool({ path: "sub" })).toMatchObject({ output: `${join(directory, "work/sub")}\n` });
    expect((await callTool({ path: ".." })).error).toContain("contains `..`");
  });
});

describe("the example of the document", () => {
  test.each(PROFILES)("runs as written (%s)", async (descriptor) => {
    program("notesmd-cli", ECHO);
    skill(readFileSync(join(import.meta.dirname, "data", "notes-tools.json"), "utf8"), "# Notes\n");
    expect(load({ descriptor }).diagnostics).toEqual([]);
    expect(await callTool({ query: "my note" }, { descriptor })).toMatchObject({ output: '["search","my note"]' });
  });
});
