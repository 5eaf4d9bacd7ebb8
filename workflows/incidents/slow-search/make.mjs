// A migration drops an index with the column that it was on; the searches that used it scan the table from then on.
import { join } from "node:path";
import { datadog, evidenceOf } from "../make/alerts.mjs";
import { growth, keepTable, watch } from "../make/monitor.mjs";

const INSTANCES = ["catalog-1", "catalog-2"];
const LOAD = {
  seed: 41,
  phases: [{ seconds: 600, rate: 12 }],
  requests: [
    { weight: 55, path: "/products?brand={Ebner|Tarn|Lindqvist|Ostrava|Quist|Sorel|Wyld}" },
    { weight: 30, path: "/products?category={lamps|chairs|shelves|rugs|clocks}" },
    { weight: 15, path: "/products/{1-19900}" },
  ],
};

export async function make(stage) {
  await stage.repository("catalog");
  const database = join(import.meta.dirname, "make", "database.mjs");
  await stage.start("postgres", database, { log: "postgres-1.log" });
  const env = { DATABASE_URL: await stage.url("postgres") };
  await stage.deploy("v2.3.0", INSTANCES, { author: "Dario Feldspar", reason: "Found products are counted", env });
  await stage.load(INSTANCES, LOAD);
  await Promise.all([releases(stage, env), monitor(stage)]);
}

async function releases(stage, env) {
  await stage.wait(14);
  await stage.deploy("v2.4.0", INSTANCES, { author: "Mirela Vantor", reason: "Brands without case and accents", env });
  await stage.wait(1);
  await stage.deploy("v2.4.1", INSTANCES, { author: "Ines Quarrow", reason: "Badges", env });
}

async function monitor(stage) {
  const keep = keepTable(stage, "metrics.csv", (pair) => ({
    time: new Date(pair[1].time).toISOString(),
    service: "catalog",
    requests: growth(pair, "http_requests_total"),
    errors_5xx: growth(pair, "http_requests_total", { status: "5.." }),
    search_seconds: growth(pair, "http_request_seconds_sum", { route: "GET /products" }).toFixed(2),
  }));
  const value = (seen) => growth(seen, "http_requests_total", { status: "5.." }) / growth(seen, "http_requests_total");
  const fire = ({ value: ratio, at }) =>
    stage.alert(
      datadog({
        title: "catalog answers too many requests with 5xx on service:catalog",
        body: `${(ratio * 100).toFixed(1)} % of the requests to catalog were answered 5xx (threshold 10 %).\nMetric value: ${ratio.toFixed(3)}`,
        at,
        evidence: evidenceOf(stage),
      }),
    );
  await watch(stage, { instances: INSTANCES, value, above: 0.1, holds: 9, keep, fire });
}
