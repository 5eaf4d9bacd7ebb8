import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf, SkillflowError } from "../core/errors.ts";

/** One JSON endpoint over HTTP for programs: no browser of another site gets in. */

export interface HttpOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Asked for as `Authorization: Bearer`; undefined asks for none. */
  readonly token: string | undefined;
  readonly mostBytes: number;
  /** What is served, by path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
}

/** Answers a POST's body with JSON; undefined is answered with 204. The signal ends when the caller is gone. */
export type Endpoint = (body: string, signal: AbortSignal) => Promise<string | undefined>;

export interface HttpServer {
  /** `http://host:port` */
  readonly url: string;
  /** Takes no more calls and resolves when those under way are answered, or were cut off after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export async function openHttpServer(options: HttpOptions): Promise<HttpServer> {
  const stopping = new AbortController();
  const server = createServer((request, response) => {
    serve(request, response, options, stopping.signal).catch(() => response.destroy());
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 60_000;
  await listen(server, options);
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    close: (graceMs) =>
      new Promise((resolve) => {
        const cutOff = setTimeout(() => {
          stopping.abort(new Error("the server stops"));
          server.closeAllConnections();
        }, graceMs);
        server.close(() => {
          clearTimeout(cutOff);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

function listen(server: Server, { host, port }: HttpOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const hint = error.code === "EADDRINUSE" ? "choose another one by --port" : undefined;
      reject(new SkillflowError("server.failed", `cannot listen on ${host}:${port}: ${messageOf(error)}`, { hint }));
    });
    server.listen(port, host, resolve);
  });
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: HttpOptions,
  stopping: AbortSignal,
): Promise<void> {
  const refusal = refusalOf(request, options);
  if (refusal) return refuse(response, ...refusal);
  if (pathOf(request) === "/health") return send(response, 200, '{"status":"ok"}');
  const body = await readBody(request, options.mostBytes);
  if (body === undefined) return refuse(response, 413, `a body has at most ${options.mostBytes} bytes`);
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("the caller is gone")));
  const answer = await options.endpoints.get(pathOf(request))?.(body, AbortSignal.any([gone.signal, stopping]));
  return answer === undefined ? send(response, 204, "") : send(response, 200, answer);
}

type Refusal = readonly [status: number, message: string, headers?: Readonly<Record<string, string>>];

function refusalOf(request: IncomingMessage, options: HttpOptions): Refusal | undefined {
  const { headers, method } = request;
  const path = pathOf(request);
  if (isForeign(headers.host, headers.origin, options)) return [403, "pages of other sites are not served"];
  if (path === "/health") return method === "GET" ? undefined : [405, "GET only", { allow: "GET" }];
  if (!options.endpoints.has(path)) return [404, "there is nothing here"];
  if (options.token !== undefined && !isToken(headers.authorization, options.token)) {
    return [401, "a token is needed: Authorization: Bearer …", { "www-authenticate": "Bearer" }];
  }
  if (method !== "POST") return [405, "POST only", { allow: "POST" }];
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") return [415, "the content type is application/json"];
  return undefined;
}

function pathOf({ url = "/" }: IncomingMessage): string {
  return url.split("?")[0] ?? "/";
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i;

/** A browser names its page's origin; and a name that was made to point here is not one of ours (DNS rebinding). */
function isForeign(host: string | undefined, origin: string | undefined, { host: own }: HttpOptions): boolean {
  if (origin !== undefined && origin.replace(/^https?:\/\//, "") !== host) return true;
  return isLoopback(own) && !LOOPBACK.test(host ?? "");
}

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host.includes(":") ? `[${host}]` : host);
}

/** In the same time wherever the two differ. */
function isToken(header: string | undefined, token: string): boolean {
  const given = /^Bearer +(.+)$/i.exec(header ?? "")?.[1] ?? "";
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/** Undefined when there is more than allowed. */
async function readBody(request: IncomingMessage, most: number): Promise<string | undefined> {
  if (Number(request.headers["content-length"]) > most) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function refuse(response: ServerResponse, ...[status, message, headers = {}]: Refusal): void {
  response.writeHead(status, { "content-type": "application/json", connection: "close", ...headers });
  response.end(JSON.stringify({ error: message }));
}

function send(response: ServerResponse, status: number, body: string): void {
  const headers = body === "" ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  response.writeHead(status, headers);
  response.end(body);
}
