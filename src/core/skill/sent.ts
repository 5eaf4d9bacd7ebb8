/** Counts the requests of one tool call at the call's own `fetch`, to know what they may have done. */
export interface Sent {
  /** Whether any request was attempted. */
  isTried: boolean;
  /** Whether a request may have written. */
  mayHaveActed: boolean;
  /** Marks requests that `Requests.send` judges itself. */
  isFollowed: () => boolean;
}

/** Also names the property for other copies of the library. */
const SENT = Symbol.for("skillflow.sent");

export function nothingSent(): Sent {
  return { isTried: false, mayHaveActed: false, isFollowed: () => false };
}

/** Attaches the count to a call's `fetch`, which every copy of the call's context shares. */
export function attachSent(fetch: typeof globalThis.fetch, sent: Sent): typeof globalThis.fetch {
  return Object.defineProperty(fetch, SENT, { value: sent });
}

/** Returns the count of the call that a `fetch` belongs to; undefined outside of a call. */
export function sentBy(fetch: typeof globalThis.fetch): Sent | undefined {
  return (fetch as { readonly [SENT]?: Sent })[SENT];
}
