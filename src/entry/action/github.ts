import { parseJson } from "../../core/base/values.ts";
import type { Environment } from "../../core/document/config.ts";

/** GitHub's API as a step reaches it, with the token that it was given. */
export interface GitHub {
  /** The answer whatever its status; rejects where there is none. */
  ask(method: "GET" | "POST" | "PATCH", path: string, body?: object): Promise<Answer>;
  graphql(query: string): Promise<Answer>;
}

interface Answer {
  readonly status: number;
  /** Undefined where it is no JSON. */
  readonly body: unknown;
}

export function openGitHub(env: Environment, token: string, fetch: typeof globalThis.fetch): GitHub {
  const api = (env.GITHUB_API_URL || "https://api.github.com").replace(/(?<!\/)\/+$/, "");
  const graphql = env.GITHUB_GRAPHQL_URL || `${api}/graphql`;
  const headers = {
    accept: "application/vnd.github+json",
    "content-type": "application/json",
    "user-agent": "skillflow",
    "x-github-api-version": "2022-11-28",
    ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
  };
  const ask = async (method: string, url: string, body?: object): Promise<Answer> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    // A repository that has moved is not the one that the job belongs to, and the token is for nobody else.
    const response = await fetch(url, {
      method,
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(WAIT_MS),
      ...sent,
    });
    return { status: response.status, body: parseJson(await response.text()) };
  };
  return {
    ask: (method, path, body) => ask(method, `${api}${path}`, body),
    graphql: (query) => ask("POST", graphql, { query }),
  };
}

const WAIT_MS = 30_000;

/** `/repos/acme/shop`; undefined where the job names no repository. */
export function repositoryPath({ GITHUB_REPOSITORY = "" }: Environment): string | undefined {
  return /^[\w.-]+\/[\w.-]+$/.test(GITHUB_REPOSITORY) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(GITHUB_REPOSITORY)
    ? `/repos/${GITHUB_REPOSITORY}`
    : undefined;
}
