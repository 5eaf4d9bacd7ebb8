// Makes the incident again: runs a small service under load, deploys a faulty release, and keeps what came out.
//
//   node workflows/incidents/checkout-5xx/make/make.mjs [OUTDIR]
//
// OUTDIR is ./checkout-5xx-run unless given. Needs Node 20.11 or later and git; takes about five minutes. Every
// process listens on 127.0.0.1 only and ends with the script. Commit ids come out the same each time, times do not.
import { once } from "node:events";
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, hostname, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { AlertRule, webhookPayload } from "./alert.mjs";
import { buildHistory, bundle, checkOut } from "./history.mjs";
import { Scraper } from "./metrics.mjs";
import { freePort, Processes, waitUntilReady } from "./processes.mjs";

const HERE = import.meta.dirname;
const INSTANCES = ["checkout-1", "checkout-2"];
const SCRAPE_MS = 5000;
const ROLLING_PAUSE_MS = 4000;
const AFTER_ALERT_MS = 60_000;
const LIMIT_MS = 8 * 60_000;
const DEPLOYS = [
  {
    afterMs: 0,
    service: "checkout",
    version: "v1.13.0",
    author: "Dario Feldspar",
    reason: "First start on the new hosts",
  },
  {
    afterMs: 75_000,
    service: "checkout",
    version: "v1.13.1",
    author: "Ines Quarrow",
    reason: "No tax on gift cards",
  },
  {
    afterMs: 150_000,
    service: "checkout",
    version: "v1.14.0",
    author: "Mirela Vantor",
    reason: "Coupon codes",
  },
  {
    afterMs: 176_000,
    service: "gateway",
    version: "config-42",
    author: "Dario Feldspar",
    reason: "Cut off slow answers earlier",
    change: { upstream_timeout_ms: 2500 },
  },
];
const GATEWAY_CONFIG = { version: "config-41", upstream_timeout_ms: 4000 };

try {
  await main(resolve(process.argv[2] ?? "checkout-5xx-run"));
} catch (error) {
  console.error(error);
  process.exit(1);
}

async function main(out) {
  const work = await mkdtemp(join(tmpdir(), "checkout-5xx-"));
  const processes = new Processes();
  try {
    const run = await prepare(out, work, processes);
    await Promise.race([happen(run), processes.failed, interruption()]);
    await processes.stopAll();
    await collect(run);
  } finally {
    await processes.stopAll();
    await rm(work, { recursive: true, force: true });
  }
}

async function interruption() {
  const signal = await Promise.race(["SIGINT", "SIGTERM"].map((name) => once(process, name).then(() => name)));
  throw new Error(`interrupted by ${signal}`);
}

async function prepare(out, work, processes) {
  await mkdir(join(out, "logs"), { recursive: true });
  await mkdir(join(work, "logs"));
  for (const name of ["deploys.jsonl", "metrics.jsonl", "alert.json"]) await rm(join(out, name), { force: true });
  const repository = join(work, "checkout");
  await buildHistory(repository);
  return { out, work, processes, repository, ports: await choosePorts(), deployed: new Map(), starts: 0 };
}

async function choosePorts() {
  const names = [...INSTANCES, "gateway", "payments"];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await freePort()])));
}

async function happen(run) {
  const { processes, ports } = run;
  await startProvider(run);
  const [first, ...later] = DEPLOYS;
  await deploy(run, first);
  await startGateway(run);
  processes.start("load", join(HERE, "load.mjs"), { env: { GATEWAY_URL: urlOf(ports.gateway), SEED: "20" } });
  const started = Date.now();
  say("load starts");
  await Promise.all([deployLater(run, later, started), watch(run, started)]);
  await processes.stop("load");
}

async function deployLater(run, deploys, started) {
  for (const next of deploys) {
    await sleep(Math.max(0, started + next.afterMs - Date.now()));
    await deploy(run, next);
  }
}

async function deploy(run, { afterMs, ...plan }) {
  const time = new Date().toISOString();
  const result = plan.service === "gateway" ? await configureGateway(run, plan) : await release(run, plan);
  const { service, version, ...about } = plan;
  await appendRow(run, "deploys.jsonl", { time, service, version, ...result, ...about });
  say(`${service} ${version}`);
}

async function release(run, { version }) {
  const folder = join(run.work, version);
  const { commit } = await checkOut(run.repository, version, folder);
  const previous = run.deployed.get(INSTANCES[0])?.version ?? null;
  const instances = [];
  for (const name of INSTANCES) {
    if (instances.length > 0) await sleep(ROLLING_PAUSE_MS);
    await run.processes.stop(name);
    await startInstance(run, name, { folder, version, commit });
    instances.push({ instance: name, ready: new Date().toISOString() });
  }
  return { commit, previous_version: previous, instances };
}

async function startInstance(run, name, { folder, version, commit }) {
  run.starts += 1;
  const env = {
    PORT: String(run.ports[name]),
    INSTANCE: name,
    VERSION: version,
    COMMIT: commit.slice(0, 12),
    ORDER_BLOCK: String(run.starts),
    PAYMENTS_URL: urlOf(run.ports.payments),
  };
  run.processes.start(name, join(folder, "src", "main.js"), { env, log: logOf(run, name) });
  await waitUntilReady(urlOf(run.ports[name]));
  run.deployed.set(name, { name, version, url: urlOf(run.ports[name]) });
}

async function startProvider(run) {
  const env = { PORT: String(run.ports.payments), SEED: "7" };
  run.processes.start("payments", join(HERE, "payments.mjs"), { env, log: logOf(run, "payments") });
  await waitUntilReady(urlOf(run.ports.payments));
}

async function startGateway(run) {
  await writeGatewayConfig(run, GATEWAY_CONFIG);
  const env = { PORT: String(run.ports.gateway), CONFIG: join(run.work, "gateway.json") };
  run.processes.start("gateway", join(HERE, "gateway.mjs"), { env, log: logOf(run, "gateway") });
  await waitUntilReady(urlOf(run.ports.gateway));
}

async function configureGateway(run, { version, change }) {
  await writeGatewayConfig(run, { ...GATEWAY_CONFIG, ...change, version });
  run.processes.signal("gateway", "SIGHUP");
  return { commit: null, previous_version: GATEWAY_CONFIG.version };
}

async function writeGatewayConfig(run, settings) {
  const upstreams = INSTANCES.map((name) => ({ name, url: urlOf(run.ports[name]) }));
  await writeFile(join(run.work, "gateway.json"), JSON.stringify({ ...settings, upstreams }));
}

async function watch(run, started) {
  const scraper = new Scraper();
  const rule = new AlertRule();
  let firedAt;
  for (let due = started + SCRAPE_MS; firedAt === undefined || due < firedAt + AFTER_ALERT_MS; due += SCRAPE_MS) {
    if (due > started + LIMIT_MS) throw new Error("the alert did not fire");
    await sleep(Math.max(0, due - Date.now()));
    rule.add(await scrapeAll(run, scraper));
    firedAt ??= await fire(run, rule);
  }
}

async function scrapeAll(run, scraper) {
  const time = new Date().toISOString();
  const rows = await Promise.all([...run.deployed.values()].map((instance) => scraper.scrape(instance, time)));
  const seen = rows.filter((row) => row !== undefined);
  for (const row of seen) await appendRow(run, "metrics.jsonl", row);
  return seen;
}

async function fire(run, rule) {
  const { ratio, pending, firing } = rule.evaluate();
  if (pending) say(`${(ratio * 100).toFixed(1)} % errors, alert ${firing ? "fires" : "pending"}`);
  if (!firing) return undefined;
  const startsAt = new Date();
  const payload = webhookPayload({ ratio, startsAt: startsAt.toISOString() });
  await writeFile(join(run.out, "alert.json"), `${JSON.stringify(payload, null, 2)}\n`);
  return startsAt.getTime();
}

async function collect({ out, work, repository }) {
  await bundle(repository, join(out, "checkout.bundle"));
  for (const name of await readdir(join(work, "logs"))) {
    const text = await readFile(join(work, "logs", name));
    assertNoTrace(name, text, work);
    await writeFile(join(out, "logs", `${name}.gz`), await promisify(gzip)(text, { level: 9 }));
    say(`${name}: ${text.toString("utf8").split("\n").length - 1} lines`);
  }
}

function assertNoTrace(name, text, work) {
  for (const trace of [work, HERE, homedir(), hostname()]) {
    if (text.includes(trace)) throw new Error(`${name} names this machine: ${trace}`);
  }
}

async function appendRow({ out }, name, row) {
  await appendFile(join(out, name), `${JSON.stringify(row)}\n`);
}

function logOf({ work }, name) {
  return join(work, "logs", `${name}.log`);
}

function urlOf(port) {
  return `http://127.0.0.1:${port}`;
}

function say(text) {
  console.log(`${new Date().toISOString()} ${text}`);
}
