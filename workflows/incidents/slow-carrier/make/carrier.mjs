// The carrier's interface: quick at first, slow after a while.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { exponential, newRandom } from "../../make/random.mjs";

const random = newRandom(3);
const slowFrom = Date.now() + Number(process.env.SLOW_AFTER_MS);

const server = createServer(async (request, response) => {
  if (request.url === "/healthz") return response.end();
  const usual = 60 + Math.min(exponential(random, 50), 500);
  await sleep(Date.now() < slowFrom || random() < 0.25 ? usual : 2600 + random() * 2500);
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ cents: 490 + Math.floor(random() * 900) }));
});
server.listen(Number(process.env.PORT), "127.0.0.1");
process.once("SIGTERM", () => process.exit());
