import { createHash } from "node:crypto";
import type { Listener, Taken } from "../../app/listen/listener.ts";
import type { Setting, Source } from "../../app/listen/setting.ts";
import { attempt } from "../../core/base/errors.ts";
import { nearest, parseJson } from "../../core/base/values.ts";
import { parseSize } from "../../core/document/listen/listen-file.ts";
import { type Asked, openHttpServer } from "../http-server.ts";
import { answerMetrics, type MetricsSite } from "../metrics.ts";
import { type ApprovalPages, answerApproval } from "./approval.ts";
import { type Headers, isBearer, isRecent, KINDS, type Kind } from "./kinds.ts";
import { readEvent, readInteraction, SLACK, SLACK_PATHS } from "./slack.ts";

/** Server for webhooks of alerting systems. Verifies each request before using its content. */

interface WebhookOptions {
  readonly host: string;
  readonly port: number;
  readonly pages: ApprovalPages;
  readonly metrics: MetricsSite;
  readonly onEvent: (event: WebhookTold) => void;
  readonly onFault: (error: unknown) => void;
}

export interface WebhookTold {
  readonly source: string;
  readonly status: number;
  readonly text: string;
}

const USUAL_BODY = 1024 * 1024;
/** Short time limit, because webhooks are small and sent at once. */
const REQUEST_MS = 15_000;
const DRAIN_AFTER_S = 10;
const FAULT_AFTER_S = 30;

export async function openWebhooks(
  setting: Setting,
  listener: Listener,
  { host, port, pages, metrics, onEvent, onFault }: WebhookOptions,
) {
  const { file, sources } = setting;
  let isDraining = false;
  const mostBytes = file.max_body === undefined ? USUAL_BODY : (parseSize(file.max_body) ?? USUAL_BODY);
  const answerTo = async (request: Request, asked: Asked): Promise<Response> => {
    const path = new URL(request.url).pathname;
    if (path === "/health") return health(request, isDraining);
    if (path === "/metrics") return answerMetrics(request, metrics);
    if (path.startsWith("/approve/")) {
      return answerApproval(request, asked, { links: listener.links, pages });
    }
    const open: Open = (kind, secret) => openRequest(request, asked, { kind, secret, mostBytes, isDraining });
    const source = sources.get(path.slice(1));
    const answered =
      setting.slack && SLACK_PATHS.has(path)
        ? answerSlack(path, () => open(SLACK, setting.slack?.secret ?? ""), listener)
        : source && answerWebhook(headersOf(request), open, { source, listener });
    if (!answered) {
      const near = nearest(path.slice(1, 80), sources.keys());
      return json(404, { error: `there is no such source${near === undefined ? "" : `: did you mean /${near}?`}` });
    }
    const { status, text, body, headers } = await answered;
    onEvent({ source: path.slice(1), status, text });
    return body ? json(status, body, headers) : new Response(null, { status });
  };
  const server = await openHttpServer({
    host,
    port,
    mostBytes,
    requestTimeoutMs: REQUEST_MS,
    async site(request, asked) {
      try {
        return await answerTo(request, asked);
      } catch (error) {
        // The webhook was not accepted, so ask the sender to retry.
        if (request.signal.aborted) throw error;
        onFault(error);
        return json(503, { error: "it could not be accepted" }, { "retry-after": String(FAULT_AFTER_S) });
      }
    },
  });
  return {
    url: server.url,
    close: server.close,
    /** Rejects new webhooks from now on. */
    drain: () => {
      isDraining = true;
    },
  };
}

function health({ method }: Request, isDraining: boolean): Response {
  if (method !== "GET" && method !== "HEAD") return json(405, { error: "GET only" }, { allow: "GET" });
  return isDraining ? json(503, { status: "draining" }) : json(200, { status: "ok" });
}

interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Returns the body of a genuine request, otherwise its refusal. */
type Open = (kind: Kind, secret: string) => Promise<Uint8Array | Answer>;

async function answerWebhook(
  headers: Headers,
  open: Open,
  { source, listener }: { readonly source: Source; readonly listener: Listener },
): Promise<Answer> {
  const kind = KINDS[source.said.kind];
  const body = await open(kind, source.secret);
  if (!(body instanceof Uint8Array)) return body;
  const value = parseBody(body);
  if (value === undefined) return refused(400, "the body is not JSON in UTF-8, or is nested too deeply");
  if (kind.isGreeting?.(headers, value)) return { status: 200, body: { ok: true }, text: "is set up" };
  const id = kind.delivery?.(headers, value);
  if (id === undefined && kind.deliveryHeader) return refused(400, `the header ${kind.deliveryHeader} is missing`);
  const event = kind.event === undefined ? undefined : headers.get(kind.event);
  const digest = createHash("sha256").update(body).digest("hex");
  const delivery = { source, id, digest, event: { body: value, ...(event === undefined ? {} : { event }) } };
  return describeTaken(await listener.take(delivery));
}

interface Guard {
  readonly kind: Kind;
  readonly secret: string;
  readonly mostBytes: number;
  readonly isDraining: boolean;
}

async function openRequest(request: Request, asked: Asked, guard: Guard): Promise<Uint8Array | Answer> {
  const { kind, secret, mostBytes, isDraining } = guard;
  const headers = headersOf(request);
  if (request.method !== "POST") return refused(405, "POST only", { allow: "POST" });
  if (isDraining) return refused(503, "the listener is stopping", { "retry-after": String(DRAIN_AFTER_S) });
  if (kind.proof.by === "token" && !isBearer(headers, secret)) {
    return refused(401, "the token is missing or wrong: Authorization: Bearer …", { "www-authenticate": "Bearer" });
  }
  const body = await asked.body();
  if (body === undefined) return refused(413, `a body may have at most ${mostBytes} bytes`, { connection: "close" });
  if (kind.proof.by === "signature" && !kind.proof.isGenuine({ headers, body }, secret)) {
    return refused(401, "the signature is missing or wrong");
  }
  if (!isRecent(kind, headers, Date.now())) return refused(401, "it was not sent within the last five minutes");
  return body;
}

function headersOf(request: Request): Headers {
  return { get: (name) => request.headers.get(name) || undefined };
}

/** Answers a request of Slack once its event is on disk. */
async function answerSlack(path: string, open: () => ReturnType<Open>, { slack }: Listener): Promise<Answer> {
  const body = await open();
  if (!(body instanceof Uint8Array)) return body;
  const isForm = path === "/slack/interactions";
  const form = isForm ? new URLSearchParams(Buffer.from(body).toString("utf8")) : undefined;
  const payload = parseBody(form ? Buffer.from(form.get("payload") ?? "") : body);
  const read = payload === undefined ? undefined : (isForm ? readInteraction : readEvent)(payload);
  if (!read) return refused(400, "it is not an event or an interaction of Slack", { "x-slack-no-retry": "1" });
  if (read.kind === "challenge") return { status: 200, body: { challenge: read.challenge }, text: "is set up" };
  if (read.kind === "ignored") return { status: 200, text: read.reason };
  return { status: 200, text: (await slack?.receive(read.event)) ?? "ignored" };
}

/** Returns undefined for a body that is not JSON in UTF-8. */
function parseBody(bytes: Uint8Array) {
  const text = attempt(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  return text === undefined ? undefined : parseJson(text);
}

function describeTaken(taken: Taken): Answer {
  switch (taken.kind) {
    case "accepted":
      return { status: 202, body: { run: taken.run }, text: `accepted as ${taken.run}` };
    case "duplicate":
      return { status: 200, body: { run: taken.run, duplicate: true }, text: `a duplicate of ${taken.run}` };
    case "joined":
      return { status: 200, body: { run: taken.run, joined: true }, text: `joined to ${taken.run}` };
    case "ignored":
      return { status: 200, body: { ignored: true, reason: taken.reason }, text: `ignored: ${taken.reason}` };
    case "invalid":
      return refused(400, taken.reason);
    case "limited":
      return refused(429, taken.reason, { "retry-after": String(taken.afterS) });
  }
}

function refused(status: number, error: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, body: { error }, headers, text: error };
}

function json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
  const fixed = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return new Response(JSON.stringify(body), { status, headers: { ...fixed, ...headers } });
}
