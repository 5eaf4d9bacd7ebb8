import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it, vi } from "vitest";
import { compatibleModel } from "../../src/models/openai-compatible.ts";
import { callOf, promptOf } from "../contracts/model.ts";

const chunk = (content: string, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason }] })}`;

function modelReading(body: ReadableStream<Uint8Array>, idleMs?: number) {
  const answer = () => Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  return compatibleModel({ baseURL: "http://127.0.0.1:9/v1", fetch: answer, ...(idleMs ? { idleMs } : {}) });
}

describe("a stream", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each(["\n", "\r\n", "\r"])("is parsed with any pieces and line breaks: %j", async (newline) => {
    const lines = [
      ": a comment",
      chunk("Grüße 🚒"),
      "",
      "event: x",
      chunk("!", "stop"),
      "id: 3",
      "",
      "data: [DONE]",
      "",
    ];
    const bytes = new TextEncoder().encode(lines.map((line) => line + newline).join(""));
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const reply = await modelReading(body).reply(promptOf({}), callOf({}));
    expect(reply.parts).toEqual([{ type: "text", text: "Grüße 🚒!" }]);
  });

  it("may take long as long as data arrives", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const texts = ["one ", "two ", "three ", "four"];
    const encoder = new TextEncoder();
    let send = (_: string | undefined): void => undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        send = (text) => controller.enqueue(encoder.encode(`${text ? chunk(text) : "data: [DONE]"}\n\n`));
      },
    });
    send(texts.shift());
    const onDelta = () => {
      vi.advanceTimersByTime(90);
      send(texts.shift());
    };
    const reply = await modelReading(body, 100).reply(promptOf({}), callOf({ onDelta }));
    expect(reply.parts).toEqual([{ type: "text", text: "one two three four" }]);
  });

  /** A stream whose last event was sent, and whose end is still to come. */
  function unended() {
    const seen = { left: false, end: (): void => undefined };
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(`${chunk("Hi.", "stop")}\n\ndata: [DONE]\n\n`));
        seen.end = () => controller.close();
      },
      cancel() {
        seen.left = true;
      },
    });
    return { body, seen };
  }

  it("is read to its end after its last event, so that the next request reuses the connection", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { body, seen } = unended();
    await modelReading(body).reply(promptOf({}), callOf({}));
    seen.end();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen.left).toBe(false);
  });

  it("is closed a second after its last event if no end arrives", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { body, seen } = unended();
    await modelReading(body).reply(promptOf({}), callOf({}));
    expect(seen.left).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(seen.left).toBe(true);
  });

  it("that grows endlessly is aborted", async () => {
    const piece = new Uint8Array(8 * 1024 * 1024).fill(65);
    const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(piece) });
    const reply = modelReading(body).reply(promptOf({}), callOf({}));
    await expect(reply).rejects.toMatchObject({ code: "model.garbled", repeatable: undefined });
  });
});

describe("a request", () => {
  it("is not kept by the signal of the run after its answer", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const { signal } = new AbortController();
    const sent: WeakRef<AbortSignal>[] = [];
    const answer: typeof fetch = (_, init) => {
      if (init?.signal) sent.push(new WeakRef(init.signal));
      return Promise.resolve(new Response(`${chunk("Hi.", "stop")}\n\ndata: [DONE]\n\n`));
    };
    await compatibleModel({ baseURL: "http://127.0.0.1:9/v1", fetch: answer }).reply(promptOf({}), callOf({ signal }));
    await new Promise(setImmediate);
    collectGarbage();
    expect(sent.map((own) => own.deref())).toEqual([undefined]);
  });
});
