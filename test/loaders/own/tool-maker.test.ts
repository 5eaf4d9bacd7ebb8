import { existsSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/values.ts";
import type { MadeTool } from "../../../src/core/engine/event/call.ts";
import { makeTool } from "../../../src/core/engine/tools/tool-maker.ts";
import { openSkillFolder, readSkillDocument } from "../../../src/loaders/folder/skill-folder.ts";
import { defineMade, removeMade, runMade, toolMakerSkill } from "../../../src/loaders/own/tool-maker.ts";
import { toolContext } from "../../../src/testing.ts";
import { foreignHost, makeFolder } from "../foreign.ts";

const made = (parts: object = {}): MadeTool =>
  makeTool({
    name: "fetch_weather",
    description: 'Says: "rain"\n--- or sun',
    parameters: '{"city":{"type":"string","description":"c","optional":true}}',
    code: "return 1;",
    persistent: "true",
    ...parts,
  });
const shelf = (root: string, ids: readonly string[] = []) => ({ root, ids: new Set(ids) });
const text = (root: string, file: string) => readFileSync(join(root, "skills/fetch-weather", file), "utf8");

describe("defining a tool", () => {
  test.each(["return 1;", "const { a } = args; return await a;", "", "// only a comment", "return import('node:fs')"])(
    "accepts %j as a function body, and does not run it",
    async (code) => {
      expect(await defineMade(made({ code, persistent: "false" }), shelf("/nowhere"))).toEqual({
        defined: "tool-maker_fetch_weather",
      });
    },
  );

  test("never runs the code", async () => {
    const code = "throw new Error('it ran');";
    await expect(defineMade(made({ code, persistent: "" }), shelf("/"))).resolves.toMatchObject({});
  });

  test.each([
    "return ((;",
    "} evil(); async function f() {",
    "}); evil(); (async () => {",
    "import fs from 'node:fs';",
    "export default 1;",
    "with (args) { return 1; }",
    "return 1; /*",
  ])("refuses %j, and saves nothing", async (code) => {
    const root = makeFolder();
    await expect(defineMade(made({ code }), shelf(root))).rejects.toThrow("the code is not a function body");
    expect(readdirSync(root)).toEqual([]);
  });
});

describe("saving a tool", () => {
  test("writes a skill as its author would, with skillflow's mark", async () => {
    const root = makeFolder();
    expect(await defineMade(made(), shelf(root))).toEqual({
      defined: "tool-maker_fetch_weather",
      kept: "skills/fetch-weather",
    });
    expect(readdirSync(join(root, "skills"))).toEqual(["fetch-weather"]);
    expect(JSON.parse(text(root, "tools.json"))).toEqual([
      {
        name: "fetch_weather",
        description: 'Says: "rain"\n--- or sun',
        script: "scripts/fetch_weather.js",
        parameters: { city: { type: "string", description: "c", optional: true } },
      },
    ]);
    expect(text(root, "scripts/fetch_weather.js")).toBe(
      "export default async function handler(args) {\nreturn 1;\n}\n",
    );
    const folder = openSkillFolder(join(root, "skills/fetch-weather"));
    expect(folder && readSkillDocument(folder)).toMatchObject({
      id: "fetch-weather",
      description: 'Says: "rain"\n--- or sun',
      frontmatter: { metadata: { "generated-by": "skillflow tool-maker" } },
    });
  });

  test("again replaces the saved one completely", async () => {
    const root = makeFolder();
    await defineMade(made(), shelf(root));
    await defineMade(made({ code: "return 2;" }), shelf(root, ["fetch-weather"]));
    expect(text(root, "scripts/fetch_weather.js")).toContain("return 2;");
    expect(readdirSync(join(root, "skills"))).toEqual(["fetch-weather"]);
  });

  test.each<[string, Record<string, string>]>([
    ["a skill that people wrote", { "SKILL.md": "---\nname: fetch-weather\ndescription: mine\n---\nMine." }],
    ["a folder without a SKILL.md", { "notes.txt": "mine" }],
    ["a SKILL.md that cannot be read", { "SKILL.md": "---\n{" }],
    ["a mark in the body alone", { "SKILL.md": "---\nname: x\n---\nmetadata:\n  generated-by: skillflow tool-maker" }],
  ])("does not replace %s, and does not delete it", async (_, files) => {
    const inside = Object.entries(files).map(([name, content]) => [`skills/fetch-weather/${name}`, content]);
    const root = makeFolder(Object.fromEntries(inside));
    await expect(defineMade(made(), shelf(root))).rejects.toThrow("was not made by define_tool: it is not replaced");
    await expect(removeMade("fetch_weather", undefined, shelf(root))).rejects.toThrow("unknown tool: fetch_weather");
    expect(await removeMade("fetch_weather", made(), shelf(root))).toEqual({ removed: "fetch_weather" });
    for (const [name, content] of Object.entries(files)) expect(text(root, name)).toBe(content);
    expect(readdirSync(join(root, "skills"))).toEqual(["fetch-weather"]);
  });

  test("does not use the id of another skill", async () => {
    const root = makeFolder();
    await expect(defineMade(made(), shelf(root, ["fetch-weather"]))).rejects.toThrow(
      "has the id fetch-weather already",
    );
    expect(readdirSync(join(root, "skills"))).toEqual([]);
  });

  test("does not follow links out of the project", async () => {
    const elsewhere = makeFolder();
    const root = makeFolder();
    symlinkSync(elsewhere, join(root, "skills"));
    await expect(defineMade(made(), shelf(root))).rejects.toThrow("a link that leads out of");
    const second = makeFolder({ "skills/.keep": "" });
    await defineMade(made(), shelf(elsewhere));
    symlinkSync(join(elsewhere, "skills/fetch-weather"), join(second, "skills/fetch-weather"));
    await expect(defineMade(made(), shelf(second))).rejects.toThrow("it is not replaced");
    await expect(removeMade("fetch_weather", undefined, shelf(second))).rejects.toThrow("unknown tool");
    expect(existsSync(join(elsewhere, "skills/fetch-weather/SKILL.md"))).toBe(true);
  });
});

describe("removing a tool", () => {
  test("deletes what was saved, also by an earlier run", async () => {
    const root = makeFolder();
    await defineMade(made(), shelf(root));
    expect(await removeMade("fetch_weather", undefined, shelf(root))).toEqual({
      removed: "fetch_weather",
      deleted: "skills/fetch-weather",
    });
    expect(readdirSync(join(root, "skills"))).toEqual([]);
  });

  test("of a tool that was not saved deletes nothing", async () => {
    const root = makeFolder();
    expect(await removeMade("fetch_weather", made(), shelf(root))).toEqual({ removed: "fetch_weather" });
    expect(readdirSync(root)).toEqual([]);
  });
});

describe("running a tool", () => {
  const run = (code: string, input: JsonObject = {}, workDir = makeFolder()) =>
    runMade(made({ code }), input, toolContext({ workDir, config: { SECRET: "s3cret" } }), foreignHost);

  test("returns the result of its body for its arguments", async () => {
    expect(await run("return args.a + (await Promise.resolve(args.b));", { a: 1, b: 2 })).toBe(3);
  });

  test("fails with what it throws", async () => {
    await expect(run("throw new Error('no rain');")).rejects.toThrow("no rain");
  });

  test("may write to the working directory, and leaves nothing else behind", async () => {
    const workDir = makeFolder();
    const code =
      "const { writeFileSync } = await import('node:fs'); writeFileSync('out.txt', args.__workDir); return import.meta.url;";
    const url = await run(code, {}, workDir);
    expect(readFileSync(join(workDir, "out.txt"), "utf8")).toBe(workDir);
    expect(existsSync(fileURLToPath(String(url)))).toBe(false);
  });

  test("sees no variable but the base", async () => {
    const names = await run("return Object.keys(process.env);");
    expect(names).not.toContain("SECRET");
    expect((names as string[]).every((name) => ["PATH", "HOME", "LANG", "TMPDIR"].includes(name))).toBe(true);
  });

  test("requests no network", async () => {
    const asked: unknown[] = [];
    const host = {
      ...foreignHost,
      runForeign: (command: Parameters<typeof foreignHost.runForeign>[0]) => {
        asked.push(command.network);
        return foreignHost.runForeign(command);
      },
    };
    await runMade(made(), {}, toolContext({ workDir: makeFolder() }), host);
    expect(asked).toEqual([false]);
  });
});

test("outside of a run nothing is defined or removed", () => {
  for (const { handler } of toolMakerSkill().tools) {
    expect(() => handler({} as never, toolContext())).toThrow("only a node's model may");
  }
});
