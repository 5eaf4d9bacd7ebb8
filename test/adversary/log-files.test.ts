import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { toolContext } from "skillflow/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import skill from "../../skills/logs/skill.ts";

const SECRET = "token-5f1e";
let dir = "";

const RECORD = `{"schema":"skillflow.run/1","run":"r1","note":"${SECRET}"}\n`;
const RESULT = `{\n  "schema": "skillflow.result/1",\n  "note": "${SECRET}"\n}\n`;
const HIDDEN = [".git/config", ".env", ".npmrc", "app/.env.local", ".config/app/app.log", "logs/.secret.log"];
const OURS = {
  "runs/r1.jsonl": RECORD,
  "runs/r1.blobs/0a": `${SECRET}\n`,
  "out/result.json": RESULT,
  "out/trace.jsonl": RECORD,
  "out/summary.md": `${SECRET}\n`,
  "out/junit.xml": `${SECRET}\n`,
  "out/report.html": `${SECRET}\n`,
  "out/plan.json": `{"schema": "skillflow.plan/1", "note": "${SECRET}"}`,
  "logs/catalog/trace.jsonl": RECORD,
};

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "log-files-"));
  for (const name of HIDDEN) put(name, `${SECRET}\n`);
  for (const [name, text] of Object.entries(OURS)) put(name, text);
  put("logs/app.log", "all is well\n");
  put("logs/plan.json", '{"steps": []}\n');
  symlinkSync(join(dir, ".env"), join(dir, "logs/linked.log"));
  symlinkSync(join(dir, ".git"), join(dir, "logs/linked"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("credentials and former runs among the files", () => {
  test.each([...HIDDEN, ...Object.keys(OURS), "logs/linked.log", "logs/linked/config", "./.env", "logs/../.env"])(
    "%s is not read by its name",
    async (name) => {
      for (const tool of ["search", "sample", "count_by", "files"]) {
        await expect(call(tool, { files: name })).rejects.toThrow(/dot|skillflow|`\.\.`/);
      }
      await expect(call("around", { file: name, offset: 0 })).rejects.toThrow(/dot|skillflow|`\.\.`/);
      await expect(call("search", { files: join(dir, name) })).rejects.toThrow(/dot|skillflow|`\.\.`/);
    },
  );

  test.each([
    "**",
    "**/*",
    "**/.*",
    ".*",
    ".git/*",
    "{.env,.npmrc,logs/app.log}",
    "**/{config,.env}",
    "**/.env*",
    "out/*",
    "runs/**",
    "**/*.jsonl",
    "logs/**",
    "logs/linked/*",
  ])("the pattern %s does not find them", async (files) => {
    const told = await call("search", { files, contains: "token" }).then(JSON.stringify, String);
    expect(told).not.toContain(SECRET);
  });

  test("the overview without a name leaves them out", async () => {
    const { files } = (await call("files", {})) as { files: readonly { file: string }[] };
    expect(files.map((each) => each.file)).toEqual(["logs/app.log", "logs/plan.json"]);
  });

  test("the list of sources names none of them", async () => {
    const told = await call("search", { files: "nothing.log" }).then(JSON.stringify, String);
    expect(told).not.toMatch(/\.env|npmrc|trace|r1/);
  });

  test("files that the system generates are refused, even if LOGS_ROOT is the root folder", async () => {
    const config = { LOGS_ROOT: "/" };
    await expect(call("search", { files: "proc/self/environ" }, config)).rejects.toThrow("is a system file");
    await expect(call("search", { files: "/proc/self/status" }, config)).rejects.toThrow("is a system file");
    expect(await call("search", { files: "proc/self/*env*" }, config).then(JSON.stringify, String)).toContain(
      "no file matches",
    );
  });
});

describe("the files that the operator names in LOGS_ROOT are read", () => {
  test.each([
    [".config/app", "app.log"],
    ["out", "trace.jsonl"],
    ["runs", "r1.jsonl"],
  ])("%s", async (folder, file) => {
    const found = await call("search", { files: file, contains: SECRET }, { LOGS_ROOT: join(dir, folder) });
    expect(found).toMatchObject({ matched: 1 });
  });

  test("but not hidden files below it", async () => {
    cpSync(join(dir, ".env"), join(dir, "out/.env"));
    await expect(call("search", { files: ".env" }, { LOGS_ROOT: join(dir, "out") })).rejects.toThrow("dot");
  });
});

async function call(tool: string, input: object, config: Record<string, string> = {}): Promise<unknown> {
  const found = skill.tools.find((each) => each.name === tool);
  if (!found) throw new Error(`no tool ${tool}`);
  return found.handler(input as never, toolContext({ workDir: dir, config }));
}

function put(name: string, text: string): void {
  mkdirSync(dirname(join(dir, name)), { recursive: true });
  writeFileSync(join(dir, name), text);
}
