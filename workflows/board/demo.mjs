import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { stateLines } from "./data.mjs";
import { scriptFor } from "./model.mjs";
import { startServices } from "./services.mjs";

/**
 * Runs the board triage three times, without keys: `npm run demo:board`. The program, its skills and its state are real. Local
 * servers simulate Sentry and GitHub, and the model's turns are written by hand.
 */

const place = process.argv[2] ?? join(".skillflow", "demo-board");
const LOOKS = [
  "First run: 60 issues, 53 of them judged two days ago.",
  "Second run: nothing happened since.",
  "Third run: an old issue became worse.",
];

rmSync(place, { recursive: true, force: true });
mkdirSync(join(place, "state"), { recursive: true });
writeFileSync(join(place, "state", "board.jsonl"), stateLines(Date.now()));
const services = await startServices();
try {
  for (const [index, title] of LOOKS.entries()) {
    services.look = index + 1;
    process.stdout.write(`\n${title}\n`);
    await look(services.look);
  }
} finally {
  await services.close();
}
process.stdout.write(`\nThe digests: ${relative(".", place)}/look-*.md, .html, .json and .slack.json\n`);

async function look(number) {
  const script = join(place, `look-${number}.script.yml`);
  const result = join(place, `look-${number}.result.json`);
  writeFileSync(script, JSON.stringify(scriptFor(number)));
  const args = [
    ["run", "workflows/board-triage.yml", "--model", `script:${script}`, "--run-id", `look-${number}`],
    ["--state", join(place, "state"), "--store", join(place, "runs"), "--no-discover", "--quiet"],
    ["--report", `json=${result}`, ...digests(number)],
  ].flat();
  const { status, ms, error } = await skillflow(args);
  if (status !== 0) throw new Error(`skillflow exited with code ${status}: ${error}`);
  const { verdict, usage, results, plan } = JSON.parse(readFileSync(result, "utf8"));
  const { items } = results.each.data;
  const judged = items.filter(({ status }) => status === "success").length;
  const tokens = usage.inputTokens + usage.outputTokens;
  process.stdout.write(
    `  ${verdict}: ${judged} judged, ${items.length - judged} unchanged; ${usage.modelCalls} model calls, ${tokens} tokens, ${usage.costUsd === null ? "price unknown" : `$${usage.costUsd}`}; ${plan.length} writes planned, ${ms} ms\n`,
  );
}

function digests(number) {
  return [".md", ".html", ".json", ".slack.json"].flatMap((end) => [
    "--report",
    `digest=${join(place, `look-${number}${end}`)}`,
  ]);
}

/** Runs skillflow without this shell's configuration, so that only the simulated services are configured. */
function skillflow(args) {
  const env = { PATH: process.env.PATH, HOME: place, ...services.environment };
  const began = performance.now();
  const child = spawn(process.execPath, ["dist/bin.js", ...args], { env, stdio: ["ignore", "ignore", "pipe"] });
  let error = "";
  child.stderr.on("data", (text) => {
    error += text;
  });
  return new Promise((done) => {
    child.on("close", (status) => done({ status, error, ms: Math.round(performance.now() - began) }));
  });
}
