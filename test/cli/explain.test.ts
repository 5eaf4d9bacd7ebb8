import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { explainedCodes } from "../../src/core/base/codes/explained.ts";
import { FLOW, SMALL } from "./flows.ts";
import { runHere } from "./in-process.ts";
import { makeProject } from "./program.ts";

const explain = (args: readonly string[], screen: object = {}) =>
  runHere(["validate", "--explain", ...args], { cwd: makeProject(), ...screen });

describe("validate --explain CODE", () => {
  it("prints the meaning of a finding to stdout, without a workflow", async () => {
    const { code, stdout, stderr } = await explain(["SELF_LOOP"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^SELF_LOOP \(a finding\)\n\n.*to itself.*\n\nWhat to do: .*`max_iterations`/);
    expect(stdout).toContain("Right:\n  edges:\n    - { from: look, to: look");
    expect(stdout).toBe(stripVTControlCharacters(stdout));
  });

  it("prints the exit code of an error, and accepts upper and lower case", async () => {
    const { code, stdout } = await explain(["STORE.Locked"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^store\.locked \(an error, exit code 4\)\n/);
    expect(stdout).toContain("Usual cause: ");
  });

  it.each([40, 80, 240])("is coloured on a terminal of %i columns, and wraps at 100 at most", async (columns) => {
    const { stdout } = await explain(["store.locked"], { isTerminal: true, columns });
    const lines = stdout.split("\n").map((line) => stripVTControlCharacters(line).length);
    expect(Math.max(...lines)).toBeLessThanOrEqual(Math.min(columns, 100));
    expect(stdout).not.toBe(stripVTControlCharacters(stdout));
    const plain = await explain(["store.locked", "--no-color"], { isTerminal: true, columns });
    expect(plain.stdout).toBe(stripVTControlCharacters(plain.stdout));
  });

  it.each([
    [["SELF_LOOP", "--json"], { code: "SELF_LOOP", kind: "finding", example: { right: expect.any(String) } }],
    [["limit.reached", "--format", "json"], { code: "limit.reached", kind: "error", exitCode: 5 }],
  ])("prints a document with %j", async (args, holds) => {
    const { code, stdout } = await explain(args);
    expect(code).toBe(0);
    const texts = { what: expect.any(String), mend: expect.any(String) };
    expect(JSON.parse(stdout)).toMatchObject({ schema: "skillflow.explanation/1", ...holds, ...texts });
  });

  it("refuses an unknown code and suggests the nearest", async () => {
    expect(await explain(["selfloop"])).toMatchObject({ code: 2, stdout: "" });
    expect((await explain(["selfloop"])).stderr).toMatch(/there is no code "selfloop"\n {2}did you mean SELF_LOOP\?/);
    expect((await explain(["model.quta"])).stderr).toContain("did you mean model.quota?");
    expect((await explain(["nothing like it"])).stderr).toContain("list all codes with skillflow validate --explain");
  });

  it("refuses a workflow next to the code", async () => {
    const { code, stderr } = await explain(["SELF_LOOP", "flow.yml"]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("leave out flow.yml") });
  });

  it("lists every code if none is named", async () => {
    const { code, stdout } = await explain([]);
    const codes = explainedCodes().map((found) => found.code);
    expect(code).toBe(0);
    expect(stdout.match(/^\S+(?= [A-Z0-9`a-z])/gm)?.slice(0, codes.length)).toEqual(codes);
    expect(stdout.trimEnd()).toMatch(/\nexplain one with skillflow validate --explain CODE$/);
    const document = JSON.parse((await explain(["--json"])).stdout);
    expect(document.schema).toBe("skillflow.explanations/1");
    expect(document.codes.map((found: { code: string }) => found.code)).toEqual(codes);
  });
});

describe("validate of a workflow", () => {
  const ending = "explain one with skillflow validate --explain CODE\n";
  const WRONG = FLOW.replace("entry: look", "entry: lok");

  it("mentions --explain once, after its findings", async () => {
    const cwd = makeProject({ "flow.yml": WRONG, "sound.yml": SMALL });
    const { stderr } = await runHere(["validate", "flow.yml"], { cwd });
    expect(stderr).toContain("MISSING_ENTRY");
    expect(stderr.endsWith(ending)).toBe(true);
    expect(stderr.split("--explain")).toHaveLength(2);
    expect((await runHere(["validate", "flow.yml", "--quiet"], { cwd })).stderr).not.toContain("--explain");
    const document = await runHere(["validate", "flow.yml", "--json"], { cwd });
    expect(document.stdout + document.stderr).not.toContain("--explain");
    const sound = await runHere(["validate", "sound.yml"], { cwd });
    expect(sound.stderr).toBe("✔ sound.yml: 0 errors, 0 warnings\n");
  });
});

describe("the example of a code", () => {
  const BASE = {
    id: "example",
    name: "Example",
    entry: "look",
    nodes: {
      look: { name: "Look", instruction: "Find out what broke." },
      file: { name: "File", instruction: "File an issue." },
    },
    edges: [{ from: "look", to: "file" }],
  };

  /** Inserts a part of a workflow into a complete one. Returns other text unchanged. */
  function workflowOf(part: string): string {
    try {
      const said = parse(part);
      return stringify({ ...BASE, ...said, nodes: { ...BASE.nodes, ...said.nodes } });
    } catch {
      return part;
    }
  }

  /** Returns the findings of a document, by code. */
  async function findingsIn(written: string): Promise<{ code: string; severity: string }[]> {
    const isDocument = written.startsWith("---");
    const isSkill = isDocument || written.startsWith("[");
    const document = "---\nname: word-count\ndescription: Counts the words of a text.\n---";
    const files = isSkill
      ? {
          "skills/word-count/SKILL.md": `${isDocument ? written : document}\nCount the words.\n`,
          ...(isDocument ? {} : { "skills/word-count/tools.json": written }),
        }
      : { "flow.yml": workflowOf(written), "runbook.md": "Look at the logs." };
    const cwd = makeProject(files);
    const args = isSkill ? ["skills", "lint", "skills/word-count"] : ["validate", "flow.yml"];
    const { stdout } = await runHere([...args, "--json"], { cwd });
    const found = JSON.parse(stdout);
    return found.problems ?? found.findings;
  }

  const examples = explainedCodes().flatMap(({ code, example }) => (example ? [[code, example] as const] : []));

  it.each(examples)(
    "%s is reported for the wrong form, and nothing for the right one",
    async (code, { wrong, right }) => {
      expect((await findingsIn(wrong)).map((found) => found.code)).toContain(code);
      const left = await findingsIn(right);
      expect(left.filter((found) => found.severity === "error" || found.code === code)).toEqual([]);
    },
  );
});
