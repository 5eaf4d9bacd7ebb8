// The customers: requests arrive at random at the mean rate of the phase, whether or not earlier ones were answered.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { exponential, newRandom } from "./random.mjs";

const MAX_OPEN = 300;
const TIMEOUT_MS = 8000;

const { seed, phases, requests } = JSON.parse(process.env.PLAN);
const random = newRandom(seed);
const targets = process.env.TARGETS.split(",");
let open = 0;
let sent = 0;
process.once("SIGTERM", () => process.exit(0));

let due = performance.now();
for (const { seconds, rate } of phases) {
  const end = due + seconds * 1000;
  while (due < end) {
    due += exponential(random, 1000 / rate);
    await sleep(Math.max(0, due - performance.now()));
    if (open < MAX_OPEN) send(next(rate));
  }
}
await sleep(2 ** 31 - 1);

/** Draws by weight; a request may be only for phases from a rate on. */
function next(rate) {
  const fitting = requests.filter(({ from = 0 }) => rate >= from);
  let draw = random() * fitting.reduce((sum, { weight }) => sum + weight, 0);
  const chosen = fitting.find(({ weight }) => {
    draw -= weight;
    return draw < 0;
  });
  return JSON.parse(filled(JSON.stringify(chosen ?? fitting[0])));
}

/** `{10-90}` becomes a number between, `{a|b}` one of the words. */
function filled(text) {
  return text
    .replace(/\{(\d+)-(\d+)\}/g, (_, from, to) => Number(from) + Math.floor(random() * (Number(to) - Number(from) + 1)))
    .replace(
      /\{([^{}":,]*\|[^{}":,]*)\}/g,
      (_, words) => words.split("|")[Math.floor(random() * words.split("|").length)],
    );
}

async function send({ method = "GET", path, headers, body, bytes }) {
  open += 1;
  const target = targets[sent++ % targets.length];
  try {
    const content = bytes ? Buffer.alloc(Number(bytes), 120) : body && JSON.stringify(body);
    const own = { "x-request-id": randomBytes(4).toString("hex"), ...headers };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`${target}${path}`, { method, body: content, headers: own, signal });
    await response.arrayBuffer();
  } catch {
    // Requests without an answer are in the logs of the services that did not answer.
  } finally {
    open -= 1;
  }
}
