import { clip, each, lenient, pick, resultSchema, SNAPSHOT, withoutMarkers } from "skillflow/internal";
import * as z from "zod";
import { textOf, written } from "./document.ts";
import { issueKey, type Jira, jiraTool, NOT_SEEN, named, number, person, text } from "./service.ts";

export const ISSUE = `key title type status status_kind resolution priority assignee reporter labels:[text] created_at updated_at
  resolved_at url`;

export const issueTools = [
  jiraTool({
    name: "search_issues",
    description:
      'Finds issues by JQL: `project = OPS AND text ~ "timeout" AND statusCategory != Done ORDER BY updated DESC`. Restrict the project or the period: Jira Cloud refuses an unbounded search. For one with its comments: get_issue.',
    ...SNAPSHOT,
    selects: ["jql"],
    input_schema: z.strictObject({
      jql: z.string().min(1).max(2000),
      limit: z.int().min(1).max(50).optional().describe("Default 20."),
      cursor: z.string().min(1).max(2000).optional().describe("next_cursor of the previous call."),
    }),
    output_schema: resultSchema("issues", `issues:[{ ${ISSUE} excerpt }] total:number next_cursor note`),
    work: async (jira, input) => {
      const found = await search(jira, { ...input, fields: [...FIELDS, "description"] });
      return {
        issues: found.issues.map((issue) => ({
          ...briefOf(jira, issue),
          excerpt: excerptOf(issue.fields.description),
        })),
        total: found.total,
        next_cursor: found.next,
        note:
          found.issues.length === 0 ? "The search is valid, but no issue visible to this account matches." : undefined,
      };
    },
  }),
  jiraTool({
    name: "get_issue",
    description:
      "Reads one issue: its full text, its links, the statuses that it can move to, and its comments, newest first.",
    ...SNAPSHOT,
    input_schema: z.strictObject({
      issue: issueKey,
      limit: z.int().min(1).max(50).optional().describe("Number of comments. Default 20."),
      offset: z.int().min(0).max(5000).optional(),
    }),
    output_schema: resultSchema(
      "key comments",
      `${ISSUE} text parent links:[{ kind relation key title status }] can_move_to:[text] comments:[{ id author at
        text }] comments_total:number next_offset:number`,
    ),
    work: async (jira, input) => {
      const { offset = 0 } = input;
      const fields = [...FIELDS, "description", "issuelinks", "parent"].join(",");
      const found = await jira.ask({
        path: ["issue", input.issue],
        query: { fields },
        instead: NOT_SEEN,
        answer: issue,
      });
      const page = await commentsOf(jira, input.issue, { startAt: offset, maxResults: input.limit ?? 20 });
      const transitions = await transitionsOf(jira, input.issue);
      const shown = offset + page.comments.length;
      return {
        ...briefOf(jira, found),
        text: withoutMarkers(textOf(found.fields.description)),
        parent: found.fields.parent?.key,
        links: found.fields.issuelinks?.slice(0, 30).map(linkOf),
        can_move_to: transitions.map(({ name, to }) => to?.name ?? name),
        comments: page.comments.map(({ id, author, created, body }) => {
          return { id, author: author?.displayName, at: created, text: withoutMarkers(textOf(body)) };
        }),
        comments_total: page.total,
        next_offset: shown < (page.total ?? 0) ? shown : undefined,
      };
    },
  }),
];

const FIELDS = [
  ...["summary", "issuetype", "status", "resolution", "priority", "assignee", "reporter"],
  ...["labels", "created", "updated", "resolutiondate"],
];

const other = z.object({ key: z.string(), fields: z.object({ summary: text, status: named }).nullish() }).nullish();
const link = z.object({
  type: z.object({ name: text, inward: text, outward: text }),
  inwardIssue: other,
  outwardIssue: other,
});
type Link = z.infer<typeof link>;

const issue = z.object({
  key: z.string(),
  fields: z.object({
    summary: text,
    issuetype: named,
    status: lenient(z.object({ name: text, statusCategory: named })),
    ...each(named, "resolution priority"),
    ...each(person, "assignee reporter"),
    labels: lenient(z.array(z.string())),
    ...each(text, "created updated resolutiondate"),
    description: written,
    parent: lenient(z.object({ key: text })),
    issuelinks: lenient(z.array(link)),
  }),
});
export type Issue = z.infer<typeof issue>;

export function readIssue({ ask }: Jira, key: string): Promise<Issue> {
  return ask({ path: ["issue", key], instead: NOT_SEEN, answer: issue });
}

const transitionsAnswer = z.object({
  transitions: z.array(z.object({ id: z.string(), name: z.string(), to: named })),
});

export async function transitionsOf({ ask }: Jira, key: string) {
  const path = ["issue", key, "transitions"];
  return (await ask({ path, answer: transitionsAnswer })).transitions;
}

export const comment = z.object({ id: z.string(), author: person, created: text, body: written });
const commentsAnswer = z.object({ comments: z.array(comment), total: number });

export function commentsOf(
  { ask }: Jira,
  key: string,
  paged: { readonly startAt: number; readonly maxResults: number },
) {
  const query = { orderBy: "-created", ...paged };
  return ask({ path: ["issue", key, "comment"], query, instead: NOT_SEEN, answer: commentsAnswer });
}

interface Search {
  readonly jql: string;
  readonly fields: readonly string[];
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Returns a page of search results. Cloud continues with a token, Data Center with an offset. */
export async function search({ ask, isCloud }: Jira, { jql, fields, limit = 20, cursor }: Search) {
  if (isCloud) {
    const answer = z.object({ issues: z.array(issue), nextPageToken: text });
    const body = { jql, fields, maxResults: limit, nextPageToken: cursor };
    const found = await ask({ path: ["search", "jql"], body, answer });
    return { issues: found.issues, next: found.nextPageToken ?? undefined, total: undefined };
  }
  const startAt = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isInteger(startAt) || startAt < 0) throw new Error("`cursor` is not the next_cursor of a search.");
  const answer = z.object({ issues: z.array(issue), total: number });
  const found = await ask({ path: ["search"], body: { jql, fields, maxResults: limit, startAt }, answer });
  const shown = startAt + found.issues.length;
  return { issues: found.issues, next: shown < (found.total ?? 0) ? String(shown) : undefined, total: found.total };
}

export function briefOf({ pageOf }: Jira, { key, fields }: Issue) {
  return {
    key,
    ...pick(fields, "title:summary type:issuetype?.name status:status?.name status_kind:status?.statusCategory?.name"),
    ...pick(fields, "resolution:resolution?.name priority:priority?.name assignee:assignee?.displayName"),
    ...pick(fields, "reporter:reporter?.displayName labels created_at:created updated_at:updated"),
    ...pick(fields, "resolved_at:resolutiondate"),
    url: pageOf(key),
  };
}

function excerptOf(description: unknown): string | undefined {
  const words = withoutMarkers(textOf(description)).replace(/\s+/g, " ").trim();
  return words === "" ? undefined : clip(words, 300);
}

export function linkOf({ type, inwardIssue, outwardIssue }: Link) {
  const to = outwardIssue ?? inwardIssue;
  return {
    kind: type.name,
    relation: outwardIssue ? type.outward : type.inward,
    key: to?.key,
    title: to?.fields?.summary,
    status: to?.fields?.status?.name,
  };
}
