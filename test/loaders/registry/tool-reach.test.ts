import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  audienceOf,
  describeTools,
  type McpServerConfig,
  type ToolReach,
  wholeReach,
} from "../../../src/core/skill/skill.ts";
import { openSkillSet } from "../../../src/loaders/registry/open.ts";
import type { InlineSkills, ServerChoice, SkillSetOptions } from "../../../src/loaders/registry/skill-set.ts";
import { toolContext } from "../../../src/testing.ts";
import { foreignHost, makeFolder } from "../foreign.ts";

/** Which statement about a tool applies: its origin, its audience and its reads. */

type Files = Readonly<Record<string, unknown>>;
type Options = Partial<SkillSetOptions> & { readonly areUsers?: boolean };

function open(files: Files, { areUsers = false, ...options }: Options = {}) {
  const directory = makeFolder(files);
  const { env: _, invoke: __, ...host } = foreignHost;
  return openSkillSet({
    builtin: join(directory, "builtin"),
    own: [],
    levels: [{ kind: areUsers ? "user" : "project", path: join(directory, "skills"), trusted: areUsers }],
    servers: new Map(),
    disabled: [],
    trust: { ids: new Set(), remembered: [] },
    variables: new Map(),
    overrides: new Map(),
    env: {},
    host: { ...host, cwd: directory },
    ...options,
  });
}

async function reachOf(id: string, files: Files, options?: Options): Promise<ToolReach | undefined> {
  const entry = await open(files, options).find(id);
  const [tool] = entry ? describeTools(entry.skill, [...entry.skill.tools, ...entry.heldTools]) : [];
  return tool && wholeReach(tool);
}

const trusting = (...ids: string[]) => ({ trust: { ids: new Set(ids), remembered: [] } });

const SAID = { origin: "team", audience: "team", reads: "open" } as const;
/** A tool that writes declares a source only if it is private. */
const WRITES = { origin: "team", audience: "team" };
const STRICT = { origin: "stranger", audience: "public", reads: "private" };
const maps = (tool: string) =>
  `origins:\n  ${tool}: team\naudiences:\n  ${tool}: team\nreads:\n  ${tool}: open\ncategory: tasks`;
const document = (more = "") => `---\nname: board\ndescription: A board.\n${more}\n---\nLook.\n`;
const CONTRACT = {
  id: "board",
  version: "1.0.0",
  description: "A board.",
  input: { type: "object" },
  output: { type: "object" },
  metadata: SAID,
};
const COMMAND = {
  tools: [{ name: "see", description: "d", parameters: { type: "object" }, ...SAID }],
  allowlist: { echo: [""] },
  execution: [{ tool: "see", binary: "echo", subcommand: "" }],
};
const SCRIPT = { name: "see", description: "d", script: "scripts/see.js" };

const FORMATS: Readonly<Record<string, Files>> = {
  "tools.json": {
    "SKILL.md": document(),
    "tools.json": [{ ...SCRIPT, ...SAID }],
    "scripts/see.js": "export default () => 1",
  },
  "SKILL.md next to tools.json": {
    "SKILL.md": document(maps("see")),
    "tools.json": [SCRIPT],
    "scripts/see.js": "export default () => 1",
  },
  "a descriptor": { "SKILL.md": document(), "tools.json": COMMAND },
  "a contract": {
    "contract.json": CONTRACT,
    "binding.json": { function: "./f.mjs" },
    "f.mjs": "export default () => ({})",
  },
  "SKILL.md of a package": {
    "SKILL.md": `---\nname: Board\nshort_description: s\n${maps("board")}\n---\nText.`,
    "skill.toml":
      'name = "board"\nversion = "1.0.0"\ndescription = "d"\nkind = "action"\n[runtime]\nlanguage = "python"\nentrypoint = "f.py"\nexport = "f"\n',
    "f.py": "def f():\n  return 1\n",
  },
  "a module": {
    "skill.mjs": `export default { id: "board", name: "b", description: "d", category: "general", config: {},
      tools: [{ name: "see", description: "d", input_schema: { type: "object" }, handler: () => 1, ...${JSON.stringify(SAID)} }] };`,
  },
};
const inFolder = (files: Files, folder = "skills/board"): Files =>
  Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]));

describe.each(Object.entries(FORMATS))("the statement of %s about a tool", (name, files) => {
  test("applies if the operator trusts the skill", async () => {
    expect(await reachOf("board", inFolder(files), trusting("board"))).toEqual(WRITES);
  });

  test("applies in the user's own folder", async () => {
    expect(await reachOf("board", inFolder(files), { areUsers: true })).toEqual(WRITES);
  });

  test("does not apply in a checkout", async () => {
    const found = await reachOf("board", inFolder(files), trusting("other"));
    // The code of a module is not run, so nothing is known of its tools.
    expect(found).toEqual(name === "a module" ? undefined : STRICT);
  });
});

test("a tool of a checkout that runs nothing is untrusted, private and public, whatever it declares", async () => {
  const files = inFolder({ "SKILL.md": document(), "tools.json": [{ name: "see", description: "d", ...SAID }] });
  const entry = await open(files).find("board");
  expect(entry?.unavailable).toBeUndefined();
  expect(describeTools(entry?.skill as never, entry?.skill.tools ?? [])).toMatchObject([
    { exposed: "board_see", effect: "read", reads: "private" },
  ]);
  expect(await reachOf("board", files)).toEqual({ origin: "stranger", reads: "private" });
  expect(await reachOf("board", files, trusting("board"))).toEqual({ origin: "team", reads: "open" });
});

test("a function for the audience is not called if its tool is untrusted", async () => {
  const tell = () => "team" as const;
  const skill = {
    id: "board",
    name: "b",
    description: "d",
    category: "general" as const,
    config: {},
    tools: [
      { name: "put", description: "d", input_schema: {}, effect: "write" as const, audience: tell, handler: tell },
    ],
  };
  const [given] = (await open({}, { given: [skill] }).find("board"))?.skill.tools ?? [];
  expect(given?.audience).toBe(tell);
  const contract = inFolder(
    { "contract.json": { ...CONTRACT, id: "post", metadata: { audience: "team" } } },
    "skills/post",
  );
  const bound = { ...contract, "skills/post/binding.json": { tool: "board/put" } };
  for (const options of [{}, trusting("post")]) {
    expect((await reachOf("post", bound, { given: [skill], ...options }))?.audience).toBe("public");
  }
});

test("a function for the audience is not called once the skill's files have changed", async () => {
  const module = `export default { id: "board", name: "b", description: "d", category: "general", config: {}, tools:
    [{ name: "put", description: "d", input_schema: { type: "object" }, audience: () => "team", handler: () => 1 }] };`;
  const files = inFolder({ "skill.mjs": module, "note.txt": "a" });
  const set = open(files, trusting("board"));
  const entry = await set.find("board");
  const asked = () => audienceOf(entry?.skill.tools[0] ?? {}, {}, toolContext());
  expect(await asked()).toBe("team");
  writeFileSync(join(entry?.source.path ?? "", "note.txt"), "b");
  await expect(asked()).rejects.toThrow();
});

describe("a contract that passes its calls on", () => {
  const target = (parts: ToolReach & { readonly effect: "read" | "write" }) => ({
    id: "board",
    name: "b",
    description: "d",
    category: "general" as const,
    config: {},
    tools: [{ name: "see", description: "d", input_schema: {}, handler: () => 1, ...parts }],
  });
  const bound = (metadata: object) => ({
    "skills/post/contract.json": { ...CONTRACT, id: "post", metadata },
    "skills/post/binding.json": { tool: "board/see" },
  });

  test.each([
    [
      "a stranger's text stays one",
      { effect: "read" },
      { ...SAID, side_effects: false },
      { origin: "stranger", reads: "open" },
    ],
    [
      "a private source stays private",
      { effect: "read", origin: "team", reads: "private" },
      { ...SAID, side_effects: false },
      { origin: "team", reads: "private" },
    ],
    [
      "what both say is the team's is",
      { effect: "read", origin: "team" },
      { ...SAID, side_effects: false },
      { origin: "team", reads: "open" },
    ],
    [
      "what only the target says is a stranger's",
      { effect: "read", origin: "team" },
      { side_effects: false },
      { origin: "stranger", reads: "open" },
    ],
    [
      "what the public reads, it reads",
      { effect: "write", audience: "public" },
      { audience: "team" },
      { origin: "stranger", audience: "public" },
    ],
    [
      "what the target keeps to the team may be public all the same",
      { effect: "write" },
      { audience: "public" },
      { origin: "stranger", audience: "public" },
    ],
  ] as const)("%s", async (_, of, metadata, reach) => {
    expect(await reachOf("post", bound(metadata), { given: [target(of)], ...trusting("post") })).toEqual(reach);
  });
});

describe("a statement about a server's tools", () => {
  const LOOSE: McpServerConfig = { command: "serve", effects: { see: "read", put: "write" }, ...SAID };
  const STRICTER: McpServerConfig = { ...LOOSE, origin: "stranger", audience: "public", reads: "private" };
  const choice = (config: McpServerConfig, trusted: boolean): ReadonlyMap<string, ServerChoice> =>
    new Map([["board", { config, path: "/config.yml", kind: trusted ? "user" : "project", trusted }]]);
  const inline = (mcp: McpServerConfig, trusted: boolean): InlineSkills => {
    return { skills: { board: { mcp } } as InlineSkills["skills"], trusted };
  };
  const skillMd = (mcp: McpServerConfig) => inFolder({ "SKILL.md": document(`mcp: ${JSON.stringify(mcp)}`) });

  const found = async (files: Files, options: Options, own?: InlineSkills) => {
    const entry = await open(files, options).find("board", own);
    return {
      mcp: entry?.skill.mcp,
      told: (entry?.diagnostics ?? []).filter(({ code }) => code === "CONFIG_RAISES_TRUST"),
    };
  };
  const trusted = trusting("board");

  test("applies both ways in the user's file", async () => {
    expect((await found({}, { servers: choice(LOOSE, true) })).mcp).toEqual(LOOSE);
  });

  test.each<[string, (mcp: McpServerConfig) => ReturnType<typeof found>]>([
    ["the project's file", (mcp) => found({}, { servers: choice(mcp, false), ...trusted })],
    ["a SKILL.md", (mcp) => found(skillMd(mcp), trusted)],
    ["a SKILL.md at home", (mcp) => found(skillMd(mcp), { areUsers: true })],
    ["a workflow", (mcp) => found({}, trusted, inline(mcp, false))],
    ["a workflow of the user's own", (mcp) => found({}, {}, inline(mcp, true))],
  ])("applies only if it is stricter in %s, even if its server is trusted", async (_, find) => {
    expect((await find(LOOSE)).mcp).toEqual({ command: "serve", effects: { put: "write" } });
    expect((await find(STRICTER)).mcp).toEqual({ ...STRICTER, effects: { put: "write" } });
  });

  test("in a SKILL.md and a workflow is reported if it does not apply", async () => {
    const keys = ["mcp.effects.see", "mcp.origin", "mcp.audience", "mcp.reads"];
    for (const { told } of [await found(skillMd(LOOSE), trusted), await found({}, trusted, inline(LOOSE, false))]) {
      expect(told.map(({ message }) => /: (\S+) is ignored/.exec(message)?.[1])).toEqual(keys);
    }
    expect((await found({}, { servers: choice(LOOSE, true) })).told).toEqual([]);
  });

  test("applies both ways as a flag, over all files, and for the one skill that it names", async () => {
    const effects = new Map([
      ["board.put", "read"],
      ["board.a.b", "write"],
      ["boards.see", "write"],
    ] as const);
    const flagged = { effects: { see: "read", put: "read", "a.b": "write" } };
    expect((await found({}, { servers: choice(LOOSE, true), effects })).mcp).toMatchObject(flagged);
    const mcp = (await found(skillMd(LOOSE), { ...trusted, effects })).mcp;
    expect(mcp?.effects).toEqual({ put: "read", "a.b": "write" });
  });

  test("in the maps of its SKILL.md applies if the skill is trusted", async () => {
    const files = inFolder({ "SKILL.md": document(`origins:\n  see: team\nmcp: { command: serve }`) });
    const said = async (options: Options) => Object.fromEntries((await open(files, options).find("board"))?.said ?? []);
    expect(await said(trusted)).toEqual({ see: { origin: "team" } });
    expect(await said({ areUsers: true })).toEqual({ see: { origin: "team" } });
    expect(await said({})).toEqual({});
    expect(await said({ servers: choice({ command: "mine" }, true) })).toEqual({});
  });
});

test("unknown values have no effect, and are reported", async () => {
  const files = inFolder({
    "SKILL.md": document("origins: { see: mine }\naudiences: [see]"),
    "tools.json": [{ name: "see", description: "d", reads: "secret" }],
  });
  const entry = await open(files, trusting("board")).find("board");
  expect(await reachOf("board", files, trusting("board"))).toEqual({ origin: "stranger", reads: "open" });
  expect(entry?.diagnostics.map(({ message, line }) => [message, line !== undefined])).toEqual([
    ["origins.see: origin must be team or stranger; it is left out", true],
    ["audiences must be a map of tools; it is left out", true],
    [expect.stringContaining("reads must be private or open"), true],
  ]);
});

describe("the targets of a tool that writes", () => {
  const script = { ...SCRIPT, effect: "write" };
  const targetsOf = async (more: string, tool: object, options: Options) => {
    const files = {
      "SKILL.md": document(more),
      "tools.json": [{ ...script, ...tool }],
      "scripts/see.js": "export default () => 1",
    };
    const entry = await open(inFolder(files), options).find("board");
    const tools = entry ? describeTools(entry.skill, [...entry.skill.tools, ...entry.heldTools]) : [];
    const faults = (entry?.diagnostics ?? []).filter(({ message }) => message.includes("targets"));
    return [tools[0]?.targets, faults.length];
  };

  test.each<[string, string, object, Options, [unknown, number]]>([
    ["count in tools.json of a trusted skill", "", { targets: ["room"] }, trusting("board"), [["room"], 0]],
    ["count in its SKILL.md, too", "targets: { see: [room] }", {}, trusting("board"), [["room"], 0]],
    ["count in the user's own files", "", { targets: ["room"] }, { areUsers: true }, [["room"], 0]],
    ["do not count for other skills", "targets: { see: [room] }", { targets: ["room"] }, {}, [undefined, 0]],
    ["must be a list", "targets: { see: room }", {}, trusting("board"), [undefined, 1]],
  ])("%s", async (_, more, tool, options, expected) => {
    expect(await targetsOf(more, tool, options)).toEqual(expected);
  });
});

describe("the host of a skill that publishes", () => {
  const code = (id: string) =>
    `export default { id: "${id}", name: "B", description: "d", category: "tasks", config: {}, host: "board.test", tools: [{ name: "post", description: "d", effect: "write", input_schema: { type: "object" }, handler: () => 1 }] };`;
  const hostOf = async (files: Files, options?: Options) => {
    const entry = await open(files, options).find("board");
    return entry && describeTools(entry.skill, [...entry.skill.tools, ...entry.heldTools])[0]?.host;
  };
  const files = { "skills/board/skill.mjs": code("board") };

  test("applies if its code is trusted", async () => {
    expect(await hostOf(files, trusting("board"))).toBe("board.test");
    expect(await hostOf(files)).toBeUndefined();
  });

  test("is that of a built-in skill, whatever a folder of its name adds", async () => {
    const replaced = {
      "builtin/board/skill.js": code("board").replace("export default", "module.exports ="),
      "skills/board/SKILL.md": document(),
    };
    expect(await hostOf(replaced)).toBe("board.test");
  });
});
