import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/**
 * Regenerates the transcript of docs/scale.md with three workers, one of which is killed: `npm run transcript`. Starts its own
 * database and a model that answers after half a second.
 */

const root = join(import.meta.dirname, "..", "..");
const program = join(root, "dist", "bin.js");
const page = join(root, "docs", "scale.md");
const RUNS = ["run-1", "run-2", "run-3"];
const NODES = ["look", "judge", "tell"];

const folder = mkdtempSync(join(tmpdir(), "skillflow-transcript-"));
const model = createServer(async (request, response) => {
  request.resume();
  await pause(500);
  const message = { role: "assistant", content: "Done." };
  const usage = { prompt_tokens: 40, completion_tokens: 2 };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
});
model.listen(0, "127.0.0.1");
await once(model, "listening");

const env = {
  PATH: process.env.PATH,
  HOME: folder,
  OPENAI_BASE_URL: `http://127.0.0.1:${model.address().port}`,
  OPENAI_API_KEY: "not-a-key-of-anybody",
  SKILLFLOW_DATABASE_URL: "embedded",
};
const nodes = NODES.map((id) => `  ${id}: { name: ${id}, instruction: Go on. }\n`).join("");
const edges = NODES.slice(1).map((to, index) => `  - { from: ${NODES[index]}, to: ${to} }\n`);
writeFileSync(join(folder, "flow.yml"), `id: flow\nname: Flow\nentry: look\nnodes:\n${nodes}edges:\n${edges.join("")}`);

const lines = [];
const say = (line) => lines.push(line);

/** Prints a command as a user would type it, and keeps its output. */
function type(...args) {
  say(`$ skillflow ${args.join(" ")}`);
  const { stdout, stderr, status } = run(args);
  if (status !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
  for (const line of stdout.trimEnd().split("\n")) say(line);
}

function run(args) {
  return spawnSync(process.execPath, [program, ...args], { cwd: folder, env, encoding: "utf8" });
}

/** Returns its lines, except those that every run prints at its start. */
function startWorker(name) {
  say(`${name}$ skillflow worker --concurrency 1`);
  const child = spawn(process.execPath, [program, "worker", "--concurrency", "1"], { cwd: folder, env });
  const worker = { name, child, ready: undefined, entered: undefined };
  const heard = (wanted) =>
    new Promise((resolve) => {
      child.stderr.on("data", (text) => wanted.test(text) && resolve());
    });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    for (const line of text.trimEnd().split("\n"))
      if (!/sources:resolved|model:reply/.test(line)) say(`${name}| ${line}`);
  });
  worker.ready = heard(/^ready/m);
  worker.entered = heard(/node:enter judge/);
  worker.closed = once(child, "close");
  return worker;
}

const workers = [];
try {
  run(["doctor", "--engine", "dbos"]); // the database is set up before anything is shown
  workers.push(...["a", "b", "c"].map(startWorker));
  await Promise.all(workers.map(({ ready }) => ready));
  for (const id of RUNS)
    type("run", "flow.yml", "--engine", "dbos", "--model", "openai-compatible:m", "--run-id", id, "--detach");
  const [, second] = workers;
  await second.entered;
  say("$ kill -9 the process of b");
  second.child.kill("SIGKILL");
  const isOver = () => lines.filter((line) => line.includes("✔ succeeded")).length === RUNS.length;
  while (!isOver()) await pause(50);
  type("runs", "list", "--engine", "dbos");
  for (const { child } of workers) child.kill("SIGTERM");
  await Promise.all(workers.map(({ closed }) => closed));
} finally {
  for (const { child } of workers) child.kill("SIGKILL");
  model.close();
  rmSync(folder, { recursive: true, force: true });
}

const BEGIN = "<!-- made by npm run transcript -->\n";
const END = "<!-- end -->";
const text = readFileSync(page, "utf8");
const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
if (from === -1 || to < from) throw new Error("docs/scale.md has no place for the transcript");
writeFileSync(page, `${text.slice(0, from)}${BEGIN}\n\`\`\`\n${lines.join("\n")}\n\`\`\`\n\n${text.slice(to)}`);
