import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runHere } from "../in-process.ts";
import { makeProject } from "../program.ts";

const workflow = (edges: string, more = "") => `id: w
name: W
entry: look
nodes:
  look: { name: Look, instruction: Look. }
  post: { name: Post, instruction: Post. }
${more}edges:
${edges}`;

const told = async (files: Readonly<Record<string, string>>, env = {}) => {
  const cwd = makeProject(files);
  return (await runHere(["validate", "w.yml"], { cwd, env })).stderr;
};

describe("a finding", () => {
  test("shows its line, with a caret below its place", async () => {
    const stderr = await told({ "w.yml": workflow("  - { from: look, to: pots }\n") });
    expect(stderr).toContain(
      ['    did you mean "post"?', "    8 │   - { from: look, to: pots }", `      │ ${" ".repeat(18)}^`].join("\n"),
    );
  });

  test("of a line that is too long shows the text around its place", async () => {
    const edge = `  - { when: "${"so ".repeat(200)}", from: look, to: pots, when2: "${"so ".repeat(200)}" }\n`;
    const stderr = await told({ "w.yml": workflow(edge) });
    const [line = "", caret = ""] = stderr
      .split("\n")
      .slice(stderr.split("\n").findIndex((each) => each.includes("│")));
    expect(line.length).toBeLessThan(120);
    expect(line.slice(caret.indexOf("^"))).toMatch(/^(pots|when2)/);
  });

  test("shows no line with misleading characters", async () => {
    const stderr = await told({ "w.yml": workflow("  - { from: look, \u001b[2Jto: pots }\n") });
    expect(stderr).not.toContain("\u001b");
  });

  test("shows no login of a URL", async () => {
    const stderr = await told({ "w.yml": workflow('  - { from: look, to: "https://me:hunt@er2@example.com/x" }\n') });
    expect(stderr).toContain('to: "https://***********@example.com/x" }');
  });

  test("shows no known secret", async () => {
    const secret = "s3cr3t-token-of-the-team";
    const edge = `  - { from: look, to: "${secret}" }\n`;
    const stderr = await told({ "w.yml": workflow(edge) }, { PAGER_TOKEN: secret });
    expect(stderr).toContain("UNKNOWN_EDGE_TARGET");
    expect(stderr).not.toContain(secret);
  });

  test("of a file that is reached through a link shows no line of the link's target", async () => {
    const elsewhere = makeProject({ "notes.txt": "first: private words\n: : :\n" });
    const cwd = makeProject({});
    symlinkSync(join(elsewhere, "notes.txt"), join(cwd, "w.yml"));
    const { stderr } = await runHere(["validate", "w.yml"], { cwd });
    expect(stderr).toContain("w.yml:");
    expect(stderr).not.toContain("│");
  });

  test("of a document with errors is printed before those that need a valid document", async () => {
    const source = "rules: [{ file: ./nowhere.md }]\n";
    const stderr = await told({ "w.yml": workflow("  - { from: look, to: pots }\n", source) });
    expect(stderr).toContain("SOURCE_FILE_NOT_FOUND");
    expect(stderr.indexOf("SOURCE_FILE_NOT_FOUND")).toBeLessThan(stderr.indexOf("UNKNOWN_EDGE_TARGET"));
  });

  test("reports a tool that no skill of the node has", async () => {
    const stderr = await told({
      "w.yml": workflow("  - { from: look, to: post }\n").replace(
        "instruction: Look.",
        "instruction: Look., skills: [logs], tools: { allow: [logs_serch] }",
      ),
    });
    expect(stderr).toMatch(/w\.yml:5:\d+ warning UNKNOWN_TOOL no tool of node "look" is named "logs_serch"/);
    expect(stderr).toContain('did you mean "logs_search"?');
  });
});
