import type { JsonObject, Skill, ToolContext } from "skillflow";
import { type Loopback, type LoopbackHandler, sendJson, startLoopback, toolContext } from "skillflow/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { spreadOf } from "../harness/long.ts";
import { callTool, failureOf } from "./skill.ts";

/** A skill's values for the suite in which its service fails in every way. */
export interface FaultCase {
  /** The service as errors call it, and the config field of its address. */
  readonly service: string;
  readonly address: string;
  /** The config fields with credentials. */
  readonly keys: readonly string[];
  readonly config: (url: string) => Readonly<Record<string, string>>;
  readonly inputs: Readonly<Record<string, JsonObject>>;
  /** Tools that read plain text, which cannot be broken. */
  readonly texts?: readonly string[];
}

const CHUNK = "x".repeat(1_000_000);
const MOST_CHUNKS = 50;

/** Checks that each failure of a service is reported with words that state what to change. */
export function describeFaults(
  skill: Skill,
  { service: name, address, keys, config, inputs, texts = [] }: FaultCase,
): void {
  let service: Loopback | undefined;
  afterEach(() => service?.close());

  const failing = async (tool: string, handler: LoopbackHandler, parts: Partial<ToolContext> = {}) => {
    service = await startLoopback(handler);
    const context = toolContext({ config: config(service.url), ...parts });
    return (await failureOf(() => callTool(skill, tool, inputs[tool] ?? {}, context))).message;
  };
  const answering = (status: number, body: unknown, headers: Record<string, string> = {}): LoopbackHandler => {
    return async (_, response) => sendJson(response, status, body, headers);
  };
  const page: LoopbackHandler = async (_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Sign in</title>");
  };

  const reads = skill.tools.filter(({ effect }) => effect === "read").map((tool) => tool.name);

  describe.each(spreadOf(reads, 3))(`%s of ${skill.id} explains in plain words`, (tool) => {
    it("that the key is wrong (401)", async () => {
      const told = await failing(tool, answering(401, { message: "bad credentials" }));
      expect(told).toMatch(new RegExp(`${name} refused authentication \\(401 for .*bad credentials`));
      for (const key of keys) expect(told).toContain(key);
      expect(service?.requests).toHaveLength(1);
    });

    it("that something is not allowed, which is not an empty result (403)", async () => {
      const told = await failing(tool, answering(403, { error: { reason: "missing privileges" } }));
      expect(told).toMatch(new RegExp(`${name} does not allow this \\(403 for .*missing privileges`));
    });

    it("that it was not found, and what to check (404)", async () => {
      const told = await failing(tool, answering(404, { error: "unknown path" }));
      expect(told).toMatch(new RegExp(`Not found in ${name} \\(404 for .*unknown path\\. \\w`));
    });

    it("until when a limit holds, without waiting for it (429)", async () => {
      const told = await failing(tool, answering(429, {}, { "retry-after": "3600" }));
      expect(told).toMatch(new RegExp(`${name}'s rate limit is used up until \\d{4}-.*Nothing was done`));
      expect(service?.requests).toHaveLength(1);
    });

    it("that the service failed, after asking again (503)", async () => {
      const told = await failing(tool, answering(503, { message: "overloaded" }, { "retry-after": "0" }));
      expect(told).toMatch(new RegExp(`${name} failed \\(503 for .*overloaded\\. Try again later`));
      expect(service?.requests).toHaveLength(3);
    });

    it("that the request is invalid (400)", async () => {
      const told = await failing(tool, answering(400, { errorType: "bad_data", error: "parse error at char 7" }));
      expect(told).toMatch(new RegExp(`${name} found the request invalid \\(400 for .*: parse error at char 7\\.$`));
    });

    it("where it is redirected, which is not followed (302)", async () => {
      const told = await failing(tool, answering(302, {}, { location: "https://login.example/sso?state=1" }));
      expect(told).toContain("to https://login.example: set");
      expect(told).toContain(address);
    });

    it("that the answer is a web page instead of data", async () => {
      if (texts.includes(tool)) return;
      const told = await failing(tool, page);
      expect(told).toMatch(new RegExp(`${name} answered .* with a web page instead of JSON: check ${address}`));
    });

    it("that the answer broke off, or has another form", async () => {
      if (texts.includes(tool)) return;
      const half = await failing(tool, async (_, response) => void response.end('{"status": "success", "data": {"res'));
      expect(half).toMatch(/ended in the middle of its JSON/);
      await service?.close();
      for (const other of [null, 7, { data: 7, items: 7, hits: 7 }]) {
        expect(await failing(tool, answering(200, other))).toMatch(/in an unexpected form \(/);
        await service?.close();
      }
    });

    it("that the address is invalid, or holds a password, without repeating it", async () => {
      for (const bad of ["file:///etc/passwd", "https://user:canarypass@host.example"]) {
        const context = toolContext({ config: { ...config("http://127.0.0.1:1"), [address]: bad } });
        const { message } = await failureOf(() => callTool(skill, tool, inputs[tool] ?? {}, context));
        expect(message).toMatch(new RegExp(`^${address} (is not an http|must not contain credentials)`));
        expect(message).not.toMatch(/canarypass|passwd/);
      }
    });

    it("that a key cannot be sent, without repeating it", async () => {
      for (const key of keys) {
        const context = toolContext({ config: { ...config("http://127.0.0.1:1"), [key]: "canary\u0007bell" } });
        const { message } = await failureOf(() => callTool(skill, tool, inputs[tool] ?? {}, context));
        expect(message).toBe(`${key} contains characters that a header cannot carry: copy it again.`);
      }
    });
  });

  describe(`${skill.id} limits what it reads`, () => {
    const [first = ""] = reads;

    it("that the answer is too large, without reading all of it", async () => {
      let sent = 0;
      const told = await failing(first, async (_, response) => {
        const more = (): void => {
          if (sent++ < MOST_CHUNKS && !response.destroyed) response.write(CHUNK, more);
          else response.end();
        };
        more();
      });
      expect(told).toMatch(/is larger than 10 MB and was not read: ask for less/);
      expect(sent).toBeLessThan(MOST_CHUNKS);
    });

    it("that the service is slow, whether it is silent or sends a little", async () => {
      for (const begin of ["", '{"data": [']) {
        vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
        try {
          const told = failing(first, async (_, response) => {
            if (begin) response.write(begin);
            setImmediate(() => vi.advanceTimersByTime(30_000));
          });
          expect(await told).toMatch(new RegExp(`${name} did not answer .* in 30 seconds: ask for less`));
        } finally {
          vi.useRealTimers();
        }
        await service?.close();
      }
    });
  });
}
