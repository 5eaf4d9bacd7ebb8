import { SkillflowError } from "skillflow";
import { type Asking, authorization, type Service, withService } from "skillflow/internal";
import { type Loopback, type LoopbackHandler, sendJson, startLoopback, toolContext } from "skillflow/testing";
import { afterEach, describe, expect, it } from "vitest";
import * as z from "zod";

/** Behavior of requests to services that the tests of the skills do not check for each tool. */

const DESK: Service = {
  name: "Desk",
  address: "DESK_URL",
  keys: ["DESK_TOKEN"],
  headers: ({ DESK_USER, DESK_TOKEN }) => authorization(DESK_USER, DESK_TOKEN),
};
const LIST = { path: ["tickets"], answer: z.object({ tickets: z.array(z.string()) }) };

let service: Loopback;
afterEach(() => service?.close());

async function start(handler: LoopbackHandler, config: Readonly<Record<string, string>> = {}) {
  service = await startLoopback(handler);
  return toolContext({ config: { DESK_URL: service.url, DESK_TOKEN: "canary-token", ...config } });
}

const listing: LoopbackHandler = async (_, response) => sendJson(response, 200, { tickets: ["a"] });
const ask = (context: ReturnType<typeof toolContext>, asking: Asking<z.ZodType> = LIST) =>
  withService(DESK, context, (request) => request(asking));

describe("a request", () => {
  it("goes to its path and nowhere else", async () => {
    const context = await start(listing, { DESK_URL: "" });
    const config = { ...context.config, DESK_URL: `${service.url}/base/` };
    await ask(
      { ...context, config },
      { ...LIST, path: ["a/b", "c?d#e", "%2e%2e"], query: { q: "x&y=z", "m[]": ["1", "2"], none: undefined } },
    );
    expect(service.requests[0]?.url).toBe("/base/a%2Fb/c%3Fd%23e/%252e%252e?q=x%26y%3Dz&m%5B%5D=1&m%5B%5D=2");
    for (const step of ["..", ".", ""])
      await expect(ask(context, { ...LIST, path: ["a", step] })).rejects.toThrow(/is not a name|is not set/);
    expect(service.requests).toHaveLength(1);
  });

  it("has the token, or the user and the token", async () => {
    await ask(await start(listing));
    expect(service.requests[0]?.headers.authorization).toBe("Bearer canary-token");
    await service.close();
    await ask(await start(listing, { DESK_USER: "42" }));
    expect(service.requests[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from("42:canary-token").toString("base64")}`,
    );
  });

  it("that only reads is retried after a failure, one that writes is not", async () => {
    let count = 0;
    const failingOnce: LoopbackHandler = async (request, response) =>
      count++ === 0 ? sendJson(response, 502, {}, { "retry-after": "0" }) : listing(request, response);
    expect(await ask(await start(failingOnce), { ...LIST, body: { search: 1 } })).toEqual({ tickets: ["a"] });
    await service.close();
    count = 0;
    const write = ask(await start(failingOnce), { ...LIST, body: {}, effect: "write" });
    await expect(write).rejects.toThrow(/Desk failed \(502 for POST \/tickets\).*unclear: look before doing it again/);
    expect(service.requests).toHaveLength(1);
  });

  it("that writes is retried after a rate limit, which prevented it", async () => {
    let count = 0;
    const limitedOnce: LoopbackHandler = async (request, response) =>
      count++ === 0 ? sendJson(response, 429, {}, { "retry-after": "0" }) : listing(request, response);
    expect(await ask(await start(limitedOnce), { ...LIST, body: {}, effect: "write" })).toEqual({ tickets: ["a"] });
  });

  it("that is not answered is reported with the reason, after three tries", async () => {
    let count = 0;
    const refused = async () => {
      count++;
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ENOTFOUND" }) });
    };
    const context = { ...(await start(listing)), fetch: refused };
    await expect(ask(context)).rejects.toThrow(
      "Desk did not answer GET /tickets: fetch failed (ENOTFOUND). Check DESK_URL.",
    );
    expect(count).toBe(3);
  });

  it("that is not permitted is refused with the program's own code", async () => {
    const fetch = () => Promise.reject(new SkillflowError("offline.refused", "desk.example was not contacted"));
    await expect(ask({ ...(await start(listing)), fetch })).rejects.toMatchObject({ code: "offline.refused" });
  });
});

describe("a refusal", () => {
  it.each([
    ["a line of text", "too many outstanding requests\n", "too many outstanding requests."],
    ["a message", { message: "no such index" }, "no such index."],
    ["a cause in parts", { error: { reason: "r", title: "t" }, message: "m" }, "m: r: t."],
    ["a list", { errorMessages: ["one", "two"] }, "one: two."],
    ["a list of parts", { errors: [{ message: "a" }, { message: "a" }] }, "a."],
    ["a page", "<html>canary</html>", "no reason was given."],
    ["half an object", '{"message": "x', "no reason was given."],
    ["nothing", "", "no reason was given."],
  ])("has its reason in the message as %s", async (_, body, reason) => {
    const context = await start(async (__, response) => {
      if (typeof body === "string") response.writeHead(422).end(body);
      else sendJson(response, 422, body);
    });
    await expect(ask(context)).rejects.toThrow(`Desk found the request invalid (422 for GET /tickets): ${reason}`);
  });

  it("quotes no secret, whatever the service repeats", async () => {
    const echo: LoopbackHandler = async ({ headers }, response) =>
      sendJson(response, 403, { message: JSON.stringify(headers) });
    for (const config of [{}, { DESK_USER: "42" }] as Record<string, string>[]) {
      const error = await ask(await start(echo, config)).catch((failure: Error) => failure);
      const told = `${(error as Error).message} ${(error as Error).stack} ${(error as Error).cause}`;
      expect(told).toMatch(/does not allow this/);
      expect(told).not.toMatch(/canary-token/);
      expect(told).not.toContain(Buffer.from("42:canary-token").toString("base64"));
      await service.close();
    }
  });

  it("names the missing permission, and the call to make instead", async () => {
    const context = await start(async ({ url }, response) => sendJson(response, url === "/a" ? 403 : 404, {}));
    await expect(ask(context, { ...LIST, path: ["a"], needs: "the scope tickets:read" })).rejects.toThrow(
      /It requires the scope tickets:read\.$/,
    );
    await expect(ask(context, { ...LIST, path: ["b"], instead: "Ask list_desks." })).rejects.toThrow(
      /no reason was given\. Ask list_desks\.$/,
    );
  });
});
