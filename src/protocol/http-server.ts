import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { messageOf, SkillflowError } from "../core/base/errors.ts";
import type { Hint } from "../core/base/options.ts";

/** JSON over HTTP for programs. Requests from web pages of other sites are rejected. */

export interface HttpOptions {
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Required as `Authorization: Bearer`. Undefined disables authentication. */
  readonly token?: string | undefined;
  readonly mostBytes: number;
  readonly endpoints?: ReadonlyMap<string, Endpoint>;
  /** Handlers for any method that may stream their response, by path. A path that ends with `/` includes all below it. */
  readonly handlers?: ReadonlyMap<string, Handler>;
  /** Handles every request instead of the above, and does its own access checks. */
  readonly site?: Site;
  /** Time limit for receiving a whole request. Defaults to a minute. */
  readonly requestTimeoutMs?: number;
}

type Site = (request: Request, asked: Asked) => Promise<Response>;

/** Extras for a request of a site, which comes without its body. */
export interface Asked {
  readonly host: string;
  /** Reads the exact body. Returns undefined if it is too large. */
  body(): Promise<Buffer | undefined>;
}

/** Answers a POST's body with JSON, or with 204 for undefined. The signal aborts when the caller disconnects. */
export type Endpoint = (body: string, signal: AbortSignal) => Promise<string | undefined>;

/** Answers a request, whose signal aborts when the caller disconnects or the server is stopping. */
export type Handler = (request: Request) => Promise<Response>;

export interface HttpServer {
  /** Base URL, `http://host:port`. */
  readonly url: string;
  /** Stops accepting calls. Resolves when running calls are answered, or are cut off after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export async function openHttpServer(options: HttpOptions): Promise<HttpServer> {
  const callers = new Set<AbortController>();
  const underWay = new Set<ServerResponse>();
  /** Also closes connections that never sent a request, which Node does not count as idle. */
  const closeIdle = () => {
    if (!server.listening && underWay.size === 0) server.closeAllConnections();
  };
  const { requestTimeoutMs = 60_000 } = options;
  const server = createServer({ connectionsCheckingInterval: LOOK_MS }, (request, response) => {
    if (!server.listening) response.setHeader("connection", "close");
    underWay.add(response);
    response.once("close", () => {
      underWay.delete(response);
      setImmediate(closeIdle);
    });
    serve(request, response, options, callers).catch(() => response.destroy());
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = requestTimeoutMs;
  await listen(server, options);
  const { address, port, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    close: (graceMs) =>
      new Promise((resolve) => {
        const cutOff = setTimeout(() => {
          for (const caller of callers) caller.abort(new Error("the server is stopping"));
          server.closeAllConnections();
        }, graceMs);
        server.close(() => {
          clearTimeout(cutOff);
          resolve();
        });
        closeIdle();
      }),
  };
}

/** Interval for checking request timeouts. */
const LOOK_MS = 2000;

function listen(server: Server, { host, port }: HttpOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const hint: Hint | undefined =
        error.code === "EADDRINUSE" ? ["choose another one by ", { option: "port" }] : undefined;
      reject(new SkillflowError("server.failed", `cannot listen on ${host}:${port}: ${messageOf(error)}`, { hint }));
    });
    server.listen(port, host, resolve);
  });
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: HttpOptions,
  callers: Set<AbortController>,
): Promise<void> {
  const { site, host, mostBytes } = options;
  const caller = new AbortController();
  callers.add(caller);
  response.once("close", () => {
    if (!response.writableFinished) caller.abort(new Error("the client disconnected"));
  });
  try {
    const body = () => readBody(request, mostBytes);
    const asked = { host: `${host}:${request.socket.localPort}`, body };
    const answer = site
      ? await site(webRequest(request, caller.signal), asked)
      : await answerProgram(request, { ...options, body, signal: caller.signal });
    if (typeof answer === "string") answerJson(response, answer);
    else await stream(response, answer);
  } finally {
    callers.delete(caller);
  }
}

/** Methods that a web `Request` supports. Any other is passed as PATCH, which every site refuses. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

interface ProgramRequest extends HttpOptions, Pick<Asked, "body"> {
  readonly signal: AbortSignal;
}

/**
 * Answers a program that has the token and is not a web page of another site. Returns an endpoint's JSON as text: a
 * `Response` would take most of the time of a short answer.
 */
async function answerProgram(request: IncomingMessage, options: ProgramRequest): Promise<Response | string> {
  const { endpoints = new Map(), handlers = new Map(), signal } = options;
  const { pathname: path } = addressOf(request);
  const folder = [...handlers.keys()].find((key) => key.endsWith("/") && path.startsWith(key));
  const handler = handlers.get(path) ?? handlers.get(folder ?? "");
  const endpoint = endpoints.get(path);
  const isHandled = handler !== undefined;
  const refusal = refusalOf(request, { ...options, path, isHandled, isEndpoint: endpoint !== undefined });
  if (refusal) return refused(...refusal);
  if (path === "/health") return Response.json({ status: "ok" });
  const body = await options.body();
  if (!body) return refused(413, `a body may have at most ${options.mostBytes} bytes`);
  if (!handler) return (await endpoint?.(body.toString("utf8"), signal)) ?? new Response(null, { status: 204 });
  const asked = webRequest(request, signal);
  const hasBody = asked.method !== "GET" && asked.method !== "HEAD";
  return handler(hasBody ? new Request(asked, { body: new Uint8Array(body) }) : asked);
}

type Refusal = readonly [status: number, message: string, headers?: Readonly<Record<string, string>>];

interface Addressed extends Pick<HttpOptions, "host" | "token"> {
  readonly path: string;
  readonly isHandled: boolean;
  readonly isEndpoint: boolean;
}

function refusalOf({ method, headers }: IncomingMessage, addressed: Addressed): Refusal | undefined {
  const { host, token, path, isHandled, isEndpoint } = addressed;
  if (isForeign(headers.host, headers.origin, host)) return [403, "requests from pages of other sites are refused"];
  if (path === "/health") return method === "GET" ? undefined : [405, "GET only", { allow: "GET" }];
  if (!isHandled && !isEndpoint) return [404, "there is nothing here"];
  if (token !== undefined && !isSame(bearerOf(headers.authorization) ?? "", token)) {
    return [401, "a token is needed: Authorization: Bearer …", { "www-authenticate": "Bearer" }];
  }
  if (isHandled) return undefined;
  if (method !== "POST") return [405, "POST only", { allow: "POST" }];
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  return type === "application/json" ? undefined : [415, "the content type must be application/json"];
}

function refused(...[status, error, headers = {}]: Refusal): Response {
  return Response.json({ error }, { status, headers: { connection: "close", ...headers } });
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i;

/** Detects requests from other sites, by the Origin header, and DNS rebinding, by the Host header. */
export function isForeign(host: string | undefined, origin: string | undefined, own: string): boolean {
  if (origin !== undefined && origin.replace(/^https?:\/\//, "") !== host) return true;
  return isLoopback(own) && !LOOPBACK.test(host ?? "");
}

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host.includes(":") ? `[${host}]` : host);
}

export function bearerOf(header: string | null | undefined): string | undefined {
  return /^Bearer +(\S.*)$/i.exec(header ?? "")?.[1];
}

export function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/**
 * Reads the body. Returns undefined if it is too large. Discards the excess for a moment, because a sender that is cut
 * off while sending may never read the answer.
 */
function readBody(request: IncomingMessage, most: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let dropping: NodeJS.Timeout | undefined;
    const drop = () => {
      chunks.length = 0;
      dropping ??= setTimeout(() => resolve(undefined), DROP_MS);
    };
    if (Number(request.headers["content-length"]) > most) drop();
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= most) chunks.push(chunk);
      else drop();
    });
    request.on("end", () => resolve(length > most ? undefined : Buffer.concat(chunks)));
    request.on("error", reject);
    request.on("close", () => {
      clearTimeout(dropping);
      reject(new Error("the client disconnected"));
    });
  });
}

const DROP_MS = 2000;

/** Headers of a page that forbid caching, framing, type sniffing, loading from other sites, and scripts. */
export const SAFE_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": pagePolicy({}),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

/** Returns the policy of a page, which may have scripts with the nonce, or forms for this server. */
export function pagePolicy({ nonce, forms = "'none'" }: { readonly nonce?: string; readonly forms?: string }): string {
  const script = nonce === undefined ? [] : [`script-src 'nonce-${nonce}'`, "connect-src 'self'"];
  const rest = ["style-src 'unsafe-inline'", "img-src data:", "base-uri 'none'", `form-action ${forms}`];
  return ["default-src 'none'", ...script, ...rest, "frame-ancestors 'none'"].join("; ");
}

export function page(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Response {
  const type = { "content-type": "text/html; charset=utf-8" };
  return new Response(body, { status, headers: { ...SAFE_HEADERS, ...type, ...headers } });
}

function addressOf({ url = "/" }: IncomingMessage): URL {
  return new URL(url.startsWith("/") ? url : "/", "http://localhost");
}

/** Returns the request without its body. */
function webRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", headers } = request;
  const all = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((each): [string, string] => [name, each]),
  );
  return new Request(addressOf(request), { method: METHODS.has(method) ? method : "PATCH", headers: all, signal });
}

function answerJson(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}

/** Streams the answer at the caller's pace. Stops if the caller disconnects. */
async function stream(response: ServerResponse, { status, headers, body }: Response): Promise<void> {
  response.writeHead(status, Object.fromEntries(headers));
  if (body === null) return void response.end();
  response.flushHeaders();
  await pipeline(Readable.fromWeb(body as ReadableStream<Uint8Array>), response);
}
