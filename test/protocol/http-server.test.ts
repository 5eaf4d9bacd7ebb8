import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { type HttpOptions, type HttpServer, isLoopback, openHttpServer } from "../../src/protocol/http-server.ts";

const opened: HttpServer[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close(0)));
});

async function open(options: Partial<HttpOptions> = {}) {
  const server = await openHttpServer({
    host: "127.0.0.1",
    port: 0,
    token: undefined,
    mostBytes: 1000,
    endpoints: new Map([["/rpc", async (body) => (body === "silent" ? undefined : `{"got":${body.length}}`)]]),
    ...options,
  });
  opened.push(server);
  return server;
}

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const JSON_TYPE = { "content-type": "application/json" };

function send({ url }: HttpServer, { method = "POST", path = "/rpc", headers = JSON_TYPE, body = "{}" }: Sent) {
  return new Promise<{ status: number | undefined; text: string; headers: object }>((resolve, reject) => {
    const sent = httpRequest(url + path, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString(), headers: response.headers }),
      );
    });
    sent.on("error", reject);
    sent.end(method === "GET" || method === "OPTIONS" ? undefined : body);
  });
}

describe("the server", () => {
  test.each<[string, Sent, number]>([
    ["answers a POST", {}, 200],
    ["answers a POST with a charset", { headers: { "content-type": "Application/JSON; charset=utf-8" } }, 200],
    ["answers nothing with 204", { body: "silent" }, 204],
    ["reports that it is running", { method: "GET", path: "/health" }, 200],
    ["refuses a GET", { method: "GET" }, 405],
    ["refuses a preflight of a page", { method: "OPTIONS" }, 405],
    ["refuses a POST to the health", { path: "/health" }, 405],
    ["knows no other path", { path: "/" }, 404],
    ["refuses another type", { headers: { "content-type": "text/plain" } }, 415],
    ["refuses no type", { headers: {} }, 415],
    ["refuses a body too large", { body: "x".repeat(1001) }, 413],
    [
      "refuses a body too large that is not announced",
      { body: "x".repeat(5000), headers: { ...JSON_TYPE, "transfer-encoding": "chunked" } },
      413,
    ],
    ["refuses a page of another site", { headers: { ...JSON_TYPE, origin: "https://evil.example" } }, 403],
    ["refuses a page without an origin", { headers: { ...JSON_TYPE, origin: "null" } }, 403],
    ["refuses a name that was made to point here", { headers: { ...JSON_TYPE, host: "evil.example" } }, 403],
    ["is called localhost too", { headers: { ...JSON_TYPE, host: "localhost:1" } }, 200],
  ])("%s", async (_, sent, status) => {
    expect((await send(await open(), sent)).status).toBe(status);
  });

  test("does not let pages of other sites read answers", async () => {
    const { headers } = await send(await open(), { headers: { ...JSON_TYPE } });
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test.each<[string, string | undefined, number]>([
    ["no token", undefined, 401],
    ["another token", "Bearer wrong", 401],
    ["another scheme", "Basic secret-token", 401],
    ["a longer token", "Bearer secret-token-and-more", 401],
    ["the token", "Bearer secret-token", 200],
    ["the token, its scheme in small letters", "bearer secret-token", 200],
  ])("that requires a token answers %s correctly", async (_, authorization, status) => {
    const server = await open({ token: "secret-token" });
    const headers = { ...JSON_TYPE, ...(authorization ? { authorization } : {}) };
    expect((await send(server, { headers })).status).toBe(status);
    expect((await send(server, { method: "GET", path: "/health", headers: {} })).status).toBe(200);
  });

  test("that closes answers running requests and accepts no new ones", async () => {
    let finish: (answer: string) => void = () => undefined;
    let begun: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const server = await open({
      endpoints: new Map([
        [
          "/rpc",
          () => {
            begun();
            return new Promise<string>((resolve) => {
              finish = resolve;
            });
          },
        ],
      ]),
    });
    const first = send(server, {});
    await started;
    const closed = server.close(60_000);
    await expect(send(server, {})).rejects.toThrow();
    finish('"done"');
    expect((await first).text).toBe('"done"');
    await closed;
  });

  test("that closes aborts requests that take too long, and their handlers get the signal", async () => {
    let heard: unknown;
    let begun: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const server = await open({
      endpoints: new Map([
        [
          "/rpc",
          (_: string, signal: AbortSignal) =>
            new Promise<string>((_resolve, reject) => {
              begun();
              signal.addEventListener("abort", () => {
                heard = signal.reason;
                reject(signal.reason);
              });
            }),
        ],
      ]),
    });
    const cut = send(server, {}).catch((error: unknown) => error);
    await started;
    await server.close(0);
    expect(await cut).toBeInstanceOf(Error);
    expect(heard).toBeInstanceOf(Error);
  });

  test("lets a handler answer every method with a long response, and aborts it when its caller is gone", async () => {
    let hear: (reason: unknown) => void = () => undefined;
    const gone = new Promise((resolve) => {
      hear = resolve;
    });
    const handler = async (request: Request) => {
      const text = await request.text();
      if (text !== "forever") {
        const words = `${request.method} ${text} ${request.headers.get("x-more")}`;
        return new Response(`${words} back`, { status: 201, headers: { "x-back": "yes" } });
      }
      request.signal.addEventListener("abort", () => hear(request.signal.reason));
      return new Response(new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(10)) }));
    };
    const server = await open({ handlers: new Map([["/long", handler]]) });
    const headers = { "x-more": "more" };
    const put = await send(server, { method: "PUT", path: "/long", headers, body: "body" });
    expect(put).toMatchObject({ status: 201, text: "PUT body more back", headers: { "x-back": "yes" } });
    expect((await send(server, { method: "GET", path: "/long", headers })).text).toBe("GET  more back");
    expect((await send(server, { path: "/long", headers: { origin: "https://evil.example" } })).status).toBe(403);
    const leaving = httpRequest(`${server.url}/long`, { method: "POST" }, (response) => {
      response.once("data", () => leaving.destroy());
    });
    leaving.on("error", () => undefined);
    leaving.end("forever");
    expect(await gone).toMatchObject({ message: "the client disconnected" });
  });

  test("reports that its port is taken", async () => {
    const { url } = await open();
    await expect(open({ port: Number(new URL(url).port) })).rejects.toMatchObject({
      code: "server.failed",
      hint: "choose another one by --port",
    });
  });
});

test.each([
  ["127.0.0.1", true],
  ["127.9.9.9", true],
  ["localhost", true],
  ["::1", true],
  ["0.0.0.0", false],
  ["::", false],
  ["10.0.0.1", false],
  ["localhost.evil.example", false],
])("%s is loopback: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});
