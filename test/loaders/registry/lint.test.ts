import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { newSkillFiles } from "../../../src/cli/commands/skills/new.ts";
import type { Diagnostic } from "../../../src/core/base/diagnostic.ts";
import { type Format, FORMATS as LABELS } from "../../../src/core/skill/skill.ts";
import { foldersAt, lintSkills } from "../../../src/loaders/registry/lint.ts";

/** Each row changes one thing in a skill that `skills new` writes, and lists the findings of the lint. */

const root = mkdtempSync(join(tmpdir(), "lint-"));
let directory = "";
let count = 0;
beforeEach(() => {
  directory = join(root, String(count++));
});
afterAll(() => rmSync(root, { recursive: true }));

const ID = "word-count";
const write = (path: string, text: string | Uint8Array) => {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};
const filesOf = (format: Format) => {
  const id = format === "skills-protocol" ? "word.count" : ID;
  return Object.fromEntries(newSkillFiles(format, { id, folder: ID }));
};
const writeSkill = (format: Format, files: Readonly<Record<string, string>> = {}, folder = ID) => {
  for (const [path, text] of Object.entries({ ...filesOf(format), ...files })) write(`${folder}/${path}`, text);
};
const refuse = () => Promise.reject(new Error("nothing runs here"));
const OPTIONS = {
  known: new Set<string>(),
  host: {
    env: { PATH: process.env.PATH },
    cwd: process.cwd(),
    self: { pid: 1, host: "here", started: "1" },
    options: { descriptor: "current", allowScripts: false },
    runProgram: refuse,
    runForeign: refuse,
    runJavaScript: refuse,
    invoke: refuse,
    nodePath: process.execPath,
  },
} as const;
const lint = (path = directory) => lintSkills(foldersAt(path), OPTIONS);
const told = ({ severity, code, file, line }: Diagnostic) => {
  const path = file && relative(join(directory, ID), file);
  return `${severity} ${code} ${[path, line].filter((part) => part !== undefined && part !== "").join(":")}`;
};
const problems = (path?: string) => lint(path).flatMap((skill) => skill.problems.map(told));

describe("the output of skills new", () => {
  test.each(LABELS)("passes lint: %s", (format) => {
    writeSkill(format);
    expect(lint()).toEqual([expect.objectContaining({ format, problems: [] })]);
  });
});

type Change = readonly [file: string, from: string | RegExp, to: string, ...says: string[]];

/** The file with the change, if the template has the text to change. */
const change = (format: Format, [file, from, to]: Change) => {
  const before = filesOf(format)[file] ?? "";
  const after = before.replace(from, to);
  expect(after, `${file} has ${from}`).not.toBe(before);
  return { [file]: after };
};
const describeChanges = (format: Format, rows: readonly Change[]) =>
  test.each(rows.map((row) => [`${row[0]}: ${row[1]} -> ${row[2]}`, row] as const))("%s", (_, row) => {
    writeSkill(format, change(format, row));
    expect(problems()).toEqual(row.slice(3));
  });

describe("an Agent Skill", () => {
  describeChanges("agent-skills", [
    ["SKILL.md", "name: word-count", "name: 7", "error SKILL_NAME SKILL.md:2"],
    ["SKILL.md", "name: word-count\n", "", "error SKILL_NAME SKILL.md:2"],
    ["SKILL.md", "name: word-count", "name: Word", "error SKILL_NAME SKILL.md:2", "error SKILL_FOLDER_NAME SKILL.md:2"],
    ["SKILL.md", "name: word-count", "name: 技能", "error SKILL_NAME SKILL.md:2", "error SKILL_FOLDER_NAME SKILL.md:2"],
    ["SKILL.md", "name: word-count", "name: other", "error SKILL_FOLDER_NAME SKILL.md:2"],
    ["SKILL.md", /description: .*/, "description: ''", "error SKILL_DESCRIPTION SKILL.md:3"],
    ["SKILL.md", /description: .*\n/, "", "error SKILL_DESCRIPTION SKILL.md:2"],
    ["SKILL.md", /description: .*/, `description: ${"ä".repeat(1024)}`],
    ["SKILL.md", /description: .*/, `description: ${"ä".repeat(1025)}`, "error SKILL_DESCRIPTION SKILL.md:3"],
    ["SKILL.md", /description: .*/, "description: <b>", "warning SKILL_DESCRIPTION SKILL.md:3"],
    ["SKILL.md", /description: .*/, "description: Use when: red", "error SKILL_FRONTMATTER SKILL.md:3"],
    ["SKILL.md", "name: word-count", "name: word-count\nowner: me", "error SKILL_KEY_UNKNOWN SKILL.md:3"],
    [
      "SKILL.md",
      "name: word-count",
      "name: word-count\nlicense: [MIT]",
      "warning SKILL_YAML_FANCY SKILL.md:3",
      "error SKILL_KEY_TYPE SKILL.md:3",
    ],
    ["SKILL.md", "name: word-count", "name: word-count\nallowed-tools: Bash(git:*) Read"],
    ["SKILL.md", "name: word-count", "name: word-count\nallowed-tools:\n  - Read", "error SKILL_KEY_TYPE SKILL.md:3"],
    ["SKILL.md", "name: word-count", 'name: word-count\ncompatibility: ""', "error SKILL_COMPATIBILITY SKILL.md:3"],
    ["SKILL.md", "name: word-count", `name: word-count\ncompatibility: ${"x".repeat(500)}`],
    [
      "SKILL.md",
      "name: word-count",
      `name: word-count\ncompatibility: ${"x".repeat(501)}`,
      "error SKILL_COMPATIBILITY SKILL.md:3",
    ],
    ["SKILL.md", "name: word-count", "name: word-count\nmetadata:\n  version: 1.10"],
    [
      "SKILL.md",
      "name: word-count",
      "name: word-count\nmetadata:\n  a:\n    b: c",
      "warning SKILL_KEY_TYPE SKILL.md:4",
    ],
    ["SKILL.md", "name: word-count", "name: word-count\nmetadata:\n  network: a.test *.b.test 127.0.0.1:80"],
    [
      "SKILL.md",
      "name: word-count",
      "name: word-count\nmetadata:\n  network: a.test https://b.test/x",
      "error SKILL_NETWORK SKILL.md:4",
    ],
    [
      "SKILL.md",
      "name: word-count",
      "name: word-count\nmetadata:\n  network: a.test, b.test",
      "error SKILL_NETWORK SKILL.md:4",
    ],
    [
      "SKILL.md",
      "name: word-count",
      "name: word-count\nmetadata:\n  network:\n    - a.test",
      "error SKILL_NETWORK SKILL.md:4",
    ],
    ["SKILL.md", "name: word-count", "name: word-count\nmetadata: x", "error SKILL_KEY_TYPE SKILL.md:3"],
    ["SKILL.md", "name: word-count", "name: word-count\nmetadata: { a: b }", "warning SKILL_YAML_FANCY SKILL.md:3"],
    ["SKILL.md", "---\n", "\uFEFF---\n", "error SKILL_FRONTMATTER SKILL.md:1"],
    ["SKILL.md", "---\n", "---js\n", "error SKILL_FRONTMATTER SKILL.md:1"],
    ["SKILL.md", "---\n", "\n---\n", "error SKILL_FRONTMATTER SKILL.md:1"],
    ["SKILL.md", "name: word-count", "name: [", "error SKILL_FRONTMATTER SKILL.md:2"],
    ["SKILL.md", "name: word-count", "name: word-count\nname: word-count", "error SKILL_FRONTMATTER SKILL.md:3"],
    ["SKILL.md", /# Word[\s\S]*/, "", "error SKILL_EMPTY SKILL.md:5"],
    ["SKILL.md", "references/checklist.md", "references/gone.md", "warning SKILL_FILE_MISSING SKILL.md:8"],
    ["SKILL.md", "references/checklist.md", "../secrets.md", "error SKILL_LINK_OUTSIDE SKILL.md:8"],
    ["SKILL.md", "references/checklist.md", "https://example.com/x.md"],
    ["SKILL.md", "references/checklist.md", "references/checklist.md#length"],
    ["SKILL.md", "references/checklist.md", "references"],
    ["SKILL.md", "Count the words", "Write `[text](url)`"],
    ["SKILL.md", "1. Count", "```\n[text](url)\n```\n1. Count"],
    ["SKILL.md", "Count the words", "Run `scripts/gone.py`", "warning SKILL_FILE_MISSING SKILL.md:7"],
    ["SKILL.md", "Count the words", "word ".repeat(4100), "warning SKILL_BODY_LONG SKILL.md:5"],
    ["SKILL.md", "Count the words", "word\n".repeat(500), "warning SKILL_BODY_LONG SKILL.md:5"],
  ]);

  test("without a SKILL.md in capitals has none", () => {
    write(`${ID}/skill.md`, filesOf("agent-skills")["SKILL.md"] ?? "");
    expect(problems(join(directory, ID))).toEqual(["error SKILL_MISSING SKILL.md"]);
  });

  test("that is not UTF-8 is reported", () => {
    write(`${ID}/SKILL.md`, new Uint8Array([0x2d, 0x2d, 0x2d, 0x0a, 0xff]));
    expect(problems()).toEqual(["error SKILL_UNREADABLE SKILL.md"]);
  });

  test("may not have a link that leads out", () => {
    writeSkill("agent-skills");
    symlinkSync("/etc/hostname", join(directory, ID, "references", "host"));
    symlinkSync("checklist.md", join(directory, ID, "references", "inside.md"));
    expect(problems()).toEqual(["error SKILL_LINK_OUTSIDE references/host"]);
  });

  test.each([
    [".env", "TOKEN=x", "error SKILL_SECRET .env"],
    ["references/keys.md", `a\nghp_${"a".repeat(36)}`, "error SKILL_SECRET references/keys.md:2"],
    ["key.pem", `-----BEGIN RSA PRIVATE KEY-----\n${"MIIEow".repeat(10)}\n`, "error SKILL_SECRET key.pem:1"],
    ["key.json", `{"key": "-----BEGIN PRIVATE KEY-----\\n${"MIIEow".repeat(10)}"}`, "error SKILL_SECRET key.json:1"],
  ])("may not contain secrets: %s", (path, text, says) => {
    writeSkill("agent-skills", { [path]: text });
    expect(problems()).toEqual([says]);
  });

  test.each([
    ["-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"],
    ["  tls.key: |\n    -----BEGIN RSA PRIVATE KEY-----\n    <base64 of the key>\n"],
    ["-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg...\n"],
    ["AKIAIOSFODNN7EXAMPLE"],
  ])("may show where a secret goes: %j", (text) => {
    writeSkill("agent-skills", { "references/keys.md": text });
    expect(problems()).toEqual([]);
  });

  test.each([
    ["See [the other](../other/SKILL.md)", ["warning SKILL_LINK_OUTSIDE SKILL.md:7"]],
    ["See [the other](../other/references/x.md)", ["warning SKILL_LINK_OUTSIDE SKILL.md:7"]],
    ["See [none](../none/SKILL.md)", ["error SKILL_LINK_OUTSIDE SKILL.md:7"]],
    ["See [none](../other/../../secret.md)", ["error SKILL_LINK_OUTSIDE SKILL.md:7"]],
    ["Checks assets/code and references/citations", []],
    ["Such as scripts/rotate.py, which would turn a page", []],
  ])("whose text contains %j: %j", (text, says) => {
    writeSkill("agent-skills", change("agent-skills", ["SKILL.md", "Count the words", text]));
    write("other/SKILL.md", "---\nname: other\ndescription: Another\n---\nText.");
    expect(problems(join(directory, ID))).toEqual(says);
  });

  test("may have an example of its variables", () => {
    writeSkill("agent-skills", { ".env.example": "TOKEN=" });
    expect(problems()).toEqual([]);
  });
});

describe("a skill of Skill Tools", () => {
  describeChanges("skill-tools", [
    ["tools.json", '"count_words"', '"Count"', "error TOOL_NAME tools.json:3"],
    ["tools.json", '"count_words"', '"_count"', "error TOOL_NAME tools.json:3"],
    ["tools.json", '"name": "count_words",', "", "error TOOL_NAME tools.json:2"],
    ["tools.json", '"Counts the words and lines of a text."', '" "', "error TOOL_DESCRIPTION tools.json:4"],
    ["tools.json", "scripts/count_words.js", "scripts/gone.js", "error TOOL_SCRIPT tools.json:5"],
    ["tools.json", "scripts/count_words.js", "../count.js", "error TOOL_SCRIPT tools.json:5"],
    ["tools.json", "scripts/count_words.js", "/bin/true", "error TOOL_SCRIPT tools.json:5"],
    ["tools.json", "scripts/count_words.js", "SKILL.md", "error TOOL_SCRIPT tools.json:5"],
    ["tools.json", '"script": "scripts/count_words.js",', ""],
    [
      "tools.json",
      '"string", "description": "The text"',
      '"text", "description": "The text"',
      "warning PARAMETER_TYPE tools.json:7",
    ],
    [
      "tools.json",
      '"string", "description": "The text"',
      '"integer", "description": "The text"',
      "warning PARAMETER_TYPE tools.json:7",
    ],
    ["tools.json", ', "description": "The text"', "", "warning PARAMETER_DESCRIPTION tools.json:7"],
    ["tools.json", '["words", "lines"]', "[]", "warning PARAMETER_ENUM tools.json:11"],
    ["tools.json", '["words", "lines"]', "[1, 2]", "warning PARAMETER_ENUM tools.json:11"],
    ["tools.json", '"optional": true', '"optional": "yes"', "warning PARAMETER_OPTIONAL tools.json:12"],
    ["tools.json", '"optional": true', '"default": "words"', "warning MANIFEST_KEY_UNKNOWN tools.json:12"],
    ["tools.json", '"parameters": {', '"parameters": { "type": "object",', "error TOOL_PARAMETERS tools.json:6"],
    ["tools.json", '"script"', '"effect": "read", "script"'],
    ["tools.json", /^\[([\s\S]*)\]\n$/, "{}", "error TOOLS_SHAPE tools.json:1"],
    ["tools.json", /^\[([\s\S]*)\]\n$/, "[$1,$1]", "error TOOL_NAME_TWICE tools.json:18"],
    ["tools.json", /^\[([\s\S]*)\]\n$/, "[]"],
    ["tools.json", /\]\n$/, ",]", "error MANIFEST_UNREADABLE tools.json:16"],
    ["tools.json", /^\[/, "[ // tools", "error MANIFEST_UNREADABLE tools.json:1"],
    ["scripts/count_words.js", "export default", "export", "warning TOOL_HANDLER tools.json:5"],
    [
      "scripts/count_words.js",
      "const words",
      "process.env.WORD_KEY;\n  const words",
      "warning TOOL_VARIABLE tools.json:5",
    ],
    [
      "SKILL.md",
      "name: word-count",
      "name: word-count\nconfig: {}",
      "warning SKILL_YAML_FANCY SKILL.md:3",
      "warning SKILL_KEY_EXTENSION SKILL.md:3",
    ],
    ["SKILL.md", "name: word-count", "name: word-count\nowner: me", "error SKILL_KEY_UNKNOWN SKILL.md:3"],
    ["tools.json", '"script"', '"origin": "team", "audience": "public", "reads": "open", "script"'],
    ["tools.json", '"script"', '"origin": "us", "script"', "warning TOOL_DOUBTFUL tools.json:5"],
    [
      "SKILL.md",
      "name: word-count",
      "name: word-count\norigins:\n  count_words: team\nreads:\n  count_words: secret",
      "warning SKILL_KEY_EXTENSION SKILL.md:3",
      "warning SKILL_KEY_EXTENSION SKILL.md:5",
      "error SKILL_KEY_TYPE SKILL.md:6",
    ],
  ]);

  test("may have a handler that is a program", () => {
    const tools = (filesOf("skill-tools")["tools.json"] ?? "").replace("count_words.js", "count");
    writeSkill("skill-tools", { "tools.json": tools, "scripts/count": "#!/bin/sh\necho '{}'\n" });
    expect(problems()).toEqual(["error TOOL_SCRIPT tools.json:5"]);
    chmodSync(join(directory, ID, "scripts/count"), 0o755);
    expect(problems()).toEqual([]);
  });

  test("should have its handlers in scripts/", () => {
    const tools = (filesOf("skill-tools")["tools.json"] ?? "").replace("scripts/count_words.js", "count.py");
    writeSkill("skill-tools", { "tools.json": tools, "count.py": "def handler(args):\n    return {}\n" });
    expect(problems()).toEqual(["warning TOOL_SCRIPT_PLACE tools.json:5"]);
  });

  test("without a SKILL.md is reported", () => {
    write(`${ID}/tools.json`, "[]");
    expect(problems(join(directory, ID))).toEqual(["error SKILL_MISSING SKILL.md"]);
  });

  test("should share no tool name with another", () => {
    writeSkill("skill-tools");
    writeSkill("skill-tools", { "SKILL.md": "---\nname: other\ndescription: Another\n---\nCount." }, "other");
    const found = lint().map(({ skill, problems }) => [
      skill,
      problems.map(({ severity, code }) => `${severity} ${code}`),
    ]);
    expect(found).toEqual([
      ["other", ["warning TOOL_NAME_SHARED"]],
      [ID, ["warning TOOL_NAME_SHARED"]],
    ]);
  });
});

describe("a tools.json descriptor", () => {
  describeChanges("tool-descriptor", [
    ["tools.json", '"description": "Counts the words of a file.",', "", "warning TOOL_DESCRIPTION tools.json:3"],
    ["tools.json", '"parameters"', '"origin": "team", "audience": "public", "reads": "open", "parameters"'],
    ["tools.json", '"parameters"', '"origin": "us", "parameters"', "error DESCRIPTOR_INVALID tools.json:6"],
    ["tools.json", '"allowlist"', '"owner": 1, "allowlist"', "warning MANIFEST_KEY_UNKNOWN tools.json:13"],
    ["tools.json", '"kind": "positional"', '"knd": "flag"', "warning MANIFEST_KEY_UNKNOWN tools.json:19"],
    [
      "tools.json",
      '"param": "file"',
      '"param": "path"',
      "warning ARGUMENT_PARAMETER tools.json:15",
      "error ARGUMENT_PARAMETER tools.json:19",
    ],
    ["tools.json", '"required": ["file"]', '"required": []', "warning ARGUMENT_PARAMETER tools.json:19"],
    ["tools.json", '"positional"', '"flag", "flag": "--files0-from"', "warning ARGUMENT_FLAG tools.json:19"],
    ["tools.json", '"positional"', '"flagifboolean"', "warning ARGUMENT_FLAG tools.json:19"],
    ["tools.json", '"positional"', '"positional", "flagIfTrue": "-x"', "warning ARGUMENT_FLAG tools.json:19"],
    [
      "tools.json",
      '"positional"',
      '"positional", "resolveCommand": { "script": "gone" }',
      "error RESOLVE_COMMAND tools.json:19",
    ],
    [
      "tools.json",
      '"positional"',
      '"positional", "resolveCommand": { "script": "../x" }',
      "error RESOLVE_COMMAND tools.json:19",
    ],
    ["tools.json", '"positional"', '"positional", "resolveCommand": {}', "warning RESOLVE_COMMAND tools.json:19"],
    ["SKILL.md", "metadata:", "homepage: https://example.com\nmetadata:"],
    ["SKILL.md", "name: word-count\n", ""],
    ["SKILL.md", "name: word-count", "name: other", "warning SKILL_FOLDER_NAME SKILL.md:2"],
  ]);
});

describe("a skill with config", () => {
  describeChanges("sweny", [
    ["SKILL.md", "category: observability", "category: other", "error SKILL_CATEGORY SKILL.md:4"],
    ["SKILL.md", "env: ONCALL_CHANNEL", "env: 1 2", "error SKILL_CONFIG SKILL.md:8"],
    ["SKILL.md", "env: ONCALL_CHANNEL", "env: ONCALL_CHANNEL\n    format: name"],
    ["SKILL.md", "env: ONCALL_CHANNEL", "format: word", "error SKILL_CONFIG SKILL.md:8"],
    ["SKILL.md", "env: ONCALL_CHANNEL", "requird: true", "error SKILL_CONFIG SKILL.md:8"],
    ["SKILL.md", "env: ONCALL_CHANNEL", "required: yes", "error SKILL_CONFIG SKILL.md:8"],
    ["SKILL.md", /description: Channel .*/, "required: true", "error SKILL_CONFIG SKILL.md:6"],
    ["SKILL.md", /config:[\s\S]*?---/, "config: [A]\n---", "error SKILL_CONFIG SKILL.md:5"],
    ["SKILL.md", /# Word[\s\S]*/, "", "error SKILL_EMPTY SKILL.md:10"],
    ["SKILL.md", /description: How .*\n/, "", "warning SKILL_DESCRIPTION SKILL.md:2"],
    ["SKILL.md", "category:", "owner: me\ncategory:", "warning SKILL_KEY_UNKNOWN SKILL.md:4"],
  ]);
});

describe("a skill with an MCP server", () => {
  describeChanges("mcp", [
    ["SKILL.md", /mcp:[\s\S]*?---/, "mcp:\n  url: https://example.com/mcp\n---"],
    ["SKILL.md", /mcp:[\s\S]*?---/, "mcp:\n  url: file:///x\n---", "error SKILL_MCP SKILL.md:5"],
    ["SKILL.md", "  command: node\n", "", "error SKILL_MCP SKILL.md:4"],
    ["SKILL.md", "command: node", "command: node\n  url: https://x", "error SKILL_MCP SKILL.md:6"],
    ["SKILL.md", "command: node", "command: node\n  type: http", "error SKILL_MCP SKILL.md:6"],
    ["SKILL.md", "command: node", "command: node\n  shell: true", "error SKILL_MCP SKILL.md:6"],
  ]);
});

describe("a contract", () => {
  describeChanges("contract", [
    ["contract.yml", "id: word-count", "id: Word Count", "error SKILL_SKIPPED contract.yml:1"],
    [
      "contract.yml",
      "id: word-count",
      "id: Word Count\nowner: me",
      "error SKILL_SKIPPED contract.yml:1",
      "error MANIFEST_KEY_UNKNOWN contract.yml:2",
    ],
    ["contract.yml", '"1.0.0"', '"1.0"', "error SKILL_MANIFEST contract.yml:2"],
    ["contract.yml", '"1.0.0"', "1.0", "error SKILL_MANIFEST contract.yml:2"],
    ["contract.yml", "  type: object", "  type: array", "error SKILL_MANIFEST contract.yml:5"],
    ["contract.yml", "type: integer", "type: whole", "error SKILL_MANIFEST contract.yml:12"],
    ["contract.yml", "default: 1", "default: 0", "error CONTRACT_DEFAULT contract.yml:14"],
    ["contract.yml", "default: 1", "default: one", "error CONTRACT_DEFAULT contract.yml:14"],
    ["contract.yml", "metadata:", "owner: me\nmetadata:", "error MANIFEST_KEY_UNKNOWN contract.yml:24"],
    ["contract.yml", "side_effects: false", "side_effects: no", "error SKILL_MANIFEST contract.yml:25"],
    ["contract.yml", "metadata:", "metadata:\n  origin: team\n  audience: public\n  reads: open"],
    ["contract.yml", "metadata:", "metadata:\n  origin: us", "error SKILL_MANIFEST contract.yml:25"],
    ["contract.yml", "id:", "id: [", "error MANIFEST_UNREADABLE contract.yml:1"],
    ["binding.yml", "./count.mjs", "./gone.mjs", "error SKILL_MANIFEST binding.yml:2"],
    ["binding.yml", "./count.mjs", "../count.mjs", "error SKILL_MANIFEST binding.yml:2"],
    ["binding.yml", "#countWords", "#countLines", "error BINDING_TARGET binding.yml:2"],
    [
      "binding.yml",
      "function:",
      "tool: git/log\nfunction:",
      "error BINDING_TARGET binding.yml:2",
      "error SKILL_MANIFEST binding.yml:2",
    ],
    ["binding.yml", "function:", "network: true\nfunction:"],
    ["binding.yml", "function:", "network: [api.example.com, '*.example.org', 'localhost:80']\nfunction:"],
    ["binding.yml", "function:", "network: ['*']\nfunction:", "error SKILL_MANIFEST binding.yml:2"],
    ["binding.yml", /function: .*/, "tool: gt/log", "error BINDING_TARGET binding.yml:2"],
    ["binding.yml", /function: .*/, "{}", "error SKILL_MANIFEST binding.yml:2"],
    ["binding.yml", /function: .*/, "command: { binary: wc, args: [-w] }"],
    [
      "binding.yml",
      /function: .*/,
      "func: ./count.mjs",
      "error MANIFEST_KEY_UNKNOWN binding.yml:2",
      "error SKILL_MANIFEST binding.yml:2",
    ],
  ]);

  test("whose SKILL.md cannot be parsed is reported, with the place", () => {
    writeSkill("contract", { "SKILL.md": "---\nconfig:\n  A: [\n---\nText\n" });
    expect(problems()).toEqual(["error SKILL_DOCUMENT SKILL.md:3"]);
  });

  test("without an implementation is reported", () => {
    write(`${ID}/contract.yml`, filesOf("contract")["contract.yml"] ?? "");
    expect(problems()).toEqual(["warning BINDING_MISSING contract.yml:1"]);
  });
});

describe("a package of the Skills Protocol", () => {
  describeChanges("skills-protocol", [
    ["skill.toml", '"word.count"', '"Word Count"', "error SKILL_SKIPPED skill.toml:1"],
    ["skill.toml", '"word.count"', '"word-count"', "error SKILL_SKIPPED skill.toml:1"],
    ["skill.toml", '"0.1.0"', '"0.1"', "error SKILL_MANIFEST skill.toml:2"],
    ["skill.toml", '"Counts the words of a text."', '""', "error SKILL_MANIFEST skill.toml:3"],
    ["skill.toml", 'kind = "action"', "", "error SKILL_MANIFEST skill.toml:1"],
    ["skill.toml", '"action"', '"instruction"', "error PACKAGE_RUNTIME skill.toml:6"],
    ["skill.toml", "code/main.py", "code/gone.py", "error SKILL_MANIFEST skill.toml:8"],
    ["skill.toml", "code/main.py", "../main.py", "error SKILL_MANIFEST skill.toml:8"],
    ["skill.toml", 'export = "main"', 'export = "run"', "error PACKAGE_RUNTIME skill.toml:9"],
    [
      "skill.toml",
      "[runtime]",
      "[runtim]",
      "error SKILL_MANIFEST skill.toml:1",
      "warning MANIFEST_KEY_UNKNOWN skill.toml:6",
    ],
    ["skill.toml", "secrets = []", 'secrets = ["A B"]', "error SKILL_MANIFEST skill.toml:12"],
    ["skill.toml", "network = false", 'network = ["api.example.com"]'],
    ["skill.toml", "network = false", 'network = ["*.example.com", "127.0.0.1:8080", "[::1]:8080"]'],
    ["skill.toml", "network = false", 'network = ["https://a.com"]', "error SKILL_MANIFEST skill.toml:13"],
    ["skill.toml", "network = false", "network = true", "error SKILL_MANIFEST skill.toml:13"],
    ["skill.toml", "kind =", "kind", "error MANIFEST_UNREADABLE skill.toml:4"],
    ["SKILL.md", /short_description: .*\n/, "", "error SKILL_KEY_TYPE SKILL.md:2"],
    ["SKILL.md", "[text]", "text", "error SKILL_KEY_TYPE SKILL.md:4"],
  ]);
});

describe("a skill as code", () => {
  describeChanges("module", [
    ["skill.mjs", "export default {", "const skill = {", "error MODULE_EXPORT skill.mjs"],
    ["skill.mjs", /export default [\s\S]*/, "export default {\n", "error MODULE_UNREADABLE skill.mjs"],
    ["skill.mjs", '  id: "word-count",\n', "", "error MODULE_ID skill.mjs"],
    ["skill.mjs", '  id: "word-count",\n', "  id: ID,\n", "warning MODULE_ID skill.mjs"],
    ["skill.mjs", '  id: "word-count",\n', "  ...rest,\n", "warning MODULE_ID skill.mjs"],
    ["skill.mjs", 'id: "word-count"', 'id: "word count"', "error MODULE_DEFINITION skill.mjs"],
    ["skill.mjs", /category: "\w+"/, 'category: "words"', "error MODULE_DEFINITION skill.mjs"],
    ["skill.mjs", /category: "\w+"/, "category"],
    ["skill.mjs", /effect: "\w+"/, 'effect: "none"', "error MODULE_DEFINITION skill.mjs"],
    ["skill.mjs", /(\n\s*)handler/, "$1handle", "error MODULE_DEFINITION skill.mjs"],
    ["SKILL.md", "name: word-count", "name: other", "warning SKILL_FOLDER_NAME SKILL.md:2"],
  ]);

  const tool = (name: string, more = "") =>
    `{ name: "${name}", description: "d", input_schema: { type: "object" }, handler: () => 1 ${more}}`;
  test.each([
    [`[${tool("a")}, ${tool("b")}]`, []],
    [`[${tool("a")}, ${tool("a")}]`, ["skill.mjs: two tools are named a"]],
    [`[defineTool(${tool("a")}), defineTool(${tool("a")})]`, ["skill.mjs: two tools are named a"]],
    [`[{ ...${tool("a")}, name: prefix + "a" }, ${tool("a")}]`, []],
    ["tools.map(build)", []],
    [`[...more, ${tool("a", ", output_schema: { type: 'object', $ref: '#/nowhere' }")}]`, [/is not a JSON Schema/]],
  ])("reports what the loader refuses of the tools %s", (tools, says) => {
    const code = `export default { id: "${ID}", name: "n", description: "d", category: "general", config: {}, tools: ${tools} };`;
    write(`${ID}/skill.mjs`, code);
    const found = lint().flatMap((skill) => skill.problems.map(({ message }) => message));
    expect(found).toEqual(says.map((said) => (typeof said === "string" ? said : expect.stringMatching(said))));
  });
});
