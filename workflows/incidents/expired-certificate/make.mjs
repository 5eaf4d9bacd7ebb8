// The certificate of an internal service expires, while its renewer has not reached the issuer for weeks.
import { join } from "node:path";
import { evidenceOf, sentry } from "../make/alerts.mjs";
import { growth, keepExposition, watch } from "../make/monitor.mjs";
import { makeCertificates } from "./make/certificates.mjs";

const HERE = join(import.meta.dirname, "make");
const LOAD = {
  seed: 29,
  phases: [{ seconds: 600, rate: 10 }],
  requests: [
    { weight: 60, method: "POST", path: "/orders", body: { sku: "S-{100-999}", quantity: "{1-5}" } },
    { weight: 40, path: "/orders/{100-999}" },
  ],
};

export async function make(stage) {
  await stage.repository("orders");
  const folder = join(stage.work, "tls");
  const [KEY, CERTIFICATE, CA] = ["stock.key", "stock.pem", "ca.pem"].map((name) => join(folder, name));
  await makeCertificates(folder, Date.now() + 8000 + 34_000 * stage.pace);
  await stage.start("stock", join(HERE, "stock.mjs"), {
    env: { KEY, CERTIFICATE },
    log: "stock-access.csv",
    ready: false,
  });
  const issuer = { CERTIFICATE, ISSUER_PORT: String(await stage.port("nobody")), EVERY_MS: String(9000 * stage.pace) };
  await stage.start("cert-renewer", join(HERE, "renewer.mjs"), { env: issuer, ready: false });
  const env = { STOCK_PORT: String(await stage.port("stock")), CA, CONNECTION_MS: String(6000 * stage.pace) };
  await stage.deploy("v0.30.0", ["orders-1", "orders-2"], { author: "Wren Hallowick", reason: "States", env });
  await stage.load(["orders-1", "orders-2"], LOAD);
  await Promise.all([release(stage, env), monitor(stage)]);
}

async function release(stage, env) {
  await stage.wait(20);
  const about = { author: "Wren Hallowick", reason: "TLS 1.2 at least, refuse orders without sku" };
  await stage.deploy("v0.31.0", ["orders-1", "orders-2"], { ...about, env });
}

async function monitor(stage) {
  const value = (seen) => growth(seen, "http_requests_total", { status: "502" });
  const fire = ({ value: count, at }) =>
    stage.alert(
      sentry({
        type: "Error",
        value: "stock not reachable",
        culprit: "POST /orders",
        project: "orders",
        release: "orders@0.31.0",
        at,
        rule: `Seen more than 8 times in 10 s (${count})`,
        frames: [
          { filename: "src/http.js", function: "run", lineno: 39, in_app: true },
          { filename: "src/stock.js", function: "ClientRequest.<anonymous>", lineno: 31, in_app: true },
        ],
        tags: { server_name: "orders-1" },
        evidence: { ...evidenceOf(stage), metrics: `workflows/incidents/${stage.name}/metrics.prom` },
      }),
    );
  const keep = keepExposition(stage, "metrics.prom");
  await watch(stage, { instances: ["orders-1", "orders-2"], value, above: 8, holds: 3, keep, fire });
}
