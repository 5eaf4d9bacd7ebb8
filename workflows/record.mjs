import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Records incident-triage.run.jsonl. The model's turns come from the script, the tools run for real, and no key is needed. The
 * tests of workflows/ update the recordings in tests/ whose prompts have changed.
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
rmSync(scratch, { recursive: true });
execFileSync(process.execPath, ["dist/bin.js", "test", "workflows", "-u"], {
  stdio: "inherit",
  env: { PATH: process.env.PATH },
});
