import { patiently, retryAfter, type ToolContext, untoldPause } from "skillflow";
import { isUndone, outcome } from "./failure.ts";

export interface Wire {
  readonly fetch: typeof fetch;
  /** How the last request went: the SDK hands on neither its headers nor why it failed. */
  last(): Exchange;
}

interface Exchange {
  readonly method: string;
  readonly response?: Response;
  readonly failure?: Error;
}

/** An answer after which the request may be made again; it becomes the answer when it was the last. */
class Busy extends Error {
  readonly response: Response;
  constructor(response: Response) {
    super(`busy (${response.status})`);
    this.response = response;
  }
}

/**
 * The context's fetch, which asks again after a rate limit, and after a 5xx where the request was a read. A write whose
 * outcome is unclear is never repeated here: the executor decides. No redirect is followed with the key.
 */
export function patientFetch(context: ToolContext): Wire {
  let last: Exchange = { method: "GET" };
  const { signal } = context;
  return {
    last: () => last,
    fetch: async (input, init = {}) => {
      const method = init.method ?? "GET";
      const pauseAfter = (failure: unknown, attempt: number) =>
        failure instanceof Busy ? (pauseOf(failure.response) ?? untoldPause(attempt)) : undefined;
      try {
        const response = await patiently({ signal, pauseAfter }, async () => {
          const answer = await context.fetch(input, { ...init, signal, redirect: "error" });
          if (await mayRepeat(method, answer)) throw new Busy(answer);
          return answer;
        });
        last = { method, response };
        return response;
      } catch (failure) {
        last = after(method, failure);
        if (last.response) return last.response;
        throw last.failure;
      }
    },
  };
}

function pauseOf(response: Response): number | undefined {
  return retryAfter(response.headers.get("retry-after"));
}

async function mayRepeat(method: string, response: Response): Promise<boolean> {
  if (response.status === 429) return true;
  if (response.status < 500) return false;
  if (method === "GET") return true;
  const code = /"code":\s*"(PGRST00[023])"/.exec(await response.clone().text())?.[1];
  return code !== undefined && isUndone(code);
}

function after(method: string, failure: unknown): Exchange {
  if (failure instanceof Busy && failure.response.status !== 429) return { method, response: failure.response };
  if (failure instanceof Busy) return { method, failure: limited(failure.response) };
  const error = failure instanceof Error ? failure : new Error(String(failure));
  if (error.name !== "TypeError") return { method, failure: error };
  const code = error.cause instanceof Error && "code" in error.cause ? ` (${String(error.cause.code)})` : "";
  return { method, failure: new Error(`Supabase could not be reached${code}.${outcome(method)}`) };
}

const UNTOLD_LIMIT_MS = 60_000;

function limited(response: Response): Error {
  const until = new Date(Date.now() + (pauseOf(response) ?? UNTOLD_LIMIT_MS)).toISOString();
  return new Error(`Supabase's rate limit holds until ${until}. Nothing was done; ask again after that.`);
}
