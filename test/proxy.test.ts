import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { proxiedFetch } from "../src/proxy.ts";
import { type Loopback, sendJson, startLoopback } from "../src/testing.ts";

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
  it("is the system's own where no proxy is named", async () => {
    expect(await proxiedFetch({})).toBe(fetch);
  });

  it("goes through the proxy", async () => {
    const proxied = await proxiedFetch({ HTTP_PROXY: address });
    const response = await proxied("http://model.example.test/v1");
    expect(await response.json()).toEqual({ hello: "there" });
    expect(tunnels).toEqual(["model.example.test:80"]);
  });

  it("reaches this machine, and what NO_PROXY names, directly", async () => {
    tunnels.length = 0;
    const proxied = await proxiedFetch({ HTTP_PROXY: address });
    expect((await proxied(service.url)).status).toBe(200);
    expect(tunnels).toEqual([]);
  });
});
