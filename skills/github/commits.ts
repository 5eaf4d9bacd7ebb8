import { clip, isoField, LASTING, pick, resultSchema, SNAPSHOT, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { type ChangedFile, type Commit, githubTool, nextPage, type RepositoryClient } from "./client.ts";
import {
  CHANGE,
  COMMIT,
  filePath,
  page,
  paged,
  pageSchema,
  paging,
  ref,
  repository,
  safePath,
  safeRef,
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
      since: isoField.optional(),
      until: isoField.optional(),
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
      base: ref.describe("Older."),
      head: ref.describe("Newer."),
      ...paged,
    }),
    output_schema: pageSchema(
      "commits",
      COMMIT,
      `status ahead_by:number behind_by:number total_commits:number url changed_files:number files:[{ ${CHANGE} }]
        files_left_out:number note`,
    ),
    work: async ({ rest, at }, input) => {
      const basehead = `${safeRef(input.base)}...${safeRef(input.head)}`;
      const response = await rest.repos.compareCommitsWithBasehead({ ...at, basehead, ...paging(input) });
      const { data } = response;
      const files = (input.page ?? 1) === 1 ? data.files : undefined;
      return {
        ...pick(data, "status ahead_by behind_by total_commits"),
        url: data.html_url,
        commits: data.commits.map(briefOf),
        changed_files: files?.length,
        files: files?.slice(0, MOST_COMPARED_FILES).map(changeOf),
        files_left_out: Math.max(0, (files?.length ?? 0) - MOST_COMPARED_FILES) || undefined,
        note: files?.length === MOST_LISTED_FILES ? "More files may have changed: GitHub lists 300." : undefined,
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
/** Number of files that GitHub lists of a comparison. */
const MOST_LISTED_FILES = 300;
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

export const deliveryTools = [
  githubTool({
    name: "list_releases",
    description: "Lists releases, newest first, with their notes.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ repository, ...paged }),
    output_schema: pageSchema(
      "releases",
      "id:any tag name target draft:flag prerelease:flag author published_at url notes",
    ),
    work: async ({ rest, at }, input) => {
      const response = await rest.repos.listReleases({ ...at, ...paging(input) });
      const releases = response.data.map((release) => ({
        ...pick(release, "id tag:tag_name name target:target_commitish"),
        draft: release.draft || undefined,
        prerelease: release.prerelease || undefined,
        ...pick(release, "author:author?.login published_at url:html_url notes:body"),
      }));
      return { releases, next_page: nextPage(response) };
    },
  }),
  githubTool({
    name: "list_deployments",
    description: "Lists deployments, newest first, each with its latest status. One request per item.",
    ...TEAM_SNAPSHOT,
    selects: ["environment", "ref"],
    input_schema: z.strictObject({
      repository,
      environment: z.string().max(255).optional(),
      ref: ref.optional(),
      limit: z.int().min(1).max(10).optional(),
      page,
    }),
    output_schema: pageSchema(
      "deployments",
      "id:any environment ref sha task creator description created_at status:{ state description at url }",
    ),
    work: async (github, input) => {
      const { environment, ref: of } = input;
      const filters = { ...(environment ? { environment } : {}), ...(of ? { ref: safeRef(of) } : {}) };
      const places = { ...github.at, ...paging({ limit: 5, ...input }) };
      const response = await github.rest.repos.listDeployments({ ...places, ...filters });
      const deployments = response.data.map(async (deployment) => ({
        ...pick(deployment, "id environment ref sha task creator:creator?.login description created_at"),
        status: await latestStatus(github, deployment.id),
      }));
      return { deployments: await Promise.all(deployments), next_page: nextPage(response) };
    },
  }),
];

async function latestStatus({ rest, at }: RepositoryClient, deployment: number) {
  const query = { ...at, deployment_id: deployment, per_page: 1 };
  const { data } = await rest.repos.listDeploymentStatuses(query);
  const [latest] = data;
  return latest && { state: latest.state, description: latest.description, at: latest.created_at, url: latest.log_url };
}
