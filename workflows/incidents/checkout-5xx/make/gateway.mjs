// The gateway: distributes requests to the instances in turn, and reads its configuration again on SIGHUP.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

let config = readConfig();
let turn = 0;

const gateway = createServer((request, response) => handle(request, response));
gateway.keepAliveTimeout = 60_000;
gateway.listen(Number(process.env.PORT), "127.0.0.1", () => {
  write("info", { msg: "listening", config: config.version });
});

process.on("SIGHUP", () => {
  config = readConfig();
  write("info", { msg: "configuration reloaded", config: config.version });
});
process.once("SIGTERM", () => {
  gateway.close();
  gateway.closeIdleConnections();
});

async function handle(request, response) {
  if (request.url === "/healthz") return response.end();
  const started = performance.now();
  const requestId = randomBytes(6).toString("hex");
  const body = await readBody(request);
  const answer = await forward(request, requestId, body);
  response.writeHead(answer.status, { "content-type": "application/json", "x-request-id": requestId });
  response.end(answer.body);
  write("info", {
    msg: "access",
    request_id: requestId,
    method: request.method,
    path: request.url,
    status: answer.status,
    bytes: answer.body.length,
    duration_ms: Math.round(performance.now() - started),
    upstream: answer.upstream,
    attempts: answer.attempts,
  });
}

async function forward(request, requestId, body) {
  const { upstreams } = config;
  const first = turn++;
  let answer;
  for (let attempts = 1; attempts <= upstreams.length; attempts += 1) {
    const upstream = upstreams[(first + attempts) % upstreams.length];
    const outcome = await send(upstream, request, requestId, body).catch((error) => failed(error, upstream, requestId));
    answer = { ...outcome, upstream: upstream.name, attempts };
    if (!outcome.refused) break;
  }
  return answer;
}

async function send(upstream, { method, url }, requestId, body) {
  const response = await fetch(`${upstream.url}${url}`, {
    method,
    headers: { "content-type": "application/json", "x-request-id": requestId },
    body: body.length > 0 ? body : undefined,
    signal: AbortSignal.timeout(config.upstream_timeout_ms),
  });
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}

// A refused connection has not reached the service, so another instance may be tried. Other failures may have reached
// it.
function failed(error, upstream, requestId) {
  const reason = error.cause?.code ?? error.name;
  write("warn", { msg: "upstream failed", request_id: requestId, upstream: upstream.name, reason });
  const status = error.name === "TimeoutError" ? 504 : 502;
  return { status, body: Buffer.from('{"error":"no answer from the service"}'), refused: reason === "ECONNREFUSED" };
}

async function readBody(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function readConfig() {
  return JSON.parse(readFileSync(process.env.CONFIG, "utf8"));
}

function write(level, fields) {
  const pairs = Object.entries({ time: new Date().toISOString(), level, ...fields });
  const text = pairs.map(([key, value]) => `${key}=${/\s/.test(value) ? JSON.stringify(value) : value}`);
  process.stdout.write(`${text.join(" ")}\n`);
}
