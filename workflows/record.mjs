import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/**
 * Records incident-triage.run.jsonl with the answers of a live run, and stores the results of its tools in
 * incident-triage.test.yml. Then records incident-fix.run.jsonl, which fixes what was found. The tools run for real, and no key is needed. The tests of workflows/ update the recordings in tests/ whose
 * prompts have changed. docs/scoreboard.md grades the kept answers of live runs by a backtest.
 */

const workflow = "workflows/incident-triage.yml";
const scratch = mkdtempSync(join(tmpdir(), "skillflow-record-"));
const env = { PATH: process.env.PATH, HOME: scratch };
const args = [
  "--input",
  "@workflows/incidents/checkout-5xx/alert.json",
  "--model",
  `script:${answersOf("checkout-5xx")}`,
];
const place = ["--run-id", "incident-triage", "--store", scratch, "--no-discover"];
execFileSync(process.execPath, ["dist/bin.js", "run", workflow, ...args, ...place], { stdio: "inherit", env });
copyFileSync(join(scratch, "incident-triage.jsonl"), "workflows/incident-triage.run.jsonl");
execFileSync(process.execPath, ["dist/bin.js", "test", "--from", "incident-triage", "--store", scratch], { env });
takeResults("workflows/incident-triage.incident-triage.test.yml", "workflows/incident-triage.test.yml");
rmSync("workflows/incident-triage.incident-triage.jsonl");
recordFix(join(scratch, "checkout"));
writeFileSync("docs/scoreboard.md", scoreboard());
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

/** Runs incident-fix.yml in a clone of the incident's repository, on the finding of the recorded triage. */
function recordFix(clone) {
  execFileSync("git", ["clone", "-q", "workflows/incidents/checkout-5xx/checkout.bundle", clone]);
  for (const name of ["incident-fix.yml", "incident-fix.script.yml"]) {
    cpSync(join("workflows", name), join(clone, "workflows", name));
  }
  const fix = [
    ["run", "workflows/incident-fix.yml", "--from-run", "incident-triage", "-i", "test_command=node --test"],
    ["--model", "script:workflows/incident-fix.script.yml"],
    ["--run-id", "incident-fix", "--store", scratch, "--no-discover"],
  ].flat();
  const commands = { ...env, WORKSPACE_COMMANDS: "node --test **" };
  execFileSync(process.execPath, [resolve("dist/bin.js"), ...fix], { cwd: clone, stdio: "inherit", env: commands });
  copyFileSync(join(scratch, "incident-fix.jsonl"), "workflows/incident-fix.run.jsonl");
}

/** Returns the page with the grade of each incident's answers. */
function scoreboard() {
  const head = readFileSync("docs/scoreboard.md", "utf8").split("\n| ")[0].trimEnd();
  const names = readdirSync("workflows/incidents").filter((name) => existsSync(answersOf(name)));
  const tables = names.map((name) => {
    const given = [`workflows/incidents/${name}/case.yml`, "--model", `script:${answersOf(name)}`, "--runs", "1"];
    const out = join(scratch, name);
    execFileSync(
      process.execPath,
      ["dist/bin.js", "backtest", ...given, "--store", join(scratch, "backtests"), "--out", out],
      { env },
    );
    // Costs and times of a script mean nothing.
    const lines = readFileSync(join(out, "backtest.md"), "utf8").split("\n");
    return lines.filter((line) => line.startsWith("| ")).map((line) => line.split(" | ").slice(0, 7).join(" | "));
  });
  const rows = tables.map(([, , row]) => row);
  return [head, "", ...(tables[0] ?? []).slice(0, 2), ...rows, ""]
    .map((line) => (line.startsWith("| ") ? `${line} |` : line))
    .join("\n");
}

function answersOf(name) {
  return join("workflows/incidents", name, "live.script.yml");
}
