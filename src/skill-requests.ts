import { NothingDone, refusalOf } from "./core/errors.ts";
import type { ToolContext } from "./core/skill.ts";

/**
 * The requests of one tool call. When the call fails, they show whether anything may have been written. Errors of
 * requests are judged by `acted`, by their `status`, or by the system's code in their `cause`.
 */
export interface Requests {
  /** Makes one request: everything that the call writes goes through here. */
  send<Answer>(effect: "read" | "write", request: () => Promise<Answer>): Promise<Answer>;
  /** The error to throw for a call that failed: a `NothingDone` if nothing can have been written. */
  failure(error: unknown, message: string): Error;
}

const known = new WeakMap<ToolContext, Requests>();

/** The requests of the call that this context belongs to. */
export function requestsOf(context: ToolContext): Requests {
  const requests = known.get(context) ?? followRequests();
  known.set(context, requests);
  return requests;
}

function followRequests(): Requests {
  let isSent = false;
  let mayHaveActed = false;
  return {
    async send(effect, request) {
      isSent = true;
      try {
        const answer = await request();
        mayHaveActed ||= effect === "write";
        return answer;
      } catch (error) {
        mayHaveActed ||= effect === "write" && refusalOf(error) === undefined;
        throw error;
      }
    },
    failure(error, message) {
      if (mayHaveActed) return new Error(message);
      // A check of the input or the config fails in the same way every time, and before any request.
      const isLasting = !isSent || refusalOf(error) === "lasting";
      return new NothingDone(message, { passing: !isLasting });
    },
  };
}
