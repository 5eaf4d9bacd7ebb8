import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { type Egress, type EgressParts, openEgress } from "../../../src/sandbox/isolation/egress.ts";

let proxy: number;
const opened: { close(): unknown }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function open(parts: Partial<EgressParts> & Pick<EgressParts, "hosts">): Promise<Egress> {
  const egress = openEgress(parts);
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  proxy = (server.address() as AddressInfo).port;
  egress.accept(server);
  opened.push(egress);
  return egress;
}

async function listening<Kind extends Server>(server: Kind): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  opened.push(server);
  return (server.address() as AddressInfo).port;
}

/** A service of this machine: its port. */
const serve = (answer: RequestListener) => listening(createServer(answer));

/** A connection to the proxy. How it ends does not matter. */
const approach = () => connect(proxy).on("error", () => undefined);

/** Sends a request, and returns all that came back until the end. */
async function ask(request: string): Promise<string> {
  const near = approach();
  near.write(request);
  return text(near);
}

const tunnelTo = (place: string, then = "") => ask(`CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\n${then}`);
const get = (address: string, headers = "") =>
  ask(`GET ${address} HTTP/1.1\r\nHost: ignored.test\r\n${headers}Connection: close\r\n\r\n`);
const CLOSING = "GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

describe("the proxy of a program in a sandbox", () => {
  it("forwards a tunnel to a declared host, and its end too", async () => {
    const port = await serve((asked, answer) => answer.end(`told ${asked.url}`));
    await open({ hosts: [`127.0.0.1:${port}`] });
    const got = await tunnelTo(`127.0.0.1:${port}`, CLOSING);
    expect(got).toMatch(/^HTTP\/1\.1 200 Connection established\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(got).toContain("told /x");
  });

  it("forwards plain requests: method, path, body and headers, except those of the connection", async () => {
    const port = await serve(async (asked, answer) => {
      const { method, url, headers } = asked;
      answer.setHeader("X-Twice", ["a", "b"]);
      answer.statusCode = 201;
      answer.end(JSON.stringify({ method, url, headers, body: await text(asked) }));
    });
    await open({ hosts: [`127.0.0.1:${port}`] });
    const got = await ask(
      `POST http://127.0.0.1:${port}/a?b=c HTTP/1.1\r\nHost: evil.test\r\nX-Own: 1\r\nX-Hop: 2\r\n` +
        "Proxy-Authorization: Basic c2VjcmV0\r\nConnection: close, x-hop\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    );
    expect(got).toMatch(/^HTTP\/1\.1 201 /);
    expect(got.match(/^x-twice: .*$/gim)).toHaveLength(2);
    const { headers, ...told } = JSON.parse(/\{.*\}/.exec(got)?.[0] ?? "");
    expect(told).toEqual({ method: "POST", url: "/a?b=c", body: "abc" });
    expect(headers).toEqual({
      host: `127.0.0.1:${port}`,
      "x-own": "1",
      "transfer-encoding": "chunked",
      connection: "close",
    });
  });

  it.each(["evil.test:443", "evil.test:80", "127.0.0.1:1", "169.254.169.254:80", "localhost:80", "[::1]:443"])(
    "refuses %s, which is not declared, without a DNS look-up",
    async (place) => {
      const asked: string[] = [];
      const lookup = async (host: string) => {
        asked.push(host);
        return ["127.0.0.1"];
      };
      const egress = await open({ hosts: ["api.example.com", "*.example.org"], lookup });
      const [head = "", body] = (await tunnelTo(place)).split("\r\n\r\n");
      expect(head).toMatch(/^HTTP\/1\.1 403 Host not declared: /);
      expect(body).toContain("does not declare this host");
      expect(await get(`http://${place}/`)).toMatch(/^HTTP\/1\.1 403 Host not declared: /);
      expect(egress.report()).toMatch(
        /^skillflow: \S+ was refused: the skill does not declare this host; add ".*" to its network\n$/,
      );
      expect(asked).toEqual([]);
    },
  );

  it("suggests how to declare a refused place", async () => {
    const egress = await open({ hosts: [] });
    await tunnelTo("API.example.com:443");
    await tunnelTo("api.example.com:8443");
    await tunnelTo("api.example.com:8443");
    const declared = [...egress.report().matchAll(/add "(.*)" to its network/g)].map(([, what]) => what);
    expect(declared).toEqual(["api.example.com", "api.example.com:8443"]);
  });

  it.each([
    ["127.0.0.1"],
    ["10.1.2.3"],
    ["169.254.169.254"],
    ["192.168.1.1"],
    ["::1"],
    ["fd00::1"],
    ["::ffff:127.0.0.1"],
    ["93.184.216.34", "10.0.0.1"],
  ])("refuses a declared name that resolves to %s", async (...addresses) => {
    const port = await serve((_asked, answer) => answer.end("reached"));
    const egress = await open({ hosts: [`api.example.com:${port}`], lookup: async () => addresses });
    expect(await tunnelTo(`api.example.com:${port}`)).toMatch(/^HTTP\/1\.1 403 Private address: /);
    expect(await get(`http://api.example.com:${port}/`)).toMatch(/^HTTP\/1\.1 403 Private address: /);
    expect(egress.report()).toContain("declare that address itself");
    expect(egress.report()).not.toContain(addresses[0]);
  });

  it("reaches this machine by the declared name", async () => {
    const port = await serve((_asked, answer) => answer.end("reached"));
    await open({ hosts: [`localhost:${port}`], lookup: async () => [] });
    expect(await get(`http://localhost:${port}/`)).toContain("reached");
    expect(await get(`http://127.0.0.1:${port}/`)).toMatch(/^HTTP\/1\.1 403 /);
  });

  it("reports that a declared host cannot be reached", async () => {
    const closed = createTcpServer();
    const port = await listening(closed);
    await new Promise((resolve) => closed.close(resolve));
    const lookup = async () => {
      throw new Error("no such name");
    };
    const egress = await open({ hosts: ["gone.example.com", `127.0.0.1:${port}`], lookup });
    expect(await tunnelTo("gone.example.com:443")).toMatch(
      /^HTTP\/1\.1 502 [\s\S]*gone\.example\.com cannot be reached\n$/,
    );
    expect(await get(`http://127.0.0.1:${port}/`)).toMatch(/^HTTP\/1\.1 502 /);
    expect(egress.report()).toBe("");
  });

  it.each([
    ["a path", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"],
    ["another scheme", "GET ftp://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"],
    ["https in the clear", "GET https://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"],
    ["a tunnel without a port", "CONNECT 127.0.0.1 HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["a tunnel to a URL", "CONNECT http://127.0.0.1:80/ HTTP/1.1\r\nHost: a\r\n\r\n"],
    [
      "two lengths",
      "POST http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
    ["what is no HTTP", "\x16\x03\x01\x02\x00 hello\r\n\r\n"],
  ])("rejects %s", async (_what, request) => {
    await open({ hosts: ["127.0.0.1"] });
    expect(await ask(request)).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("refuses a head that is too long", async () => {
    await open({ hosts: ["127.0.0.1"] });
    expect(await get("http://127.0.0.1/", `X: ${"x".repeat(20_000)}\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
  });

  it.each([
    ["no answer", ""],
    ["a malformed answer", "hello\r\n\r\n"],
    ["a status that is none", "HTTP/1.1 000 x\r\n\r\n"],
    ["another protocol", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"],
  ])("answers for a host that sends %s", async (_what, answer) => {
    const port = await listening(createTcpServer((near) => near.on("error", () => undefined).end(answer)));
    await open({ hosts: [`127.0.0.1:${port}`] });
    expect(await get(`http://127.0.0.1:${port}/`)).toMatch(/^HTTP\/1\.1 502 /);
  });

  it("closes a request that arrives too slowly, and an idle connection", async () => {
    const port = await listening(createTcpServer((near) => near.on("error", () => undefined)));
    await open({ hosts: [`127.0.0.1:${port}`], bounds: { headMs: 50, idleMs: 200 } });
    expect(await ask("GET http://127.0.0.1/ HT")).toMatch(/^(HTTP\/1\.1 408 |$)/);
    expect(await ask("")).toMatch(/^(HTTP\/1\.1 408 |$)/);
    expect(await tunnelTo(`127.0.0.1:${port}`)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("limits the number of connections, and reports that", async () => {
    const egress = await open({ hosts: [], bounds: { connections: 2 } });
    const held = [approach(), approach()];
    await Promise.all(held.map((near) => once(near, "connect")));
    await once(approach().resume(), "close");
    expect(egress.report()).toBe("skillflow: more than 2 connections at once were closed\n");
    for (const near of held) near.destroy();
  });

  it("closes all of its connections when it is closed", async () => {
    const service = createTcpServer((near) => near.on("error", () => undefined).write("up"));
    const port = await listening(service);
    const egress = await open({ hosts: [`127.0.0.1:${port}`] });
    const arrived = once(service, "connection");
    const near = approach();
    near.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const [far] = await arrived;
    const ends = Promise.all([far, near.resume()].map((each) => new Promise((resolve) => each.once("close", resolve))));
    await egress.close();
    await ends;
    await new Promise((resolve) => approach().once("close", resolve));
    opened.length = 0;
  });
});
