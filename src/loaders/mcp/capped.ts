import { MOST_MESSAGE } from "./process.ts";

/**
 * Limits what an answer over HTTP can make the client hold in memory to the size of a message over stdio. A stream that
 * the server keeps open may have any number of events, each of that size.
 */
export function capped(response: Response, isStream: boolean): Response {
  const isEvents = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const held = isStream && response.ok && isEvents ? heldOfEvents() : heldOfAll();
  // A response without a body, such as one with status 204, cannot be made with one.
  if (!response.body) return response;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (held(chunk) > MOST_MESSAGE) controller.error(new Error("it sent a message that is too large"));
      else controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(limit), response);
}

type Held = (chunk: Uint8Array) => number;

function heldOfAll(): Held {
  let size = 0;
  return (chunk) => {
    size += chunk.byteLength;
    return size;
  };
}

const LF = 10;
const CR = 13;

/** Returns the size of the largest event that was not complete at some point. An empty line completes an event. */
function heldOfEvents(): Held {
  let size = 0;
  let line = 0;
  let before = 0;
  return (chunk) => {
    let largest = 0;
    for (const byte of chunk) {
      size += 1;
      largest = Math.max(largest, size);
      const isEnd = byte === CR || byte === LF;
      // CRLF ends one line, not two.
      if (isEnd && !(byte === LF && before === CR)) {
        if (line === 0) size = 0;
        line = 0;
      } else if (!isEnd) line += 1;
      before = byte;
    }
    return largest;
  };
}
