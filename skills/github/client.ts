import type { Octokit, RestEndpointMethodTypes } from "@octokit/rest";
import { type Json, requestsOf, type ToolContext } from "skillflow";
import { patiently, requiredKey, serviceUrl, toolsWith, trim } from "skillflow/internal";
import { explain, isHttpFailure, limitedFor, pauseAfter } from "./failure.ts";

type Rest = Octokit["rest"];
type Data<
  Group extends keyof RestEndpointMethodTypes,
  Method extends keyof RestEndpointMethodTypes[Group],
> = RestEndpointMethodTypes[Group][Method] extends { response: { data: infer Answer } } ? Answer : never;

export type Issue = Data<"issues", "get">;
export type IssueComment = Data<"issues", "listComments">[number];
export type PullRequest = Data<"pulls", "get">;
export type PullRequestItem = Data<"pulls", "list">[number];
export type ChangedFile = Data<"pulls", "listFiles">[number];
export type Commit = Data<"repos", "listCommits">[number];
export type WorkflowJob = Data<"actions", "listJobsForWorkflowRun">["jobs"][number];

export interface RepositoryClient {
  readonly rest: Rest;
  /** Parameters that name the repository in calls of `rest.repos` and similar. */
  readonly at: { readonly owner: string; readonly repo: string };
}

interface Placed {
  readonly repository?: string | undefined;
}

/** Runs a tool on the repository that its input or the config names. */
export async function inRepository(
  context: ToolContext,
  work: (github: RepositoryClient) => Promise<unknown>,
  input: Placed,
): Promise<Json> {
  return withGitHub(context, async (rest) => {
    const at = parseRepository(input.repository ?? context.config["GITHUB_REPOSITORY"]);
    try {
      return await work({ rest, at });
    } catch (error) {
      if (!isHttpFailure(error) || error.status !== 404) throw error;
      const message = explain(error, requiredKey(context.config, "GITHUB_TOKEN"), {
        ...at,
        isReadable: await isReadable(rest, at),
      });
      throw requestsOf(context).failure(error, message);
    }
  });
}

export const githubTool = toolsWith(inRepository);

/** Returns the audience of a write: everyone, unless the repository is private. */
export async function audienceOf(input: Placed, context: ToolContext): Promise<"team" | "public"> {
  const isPrivate = async ({ rest, at }: RepositoryClient) => (await rest.repos.get(at)).data.private === true;
  return (await inRepository(context, isPrivate, input)) === true ? "team" : "public";
}

export async function withGitHub(context: ToolContext, work: (rest: Rest) => Promise<unknown>): Promise<Json> {
  try {
    const octokit = await openOctokit(context);
    return trim(await work(octokit.rest));
  } catch (error) {
    context.signal.throwIfAborted();
    throw requestsOf(context).failure(error, explain(error, context.config["GITHUB_TOKEN"]?.trim()));
  }
}

export function nextPage(response: { readonly headers: { readonly link?: string | undefined } }): number | undefined {
  const next = response.headers.link?.split(",").find((link) => link.includes('rel="next"'));
  const number = /[?&]page=(\d+)/.exec(next ?? "")?.[1];
  return number === undefined ? undefined : Number(number);
}

const GITHUB = { name: "GitHub", address: "GITHUB_API_URL", usual: "https://api.github.com" } as const;

async function openOctokit(context: ToolContext): Promise<Octokit> {
  const { Octokit } = await import("@octokit/rest");
  const { logger, signal } = context;
  const octokit = new Octokit({
    auth: requiredKey(context.config, "GITHUB_TOKEN"),
    userAgent: "skillflow",
    baseUrl: serviceUrl(GITHUB, context.config),
    log: {
      debug: (message: string) => logger.debug(message),
      info: (message: string) => logger.debug(message),
      warn: (message: string) => logger.warn(message),
      error: (message: string) => logger.warn(message),
    },
    request: { fetch: directWrites(context.fetch), signal },
  });
  octokit.hook.wrap("request", (request, options) =>
    patiently({ signal, pauseAfter: (failure, attempt) => pauseAfter(failure, options.method, attempt) }, () =>
      requestsOf(context).send(options.method === "GET" ? "read" : "write", async () => {
        const response = await Promise.resolve(request(options)).catch((error: unknown) => {
          const isLimit = isHttpFailure(error) && limitedFor(error) !== undefined;
          throw isLimit ? Object.assign(error, { acted: "no", passing: true }) : error;
        });
        if (response.status >= 300 && response.status < 400) throw redirected(response);
        if (typeof response.data === "string") throw new Error(NOT_JSON);
        return response;
      }),
    ),
  );
  return octokit;
}

// The SDK returns a body that it cannot parse as text.
const NOT_JSON = "GitHub's response is not JSON. Check GITHUB_API_URL and any proxy in front of it.";

function parseRepository(name: string | undefined): RepositoryClient["at"] {
  if (!name) throw new Error('Name the repository as "owner/name": GITHUB_REPOSITORY sets no default.');
  const [, owner, repo] = /^([A-Za-z0-9_-]{1,39})\/([A-Za-z0-9._-]{1,100})$/.exec(name) ?? [];
  if (!owner || !repo || repo === "." || repo === "..") {
    throw new Error(`"${name.slice(0, 140)}" is not a repository. Write it as owner/name.`);
  }
  return { owner, repo };
}

/** Distinguishes a wrong number or path from a wrong or hidden repository, as GitHub answers 404 to both. */
async function isReadable(rest: Rest, at: RepositoryClient["at"]): Promise<boolean> {
  try {
    await rest.repos.get(at);
    return true;
  } catch (error) {
    if (isHttpFailure(error)) return false;
    throw error;
  }
}

/** Follows redirects of reads only: the failure of a redirected write looks like one that was never sent. */
function directWrites(fetch: ToolContext["fetch"]): ToolContext["fetch"] {
  return (input, init) => fetch(input, init?.method === "GET" ? init : { ...init, redirect: "manual" });
}

/** Explains a redirected write. Only 307 and 308 mean that nothing was done, as they ask for the same request elsewhere. */
function redirected({
  status,
  headers,
}: {
  readonly status: number;
  readonly headers: { readonly location?: string | undefined };
}) {
  const to = headers.location === undefined ? "" : ` to ${headers.location.slice(0, 200)}`;
  const isUndone = status === 307 || status === 308;
  const outcome = isUndone ? "Nothing was done" : "Whether it took effect is unclear";
  const error = new Error(
    `GitHub redirected the write${to} (${status}): use the repository's current name. ${outcome}.`,
  );
  return isUndone ? Object.assign(error, { acted: "no", passing: false }) : error;
}
