import { createRedactor, type Json, patiently, requestsOf, type ToolContext, trim } from "skillflow";
import { explain, type Purpose, pauseAfter, Refusal } from "./failure.ts";
import { explaining404, onlyOrganization } from "./organization.ts";
import { baseUrl, isOrganizationToken, knownOrganization, tokenOf } from "./place.ts";
import type { Answer, Ask, Query, Requests } from "./request.ts";

/** One Sentry organization within one tool call. Paths are relative to the organization and given by segment. */
export interface Sentry {
  readonly organization: string;
  get<Data>(path: readonly string[], purpose: Purpose & { readonly query?: Query }): Promise<Answer<Data>>;
  /** Sends a GET request relative to one of the organization's projects. */
  getInProject<Data>(project: string, path: readonly string[], purpose: Purpose): Promise<Answer<Data>>;
  send<Data>(
    method: "PUT" | "POST",
    path: readonly string[],
    purpose: Purpose & { readonly body: object },
  ): Promise<Data>;
}

/** Runs a tool's work on the organization from the input, the config or the token. */
export async function withSentry(
  input: { readonly organization?: string | undefined },
  context: ToolContext,
  work: (sentry: Sentry) => Promise<unknown>,
): Promise<Json> {
  try {
    const request = openRequests(context);
    const organization = knownOrganization(input.organization, context) ?? (await onlyOrganization(request));
    return trim(await explaining404(request, organization, () => work(sentryOf(request, organization))));
  } catch (error) {
    context.signal.throwIfAborted();
    const token = context.config["SENTRY_AUTH_TOKEN"] ?? "";
    const text = explain(error, { isOrganizationToken: isOrganizationToken(token.trim()) });
    const message = createRedactor([{ name: "SENTRY_AUTH_TOKEN", value: token }]).text(text);
    throw requestsOf(context).failure(error, message);
  }
}

function sentryOf(request: Requests, organization: string): Sentry {
  const within = (path: readonly string[]) => ["organizations", organization, ...path];
  return {
    organization,
    get: async <Data>(path: readonly string[], purpose: Purpose & { readonly query?: Query }) =>
      (await request({ method: "GET", path: within(path), ...purpose })) as Answer<Data>,
    getInProject: async <Data>(project: string, path: readonly string[], purpose: Purpose) =>
      (await request({
        method: "GET",
        path: ["projects", organization, project, ...path],
        ...purpose,
      })) as Answer<Data>,
    send: async <Data>(method: "PUT" | "POST", path: readonly string[], purpose: Purpose & { readonly body: object }) =>
      (await request({ method, path: within(path), ...purpose })).data as Data,
  };
}

function openRequests(context: ToolContext): Requests {
  const base = baseUrl(context);
  const headers = new Headers({ accept: "application/json", "user-agent": "skillflow" });
  headers.set("authorization", `Bearer ${tokenOf(context)}`);
  const { signal } = context;
  const send = async ({ method, path, query = {}, body, scope }: Ask): Promise<Answer<unknown>> => {
    const address = `/api/0/${path.map(segment).join("/")}/`;
    // Redirects are not followed, because they would leak or lose the token.
    const init = { method, headers: withType(headers, body), redirect: "manual", signal } as const;
    const url = `${base}${address}${searchOf(query)}`;
    const response = await context.fetch(url, { ...init, ...(body ? { body: JSON.stringify(body) } : {}) });
    const text = await response.text();
    const { status, headers: received } = response;
    if (!response.ok)
      throw new Refusal({ method, path: address, scope }, { status, headers: received, body: lenient(text) });
    return { data: parse(text), nextCursor: nextCursor(received.get("link")) };
  };
  return (ask) => {
    const effect = ask.method === "GET" ? "read" : "write";
    const once = () => requestsOf(context).send(effect, () => send(ask));
    return patiently({ signal, pauseAfter: (failure, attempt) => pauseAfter(failure, ask.method, attempt) }, once);
  };
}

/** Encodes a path segment. Throws on `..`, which a URL parser would resolve even if it is encoded. */
function segment(text: string): string {
  if (text === "" || text === "." || text === "..") throw new Error(`"${text}" is not an identifier.`);
  return encodeURIComponent(text);
}

function searchOf(query: Query): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) search.append(key, String(one));
  }
  return search.size > 0 ? `?${search}` : "";
}

function withType(headers: Headers, body: object | undefined): Headers {
  const own = new Headers(headers);
  if (body) own.set("content-type", "application/json");
  return own;
}

/** Returns the cursor from the Link header. Ignores its URL, through which the server could redirect the token. */
function nextCursor(link: string | null): string | undefined {
  const next = link?.split(/,\s*(?=<)/).find((part) => part.includes('rel="next"') && part.includes('results="true"'));
  return /cursor="([^"]+)"/.exec(next ?? "")?.[1];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Error("Sentry answered with something that is not JSON: check SENTRY_BASE_URL, and any proxy before it.");
  }
}

/** Parses an error response, which may be a proxy's HTML page. */
function lenient(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text.startsWith("<") ? "" : text;
    throw error;
  }
}
