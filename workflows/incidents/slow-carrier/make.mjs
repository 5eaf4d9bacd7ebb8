// Another company's interface becomes slow, half a minute after one of two instances got a release that touches its client.
import { join } from "node:path";
import { evidenceOf, pagerduty } from "../make/alerts.mjs";
import { growth, keepTable, watch } from "../make/monitor.mjs";

const INSTANCES = ["shipping-1", "shipping-2"];
const LOAD = {
  seed: 17,
  phases: [{ seconds: 600, rate: 10 }],
  requests: [
    { weight: 80, path: "/rates?zip={10115|20095|50667|80331|01067}&grams={100-9000}" },
    { weight: 20, path: "/zones" },
  ],
};

export async function make(stage) {
  await stage.repository("shipping");
  const env = { CARRIER_URL: await stage.url("carrier"), TRACES: stage.logOf("traces.jsonl") };
  await stage.deploy("v3.7.2", INSTANCES, { author: "Tobi Larkmoor", reason: "Zones", env });
  const slow = { SLOW_AFTER_MS: String(30_000 * stage.pace) };
  await stage.start("carrier", join(import.meta.dirname, "make", "carrier.mjs"), { env: slow, log: null });
  await stage.load(INSTANCES, LOAD);
  await Promise.all([canary(stage, env), monitor(stage)]);
}

async function canary(stage, env) {
  await stage.wait(20);
  await stage.deploy("v3.8.0", ["shipping-1"], { author: "Ines Quarrow", reason: "Canary on shipping-1", env });
}

async function monitor(stage) {
  const row = (pair) =>
    INSTANCES.map((instance) => {
      const own = pair.map(({ time, samples }) => ({ time, samples: { [instance]: samples[instance] ?? [] } }));
      const rates = { route: "GET /rates" };
      return {
        time: new Date(pair[1].time).toISOString(),
        instance,
        rates: growth(own, "http_requests_total", rates),
        gateway_timeouts: growth(own, "http_requests_total", { ...rates, status: "504" }),
      };
    });
  const failed = (seen) => growth(seen, "http_requests_total", { status: "504" });
  const value = (seen) => failed(seen) / (growth(seen, "http_requests_total", { route: "GET /rates" }) || 1);
  const fire = ({ value: ratio, at }) =>
    stage.alert(
      pagerduty({
        title: `shipping: ${(ratio * 100).toFixed(0)} % of GET /rates answered 504`,
        service: "shipping",
        at,
        evidence: evidenceOf(stage),
      }),
    );
  await watch(stage, { instances: INSTANCES, value, above: 0.25, keep: keepTable(stage, "metrics.csv", row), fire });
}
