// A newsletter brings more customers than the service was sized for. No part of it is broken.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cloudwatch, evidenceOf } from "../make/alerts.mjs";
import { growth, keepTable, watch } from "../make/monitor.mjs";

const AGENTS = "{Mozilla/5.0 (iPhone)|Mozilla/5.0 (Android 15)|Mozilla/5.0 (X11)|Mozilla/5.0 (Windows NT 10.0)}";
const headers = { "x-forwarded-for": "203.0.113.{1-250}", "user-agent": AGENTS };
const fromLetter = { ...headers, referer: "https://news.example.org/friday-sale" };
const LOAD = {
  seed: 31,
  phases: [
    { seconds: 30, rate: 9 },
    { seconds: 600, rate: 60 },
  ],
  requests: [
    { weight: 25, path: "/events/{10-60}", headers },
    { weight: 8, method: "POST", path: "/events/{10-60}/tickets", body: {}, headers },
    { weight: 110, path: "/events/77?utm_source=newsletter", headers: fromLetter, from: 50 },
    { weight: 30, method: "POST", path: "/events/77/tickets", body: {}, headers: fromLetter, from: 50 },
  ],
};

export async function make(stage) {
  await stage.repository("tickets");
  await stage.deploy("v7.1.0", ["tickets-1"], { author: "Sena Oakhurst", reason: "Busy desks on /metrics" });
  const CONFIG = join(stage.work, "edge.json");
  await writeFile(CONFIG, JSON.stringify({ timeout_ms: 5000, max_body_kb: 64 }));
  const edge = { UPSTREAM: await stage.url("tickets-1"), CONFIG, ERROR_LOG: stage.logOf("edge-error.log") };
  await stage.start("edge", "access-log-proxy", { env: edge, log: "edge-access.log" });
  const pod = { REFUSING_PORT: String(await stage.port("nobody")), PEER: "smtp:25", ATTEMPT: "3022", EVERY_MS: "5000" };
  await stage.start("reminders-0", "crashing-pod", { env: pod, ready: false });
  await stage.load(["edge"], LOAD);
  await Promise.all([release(stage), monitor(stage)]);
}

async function release(stage) {
  await stage.wait(21);
  await stage.deploy("v7.1.1", ["tickets-1"], { author: "Ines Quarrow", reason: "Few seats are left" });
}

async function monitor(stage) {
  const keep = keepTable(stage, "metrics.csv", (pair) => ({
    Timestamp: new Date(pair[1].time).toISOString(),
    Label: "app/tickets",
    RequestCount: growth(pair, "http_requests_total"),
    HTTPCode_Target_5XX_Count: growth(pair, "http_requests_total", { status: "5.." }),
  }));
  const value = (seen) => growth(seen, "http_requests_total", { status: "5.." });
  const fire = ({ value: count, at }) =>
    stage.alert(
      cloudwatch({
        name: "tickets-5xx",
        description: "Customers cannot see events or buy tickets.",
        reason: `Threshold Crossed: 1 datapoint [${count}.0 (${at})] was greater than the threshold (40.0).`,
        metric: "HTTPCode_Target_5XX_Count",
        threshold: 40,
        at,
        evidence: evidenceOf(stage),
      }),
    );
  await watch(stage, { instances: ["edge"], value, above: 40 * stage.pace, holds: 4, after: 5, keep, fire });
}
