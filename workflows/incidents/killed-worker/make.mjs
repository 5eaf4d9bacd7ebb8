// Something kills a worker again and again, and no stored evidence shows what.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { betterstack, evidenceOf } from "../make/alerts.mjs";
import { growth, keepTable, total, watch } from "../make/monitor.mjs";
import { waitUntilReady } from "../make/processes.mjs";

const HOST = join(import.meta.dirname, "make", "host.mjs");
const LOAD = {
  seed: 47,
  phases: [{ seconds: 600, rate: 12 }],
  requests: [
    {
      weight: 1,
      method: "POST",
      path: "/mails",
      body: { template: "{receipt|welcome|reminder|invoice}", to: "customer {1-900}" },
    },
  ],
};

export async function make(stage) {
  await stage.repository("mailer");
  const PID_FILE = join(stage.work, "mailer.pid");
  const env = { WORKER_LOG: stage.logOf("mailer-1.log"), PID_FILE, AGAIN_MS: String(7000 * stage.pace) };
  const how = { host: HOST, log: "mail-host-1.syslog", env };
  await stage.deploy("v1.1.0", ["mailer-1"], { author: "Mirela Vantor", reason: "Speed limit", ...how });
  await stage.load(["mailer-1"], LOAD);
  await Promise.all([happen(stage, how, PID_FILE), monitor(stage)]);
}

async function happen(stage, how, pidFile) {
  await stage.wait(14);
  await stage.deploy("v1.2.0", ["mailer-1"], { author: "Tobi Larkmoor", reason: "Templates in memory", ...how });
  await stage.wait(12);
  for (let times = 0; times < 3; times += 1) {
    await waitUntilReady(await stage.url("mailer-1"));
    process.kill(Number(await readFile(pidFile, "utf8")), "SIGKILL");
    await stage.wait(10);
  }
}

/** A heartbeat: the worker is missed when it has not sent for some seconds. */
async function monitor(stage) {
  const keep = keepTable(stage, "metrics.csv", (pair) => {
    const samples = pair[1].samples["mailer-1"];
    return {
      time: new Date(pair[1].time).toISOString(),
      instance: "mailer-1",
      up: samples ? 1 : 0,
      mails: growth(pair, "http_requests_total"),
      resident_mb: samples ? (total(samples, "process_resident_memory_bytes") / 2 ** 20).toFixed(1) : "",
    };
  });
  const away = (seen) => (seen.at(-1).samples["mailer-1"] ? 0 : 1);
  const fire = ({ since }) =>
    stage.alert(
      betterstack({
        name: "mailer worker",
        cause: "Missed heartbeat",
        url: null,
        at: since,
        evidence: evidenceOf(stage),
      }),
    );
  const often = { every: 1, holds: 3, after: 26 };
  await watch(stage, { instances: ["mailer-1"], value: away, above: 0.5, ...often, keep, fire });
}
