import { readFileSync } from "node:fs";
import { describe, expect } from "vitest";
import type { RunRecord } from "../../src/core/engine/event/record.ts";
import { openSandbox } from "../../src/sandbox/choose.ts";
import { oneOf } from "../harness/long.ts";
import { CONTRACT } from "../loaders/formats/contract/search-contract.ts";
import { sandboxHost } from "../sandbox/host.ts";
import { scriptOf } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents, runFile } from "./program.ts";

const it = oneOf(3);

/** Contracts, their bindings and their versions, in runs of the program. */

const isSandboxed = (await openSandbox(sandboxHost)).name !== "missing";

const CODE = `export function search({ query, recursive, limit }) {
  if (query === "broken") return { matches: [{ path: 7 }] };
  return { matches: [{ path: [query, recursive, limit].join(" "), score: 1 }] };
}`;
const SKILL = {
  "skills/search/contract.yml": CONTRACT,
  "skills/search/binding.yml": "function: ./search.mjs#search\n",
  "skills/search/search.mjs": CODE,
};
const workflow = (skills: string) =>
  `id: w\nname: W\nentry: a\nnodes:\n  a: { name: A, instruction: Search., skills: [${skills}] }\nedges: []\n`;

interface Calls {
  readonly files?: Readonly<Record<string, unknown>>;
  readonly skills?: string;
  readonly flags?: readonly string[];
  readonly tool?: string;
  readonly inputs: readonly unknown[];
}

/** The results of one call after another. */
async function results({
  files = SKILL,
  skills = "filesystem.search",
  flags,
  tool = "filesystem_search",
  inputs,
}: Calls) {
  const replies = [...inputs.map((input) => ({ calls: [{ tool, input }] })), { text: "done" }];
  const cwd = makeProject({ ...files, "w.yml": workflow(`"${skills}"`), "s.json": { replies } });
  const trust = flags ?? ["--trust-skill", "filesystem.search"];
  const ended = await runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r", ...trust], { cwd });
  expect(ended.stderr + ended.stdout).not.toContain("internal.fault");
  const found = readEvents(cwd, "r").filter((event) => event.type === "tool:result");
  const record = JSON.parse(readFileSync(runFile(cwd, "r"), "utf8").split("\n")[0] ?? "") as RunRecord;
  return { found: found.map(({ output, error }) => error ?? output), skill: record.skills[0] };
}

describe.skipIf(!isSandboxed)("a contract that is bound to a function (needs a sandbox)", () => {
  it("is called with its defaults, and its bounds and its guarantee are enforced", async () => {
    const inputs = [{ query: "report" }, { query: "a", limit: 101 }, { limit: 5 }, { query: "broken" }, ["a"]];
    const { found, skill } = await results({ inputs });
    expect(skill).toMatchObject({ id: "filesystem.search", format: "contract", available: true });
    expect(skill?.tools).toMatchObject([{ exposed: "filesystem_search", effect: "read", idempotent: true }]);
    expect(found).toEqual([
      { matches: [{ path: "report true 10", score: 1 }] },
      "invalid input: limit must be <= 100",
      "invalid input: the value must have required property 'query'",
      "the result does not fit the tool's output schema: matches.0.path must be string",
      "arguments must be an object",
    ]);
  });

  it("applies defaults of what it requires", async () => {
    const files = { ...SKILL, "skills/search/contract.yml": CONTRACT.replace("[query]", "[query, limit, recursive]") };
    const { found } = await results({ files, inputs: [{ query: "report" }] });
    expect(found).toEqual([{ matches: [{ path: "report true 10", score: 1 }] }]);
  });

  it("is carried out in the version that the node names", async () => {
    const next = CONTRACT.replace('"1.0.0"', '"2.1.0"');
    const files = {
      ...SKILL,
      "skills/search-2/contract.yml": next,
      "skills/search-2/binding.yml": "function: ./search.mjs#search\n",
      "skills/search-2/search.mjs": "export const search = () => ({ matches: [] });",
    };
    const old = await results({ files, skills: "filesystem.search@^1", inputs: [{ query: "q" }] });
    expect(old.skill?.id).toBe("filesystem.search@^1");
    expect(old.found).toEqual([{ matches: [{ path: "q true 10", score: 1 }] }]);
    expect((await results({ files, inputs: [{ query: "q" }] })).found).toEqual([{ matches: [] }]);
  });
});

describe("a contract", () => {
  it("that is not trusted has no tools, and the reason says how to change that", async () => {
    const { found, skill } = await results({ flags: [], inputs: [{ query: "q" }] });
    expect(skill).toMatchObject({ tools: [], reason: expect.stringContaining("--trust-skill filesystem.search") });
    expect(found).toEqual(["no tool is named filesystem_search; no tools are available"]);
  });

  it("that is bound to a command gets its arguments on stdin", async () => {
    const files = {
      "skills/search/contract.yml": CONTRACT,
      "skills/search/binding.yml": "command: { binary: node, args: [./search.mjs] }\n",
      "skills/search/search.mjs":
        "let text = ''; for await (const part of process.stdin) text += part; console.log(JSON.stringify({ matches: [{ path: text }] }));",
    };
    const { found } = await results({ files, inputs: [{ query: "; id" }] });
    expect(found).toEqual([{ matches: [{ path: '{"query":"; id","recursive":true,"limit":10}' }] }]);
  });

  it("that is bound to a tool needs no separate trust, and checks the tool's results against its guarantee", async () => {
    const inner = CONTRACT.replace("filesystem.search", "fs.raw").replace(
      /output:[\s\S]*metadata:/,
      "output: {}\nmetadata:",
    );
    const files = {
      "skills/search/contract.yml": CONTRACT,
      "skills/search/binding.yml": "tool: fs.raw/fs.raw\n",
      "skills/raw/contract.yml": inner,
      "skills/raw/binding.yml": "command: { binary: node, args: [./raw.mjs] }\n",
      "skills/raw/raw.mjs":
        "let text = ''; for await (const part of process.stdin) text += part; const { query } = JSON.parse(text); console.log(JSON.stringify(query === 'bad' ? { matches: 1 } : { matches: [{ path: query }] }));",
    };
    const flags = ["--trust-skill", "fs.raw"];
    const { found } = await results({ files, flags, inputs: [{ query: "q" }, { query: "bad" }] });
    expect(found).toEqual([
      { matches: [{ path: "q" }] },
      "the result does not fit the tool's output schema: matches must be array",
    ]);
  });

  it("removes the secrets of the called skill from the record", async () => {
    const inner = CONTRACT.replace("filesystem.search", "fs.raw");
    const files = {
      "skills/search/contract.yml": CONTRACT,
      "skills/search/binding.yml": "tool: fs.raw/fs.raw\n",
      "skills/raw/contract.yml": inner,
      "skills/raw/SKILL.md": "---\nconfig: { WORD: { env: RAW_WORD } }\n---\n",
      "skills/raw/binding.yml": "command: { binary: node, args: [./raw.mjs] }\n",
      "skills/raw/raw.mjs": "console.log(JSON.stringify({ matches: [{ path: process.env.RAW_WORD }] }));",
      "w.yml": workflow("filesystem.search"),
      "s.json": { replies: [{ calls: [{ tool: "filesystem_search", input: { query: "q" } }] }, { text: "done" }] },
    };
    const cwd = makeProject(files);
    const args = ["run", "w.yml", "--model", "script:s.json", "--run-id", "r", "--trust-skill", "fs.raw"];
    await runHere(args, { cwd, env: { RAW_WORD: "zebra-crossing" } });
    expect(readFileSync(runFile(cwd, "r"), "utf8")).not.toContain("zebra-crossing");
    expect(readFileSync(runFile(cwd, "r"), "utf8")).toContain("[redacted:WORD]");
  });

  it("is unknown in a version that is not there", async () => {
    const cwd = makeProject({ ...SKILL, "w.yml": workflow('"filesystem.search@^3"') });
    const { stderr, code } = await runHere(["validate", "w.yml"], { cwd });
    expect(stderr).toContain('lists an unknown skill "filesystem.search@^3"');
    expect(code).toBe(0);
    const fine = makeProject({ ...SKILL, "w.yml": workflow('"filesystem.search@1.0.0"') });
    const told = (await runHere(["validate", "w.yml"], { cwd: fine })).stderr;
    expect(told).not.toContain("unknown skill");
    expect(told).toContain("--trust-skill filesystem.search lets it run");
  });
});

describe("two contracts whose tools would have the same name", () => {
  it("are both offered, the second with a number, and each calls its own", async () => {
    const contract = (id: string) => ({
      id,
      version: "1.0.0",
      description: "d",
      input: { type: "object" },
      output: { type: "object" },
    });
    const binding = (id: string) => ({ command: { binary: "echo", args: [JSON.stringify({ by: id })] } });
    const cwd = makeProject({
      "skills/one/contract.json": contract("a.b"),
      "skills/one/binding.json": binding("a.b"),
      "skills/two/contract.json": contract("a_b"),
      "skills/two/binding.json": binding("a_b"),
      "w.yml": workflow("a.b, a_b"),
      "s.json": { replies: [{ calls: [{ tool: "a_b_2" }, { tool: "a_b" }] }, { text: "done" }] },
    });
    const trust = ["--trust-skill", "a.b", "--trust-skill", "a_b"];
    const { stderr } = await runHere(["run", "w.yml", "--model", "script:s.json", "--run-id", "r", ...trust], {
      cwd,
    });
    expect(stderr).toContain("the tool a_b of a_b is offered as a_b_2");
    const called = readEvents(cwd, "r").filter(({ type }) => type === "tool:result");
    expect(called).toMatchObject([
      { tool: "a_b_2", output: { by: "a_b" } },
      { tool: "a_b", output: { by: "a.b" } },
    ]);
  });
});

it("a contract that a node lists under two references is offered once", async () => {
  const cwd = makeProject({
    ...SKILL,
    "flow.yml": workflow('filesystem.search, "filesystem.search@1.0.0", "filesystem.search@^1"'),
    "script.json": scriptOf({ node: "a", text: "done" }),
  });
  const args = ["run", "flow.yml", "--model", "script:script.json", "--trust-skill", "filesystem.search"];
  const { code, stderr } = await runHere(args, { cwd });
  expect(code, stderr).toBe(0);
  expect(stderr).not.toContain("is offered as");
});
