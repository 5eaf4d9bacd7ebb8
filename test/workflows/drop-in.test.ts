import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runHere } from "../cli/in-process.ts";
import { makeProject } from "../cli/program.ts";

/** A file for an agent with tools for files and a shell, unchanged: with `--add-skill`, it ends in a planned patch. */

const FILE = join(import.meta.dirname, "drop-in/implement.yml");
const call = (tool: string, input: object) => ({ tool: `workspace_${tool}`, input });
const REPLIES = [
  { node: "analyze", data: { issue_summary: "1 + 2 is -1", fix_plan: "add in add.js", risk_level: "low" } },
  { node: "analyze", choice: "implement" },
  { node: "implement", calls: [call("edit_file", { path: "add.js", old: "a - b", new: "a + b" })] },
  { node: "implement", text: "changed" },
  { node: "create_pr", calls: [call("propose_change", { title: "Add", body: "It adds." })] },
  { node: "create_pr", text: "planned" },
  { node: "notify", text: "nothing to send" },
];

it("plans the change that the model makes", async () => {
  const cwd = makeProject({ "add.js": "exports.add = (a, b) => a - b;\n", "s.json": { replies: REPLIES } });
  for (const args of [
    ["init", "-q"],
    ["add", "add.js"],
    ["commit", "-qm", "base"],
  ]) {
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@localhost", ...args], { cwd });
  }
  const added = ["--add-skill", "implement=workspace", "--add-skill", "create_pr=workspace"];
  const warned = async (...more: string[]) => {
    const { diagnostics } = JSON.parse((await runHere(["validate", FILE, "--json", ...more], { cwd })).stdout);
    return diagnostics.flatMap(({ code, path }: { code: string; path: string[] }) =>
      code === "FILE_TOOLS_MISSING" ? path[1] : [],
    );
  };
  expect(await warned()).toEqual(["implement", "create_pr"]);
  expect(await warned(...added)).toEqual([]);
  const run = ["run", FILE, "--model", "script:s.json", "--writes", "plan", "--json", ...added];
  const { code, stdout } = await runHere(run, { cwd });
  const { plan, trace } = JSON.parse(stdout);
  const path = trace.steps.map(({ node }: { node: string }) => node);
  expect([code, path]).toEqual([0, ["analyze", "implement", "create_pr", "notify"]]);
  expect(plan).toMatchObject([
    {
      kind: "patch",
      node: "create_pr",
      title: "Add",
      files: [{ path: "add.js" }],
      diff: expect.stringContaining("a + b"),
    },
  ]);
});
