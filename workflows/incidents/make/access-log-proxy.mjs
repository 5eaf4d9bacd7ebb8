// The proxy at the edge. Writes an access log in nginx's combined format, and errors as nginx words them; reads its
// configuration again on SIGHUP.
import { appendFileSync, readFileSync } from "node:fs";
import { Agent, request as ask, createServer } from "node:http";

const { PORT, UPSTREAM, CONFIG, ERROR_LOG } = process.env;
const upstream = new URL(UPSTREAM);
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
let config = readConfig();
let connections = 0;
const counts = new Map();

const proxy = createServer((request, response) => handle(request, response, ++connections));
proxy.keepAliveTimeout = 60_000;
proxy.listen(Number(PORT), "127.0.0.1", () => complain("notice", "start worker processes"));
process.on("SIGHUP", () => {
  config = readConfig();
  complain("notice", "signal process started, reconfiguring");
});
process.once("SIGTERM", () => process.exit(0));

function handle(request, response, connection) {
  if (request.url === "/healthz") return response.end();
  if (request.url === "/metrics") return response.end(exposition());
  const length = Number(request.headers["content-length"] ?? 0);
  const client = { connection, ip: request.headers["x-forwarded-for"] ?? "127.0.0.1", bytes: 0 };
  response.once("finish", () => access(request, response, client));
  if (length > limitOf(request.url)) {
    complain(
      "error",
      `*${connection} client intended to send too large body: ${length} bytes${about(request, client)}`,
    );
    request.resume();
    return answer(response, 413, "<html><head><title>413 Request Entity Too Large</title></head></html>");
  }
  const { hostname, port } = upstream;
  const { method, url: path, headers } = request;
  const forward = ask({ agent, hostname, port, method, path, headers, timeout: config.timeout_ms }, (reply) => {
    response.writeHead(reply.statusCode, reply.headers);
    reply.on("data", (chunk) => {
      client.bytes += chunk.length;
    });
    reply.pipe(response);
  });
  forward.once("timeout", () => forward.destroy(new Error("upstream timed out (110: Connection timed out)")));
  forward.once("error", (error) => {
    complain(
      "error",
      `*${connection} ${error.message} while reading response header from upstream${about(request, client)}`,
    );
    if (!response.headersSent) answer(response, 502, "<html><head><title>502 Bad Gateway</title></head></html>");
  });
  request.pipe(forward);
}

function limitOf(url) {
  const routes = Object.entries(config.routes ?? {});
  const own = routes.find(([pattern]) => new RegExp(pattern).test(url))?.[1].max_body_kb;
  return (own ?? config.max_body_kb) * 1024;
}

function answer(response, status, body) {
  response.setHeader("content-length", body.length);
  response.writeHead(status, { "content-type": "text/html" });
  response.end(body);
}

function access({ method, url, headers }, response, { ip, bytes }) {
  const route = `${method} ${url.split("?")[0].replace(/\/\d+/g, "/:id")}`;
  const key = `http_requests_total{route="${route}",status="${response.statusCode}"}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
  const { referer = "-", "user-agent": agentName = "-" } = headers;
  const line = `${ip} - - [${commonTime()}] "${method} ${url} HTTP/1.1" ${response.statusCode} ${response.getHeader("content-length") ?? bytes}`;
  process.stdout.write(`${line} "${referer}" "${agentName}"\n`);
}

function exposition() {
  return [...counts].map(([key, value]) => `${key} ${value}\n`).join("");
}

function about({ method, url, headers }, { ip }) {
  return `, client: ${ip}, server: _, request: "${method} ${url} HTTP/1.1", host: "${headers.host}"`;
}

function complain(level, text) {
  const time = new Date().toISOString().slice(0, 19).replaceAll("-", "/").replace("T", " ");
  appendFileSync(ERROR_LOG, `${time} [${level}] ${process.pid}#${process.pid}: ${text}\n`);
}

/** 22/Nov/2026:09:31:02 +0000 */
function commonTime() {
  const [, day, month, year, time] = /, (\d+) (\w+) (\d+) (\S+)/.exec(new Date().toUTCString());
  return `${day}/${month}/${year}:${time} +0000`;
}

function readConfig() {
  return JSON.parse(readFileSync(CONFIG, "utf8"));
}
