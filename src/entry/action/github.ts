import { parseJson } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";

export type GitHub = ReturnType<typeof openGitHub>;

export function openGitHub(env: Environment, token: string, fetch: typeof globalThis.fetch) {
  const api = (env.GITHUB_API_URL || "https://api.github.com").replace(/(?<!\/)\/+$/, "");
  const graphql = env.GITHUB_GRAPHQL_URL || `${api}/graphql`;
  const headers = {
    accept: "application/vnd.github+json",
    "content-type": "application/json",
    "user-agent": "skillflow",
    "x-github-api-version": "2022-11-28",
    ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
  };
  const ask = async (method: string, url: string, body?: object) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    // Do not follow redirects: a moved repository is not the job's, and the token must not go elsewhere.
    const response = await fetch(url, {
      method,
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(WAIT_MS),
      ...sent,
    });
    return { status: response.status, body: parseJson(await response.text()) as unknown };
  };
  return {
    /** Returns the response with any status. Rejects if the request fails. */
    ask: (method: "GET" | "POST" | "PATCH", path: string, body?: object) => ask(method, `${api}${path}`, body),
    graphql: (query: string) => ask("POST", graphql, { query }),
  };
}

const WAIT_MS = 30_000;

/** Returns `/repos/acme/shop`, or undefined if the job names no valid repository. */
export function repositoryPath({ GITHUB_REPOSITORY = "" }: Environment): string | undefined {
  return /^[\w.-]+\/[\w.-]+$/.test(GITHUB_REPOSITORY) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(GITHUB_REPOSITORY)
    ? `/repos/${GITHUB_REPOSITORY}`
    : undefined;
}
