import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { SkillLevel } from "../../src/loaders/folder/format.ts";
import { openSkillFolder, readSkillDocument } from "../../src/loaders/folder/skill-folder.ts";
import { handlerConfig, recordSkill } from "../../src/loaders/registry/entry.ts";
import { openSkillSet } from "../../src/loaders/registry/open.ts";
import type { InlineSkills, ServerChoice, SkillSetOptions } from "../../src/loaders/registry/skill-set.ts";
import type { Trust, TrustEntry } from "../../src/loaders/trust/trust-memory.ts";

const root = mkdtempSync(join(tmpdir(), "skills-"));
let directory = "";
let count = 0;
beforeEach(() => {
  directory = join(root, String(count++));
});
afterAll(() => rmSync(root, { recursive: true }));

const write = (path: string, text: string) => {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};
const skill = (path: string, frontmatter: string, body = "Body.") =>
  write(`${path}/SKILL.md`, `---\n${frontmatter}\n---\n${body}`);
const readFolder = (file: string) => {
  const folder = openSkillFolder(dirname(file));
  if (!folder) throw new Error(`${file} lies in no folder`);
  return readSkillDocument(folder);
};
const read = (frontmatter: string, body?: string) => readFolder(skill("x", frontmatter, body));

describe("a SKILL.md", () => {
  test("has id, description, category, config and instruction", () => {
    const document = read(
      "name: runbooks\ndescription: Which one\ncategory: observability\nconfig:\n  TOKEN: { description: Read token, required: true, env: RUNBOOK_TOKEN }",
      "\n\nPick one.\n\n",
    );
    expect(document).toMatchObject({
      id: "runbooks",
      description: "Which one",
      category: "observability",
      config: { TOKEN: { description: "Read token", required: true, env: "RUNBOOK_TOKEN" } },
      instruction: "Pick one.",
    });
  });

  test("has defaults for all but its name", () => {
    expect(read("name: x")).toMatchObject({
      description: "Custom skill: x",
      category: "general",
      config: {},
      mcp: undefined,
    });
  });

  test("a config field without env reads the variable named like its key", () => {
    expect(read("name: x\nconfig: { MY_KEY: { description: d } }")).toMatchObject({
      config: { MY_KEY: { env: "MY_KEY", required: false } },
    });
  });

  test.each([["nonsense"], ["7"], ["[git]"]])("a category %s falls back to general", (category) => {
    expect(read(`name: x\ncategory: ${category}`)).toMatchObject({ category: "general" });
  });

  test("a category data is valid", () => {
    expect(read("name: x\ncategory: data")).toMatchObject({ category: "data" });
  });

  test.each([
    ["", undefined],
    [" \n\t\n", undefined],
    ["\n  a\n  b  \n", "a\n  b"],
  ])("a body %j is trimmed, and an empty one counts as missing", (body, instruction) => {
    expect(read("name: x", body)).toMatchObject({ instruction });
  });

  test.each(["a", "a1", "a-b", "0", "x".repeat(64)])("%s is an id", (id) => {
    expect(read(`name: "${id}"`)).toMatchObject({ id });
  });

  test.each(["A", "a_b", "-a", "a-", "a--b", "a b", "ä", "a.b", "a/b", "../a", "x".repeat(65), "a\\n"])(
    "%s is not an id: the folder's name is used, with a diagnostic",
    (id) => {
      expect(read(`name: "${id}"`)).toMatchObject({
        id: "x",
        diagnostics: [{ severity: "warning", code: "SKILL_NAME" }],
      });
    },
  );

  test.each([
    ["bad YAML", "name: [x"],
    ["a duplicate key", "name: x\nname: y"],
    ["a list", "- name: x"],
    ["an alias bomb", `a: &a [x]\nb: &b [${"*a,".repeat(200)}]\nname: x`],
    ["deep nesting", `name: x\ny: ${"[".repeat(50_000)}`],
    ["keys of keys", "? ".repeat(50_000)],
    ["a second document", "name: x\n...\n--- a\nname: y"],
    ["an mcp server without address", "name: x\nmcp: { args: [y] }"],
  ])("%s skips the folder with a diagnostic", (_, frontmatter) => {
    expect(read(frontmatter)).toMatchObject({ severity: "warning", code: "SKILL_SKIPPED" });
  });

  test.each([
    ["no frontmatter", "Just text."],
    ["an open one", "---\nname: x\n"],
    ["nothing", ""],
  ])("%s skips the folder", (_, text) => {
    expect(readFolder(write("x/SKILL.md", text))).toMatchObject({ code: "SKILL_SKIPPED" });
  });

  test("may have Windows line ends and a byte-order mark", () => {
    expect(readFolder(write("x/SKILL.md", "\uFEFF---\r\nname: x\r\n---\r\nBody.\r\n"))).toMatchObject({
      id: "x",
      instruction: "Body.",
    });
  });
});

const NOT_CONNECTED = "its server is not trusted: --trust-skill x connects it";
const inline = (skills: NonNullable<InlineSkills["skills"]>): InlineSkills => ({ skills, trusted: false });

describe("a set of skills", () => {
  const open = (levels: readonly string[], options: Partial<SkillSetOptions> = {}) =>
    openSkillSet({
      builtin: join(directory, "builtin"),
      own: [],
      levels: levels.map(levelAt),
      servers: new Map(),
      disabled: [],
      trust: { ids: new Set(), remembered: [] },
      variables: new Map(),
      overrides: new Map(),
      env: {},
      host: {
        cwd: directory,
        self: { pid: 1, host: "here", started: "1" },
        options: { descriptor: "current", allowScripts: false },
        runProgram: refuse,
        runForeign: refuse,
        runJavaScript: refuse,
        nodePath: "node",
      },
      ...options,
    });
  const refuse = () => Promise.reject(new Error("nothing is run here"));
  const levelAt = (path: string): SkillLevel => ({
    kind: "project",
    path: join(directory, path),
    trusted: false,
    root: directory,
  });
  const builtin = (id: string, more = "") =>
    write(
      `builtin/${id}/skill.js`,
      `export default { id: "${id}", name: "Built-in", description: "from code", category: "git",
        config: { TOKEN: { description: "t", required: true, env: "THE_TOKEN" }, URL: { description: "u", env: "THE_URL", secret: false } },
        tools: [{ name: "find", description: "f", input_schema: { type: "object" }, effect: "read", handler: () => 1 },
                { name: "act", description: "a", input_schema: { type: "object" }, handler: () => 1 }]${more} };`,
    );

  test("the higher level wins an id, and the shadowed skill is reported", async () => {
    skill("high/x", "name: x", "high");
    skill("low/y", "name: x", "low");
    const set = open(["high", "low"]);
    const found = await set.find("x");
    expect(found?.skill.instruction).toBe("high");
    expect(found?.source).toMatchObject({ kind: "project", path: join(directory, "high/x"), priority: 20 });
    expect(found?.shadows).toEqual([join(directory, "low/y")]);
    expect(set.diagnostics).toMatchObject([
      {
        code: "SKILL_SHADOWED",
        message: `skill "x": ${join(directory, "high/x")} (priority 20) shadows ${join(directory, "low/y")} (priority 10)`,
      },
    ]);
  });

  test("a level that is missing, or a file, is empty", () => {
    write("file", "x");
    expect(open(["nope", "file"]).ids.size).toBe(0);
    expect(open(["nope", "file"]).diagnostics).toEqual([]);
  });

  test("invalid skills are skipped, and the others are loaded", () => {
    skill("own/b", "name: good");
    skill("own/A", "name: Bad Name");
    write("own/c/README.md", "no skill");
    mkdirSync(join(directory, "own/d/SKILL.md"), { recursive: true });
    const { ids, diagnostics } = open(["own"]);
    expect([...ids]).toEqual(["good"]);
    const left = diagnostics.filter(({ code }) => code === "SKILL_SKIPPED");
    expect(left.map(({ file }) => file)).toEqual([
      join(directory, "own/A/SKILL.md"),
      join(directory, "own/d/SKILL.md"),
    ]);
  });

  test.each([
    ["own/a/tools.json", "it has a tools.json and no SKILL.md"],
    ["own/a/skill.md", "its document is named skill.md: the name must be SKILL.md"],
    ["own/a/Skill.md", "its document is named Skill.md: the name must be SKILL.md"],
  ])("an almost valid skill is reported, and skills below it are found: %s", (path, why) => {
    write(path, "[]");
    skill("own/a/below", "name: below");
    const { ids, diagnostics } = open(["own"]);
    expect([...ids]).toEqual(["below"]);
    expect(diagnostics).toMatchObject([
      { severity: "warning", code: "SKILL_SKIPPED", message: `skipped: ${why}`, file: join(directory, "own/a") },
    ]);
  });

  test("a package that lacks a secret is unavailable, and the reason names the secret", async () => {
    write(
      "own/p/skill.toml",
      'name = "a.b"\nversion = "1.0.0"\ndescription = "d"\nkind = "instruction"\n[permissions]\nsecrets = ["A", "B"]\n',
    );
    write("own/p/SKILL.md", "---\nname: A\nshort_description: s\n---\nText.");
    expect((await open(["own"], { env: { A: "1" } }).find("a.b"))?.unavailable?.reason).toBe("B is not set");
    expect((await open(["own"], { env: { A: "1", B: "2" } }).find("a.b"))?.unavailable).toBeUndefined();
  });

  test.each([
    ["own/b/contract.yml", "id: a.find\nversion: [", "a.find"],
    ["own/b/contract.json", '{\n  "id": "bad id",\n  "version": "1.0.0"\n}', "bad id"],
    ["own/b/skill.toml", 'name = "a.find"\nversion = ', "a.find"],
  ])("a skipped skill is found by its id with the reason, whatever its folder's name: %s", (path, text, id) => {
    write(path, text);
    write("own/c/contract.yml", "id: other\nversion: [");
    const set = open(["own"]);
    expect(set.ids.has(id)).toBe(false);
    expect(set.about(id)).toMatchObject([{ code: "SKILL_SKIPPED", file: expect.stringContaining("own/b") }]);
  });

  test("of two folders of one level the first by name wins, with a diagnostic", async () => {
    skill("own/zz", "name: twin", "second");
    skill("own/aa", "name: twin", "first");
    const set = open(["own"]);
    expect((await set.find("twin"))?.skill.instruction).toBe("first");
    expect(set.diagnostics).toMatchObject([{ code: "SKILL_SHADOWED", file: join(directory, "own/aa") }]);
  });

  test("folders of skills may be deeper, but not inside one another", () => {
    skill("own/team/sub/x", "name: x");
    skill("own/team/sub/x/y", "name: y");
    skill("own/a/b/c/d/e", "name: e");
    skill("own/node_modules/n", "name: n");
    expect([...open(["own"]).ids]).toEqual(["x"]);
  });

  test("a level may be a skill folder itself", () => {
    skill("one", "name: one");
    expect([...open(["one"]).ids]).toEqual(["one"]);
  });

  test("a folder that is a link out of the project is refused; one that stays inside is not", () => {
    skill("elsewhere/x", "name: x");
    skill("project/shared/y", "name: y");
    mkdirSync(join(directory, "project/own"));
    symlinkSync(join(directory, "elsewhere/x"), join(directory, "project/own/x"));
    symlinkSync(join(directory, "project/shared/y"), join(directory, "project/own/y"));
    const set = open([], { levels: [{ ...levelAt("project/own"), root: join(directory, "project") }] });
    expect([...set.ids]).toEqual(["y"]);
    expect(set.diagnostics).toMatchObject([{ message: "skipped: it is a link that leads out of the project" }]);
  });

  test("a SKILL.md that is a link out of its folder is refused", () => {
    const secret = write("secret.md", "---\nname: s\n---\nsecret");
    mkdirSync(join(directory, "own/x"), { recursive: true });
    symlinkSync(secret, join(directory, "own/x/SKILL.md"));
    expect(open(["own"]).ids.size).toBe(0);
  });

  const here = () => open(["own"]).withheld("x")?.parts[0];
  const answered = (parts: Partial<TrustEntry>): Trust => {
    const { path = "", digest } = here() ?? {};
    return { ids: new Set(), remembered: [{ id: "x", path, digest: digest?.() ?? "", at: "", ...parts }] };
  };
  const byId = (...ids: string[]): Trust => ({ ids: new Set(ids), remembered: [] });

  test.each<[string, () => Trust, boolean]>([
    ["no trust", () => byId(), false],
    ["its id", () => byId("x"), true],
    ["another's id", () => byId("y"), false],
    ["an answer to these files here", () => answered({}), true],
    ["an answer to other files", () => answered({ digest: "0".repeat(64) }), false],
    ["an answer to the same files elsewhere", () => answered({ path: "/elsewhere/own/x" }), false],
    ["an answer about another id", () => answered({ id: "y" }), false],
    ["an id with a digest", () => byId(`x@${here()?.digest()}`), false],
  ])("%s decides whether a command of a found skill is available", async (_, trust, isThere) => {
    skill("own/x", "name: x\nmcp: { command: run-it }");
    const found = await open(["own"], { trust: trust() }).find("x");
    expect(found?.skill.mcp !== undefined).toBe(isThere);
    expect(found?.skill.instruction).toBe("Body.");
    expect(found?.withheld).toBe(isThere ? undefined : "its code is not trusted: --trust-skill x lets it run");
  });

  test("trust in exactly these files ends when they change", async () => {
    const file = skill("own/x", "name: x\nmcp: { command: run-it }");
    const trust = answered({});
    const trusting = () => open(["own"], { trust }).find("x");
    expect((await trusting())?.source.trusted).toBe(true);
    writeFileSync(file, "---\nname: x\nmcp: { command: run-that }\n---\n");
    expect((await trusting())?.source.trusted).toBe(false);
  });

  test.each<[string, object, string, string[]]>([
    [
      "a command",
      { command: "serve", args: ["it"] },
      "its code is not trusted: --trust-skill x lets it run",
      ["runs command serve it"],
    ],
    [
      "a command with variables",
      { command: "serve", env: { TOKEN: "t", TEAM: "t" } },
      "its code is not trusted: --trust-skill x lets it run",
      ["runs command serve", "passes TOKEN, TEAM to it"],
    ],
    ["an address", { url: "http://127.0.0.1:1/" }, NOT_CONNECTED, ["connects to http://127.0.0.1:1/"]],
    [
      "an address with variables in its headers",
      {
        url: "https://mcp.test/",
        headers: { Key: "${TOKEN}-${TEAM}", Odd: "${ELSE}" },
        env: { TOKEN: "t", TEAM: "t" },
      },
      NOT_CONNECTED,
      ["connects to https://mcp.test/", "passes TOKEN, TEAM to https://mcp.test/"],
    ],
  ])("a server by %s needs trust, whatever file of the checkout names it", async (_, mcp, withheld, heldBack) => {
    skill("own/x", `name: x\nmcp: ${JSON.stringify(mcp)}`);
    const config = mcp as { command: string };
    const choice = { config, path: "/project/.skillflow.yml", kind: "project", trusted: false } as const;
    const ways: [levels: string[], servers: [string, ServerChoice][], brought?: InlineSkills][] = [
      [["own"], []],
      [[], [["x", choice]]],
      [[], [], inline({ x: { mcp: config } })],
    ];
    for (const [levels, servers, brought] of ways) {
      const trusting = (trust: Trust) => open(levels, { servers: new Map(servers), trust });
      const held = await trusting(byId()).find("x", brought);
      expect(held).toMatchObject({ withheld, heldBack, source: { trusted: false } });
      expect(held?.skill.mcp).toBeUndefined();
      const parts = trusting(byId()).withheld("x", brought)?.parts ?? [];
      const remembered = parts.map(({ path, digest }) => ({ id: "x", path, digest: digest() ?? "", at: "" }));
      for (const trust of [byId("x"), { ids: new Set<string>(), remembered }]) {
        const found = await trusting(trust).find("x", brought);
        expect(found).toMatchObject({ withheld: undefined, heldBack: [], skill: { mcp } });
        expect(trusting(trust).withheld("x", brought)).toBeUndefined();
      }
    }
  });

  test("a server that replaces a built-in skill needs trust, and the skill's tools remain", async () => {
    builtin("x");
    const mcp = { url: "https://mcp.test/" };
    skill("own/x", `name: x\nmcp: ${JSON.stringify(mcp)}`);
    for (const brought of [undefined, inline({ x: { mcp } })]) {
      const { skill: found, withheld } = (await open(["own"], { env: { THE_TOKEN: "t" } }).find("x", brought)) ?? {};
      expect([found?.mcp, found?.tools.length, withheld]).toEqual([undefined, 2, NOT_CONNECTED]);
    }
  });

  test("a server needs no trust in a document of the operator's own", async () => {
    mkdirSync(directory);
    const brought = { skills: { x: { mcp: { command: "mine" } } }, trusted: true };
    expect((await open([]).find("x", brought))?.skill.mcp).toEqual({ command: "mine" });
    expect(open([]).withheld("x", brought)).toBeUndefined();
  });

  test("the operator's server replaces a skill's own, or is a skill by itself", async () => {
    skill("own/x", 'name: x\nmcp: { url: "http://127.0.0.1:1/" }');
    const config = { command: "mine" };
    const choice = { config, path: "/config.yml", kind: "user", trusted: true } as const;
    const set = open(["own"], { servers: new Map(["x", "y"].map((id) => [id, choice])) });
    expect((await set.find("x"))?.skill.mcp).toBe(config);
    expect(await set.find("y")).toMatchObject({ format: "mcp", kind: "tools", unavailable: undefined });
  });

  test("variables are passed to a skill that cannot declare them", async () => {
    skill("own/x", "name: x");
    const found = await open(["own"], { variables: new Map([["x", ["A_KEY"]]]), env: { A_KEY: "k", OTHER: "o" } }).find(
      "x",
    );
    expect(found && handlerConfig(found)).toEqual({ A_KEY: "k" });
  });

  test("a custom skill with a built-in's id replaces the instruction, and the tools remain", async () => {
    builtin("gh", ', instruction: "built-in"');
    skill("own/gh", "name: gh\nconfig: { EXTRA: { description: e } }", "custom");
    const found = await open(["own"], { env: { THE_TOKEN: "t", EXTRA: "e" } }).find("gh");
    expect(found?.skill).toMatchObject({ name: "Built-in", category: "git", instruction: "custom" });
    expect(found?.skill.tools.map(({ name }) => name)).toEqual(["find", "act"]);
    expect(found && handlerConfig(found)).toEqual({ TOKEN: "t", EXTRA: "e" });
  });

  test("an empty body keeps the built-in's instruction", async () => {
    builtin("gh", ', instruction: "built-in"');
    skill("own/gh", "name: gh", "  ");
    expect((await open(["own"]).find("gh"))?.skill.instruction).toBe("built-in");
  });

  test("an inline skill is the highest layer", async () => {
    builtin("gh");
    skill("own/gh", "name: gh", "custom");
    const set = open(["own"]);
    expect((await set.find("gh", inline({ gh: { name: "Mine", instruction: "inline" } })))?.skill).toMatchObject({
      name: "Mine",
      instruction: "inline",
    });
    expect((await set.find("gh", inline({ gh: { instruction: "inline" } })))?.skill.tools).toHaveLength(2);
    expect((await set.find("gh", inline({})))?.skill.instruction).toBe("custom");
  });

  test("an inline skill has its key as its name by default", async () => {
    expect((await open([]).find("mine", inline({ mine: { instruction: "x" } })))?.skill.name).toBe("mine");
  });

  test.each(["constructor", "toString", "hasOwnProperty"])(
    "%s is not declared unless a workflow declares it",
    async (id) => {
      expect(await open([]).find(id, inline({}))).toBeUndefined();
      expect((await open([]).find(id, inline({ [id]: { instruction: "x" } })))?.skill.instruction).toBe("x");
    },
  );

  test.each<[string, Partial<SkillSetOptions>, string | undefined]>([
    ["a missing variable", {}, "THE_TOKEN is not set"],
    ["an empty variable", { env: { THE_TOKEN: "" } }, "THE_TOKEN is set but empty"],
    ["a variable", { env: { THE_TOKEN: "t" } }, undefined],
    ["an override", { overrides: new Map([["TOKEN", "o"]]) }, undefined],
    [
      "an empty override hides the variable",
      { overrides: new Map([["TOKEN", ""]]), env: { THE_TOKEN: "t" } },
      "THE_TOKEN is set but empty",
    ],
    ["being disabled", { env: { THE_TOKEN: "t" }, disabled: ["gh"] }, "disabled in .skillflow.yml"],
  ])("%s decides whether a skill is available", async (_, options, reason) => {
    builtin("gh");
    const found = await open([], options).find("gh");
    expect(found?.unavailable?.reason).toBe(reason);
    expect(recordSkill("gh", found)).toMatchObject({
      available: reason === undefined,
      tools: { length: reason === undefined ? 2 : 0 },
    });
  });

  test("a tool without an effect counts as a write, and is not repeated", async () => {
    builtin("gh");
    const record = recordSkill("gh", await open([], { env: { THE_TOKEN: "t" } }).find("gh"));
    expect(record.tools.map(({ exposed, effect, idempotent }) => [exposed, effect, idempotent])).toEqual([
      ["gh_find", "read", true],
      ["gh_act", "write", false],
    ]);
  });

  test("an unknown id is recorded as unknown", () => {
    expect(recordSkill("nope", undefined)).toMatchObject({
      id: "nope",
      available: false,
      reason: "no skill has this id",
    });
  });

  test("a skill with neither tools nor instruction is unavailable", async () => {
    skill("own/x", "name: x", "");
    expect((await open(["own"]).find("x"))?.unavailable?.reason).toBe("it has neither tools nor an instruction");
  });

  test("a file next to the built-in skills is not a skill", async () => {
    builtin("gh");
    write("builtin/README.md", "text");
    const set = open([]);
    expect([...set.ids]).toEqual(["gh"]);
    expect(await set.find("README.md")).toBeUndefined();
  });

  test("two tools of one name in a skill are refused", async () => {
    write(
      "builtin/dup/skill.js",
      'const t = { name: "t", description: "", input_schema: {}, handler: () => 1 }; export default { id: "dup", name: "d", description: "", category: "data", config: {}, tools: [t, t] };',
    );
    await expect(open([]).find("dup")).rejects.toThrow("two tools are named t");
  });
});
