// A supplier sends prices with a comma before the cents, a while after a release that changed the import was deployed.
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { datadog, evidenceOf } from "../make/alerts.mjs";
import { growth, keepTable, watch } from "../make/monitor.mjs";
import { newRandom } from "../make/random.mjs";

const INSTANCES = ["pricing-1", "pricing-2"];
const LOAD = {
  seed: 43,
  phases: [{ seconds: 600, rate: 12 }],
  requests: [{ weight: 1, path: "/prices/NB-{100-299}" }],
};

export async function make(stage) {
  await stage.repository("pricing");
  const feed = join(stage.work, "nordbay.csv");
  await publish(stage, feed, "feed-1.csv", { seed: 1, comma: false });
  const env = { FEED: feed, SUPPLIER: "nordbay", EVERY_MS: String(2000 * stage.pace) };
  await stage.deploy("v4.3.0", INSTANCES, { author: "Sena Oakhurst", reason: "Autumn prices", env });
  await stage.load(INSTANCES, LOAD);
  await Promise.all([happen(stage, feed, env), monitor(stage)]);
}

async function happen(stage, feed, env) {
  await stage.wait(12);
  await stage.deploy("v4.4.0", INSTANCES, { author: "Wren Hallowick", reason: "Days of validity", env });
  await stage.wait(8);
  await publish(stage, feed, "feed-2.csv", { seed: 2, comma: false });
  await stage.wait(10);
  await publish(stage, feed, "feed-3.csv", { seed: 3, comma: true });
}

/** The feed as the importer sees it, and as it is stored. Half of the rows of a bad one are bad. */
async function publish(stage, feed, kept, { seed, comma }) {
  const random = newRandom(seed);
  const rows = Array.from({ length: 200 }, (_, index) => {
    const price = (5 + random() * 900).toFixed(2);
    return `NB-${100 + index},${comma && index % 2 ? `"${price.replace(".", ",")}"` : price},2026-11-2${seed}`;
  });
  await writeFile(feed, ["sku,price,valid_from", ...rows, ""].join("\n"));
  await copyFile(feed, stage.logOf(kept));
  stage.say(kept);
}

async function monitor(stage) {
  const keep = keepTable(stage, "metrics.csv", (pair) => ({
    time: new Date(pair[1].time).toISOString(),
    service: "pricing",
    requests: growth(pair, "http_requests_total"),
    errors_5xx: growth(pair, "http_requests_total", { status: "500" }),
  }));
  const value = (seen) =>
    growth(seen, "http_requests_total", { status: "500" }) / (growth(seen, "http_requests_total") || 1);
  const fire = ({ value: ratio, at }) =>
    stage.alert(
      datadog({
        title: "pricing: request failed on service:pricing",
        body: `More than 20 % of GET /prices/:id fail with 500.\nMetric value: ${ratio.toFixed(3)}`,
        at,
        evidence: evidenceOf(stage),
      }),
    );
  await watch(stage, { instances: INSTANCES, value, above: 0.2, keep, fire });
}
