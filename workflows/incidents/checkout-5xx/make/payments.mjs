// The payment provider: answers most charges quickly, some slowly, declines a few and now and then fails.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { exponential, newRandom, pick } from "../../make/random.mjs";

const DECLINED = 0.018;
const SLOW = 0.025;
const FAILED = 0.0008;
const REASONS = ["insufficient_funds", "expired_card", "do_not_honor"];

const random = newRandom(Number(process.env.SEED));
const provider = createServer((request, response) => charge(request, response));
provider.listen(Number(process.env.PORT), "127.0.0.1", () => write("ready"));
process.once("SIGTERM", () => {
  provider.close();
  provider.closeIdleConnections();
});

async function charge(request, response) {
  if (request.url === "/healthz") return response.end();
  const started = performance.now();
  const { reference, amount } = await readJson(request);
  const requestId = request.headers["x-request-id"];
  write(`received order ${reference} amount ${(amount / 100).toFixed(2)} EUR request ${requestId}`);
  const { status, body, word } = decide();
  await sleep(delay());
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
  const reason = body.reason ? ` (${body.reason})` : "";
  write(`${word} order ${reference} in ${Math.round(performance.now() - started)} ms${reason}`);
}

function decide() {
  const draw = random();
  if (draw < FAILED) return { status: 503, word: "failed", body: { reason: "acquirer_unreachable" } };
  if (draw < FAILED + DECLINED) {
    return { status: 200, word: "declined", body: { approved: false, reason: pick(random, REASONS) } };
  }
  return { status: 200, word: "approved", body: { approved: true } };
}

function delay() {
  return random() < SLOW ? 850 + random() * 800 : 35 + Math.min(exponential(random, 40), 500);
}

async function readJson(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

function write(line) {
  process.stdout.write(`${new Date().toISOString()} ${line}\n`);
}
