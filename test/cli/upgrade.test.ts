import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "./in-process.ts";
import { makeProject, readEvents } from "./program.ts";

/** A project as skillflow 0.1.0 left it: config, workflow, lock, a run that waits and a run that a limit stopped. */

const FROM = join(import.meta.dirname, "upgrade");
const TRUST = ["--trust-skill", "counter", "--frozen"];

function openProject(): { readonly cwd: string; run(...argv: string[]): ReturnType<typeof runHere> } {
  const cwd = makeProject();
  cpSync(FROM, cwd, { recursive: true });
  cpSync(join(FROM, "runs"), join(cwd, ".skillflow", "runs"), { recursive: true });
  return { cwd, run: (...argv) => runHere(argv, { cwd, env: { NOTIFICATION_FILE: "sent.jsonl" } }) };
}

describe("a project of 0.1.0", () => {
  it("has a config, a workflow and a lock that work", async () => {
    const { cwd, run } = openProject();
    const validated = await run("validate", "triage.yml");
    expect(validated.code, validated.stderr).toBe(0);
    const ended = await run("run", "triage.yml", "--input", '{"files":"*.log"}', "--run-id", "new", ...TRUST);
    expect(ended.code, ended.stderr).toBe(7);
    expect(readEvents(cwd, "new").at(-1)).toMatchObject({ status: "waiting" });
  });

  it("has a lock whose digests are still valid", async () => {
    const { cwd, run } = openProject();
    const changed = readFileSync(join(FROM, "server.mjs"), "utf8").replace("Counts the words", "Counts all words");
    cpSync(join(makeProject({ "server.mjs": changed }), "server.mjs"), join(cwd, "server.mjs"));
    const refused = await run("run", "triage.yml", "--input", '{"files":"*.log"}', ...TRUST);
    expect(refused.code, refused.stderr).toBe(3);
    expect(refused.stderr).toContain("count_words");
  });

  it("has records that can be read, reported and verified", async () => {
    const { run } = openProject();
    const listed = await run("runs", "list");
    expect(listed.stdout).toMatch(/waiting old · triage/);
    expect(listed.stdout).toMatch(/stopped stopped · triage/);
    const calls = [
      ["runs", "show", "old"],
      ["runs", "verify", "old"],
      ["report", "old", "--report", "md=old.md"],
      ["report", "stopped", "--out", "out"],
      ["stats"],
    ];
    for (const argv of calls) {
      const ended = await run(...argv);
      expect(ended.code, `${argv.join(" ")}: ${ended.stderr}`).toBe(0);
    }
  });

  it("has a run that continues after an answer, and plans its write", async () => {
    const { cwd, run } = openProject();
    const resumed = await run("signal", "old", "wait", "--approve", ...TRUST);
    expect(resumed.code, resumed.stderr).toBe(0);
    const end = readEvents(cwd, "old").at(-1);
    expect(end).toMatchObject({ status: "succeeded" });
    const applied = await run("apply", "old", "--yes");
    expect(applied.code, applied.stderr).toBe(0);
    expect(readFileSync(join(cwd, "sent.jsonl"), "utf8")).toContain("2 errors.");
  });

  it("has a run that resumes after its limit", async () => {
    const { cwd, run } = openProject();
    const resumed = await run("resume", "stopped", "--max-steps", "5", ...TRUST);
    expect(resumed.code, resumed.stderr).toBe(7);
    expect(readEvents(cwd, "stopped").at(-1)).toMatchObject({ status: "waiting" });
  });
});
