import { setTimeout as sleep } from "node:timers/promises";
import type { ToolContext } from "skillflow";

const ATTEMPTS = 3;
const LONGEST_PAUSE_MS = 30_000;
const UNTOLD_PAUSE_MS = 60_000;

/**
 * The context's fetch, which asks again after a 429: Slack did nothing then, and says when to return. Waits stop with
 * the signal; one that would be long is left to the caller.
 */
export function patientFetch({ fetch, signal }: ToolContext) {
  return async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(url, { ...init, signal });
      if (response.status !== 429) return response;
      const pause = pauseOf(response);
      if (pause > LONGEST_PAUSE_MS || attempt === ATTEMPTS) throw limited(pause);
      await response.body?.cancel();
      await sleep(pause, undefined, { signal });
    }
  };
}

function pauseOf(response: Response): number {
  const told = response.headers.get("retry-after") ?? "";
  return /^\d+$/.test(told) ? Number(told) * 1000 : UNTOLD_PAUSE_MS;
}

function limited(pause: number): Error {
  const until = new Date(Date.now() + pause).toISOString();
  return new Error(`Slack's rate limit holds until ${until}. Nothing was sent; send it again after that.`);
}
