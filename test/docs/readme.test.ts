import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { rowsOf } from "../../src/cli/terminal/wrap.ts";
import { parseWorkflow } from "../../src/loaders/documents/workflow-file.ts";
import { runHere } from "../cli/in-process.ts";
import { installation } from "../cli/program.ts";
import { LONG } from "../harness/long.ts";

/** The README's commands and examples work. */

const root = join(import.meta.dirname, "..", "..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const home = mkdtempSync(join(tmpdir(), "skillflow-readme-"));
afterAll(() => rmSync(home, { recursive: true }));

function blocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    (match) => match[1] ?? "",
  );
}

function run(args: readonly string[], cwd = root): Promise<{ code: number; output: string }> {
  const env = { PATH: process.env.PATH, HOME: home };
  return new Promise((resolve) => {
    execFile(process.execPath, [installation().bin, ...args], { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr });
    });
  });
}

const commands = blocks("sh")
  .flatMap((block) => block.split("\n"))
  .filter((line) => line.startsWith("npx --no-install skillflow "))
  .map((line) => line.replace("npx --no-install skillflow ", "").replace(/ +#.*/, ""))
  .map((line) => [...line.matchAll(/(?:[^\s"]|"[^"]*")+/g)].map(([word]) => word.replaceAll('"', "")));

/** Without line breaks and the duration of the run. */
const plain = (output: string): string =>
  output
    .replace(/succeeded .*? s, /, "succeeded ")
    .replace(/\s+/g, " ")
    .trim();

/** Exit codes without a model's key, and without a terminal to approve. */
const ENDS_WITH: Readonly<Record<string, number>> = { run: 3, apply: 2 };

describe("the README", () => {
  it("shows command lines", () => {
    expect(commands.length).toBeGreaterThan(8);
  });

  it("shows command lines that work, or report what is missing", async () => {
    const store = ["--store", join(home, "runs")];
    const alert = ["--input", "@workflows/incidents/checkout-5xx/alert.json"];
    const model = ["--model", "replay:workflows/incident-triage.run.jsonl"];
    const place = { cwd: root, env: { HOME: home } };
    const { stderr: start } = await runHere(
      ["run", "workflows/incident-triage.yml", ...alert, ...model, ...store],
      place,
    );
    // The end of `npm start` fits a screen of 80 columns and 40 rows.
    expect(rowsOf(start.slice(start.indexOf("\n✔ First look")), 80)).toBeLessThan(40);
    const [shownEnd = ""] = blocks("text");
    for (const line of shownEnd.split("\n").filter(Boolean)) {
      expect(plain(start)).toContain(plain(line).replace(/ ?…$/, ""));
    }
    for (const shown of commands) {
      // All tests of the shipped workflows run in a separate test.
      const command = LONG || shown.join(" ") !== "test workflows" ? shown : ["test", "workflows/fix"];
      const keeps = ["run", "apply", "replay", "runs", "graph"].includes(command[0] ?? "");
      const { code, stdout, stderr } = await runHere([...command, ...(keeps ? store : [])], place);
      expect(code, `${command.join(" ")}\n${stdout}${stderr}`).toBe(ENDS_WITH[command[0] ?? ""] ?? 0);
    }
  });

  it("shows a first workflow without any finding", async () => {
    const [first = ""] = blocks("yaml");
    expect(parseWorkflow(first, new Set(["logs", "slack"])).diagnostics).toEqual([]);
    writeFileSync(join(home, "hello.yml"), first);
    expect(await run(["validate", "hello.yml", "--strict"], home)).toMatchObject({
      code: 0,
      output: expect.stringContaining("0 errors, 0 warnings"),
    });
  });

  it("shows a skill that loads as written, in under 30 lines", async () => {
    const [code = ""] = blocks("ts");
    expect(code.split("\n").length).toBeLessThan(30);
    const folder = mkdtempSync(join(root, "test", "readme-skill-"));
    try {
      writeFileSync(join(folder, "skill.ts"), code);
      const { loadSkillModule } = await import("../../src/loaders/formats/module/skill-module.ts");
      const skill = await loadSkillModule(join(folder, "skill.ts"));
      expect(skill.tools.map((tool) => [tool.name, tool.effect, tool.input_schema.type])).toEqual([
        ["components", "read", "object"],
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("names every exit code", () => {
    for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 130]) expect(readme).toContain(`| ${code} |`);
  });
});
