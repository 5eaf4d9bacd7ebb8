import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { LoaderHost } from "../../../../src/loaders/folder/host.ts";
import { openSkillFolder, readSkillDocument } from "../../../../src/loaders/folder/skill-folder.ts";
import { skillDocument } from "../../../../src/loaders/formats/agent-skills/skill-document.ts";
import { declaredNetwork } from "../../../../src/loaders/programs/skill-script.ts";
import { discoverSkills } from "../../../../src/loaders/registry/discover.ts";
import { splitFrontmatter } from "../../../../src/loaders/text/frontmatter.ts";

/** Documents that other programs refuse and this one accepts, and documents that it refuses too. */

const root = mkdtempSync(join(tmpdir(), "skills-"));
let directory = "";
let count = 0;
beforeEach(() => {
  directory = join(root, String(count++));
});
afterAll(() => rmSync(root, { recursive: true }));

const write = (path: string, text: string | Uint8Array) => {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};
const skill = (path: string, frontmatter: string, body = "Body.") =>
  write(`${path}/SKILL.md`, `---\n${frontmatter}\n---\n${body}`);
const folderOf = (file: string) => {
  const folder = openSkillFolder(dirname(file));
  if (!folder) throw new Error(`${file} lies in no folder`);
  return folder;
};
const readFile = (file: string) => readSkillDocument(folderOf(file));
const read = (frontmatter: string, body?: string) => readFile(skill("x", frontmatter, body));
const readText = (text: string | Uint8Array) => readFile(write("x/SKILL.md", text));

describe("a SKILL.md, read leniently", () => {
  test("a rule inside the body does not end it", () => {
    expect(splitFrontmatter("---\nname: x\n---\na\n---\nb")).toEqual({ frontmatter: "name: x", body: "a\n---\nb" });
  });

  test("dashes inside a description do not end its frontmatter", () => {
    expect(read("name: x\ndescription: before --- after")).toMatchObject({ description: "before --- after" });
  });

  test.each([
    ["flow YAML", "metadata: { tags: [a, b] }", { metadata: { tags: ["a", "b"] } }],
    ["unknown keys", "owner: me\nhomepage: https://x", { owner: "me", homepage: "https://x" }],
    ["an alias", "a: &a [1]\nb: *a", { a: [1], b: [1] }],
  ])("keeps %s", (_, yaml, fields) => {
    expect(read(`name: x\n${yaml}`)).toMatchObject({ frontmatter: { name: "x", ...fields }, diagnostics: [] });
  });

  test.each(["''", '"  "', "7", "[a]"])("a description %s counts as missing", (description) => {
    expect(read(`name: x\ndescription: ${description}`)).toMatchObject({ description: "Custom skill: x" });
  });

  test.each([
    ["description: Use when: the build is red", "Use when: the build is red"],
    ["description: It's for: you\r", "It's for: you"],
    ["description: ends with:", "ends with:"],
  ])("%j is read as if its value were quoted, with a warning at its place", (line, description) => {
    expect(read(`name: x\n${line}`)).toMatchObject({
      description,
      diagnostics: [{ severity: "warning", code: "SKILL_YAML_REPAIRED", line: 3 }],
    });
  });

  test("of metadata keeps its spelling, as it is a map of texts", () => {
    const yaml =
      "metadata:\n  version: 1.10\n  on: true\n  none: null\n  big: 0x1F\n  text: '007'\n  deep: { a: [1.50] }";
    expect(read(`name: x\nother: 1.10\n${yaml}`)).toMatchObject({
      frontmatter: {
        other: 1.1,
        metadata: { version: "1.10", on: "true", none: "null", big: "0x1F", text: "007", deep: { a: ["1.50"] } },
      },
    });
  });

  test("quoting does not help if there is another error, and the first problem is reported", () => {
    expect(read("name: x\ndescription: a: b\nother: [")).toMatchObject({ code: "SKILL_SKIPPED", line: 3 });
  });

  test.each([
    ["js", "---js\nmodule.exports = { name: process.exit() }\n---\n", /its frontmatter is js/],
    ["a tag", "---\nname: !!js/function 'function () {}'\n---\n", /tag is unknown/],
    ["an open block", "---\nname: x\n", /no closing ---/],
    ["an empty block", "---\n---\n", /must be a YAML mapping/],
  ])("frontmatter that is %s is refused with the reason", (_, text, message) => {
    expect(readText(text)).toMatchObject({ code: "SKILL_SKIPPED", message: expect.stringMatching(message) });
  });

  test("bytes that are not UTF-8 are refused", () => {
    const bytes = new Uint8Array([...new TextEncoder().encode("---\nname: x\ndescription: "), 0xff, 0x0a]);
    expect(readText(bytes)).toMatchObject({ message: "skipped: SKILL.md is not UTF-8 text" });
  });

  test("a link that leads out is refused", () => {
    const outside = write("secret.md", "---\nname: x\n---\nroot:x:0:0");
    mkdirSync(join(directory, "x"));
    symlinkSync(outside, join(directory, "x/SKILL.md"));
    expect(readFile(join(directory, "x/SKILL.md"))).toMatchObject({
      message: "skipped: SKILL.md is a link that leads out of the folder",
    });
  });

  test.each([
    ["name: x\nmcp: { args: [y] }", 3, 1],
    ["name: x\na: [1, 2", 3, undefined],
  ])("a fault in %j has its line and column", (yaml, line, column) => {
    expect(read(yaml)).toMatchObject({ line, column: column ?? expect.any(Number) });
  });

  test("config that is not a map is left out, with a diagnostic at its place", () => {
    expect(read("name: x\nconfig:\n  A: { description: a }\n  B: text")).toMatchObject({
      config: { A: { env: "A" } },
      diagnostics: [{ code: "SKILL_CONFIG", path: ["config", "B"], line: 5, column: 3 }],
    });
    expect(read("name: x\nconfig: [A]")).toMatchObject({ config: {}, diagnostics: [{ code: "SKILL_CONFIG" }] });
  });

  test.each<[string, false | readonly string[]]>([
    ["api.test https://b.test/x  *.c.test", ["api.test", "*.c.test"]],
    ['"*"', false],
    ["{ a: b }", false],
  ])("invalid hosts in metadata.network (%s) are left out, with a diagnostic at their place", (network, left) => {
    const document = read(`name: x\nmetadata:\n  network: ${network}`);
    const place = { code: "SKILL_NETWORK", severity: "warning", path: ["metadata", "network"], line: 4, column: 3 };
    expect(document).toMatchObject({ diagnostics: [place] });
    expect(declaredNetwork("frontmatter" in document ? document.frontmatter : {})).toEqual(left);
  });
});

describe("a folder that is a SKILL.md", () => {
  const load = (frontmatter: string) =>
    skillDocument.read(folderOf(skill("folder", frontmatter)), undefined as unknown as LoaderHost).loaded;

  test("whose name differs from its folder's is used, with a warning at the name", () => {
    expect(load("name: other")).toMatchObject({
      skill: { id: "other" },
      diagnostics: [{ severity: "warning", code: "SKILL_FOLDER_NAME", line: 2, column: 1 }],
    });
  });

  test.each([
    ["name: A Title", /"A Title" is not a skill id/, 2],
    ["name: 7", /no name/, 2],
    ["description: d\nname: UPPER", /"UPPER" is not a skill id/, 3],
    ["description: d", /no name/, undefined],
  ])("whose frontmatter is %j gets its folder's name, with a warning at the name", (yaml, message, line) => {
    expect(load(yaml)).toMatchObject({
      skill: { id: "folder" },
      diagnostics: [
        { severity: "warning", code: "SKILL_NAME", message: expect.stringMatching(message), ...(line ? { line } : {}) },
      ],
    });
  });

  test("is skipped if neither its name nor its folder's is a valid id", () => {
    const { loaded } = skillDocument.read(
      folderOf(skill("My Folder", "name: A Title")),
      undefined as unknown as LoaderHost,
    );
    expect(loaded).toMatchObject({ code: "SKILL_SKIPPED", line: 2, column: 1 });
  });

  test.each([
    [".skillflow/skills", []],
    [".sweny/skills", []],
    [".claude/skills", ["titled"]],
    ["skills", ["titled"]],
  ])("whose name is a title is skipped in skillflow's own folders alone: %s", (place, ids) => {
    write(`${place}/titled/SKILL.md`, "---\nname: A Title\n---\nText.");
    const level = { kind: "project", path: join(directory, place), trusted: false } as const;
    const { found, diagnostics } = discoverSkills(level, undefined as unknown as LoaderHost);
    expect(found.map(({ loaded }) => loaded.skill.id)).toEqual(ids);
    expect(diagnostics.map(({ code }) => code)).toEqual(ids.length > 0 ? [] : ["SKILL_SKIPPED"]);
  });

  test.each([
    ["name: folder\ndescription: d\nallowed-tools: Read", "agent-skills"],
    ["name: folder\nconfig: {}", "sweny"],
    ["name: folder\ncategory: git\nmcp: { url: https://x }", "sweny"],
    ["name: folder\nmcp: { url: https://x }", "mcp"],
  ])("with %j is %s", (frontmatter, format) => {
    expect(load(frontmatter)).toMatchObject({ format, diagnostics: [] });
  });
});
