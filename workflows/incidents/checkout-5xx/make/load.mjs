// The customers: requests arrive at random at a steady mean rate, whether or not earlier ones were answered.
import { setTimeout as sleep } from "node:timers/promises";
import { exponential, newRandom, pick } from "../../make/random.mjs";

const RATE_PER_S = 85;
const MAX_REQUESTS = 45_000;
const MAX_OPEN = 400;
const MAX_RUN_MS = 9 * 60_000;
const TIMEOUT_MS = 5000;
const REGIONS = ["north", "south", "island"];
const ITEMS = [
  { sku: "tea-assam", unitPrice: 890 },
  { sku: "tea-sencha", unitPrice: 1150 },
  { sku: "pot-iron", unitPrice: 4900 },
  { sku: "cup-glass", unitPrice: 1290 },
  { sku: "gift-50", unitPrice: 5000 },
];

const gateway = process.env.GATEWAY_URL;
const random = newRandom(Number(process.env.SEED));
let open = 0;
let stopped = false;
process.once("SIGTERM", () => {
  stopped = true;
});

await run();

async function run() {
  const started = performance.now();
  let due = started;
  for (let sent = 0; sent < MAX_REQUESTS && !stopped; sent += 1) {
    due += exponential(random, 1000 / RATE_PER_S);
    await sleep(Math.max(0, due - performance.now()));
    if (due - started > MAX_RUN_MS) return;
    if (open < MAX_OPEN) send(nextRequest());
  }
}

async function send({ method, path, body }) {
  open += 1;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`${gateway}${path}`, { method, body: body && JSON.stringify(body), signal });
    await response.arrayBuffer();
  } catch {
    // Requests that customers did not get an answer to are in the gateway's log.
  } finally {
    open -= 1;
  }
}

function nextRequest() {
  const draw = random();
  const customer = `c-${1000 + Math.floor(random() * 600)}`;
  if (draw < 0.42) return { method: "POST", path: "/cart/quote", body: newCart() };
  if (draw < 0.73) return { method: "GET", path: `/customers/${customer}/orders` };
  const card = `tok_${Math.floor(random() * 2 ** 32).toString(36)}`;
  return { method: "POST", path: "/checkout", body: { customer, card, ...newCart() } };
}

function newCart() {
  const lines = Array.from({ length: 1 + Math.floor(random() * 4) }, () => ({
    ...pick(random, ITEMS),
    quantity: 1 + Math.floor(random() * 3),
  }));
  return { region: pick(random, REGIONS), lines, coupon: random() < 0.05 ? "WELCOME10" : undefined };
}
