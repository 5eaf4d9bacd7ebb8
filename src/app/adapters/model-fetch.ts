import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { SkillflowError } from "../../core/base/errors.ts";
import type { Environment } from "../../core/document/config.ts";
import { isLoopback, proxiedFetch, proxyOf, refusal } from "./fetch.ts";

/**
 * Returns the `fetch` for model requests: text bodies only, and no redirects, because not every client removes the API
 * key from a redirected request. Without a proxy it uses `node:http`, because the first request of Node's `fetch` takes
 * longer than the rest of the start.
 */
export function modelFetch(env: Environment, offline: boolean | undefined): typeof fetch {
  const send = offline || !proxyOf(env) ? directFetch() : proxiedFetch(env);
  return async (input, init) => {
    const url = new URL(input as string | URL);
    if (offline && !isLoopback(url.hostname)) throw refusal(url.hostname);
    const response = await send(url, { ...init, redirect: "manual" });
    const to = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || to === null) return response;
    await response.body?.cancel();
    throw redirected(url, to);
  };
}

/** The query is not shown, because it may contain a token. */
function redirected(from: URL, to: string): SkillflowError {
  const { origin, pathname } = URL.canParse(to, from.href) ? new URL(to, from) : from;
  return new SkillflowError("model.rejected", `${from.host} redirects to ${origin}${pathname}, which is not followed`, {
    hint: "Set the service's base URL to the new address.",
  });
}

/** Connections that are idle for longer are closed. Many servers close them after five seconds. */
const IDLE_MS = 4000;

function directFetch(): typeof fetch {
  const agents = new Map<string, http.Agent>();
  return async (input, init = {}) => {
    const { protocol } = input as URL;
    const { Agent, request: open } = protocol === "https:" ? https : http;
    const agent = agents.get(protocol) ?? new Agent({ keepAlive: true, timeout: IDLE_MS });
    agents.set(protocol, agent);
    const headers = { "accept-encoding": "gzip", ...Object.fromEntries(new Headers(init.headers)) };
    const { method = "GET", signal } = init;
    const request = open(input as URL, { method, headers, agent, ...(signal && { signal }) });
    request.on("error", () => undefined); // also emitted after the response, where its body fails too
    request.end(init.body);
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    return responseOf(answer);
  };
}

/** Web streams count chunks where streams of Node count bytes. */
const ONE_CHUNK = { strategy: { highWaterMark: 1 } };

function responseOf(answer: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = "" } = answer;
  const headers = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const body = [204, 205, 304].includes(status) ? answer.resume() && null : Readable.toWeb(decoded(answer), ONE_CHUNK);
  return new Response(body, { status, statusText, headers });
}

function decoded(answer: IncomingMessage): Readable {
  const encoding = answer.headers["content-encoding"] ?? "identity";
  if (encoding === "identity") return answer;
  if (/^(?:x-)?gzip$/i.test(encoding)) return pipeline(answer, createGunzip(), () => undefined);
  answer.destroy();
  throw new Error(`the response has the encoding ${encoding}, which was not requested`);
}
