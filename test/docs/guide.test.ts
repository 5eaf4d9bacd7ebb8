import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { COMMANDS } from "../../src/cli/table/commands.ts";
import type { CommandSpec } from "../../src/cli/table/options.ts";
import { runHere } from "../cli/in-process.ts";
import { makeProject } from "../cli/program.ts";

/** The page for coding agents: its workflows are valid as they stand, and its commands exist. */

const text = readFileSync(join(import.meta.dirname, "../../SKILL.md"), "utf8");
const workflows = [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, workflow = ""]) => workflow);

describe("SKILL.md", () => {
  it("has the header of an agent skill", () => {
    const [, header = ""] = /^---\n([\s\S]*?)\n---\n/.exec(text) ?? [];
    const { name, description } = parse(header);
    expect(name).toBe("skillflow");
    expect(description.length).toBeLessThanOrEqual(1024);
    expect(text.split("\n").length).toBeLessThan(300);
  });

  it.each(workflows)("shows a workflow without a finding: %#", async (workflow) => {
    const cwd = makeProject({ "w.yml": workflow });
    const { code, stdout } = await runHere(["validate", "w.yml", "--json"], { cwd });
    expect([code, JSON.parse(stdout).diagnostics]).toEqual([0, []]);
  });

  it("shows a workflow of each kind of node", () => {
    const nodes = workflows.flatMap((workflow) => Object.values<object>(parse(workflow).nodes));
    for (const kind of ["instruction", "steps", "map", "approval"])
      expect(nodes.some((node) => kind in node)).toBe(true);
  });

  it("names commands that the program has", () => {
    const named = [...text.matchAll(/\bskillflow ((?:[a-z]+)(?: [a-z]+)?)/g)].map(([, words = ""]) => words.split(" "));
    const specOf = ([word = "", next]: string[], specs: readonly CommandSpec[]): CommandSpec | undefined => {
      const found = specs.find(({ usage }) => usage.split(" ")[0] === word);
      return found?.commands ? specOf([next ?? ""], found.commands) : found;
    };
    expect(named.length).toBeGreaterThan(10);
    for (const words of named) expect(specOf(words, COMMANDS), words.join(" ")).toBeDefined();
  });
});
