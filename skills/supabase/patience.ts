import { parseJson, refusalOf, requestsOf, type ToolContext } from "skillflow";
import { causeCode, limitAdvice, patiently, retryAfter, untoldPause } from "skillflow/internal";
import * as z from "zod";
import { isUndone, outcome } from "./failure.ts";

export type Wire = ReturnType<typeof patientFetch>;

interface Exchange {
  readonly method: string;
  readonly response?: Response;
  readonly failure?: Error;
}

class Refused extends Error {
  readonly status: number;
  readonly acted: "no" | undefined;
  constructor(
    readonly response: Response,
    readonly code: string,
  ) {
    super(`status ${response.status}`);
    this.status = response.status;
    this.acted = isUndone(code) ? "no" : undefined;
  }
}

/**
 * Returns the context's fetch with retries after rate limits, and of reads that failed. Never repeats a write whose
 * outcome is unknown: the executor decides. Does not follow redirects with the key.
 */
export function patientFetch(context: ToolContext) {
  let last: Exchange = { method: "GET" };
  const { signal } = context;
  return {
    /** Returns the last exchange, because the SDK hides headers and causes of failures. */
    last: () => last,
    fetch: async (input: string | URL | Request, init: RequestInit = {}) => {
      const method = init.method ?? "GET";
      const pauseAfter = (failure: unknown, attempt: number) => {
        if (!mayRepeat(method, failure)) return undefined;
        return (failure instanceof Refused ? pauseOf(failure.response) : undefined) ?? untoldPause(attempt);
      };
      const once = () =>
        requestsOf(context).send(method === "GET" ? "read" : "write", async () => {
          const answer = await context.fetch(input, { ...init, signal, redirect: "error" });
          if (!answer.ok) throw new Refused(answer, await codeOf(answer));
          return answer;
        });
      try {
        const response = await patiently({ signal, pauseAfter }, once);
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

function mayRepeat(method: string, failure: unknown): boolean {
  // A failed connection has a code. A redirect, which would fail again, has none.
  if (!(failure instanceof Refused)) return method === "GET" && causeCode(failure) !== "";
  const { status, code } = failure;
  if (status === 429) return true;
  return status >= 500 && (method === "GET" || /^PGRST00[023]$/.test(code));
}

/** Returns the error code of the database or PostgREST, or "". */
async function codeOf(response: Response): Promise<string> {
  const told = z.object({ code: z.string() }).safeParse(parseJson(await response.clone().text()));
  return told.success ? told.data.code : "";
}

function after(method: string, failure: unknown): Exchange {
  if (failure instanceof Refused && failure.status !== 429) return { method, response: failure.response };
  if (failure instanceof Refused) return { method, failure: limited(failure.response) };
  const error = failure instanceof Error ? failure : new Error(String(failure));
  if (error.name !== "TypeError") return { method, failure: error };
  const result = method !== "GET" && refusalOf(failure) ? " Nothing was sent." : outcome(method);
  return { method, failure: new Error(`Supabase could not be reached${causeCode(error)}.${result}`) };
}

const UNTOLD_LIMIT_MS = 60_000;

function limited(response: Response): Error {
  return new Error(limitAdvice("Supabase", pauseOf(response) ?? UNTOLD_LIMIT_MS));
}
