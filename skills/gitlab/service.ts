import {
  type Ask,
  authorization,
  keyOf,
  resultSchema,
  type Service,
  type Shape,
  type ToolContext,
  withService,
} from "skillflow";
import * as z from "zod";

const GITLAB: Service = {
  name: "GitLab",
  address: "GITLAB_URL",
  usual: "https://gitlab.com",
  keys: ["GITLAB_TOKEN"],
  // Tokens of persons, projects and OAuth are all taken in this way.
  headers: (config) => authorization(undefined, keyOf(config, "GITLAB_TOKEN")),
};

const API = ["api", "v4"];

/** Does a tool's work on GitLab. */
export function withGitLab(context: ToolContext, work: (ask: Ask) => Promise<unknown>) {
  return withService(GITLAB, context, (ask) => work((asking) => ask({ ...asking, path: [...API, ...asking.path] })));
}

interface Placed {
  readonly project?: string | undefined;
}

/** Does a tool's work on the project that its input or the configuration names: the first way to ask is below its path. */
export function inProject(input: Placed, context: ToolContext, work: (ask: Ask, everywhere: Ask) => Promise<unknown>) {
  return withGitLab(context, (ask) => {
    const own = input.project ?? context.config["GITLAB_PROJECT"]?.trim();
    if (!own) throw new Error("Name the project, as group/name: GITLAB_PROJECT is not set.");
    return work((asking) => ask({ instead: NOT_SEEN, ...asking, path: ["projects", own, ...asking.path] }), ask);
  });
}

const NOT_SEEN = "Check the project's whole path and the number; GitLab also says so of what the token may not see.";

/** Who reads what a call writes: all the world unless the project is private, or open to the instance's users alone. */
export async function audienceOf(input: Placed, context: ToolContext): Promise<"team" | "public"> {
  const told = await inProject(input, context, async (ask) => {
    const { visibility } = await ask({ path: [], needs: READS, answer: z.object({ visibility: z.string() }) });
    return visibility;
  });
  return told === "private" || told === "internal" ? "team" : "public";
}

export const READS = "the scope read_api, and the role Reporter in a private project";
export const WRITES = "the scope api";

const DEFAULT_LIMIT = 20;

interface Paged {
  readonly limit?: number | undefined;
  readonly page?: number | undefined;
}

/** GitLab's paging parameters for a tool's. */
export function paging(input: Paged) {
  return { per_page: input.limit ?? DEFAULT_LIMIT, page: input.page ?? 1 };
}

/** The page after one that is full. GitLab counts no more than ten thousand, so the headers cannot be relied on. */
export function nextPage(shown: readonly unknown[], input: Paged): number | undefined {
  const { per_page, page: current } = paging(input);
  return shown.length >= per_page ? current + 1 : undefined;
}

/** The schema of a page: its list is always there, empty where GitLab has none. */
export function pageSchema(list: string, item: Shape) {
  return resultSchema({ [list]: [item], next_page: "number" }, list);
}

/** Lines that GitLab would carry out as its quick actions, such as /close, are only shown. */
export function withoutActions(written: string): string {
  return written.replace(/^([ \t]*)\/(?=[A-Za-z])/gm, "$1\\/");
}
