import { clip, LASTING, pick, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { type ChangedFile, type Commit, githubTool, nextPage } from "./client.ts";
import {
  CHANGE,
  COMMIT,
  filePath,
  paged,
  pageSchema,
  paging,
  ref,
  repository,
  safePath,
  safeRef,
  timestamp,
} from "./fields.ts";

export const commitTools = [
  githubTool({
    name: "list_commits",
    description: "Lists the commits of a branch or a path, newest first. Between two versions: compare_commits.",
    effect: "read",
    origin: "team",
    clock: "range",
    range: { from: "since", to: "until" },
    selects: ["ref", "path", "author"],
    input_schema: z.strictObject({
      repository,
      ref: ref.optional(),
      path: filePath.optional(),
      author: z.string().max(100).optional().describe("Login name or e-mail address."),
      since: timestamp.optional(),
      until: timestamp.optional(),
      ...paged,
    }),
    output_schema: pageSchema("commits", COMMIT),
    work: async ({ rest, at }, input) => {
      const { repository: _, ref: start, path, limit: __, page: ___, ...filters } = input;
      const place = { ...(start ? { sha: safeRef(start) } : {}), ...(path ? { path: safePath(path) } : {}) };
      const response = await rest.repos.listCommits({ ...at, ...place, ...filters, ...paging(input) });
      return { commits: response.data.map(briefOf), next_page: nextPage(response) };
    },
  }),
  githubTool({
    name: "get_commit",
    description: "Reads one commit: full message and the patch of each file.",
    ...LASTING,
    origin: "team",
    input_schema: z.strictObject({ repository, ref, ...paged }),
    output_schema: resultSchema(
      "sha message",
      `${COMMIT} message parents:[text] stats:{ additions:number deletions:number total:number } files:[{ ${CHANGE} }]
        next_page:number`,
    ),
    work: async ({ rest, at }, input) => {
      const response = await rest.repos.getCommit({ ...at, ref: safeRef(input.ref), ...paging(input) });
      const { data } = response;
      const { subject: _, ...brief } = briefOf(data);
      return {
        ...brief,
        message: data.commit.message,
        parents: data.parents.map((parent) => parent.sha),
        stats: data.stats,
        files: data.files?.map(changeOf),
        next_page: nextPage(response),
      };
    },
  }),
  githubTool({
    name: "compare_commits",
    description: "Reads the commits and files between two refs. Files are only on page 1.",
    ...LASTING,
    origin: "team",
    input_schema: z.strictObject({
      repository,
      base: ref.describe("The older version."),
      head: ref.describe("The newer version."),
      ...paged,
    }),
    output_schema: pageSchema(
      "commits",
      COMMIT,
      `status ahead_by:number behind_by:number total_commits:number url changed_files:number files:[{ ${CHANGE} }]
        files_left_out:number`,
    ),
    work: async ({ rest, at }, input) => {
      const basehead = `${safeRef(input.base)}...${safeRef(input.head)}`;
      const response = await rest.repos.compareCommitsWithBasehead({ ...at, basehead, ...paging(input) });
      const { data } = response;
      return {
        ...pick(data, "status ahead_by behind_by total_commits"),
        url: data.html_url,
        commits: data.commits.map(briefOf),
        changed_files: data.files?.length,
        files: data.files?.slice(0, MOST_COMPARED_FILES).map(changeOf),
        files_left_out: Math.max(0, (data.files?.length ?? 0) - MOST_COMPARED_FILES) || undefined,
        next_page: nextPage(response),
      };
    },
  }),
  githubTool({
    name: "list_refs",
    description: "Lists tags or branches with their commits, in GitHub's order. For release dates: list_releases.",
    ...TEAM_SNAPSHOT,
    selects: ["kind"],
    input_schema: z.strictObject({ repository, kind: z.enum(["tag", "branch"]), ...paged }),
    output_schema: pageSchema("refs", "name sha protected:flag"),
    work: async ({ rest, at }, input) => {
      const query = { ...at, ...paging(input) };
      const response = input.kind === "tag" ? await rest.repos.listTags(query) : await rest.repos.listBranches(query);
      const refs = response.data.map(({ name, commit, ...rest }) => {
        return { name, sha: commit.sha, protected: ("protected" in rest && rest.protected) || undefined };
      });
      return { refs, next_page: nextPage(response) };
    },
  }),
];

const MOST_COMPARED_FILES = 30;
const SUBJECT_LENGTH = 200;

export function changeOf(file: ChangedFile) {
  return pick(file, "path:filename previous_path:previous_filename status additions deletions patch");
}

function briefOf({ sha, commit, author, html_url }: Commit) {
  return {
    sha,
    subject: clip(commit.message.split("\n", 1)[0] ?? "", SUBJECT_LENGTH),
    author: author?.login ?? commit.author?.name,
    date: commit.author?.date,
    url: html_url,
  };
}
