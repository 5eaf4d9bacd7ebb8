import type { ServerResponse } from "node:http";
import type { Json, JsonObject } from "skillflow";
import { type Loopback, type LoopbackHandler, type LoopbackRequest, sendJson, startLoopback } from "skillflow/testing";
import type * as z from "zod";

/** A REST service that refuses every request that its routes do not describe, and answers with published examples. */
export interface RestService extends Loopback {
  /** Messages about requests that the routes do not allow. Empty for a correct client. */
  readonly refusals: readonly string[];
  /** The requested routes, by id, in order. */
  readonly operations: readonly string[];
}

export interface Route {
  readonly id: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: RegExp;
  /** Every parameter that the route accepts, as text. */
  readonly query?: z.ZodType;
  /** The body that it accepts. If undefined, it accepts none. */
  readonly body?: z.ZodType;
  readonly status?: number;
  /** The body is plain text, seen as `{text}`, and the answer is a list of which each item is sent as a line. */
  readonly isLines?: boolean;
  readonly answer: (asked: Pick<Asked, "query" | "body" | "path">) => Json;
}

export interface Answer {
  readonly status?: number;
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly operation: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** Number of earlier requests of this operation. */
  readonly before: number;
  /** The published answer. */
  readonly example: Json;
}

/** A test's own answer. Undefined for the published one. */
export type Script = (asked: Asked) => Answer | undefined;

export interface RestContract {
  readonly routes: readonly Route[];
  /** The answer to a request without the right keys. */
  readonly refuse: (request: LoopbackRequest, operation: string) => Answer | undefined;
  /** The vendor's form of a refusal. */
  readonly fault: (message: string) => unknown;
}

export async function startRest(contract: RestContract, script: Script = () => undefined): Promise<RestService> {
  const refusals: string[] = [];
  const operations: string[] = [];
  const loopback = await startLoopback((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://service.test");
    const route = contract.routes.find(({ method, path }) => method === request.method && path.test(pathname));
    const query = Object.fromEntries(searchParams);
    const fault = route ? faultOf(route, query, request) : `no operation ${request.method} ${request.url}`;
    if (!route || fault) {
      refusals.push(fault ?? "");
      return sendJson(response, route ? 400 : 404, contract.fault(fault ?? ""));
    }
    const refused = contract.refuse(request, route.id);
    if (refused) return sendAnswer(response, refused);
    const before = operations.filter((id) => id === route.id).length;
    operations.push(route.id);
    const asked = { operation: route.id, path: pathname, query, body: bodyOf(route, request), before };
    const example = route.answer(asked);
    const answer = { status: route.status ?? 200, body: example, ...script({ ...asked, example }) };
    const lines = route.isLines && Array.isArray(answer.body) ? { text: linesOf(answer.body) } : {};
    sendAnswer(response, { ...lines, ...answer });
  });
  return { ...loopback, refusals, operations };
}

export function sendAnswer(response: ServerResponse, { status = 200, body, text, headers }: Answer): void {
  if (text === undefined) {
    sendJson(response, status, body, headers);
  } else {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(text);
  }
}

const LONGEST = [30_000, 8000, 2000];

/**
 * An answer at maximum size: thirty of everything, and texts of 30 KB where texts may be long, shorter ones in lists.
 */
export function swollen(value: Json, long: readonly string[], key = "", depth = 0): Json {
  if (typeof value === "string") return long.includes(key) ? value.padEnd(LONGEST[depth] ?? 500, ' é"\n') : value;
  if (Array.isArray(value)) {
    const isPoint = value.length === 0 || typeof value[0] === "number";
    return isPoint ? value : Array(30).fill(swollen(value[0], long, key, depth + 1));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, item]) => [member, swollen(item, long, member, depth)]),
  );
}

/** Forwards requests for a bare service to this one. */
export function forwarding(service: Loopback): LoopbackHandler {
  return async ({ method, url, headers, body }, response) => {
    const { host: _, connection: __, "content-length": ___, "transfer-encoding": ____, ...own } = headers;
    const answer = await fetch(service.url + url, {
      method,
      headers: own as Record<string, string>,
      ...(body ? { body } : {}),
    });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(await answer.text());
  };
}

function faultOf(route: Route, query: unknown, request: LoopbackRequest): string | undefined {
  const parameters = route.query?.safeParse(query);
  if (parameters && !parameters.success) return `${route.id} parameters: ${parameters.error.message}`;
  if (!route.query && Object.keys(query as object).length > 0) return `${route.id} takes no parameters`;
  if (!route.body) return request.body ? `${route.id} takes no body` : undefined;
  const type = route.isLines ? "text/plain" : "application/json";
  if (!request.headers["content-type"]?.startsWith(type)) return `${route.id} takes ${type}`;
  const body = route.body.safeParse(bodyOf(route, request));
  return body.success ? undefined : `${route.id} body: ${body.error.message}`;
}

function bodyOf(route: Route, { body }: LoopbackRequest): JsonObject {
  if (route.isLines) return { text: body };
  return body ? (JSON.parse(body) as JsonObject) : {};
}

function linesOf(rows: readonly unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}
