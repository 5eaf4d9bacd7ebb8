import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Agent } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openFetch, proxiedFetch } from "../../../src/app/adapters/fetch.ts";
import { mcpCaller } from "../../../src/loaders/mcp/call.ts";
import { type Loopback, sendJson, startLoopback, toolContext } from "../../../src/testing.ts";

/** A real proxy on loopback that opens tunnels to one service, whatever host they are asked for. */

let service: Loopback;
const tunnels: string[] = [];
const proxy = createServer();
let address = "";

beforeAll(async () => {
  service = await startLoopback(async (_request, response) => sendJson(response, 200, { hello: "there" }));
  proxy.on("connect", (request, socket) => {
    tunnels.push(request.url ?? "");
    const upstream = connect(Number(new URL(service.url).port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.pipe(socket);
      socket.pipe(upstream);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});

afterAll(async () => {
  await service.close();
  proxy.close();
  proxy.closeAllConnections();
});

describe("fetch behind a proxy", () => {
  it("is the system's own without a proxy", async () => {
    expect(proxiedFetch({})).toBe(fetch);
  });

  it("goes through the proxy", async () => {
    const proxied = proxiedFetch({ HTTP_PROXY: address });
    const response = await proxied("http://model.example.test/v1");
    expect(await response.json()).toEqual({ hello: "there" });
    expect(tunnels).toEqual(["model.example.test:80"]);
  });

  it("reaches this machine, and what NO_PROXY names, directly", async () => {
    tunnels.length = 0;
    const proxied = proxiedFetch({ HTTP_PROXY: address });
    expect((await proxied(service.url)).status).toBe(200);
    expect(tunnels).toEqual([]);
  });

  it.each([
    ["HTTP_PROXY", "127.0.0.1"],
    ["HTTP_PROXY", "*"],
    ["HTTPS_PROXY", ""],
  ])("keeps the caller's check of addresses where it connects directly (%s, NO_PROXY=%j)", async (name, noProxy) => {
    const dispatcher = new Agent({ connect: (_, done) => done(new Error("guarded"), null) });
    const init: object = { dispatcher };
    const proxied = proxiedFetch({ [name]: address, NO_PROXY: noProxy });
    await expect(proxied(service.url, init)).rejects.toMatchObject({ cause: { message: "guarded" } });
    const far = proxiedFetch({ HTTP_PROXY: address, NO_PROXY: "other.test" });
    expect((await far("http://model.example.test/", init)).status).toBe(200);
  });
});

describe("fetch while offline", () => {
  let hops: Loopback;
  beforeAll(async () => {
    hops = await startLoopback((request, response) => {
      const location = request.url === "/home" ? service.url : "http://203.0.113.7/stolen";
      if (request.url === "/here") return sendJson(response, 200, { sent: request.body });
      response.writeHead(request.url === "/post" ? 307 : 302, { location });
      response.end();
    });
  });
  afterAll(() => hops.close());

  it("reaches this machine, also through a redirect", async () => {
    const local = openFetch({ HTTP_PROXY: address }, true);
    const sent = await local(`${hops.url}/here`, { method: "POST", body: "b" });
    expect(await sent.json()).toEqual({ sent: "b" });
    expect(await (await local(`${hops.url}/home`)).json()).toEqual({ hello: "there" });
  });

  it.each(["/away", "/post"])("is refused if a redirect leads to another machine: %s", async (path) => {
    const local = openFetch({}, true);
    const refused = { code: "offline.refused", message: "203.0.113.7 was not contacted: the run is offline" };
    const options = path === "/post" ? { method: "POST", body: "b" } : {};
    await expect(local(`${hops.url}${path}`, options)).rejects.toMatchObject(refused);
    await expect(local("http://203.0.113.7/")).rejects.toMatchObject(refused);
    await expect(local("https://localhost.example/")).rejects.toMatchObject({ code: "offline.refused" });
  });

  it("does not start the server command of a contract", async () => {
    const call = mcpCaller({} as Parameters<typeof mcpCaller>[0]);
    const asked = { id: "s", server: { command: "no-such-program" }, tool: "t", arguments: {}, env: {}, cwd: "/" };
    await expect(call(asked, toolContext({ offline: true }))).rejects.toThrow("was not started: the run is offline");
  });
});
