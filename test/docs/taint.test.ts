import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runHere } from "../cli/in-process.ts";
import { makeProject } from "../cli/program.ts";

const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "taint.md"), "utf8");
const examples = [...page.matchAll(/```yaml\n(.*?)```\n.*?```text\n(.*?)```/gs)];

it("the page on taint has its examples", () => {
  expect(examples).toHaveLength(3);
});

it.each(examples.map(([, workflow = "", told = ""]) => [workflow, told] as const))(
  "for the page's workflow reports the output below it: %s",
  async (workflow, told) => {
    const cwd = makeProject({ "w.yml": workflow });
    const { stdout } = await runHere(["validate", "w.yml", "--json"], { cwd });
    const { findings } = JSON.parse(stdout) as { findings: { severity: string; code: string; node: string }[] };
    expect(findings.map(({ severity, code, node }) => `${severity} ${code} ${node}\n`).join("")).toBe(told);
  },
);
