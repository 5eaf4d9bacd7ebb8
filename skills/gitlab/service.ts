import type { ToolContext } from "skillflow";
import { type Ask, authorization, keyOf, resultSchema, type Service, toolsWith, workOn } from "skillflow/internal";
import * as z from "zod";

const GITLAB: Service = {
  name: "GitLab",
  address: "GITLAB_URL",
  usual: "https://gitlab.com",
  api: ["api", "v4"],
  keys: ["GITLAB_TOKEN"],
  needs: "the read_api scope, and the Reporter role in a private project",
  // Personal, project and OAuth tokens all work as bearer tokens.
  headers: (config) => authorization(undefined, keyOf(config, "GITLAB_TOKEN")),
};

export const withGitLab = workOn(GITLAB);

interface Placed {
  readonly project?: string | undefined;
}

interface GitLab {
  /** Asks for a path of the project. */
  readonly ask: Ask;
  readonly everywhere: Ask;
}

/** Runs a tool's work on the project from the input or the config. */
export function inProject(context: ToolContext, work: (gitlab: GitLab) => Promise<unknown>, input: Placed) {
  return withGitLab(context, (ask) => {
    const own = input.project ?? context.config["GITLAB_PROJECT"]?.trim();
    if (!own) throw new Error("Give the project as group/name: GITLAB_PROJECT is not set.");
    const within: Ask = (asking) => ask({ instead: NOT_SEEN, ...asking, path: ["projects", own, ...asking.path] });
    return work({ ask: within, everywhere: ask });
  });
}

export const gitlabTool = toolsWith(inProject);

const NOT_SEEN = "Check the project's full path and the number. GitLab gives the same error if the token lacks access.";

/** Returns the audience of a write: everyone, unless the project is private or internal to the instance. */
export async function audienceOf(input: Placed, context: ToolContext): Promise<"team" | "public"> {
  const answer = z.object({ visibility: z.string() }).transform(({ visibility }) => visibility);
  const visibility = await inProject(context, ({ ask }) => ask({ path: [], answer }), input);
  return visibility === "private" || visibility === "internal" ? "team" : "public";
}

export const WRITES = "the api scope";

const DEFAULT_LIMIT = 20;

interface Paged {
  readonly limit?: number | undefined;
  readonly page?: number | undefined;
}

export function paging(input: Paged) {
  return { per_page: input.limit ?? DEFAULT_LIMIT, page: input.page ?? 1 };
}

/** Returns the next page after a full one. GitLab's headers have no totals beyond 10,000 items. */
export function nextPage(shown: readonly unknown[], input: Paged): number | undefined {
  const { per_page, page: current } = paging(input);
  return shown.length >= per_page ? current + 1 : undefined;
}

/** Returns the schema of a page. Its list is always present, and empty if there are no items. */
export function pageSchema(list: string, item: string) {
  return resultSchema(list, `${list}:[{ ${item} }] next_page:number`);
}

/** Escapes lines that GitLab would run as quick actions, such as /close. */
export function withoutActions(written: string): string {
  return written.replace(/^([ \t]*)\/(?=[A-Za-z])/gm, "$1\\/");
}
