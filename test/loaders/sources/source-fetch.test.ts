import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { type EgressOptions, fetchText, internet, type Network } from "../../../src/loaders/sources/source-fetch.ts";
import { type Loopback, type LoopbackHandler, startLoopback } from "../../../src/testing.ts";

const PUBLIC = "93.184.216.34";
const OTHER_PUBLIC = "2606:2800:220:1::1";

/** A loopback service under public names, with the names and addresses that it had to resolve and connect to. */
interface Web {
  readonly service: Loopback;
  readonly network: Network;
  readonly lookups: string[];
  readonly connections: string[];
}

const opened: Loopback[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((service) => service.close()));
});

/** Names resolve as in `answers`, one list per look-up. Every connection, TLS or not, ends at the loopback service. */
async function openWeb(handler: LoopbackHandler, answers: Record<string, string[][]> = {}): Promise<Web> {
  const service = await startLoopback(handler);
  opened.push(service);
  const lookups: string[] = [];
  const connections: string[] = [];
  const network: Network = {
    lookup: async (host) => {
      lookups.push(host);
      return (Object.hasOwn(answers, host) ? answers[host]?.shift() : undefined) ?? [PUBLIC];
    },
    connect: async ({ addresses, port, holder, signal }) => {
      connections.push(`${addresses.join(",")} ${port}${holder === undefined ? "" : ` ${holder}`}`);
      const socket = connect({ port: Number(new URL(service.url).port), host: "127.0.0.1", signal });
      await once(socket, "connect");
      return socket;
    },
  };
  return { service, network, lookups, connections };
}

function options(network: Network, more: Partial<EgressOptions> = {}): EgressOptions {
  return { auth: {}, network, ...more };
}

const say = (text: string) => (_request: unknown, response: ServerResponse) => void response.end(text);
const answer =
  (status: number, headers: Record<string, string> = {}): LoopbackHandler =>
  (_request, response) =>
    void response.writeHead(status, headers).end("body");

async function problemOf(address: string, given: EgressOptions) {
  const fetched = await fetchText(address, given);
  return "problem" in fetched ? fetched.problem : { code: "none", message: fetched.content, hint: "" };
}

describe("an address that may be fetched", () => {
  test("is resolved once, connected by its address and requested by its name", async () => {
    const { service, network, lookups, connections } = await openWeb(say("hello"));
    const fetched = await fetchText("http://example.test:8080/a%20b?c=d#e", options(network));
    expect(fetched).toEqual({ content: "hello" });
    expect(lookups).toEqual(["example.test"]);
    expect(connections).toEqual([`${PUBLIC} 8080`]);
    expect(service.requests[0]).toMatchObject({ method: "GET", url: "/a%20b?c=d" });
    expect(service.requests[0]?.headers).toMatchObject({ host: "example.test:8080", "accept-encoding": "identity" });
  });

  test("by https it is connected with TLS to the holder of its name, at port 443", async () => {
    const { network, connections } = await openWeb(say("hello"), { "example.test.": [[PUBLIC, OTHER_PUBLIC]] });
    expect(await fetchText("https://example.test./", options(network))).toEqual({ content: "hello" });
    expect(connections).toEqual([`${PUBLIC},${OTHER_PUBLIC} 443 example.test`]);
  });

  test("may be written as a public address", async () => {
    const { network, lookups, connections } = await openWeb(say("hello"));
    expect(await fetchText(`http://[${OTHER_PUBLIC}]/`, options(network))).toEqual({ content: "hello" });
    expect(lookups).toEqual([]);
    expect(connections).toEqual([`${OTHER_PUBLIC} 80`]);
  });

  test("returns its text without a byte-order mark", async () => {
    const { network } = await openWeb(say("\uFEFFhé"));
    expect(await fetchText("http://example.test/", options(network))).toEqual({ content: "hé" });
  });
});

describe("refused before any request", () => {
  test.each([
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://①②⑦.0.0.1/",
    "http://127.0.0.1./",
    "http://0/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1%25eth0]/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://api.localhost/",
    "http://user:hunter2@example.test/",
    "http://user@example.test/",
    "ftp://example.test/",
    "file:///etc/passwd",
    "https://",
    "http://user:hunter2@example.test:99999/",
  ])("%s", async (address) => {
    const { network, lookups, connections } = await openWeb(say("secret"));
    const { code, message } = await problemOf(address, options(network));
    expect(code).toBe("SOURCE_URL_BLOCKED");
    expect(message).not.toContain("hunter2");
    expect([...lookups, ...connections]).toEqual([]);
  });

  test.each([
    ["one private address among public ones", [PUBLIC, "10.0.0.1", OTHER_PUBLIC]],
    ["a mapped loopback address", ["::ffff:127.0.0.1"]],
    ["an address with a zone", ["fe80::1%eth0"]],
    ["something that is not an address", ["example.test"]],
  ])("a name that resolves to %s", async (_what, addresses) => {
    const { network, connections } = await openWeb(say("secret"), { "example.test": [addresses] });
    expect(await problemOf("http://example.test/", options(network))).toMatchObject({ code: "SOURCE_URL_BLOCKED" });
    expect(connections).toEqual([]);
  });

  test("a name is not looked up again for the connection, so that a second answer has no effect", async () => {
    const { network, lookups, connections } = await openWeb(say("hello"), {
      "example.test": [[PUBLIC], ["127.0.0.1"]],
    });
    expect(await fetchText("http://example.test/", options(network))).toEqual({ content: "hello" });
    expect(lookups).toEqual(["example.test"]);
    expect(connections).toEqual([`${PUBLIC} 80`]);
  });
});

describe("redirects", () => {
  const redirect = (location: string) => answer(302, { location });

  test("are followed up to five times", async () => {
    const { service, network } = await openWeb(countdown());
    expect(await fetchText("http://example.test/5", options(network))).toEqual({ content: "there" });
    expect(service.requests.map(({ url }) => url)).toEqual(["/5", "/4", "/3", "/2", "/1", "/0"]);
  });

  test("beyond five are refused", async () => {
    const { service, network } = await openWeb(countdown());
    const { code, message } = await problemOf("http://example.test/6", options(network));
    expect([code, message]).toEqual([
      "SOURCE_URL_HTTP_ERROR",
      "http://example.test/6 was redirected more than 5 times",
    ]);
    expect(service.requests).toHaveLength(6);
  });

  test.each([
    "http://10.0.0.1/",
    "//127.0.0.1/",
    "http://[::1]:8080/",
    "http://localhost/",
    "file:///etc/passwd",
    "http://user:hunter2@other.test/",
    "http://[fe80::1%25eth0]/",
  ])("to %s are refused", async (location) => {
    const { service, network } = await openWeb(redirect(location));
    const { code, message } = await problemOf("http://example.test/", options(network));
    expect(code).toBe("SOURCE_URL_BLOCKED");
    expect(message).toContain("(redirected from http://example.test/)");
    expect(message).not.toContain("hunter2");
    expect(service.requests).toHaveLength(1);
  });

  test("are resolved again, so that a name which has become private is refused", async () => {
    const { service, network, lookups } = await openWeb(redirect("/again"), {
      "example.test": [[PUBLIC], ["192.168.0.1"]],
    });
    expect(await problemOf("http://example.test/", options(network))).toMatchObject({ code: "SOURCE_URL_BLOCKED" });
    expect(lookups).toEqual(["example.test", "example.test"]);
    expect(service.requests).toHaveLength(1);
  });

  test("without a location are an error", async () => {
    const { network } = await openWeb(answer(302));
    expect(await problemOf("http://example.test/", options(network))).toMatchObject({ code: "SOURCE_URL_HTTP_ERROR" });
  });

  function countdown(): LoopbackHandler {
    return ({ url }, response) => {
      const left = Number(url.slice(1));
      if (left > 0) response.writeHead(302, { location: `/${left - 1}` });
      response.end("there");
    };
  }
});

describe("tokens", () => {
  const auth = { "example.test": "token-1", "other.test": undefined, "example.test:8443": "token-2" };
  const authorizations = ({ service }: Web) => service.requests.map(({ headers }) => headers.authorization);

  test.each([
    ["https://example.test/", "Bearer token-1"],
    ["https://EXAMPLE.test:443/", "Bearer token-1"],
    ["https://example.test:8443/", "Bearer token-2"],
    ["https://other.test/", "Bearer fallback"],
    ["https://example.test:9443/", undefined],
    ["https://example.test./", undefined],
    ["https://sub.example.test/", undefined],
    ["https://example.test.evil.test/", undefined],
    ["https://constructor/", undefined],
    ["http://example.test/", undefined],
  ])("%s is sent %s", async (address, expected) => {
    const web = await openWeb(say("hello"));
    await fetchText(address, options(web.network, { auth, fetchToken: "fallback" }));
    expect(authorizations(web)).toEqual([expected]);
  });

  test("are chosen again at every redirect", async () => {
    const steps = ["https://evil.test/", "http://example.test/", "https://other.test/", "https://example.test/"];
    const web = await openWeb((_request, response) => {
      const location = steps.shift();
      if (location !== undefined) response.writeHead(307, { location });
      response.end("hello");
    });
    await fetchText("https://example.test/", options(web.network, { auth, fetchToken: "fallback" }));
    expect(authorizations(web)).toEqual(["Bearer token-1", undefined, undefined, "Bearer fallback", "Bearer token-1"]);
  });

  test.each([401, 403])("are suggested when the answer is %d", async (status) => {
    const { network } = await openWeb(answer(status));
    const { code, message, hint } = await problemOf("https://private.test/x", options(network));
    expect([code, message]).toEqual(["SOURCE_URL_AUTH_REQUIRED", `https://private.test/x answered ${status}`]);
    expect(hint).toContain("fetch.auth");
    expect(hint).toContain("private.test");
  });

  test("that are not valid in a header are not sent, and white space around one is removed", async () => {
    const web = await openWeb(say("hello"));
    const broken = { "example.test": "token\r\nx-other: 1", "other.test": " token-1\n" };
    const { code, message } = await problemOf("https://example.test/", options(web.network, { auth: broken }));
    expect([code, message]).toEqual([
      "SOURCE_URL_AUTH_REQUIRED",
      "the token of example.test contains characters that a header cannot carry",
    ]);
    await fetchText("https://other.test/", options(web.network, { auth: broken }));
    expect(authorizations(web)).toEqual(["Bearer token-1"]);
  });

  test("that are not accepted are reported by their host, never shown", async () => {
    const { network } = await openWeb(answer(401));
    const { message, hint } = await problemOf("https://example.test/", options(network, { auth }));
    expect(hint).toContain("The token of example.test was not accepted");
    expect(message + hint).not.toContain("token-1");
  });
});

describe("invalid answers", () => {
  test.each([404, 410, 500, 503, 304])("status %d is an error", async (status) => {
    const { network } = await openWeb(answer(status));
    expect(await problemOf("http://example.test/", options(network))).toMatchObject({
      code: "SOURCE_URL_HTTP_ERROR",
      message: `http://example.test/ answered ${status}`,
    });
  });

  test("a body announced as too large is not read", async () => {
    const { network } = await openWeb((_request, response) => {
      response.writeHead(200, { "content-length": String(5 * 1024 * 1024 + 1) });
      response.flushHeaders();
    });
    expect(await problemOf("http://example.test/", options(network))).toMatchObject({ code: "SOURCE_URL_TOO_LARGE" });
  });

  test("a body that grows too large is cut off, even if it never ends", async () => {
    const { network } = await openWeb((_request, response) => {
      const chunk = Buffer.alloc(256 * 1024, "x");
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", more);
      more();
    });
    expect(await problemOf("http://example.test/", options(network))).toMatchObject({ code: "SOURCE_URL_TOO_LARGE" });
  });

  test("a body of exactly 5 MiB is read", async () => {
    const { network } = await openWeb(say("x".repeat(5 * 1024 * 1024)));
    const fetched = await fetchText("http://example.test/", options(network));
    expect("content" in fetched && fetched.content.length).toBe(5 * 1024 * 1024);
  });

  test("a compressed body is refused, and so never unpacked", async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
    const { network } = await openWeb((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
    });
    expect(await problemOf("http://example.test/", options(network))).toMatchObject({
      code: "SOURCE_URL_HTTP_ERROR",
      message: "http://example.test/ sent a compressed answer (gzip) that was not requested",
    });
  });

  test("a connection closed before its answer, or in the middle of it, is unreachable", async () => {
    const closing = await openWeb((_request, response) => void response.destroy());
    const breaking = await openWeb((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => response.destroy());
    });
    const upgrading = await openWeb((_request, response) => {
      response.writeHead(101, { connection: "upgrade", upgrade: "other" }).end();
    });
    for (const { network } of [closing, breaking, upgrading]) {
      const { code, message } = await problemOf("http://example.test/", options(network));
      expect(code).toBe("SOURCE_URL_UNREACHABLE");
      expect(message).toContain("http://example.test/ cannot be reached: ");
    }
  });
});

describe("the deadline", () => {
  const soon = { deadlineMs: 40 };

  test.each<[string, LoopbackHandler]>([
    ["an answer that never comes", () => undefined],
    ["a body that never ends", (_request, response) => void response.write("half")],
    ["redirects that go on", (_request, response) => void setTimeout(() => redirectTo("/", response), 20)],
  ])("ends %s", async (_what, handler) => {
    const { network } = await openWeb(handler);
    expect(await problemOf("http://example.test/", options(network, soon))).toMatchObject({
      code: "SOURCE_URL_UNREACHABLE",
      message: expect.stringContaining("http://example.test/ did not answer fully in 40 ms"),
    });
  });

  test("ends a look-up that never answers", async () => {
    const { network } = await openWeb(say("hello"));
    const stuck: Network = { ...network, lookup: () => new Promise(() => undefined) };
    const { code } = await problemOf("http://example.test/", options(stuck, soon));
    expect(code).toBe("SOURCE_URL_UNREACHABLE");
  });

  test("ends a TLS handshake that never answers", async () => {
    const { network } = await openWeb(say("hello"));
    const silent = createServer((socket) => socket.resume());
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const { port } = silent.address() as AddressInfo;
    const connectTo: Network["connect"] = (target) => internet.connect({ ...target, addresses: ["127.0.0.1"], port });
    const { code } = await problemOf("https://example.test/", options({ ...network, connect: connectTo }, soon));
    expect(code).toBe("SOURCE_URL_UNREACHABLE");
    await new Promise((resolve) => silent.close(resolve));
  });

  function redirectTo(location: string, response: ServerResponse) {
    response.writeHead(302, { location }).end();
  }
});

describe("the real network", () => {
  const signal = new AbortController().signal;

  test("a refused connection is unreachable, with its reason", async () => {
    const service = await startLoopback(say("hello"));
    const port = Number(new URL(service.url).port);
    await service.close();
    for (const addresses of [["127.0.0.1"], ["127.0.0.1", "127.0.0.2"]]) {
      const closed: Network = {
        lookup: async () => [PUBLIC],
        connect: (target) => internet.connect({ ...target, addresses, port }),
      };
      const { code, message } = await problemOf("http://example.test/", options(closed));
      expect(code).toBe("SOURCE_URL_UNREACHABLE");
      expect(message).toContain("ECONNREFUSED");
    }
  });

  test("an unknown name is unreachable", async () => {
    const unknown: Network = {
      lookup: async (host) => {
        throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" });
      },
      connect: internet.connect,
    };
    expect(await problemOf("http://example.test/", options(unknown))).toMatchObject({
      code: "SOURCE_URL_UNREACHABLE",
      message: "http://example.test/ cannot be reached: getaddrinfo ENOTFOUND example.test",
    });
    const empty: Network = { ...unknown, lookup: async () => [] };
    expect(await problemOf("http://example.test/", options(empty))).toMatchObject({ code: "SOURCE_URL_UNREACHABLE" });
  });

  test("a connection goes to the given address, whatever the name resolves to", async () => {
    const service = await startLoopback(say("hello"));
    opened.push(service);
    const network: Network = {
      lookup: async () => [PUBLIC],
      connect: (target) =>
        internet.connect({ ...target, addresses: ["127.0.0.1"], port: Number(new URL(service.url).port) }),
    };
    expect(await fetchText("http://example.test/", options(network))).toEqual({ content: "hello" });
  });

  test("TLS asks for the holder by name and fails if the other side does not support it", async () => {
    const greetings: Buffer[] = [];
    const server = createServer((socket) => {
      socket.once("data", (bytes: Buffer) => {
        greetings.push(bytes);
        socket.end("no TLS here");
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const secured = internet.connect({ addresses: ["127.0.0.1"], port, holder: "example.test", signal });
    await expect(secured).rejects.toThrow();
    expect(Buffer.concat(greetings).includes("example.test")).toBe(true);
    server.close();
  });

  test("a defect of the network is thrown, not reported as unreachable", async () => {
    const { network } = await openWeb(say("hello"));
    const broken: Network = { ...network, lookup: () => Promise.reject(new TypeError("not a function")) };
    await expect(fetchText("http://example.test/", options(broken))).rejects.toThrow("not a function");
  });
});
