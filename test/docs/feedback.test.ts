import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SMALL } from "../cli/flows.ts";
import { runHere } from "../cli/in-process.ts";
import { makeProject, removeProjects } from "../cli/program.ts";

const PAGE = readFileSync(join(import.meta.dirname, "..", "../docs/feedback.md"), "utf8");
const [, block = ""] = /^```sh\n([\s\S]*?)^```/m.exec(PAGE) ?? [];
const COMMANDS = [...block.matchAll(/^skillflow (.+)$/gm)].map(([, command = ""]) => command);

let cwd = "";
const env = { SKILLFLOW_MODEL: "script:script.json" };
beforeAll(async () => {
  const script = { replies: [{ node: "only", text: "it is broken" }] };
  cwd = makeProject({ "workflows/incident-triage.yml": SMALL, "script.json": script });
  await runHere(["run", "workflows/incident-triage.yml"], { cwd, env });
});
afterAll(removeProjects);

it.each(COMMANDS)("the page about feedback shows a command that works: %s", async (command) => {
  expect(COMMANDS).toHaveLength(4);
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = ""]) => quoted ?? word);
  const { code, stderr } = await runHere(words, { cwd, env });
  expect([code, stderr]).toEqual([0, expect.not.stringContaining("error")]);
});
