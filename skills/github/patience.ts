import { patiently as patientlyIn, retryAfter, untoldPause } from "skillflow";
import { isHttpFailure, limitedFor } from "./failure.ts";

/**
 * Retries rate-limited requests, and reads after a 5xx or a broken connection. Never retries a write whose outcome is
 * unknown: the executor decides.
 *
 * Does not use the SDK's plugins: they ignore an abort while waiting, repeat writes after a 5xx, and slow down writes.
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
