import { pick, resultSchema, SNAPSHOT, textLike, WRITE_ONCE, withoutMarkers } from "skillflow/internal";
import * as z from "zod";
import { githubTool, nextPage, type PullRequest, type PullRequestItem, type RepositoryClient } from "./client.ts";
import { changeOf } from "./commits.ts";
import { isHttpFailure } from "./failure.ts";
import {
  body,
  CHANGE,
  COMMENT,
  filePath,
  number,
  PULL,
  paged,
  pageSchema,
  paging,
  ref,
  repository,
  safePath,
  safeRef,
  title,
  writtenSchema,
} from "./fields.ts";

export const pullTools = [
  githubTool({
    name: "create_pr",
    description: "Opens a pull request for a pushed branch, or returns the existing open one.",
    ...WRITE_ONCE,
    targets: ["repository"],
    input_schema: z.strictObject({
      repository,
      title,
      body: body.optional(),
      head: textLike(/^([A-Za-z0-9_-]{1,39}:)?[^\s:?*~^\\[\]]+$/, 300).describe(
        "Branch with the changes, or owner:branch in a fork.",
      ),
      base: ref.optional().describe("Default: the default branch."),
      draft: z.boolean().optional(),
    }),
    output_schema: writtenSchema("number", PULL),
    work: async (github, input) => {
      const { rest, at } = github;
      const head = safeRef(input.head);
      const base = input.base ? safeRef(input.base) : (await rest.repos.get(at)).data.default_branch;
      const earlier = await findOpen(github, head, base);
      if (earlier) return { ...briefOf(earlier), existing: true };
      try {
        const { repository: _, ...fields } = input;
        const { data } = await rest.pulls.create({ ...at, ...fields, head, base });
        return briefOf(data);
      } catch (error) {
        const rival = isHttpFailure(error) && error.status === 422 && (await findOpen(github, head, base));
        if (rival) return { ...briefOf(rival), existing: true };
        throw error;
      }
    },
  }),
  githubTool({
    name: "get_pr",
    description: "Reads a pull request: state, branches, mergeability, size and text. For its patches: get_pr_diff.",
    ...SNAPSHOT,
    echoes: ["number"],
    input_schema: z.strictObject({ repository, number }),
    output_schema: resultSchema(
      "number",
      `${PULL} mergeable:flag mergeable_state merged_by merge_commit_sha requested_reviewers:[text] commits:number
        changed_files:number additions:number deletions:number comments:number review_comments:number body`,
    ),
    work: async ({ rest, at }, input) => {
      const { data } = await rest.pulls.get({ ...at, pull_number: input.number });
      return { ...briefOf(data), ...detailsOf(data) };
    },
  }),
  githubTool({
    name: "get_pr_diff",
    description: "Reads a pull request's changes by file. With `path`: more of one file's patch.",
    ...SNAPSHOT,
    selects: ["path"],
    input_schema: z.strictObject({ repository, number, path: filePath.optional(), ...paged }),
    output_schema: pageSchema("files", CHANGE),
    work: async (github, input) => {
      if (input.path) return { files: [await findChange(github, input.number, safePath(input.path))] };
      const { rest, at } = github;
      const response = await rest.pulls.listFiles({ ...at, pull_number: input.number, ...paging(input) });
      return { files: response.data.map(changeOf), next_page: nextPage(response) };
    },
  }),
  githubTool({
    name: "list_prs",
    description:
      "Lists pull requests by state and branch, newest first. To find them by words or author: search_issues.",
    ...SNAPSHOT,
    selects: ["state", "base"],
    input_schema: z.strictObject({
      repository,
      state: z.enum(["open", "closed", "all"]).optional().describe("Default open. Merged ones are closed."),
      base: ref.optional(),
      sort: z.enum(["created", "updated"]).optional(),
      ...paged,
    }),
    output_schema: pageSchema("pull_requests", PULL),
    work: async ({ rest, at }, input) => {
      const { state = "open", sort = "created" } = input;
      const base = input.base ? { base: safeRef(input.base) } : {};
      const response = await rest.pulls.list({ ...at, state, sort, direction: "desc", ...base, ...paging(input) });
      const listed = response.data.map((pull) => ({ ...briefOf(pull), merged_at: pull.merged_at }));
      return { pull_requests: listed, next_page: nextPage(response) };
    },
  }),
  githubTool({
    name: "list_pr_reviews",
    description: "Reads a pull request's reviews and the comments on its lines. For its other comments: list_comments.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ repository, number, ...paged }),
    output_schema: resultSchema(
      "reviews comments",
      `reviews:[{ id:any author state submitted_at commit body }] comments:[{ ${COMMENT} path line:number reply_to:any
        review_id:any is_outdated:flag }] next_page:number`,
    ),
    work: async ({ rest, at }, input) => {
      const query = { ...at, pull_number: input.number, ...paging(input) };
      const reviews = await rest.pulls.listReviews(query);
      const comments = await rest.pulls.listReviewComments(query);
      return {
        reviews: reviews.data.map(({ id, user, state, submitted_at, commit_id, body: text }) => {
          return { id, author: user?.login, state, submitted_at, commit: commit_id, body: withoutMarkers(text) };
        }),
        comments: comments.data.map((comment) => ({
          ...pick(comment, "id author:user?.login created_at path"),
          line: comment.line ?? comment.original_line,
          is_outdated: comment.position === null || undefined,
          ...pick(comment, "reply_to:in_reply_to_id review_id:pull_request_review_id url:html_url"),
          body: withoutMarkers(comment.body),
        })),
        next_page: nextPage(reviews) ?? nextPage(comments),
      };
    },
  }),
];

function briefOf(pull: PullRequest | PullRequestItem) {
  return {
    ...pick(pull, "number id title"),
    state: pull.merged_at ? "merged" : pull.state,
    draft: pull.draft || undefined,
    author: pull.user?.login,
    head: { ref: pull.head.ref, sha: pull.head.sha, repository: pull.head.repo?.full_name },
    base: { ref: pull.base.ref, sha: pull.base.sha },
    labels: pull.labels.map((label) => label.name),
    ...pick(pull, "created_at updated_at url:html_url"),
  };
}

function detailsOf(pull: PullRequest) {
  return {
    ...pick(pull, "mergeable mergeable_state merged_at merged_by:merged_by?.login merge_commit_sha"),
    requested_reviewers: pull.requested_reviewers?.map((user) => user.login),
    ...pick(pull, "commits changed_files additions deletions comments review_comments"),
    body: withoutMarkers(pull.body ?? ""),
  };
}

async function findOpen({ rest, at }: RepositoryClient, head: string, base: string) {
  const owned = head.includes(":") ? head : `${at.owner}:${head}`;
  const { data } = await rest.pulls.list({ ...at, head: owned, base, state: "open", per_page: 1 });
  return data[0];
}

/** GitHub lists at most 3,000 files. */
const MOST_FILE_PAGES = 30;

async function findChange({ rest, at }: RepositoryClient, number: number, path: string) {
  for (let candidate = 1; candidate <= MOST_FILE_PAGES; candidate++) {
    const query = { ...at, pull_number: number, per_page: 100, page: candidate };
    const response = await rest.pulls.listFiles(query);
    const file = response.data.find(({ filename }) => filename === path);
    if (file) return changeOf(file);
    if (!nextPage(response)) break;
  }
  throw new Error(`Pull request ${number} does not change "${path}": call without \`path\` to get the changed files.`);
}
