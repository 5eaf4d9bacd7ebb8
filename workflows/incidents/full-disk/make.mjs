// Copies of a journal fill a small disk, because the cleaner waits for a lock whose holder has died.
import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { betterstack, evidenceOf } from "../make/alerts.mjs";
import { growth, keepTable, total, watch } from "../make/monitor.mjs";

const SIZE = "1536k";
const LOAD = {
  seed: 23,
  phases: [{ seconds: 600, rate: 12 }],
  requests: [
    {
      weight: 85,
      method: "POST",
      path: "/entries",
      body: { account: "A-{100-999}", cents: "{100-90000}", text: "x".repeat(500) },
    },
    { weight: 15, path: "/balance" },
  ],
};

export async function make(stage) {
  await stage.repository("ledger");
  const disk = await openDisk(stage);
  try {
    await happen(stage, disk);
  } finally {
    await stage.processes.stopAll();
    disk.close();
  }
}

async function happen(stage, { folder, prefix }) {
  const env = { DATA: folder };
  await stage.deploy("v1.8.0", ["ledger-1"], { author: "Sena Oakhurst", reason: "Balances", env, prefix });
  const ops = join((await stage.checkOut("v1.8.0")).folder, "ops");
  const every = (seconds) => ({ ...env, EVERY_MS: String(seconds * 1000 * stage.pace) });
  await stage.start("snapshot", join(ops, "snapshot.js"), { env: every(3), prefix, ready: false });
  await stage.start("prune", join(ops, "prune.js"), { env: every(5), prefix, ready: false });
  await stage.load(["ledger-1"], LOAD);
  await Promise.all([release(stage, { env, prefix }), monitor(stage)]);
}

async function release(stage, parts) {
  await stage.wait(24);
  await stage.deploy("v1.9.0", ["ledger-1"], { author: "Dario Feldspar", reason: "Sync after each entry", ...parts });
}

/** A tmpfs that only these processes see, with the lock of a process that died long ago. */
async function openDisk(stage) {
  const folder = join(stage.work, "disk");
  await mkdir(folder);
  const script = join(import.meta.dirname, "make", "disk.sh");
  const holder = spawn("unshare", ["-Urm", "sh", script, folder, SIZE], { stdio: ["ignore", "ignore", "inherit"] });
  const prefix = ["nsenter", "-t", String(holder.pid), "-U", "-m", "--preserve-credentials", "--"];
  await stage.wait(1 / stage.pace);
  const lock = ["sh", "-c", 'mountpoint -q "$0" && echo 211 > "$0/prune.lock"', folder];
  const code = await new Promise((resolve) => spawn(prefix[0], [...prefix.slice(1), ...lock]).once("exit", resolve));
  if (code !== 0) throw new Error("cannot mount a separate disk (unshare -Urm)");
  return { folder, prefix, close: () => holder.kill("SIGKILL") };
}

async function monitor(stage) {
  const keep = keepTable(stage, "metrics.csv", (pair) => {
    const samples = pair[1].samples["ledger-1"] ?? [];
    const [free, size] = ["disk_free_bytes", "disk_size_bytes"].map((metric) => total(samples, metric));
    return {
      time: new Date(pair[1].time).toISOString(),
      host: "ledger-host-1",
      mount: "/var/lib/ledger",
      used_percent: size ? (100 * (1 - free / size)).toFixed(1) : "",
      free_kb: Math.round(free / 1024),
      entries: growth(pair, "http_requests_total", { route: "POST /entries", status: "201" }),
      errors_5xx: growth(pair, "http_requests_total", { status: "5.." }),
    };
  });
  const value = (seen) =>
    growth(seen, "http_requests_total", { status: "5.." }) / (growth(seen, "http_requests_total") || 1);
  const fire = ({ since }) =>
    stage.alert(
      betterstack({
        name: "ledger entries",
        cause: "Status 500",
        url: "https://ledger.example.com/entries",
        at: since,
        evidence: evidenceOf(stage),
      }),
    );
  await watch(stage, { instances: ["ledger-1"], value, above: 0.2, keep, fire });
}
