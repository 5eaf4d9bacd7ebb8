import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { runHere } from "../cli/in-process.ts";
import { makeProject, removeProjects } from "../cli/program.ts";

/** The examples of docs/maps.md and docs/approvals.md work, combined into one workflow. */

const blocksOf = (page: string, language: string) => {
  const text = readFileSync(join(import.meta.dirname, "..", "..", "docs", page), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, block = ""]) => block,
  );
};
const [map, looking, ...moreOfMaps] = blocksOf("maps.md", "yaml").map((block) => parse(block));
const [asking, testing, ...moreOfApprovals] = blocksOf("approvals.md", "yaml").map((block) => parse(block));
const [typed = "", ...moreTyped] = blocksOf("maps.md", "sh");
const [asked = "", ...moreAsked] = blocksOf("approvals.md", "text");
const answers = asked.split("\n").flatMap((line) => /skillflow (.*)$/.exec(line)?.[1] ?? []);
const commands = typed.split("\n").flatMap((line) => /^skillflow (.*?) *#/.exec(line)?.[1] ?? []);

const board = {
  id: "board",
  name: "Board",
  entry: "each",
  nodes: { ...map.nodes, expert: { name: "Ask", call: "./expert.yml" }, ...asking.nodes },
  edges: [{ from: "each", to: "expert" }, { from: "expert", to: "sure" }, ...asking.edges],
};
const expert = {
  id: "expert",
  name: "Expert",
  entry: "think",
  nodes: { think: { name: "Think", instruction: "Think." } },
};
const replies = [
  { node: "look", data: { kind: "bug" } },
  { node: "decide", text: "a bug" },
  { node: "think", text: "I think so." },
  { node: "done", text: "filed" },
];
const input = (id: string) => ({ issues: [{ id }] });

/** Any time, and any duration. */
const sameMoments = (text: string) =>
  text
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "MOMENT")
    .replace(/(◆ waiting).*/, "$1")
    .replaceAll(/\bRUN\b/g, "r");
const wordsOf = (command: string) => command.replaceAll("RUN", "r").replaceAll("'", "").split(" ");

let cwd = "";
beforeAll(() => {
  const cases = [{ name: "looks inside", expect: looking.expect }, ...testing.cases].map((one) => ({
    ...one,
    input: input("fp-1"),
  }));
  cwd = makeProject({
    "board.yml": board,
    "expert.yml": { ...expert, edges: [] },
    "script.json": { replies },
    "in.json": input("fp-81"),
    "board.test.yml": { workflow: "./board.yml", model: "script:./script.json", cases },
  });
});
afterAll(removeProjects);

describe("the pages about maps and approvals", () => {
  it("have only the known examples", () => {
    expect([...moreOfMaps, ...moreOfApprovals, ...moreTyped, ...moreAsked]).toEqual([]);
    expect([commands.length, answers.length]).toEqual([3, 2]);
  });

  it("have tests that pass", async () => {
    const { code, stdout, stderr } = await runHere(["test", "board.test.yml"], { cwd });
    expect(code, stdout + stderr).toBe(0);
  });

  it("show the questions as they are printed, and commands that work", async () => {
    const run = ["run", "board.yml", "--input", "@in.json", "--model", "script:script.json", "--run-id", "r"];
    const { code, stderr } = await runHere(run, { cwd, columns: 120 });
    expect(code).toBe(7);
    expect(sameMoments(stderr)).toContain(sameMoments(asked));
    for (const command of commands)
      expect(await runHere(wordsOf(command), { cwd }), command).toMatchObject({ code: 0 });
    const [yes = ""] = answers;
    expect(await runHere(wordsOf(yes), { cwd }), yes).toMatchObject({ code: 0 });
  });
});
