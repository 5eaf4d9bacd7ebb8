import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelFetch } from "../../../src/app/adapters/model-fetch.ts";
import type { Received } from "../../../src/models/faults.ts";
import { type Loopback, sendJson, startLoopback } from "../../../src/testing.ts";

/** The behavior of `fetch` that the SDKs of models rely on, against a server on loopback. */

let server: Loopback;
const sockets: Socket[] = [];
const arrived = new Map<string, (response: ServerResponse) => void>();
const closed = new Map<string, () => void>();

const ANSWERS: Readonly<Record<string, (response: ServerResponse, request: { readonly body: string }) => void>> = {
  "/echo": (response, { body }) => sendJson(response, 200, { body }, { "x-many": "one" }),
  "/failed": (response) => sendJson(response, 529, { error: "busy" }, { "retry-after": "7" }),
  "/empty": (response) => void response.writeHead(204).end(),
  "/gzip": (response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("packed")),
  "/broken-gzip": (response) =>
    void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("packed".repeat(999)).subarray(0, 30)),
  "/deflate": (response) => void response.writeHead(200, { "content-encoding": "deflate" }).end(deflateSync("packed")),
  "/redirect": (response) => void response.writeHead(307, { location: "/echo?token=secret" }).end("moved"),
  "/not-modified": (response) => void response.writeHead(304).end(),
  "/cut-at-once": (response) => void response.socket?.destroy(),
  "/half": (response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("half of it", () => response.socket?.destroy());
  },
  "/half-chunked": (response) => {
    response.writeHead(200);
    response.write("half of it", () => response.socket?.destroy());
  },
  "/odd-status": (response) => void response.writeHead(799).end(),
};

beforeAll(async () => {
  server = await startLoopback((request, response) => {
    const { url = "" } = request;
    sockets.push(response.socket as Socket);
    response.once("close", () => closed.get(url)?.());
    const answer = ANSWERS[url];
    if (answer) answer(response, request);
    else arrived.get(url)?.(response);
  });
});
afterAll(() => server.close());

const post = (path: string, init: RequestInit = {}) =>
  modelFetch({}, false)(`${server.url}${path}`, { method: "POST", body: "{}", ...init });

/** Answers a path by hand. */
function held(path: string) {
  const response = new Promise<ServerResponse>((resolve) => arrived.set(path, resolve));
  const isClosed = new Promise<void>((resolve) => closed.set(path, resolve));
  return { response, isClosed };
}

async function bodyOf({ body }: Received): Promise<string> {
  const reader = body?.getReader();
  const chunks: Uint8Array[] = [];
  for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) chunks.push(chunk.value);
  return Buffer.concat(chunks).toString("utf8");
}

async function textOf(chunk: Promise<{ readonly value?: Uint8Array | undefined }> | undefined) {
  return new TextDecoder().decode((await chunk)?.value);
}

describe("the headers of the bundled SDKs", () => {
  const given = [
    ["Accept", " text/plain "],
    ["x-many", "one"],
    ["X-Many", "two"],
    ["x-gone", "1"],
  ];
  it("are the same as Node's, and both kinds of `fetch` send them", async () => {
    const { Headers: Light } = await import(new URL("../../../scripts/headers.mjs", import.meta.url).href);
    const [light, own] = [new Light(given), new Headers(given as [string, string][])];
    for (const headers of [light, own]) {
      headers.set("X-Set", 1);
      headers.delete("X-GONE");
    }
    expect([...light].sort()).toEqual([...own]);
    expect([light.get("ACCEPT"), light.get("x-gone"), light.has("X-SET")]).toEqual(["text/plain", null, true]);
    expect([...new Light({ A: "b" })]).toEqual([["a", "b"]]);
    for (const env of [{}, { HTTP_PROXY: "http://127.0.0.1:9" }]) {
      await modelFetch(env, false)(`${server.url}/echo`, { method: "POST", headers: light, body: "{}" });
      expect(server.requests.at(-1)?.headers).toMatchObject(Object.fromEntries(own));
    }
  });
});

describe("the fetch for model requests", () => {
  it("sends method, headers and body, and returns status, headers and body", async () => {
    const response = await post("/echo", { headers: new Headers({ "X-Api-Key": "k" }), body: "Grüße" });
    expect(response).toMatchObject({ ok: true, status: 200, statusText: "OK" });
    expect(response.headers.get("x-many")).toBe("one");
    expect(await bodyOf(response)).toBe('{"body":"Grüße"}');
    const { headers, method } = server.requests.at(-1) as unknown as IncomingMessage;
    expect(method).toBe("POST");
    expect(headers).toMatchObject({ "x-api-key": "k", "content-length": "7", "accept-encoding": "gzip" });
  });

  it.each([
    ["/failed", 529, '{"error":"busy"}'],
    ["/empty", 204, ""],
    ["/not-modified", 304, ""],
  ])("returns an error response unchanged: %s", async (path, status, text) => {
    const response = await post(path);
    expect([response.status, await bodyOf(response)]).toEqual([status, text]);
  });

  it("passes on each part of a stream when it arrives", async () => {
    const { response } = held("/stream");
    const asked = post("/stream");
    const sending = await response;
    sending.writeHead(200, { "content-type": "text/event-stream" });
    sending.write("data: 1\n\n");
    const reader = (await asked).body?.getReader();
    expect(await textOf(reader?.read())).toBe("data: 1\n\n");
    sending.end("data: 2\n\n");
    expect(await textOf(reader?.read())).toBe("data: 2\n\n");
    expect(await reader?.read()).toEqual({ done: true });
  });

  it("keeps an error that comes before the first read, and ends a read that is cancelled", async () => {
    const { response } = held("/cut");
    const asked = post("/cut");
    const sending = await response;
    sending.writeHead(200);
    sending.write("begun");
    const answer = await asked;
    sending.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expect(bodyOf(answer)).rejects.toThrow("aborted");
    const { response: other, isClosed } = held("/endless");
    const endless = post("/endless");
    (await other).writeHead(200).write("begun");
    const reader = (await endless).body?.getReader();
    expect(await textOf(reader?.read())).toBe("begun");
    const reading = reader?.read().catch(() => "cancelled");
    await reader?.cancel();
    await reading;
    await isClosed;
  });

  it("unpacks gzip, and rejects what is damaged or was not requested", async () => {
    expect(await bodyOf(await post("/gzip"))).toBe("packed");
    await expect(bodyOf(await post("/broken-gzip"))).rejects.toThrow("unexpected end of file");
    await expect(post("/deflate")).rejects.toThrow("has the encoding deflate, which was not requested");
  });

  it("keeps the connection for the next request", async () => {
    const send = modelFetch({}, false);
    const before = sockets.length;
    for (let round = 0; round < 3; round++) await bodyOf(await send(`${server.url}/echo`));
    expect(new Set(sockets.slice(before)).size).toBe(1);
  });

  it("recovers on the next request if the server closed the open connection", async () => {
    const send = modelFetch({}, false);
    await bodyOf(await send(`${server.url}/echo`));
    const [kept] = sockets.slice(-1);
    const before = server.requests.length;
    await expect(send(`${server.url}/cut-at-once`)).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(server.requests.length - before).toBe(1);
    expect(kept?.destroyed).toBe(true);
    expect((await send(`${server.url}/echo`)).status).toBe(200);
  });

  it.each(["/half", "/half-chunked"])("rejects a body that ends early: %s", async (path) => {
    await expect(bodyOf(await post(path))).rejects.toThrow("aborted");
  });

  it.each<[string, string, object, Record<string, string>?]>([
    ["when nothing listens", "http://127.0.0.1:9/", { code: "ECONNREFUSED" }],
    ["when the connection is cut", "/cut-at-once", { code: "ECONNRESET", message: "socket hang up" }],
    ["when the server does not use TLS", "https", { code: "EPROTO" }],
    ["a status that no response may have", "/odd-status", { message: expect.stringContaining("status 799") }],
    ["a header that would end its line", "/echo", { code: "ERR_INVALID_CHAR" }, { "x-a": "b\r\nx-c: d" }],
  ])("rejects %s", async (_what, place, error, headers = {}) => {
    const url = place === "https" ? server.url.replace("http:", "https:") : new URL(place, server.url).href;
    const asked = modelFetch({}, false)(url, { method: "POST", headers, body: "{}" });
    await expect(asked).rejects.toMatchObject(error);
  });

  it("aborts before, during and after the start of the answer", async () => {
    await expect(post("/echo", { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
    const silent = held("/silent");
    const first = new AbortController();
    const waiting = post("/silent", { signal: first.signal });
    await silent.response;
    first.abort();
    await expect(waiting).rejects.toThrow("aborted");
    await silent.isClosed;

    const begun = held("/begun");
    const second = new AbortController();
    const asked = post("/begun", { signal: second.signal });
    (await begun.response).writeHead(200).write("first");
    const reader = (await asked).body?.getReader();
    expect(await textOf(reader?.read())).toBe("first");
    second.abort();
    await expect(reader?.read()).rejects.toThrow("aborted");
    await begun.isClosed;
  });

  it("closes the connection of a body that is not read to its end", async () => {
    const { response, isClosed } = held("/left");
    const asked = post("/left");
    (await response).writeHead(200).write("first");
    await (await asked).body?.cancel();
    await isClosed;
  });

  it("does not follow a redirect, and does not show its query", async () => {
    const refused = {
      code: "model.rejected",
      message: `${new URL(server.url).host} redirects to ${server.url}/echo, which is not followed`,
    };
    await expect(post("/redirect")).rejects.toMatchObject(refused);
    await expect(
      modelFetch({ HTTPS_PROXY: "http://127.0.0.1:9" }, false)(`${server.url}/redirect`),
    ).rejects.toMatchObject(refused);
  });

  it("contacts only this machine while offline", async () => {
    const local = modelFetch({ HTTP_PROXY: "http://127.0.0.1:9" }, true);
    expect((await local(`${server.url}/echo`)).status).toBe(200);
    await expect(local("http://203.0.113.7/v1")).rejects.toMatchObject({ code: "offline.refused" });
  });
});
