import { describe, expect, test } from "vitest";
import { chooseSkills, type SkillFlags } from "../../../src/app/skills/choices.ts";
import type { ProjectConfig } from "../../../src/core/document/config.ts";

interface Said {
  readonly flags?: SkillFlags;
  readonly env?: Readonly<Record<string, string>>;
  readonly project?: ProjectConfig;
  readonly user?: ProjectConfig;
  readonly trustsUser?: boolean;
}

const file = (directory: string, config: ProjectConfig | undefined) =>
  config && { path: `${directory}/config.yml`, directory, config };
const choose = ({ flags, env = {}, project, user, trustsUser = true }: Said) =>
  chooseSkills({ ...flags }, env, {
    project: file("/project", project),
    user: file("/user", user),
    memory: { entries: [], findings: [] },
    trustsUser,
  });

describe("settings of skills", () => {
  test("has defaults", () => {
    expect(choose({})).toMatchObject({
      order: "sweny",
      contextMode: "full",
      defineTool: false,
      formats: { descriptor: "current", allowScripts: false },
      findings: [],
    });
  });

  test("a flag beats the environment, which beats the project's file, which beats the user's", () => {
    const all: Said = {
      flags: { contextMode: "full", skillOrder: "sweny" },
      env: { SKILLFLOW_CONTEXT_MODE: "readOnDemand", SKILLFLOW_SKILL_ORDER: "skill-tools" },
      project: { skills: { contextMode: "full", order: "sweny" } },
      user: { skills: { contextMode: "readOnDemand", order: "skill-tools" } },
    };
    const modes = [all, { ...all, flags: {} }, { ...all, flags: {}, env: {} }, { user: all.user }] as const;
    expect(modes.map((said) => choose(said as Said).contextMode)).toEqual([
      "full",
      "readOnDemand",
      "full",
      "readOnDemand",
    ]);
    expect(modes.map((said) => choose(said as Said).order)).toEqual(["sweny", "skill-tools", "sweny", "skill-tools"]);
  });

  test.each<[string, Said]>([
    ["order", { env: { SKILLFLOW_SKILL_ORDER: "mine" } }],
    ["context mode", { env: { SKILLFLOW_CONTEXT_MODE: "some" } }],
  ])("an unknown %s is refused", (what, said) => {
    expect(() => choose(said)).toThrow(what);
  });

  test("the user's file raises no trust if it is in the checkout, and this is reported", () => {
    const user: ProjectConfig = {
      model: "script:x",
      skills: { trust: ["a"], allowScripts: true, defineTool: true, modules: ["./m.ts"] },
      mcpServers: { a: { command: "x" }, b: { url: "https://b.test" } },
    };
    const chosen = choose({ user, trustsUser: false });
    expect(chosen).toMatchObject({
      defineTool: false,
      formats: { allowScripts: false },
      modules: [{ specifier: "/user/m.ts", trusted: false }],
      findings: { length: 3 },
    });
    expect([...chosen.trust.ids]).toEqual([]);
    expect([...chosen.servers.values()].map(({ trusted }) => trusted)).toEqual([false, false]);
  });

  test("trust comes from flags, the environment and the user's file together", () => {
    const { trust, findings } = choose({
      flags: { trustSkill: ["a"] },
      env: { SKILLFLOW_TRUST_SKILL: "b, c,," },
      user: { skills: { trust: ["d"] } },
    });
    expect([[...trust.ids], findings]).toEqual([["a", "b", "c", "d"], []]);
  });

  test("a project's file raises no trust, and each attempt is a finding", () => {
    const { trust, defineTool, formats, servers, findings } = choose({
      project: {
        skills: { trust: ["a"], allowScripts: true, defineTool: true },
        mcpServers: { run: { command: "evil" }, ask: { url: "https://example.com/mcp" } },
      },
    });
    expect([trust.ids.size, defineTool, formats.allowScripts]).toEqual([0, false, false]);
    expect([...servers.values()].map(({ trusted }) => trusted)).toEqual([false, false]);
    expect(findings.map((finding) => /config\.yml: (\S+) is ignored/.exec(finding)?.[1])).toEqual([
      "skills.trust",
      "skills.allowScripts",
      "skills.defineTool",
    ]);
  });

  test.each<[string, Said]>([
    ["flags", { flags: { allowScripts: true, allowDefineTool: true } }],
    ["variables", { env: { SKILLFLOW_ALLOW_SCRIPTS: "1", SKILLFLOW_ALLOW_DEFINE_TOOL: "true" } }],
    ["the user's file", { user: { skills: { allowScripts: true, defineTool: true } } }],
  ])("%s may allow scripts and tools that a run defines", (_, said) => {
    const { defineTool, formats } = choose(said);
    expect([defineTool, formats.allowScripts]).toEqual([true, true]);
  });

  test("of two servers with the same id the user's applies", () => {
    const config = { command: "mine" };
    const { servers } = choose({
      project: { mcpServers: { x: { url: "https://example.com/mcp" } } },
      user: { mcpServers: { x: config } },
    });
    expect(servers.get("x")).toEqual({ config, path: "/user/config.yml", kind: "user", trusted: true });
  });

  test("a project's file that loosens the effects of a server's tools is a finding", () => {
    const server = { command: "x", effects: { look: "read", put: "write" }, origin: "team", reads: "private" } as const;
    const named = (said: Said) =>
      choose(said).findings.map((finding) => /config\.yml: (\S+) is ignored/.exec(finding)?.[1]);
    const keys = ["mcpServers.x.effects.look", "mcpServers.x.origin"];
    expect(named({ project: { mcpServers: { x: server } } })).toEqual(keys);
    expect(named({ user: { mcpServers: { x: server } }, trustsUser: false })).toEqual(keys);
    expect(named({ user: { mcpServers: { x: server } } })).toEqual([]);
  });

  test("flags set the effects of a server's tools", () => {
    const { effects, named } = choose({
      flags: {
        effect: [
          ["board.look", "read"],
          ["board.a.b", "write"],
        ],
      },
    });
    expect(Object.fromEntries(effects)).toEqual({ "board.look": "read", "board.a.b": "write" });
    expect(named).toContainEqual({ by: [{ option: "effect" }], id: "board" });
  });

  test.each([
    ["board.look", "reads"],
    ["board", "read"],
    ["board.", "read"],
    [".look", "read"],
  ])("%s=%s is rejected as an effect", (place, effect) => {
    expect(() => choose({ flags: { effect: [[place, effect]] } })).toThrow(
      `${place}=${effect} does not set the effect`,
    );
  });

  test.each([
    ["look", ""],
    ["", "logs"],
  ])("refuse %j=%j for a node's further skill", (node, skill) => {
    expect(() => choose({ flags: { addSkill: [[node, skill]] } })).toThrow(
      `${node}=${skill} does not give a node a skill`,
    );
  });

  test("variables for a skill are combined", () => {
    const { variables } = choose({
      flags: { skillEnv: [["a", "ONE"]] },
      env: { SKILLFLOW_SKILL_ENV: "a=TWO,b=THREE" },
      user: { skills: { env: { a: ["FOUR"] } } },
    });
    expect(Object.fromEntries(variables)).toEqual({ a: ["ONE", "TWO", "FOUR"], b: ["THREE"] });
  });

  test("only the user's own file passes on variables and tokens, and each other attempt is a finding", () => {
    const config: ProjectConfig = { skills: { env: { a: ["SECRET"] } }, fetch: { auth: { "evil.test": "TOKEN" } } };
    for (const said of [{ project: config }, { user: config, trustsUser: false }]) {
      const { variables, findings } = choose(said);
      expect([...variables]).toEqual([]);
      expect(findings.map((finding) => /config\.yml: (\S+) is ignored/.exec(finding)?.[1])).toEqual([
        "skills.env",
        "fetch.auth",
      ]);
    }
    expect(choose({ user: config }).findings).toEqual([]);
  });

  test("a module's path is relative to the file that names it, and only the user's is trusted", () => {
    const { modules } = choose({
      project: { skills: { modules: ["./skills/pager.ts", "@acme/skillflow-statuspage"] } },
      user: { skills: { modules: ["../mine.js"] } },
    });
    expect(modules).toEqual([
      {
        specifier: "/project/skills/pager.ts",
        from: "/project",
        named: { file: "/project/config.yml", index: 0 },
        trusted: false,
      },
      {
        specifier: "@acme/skillflow-statuspage",
        from: "/project",
        named: { file: "/project/config.yml", index: 1 },
        trusted: false,
      },
      { specifier: "/mine.js", from: "/user", named: { file: "/user/config.yml", index: 0 }, trusted: true },
    ]);
  });
});
