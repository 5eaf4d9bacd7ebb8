import { defineTool } from "skillflow";
import { clip, isoField, markerOf, pick, resultSchema, SNAPSHOT, WRITE_ONCE, withoutMarkers } from "skillflow/internal";
import * as z from "zod";
import { githubTool, type Issue, type IssueComment, nextPage, type RepositoryClient, withGitHub } from "./client.ts";
import { isHttpFailure } from "./failure.ts";
import {
  assignees,
  body,
  COMMENT,
  grouped,
  ISSUE,
  labels,
  number,
  paged,
  pageSchema,
  paging,
  repository,
  SEARCHED,
  searchQuery,
  title,
  writtenSchema,
} from "./fields.ts";

export const issueTools = [
  defineTool({
    name: "search_issues",
    description: "Finds issues or pull requests by words and qualifiers. Limit: 30 calls per minute.",
    ...SNAPSHOT,
    selects: ["query", "type", "state"],
    input_schema: z.strictObject({
      query: z
        .string()
        .min(1)
        .max(200)
        .describe("Words and qualifiers: label:bug, author:octocat, in:title, created:>2026-01-01."),
      repository,
      type: z.enum(["issue", "pull_request"]).optional().describe("Default issue."),
      state: z.enum(["open", "closed"]).optional(),
      sort: z.enum(["created", "updated", "comments"]).optional(),
      ...paged,
    }),
    output_schema: pageSchema("items", `${ISSUE} excerpt`, SEARCHED),
    handler: (input, context) =>
      withGitHub(context, async (rest) => {
        const type = input.type === "pull_request" ? "is:pull-request" : "is:issue";
        const extra = /\bis:(issue|pr|pull-request)\b/.test(input.query) ? [] : [type];
        if (input.state) extra.push(`state:${input.state}`);
        const q = searchQuery(grouped(input.query), input.repository ?? context.config["GITHUB_REPOSITORY"], extra);
        const sort = input.sort ? { sort: input.sort } : {};
        const response = await rest.search.issuesAndPullRequests({ q, ...sort, ...paging(input) });
        const { items, total_count, incomplete_results } = response.data;
        const found = items.map((issue) => ({ ...briefOf(issue as Issue), excerpt: excerptOf(issue.body) }));
        return {
          total_count,
          incomplete: incomplete_results || undefined,
          items: found,
          next_page: nextPage(response),
        };
      }),
  }),
  githubTool({
    name: "get_issue",
    description: "Reads one issue, or the description of a pull request, with its full text.",
    ...SNAPSHOT,
    echoes: ["number"],
    input_schema: z.strictObject({ repository, number }),
    output_schema: resultSchema("number", `${ISSUE} closed_at body`),
    work: async ({ rest, at }, input) => {
      const { data } = await rest.issues.get({ ...at, issue_number: input.number });
      return { ...briefOf(data), closed_at: data.closed_at, body: withoutMarkers(data.body ?? "") };
    },
  }),
  githubTool({
    name: "list_comments",
    description: "Reads the comments of an issue or pull request, oldest first.",
    effect: "read",
    clock: "range",
    range: { from: "since" },
    input_schema: z.strictObject({ repository, number, since: isoField.optional(), ...paged }),
    output_schema: pageSchema("comments", COMMENT),
    work: async ({ rest, at }, input) => {
      const since = input.since ? { since: input.since } : {};
      const query = { ...at, issue_number: input.number, ...since, ...paging(input) };
      const response = await rest.issues.listComments(query);
      return { comments: response.data.map(commentOf), next_page: nextPage(response) };
    },
  }),
  githubTool({
    name: "create_issue",
    description: "Creates an issue. Search for an existing one first.",
    ...WRITE_ONCE,
    targets: ["repository"],
    input_schema: z.strictObject({
      repository,
      title,
      body: body.optional(),
      labels: labels.optional(),
      assignees: assignees.optional(),
    }),
    output_schema: writtenSchema("number", `${ISSUE} note`),
    work: async (github, input, context) => {
      const marker = markerOf(context, input);
      const earlier = await findIssue(github, marker);
      if (earlier) return { ...briefOf(earlier), existing: true };
      const { repository: _, ...fields } = input;
      const issue = { ...fields, body: withMarker(input.body, marker) };
      const { data } = await github.rest.issues.create({ ...github.at, ...issue });
      return { ...briefOf(data), note: ignoredNote(data, input) };
    },
  }),
  githubTool({
    name: "update_issue",
    description: "Changes an issue: only the fields given. `labels` and `assignees` replace what is there.",
    ...WRITE_ONCE,
    targets: ["repository"],
    input_schema: z.strictObject({
      repository,
      number,
      title: title.optional(),
      body: body.optional(),
      state: z.enum(["open", "closed"]).optional(),
      state_reason: z.enum(["completed", "not_planned", "duplicate", "reopened"]).optional(),
      labels: labels.optional(),
      assignees: assignees.optional(),
    }),
    output_schema: resultSchema("number", `${ISSUE} note`),
    work: async ({ rest, at }, input) => {
      const { repository: _, number, ...changes } = input;
      if (Object.keys(changes).length === 0) throw new Error("Give at least one field to change.");
      const place = { ...at, issue_number: number };
      if (changes.body !== undefined) {
        // Without its marker, the call that created the issue would create another one.
        const markers = (await rest.issues.get(place)).data.body?.match(MARKERS);
        if (markers) changes.body = withMarker(changes.body, markers.join("\n"));
      }
      const { data } = await rest.issues.update({ ...place, ...changes });
      return { ...briefOf(data), note: ignoredNote(data, input) };
    },
  }),
  githubTool({
    name: "add_comment",
    description: "Comments on an issue or pull request.",
    ...WRITE_ONCE,
    targets: ["repository"],
    input_schema: z.strictObject({ repository, number, body: body.min(1) }),
    output_schema: writtenSchema("id", "id:any url created_at"),
    work: async (github, input, context) => {
      const { rest, at } = github;
      const marker = markerOf(context, input);
      const earlier = await findComment(github, input.number, marker);
      if (earlier) return { id: earlier.id, url: earlier.html_url, existing: true };
      const comment = { issue_number: input.number, body: withMarker(input.body, marker) };
      const { data } = await rest.issues.createComment({ ...at, ...comment });
      return { id: data.id, url: data.html_url, created_at: data.created_at };
    },
  }),
  githubTool({
    name: "add_labels",
    description: "Adds labels to an issue or pull request and keeps the existing ones.",
    ...WRITE_ONCE,
    targets: ["repository"],
    input_schema: z.strictObject({ repository, number, labels: labels.min(1) }),
    output_schema: resultSchema("number labels", "number:number labels:[text]"),
    work: async ({ rest, at }, input) => {
      const { data } = await rest.issues.addLabels({ ...at, issue_number: input.number, labels: input.labels });
      return { number: input.number, labels: data.map((label) => label.name) };
    },
  }),
];

function briefOf(issue: Issue) {
  return {
    ...pick(issue, "number id title state state_reason"),
    is_pull_request: issue.pull_request ? true : undefined,
    author: issue.user?.login,
    labels: issue.labels.map((label) => (typeof label === "string" ? label : label.name)),
    assignees: issue.assignees?.map((user) => user.login),
    ...pick(issue, "milestone:milestone?.title comments created_at updated_at url:html_url"),
  };
}

interface Named {
  readonly labels?: readonly string[] | undefined;
  readonly assignees?: readonly string[] | undefined;
}

/** Names the labels and assignees that GitHub ignored, which it does for a token without push access. */
function ignoredNote(issue: Issue, { labels: wanted = [], assignees: people = [] }: Named): string | undefined {
  const { labels: set, assignees } = briefOf(issue);
  const names = [...set, ...(assignees ?? [])].map((name) => name?.toLowerCase());
  // Apps have another name as assignees: copilot-swe-agent[bot] is Copilot.
  const expected = [...wanted, ...people.filter((name) => !name.endsWith("[bot]"))];
  const ignored = expected.filter((name) => !names.includes(name.toLowerCase()));
  return ignored.length > 0 ? `GitHub did not set ${ignored.join(", ")}. The token may lack push access.` : undefined;
}

const EXCERPT_LENGTH = 300;

function excerptOf(text: string | null | undefined): string {
  return clip(
    withoutMarkers(text ?? "")
      .replace(/\s+/g, " ")
      .trim(),
    EXCERPT_LENGTH,
  );
}

function commentOf({ id, user, created_at, html_url, body: text }: IssueComment) {
  return { id, author: user?.login, created_at, url: html_url, body: withoutMarkers(text ?? "") };
}

/** Maximum number of pages to search for an issue that another run may have filed. */
const MOST_PAGES = 10;

/** Search lags behind, and an installation token cannot look up its name. So recent issues of all authors are read. */
async function findIssue({ rest, at }: RepositoryClient, marker: string): Promise<Issue | undefined> {
  const newest = { state: "all", sort: "created", direction: "desc", per_page: 100 } as const;
  for (let page = 1; page <= MOST_PAGES; page++) {
    const { data } = await rest.issues.listForRepo({ ...at, ...newest, page });
    const found = await ownOf(rest, data, marker);
    if (found || data.length < newest.per_page) return found as Issue | undefined;
  }
  return undefined;
}

interface Authored {
  readonly author_association?: string;
  readonly body?: string | null;
  readonly user?: { readonly type?: string; readonly login?: string } | null;
}

/**
 * Returns the first marked item by the team or the token's own account. An untrusted author may copy a marker, or guess
 * a finding's marker.
 */
async function ownOf<Written extends Authored>(
  rest: RepositoryClient["rest"],
  written: readonly Written[],
  marker: string,
) {
  const marked = written.filter(({ body }) => body?.includes(marker));
  const ofTeam = marked.find(isOfTeam);
  if (ofTeam || marked.length === 0) return ofTeam;
  const own = await ownLogin(rest);
  return marked.find(({ user }) => own !== undefined && user?.login === own);
}

/** Returns the token's login, or undefined if GitHub does not reveal it, as with an installation token. */
async function ownLogin(rest: RepositoryClient["rest"]): Promise<string | undefined> {
  try {
    return (await rest.users.getAuthenticated()).data.login;
  } catch (error) {
    if (isHttpFailure(error)) return undefined;
    throw error;
  }
}

function isOfTeam({ author_association: association = "", user }: Authored): boolean {
  return user?.type === "Bot" || ["OWNER", "MEMBER", "COLLABORATOR"].includes(association);
}

/** Finds a comment on the last two pages. Comments are sorted oldest first. */
async function findComment({ rest, at }: RepositoryClient, number: number, marker: string) {
  const { data: issue } = await rest.issues.get({ ...at, issue_number: number });
  const last = Math.ceil(issue.comments / 100);
  for (const candidate of [last, last - 1].filter((page) => page >= 1)) {
    const query = { ...at, issue_number: number, per_page: 100, page: candidate };
    const { data } = await rest.issues.listComments(query);
    const found = await ownOf(rest, data, marker);
    if (found) return found;
  }
  return undefined;
}

const MARKERS = /<!-- skillflow:[^\s>]+ -->/g;

function withMarker(body: string | undefined, marker: string): string {
  return body ? `${body}\n\n${marker}` : marker;
}
