import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toolMakerSkill } from "../../src/loaders/own/tool-maker.ts";
import { recordSkill } from "../../src/loaders/registry/entry.ts";
import { openSkillSet } from "../../src/loaders/registry/open.ts";
import type { InlineSkills, SkillSetOptions } from "../../src/loaders/registry/skill-set.ts";
import { foreignHost, makeFolder } from "./foreign.ts";

/** Skills that the program itself implements, reserved names, and files that skills bundle. */

const { env: _, invoke: __, ...host } = foreignHost;
const open = (directory: string, options: Partial<SkillSetOptions> = {}) =>
  openSkillSet({
    builtin: join(directory, "builtin"),
    own: [],
    levels: [{ kind: "project", path: join(directory, "own"), trusted: false, root: directory }],
    servers: new Map(),
    disabled: [],
    trust: { ids: new Set(), remembered: [] },
    variables: new Map(),
    overrides: new Map(),
    env: {},
    host,
    ...options,
  });
const document = (frontmatter: string, body: string) => `---\n${frontmatter}\n---\n${body}`;

describe("skillflow's own names", () => {
  test("a skill under its id is refused", () => {
    const set = open(makeFolder({ "own/skillflow/SKILL.md": document("name: skillflow\ndescription: d", "Mine.") }));
    expect(set.ids.has("skillflow")).toBe(false);
    expect(set.diagnostics).toMatchObject([{ code: "SKILL_SKIPPED", message: expect.stringContaining("is reserved") }]);
  });

  test("a skill whose tool would have the name of an own tool is unavailable", async () => {
    const code = `export default { id: "read", name: "Read", description: "d", category: "general", config: {},
      tools: [{ name: "skill", description: "s", input_schema: { type: "object" }, effect: "read", handler: () => 1 }] };`;
    const found = await open(makeFolder({ "builtin/read/skill.js": code })).find("read");
    expect(found?.unavailable?.reason).toContain(
      "offered as read_skill, which is the name of one of skillflow's own tools",
    );
  });
});

describe("a tool with a name of skillflow's own", () => {
  const tool = (name: string) => ({ name, description: "d", parameters: { type: "object" } });
  const code = `export default { id: "coded", name: "Coded", description: "d", category: "general", config: {}, tools:
    ["state_put", "look"].map((name) => ({ name, description: "s", input_schema: { type: "object" }, effect: "read", handler: () => 1 })) };`;

  test.each<[string, Readonly<Record<string, unknown>>, readonly string[], string, number | undefined]>([
    [
      "listed",
      {
        "SKILL.md": document("name: listed\ndescription: d", "Use."),
        "tools.json": `[\n{"name":"run_code","description":"d"},\n{"name":"look","description":"d"}]`,
      },
      ["look"],
      "tools.json",
      2,
    ],
    [
      "described",
      {
        "SKILL.md": document("name: described\ndescription: d", "Use."),
        "tools.json": `{"tools": [\n${JSON.stringify(tool("look"))},\n${JSON.stringify(tool("read-result"))}],
          "allowlist": {"commands": [{"binary": "wc", "subcommands": ["-w"]}]},
          "execution": {"tools": [{"tool": "look", "binary": "wc", "subcommand": "-w", "args": []},
                                  {"tool": "read-result", "binary": "wc", "subcommand": "-w", "args": []}]}}`,
      },
      ["look"],
      "tools.json",
      3,
    ],
    [
      "state.get",
      {
        "SKILL.md": document("name: x\ndescription: d", "Use."),
        "contract.yml": "# mine\nid: state.get\nversion: 1.0.0\ndescription: d\ninput: { type: object }\noutput: {}\n",
        "binding.yml": "command: { binary: cat }\n",
      },
      [],
      "contract.yml",
      2,
    ],
    [
      "coded",
      { "skill.mjs": code, "SKILL.md": document("name: coded\ndescription: d", "Use.") },
      ["look"],
      "",
      undefined,
    ],
  ])(
    "is removed from the skill %s, which keeps the others and its instruction",
    async (id, files, tools, file, line) => {
      const folder = makeFolder(
        Object.fromEntries(Object.entries(files).map(([name, text]) => [`own/${id}/${name}`, text])),
      );
      const found = await open(folder, { trust: { ids: new Set([id]), remembered: [] } }).find(id);
      expect(found).toMatchObject({ unavailable: undefined, skill: { instruction: "Use." } });
      expect(found?.skill.tools.map(({ name }) => name)).toEqual(tools);
      const told = found?.diagnostics.filter(({ severity }) => severity === "error");
      expect(told).toHaveLength(1);
      expect(told?.[0]?.file).toContain(file);
      expect(told?.[0]?.line).toBe(line);
    },
  );
});

describe("a skill that the program itself implements", () => {
  const maker = {
    skill: toolMakerSkill(),
    unavailable: { kind: "disabled", reason: "needs --allow-define-tool" },
  } as const;

  test("always exists, and gives the reason if it is unavailable", async () => {
    const set = open(makeFolder(), { own: [maker] });
    expect([...set.ids]).toEqual(["tool-maker"]);
    expect(await set.find("tool-maker")).toMatchObject({
      unavailable: { kind: "disabled", reason: "needs --allow-define-tool" },
      source: { kind: "builtin", path: null },
      shadows: [],
    });
  });

  test("keeps its tools under an instruction of the project's", async () => {
    const files = { "own/tool-maker/SKILL.md": document("name: tool-maker\ndescription: mine", "My words.") };
    const set = open(makeFolder(files), { own: [{ ...maker, unavailable: undefined }] });
    const found = await set.find("tool-maker");
    expect(found).toMatchObject({ unavailable: undefined, skill: { instruction: "My words." }, shadows: [] });
    expect(found?.skill.tools.map(({ name }) => name)).toEqual(["define_tool", "remove_tool"]);
  });
});

const inline = (skills: NonNullable<InlineSkills["skills"]>): InlineSkills => ({ skills, trusted: false });

describe("the files that a skill bundles", () => {
  test("belong to the folder whose instruction is used", async () => {
    const directory = makeFolder({
      "own/x/SKILL.md": document("name: x\ndescription: d", "See ref.md."),
      "own/x/ref.md": "Ref.",
    });
    const set = open(directory);
    expect((await set.find("x"))?.bundle).toEqual({ directory: join(directory, "own/x"), files: ["ref.md"] });
    expect((await set.find("x", inline({ x: { description: "Inline." } })))?.bundle?.files).toEqual(["ref.md"]);
    expect((await set.find("x", inline({ x: { instruction: "Inline." } })))?.bundle).toBeUndefined();
    expect(recordSkill("x", await set.find("x"))).toMatchObject({ description: "d", files: ["ref.md"] });
  });

  test("do not exist for a skill of the workflow alone, whose description may be missing", async () => {
    const found = await open(makeFolder()).find("y", inline({ y: { instruction: "Inline." } }));
    expect(recordSkill("y", found)).toEqual({
      id: "y",
      name: "y",
      format: "sweny",
      available: true,
      instruction: "Inline.",
      tools: [],
    });
  });
});
