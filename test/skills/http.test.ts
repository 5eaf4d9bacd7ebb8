import type { JsonObject, ToolContext } from "skillflow";
import { type Loopback, type LoopbackHandler, sendJson, startLoopback, toolContext } from "skillflow/testing";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { admit, GuardedAddress, guardedLookup, isGuarded } from "../../skills/http/hosts.ts";
import http from "../../skills/http/skill.ts";
import { callTool, describeSkill, failureOf, fits } from "../contracts/skill.ts";

let service: Loopback | undefined;
afterEach(async () => {
  await service?.close();
  service = undefined;
});

async function start(handler: LoopbackHandler, parts: Partial<ToolContext> = {}) {
  service = await startLoopback(handler);
  return toolContext({ config: { HTTP_HOSTS: new URL(service.url).host }, ...parts });
}

const get = (context: ToolContext, input: JsonObject = {}) =>
  callTool(http, "get", { url: `${service?.url}/health`, ...input }, context) as Promise<JsonObject>;
const check = (context: ToolContext, ...urls: string[]) =>
  callTool(http, "check", { urls }, context) as Promise<JsonObject>;

const saying = (text: string, headers: Record<string, string> = {}, status = 200): LoopbackHandler => {
  return async (_, response) => void response.writeHead(status, { "content-type": "text/plain", ...headers }).end(text);
};

it.each([`a${"😀".repeat(9000)}`, '{"a":"\\n"}\n'.repeat(3000), "x".repeat(30_000)])(
  "the parts of a page join to the whole, and are cut between characters",
  async (whole) => {
    const context = await start(saying(whole));
    const parts: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page: JsonObject = await get(context, { offset });
      parts.push(String(page["text"]));
      offset = page["next_offset"] as number | undefined;
    }
    expect(parts.join("") === whole).toBe(true);
    expect(parts.every((part) => encodeURIComponent(part) !== "")).toBe(true);
    if (whole.startsWith("a")) expect((await get(context, { offset: 2 }))["text"]).toMatch(/^(?:😀)+$/u);
  },
);

describe("the allowed hosts", () => {
  const isAdmitted = (HTTP_HOSTS: string, url: string) =>
    admit(url, { config: { HTTP_HOSTS } }).then(
      ({ url: { href } }) => href,
      (error: Error) => error.message,
    );

  it.each([
    ["192.0.2.1", "http://192.0.2.1/a?b#c", "http://192.0.2.1/a?b"],
    ["192.0.2.1:8080", "http://192.0.2.1:8080/", "http://192.0.2.1:8080/"],
    ["api.invalid", "https://API.invalid/x", "https://api.invalid/x"],
    ["*.shop.invalid, other", "http://a.b.shop.invalid/", "http://a.b.shop.invalid/"],
    ["https://api.invalid", "https://api.invalid/", "https://api.invalid/"],
    ["[2001:db8::1]:9000", "http://[2001:db8::1]:9000/", "http://[2001:db8::1]:9000/"],
    ["169.254.169.254", "http://169.254.169.254/latest", "http://169.254.169.254/latest"],
    ["localhost:3000", "http://localhost:3000/", "http://localhost:3000/"],
  ])("%j allows %s", async (hosts, url, asked) => {
    expect(await isAdmitted(hosts, url)).toBe(asked);
  });

  it.each([
    ["api.invalid", "https://api.invalid.evil.example/"],
    ["api.invalid", "https://evil.example/api.invalid"],
    ["api.invalid", "https://xapi.invalid/"],
    ["api.invalid", "https://api.invalid:8443/"],
    ["api.invalid:8443", "https://api.invalid/"],
    ["https://api.invalid", "http://api.invalid/"],
    ["*.shop.invalid", "http://shop.invalid/"],
    ["*.shop.invalid", "http://evilshop.invalid/"],
    ["api.invalid", "https://api.invalid@evil.example/"],
    ["api.invalid", "https://user:pass@api.invalid/"],
    ["api.invalid", "ftp://api.invalid/"],
    ["api.invalid", "file:///etc/passwd"],
    ["10.0.0.5", "http://169.254.169.254/latest/meta-data"],
    ["*.invalid", "http://[::ffff:169.254.169.254]/"],
    ["*.254", "http://169.254.169.254/"],
    ["*.0.1", "http://2130706433/"],
    ["*", "http://a.example/"],
    ["*.*", "http://a.example/"],
    ["", "http://a.example/"],
    ["*.com", "nonsense"],
  ])("%j does not allow %s", async (hosts, url) => {
    expect(await isAdmitted(hosts, url)).toMatch(
      /not listed|does not list|lists no host|not a host|must start with|must not contain|not an address/,
    );
  });

  it("do not include a name that resolves to this machine or to a cloud's metadata, unless it is listed as such", async () => {
    const leading = (address: string) => async () => [{ address: "192.0.2.1" }, { address }];
    const config = { HTTP_HOSTS: "a.invalid, *.b.invalid" };
    for (const url of ["http://a.invalid/", "https://x.b.invalid/"]) {
      for (const address of ["169.254.169.254", "127.0.0.1", "::1"])
        await expect(admit(url, { config }, leading(address))).rejects.toThrow(
          `resolves to ${address}, a local or cloud metadata address`,
        );
      expect((await admit(url, { config }, leading("10.0.0.7"))).url.href).toBe(url);
    }
    for (const address of [
      "127.0.0.1",
      "127.8.8.8",
      "169.254.169.254",
      "::1",
      "fe80::1",
      "fd00:ec2::254",
      "0.0.0.0",
      "::ffff:127.0.0.1",
      "100.100.100.200",
      ...["::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a9fe:a9fe:1::2"],
    ])
      expect(isGuarded(address), address).toBe(true);
    for (const address of ["10.0.0.5", "192.168.1.1", "8.8.8.8", "2001:db8::1", "64:ff9b::808:808", "::ffff:8.8.8.8"])
      expect(isGuarded(address), address).toBe(false);
  });
});

describe("a name that resolves differently when the connection is made", () => {
  it("is not connected to", async () => {
    service = await startLoopback(async (_, response) => void response.end("secret"));
    const { dispatcher } = await admit("http://a.invalid/", { config: { HTTP_HOSTS: "a.invalid" } }, async () => []);
    const init: object = { dispatcher };
    const failure = await fetch(`http://localhost:${new URL(service.url).port}/`, init).catch((error) => error.cause);
    expect(failure).toBeInstanceOf(GuardedAddress);
    expect(service.requests).toEqual([]);
  });

  it.each([true, false])(
    "resolves a name with all of its addresses, in the form that Node requests: %j",
    async (all) => {
      const look = (...addresses: string[]) =>
        new Promise<unknown>((resolve) => {
          const found = addresses.map((address) => ({ address, family: 4 }));
          const lookup = guardedLookup(((_: string, __: object, done: (...told: unknown[]) => void) =>
            done(null, found)) as never);
          lookup("a.invalid", { all }, (error, address, family) => resolve(error ?? [address, family]));
        });
      await Promise.all([
        expect(look("192.0.2.1")).resolves.toEqual(
          all ? [[{ address: "192.0.2.1", family: 4 }], undefined] : ["192.0.2.1", 4],
        ),
        expect(look("192.0.2.1", "169.254.169.254")).resolves.toBeInstanceOf(GuardedAddress),
      ]);
    },
  );
});

describe("a page", () => {
  it("is returned with its status, some headers and its text, and the request has no credentials", async () => {
    const context = await start(saying("ok\n", { "x-request-id": "r-1", "set-cookie": "sid=hidden", server: "nginx" }));
    const page = await get(context);
    expect(page).toMatchObject({
      url: `${service?.url}/health`,
      status: 200,
      text: "ok\n",
      content_type: "text/plain",
      headers: { server: "nginx", "x-request-id": "r-1" },
    });
    expect(JSON.stringify(page)).not.toContain("hidden");
    const { authorization, cookie } = service?.requests[0]?.headers ?? {};
    expect([service?.requests[0]?.method, authorization, cookie]).toEqual(["GET", undefined, undefined]);
  });

  it.each([401, 403, 404, 429, 500, 503])("with status %i is a valid answer", async (status) => {
    const context = await start(saying("no", { "retry-after": "7" }, status));
    expect(await get(context)).toMatchObject({ status, text: "no", headers: { "retry-after": "7" } });
    expect(await check(context, `${service?.url}/`)).toMatchObject({ checks: [{ status, ok: false }], answering: 0 });
    expect(service?.requests).toHaveLength(2);
  });

  it("is read in part: by lines, by offset, and at most one megabyte of a hundred", async () => {
    const lines = Array.from({ length: 3000 }, (_, n) => `metric_${n} ${n}`).join("\n");
    const context = await start(saying(lines));
    expect(await get(context, { contains: "METRIC_29" })).toMatchObject({ lines_matching: 111 });
    const first = await get(context);
    expect(first["next_offset"]).toBe(12_000);
    const { text } = await get(context, { offset: 12_000 });
    expect(`${String(first["text"])}${String(text)}`).toBe(lines.slice(0, 24_000));
    await service?.close();
    let sent = 0;
    const large = await start(async (_, response) => {
      const more = (): void => {
        if (sent++ < 100 && !response.destroyed) response.write("x".repeat(1_000_000), more);
        else response.end();
      };
      more();
    });
    expect(await get(large)).toMatchObject({ next_offset: 12_000, note: expect.stringContaining("larger than 1 MB") });
    expect(sent).toBeLessThan(100);
  });

  it("of HTML is returned as readable text, and an empty or binary one is reported as such", async () => {
    const html = "<html><script>alert(1)</script><h1>All\n systems</h1><style>a{}</style><p>operational</p></html>";
    expect(await get(await start(saying(html, { "content-type": "text/html" })))).toMatchObject({
      text: "All\nsystems operational",
    });
    await service?.close();
    expect(await get(await start(saying("")))).toMatchObject({ note: "The body is empty." });
    await service?.close();
    expect(await get(await start(saying("a\0b")))).toMatchObject({ note: "The body is not text: 3 bytes." });
  });
});

describe("a redirect", () => {
  it("is followed on listed hosts, and the path is reported without queries", async () => {
    const context = await start(async ({ url }, response) => {
      if (url.startsWith("/health")) response.writeHead(302, { location: "/login?token=one-time" }).end();
      else response.end("here");
    });
    const page = await get(context);
    expect(page).toMatchObject({ status: 200, text: "here", redirects: [`${service?.url}/login?…`] });
    expect(JSON.stringify(page)).not.toContain("one-time");
  });

  it("to another host, to metadata or in a circle is reported and not followed", async () => {
    const other = await startLoopback(saying("secret"));
    for (const location of [
      other.url,
      "http://169.254.169.254/latest/meta-data",
      "file:///etc/passwd",
      "//evil.example/x",
    ]) {
      const context = await start(async (_, response) => void response.writeHead(301, { location }).end());
      expect(await get(context)).toMatchObject({
        status: 301,
        note: expect.stringMatching(/not followed: .*The body is empty/),
      });
      expect(await check(context, `${service?.url}/`)).toMatchObject({
        answering: 0,
        checks: [{ error: expect.stringMatching(/not listed|must start with/) }],
      });
      await service?.close();
    }
    expect(other.requests).toHaveLength(0);
    await other.close();
    const circle = await start(async (_, response) => void response.writeHead(302, { location: "/again" }).end());
    expect(await get(circle)).toMatchObject({ status: 302 });
    expect(service?.requests).toHaveLength(6);
  });
});

describe("a host that does not answer", () => {
  it("is reported in words, next to those that do", async () => {
    const context = await start(saying("ok"));
    const { host } = new URL(service?.url ?? "");
    const both = { ...context, config: { HTTP_HOSTS: `${host},127.0.0.1:1,nothing.invalid` } };
    const told = await check(
      both,
      `http://${host}/a`,
      "http://127.0.0.1:1/?key=k",
      "http://nothing.invalid/",
      "http://unlisted.example/",
    );
    expect(told).toMatchObject({
      answering: 1,
      checks: [
        { ok: true, status: 200 },
        { ok: false, url: "http://127.0.0.1:1/", error: expect.stringMatching(/did not respond/) },
        { ok: false, error: expect.stringMatching(/host not found|DNS lookup failed/) },
        { ok: false, error: "unlisted.example is not listed in HTTP_HOSTS. No request was sent." },
      ],
    });
    const expired = () =>
      Promise.reject(
        new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "CERT_HAS_EXPIRED" }) }),
      );
    await expect(get({ ...context, fetch: expired })).rejects.toThrow("its certificate has expired (CERT_HAS_EXPIRED)");
  });

  const startSlow = (begin: string) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    return start(async (_, response) => {
      if (begin) response.write(begin);
      setImmediate(() => setImmediate(() => vi.advanceTimersByTime(20_000)));
    });
  };

  it("within twenty seconds is abandoned where it is silent", async () => {
    const context = await startSlow("");
    const { message } = await failureOf(() => get(context)).finally(() => vi.useRealTimers());
    expect(message).toMatch(/did not respond within 20 seconds/);
  });

  it("that never ends is read for twenty seconds, and is an answer", async () => {
    const ask = async (work: (context: ToolContext) => Promise<JsonObject>) => {
      const context = await startSlow("data: 1\n");
      return work(context).finally(() => vi.useRealTimers());
    };
    const note = expect.stringContaining("did not end within 20 seconds");
    expect(await ask(get)).toMatchObject({ status: 200, text: "data: 1\n", note });
    await service?.close();
    expect(await ask((context) => check(context, `${service?.url}/`))).toMatchObject({
      checks: [{ ok: true, status: 200, note }],
    });
  });

  it("is not waited for once the call is aborted", async () => {
    const controller = new AbortController();
    const context = await start(() => controller.abort(new Error("the run ended")), { signal: controller.signal });
    await expect(get(context)).rejects.toThrow("the run ended");
    await expect(check(context, `${service?.url}/`)).rejects.toThrow("the run ended");
  });
});

it("the probe reports how many hosts there are, without a request", async () => {
  expect(await http.probe?.(toolContext({ config: { HTTP_HOSTS: "a.example, b.example" } }))).toMatch(
    /allowed hosts: 2/,
  );
});

it.each([
  ["get", { url: "javascript:alert(1)" }],
  ["get", { url: "https://a.example/x y" }],
  ["check", { urls: [] }],
  ["check", { urls: Array.from({ length: 11 }, () => "https://a.example/") }],
] as const)("%s refuses %o", (name, input) => {
  expect(fits(http.tools.find((tool) => tool.name === name)?.input_schema, input as JsonObject)).toBe(false);
});

const flooded = await startLoopback(async (_, response) => sendJson(response, 200, { text: 'x é"\n'.repeat(100_000) }));
afterAll(() => flooded.close());

describeSkill(http, {
  config: () => ({ HTTP_HOSTS: new URL(flooded.url).host }),
  inputs: {
    get: { url: `${flooded.url}/` },
    check: { urls: Array.from({ length: 10 }, (_, n) => `${flooded.url}/${n}`) },
  },
  flood: async (_, response) => void response.end(),
  offline: ["get", "check"],
});
