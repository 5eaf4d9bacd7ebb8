import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { spreadOf } from "../harness/long.ts";
import { scriptOf } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { type Ended, makeProject, resultOf, runFile, runProgram } from "./program.ts";

/** Skills as code: from a file, a folder, a package, and a folder that is discovered. */

const moduleOf = (id: string, extra = "") => `
import { defineSkill, defineTool } from "skillflow";
import { z } from "zod";
${extra}
export default defineSkill({
  id: "${id}",
  name: "Name of ${id}",
  description: "From code",
  category: "notification",
  config: { ${id.toUpperCase()}_TOKEN: { description: "a token", env: "${id.toUpperCase()}_TOKEN" } },
  tools: [
    defineTool({
      name: "page",
      description: "Pages somebody",
      input_schema: z.object({ who: z.string().default("me"), times: z.number().transform((n) => n + 1) }),
      effect: "read",
      handler: ({ who, times }, { config }) => ({ paged: who, times, sees: Object.keys(config) }),
    }),
  ],
});
`;
/** Leaves a file in the working directory when it is imported, so that tests see whether it was. */
const leavingOf = (id: string) =>
  moduleOf(id, `import { writeFileSync } from "node:fs"; writeFileSync("imported-${id}", "");`);
const flowOf = (...skills: readonly string[]) => `
id: flow
name: Flow
entry: only
nodes:
  only: { name: Only, instruction: Page somebody., skills: [${skills.join(", ")}] }
edges: []
`;
const paging = (id: string) =>
  scriptOf({ node: "only", calls: [{ tool: `${id}_page`, input: { times: 4 } }] }, { node: "only", text: "done" });
const PAGED = { paged: "me", times: 5, sees: ["PAGER_TOKEN"] };
const RUN = ["run", "flow.yml", "--model", "script:script.json", "--run-id", "r", "--json"];
const pager = { "flow.yml": flowOf("pager"), "script.json": paging("pager") };

const outputOf = (ended: Ended) => resultOf(ended).results.only?.toolCalls[0]?.output;
const env = { PAGER_TOKEN: "a-token-of-the-pager" };
const run = (cwd: string, ...args: readonly string[]) => runHere([...RUN, ...args], { cwd, env });

const TALKED_TO: [string, readonly string[]][] = [
  ["run", RUN.slice(1, -1)],
  ["skills", ["list"]],
  ["skills", ["show", "pager"]],
  ["validate", ["flow.yml"]],
  ["doctor", []],
];
it.each(spreadOf(TALKED_TO, 2))(
  "%s %j prints only its document on stdout, whatever a module prints",
  async (command, args) => {
    const talks = moduleOf("pager", 'console.log("loaded"); process.stdout.write("half a line");');
    const cwd = makeProject({
      ...pager,
      ".skillflow.yml": { skills: { modules: ["./plugins/pager.ts"] } },
      "plugins/pager.ts": talks,
    });
    const ended = await runProgram([command, ...args, "--json", "--trust-skill", "pager"], { cwd, env });
    expect(JSON.parse(ended.stdout)).toBeTypeOf("object");
    expect(ended.stderr).toContain("loaded\nhalf a line");
  },
);

describe("a skill as code", () => {
  it.each<[string, string, Record<string, string>]>([
    ["a file", "./plugins/pager.ts", { "plugins/pager.ts": moduleOf("pager") }],
    ["a JavaScript file", "./plugins/pager.mjs", { "plugins/pager.mjs": moduleOf("pager") }],
    ["a folder with a skill.ts", "./plugins/pager", { "plugins/pager/skill.ts": moduleOf("pager") }],
    [
      "a folder with a package.json",
      "./plugins/any",
      { "plugins/any/package.json": '{"main":"main.js"}', "plugins/any/main.js": moduleOf("pager") },
    ],
    [
      "a package",
      "@acme/skillflow-pager",
      {
        "node_modules/@acme/skillflow-pager/package.json": '{"type":"module","exports":{"import":"./lib/a.js"}}',
        "node_modules/@acme/skillflow-pager/lib/a.js": 'import made from "./b.js"; export default made;',
        "node_modules/@acme/skillflow-pager/lib/b.js": moduleOf("pager"),
      },
    ],
  ])("comes from %s that .skillflow.yml names, with skillflow and zod installed nowhere", async (_, module, files) => {
    const cwd = makeProject({ ...pager, ".skillflow.yml": { skills: { modules: [module] } }, ...files });
    const ended = await run(cwd, "--trust-skill", "pager");
    expect(ended.code, ended.stderr).toBe(0);
    expect(outputOf(ended)).toEqual(PAGED);
  });

  it.each(["skill.ts", "skill.mts", "skill.js", "skill.mjs"])(
    "comes from a discovered folder with a %s, whose SKILL.md is its instruction",
    async (file) => {
      const cwd = makeProject({
        ...pager,
        [`skills/pager/${file}`]: moduleOf("pager"),
        "skills/pager/SKILL.md": "---\nname: pager\ndescription: Pages\n---\nPage whoever is on call.",
      });
      const ended = await run(cwd, "--trust-skill", "pager");
      expect(ended.code, ended.stderr).toBe(0);
      expect(outputOf(ended)).toEqual(PAGED);
      const [record = ""] = readFileSync(runFile(cwd, "r"), "utf8").split("\n");
      expect(JSON.parse(record).skills).toMatchObject([
        { id: "pager", format: "module", available: true, instruction: "Page whoever is on call." },
      ]);
    },
  );

  it("is found from a subfolder of the config file's folder", async () => {
    const cwd = makeProject({
      ".git/HEAD": "",
      ".skillflow.yml": { skills: { modules: ["./pager.ts", "plain-pager"] } },
      "pager.ts": moduleOf("pager"),
      "node_modules/plain-pager/index.js": moduleOf("plain-pager").replaceAll("PLAIN-PAGER", "PLAIN_PAGER"),
      "deep/er/flow.yml": flowOf("pager", "plain-pager"),
      "deep/er/script.json": paging("pager"),
    });
    const ended = await run(join(cwd, "deep/er"), "--trust-skill", "pager", "--trust-skill", "plain-pager");
    expect(ended.code, ended.stderr).toBe(0);
    expect(resultOf(ended)).toMatchObject({ degraded: [] });
    expect(outputOf(ended)).toEqual(PAGED);
  });

  it("that no node uses is never imported, trusted or not", async () => {
    const cwd = makeProject({
      ...pager,
      ".skillflow.yml": { skills: { modules: ["./pager.ts", "./other.ts"] } },
      "pager.ts": leavingOf("pager"),
      "other.ts": leavingOf("other"),
      "skills/third/skill.js": leavingOf("third"),
    });
    const trusted = ["pager", "other", "third"].flatMap((id) => ["--trust-skill", id]);
    expect((await runProgram([...RUN, ...trusted], { cwd, env })).code).toBe(0);
    const left = ["imported-pager", "imported-other", "imported-third"];
    expect(left.map((name) => existsSync(join(cwd, name)))).toEqual([true, false, false]);
  });

  it.each<[string, string, string]>([
    ["fails while it is imported", 'throw new Error("boom at import");', "boom at import"],
    ["defines another skill", 'export const x = 1; const other = { id: "other" }; ', 'defines the skill "other"'],
    ["is malformed", "export default { id: 'pager', tools: 'none' };", "name is missing"],
    ["has a zod schema that no JSON fits", "", "cannot be written as JSON Schema"],
  ])("that %s makes only that skill unavailable, and the run continues", async (what, code, says) => {
    const broken = {
      "defines another skill": moduleOf("other"),
      "has a zod schema that no JSON fits": moduleOf("pager").replace("z.string()", "z.date()"),
    };
    const cwd = makeProject({
      "flow.yml": flowOf("pager", "good"),
      "script.json": paging("good"),
      "skills/pager/skill.ts":
        broken[what as keyof typeof broken]?.replace(/id: "other",/, "id: ['other'][0],") ?? code,
      "skills/good/skill.ts": moduleOf("good"),
    });
    const ended = await run(cwd, "--trust-skill", "pager", "--trust-skill", "good");
    expect(ended.code, ended.stderr).toBe(0);
    expect(resultOf(ended)).toMatchObject({
      status: "succeeded",
      degraded: [{ skill: "pager", reason: expect.stringContaining(says) }],
    });
    expect(outputOf(ended)).toMatchObject({ paged: "me" });
  });

  it("that is missing is reported by validate, run and doctor, with the nearest name", async () => {
    const cwd = makeProject({
      ...pager,
      "plugins/pager.ts": moduleOf("pager"),
      ".skillflow.yml": { skills: { modules: ["./plugins/pager.ts", "./plugins/pagr.ts", "no-such-package"] } },
    });
    const { stdout, code } = await runHere(["validate", "flow.yml", "--json"], { cwd });
    expect(code).toBe(0);
    const found = (JSON.parse(stdout) as { diagnostics: { code: string; message: string; hint?: string }[] })
      .diagnostics;
    expect(found.filter((finding) => finding.code === "MODULE_NOT_FOUND")).toMatchObject([
      {
        message: expect.stringContaining("plugins/pagr.ts"),
        hint: expect.stringMatching(/did you mean .*plugins\/pager\.ts\?/),
      },
      { message: expect.stringContaining("the package no-such-package is not installed") },
    ]);
    for (const args of [["doctor"], [...RUN, "--trust-skill", "pager"]]) {
      const { stderr } = await runHere(args, { cwd });
      expect(stderr.split("plugins/pagr.ts")).toHaveLength(2);
    }
  });

  it("with a built-in's id leaves the built-in its tools, and a warning reports that its own are left out", async () => {
    const cwd = makeProject({
      "skills/desk/skill.ts": leavingOf("desk"),
      "skills/desk/SKILL.md": "---\nname: desk\n---\nAnother desk.",
    });
    const { stdout } = await runHere(["skills", "list", "--json", "--trust-skill", "desk"], { cwd });
    const { skills, diagnostics } = JSON.parse(stdout) as {
      skills: { id: string; tools: { name: string }[] }[];
      diagnostics: { code: string; message: string }[];
    };
    expect(skills.find(({ id }) => id === "desk")?.tools.map(({ name }) => name)).toContain("look");
    expect(diagnostics).toContainEqual(
      expect.objectContaining({ code: "SKILL_TOOLS_LEFT_OUT", message: expect.stringContaining('"desk"') }),
    );
    expect(existsSync(join(cwd, "imported-desk"))).toBe(false);
  });
});

describe("the published schemas", () => {
  it.each(["skill", "tools"])("have %s", async (name) => {
    const { stdout, code } = await runHere(["schema", name], { cwd: makeProject() });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ $schema: expect.stringContaining("2020-12") });
  });
});
