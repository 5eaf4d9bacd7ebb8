import { markerOf, pick, resultSchema, SNAPSHOT, textLike, WRITE_ONCE } from "skillflow/internal";
import * as z from "zod";
import * as fields from "./fields.ts";
import { issue, organization } from "./fields.ts";
import { briefOf, detailsOf, type Issue, type IssueDetails } from "./issue.ts";
import { projectParameter, type Sentry, sentryTool } from "./service.ts";

const changes = {
  status: z
    .enum(["resolved", "resolved_in_next_release", "unresolved", "archived"])
    .optional()
    .describe("archived hides the issue until it escalates, or as set in `archive`."),
  resolved_in_release: fields.release
    .optional()
    .describe("With status resolved: the release with the fix, or `latest`."),
  archive: z.enum(["until_escalating", "forever"]).optional().describe("With status archived."),
  assigned_to: textLike(/^[^\s<>]+$/, 200)
    .optional()
    .describe("E-mail address, user name, team:<id> or none."),
  priority: z.enum(["high", "medium", "low"]).optional(),
};

export const issueTools = [
  sentryTool({
    name: "list_issues",
    description: "Lists issues: what fails, how often, since when, for how many users.",
    ...fields.RANGE,
    selects: ["project", "environment", "query"],
    input_schema: z.strictObject({
      ...pick(fields, "organization project environment"),
      query: z
        .string()
        .max(500)
        .optional()
        .describe("Issue search, such as `level:error timeout`. Default is:unresolved. Empty for all."),
      sort: z
        .enum(["date", "new", "freq", "user", "trends"])
        .optional()
        .describe("Last seen (date, the default), first seen (new), events (freq)."),
      ...fields.period,
      limit: fields.limit,
      cursor: fields.cursor,
    }),
    output_schema: fields.pageSchema("issues", fields.ISSUE),
    work: async (sentry, input, context) => {
      const query = {
        ...projectParameter(input.project, context),
        environment: input.environment,
        query: input.query ?? "is:unresolved",
        sort: input.sort,
        ...fields.periodParameters(input),
        limit: input.limit ?? fields.DEFAULT_LIMIT,
        cursor: input.cursor,
      };
      const { data, nextCursor } = await sentry.get<readonly Issue[]>(["issues"], { scope: "event:read", query });
      return { issues: data.map(briefOf), next_cursor: nextCursor };
    },
  }),
  sentryTool({
    name: "get_issue",
    description: "Reads one issue: counts, first and last seen, releases, tags, assignment, activity, comments.",
    ...SNAPSHOT,
    selects: ["environment"],
    input_schema: z.strictObject({ ...pick(fields, "organization issue environment") }),
    output_schema: resultSchema(
      "id activity",
      `${fields.ISSUE} status_details:{} comments:number first_release:{ version created_at } last_release:{ version
        created_at } tags:{} activity:[{ type at by:any text version:any assignee:any }] activity_left_out:number`,
    ),
    work: async (sentry, input) => {
      const query = { environment: input.environment };
      const { data } = await sentry.get<IssueDetails>(["issues", input.issue], { scope: "event:read", query });
      return detailsOf(data);
    },
  }),
  sentryTool({
    name: "update_issue",
    description: "Changes only the given fields of an issue.",
    ...WRITE_ONCE,
    targets: ["organization"],
    input_schema: z.strictObject({
      organization: fields.organization,
      issue: fields.issue,
      ...changes,
    }),
    output_schema: resultSchema("id", fields.ISSUE),
    work: async (sentry, input) => {
      const body = changesOf(input);
      if (Object.keys(body).length === 0) throw new Error("Give at least one field to change.");
      return briefOf(await sentry.send<Issue>("PUT", ["issues", input.issue], { scope: "event:write", body }));
    },
  }),
];

type Changes = z.infer<z.ZodObject<typeof changes>>;

function changesOf(input: Changes): Readonly<Record<string, unknown>> {
  if (input.resolved_in_release && input.status !== "resolved") {
    throw new Error("Use `resolved_in_release` only with status resolved.");
  }
  if (input.archive && input.status !== "archived") throw new Error("Use `archive` only with status archived.");
  return {
    ...(input.status ? statusOf(input) : {}),
    ...(input.assigned_to ? { assignedTo: input.assigned_to === "none" ? "" : input.assigned_to } : {}),
    ...(input.priority ? { priority: input.priority } : {}),
  };
}

function statusOf({ status, resolved_in_release: release, archive = "until_escalating" }: Changes) {
  if (status === "archived") return { status: "ignored", substatus: `archived_${archive}` };
  if (status === "resolved_in_next_release") return { status: "resolved", statusDetails: { inNextRelease: true } };
  return { status, ...(release ? { statusDetails: { inRelease: release } } : {}) };
}

export const commentTools = [
  sentryTool({
    name: "add_comment",
    description: "Comments on an issue.",
    ...WRITE_ONCE,
    targets: ["organization"],
    input_schema: z.strictObject({ organization, issue, text: z.string().min(1).max(20_000).describe("Markdown.") }),
    output_schema: resultSchema("id", "id created_at existing:flag"),
    work: async (sentry, input, context) => {
      const marker = markerOf(context, input);
      const earlier = await findComment(sentry, input.issue, marker);
      if (earlier) return { ...commentOf(earlier), existing: true };
      const body = { text: `${input.text}\n\n${marker}` };
      const path = ["issues", input.issue, "comments"];
      return commentOf(await sentry.send<Comment>("POST", path, { scope: "event:write", body }));
    },
  }),
];

interface Comment {
  readonly id: string;
  readonly dateCreated: string;
  readonly data?: { readonly text?: string } | null;
}

function commentOf({ id, dateCreated }: Comment) {
  return { id, created_at: dateCreated };
}

/** Finds a comment on the first page, which has the newest hundred. */
async function findComment(sentry: Sentry, issue: string, marker: string): Promise<Comment | undefined> {
  const query = { per_page: 100 };
  const { data } = await sentry.get<readonly Comment[]>(["issues", issue, "comments"], { scope: "event:read", query });
  return data.find((comment) => comment.data?.text?.includes(marker));
}
