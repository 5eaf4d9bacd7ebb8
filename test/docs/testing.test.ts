import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { runHere } from "../cli/in-process.ts";
import { makeProject, removeProjects } from "../cli/program.ts";

afterAll(removeProjects);

const page = readFileSync(join(import.meta.dirname, "..", "../docs/testing.md"), "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, text = ""]) => text);

it("the page about tests has files and commands that do what it describes", async () => {
  const [workflow, script, test, ...more] = blocks("yaml");
  expect(more).toEqual([]);
  const cwd = makeProject({ "triage.yml": workflow, "triage.script.yml": script, "triage.test.yml": test });
  const commands = blocks("console").flatMap((block) => {
    return block.split("\n$ ").map((text) => text.replace(/^\$ /, "").trimEnd().split("\n"));
  });
  expect(commands.length).toBeGreaterThan(4);
  for (const [command = "", ...printed] of commands) {
    const [, ...args] = command.split(" ");
    const ended = await runHere(args, { cwd });
    expect([command, ended.code]).toEqual([command, 0]);
    if (printed.length > 0) expect(ended.stdout.trimEnd().split("\n")).toEqual(printed);
  }
});
