import type { ToolContext } from "skillflow";
import { limitAdvice, patiently, retryAfter } from "skillflow/internal";

const UNTOLD_PAUSE_MS = 60_000;

/** Rate-limited request, which Slack did not carry out. */
class Limited extends Error {
  readonly status = 429;
  readonly pause: number;
  constructor(pause: number) {
    super(limitAdvice("Slack", pause));
    this.pause = pause;
  }
}

/** Returns the context's fetch with retries after a 429. */
export function patientFetch({ fetch, signal }: ToolContext) {
  const pauseAfter = (failure: unknown) => (failure instanceof Limited ? failure.pause : undefined);
  return (url: string | URL, init: RequestInit = {}): Promise<Response> =>
    patiently({ signal, pauseAfter }, async () => {
      const response = await fetch(url, { ...init, signal });
      if (response.status !== 429) return response;
      await response.body?.cancel();
      throw new Limited(retryAfter(response.headers.get("retry-after")) ?? UNTOLD_PAUSE_MS);
    });
}
