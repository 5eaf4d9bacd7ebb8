import {
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
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import * as fc from "fast-check";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/core/base/values.ts";
import { checkSkillDefinition } from "../../../../src/core/skill/formats/skill-definition.ts";
import { audienceOf } from "../../../../src/core/skill/skill.ts";
import { openContents } from "../../../../src/loaders/folder/skill-contents.ts";
import { openSkillFolder } from "../../../../src/loaders/folder/skill-folder.ts";
import { discoverModule, moduleFolder } from "../../../../src/loaders/formats/module/module-folder.ts";
import { findModule } from "../../../../src/loaders/formats/module/module-place.ts";
import { readModuleId } from "../../../../src/loaders/formats/module/module-source.ts";
import { checkedSkill, importSkill } from "../../../../src/loaders/formats/module/skill-module.ts";
import { toolContext } from "../../../../src/testing.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "modules-")));
let directory = "";
let count = 0;
beforeEach(() => {
  directory = join(root, String(count++));
  mkdirSync(directory);
});
afterAll(() => rmSync(root, { recursive: true }));

const write = (path: string, text: string) => {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};
const fields = 'name: "N", description: "D", category: "general", config: {}';
const skill = (id: string, tools = "[]") => `{ id: "${id}", ${fields}, tools: ${tools} }`;
const tool = (schema: string, handler = "(input) => input") =>
  `[{ name: "t", description: "d", input_schema: ${schema}, handler: ${handler} }]`;

describe("the id of a module, read without running it", () => {
  test.each([
    ["a definition", 'export default defineSkill({ id: "pager", name: "x" });', "pager"],
    ["one line by line", "export default defineSkill({\n  // its id\n  id: 'pager',\n});", "pager"],
    ["a plain object", 'export default { name: "x", id: "pager" };', "pager"],
    ["a definition that is exported later", 'const s = defineSkill({ id: "pager" });\nexport default s;', "pager"],
    ["CommonJS", 'module.exports = { id: "pager" };', "pager"],
    ["a quoted key", 'export default { "id": `pager` }', "pager"],
    ["a constant", 'export default defineSkill({ id: "pager" as const, name: "x" });', "pager"],
    [
      "an id after objects that have one",
      'export default { tools: [{ id: "t" }], mcp: { id: "m" }, id: "pager" }',
      "pager",
    ],
    [
      "text that looks like code before it",
      'const s = "defineSkill({ id: \\"no\\" })"; export default { id: "pager" }',
      "pager",
    ],
    ["a comment that looks like code", '/* defineSkill({ id: "no" }) */ export default { id: "pager" }', "pager"],
    [
      "a template with code in it",
      'const t = `${`${"defineSkill({ id: 1 })"}`}`; export default { id: "pager" }',
      "pager",
    ],
    ["a regular expression with quotes", 'const r = /["\'`]/g; export default { id: "pager" }', "pager"],
    ["a division", 'const d = 4 / 2; const e = "/"; export default { id: "pager" }', "pager"],
    ["an escaped letter", 'export default { id: "pa\\ger" }', "pager"],
    ["a computed id", 'export default { id: "pag" + "er" }', undefined],
    ["a variable", "export default { id: ID }", undefined],
    ["a method call on it", 'export default { id: "PAGER".toLowerCase() }', undefined],
    ["an id of a tool only", 'export default { tools: [{ id: "t" }] }', undefined],
    ["a value that is called id", "export default { name: id, x: [id] }", undefined],
    ["no definition", "export const x = { id: 1 };", undefined],
    ["an open object", "export default {", undefined],
    ["nothing", "", undefined],
  ])("%s", (_, source, id) => {
    expect(readModuleId(source)).toBe(id);
  });

  test.each([
    ["a list closed by a brace", "defineSkill({ a: [ }"],
    ["an object closed by a bracket", "defineSkill({ ] })"],
    ["a list of nothing but a semicolon", "defineSkill({ a: [ ; ] })"],
    ["lists within lists", `defineSkill({ a: ${"[".repeat(100_000)}`],
    ["objects within objects", `defineSkill({ a: ${"{ a: ".repeat(100_000)}`],
    ["templates within templates", "`${".repeat(100_000)],
    ["comments without an end", "/*".repeat(100_000)],
  ])("invalid code is scanned to its end: %s", (_, source) => {
    expect(readModuleId(source)).toBeUndefined();
  });

  test("any text is scanned to its end", () => {
    const piece = fc.constantFrom(
      "defineSkill(",
      "defineSkill({ a:",
      "{",
      "}",
      "[",
      ";",
      "id:",
      '"',
      "'",
      "`",
      "${",
      "/",
      "/*",
      "\\",
      "\n",
      "a",
      ",",
      "]",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40, size: "max" }), (pieces) => {
        const id = readModuleId(pieces.join(""));
        expect(id === undefined || typeof id === "string").toBe(true);
      }),
    );
  });
});

describe("the place of a module", () => {
  const find = (specifier: string) =>
    findModule(specifier.startsWith("/") ? join(directory, specifier) : specifier, directory);
  const entry = (path: string) => join(directory, path);

  test.each(["pager.ts", "pager.mts", "pager.js", "pager.mjs", "pager.cjs"])(
    "a file %s, named after itself",
    (file) => {
      write(file, "");
      expect(find(`/${file}`)).toEqual({ path: entry(file), entry: entry(file), name: "pager" });
    },
  );

  test.each(["skill.ts", "index.js"])("a file %s is named after its folder", (file) => {
    write(`pager/${file}`, "");
    expect(find(`/pager/${file}`)).toMatchObject({ name: "pager" });
  });

  test.each([
    ["its skill.ts", { "skill.ts": "", "index.js": "", "package.json": '{"main": "index.js"}' }, "skill.ts"],
    ["its skill.mjs", { "skill.mjs": "" }, "skill.mjs"],
    ["the main file of its package.json", { "package.json": '{"main": "lib/a.js"}', "lib/a.js": "" }, "lib/a.js"],
    ["a main without extension", { "package.json": '{"main": "./lib"}', "lib/index.js": "" }, "lib/index.js"],
    ["what it exports", { "package.json": '{"main": "b.js", "exports": "./a.js"}', "a.js": "" }, "a.js"],
    [
      "what it exports for import",
      {
        "package.json":
          '{"exports": {".": {"types": "./a.d.ts", "node": {"import": "./a.mjs", "require": "./a.cjs"}}}}',
        "a.mjs": "",
      },
      "a.mjs",
    ],
    ["its index.ts", { "index.ts": "" }, "index.ts"],
  ])("a folder by %s", (_, files, file) => {
    for (const [name, text] of Object.entries(files)) write(`pager/${name}`, text);
    expect(find("/pager")).toEqual({ path: entry("pager"), entry: entry(`pager/${file}`), name: "pager" });
  });

  test.each([
    ["a folder without code", { "pager/README.md": "" }, "/pager", /no skill\.ts/],
    [
      "a main file that leads out",
      { "pager/package.json": '{"main": "../x.js"}', "x.js": "" },
      "/pager",
      /no skill\.ts/,
    ],
    ["a file that is not code", { "pager.md": "" }, "/pager.md", /is not code/],
    ["a broken package.json", { "pager/package.json": "{" }, "/pager", /cannot be read/],
    ["a package's name that is a path", {}, "../../etc", /neither a path/],
    ["a package's name with an address", {}, "https://x.test/a.js", /neither a path/],
  ])("%s is refused", (_, files, specifier, says) => {
    for (const [name, text] of Object.entries(files)) write(name, text);
    expect(find(specifier)).toMatchObject({ missing: expect.stringMatching(says) });
  });

  test("a missing file gets the nearest one as a hint", () => {
    write("skills/pager.ts", "");
    expect(find("/skills/pagr.ts")).toEqual({
      missing: `there is no ${entry("skills/pagr.ts")}`,
      hint: `did you mean ${entry("skills/pager.ts")}?`,
    });
  });

  test("a package is found from its folder upwards, and named without scope and prefix", () => {
    write("node_modules/@acme/skillflow-statuspage/package.json", '{"exports": {".": "./main.js"}}');
    write("node_modules/@acme/skillflow-statuspage/main.js", "");
    const found = findModule("@acme/skillflow-statuspage", join(directory, "deep/er"));
    expect(found).toMatchObject({
      entry: entry("node_modules/@acme/skillflow-statuspage/main.js"),
      name: "statuspage",
    });
  });

  test("a package that is not installed gets the nearest one as a hint", () => {
    write("node_modules/@acme/skillflow-pager/index.js", "");
    expect(find("@acme/skilflow-pager")).toMatchObject({
      missing: `the package @acme/skilflow-pager is not installed for ${directory}`,
      hint: "did you mean @acme/skillflow-pager?",
    });
  });
});

describe("a module", () => {
  test.each([
    [
      "TypeScript",
      "a.ts",
      `enum E { A = "a" }\nconst id: string = "a";\nexport default defineSkill(${skill("a")} as const);`,
    ],
    ["TypeScript by its ending", "a.mts", `export default defineSkill(${skill("a")});`],
    ["JavaScript", "a.js", `export default defineSkill(${skill("a")});`],
    ["an ES module", "a.mjs", `export default defineSkill(${skill("a")});`],
  ])("of %s can import this program's entries and zod, installed nowhere", async (_, file, text) => {
    const imports =
      'import { defineSkill, resolveInside } from "skillflow"; import { startLoopback } from "skillflow/testing";\nimport { z } from "zod"; import * as z3 from "zod/v3";\nif (!resolveInside || !startLoopback || !z.object || !z3.z.object) throw new Error("missing");\n';
    expect(await importSkill(write(file, imports + text), "a")).toMatchObject({ id: "a", tools: [] });
  });

  test("of CommonJS can too, also if the package declares it", async () => {
    write("package.json", '{"type": "commonjs"}');
    const text = `const { defineSkill } = require("skillflow"); module.exports = defineSkill(${skill("a")});`;
    expect(await importSkill(write("a.cjs", text), "a")).toMatchObject({ id: "a" });
    expect(await importSkill(write("a.js", text), "a")).toMatchObject({ id: "a" });
    expect(await importSkill(write("b.js", `export default ${skill("a")}`), "a")).toMatchObject({ id: "a" });
  });

  test("that was compiled to CommonJS has its default", async () => {
    const text = `Object.defineProperty(exports, "__esModule", { value: true }); exports.default = ${skill("a")};`;
    expect(await importSkill(write("a.cjs", text), "a")).toMatchObject({ id: "a" });
  });

  test("prefers the zod of its own project", async () => {
    write("node_modules/zod/package.json", '{"type": "module", "exports": "./own.js"}');
    write("node_modules/zod/own.js", "export const z = 'own zod';");
    const text = `import { z } from "zod"; export default { ...${skill("a")}, instruction: z };`;
    expect(await importSkill(write("a.ts", text), "a")).toMatchObject({ instruction: "own zod" });
  });

  test("has its own URL, also if another one has the same text", async () => {
    const text = `export default { ...${skill("a")}, instruction: import.meta.url }`;
    for (const name of ["a.ts", "b.ts"]) {
      const file = write(name, text);
      expect(await importSkill(file, "a")).toMatchObject({ instruction: pathToFileURL(file).href });
    }
  });

  test("imports other files, and is loaded again when they change", async () => {
    const file = write(
      "a.ts",
      `import { text } from "./text.js"; export default { ...${skill("a")}, instruction: text };`,
    );
    write("text.ts", 'export const text: string = "before";');
    expect(await importSkill(file, "a")).toMatchObject({ instruction: "before" });
    write("text.ts", 'export const text: string = "after";');
    expect(await importSkill(file, "a")).toMatchObject({ instruction: "after" });
  });

  test.each<[string, string, string | RegExp]>([
    ["throws", 'throw new Error("boom");', /a\.mjs cannot be loaded: boom$/],
    ["throws no error", "throw null;", /cannot be loaded: null$/],
    ["is no JavaScript", "export default {", /cannot be loaded: /],
    ["imports what is missing", 'import "nowhere-to-be-found";', /cannot be loaded: .*nowhere-to-be-found/],
    ["exports nothing by default", `export const skill = ${skill("a")};`, /does not export a skill by default/],
    ["exports a function", "export default () => 1;", /does not export a skill by default/],
    ["exports a list", `export default [${skill("a")}];`, /does not export a skill by default/],
    [
      "says nothing",
      "export default {};",
      /id is missing; name is missing; description is missing; category .*; config is missing; tools is missing/,
    ],
    [
      "has no such category",
      `export default { ...${skill("a")}, category: "chat" };`,
      /category must be one of git, .*, general/,
    ],
    ["has an id that is none", `export default { ...${skill("a")}, id: "a/b" };`, /id: must be letters/],
    ["has tools that are not a list", `export default ${skill("a", "{}")};`, /tools: .*expected array/],
    [
      "has a tool without a name",
      `export default ${skill("a", '[{ name: "", description: "", input_schema: {}, handler() {} }]')};`,
      /tools\[0\]\.name/,
    ],
    [
      "has two tools of one name",
      `const [t] = ${tool("{}")}; export default ${skill("a", "[t, t]")};`,
      /two tools are named t/,
    ],
    [
      "has a handler that is none",
      `export default ${skill("a", tool("{}", '"t.js"'))};`,
      /tools\[0\]\.handler is not a function/,
    ],
    [
      "has no input schema",
      `export default ${skill("a", tool("undefined"))};`,
      /tools\[0\]\.input_schema: must be a JSON Schema or a zod schema/,
    ],
    [
      "has a schema with no such type",
      `export default ${skill("a", tool('{ type: "strng" }'))};`,
      /input_schema\.type must be one of/,
    ],
    [
      "has a schema that is not an object's",
      `export default ${skill("a", tool('{ type: "string" }'))};`,
      /input_schema must be of type object/,
    ],
    [
      "has a schema that does not compile",
      `export default ${skill("a", tool('{ $ref: "#/nowhere" }'))};`,
      /the input_schema of tool t is not a JSON Schema/,
    ],
    [
      "has config without descriptions",
      `export default { ...${skill("a")}, config: { KEY: { env: "KEY" } } };`,
      /config\.KEY\.description is missing/,
    ],
    ["is another one than announced", `export default ${skill("b")};`, /defines the skill "b", but is known as "a"/],
  ])("that %s is refused with the reason", async (_, text, says) => {
    await expect(importSkill(write("a.mjs", text), "a")).rejects.toThrow(
      expect.objectContaining({ code: "skill.invalid", message: expect.stringMatching(says) }),
    );
  });

  test("that fails while it runs has run once", async () => {
    const log = join(directory, "log");
    const text = `import { appendFileSync } from "node:fs"; appendFileSync(${JSON.stringify(log)}, "x"); throw new Error(String(appendFileSync.length > 0));`;
    await expect(importSkill(write("a.mjs", text), "a")).rejects.toThrow("true");
    expect(readFileSync(log, "utf8")).toBe("x");
  });
});

describe.each([
  ["4", "zod"],
  ["3", "zod/v3"],
])("an input schema of zod %s", (_, specifier) => {
  const load = (schema: string) =>
    importSkill(write("a.ts", `import { z } from "${specifier}"; export default ${skill("a", tool(schema))};`), "a");
  const call = async (schema: string, input: object) => {
    const { tools } = await load(schema);
    return tools[0]?.handler(input as never, toolContext());
  };

  test("is converted to JSON Schema, for input without defaults", async () => {
    const { tools } = await load(
      'z.object({ n: z.number().default(3), s: z.string().transform((s) => s.length).describe("text") })',
    );
    expect(tools[0]?.input_schema).toMatchObject({
      type: "object",
      properties: { n: { type: "number", default: 3 }, s: { type: "string", description: "text" } },
      required: ["s"],
    });
  });

  test("produces the handler's input: defaults, conversions", async () => {
    const schema = "z.object({ n: z.number().default(3), s: z.string().transform((s) => s.length) })";
    expect(await call(schema, { s: "four" })).toEqual({ n: 3, s: 4 });
  });

  test("reports invalid input that JSON Schema cannot describe", async () => {
    const schema = 'z.object({ s: z.string().refine((s) => s !== "no", "is not yes") })';
    await expect(call(schema, { s: "no" })).rejects.toThrow("invalid input: s: is not yes");
  });

  test.each([
    "z.object({ at: z.date() })",
    "z.object({ big: z.bigint() })",
    "z.object({ m: z.map(z.string(), z.string()) })",
    "z.string()",
  ])("%s cannot be written as JSON Schema: refused with the reason", async (schema) => {
    await expect(load(schema)).rejects.toThrow(
      /a\.ts: skill a: the input_schema of tool t cannot be written as JSON Schema: /,
    );
  });
});

describe("a skill that a module defines, before it runs", () => {
  const marker = () => join(directory, "ran");
  const noisy = (id: string) =>
    `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(marker())}, ""); export default ${skill(id)};`;
  const discover = (path: string) => discoverModule({ kind: "module", path, from: directory, trusted: false });

  test("has its id, and its SKILL.md's instruction and config", async () => {
    write("pager/skill.ts", noisy("paging"));
    write(
      "pager/SKILL.md",
      "---\nname: pager\ndescription: Pages\nconfig: { TOKEN: { description: t } }\n---\nPage them.",
    );
    const { found, diagnostics } = discover(join(directory, "pager"));
    expect(diagnostics).toEqual([]);
    expect(found).toMatchObject([
      {
        path: join(directory, "pager"),
        loaded: {
          format: "module",
          runsCode: true,
          skill: { id: "paging", description: "Pages", instruction: "Page them.", tools: [], config: { TOKEN: {} } },
        },
      },
    ]);
    expect(existsSync(marker())).toBe(false);
    await found[0]?.loaded.importCode?.();
    expect(existsSync(marker())).toBe(true);
  });

  test("gets the document's name, or the folder's, if its code has none", () => {
    write("pager/skill.js", "export default make();");
    expect(discover(join(directory, "pager")).found[0]?.loaded.skill.id).toBe("pager");
    write("pager/SKILL.md", "---\nname: paging\n---\nx");
    expect(discover(join(directory, "pager")).found[0]?.loaded.skill.id).toBe("paging");
  });

  test("keeps its code if its SKILL.md is invalid, with a diagnostic", () => {
    write("pager/skill.js", noisy("pager"));
    write("pager/SKILL.md", "no frontmatter");
    const [found] = discover(join(directory, "pager")).found;
    expect(found?.loaded).toMatchObject({ skill: { id: "pager" }, diagnostics: [{ code: "SKILL_SKIPPED" }] });
  });

  test("that is missing is a diagnostic at its place in the file that names it", () => {
    const file = write(".skillflow.yml", "skills:\n  modules:\n    - ./a.ts\n    - ./nope.ts\n");
    const path = join(directory, "nope.ts");
    const named = { file, index: 1 };
    expect(discoverModule({ kind: "module", path, from: directory, trusted: false, named })).toMatchObject({
      found: [],
      diagnostics: [{ severity: "warning", code: "MODULE_NOT_FOUND", file, line: 4, path: ["skills", "modules", 1] }],
    });
  });

  test("is refused in a folder whose skill.ts is a link that leads out", () => {
    const outside = write("outside.ts", noisy("x"));
    mkdirSync(join(directory, "pager"));
    symlinkSync(outside, join(directory, "pager/skill.ts"));
    const folder = openSkillFolder(join(directory, "pager"));
    expect(folder && moduleFolder.read(folder, {} as never).loaded).toMatchObject({
      code: "SKILL_SKIPPED",
      message: expect.stringContaining("is a link that leads out of the folder"),
    });
  });

  test("does not run if its file became a link that leads out after it was read", async () => {
    write("pager/skill.ts", skill("pager"));
    const outside = write("outside.ts", noisy("pager"));
    const [found] = discover(join(directory, "pager")).found;
    rmSync(join(directory, "pager/skill.ts"));
    symlinkSync(outside, join(directory, "pager/skill.ts"));
    await expect(found?.loaded.importCode?.()).rejects.toThrow("is a link that leads out of the directory");
    expect(existsSync(marker())).toBe(false);
  });

  test("is bound to all of its files: those it imports elsewhere, and its packages", () => {
    const file = write("plugins/pager.ts", `import "../lib/shared.js"; export default ${skill("pager")};`);
    write("lib/shared.ts", 'export * from "./deeper.ts";');
    write("lib/deeper.ts", "export const a = 1;");
    write("plugins/unrelated.ts", "1");
    const digest = () => discover(file).found[0]?.contents.digest();
    const before = digest();
    write("plugins/unrelated.ts", "2");
    expect(digest()).toBe(before);
    write("lib/deeper.ts", "export const a = 2;");
    expect(digest()).not.toBe(before);
  });

  test.each<[string, () => unknown]>([
    ["a file", () => write("pager/lib/a.js", "2")],
    ["a new file", () => write("pager/lib/b.js", "")],
    ["a package that it brought along", () => write("pager/node_modules/x/index.js", "2")],
    [
      "where a link leads",
      () => {
        rmSync(join(directory, "pager/link"));
        symlinkSync("lib/b.js", join(directory, "pager/link"));
      },
    ],
  ])("has another digest when %s changes", (_, change) => {
    for (const file of ["skill.ts", "lib/a.js", "node_modules/x/index.js"]) write(`pager/${file}`, "1");
    symlinkSync("lib/a.js", join(directory, "pager/link"));
    const digest = () => openContents({ path: join(realpathSync(directory), "pager") }).digest();
    const before = digest();
    expect(digest()).toBe(before);
    change();
    expect(digest()).not.toBe(before);
  });
});

describe("a skill definition", () => {
  test("is checked as a whole, all problems at once", () => {
    const tools = [
      { name: "t", description: "d", input_schema: {}, effect: "maybe", audience: "all", output_schema: [] },
    ];
    const checked = checkSkillDefinition({
      id: "a",
      name: "",
      description: "d",
      category: "git",
      config: {},
      tools,
      probe: 1,
    });
    expect(checked).toEqual({
      problems: [
        expect.stringContaining("name"),
        expect.stringContaining("tools[0].output_schema"),
        "tools[0].effect must be one of read, write",
        "tools[0].audience must be one of team, public",
        "tools[0].handler is not a function",
        "probe is not a function",
      ],
    });
  });

  test("may have tools of a class whose audience is a method", async () => {
    class Post {
      readonly name = "post";
      readonly description = "Posts.";
      readonly input_schema = { type: "object" };
      readonly board = "team";
      audience({ to }: { readonly to?: string }) {
        if (to === "nobody") throw new Error("there is no such board");
        return to ?? this.board;
      }
      handler() {
        return this.board;
      }
    }
    const parts = { id: "a", name: "a", description: "d", category: "general", config: {} };
    const { tools } = await checkedSkill({ ...parts, tools: [new Post()] }, "here");
    const asked = (input: JsonObject) => audienceOf(tools[0] ?? {}, input, toolContext());
    expect(await asked({})).toBe("team");
    expect(await asked({ to: "world" })).toBe("public");
    await expect(asked({ to: "nobody" })).rejects.toThrow("there is no such board");
    expect(await audienceOf({}, {}, toolContext())).toBe("team");
  });

  test.each([null, undefined, 7, "x", []])("is not %j", (value) => {
    expect(checkSkillDefinition(value)).toMatchObject({ problems: [expect.stringContaining("the skill")] });
  });
});
