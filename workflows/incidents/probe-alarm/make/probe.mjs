// A probe of one place: resolves the name there, requests the page, and logs both as logfmt.
import { Resolver } from "node:dns/promises";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const { PORT, RESOLVER_PORT, TARGET_PORT, EVERY_MS, INSTANCE } = process.env;
const TARGET = "https://accounts.example.com/login";
const resolver = new Resolver({ timeout: 400, tries: 1 });
resolver.setServers([`127.0.0.1:${RESOLVER_PORT}`]);
let success = 1;
const metrics = createServer((request, response) =>
  response.end(request.url === "/metrics" ? `probe_success{place="${INSTANCE}"} ${success}\n` : ""),
);
metrics.listen(Number(PORT), "127.0.0.1");
process.once("SIGTERM", () => process.exit());

for (;;) {
  success = (await probe()) ? 1 : 0;
  await sleep(Number(EVERY_MS));
}

async function probe() {
  const started = performance.now();
  const seconds = () => ((performance.now() - started) / 1000).toFixed(3);
  try {
    const [address] = await resolver.resolve4("accounts.example.com");
    const headers = { "user-agent": `Probe/1.4 (${INSTANCE})`, "x-forwarded-for": `192.0.2.${INSTANCE.length}` };
    const { status } = await fetch(`http://${address}:${TARGET_PORT}/login`, {
      headers,
      signal: AbortSignal.timeout(3000),
    });
    write("info", `msg="Probe succeeded" status=${status} duration_seconds=${seconds()}`);
    return status === 200;
  } catch (error) {
    const msg = error.syscall?.startsWith("query") ? "Resolution with IP protocol failed" : "Error for HTTP request";
    write("error", `msg="${msg}" err="${error.message}" duration_seconds=${seconds()}`);
    return false;
  }
}

function write(level, text) {
  process.stdout.write(
    `ts=${new Date().toISOString()} level=${level} place=${INSTANCE} module=http_2xx target=${TARGET} ${text}\n`,
  );
}
