import { patiently as patientlyIn, retryAfter, untoldPause } from "skillflow";
import { isHttpFailure, limitedFor } from "./failure.ts";

/**
 * Repeats a request that GitHub says it did not carry out (a rate limit) and a read that it failed to answer (5xx,
 * connection). A write whose outcome is unclear is never repeated here: the executor decides.
 *
 * The SDK's own plugins are not used: they wait past an abort, repeat writes after a 5xx, and slow every write down.
 */
export function patiently<Result>(
  { method, signal }: { readonly method: string; readonly signal: AbortSignal },
  request: () => Promise<Result>,
): Promise<Result> {
  return patientlyIn({ signal, pauseAfter: (failure, attempt) => pauseAfter(failure, method, attempt) }, request);
}

function pauseAfter(failure: unknown, method: string, attempt: number): number | undefined {
  if (!isHttpFailure(failure)) return undefined;
  const limited = limitedFor(failure);
  if (limited !== undefined) return limited;
  if (method !== "GET" || failure.status < 500) return undefined;
  return retryAfter(failure.response?.headers["retry-after"]) ?? untoldPause(attempt);
}
