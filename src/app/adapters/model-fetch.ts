import { once } from "node:events";
import { Agent, type IncomingMessage, request as openPlain } from "node:http";
import { request as openSecure, Agent as SecureAgent } from "node:https";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { SkillflowError } from "../../core/base/errors.ts";
import { lazy } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";
import type { ModelFetch, Received } from "../../models/faults.ts";
import { isLoopback, proxiedFetch, proxyOf, refusal } from "./fetch.ts";

/**
 * Returns the `fetch` for model requests: text bodies only, and no redirects, because not every client removes the API
 * key from a redirected request. Without a proxy it uses `node:http`, because Node's `fetch` takes long to load.
 */
export function modelFetch(env: Environment, offline: boolean | undefined): ModelFetch {
  const send: ModelFetch = offline || !proxyOf(env) ? directFetch() : proxiedFetch(env);
  return async (input, init) => {
    const url = new URL(input as string | URL);
    if (offline && !isLoopback(url.hostname)) throw refusal(url.hostname);
    const response = await send(url, { ...init, redirect: "manual" });
    const to = response.headers.get("location") ?? undefined;
    if (response.status < 300 || response.status > 399 || to === undefined) return response;
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
const KEPT = { keepAlive: true, timeout: 4000 };

function directFetch(): ModelFetch {
  const plain = lazy(() => new Agent(KEPT));
  const secure = lazy(() => new SecureAgent(KEPT));
  return async (input, init = {}) => {
    const isSecure = (input as URL).protocol === "https:";
    const { method = "GET", signal, headers: given = {} } = init;
    const pairs = Symbol.iterator in given ? given : Object.entries(given);
    const headers = { "accept-encoding": "gzip", ...Object.fromEntries(pairs) };
    const open = isSecure ? openSecure : openPlain; // each loads its module of Node when it is first named
    const agent = isSecure ? secure() : plain();
    const request = open(input as URL, { method, headers, agent, ...(signal && { signal }) });
    request.on("error", () => undefined); // also emitted after the response, where its body fails too
    request.end(init.body);
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    return responseOf(answer);
  };
}

function responseOf(answer: IncomingMessage): Received {
  const { statusCode: status = 0, statusMessage: statusText = "" } = answer;
  if (status < 200 || status > 599) throw refused(answer, `has the status ${status}, which is not valid`);
  const headers = new Map(Object.entries(answer.headers).map(([name, value]) => [name, `${value}`]));
  const body = [204, 205, 304].includes(status) ? answer.resume() && null : bodyOf(decoded(answer));
  return { ok: status < 300, status, statusText, headers, body };
}

// Web streams of Node take longer than the rest of the response. This reads ahead like one: a request that is aborted
// before its end was read can throw an error that no listener gets.
function bodyOf(stream: Readable): Received["body"] {
  const chunks: Uint8Array[] = [];
  let wake: () => void = () => undefined;
  stream.on("data", (chunk) => void (chunks.push(chunk) > 1 && stream.pause()));
  for (const event of ["data", "error", "end", "close"]) stream.on(event, () => wake());
  const read: ReadableStreamDefaultReader<Uint8Array>["read"] = async () => {
    if (stream.errored) throw stream.errored;
    const value = chunks.shift();
    if (value) return { done: false, value };
    if (stream.readableEnded || stream.closed) return { done: true, value };
    stream.resume();
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
    return read();
  };
  const cancel = async () => void stream.destroy();
  return { cancel, getReader: () => ({ read, cancel, releaseLock: () => undefined }) };
}

function decoded(answer: IncomingMessage): Readable {
  const encoding = answer.headers["content-encoding"] ?? "identity";
  if (encoding === "identity") return answer;
  if (/^(?:x-)?gzip$/i.test(encoding)) return pipeline(answer, createGunzip(), () => undefined);
  throw refused(answer, `has the encoding ${encoding}, which was not requested`);
}

function refused(answer: IncomingMessage, why: string): Error {
  answer.destroy();
  return new Error(`the response ${why}`);
}
