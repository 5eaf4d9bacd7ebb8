import { clip, isoField, resultSchema, SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { type Linear, linearTool } from "../client.ts";
import * as fields from "../fields.ts";
import { aboutIssues, checkNames, issueFilter } from "../filters.ts";
import { BRIEF, briefOf, DETAILS, detailsOf, ISSUE, ISSUE_DETAILS, type Issue, type IssueDetails } from "./issue.ts";

const searching = z.strictObject({
  query: z.string().min(1).max(200).optional(),
  team: fields.name.optional(),
  state: fields.name.optional(),
  status: z.enum(["open", "closed"]).optional().describe("Independent of the state's name. Default: both."),
  label: fields.name.optional(),
  project: fields.name.optional(),
  assignee: fields.assignee.optional(),
  created_after: isoField.optional().describe("ISO 8601."),
  updated_after: isoField.optional().describe("ISO 8601."),
  include_comments: z.boolean().optional(),
  limit: fields.limit,
  cursor: fields.cursor,
});

export const issueTools = [
  linearTool({
    name: "search_issues",
    description: "Finds issues by words and filters, or lists the latest that match the filters.",
    ...SNAPSHOT,
    selects: ["query", "team", "state", "status", "label", "project", "assignee", "created_after", "updated_after"],
    input_schema: searching,
    output_schema: fields.pageSchema("issues", `${ISSUE} excerpt`),
    work: async (linear, input) => {
      const page = await search(linear, input);
      if (page.nodes.length === 0 && !input.cursor) await checkNames(linear, input);
      const issues = page.nodes.map((issue) => ({ ...briefOf(issue), excerpt: excerptOf(issue.description) }));
      return { issues, next_cursor: fields.nextCursor(page) };
    },
  }),
  linearTool({
    name: "get_issue",
    description: "Reads one issue: its full text, parent, sub-issues, relations and links.",
    ...SNAPSHOT,
    input_schema: z.strictObject({ issue: fields.issue }),
    output_schema: resultSchema("id identifier", ISSUE_DETAILS),
    work: (linear, { issue: id }) =>
      aboutIssues(linear, [id], async () => {
        const { issue } = await linear.ask<{ issue: IssueDetails }>(
          `query Issue($id: String!) { issue(id: $id) { ${DETAILS} } }`,
          { id },
        );
        return detailsOf(issue);
      }),
  }),
];

const PAGE = `nodes { ${BRIEF} description } pageInfo { hasNextPage endCursor }`;

const SEARCH = `query Search($term: String!, $filter: IssueFilter, $comments: Boolean, $first: Int, $after: String) {
  list: searchIssues(term: $term, filter: $filter, includeComments: $comments, first: $first, after: $after) { ${PAGE} }
}`;

const LATEST = `query Latest($filter: IssueFilter, $first: Int, $after: String) {
  list: issues(filter: $filter, orderBy: updatedAt, first: $first, after: $after) { ${PAGE} }
}`;

async function search(linear: Linear, input: z.infer<typeof searching>): Promise<fields.Page<Issue>> {
  const variables = { filter: issueFilter(input), ...fields.paging(input) };
  const { list } = input.query
    ? await linear.ask<{ list: fields.Page<Issue> }>(SEARCH, {
        ...variables,
        term: input.query,
        comments: input.include_comments ?? false,
      })
    : await linear.ask<{ list: fields.Page<Issue> }>(LATEST, variables);
  return list;
}

const EXCERPT_LENGTH = 300;

function excerptOf(text: string | null | undefined): string {
  return clip((text ?? "").replace(/\s+/g, " ").trim(), EXCERPT_LENGTH);
}
