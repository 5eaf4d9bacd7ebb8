// One limit for every route of the edge: smaller than what customers send to one of them.
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { evidenceOf, grafana } from "../make/alerts.mjs";
import { growth, keepExposition, watch } from "../make/monitor.mjs";

const AGENTS = "{Mozilla/5.0 (iPhone)|Mozilla/5.0 (Android 15)|Mozilla/5.0 (X11)}";
const headers = { "x-forwarded-for": "198.51.100.{1-250}", "user-agent": AGENTS };
const SCANS = "POST /claims/:id/scans";
const LOAD = {
  seed: 5,
  phases: [{ seconds: 600, rate: 12 }],
  requests: [
    { weight: 50, path: "/claims/{1000-3999}", headers },
    { weight: 30, method: "POST", path: "/claims", body: { kind: "{glass|water|theft|fire}" }, headers },
    { weight: 20, method: "POST", path: "/claims/{1000-3999}/scans", bytes: "{150000-1500000}", headers },
  ],
};

export async function make(stage) {
  await stage.repository("claims");
  await stage.deploy("v5.1.0", ["claims-1"], { author: "Tobi Larkmoor", reason: "Larger scans" });
  const config = join(stage.work, "edge.json");
  await configure(stage, config, "v5.1.0~1");
  const ERROR_LOG = stage.logOf("edge-error.log");
  const edge = { UPSTREAM: await stage.url("claims-1"), CONFIG: config, ERROR_LOG };
  await stage.start("edge", "access-log-proxy", { env: edge, log: "edge-access.log" });
  const pod = {
    REFUSING_PORT: String(await stage.port("nobody")),
    PEER: "redis:6379",
    ATTEMPT: "1184",
    EVERY_MS: "4000",
  };
  await stage.start("thumbnails-0", "crashing-pod", { env: pod, ready: false });
  await stage.load(["edge"], LOAD);
  await Promise.all([changes(stage, config), monitor(stage)]);
}

async function changes(stage, config) {
  await stage.wait(22);
  await stage.deploy("v5.2.0", ["claims-1"], { author: "Dario Feldspar", reason: "Pages for the archive" });
  await stage.wait(8);
  const { commit } = await configure(stage, config, "main~1");
  stage.processes.signal("edge", "SIGHUP");
  const time = new Date().toISOString();
  await stage.note({
    time,
    service: "edge",
    version: commit.slice(0, 12),
    commit,
    author: "Sena Oakhurst",
    reason: "Tidy up",
  });
}

async function configure(stage, config, revision) {
  const checkout = await stage.checkOut(revision);
  await copyFile(join(checkout.folder, "edge", "edge.json"), config);
  return checkout;
}

async function monitor(stage) {
  const keep = keepExposition(stage, "metrics.prom");
  const refused = (seen) => growth(seen, "http_requests_total", { route: SCANS, status: "4.." });
  const value = (seen) => refused(seen) / (growth(seen, "http_requests_total", { route: SCANS }) || 1);
  const fire = ({ value: ratio, since }) =>
    stage.alert(
      grafana({
        title: "ScansRefused",
        summary: `${(ratio * 100).toFixed(0)} % of the uploaded scans are refused with 4xx`,
        labels: { service: "claims", route: SCANS, severity: "critical" },
        value: Number(ratio.toFixed(3)),
        threshold: 0.3,
        since,
        evidence: { ...evidenceOf(stage), metrics: `workflows/incidents/${stage.name}/metrics.prom` },
      }),
    );
  await watch(stage, { instances: ["edge"], value, above: 0.3, keep, fire });
}
