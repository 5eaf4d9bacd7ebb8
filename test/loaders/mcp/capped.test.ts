import { describe, expect, it } from "vitest";
import { capped } from "../../../src/loaders/mcp/capped.ts";
import { httpServer } from "../../services/mcp.ts";
import { cleanups, open } from "./open.ts";

const MEGABYTE = 1024 * 1024;

function answerOf(piece: string, { status = 200, type = "text/event-stream" } = {}): Response {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent > 40 * MEGABYTE) return controller.close();
      const chunk = Buffer.from(piece.repeat(Math.ceil(MEGABYTE / piece.length)));
      sent += chunk.length;
      controller.enqueue(chunk);
    },
  });
  return new Response(body, { status, headers: { "content-type": type } });
}

const lengthOf = async (response: Response) => (await response.arrayBuffer()).byteLength;

describe("an answer of an MCP server", () => {
  it.each([
    ["a stream of complete events", answerOf("data: x\n\n")],
    ["a stream of complete events with CRLF", answerOf("data: x\r\n\r\n")],
    ["a stream of complete events with CR", answerOf("data: x\r\r")],
  ])("%s may be of any length", async (_, answer) => {
    expect(await lengthOf(capped(answer, true))).toBeGreaterThan(40 * MEGABYTE);
  });

  it.each([
    ["an event of one line", answerOf("x"), true],
    ["an event of many lines", answerOf("data: x\n"), true],
    ["an event of many lines with CRLF", answerOf("data: x\r\n"), true],
    ["a stream that answers one request", answerOf("data: x\n\n"), false],
    ["a document", answerOf("\n", { type: "application/json" }), true],
    ["an error", answerOf("\n\n", { status: 404 }), true],
    ["an error of a request", answerOf("x", { status: 500, type: "text/plain" }), false],
  ])("%s may have at most 16 MB", async (_, answer, isStream) => {
    await expect(lengthOf(capped(answer, isStream))).rejects.toThrow("it sent a message that is too large");
  });

  it("may have no body", () => {
    expect(capped(new Response(null, { status: 204 }), true).status).toBe(204);
  });

  it("is not read further if the stream for notifications sends an endless one", async () => {
    let sent = 0;
    let leave: () => void = () => undefined;
    const left = new Promise<void>((resolve) => (leave = resolve));
    const service = await httpServer({}, ({ method }, response) => {
      if (method !== "GET") return false;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.on("close", leave);
      const send = (): void => {
        sent += MEGABYTE;
        response.write("x".repeat(MEGABYTE), (error) => (error || sent > 100 * MEGABYTE ? undefined : send()));
      };
      send();
      return true;
    });
    cleanups.push(service.close);
    await open({ url: service.url });
    await left;
    expect(sent).toBeLessThan(100 * MEGABYTE);
  });
});
