import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

/** Taint as `validate` reports it and `graph` draws it. */

interface ToolText {
  readonly name: string;
  readonly effect: "read" | "write";
  readonly [key: string]: string;
}

function skillText(id: string, tools: readonly ToolText[], config = {}): string {
  const defined = tools.map(
    (tool) =>
      `defineTool({ ...${JSON.stringify(tool)}, description: "d", input_schema: { type: "object" }, handler: () => "x" })`,
  );
  return `
import { defineSkill, defineTool } from "skillflow";
export default defineSkill({
  id: "${id}", name: "${id}", description: "d", category: "general", config: ${JSON.stringify(config)},
  tools: [${defined.join(", ")}],
});
`;
}

const SKILLS = {
  "skills/feed/skill.ts": skillText("feed", [
    { name: "read", effect: "read" },
    { name: "deploys", effect: "read", origin: "team" },
    { name: "secrets", effect: "read", origin: "team", reads: "private" },
  ]),
  "skills/board/skill.ts": skillText("board", [
    { name: "file", effect: "write" },
    { name: "publish", effect: "write", audience: "public" },
  ]),
  "skills/unset/skill.ts": skillText("unset", [{ name: "act", effect: "write" }], {
    UNSET_TOKEN: { description: "a token", env: "UNSET_TOKEN", required: true },
  }),
};
const TRUST = { SKILLFLOW_TRUST_SKILL: "feed,board,unset" };

const FLOW = `id: w
name: W
entry: look
inputs: { level: { type: string, enum: [low, high] } }
nodes:
  look:
    name: Look
    instruction: Look.
    skills: [feed]
  act:
    name: Act
    instruction: Act.
    skills: [board]
edges:
  - { from: look, to: act }
`;

interface Row {
  readonly code: string;
  readonly severity: string;
  readonly node: string | null;
}

async function validate(files: Readonly<Record<string, unknown>>, args: readonly string[] = [], env = {}) {
  const cwd = makeProject({ "w.yml": FLOW, ...SKILLS, ...files });
  const { code, stdout } = await runHere(["validate", "w.yml", "--json", ...args], { cwd, env: { ...TRUST, ...env } });
  const told = JSON.parse(stdout) as { ok: boolean; diagnostics: Row[]; findings: Row[] };
  const taint = (rows: readonly Row[]) => rows.filter((row) => row.code.startsWith("taint."));
  return { code, ok: told.ok, diagnostics: taint(told.diagnostics), findings: taint(told.findings) };
}

const lines = (findings: readonly Row[]) => findings.map(({ severity, code, node }) => `${severity} ${code} ${node}`);

describe("graph", () => {
  it.each<[string, readonly string[]]>([
    ["mermaid", ["Look<br/>tainted", "writes at once · private to public", "linkStyle 0 stroke:#b3261e", "Legend"]],
    ["dot", ["Look\\ntainted", "writes at once · private to public", 'class="flagged"', "cluster_legend"]],
    ["svg", [">tainted · private<", "writes at once · private to public", "Legend"]],
  ])("draws taint in %s, in words too", async (format, expected) => {
    const flow = FLOW.replace("to: act }", "to: act, when: it is bad }");
    const cwd = makeProject({ "w.yml": flow, ...SKILLS });
    const { code, stdout } = await runHere(["graph", "w.yml", "--format", format], { cwd, env: TRUST });
    expect(code).toBe(0);
    for (const each of expected) expect(stdout.replaceAll("&#160;", " ").replaceAll("&#45;", "-")).toContain(each);
  });

  it("draws a workflow without untrusted text as before", async () => {
    const bare = FLOW.replace("skills: [feed]", "skills: []").replace("skills: [board]", "skills: []");
    const { stdout } = await runHere(["graph", "w.yml"], { cwd: makeProject({ "w.yml": bare }) });
    expect(stdout).toContain('n0("Look"):::plain');
    expect(stdout).not.toMatch(/tainted|Legend/);
  });
});

describe("validate", () => {
  it("reports taint inside inner workflows at the place where it is written", async () => {
    const [head = "", edges = ""] = FLOW.split("edges:");
    const [look = "", act = ""] = head.replace("id: w", "id: in").split("  act:");
    const inside = `${look}  act:${act}edges:${edges}`;
    const { findings } = await validate({
      "in.yml": inside,
      "w.yml": `id: w
name: W
entry: each
inputs: { list: { type: "string[]" } }
nodes:
  each:
    name: Each
    map: { over: input.list, as: item }
    entry: top
    nodes:
      top:
        name: Top
        call: ./in.yml
      file:
        name: File
        instruction: File.
        skills: [board]
    edges: [{ from: top, to: file }]
edges: []
`,
    });
    const places = findings.map((row) => ({ ...row }) as { file?: string; line?: number; node: string | null });
    expect(new Set(places.map(({ file, line, node }) => `${file}:${line} ${node}`))).toEqual(
      new Set(["in.yml:10 act", "w.yml:14 each"]),
    );
  });

  it("reports taint as warnings, each at its node", async () => {
    const { code, ok, findings, diagnostics } = await validate({});
    expect({ code, ok }).toEqual({ code: 0, ok: true });
    expect(findings).toEqual([
      expect.objectContaining({
        code: "taint.write_held",
        severity: "warning",
        message: expect.stringContaining("board_file, board_publish"),
        path: ["nodes", "act"],
        node: "act",
        file: "w.yml",
        line: 10,
        column: 3,
      }),
      expect.objectContaining({ code: "taint.private_to_public", severity: "warning", node: "act", line: 10 }),
    ]);
    expect(lines(diagnostics).length).toBe(findings.length);
  });

  it("makes them errors with --strict", async () => {
    const { code, ok, findings } = await validate({}, ["--strict"]);
    expect({ code, ok }).toEqual({ code: 2, ok: false });
    expect(lines(findings)).toEqual(["error taint.write_held act", "error taint.private_to_public act"]);
  });

  it.each<[string, Readonly<Record<string, unknown>>, Readonly<Record<string, string>>]>([
    ["the document", { "w.yml": `${FLOW}writes: plan\n` }, {}],
    ["the project's file", { ".skillflow.yml": "writes: plan\n" }, {}],
    ["a variable", {}, { SKILLFLOW_WRITES: "plan" }],
    [
      "the strictest of both",
      { "w.yml": `${FLOW}writes: allow\n`, ".skillflow.yml": "writes: plan\nlimits: { max_steps: 3 }\n" },
      {},
    ],
  ])("reports no write that %s has planned", async (_who, files, env) => {
    const { code, findings } = await validate(files, ["--strict"], env);
    expect(lines(findings)).toEqual(["note taint.private_to_public act"]);
    expect(code).toBe(0);
  });

  it("considers the user's own file for how writes are handled", async () => {
    const home = makeProject({ ".config/skillflow/config.yml": "writes: deny\n" });
    const { findings } = await validate({}, [], { HOME: home, XDG_CONFIG_HOME: join(home, ".config") });
    expect(lines(findings)).toEqual([]);
  });

  it("includes the tools of skills that are currently unavailable", async () => {
    const flow = FLOW.replace("skills: [board]", "skills: [unset]");
    const { findings } = await validate({ "w.yml": flow });
    expect(lines(findings)).toEqual(["warning taint.write_held act"]);
  });

  it.each<[string, string, readonly string[]]>([
    ["effects: read", "    effects: read\n", []],
    [
      "what a node allows",
      "    tools: { allow: [board_publish] }\n",
      ["warning taint.write_held act", "warning taint.private_to_public act"],
    ],
    ["what a node denies", "    tools: { deny: [publish] }\n", ["warning taint.write_held act"]],
  ])("uses %s", async (_what, line, expected) => {
    const flow = FLOW.replace("    skills: [board]\n", `    skills: [board]\n${line}`);
    expect(lines((await validate({ "w.yml": flow })).findings)).toEqual(expected);
  });

  it("reports effects of untrusted code as notes, and --strict makes none of them an error", async () => {
    const { code, findings, diagnostics } = await validate({}, ["--strict"], { SKILLFLOW_TRUST_SKILL: "feed" });
    expect(lines(findings)).toEqual(["note taint.write_held act"]);
    expect(diagnostics).toEqual([]);
    expect(code).toBe(2); // SKILL_NOT_TRUSTED is a warning like others
  });

  it("reports effects of a server as notes, and does not start it", async () => {
    const mcpServers = { pager: { command: "touch", args: ["started"] } };
    const home = makeProject({ ".config/skillflow/config.yml": { mcpServers } });
    const flow = FLOW.replace("skills: [feed]", "skills: [pager]").replace("skills: [board]", "skills: [pager]");
    const env = { HOME: home, XDG_CONFIG_HOME: join(home, ".config") };
    const { code, findings } = await validate({ "w.yml": flow }, ["--strict"], env);
    expect(lines(findings)).toEqual(["note taint.write_held look", "note taint.write_held act"]);
    expect(code).toBe(0);
  });

  it("uses the effects that the user's own file sets for a server's tools", async () => {
    const server = { command: "touch", effects: { show: "read", page: "write" }, audience: "public", reads: "private" };
    const home = makeProject({ ".config/skillflow/config.yml": { mcpServers: { pager: server } } });
    const env = { HOME: home, XDG_CONFIG_HOME: join(home, ".config") };
    const of = async (filter: string) => {
      const flow = FLOW.replace("skills: [feed]", "skills: []").replace("skills: [board]", `skills: [pager]${filter}`);
      return lines((await validate({ "w.yml": flow }, [], env)).findings);
    };
    expect(await of("\n    tools: { allow: [show] }")).toEqual([]);
    expect(await of("\n    tools: { allow: [show, pager_page] }")).toEqual([
      "note taint.write_held act",
      "note taint.private_to_public act",
    ]);
    expect(await of("")).toEqual(["note taint.write_held act", "note taint.private_to_public act"]);
  });

  it("reports a choice by free text, and none by declared fields", async () => {
    const flow = FLOW.replace("to: act }", "to: act, when: it is bad }").replace("[board]", "[]");
    expect(lines((await validate({ "w.yml": flow })).findings)).toEqual(["warning taint.free_text_route look"]);
    const output = "output: { type: object, properties: { bad: { type: boolean } } }";
    const declared = flow.replace("skills: [feed]", `skills: [feed]\n    ${output}`);
    expect(lines((await validate({ "w.yml": declared })).findings)).toEqual([]);
  });

  it("reports them in text, to code scanning and to GitHub, and notes as notes", async () => {
    const files = { "w.yml": `${FLOW}writes: plan\n`, "loose.yml": FLOW, ...SKILLS };
    const place = { cwd: makeProject(files), env: TRUST };
    const text = await runHere(["validate", "w.yml", "loose.yml"], place);
    expect(text.stderr).toMatch(/^w\.yml:10:3 note taint\.private_to_public node "act"/m);
    expect(text.stderr).toMatch(/^loose\.yml:10:3 warning taint\.write_held node "act"/m);
    expect(text.stderr).toMatch(/0 errors, 2 warnings, 1 note$/m);
    const sarif = JSON.parse((await runHere(["validate", "w.yml", "loose.yml", "--format", "sarif"], place)).stdout);
    const [{ results }] = sarif.runs;
    expect(results.map(({ ruleId, level }: { ruleId: string; level: string }) => [ruleId, level])).toEqual([
      ["taint.private_to_public", "note"],
      ["taint.write_held", "warning"],
      ["taint.private_to_public", "warning"],
    ]);
    expect(results[0].locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: "w.yml" },
      region: { startLine: 10, startColumn: 3 },
    });
    const github = await runHere(["validate", "w.yml", "loose.yml", "--format", "github"], place);
    expect(github.stdout).toMatch(/^::notice file=w\.yml,line=10,col=3,title=taint\.private_to_public::/m);
    expect(github.stdout).toMatch(/^::warning file=loose\.yml,line=10,col=3,title=taint\.write_held::/m);
  });
});
