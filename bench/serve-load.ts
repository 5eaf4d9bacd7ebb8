import { Agent, request } from "node:http";

/** Puts load on a service, from a separate process: `serve-load.js URL CLIENTS` prints the results as JSON. */

const WARM_MS = 1000;
const MEASURED_MS = 3000;

const [url = "", clients = ""] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number(clients) });
const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "list_skills", params: {} });
const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };

/** One request after another on each connection, until the time is over. */
async function load(ms: number): Promise<readonly number[]> {
  const until = performance.now() + ms;
  const times: number[] = [];
  const connection = async () => {
    while (performance.now() < until) {
      const start = performance.now();
      await send();
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: Number(clients) }, connection));
  return times;
}

function send(): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`answered with ${response.statusCode}`));
      response.on("end", resolve).resume();
    });
    sent.on("error", reject).end(body);
  });
}

await load(WARM_MS);
const times = [...(await load(MEASURED_MS))].sort((a, b) => a - b);
console.log(
  JSON.stringify({
    perSecond: times.length / (MEASURED_MS / 1000),
    p99Ms: times[Math.floor(times.length * 0.99)],
  }),
);
agent.destroy();
