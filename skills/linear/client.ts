import type { LinearErrorRaw } from "@linear/sdk";
import { createRedactor, type Json, parseJson, requestsOf, type ToolContext } from "skillflow";
import { patiently, requiredKey, serviceUrl, toolsWith, trim } from "skillflow/internal";
import { explain, pauseAfter, withOutcome } from "./failure.ts";

const LINEAR = { name: "Linear", address: "LINEAR_API_URL", usual: "https://api.linear.app/graphql" } as const;

export type Linear = Awaited<ReturnType<typeof openLinear>>;

/** Runs a tool's work on Linear: explains its errors and trims its result. */
export async function withLinear(context: ToolContext, work: (linear: Linear) => Promise<unknown>): Promise<Json> {
  try {
    return trim(await work(await openLinear(context)));
  } catch (error) {
    context.signal.throwIfAborted();
    const secrets = [{ name: "LINEAR_API_KEY", value: context.config["LINEAR_API_KEY"] ?? "" }];
    throw requestsOf(context).failure(error, createRedactor(secrets).text(explain(error)));
  }
}

export const linearTool = toolsWith(withLinear);

/**
 * Uses the SDK for typed errors only. Its requests bypass the call's fetch, its objects need one request per state,
 * team, label and user of an issue, and its client holds two megabytes of documents.
 */
async function openLinear(context: ToolContext) {
  const { parseLinearError } = await import("@linear/sdk");
  const url = serviceUrl(LINEAR, context.config);
  const headers = {
    authorization: credentialOf(context),
    "user-agent": "skillflow",
    "content-type": "application/json",
  };
  const { signal } = context;

  const send = async (document: string, variables: Readonly<Record<string, unknown>>): Promise<unknown> => {
    const request = { query: document, variables };
    const init = { method: "POST", redirect: "error", headers, body: JSON.stringify(request), signal } as const;
    const response = await context.fetch(url, init);
    const answer = parse(await response.text());
    if (response.ok && answer.data && !answer.errors) return answer.data;
    if (response.ok && !answer.errors) throw new Error(NOT_LINEAR);
    const { status, headers: received } = response;
    const failure = parseLinearError({ request, response: { ...answer, status, headers: received } });
    throw withOutcome(failure, hasMembers(answer.data));
  };

  return {
    ask: async <Data>(document: string, variables: Readonly<Record<string, unknown>>): Promise<Data> => {
      const isRead = !document.startsWith("mutation");
      const pause = (failure: unknown, attempt: number) => pauseAfter(failure, { attempt, isRead });
      const once = () => requestsOf(context).send(isRead ? "read" : "write", () => send(document, variables));
      return (await patiently({ signal, pauseAfter: pause }, once)) as Data;
    },
  };
}

const NOT_LINEAR = "Linear's response is not in the expected form. Check LINEAR_API_URL and any proxy in front of it.";

function credentialOf({ config }: ToolContext): string {
  const key = requiredKey(config, "LINEAR_API_KEY");
  return key.startsWith("lin_oauth_") ? `Bearer ${key}` : key;
}

type GraphQLErrors = NonNullable<NonNullable<LinearErrorRaw["response"]>["errors"]>;

interface Answer {
  readonly data?: unknown;
  readonly errors?: GraphQLErrors;
}

/** Parses a response. One that is not GraphQL, such as a proxy's page, has neither data nor errors. */
function parse(text: string): Answer {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null) return {};
  const { data, errors } = value as { data?: unknown; errors?: unknown };
  return { ...(data ? { data } : {}), ...(isErrors(errors) ? { errors } : {}) };
}

/** Returns true if the response has data next to its errors, so that the request was partly carried out. */
function hasMembers(data: unknown): boolean {
  return typeof data === "object" && data !== null && Object.values(data).some((member) => member !== null);
}

function isErrors(errors: unknown): errors is GraphQLErrors {
  return Array.isArray(errors) && errors.every((error) => typeof error === "object" && error !== null);
}
