// Runs a small service under load, deploys a faulty release, and stops a minute after the alert. Takes five minutes.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AlertRule, webhookPayload } from "./make/alert.mjs";
import { Scraper } from "./make/metrics.mjs";

const PROCESSES = join(import.meta.dirname, "make");
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

export async function make(stage) {
  await stage.repository("checkout");
  const run = { stage, deployed: new Map(), starts: 0 };
  await startProvider(run);
  const [first, ...later] = DEPLOYS;
  await deploy(run, first);
  await startGateway(run);
  const env = { GATEWAY_URL: await stage.url("gateway"), SEED: "20" };
  await stage.start("load", join(PROCESSES, "load.mjs"), { env, log: null, ready: false });
  const started = Date.now();
  stage.say("load starts");
  await Promise.all([deployLater(run, later, started), watch(run, started)]);
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
  await run.stage.note({ time, service, version, ...result, ...about });
  run.stage.say(`${service} ${version}`);
}

async function release(run, { version }) {
  const { folder, commit } = await run.stage.checkOut(version);
  const previous = run.deployed.get(INSTANCES[0])?.version ?? null;
  const instances = [];
  for (const name of INSTANCES) {
    if (instances.length > 0) await sleep(ROLLING_PAUSE_MS);
    await run.stage.stop(name);
    await startInstance(run, name, { folder, version, commit });
    instances.push({ instance: name, ready: new Date().toISOString() });
  }
  return { commit, previous_version: previous, instances };
}

async function startInstance(run, name, { folder, version, commit }) {
  run.starts += 1;
  const env = {
    VERSION: version,
    COMMIT: commit.slice(0, 12),
    ORDER_BLOCK: String(run.starts),
    PAYMENTS_URL: await run.stage.url("payments"),
  };
  await run.stage.start(name, join(folder, "src", "main.js"), { env });
  run.deployed.set(name, { name, version, url: await run.stage.url(name) });
}

async function startProvider({ stage }) {
  await stage.start("payments", join(PROCESSES, "payments.mjs"), { env: { SEED: "7" } });
}

async function startGateway({ stage }) {
  await writeGatewayConfig(stage, GATEWAY_CONFIG);
  await stage.start("gateway", join(PROCESSES, "gateway.mjs"), { env: { CONFIG: join(stage.work, "gateway.json") } });
}

async function configureGateway({ stage }, { version, change }) {
  await writeGatewayConfig(stage, { ...GATEWAY_CONFIG, ...change, version });
  stage.processes.signal("gateway", "SIGHUP");
  return { commit: null, previous_version: GATEWAY_CONFIG.version };
}

async function writeGatewayConfig(stage, settings) {
  const upstreams = await Promise.all(INSTANCES.map(async (name) => ({ name, url: await stage.url(name) })));
  await writeFile(join(stage.work, "gateway.json"), JSON.stringify({ ...settings, upstreams }));
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
  for (const row of seen) await run.stage.append("metrics.jsonl", `${JSON.stringify(row)}\n`);
  return seen;
}

async function fire(run, rule) {
  const { ratio, pending, firing } = rule.evaluate();
  if (pending) run.stage.say(`${(ratio * 100).toFixed(1)} % errors, alert ${firing ? "fires" : "pending"}`);
  if (!firing) return undefined;
  const startsAt = new Date();
  await run.stage.alert(webhookPayload({ ratio, startsAt: startsAt.toISOString() }));
  return startsAt.getTime();
}
