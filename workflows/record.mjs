import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Records incident-triage.run.jsonl, and stores the results of its tools in incident-triage.test.yml. The model's turns come
 * from the script, the tools run for real, and no key is needed. The tests of workflows/ update the recordings in tests/ whose
 * prompts have changed.
 */

const workflow = "workflows/incident-triage.yml";
const scratch = mkdtempSync(join(tmpdir(), "skillflow-record-"));
const args = [
  ["run", workflow],
  ["--input", "@workflows/incidents/checkout-5xx/alert.json"],
  ["--model", "script:workflows/incident-triage.script.yml"],
  ["--run-id", "incident-triage", "--store", scratch, "--no-discover"],
].flat();
const env = { PATH: process.env.PATH, HOME: scratch };
execFileSync(process.execPath, ["dist/bin.js", ...args], { stdio: "inherit", env });
copyFileSync(join(scratch, "incident-triage.jsonl"), "workflows/incident-triage.run.jsonl");
execFileSync(process.execPath, ["dist/bin.js", "test", "--from", "incident-triage", "--store", scratch], { env });
takeResults("workflows/incident-triage.incident-triage.test.yml", "workflows/incident-triage.test.yml");
rmSync("workflows/incident-triage.incident-triage.jsonl");
rmSync(scratch, { recursive: true });
execFileSync(process.execPath, ["dist/bin.js", "test", "workflows", "-u"], {
  stdio: "inherit",
  env: { PATH: process.env.PATH },
});

/** Moves the results of tools from the made test into the kept one. */
function takeResults(made, kept) {
  const results = /^tools:\n.*?(?=^cases:)/ms;
  const [found] = results.exec(readFileSync(made, "utf8")) ?? [];
  writeFileSync(
    kept,
    readFileSync(kept, "utf8").replace(results, () => found),
  );
  rmSync(made);
}
