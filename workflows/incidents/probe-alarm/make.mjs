// The resolver of one of two probes is down for a while. The probed service responds to everyone else.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { alertmanager, evidenceOf } from "../make/alerts.mjs";
import { keepExposition, total, watch } from "../make/monitor.mjs";

const HERE = join(import.meta.dirname, "make");
const PROBES = ["probe-north", "probe-south"];
const AGENTS = "{Mozilla/5.0 (iPhone)|Mozilla/5.0 (Android 15)|Mozilla/5.0 (X11)}";
const headers = { "x-forwarded-for": "198.51.100.{1-250}", "user-agent": AGENTS };
const LOAD = {
  seed: 37,
  phases: [{ seconds: 600, rate: 10 }],
  requests: [
    { weight: 30, path: "/login", headers },
    { weight: 20, method: "POST", path: "/sessions", body: {}, headers },
    { weight: 50, path: "/me", headers },
  ],
};

export async function make(stage) {
  await stage.repository("accounts");
  await stage.deploy("v2.0.2", ["accounts-1"], { author: "Mirela Vantor", reason: "Shorter pages" });
  const CONFIG = join(stage.work, "edge.json");
  await writeFile(CONFIG, JSON.stringify({ timeout_ms: 5000, max_body_kb: 64 }));
  const edge = { UPSTREAM: await stage.url("accounts-1"), CONFIG, ERROR_LOG: stage.logOf("edge-error.log") };
  await stage.start("edge", "access-log-proxy", { env: edge, log: "edge-access.log" });
  for (const probe of PROBES) await startProbe(stage, probe);
  await stage.load(["edge"], LOAD);
  await Promise.all([happen(stage), monitor(stage)]);
}

async function startProbe(stage, probe) {
  await startResolver(stage, probe);
  const env = {
    RESOLVER_PORT: String(await stage.port(`resolver-${probe}`)),
    TARGET_PORT: String(await stage.port("edge")),
    EVERY_MS: String(Math.max(300, 1500 * stage.pace)),
  };
  await stage.start(probe, join(HERE, "probe.mjs"), { env });
}

async function startResolver(stage, probe) {
  await stage.start(`resolver-${probe}`, join(HERE, "resolver.mjs"), { log: null, ready: false });
  await sleep(500);
}

async function happen(stage) {
  await stage.wait(16);
  await stage.deploy("v2.0.3", ["accounts-1"], { author: "Dario Feldspar", reason: "Sessions end after 12 hours" });
  await stage.wait(6);
  await stage.stop("resolver-probe-south");
}

/** The stored alert is the one that reports its end. */
async function monitor(stage) {
  const keep = keepExposition(stage, "metrics.prom");
  const failing = (seen) =>
    PROBES.filter((probe) => total(seen.at(-1).samples[probe] ?? [], "probe_success") === 0).length;
  let over;
  const fire = async () => {
    await stage.wait(4);
    await startResolver(stage, "probe-south");
    over = new Date(Date.now() + 2000 * stage.pace).toISOString();
  };
  const { since } = await watch(stage, { instances: PROBES, value: failing, above: 0, after: 14, keep, fire });
  await stage.alert(
    alertmanager({
      labels: { alertname: "ProbeFailed", service: "accounts", place: "probe-south", severity: "critical" },
      summary: "https://accounts.example.com/login does not answer the probe",
      description: "probe_success was 0 for 6 s from probe-south",
      since,
      ended: over,
      evidence: { ...evidenceOf(stage), metrics: `workflows/incidents/${stage.name}/metrics.prom` },
    }),
  );
}
