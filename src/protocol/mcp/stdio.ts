import { setTimeout as pause } from "node:timers/promises";
import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/server";
import { messageOf } from "../../core/base/errors.ts";
import type { McpService } from "./server.ts";

interface Streams {
  readonly input: AsyncIterable<Uint8Array>;
  write(text: string): Promise<void>;
  /** Reports protocol errors of the client to the user. */
  readonly onProblem: (message: string) => void;
}

/** Time for finishing pending requests after the input ends and the offer is ready. */
const GRACE_MS = 5000;
/** Maximum number of open requests. Reading pauses beyond it. */
const MOST_OPEN = 512;

/** Serves one client. `ended` resolves when it has disconnected and its requests are answered or abandoned. */
export async function connectStreams(service: McpService, streams: Streams) {
  const [{ serveStdio }, sdk] = await Promise.all([
    import("@modelcontextprotocol/server/stdio"),
    import("@modelcontextprotocol/server"),
  ]);
  const transport = createTransport(streams, sdk, Promise.allSettled([service.offer]));
  const handle = serveStdio(() => service.createServer(), {
    transport,
    onerror: (error) => streams.onProblem(messageOf(error)),
  });
  return { ended: transport.ended, close: () => handle.close() };
}

/** Creates a transport. After the input ends, it closes when every request is answered or the grace period ends. */
function createTransport(
  { input, write, onProblem }: Streams,
  { ReadBuffer, serializeMessage }: typeof import("@modelcontextprotocol/server"),
  isReady: Promise<unknown>,
): Transport & { readonly ended: Promise<void> } {
  const buffer = new ReadBuffer();
  const requests = createRequests();
  let isOver = false;
  let finish: () => void = () => undefined;
  /** Resolves when the client has disconnected and its requests are answered or abandoned. */
  const ended = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const transport: Transport & { readonly ended: Promise<void> } = {
    ended,
    async start() {
      void read()
        .catch((error) => onProblem(messageOf(error)))
        .finally(() => transport.close());
    },
    async send(message) {
      if (isOver) throw new Error("the connection is closed");
      await write(serializeMessage(message));
      requests.answered(message);
    },
    async close() {
      if (isOver) return;
      isOver = true;
      requests.giveUp();
      transport.onclose?.();
      finish();
    },
  };
  const read = async () => {
    for await (const chunk of input) {
      if (isOver) return;
      buffer.append(Buffer.from(chunk));
      while (!isOver && deliver()) await requests.fewerThan(MOST_OPEN);
    }
    if (requests.areOpen()) await isReady;
    await requests.settled(GRACE_MS);
  };
  const deliver = (): boolean => {
    try {
      const message = buffer.readMessage();
      if (message === null) return false;
      requests.asked(message);
      transport.onmessage?.(message);
    } catch (error) {
      onProblem(`a line is not a message: ${messageOf(error)}`);
    }
    return true;
  };
  return transport;
}

/** Counts the client's open requests. Several may share an id. */
function createRequests() {
  const open = new Map<RequestId, number>();
  const waiting = new Set<() => void>();
  let count = 0;
  const add = (id: RequestId, change: 1 | -1) => {
    const before = open.get(id) ?? 0;
    if (before + change > 0) open.set(id, before + change);
    else open.delete(id);
    if (before + change >= 0) count += change;
    for (const look of waiting) look();
  };
  const settle = (id: unknown) => {
    if (typeof id === "string" || typeof id === "number") add(id, -1);
  };
  const fewerThan = (most: number): Promise<void> =>
    new Promise((resolve) => {
      const look = () => {
        if (count >= most) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return {
    areOpen: () => count > 0,
    asked(message: JSONRPCMessage) {
      if (!("method" in message)) return;
      if ("id" in message) add(message.id, 1);
      // The client expects no answer to a request that it cancelled.
      if (message.method === "notifications/cancelled") settle(message.params?.requestId);
    },
    answered(message: JSONRPCMessage) {
      if (!("method" in message)) settle(message.id);
    },
    fewerThan,
    giveUp() {
      count = 0;
      open.clear();
      for (const look of waiting) look();
    },
    /** Resolves when no request is open, or after the grace period. */
    async settled(graceMs: number): Promise<void> {
      const over = new AbortController();
      await Promise.race([fewerThan(1), pause(graceMs, undefined, { signal: over.signal }).catch(() => undefined)]);
      over.abort();
    },
  };
}
