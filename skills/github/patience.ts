import { setTimeout as sleep } from "node:timers/promises";
import { isHttpFailure, limitedFor } from "./failure.ts";

const ATTEMPTS = 3;
const LONGEST_PAUSE_MS = 30_000;
const FIRST_PAUSE_MS = 500;

/**
 * Repeats a request that GitHub says it did not carry out (a rate limit) and a read that it failed to answer (5xx,
 * connection). A write whose outcome is unclear is never repeated here: the executor decides. Waits stop with the
 * signal, and a wait that would be long is left to the caller: the failure says until when.
 *
 * The SDK's own plugins are not used: they wait past an abort, repeat writes after a 5xx, and slow every write down.
 */
export async function patiently<Result>(
  call: { readonly method: string; readonly signal: AbortSignal },
  request: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      call.signal.throwIfAborted();
      const pause = pauseAfter(error, call.method, attempt);
      if (pause === undefined || pause > LONGEST_PAUSE_MS || attempt === ATTEMPTS) throw error;
      await sleep(pause, undefined, { signal: call.signal });
    }
  }
}

function pauseAfter(error: unknown, method: string, attempt: number): number | undefined {
  if (!isHttpFailure(error)) return undefined;
  const limited = limitedFor(error);
  if (limited !== undefined) return limited;
  if (method !== "GET" || error.status < 500) return undefined;
  const told = Number(error.response?.headers["retry-after"] ?? Number.NaN);
  return Number.isFinite(told) ? told * 1000 : FIRST_PAUSE_MS * 2 ** (attempt - 1);
}
