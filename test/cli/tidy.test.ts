import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runProgram } from "./program.ts";

let cwd = "";
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "tidy-"));
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", cwd, "-c", "user.name=a", "-c", "user.email=a@b", ...args]);
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "first");
  git("bundle", "create", "-q", "all.bundle", "--all");
  mkdirSync(join(cwd, "temporary"));
});
afterAll(() => rmSync(cwd, { recursive: true }));

it("a run leaves no unpacked bundle in the temporary folder", async () => {
  const steps = [{ id: "log", tool: "git_log", with: { repository: "all.bundle" } }];
  const look = { name: "Look", skills: ["git"], steps };
  writeFileSync(
    join(cwd, "look.json"),
    JSON.stringify({ id: "look", name: "Look", entry: "look", nodes: { look }, edges: [] }),
  );
  const temporary = join(cwd, "temporary");
  const { code, stderr } = await runProgram(["run", "look.json"], { cwd, env: { TMPDIR: temporary } });
  expect([code, stderr]).toEqual([0, expect.stringContaining("git_log")]);
  expect(readdirSync(temporary)).toEqual([]);
});
