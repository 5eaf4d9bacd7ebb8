import { defineTool } from "skillflow";
import * as z from "zod";
import { withSentry } from "./client.ts";
import { type EventDetails, eventOf, tagsOf } from "./event.ts";
import * as fields from "./fields.ts";
import { projectParameter } from "./place.ts";

const query = z.string().min(1).max(500).optional();

export const eventTools = [
  defineTool({
    name: "get_issue_events",
    description: "Lists an issue's events, newest first: when, where, in which release and environment.",
    effect: "read",
    input_schema: z.strictObject({
      organization: fields.organization,
      issue: fields.issue,
      environment: fields.environment,
      query: query.describe("Event search, such as `release:1.2.0 user.id:7`."),
      ...fields.period,
      limit: fields.limit,
      cursor: fields.cursor,
    }),
    handler: (input, context) =>
      withSentry(input, context, async (sentry) => {
        const parameters = {
          environment: input.environment,
          query: input.query,
          ...fields.periodParameters(input),
          per_page: input.limit ?? fields.DEFAULT_LIMIT,
          cursor: input.cursor,
        };
        const path = ["issues", input.issue, "events"];
        const { data, nextCursor } = await sentry.get<readonly Event[]>(path, {
          scope: "event:read",
          query: parameters,
        });
        return { events: data.map(briefOf), next_cursor: nextCursor };
      }),
  }),
  defineTool({
    name: "get_latest_event",
    description:
      "Reads one event of an issue: exceptions with stack traces and source lines, request, breadcrumbs, tags.",
    effect: "read",
    input_schema: z.strictObject({
      organization: fields.organization,
      issue: fields.issue,
      environment: fields.environment,
      which: z.enum(["latest", "oldest", "recommended"]).optional().describe("Default latest; recommended tells most."),
    }),
    handler: (input, context) =>
      withSentry(input, context, async (sentry) => {
        const path = ["issues", input.issue, "events", input.which ?? "latest"];
        const parameters = { environment: input.environment };
        const { data } = await sentry.get<EventDetails>(path, { scope: "event:read", query: parameters });
        return eventOf(data);
      }),
  }),
  defineTool({
    name: "search_events",
    description: "Searches events across issues, or counts and groups them.",
    effect: "read",
    input_schema: z.strictObject({
      organization: fields.organization,
      project: fields.project,
      environment: fields.environment,
      dataset: z.enum(["errors", "spans", "logs"]).optional().describe("Default errors."),
      fields: z
        .array(
          z
            .string()
            .min(1)
            .max(200)
            .regex(/^[^\r\n]+$/),
        )
        .min(1)
        .max(20)
        .optional()
        .describe("Columns: release, or functions such as count() or p95(span.duration)."),
      query: query.describe("Event search, such as `level:error transaction:/checkout`."),
      sort: z
        .string()
        .max(200)
        .regex(/^-?[^\s-][^\r\n]*$/)
        .optional()
        .describe("A field, such as -count() for descending."),
      ...fields.period,
      limit: fields.limit,
      cursor: fields.cursor,
    }),
    handler: (input, context) =>
      withSentry(input, context, async (sentry) => {
        const { dataset = "errors" } = input;
        const parameters = {
          dataset,
          field: input.fields ?? COLUMNS[dataset],
          ...projectParameter(input.project, context),
          environment: input.environment,
          query: input.query,
          sort: input.sort ?? (input.fields ? undefined : "-timestamp"),
          ...fields.periodParameters(input),
          per_page: input.limit ?? fields.DEFAULT_LIMIT,
          cursor: input.cursor,
        };
        const { data, nextCursor } = await sentry.get<{ readonly data: readonly object[] }>(["events"], {
          scope: "org:read",
          query: parameters,
        });
        if (!Array.isArray(data.data)) throw new TypeError("there are no rows in it");
        return { rows: data.data, next_cursor: nextCursor };
      }),
  }),
];

const COLUMNS = {
  errors: ["timestamp", "issue", "title", "project", "environment", "release", "transaction", "id"],
  spans: [
    "timestamp",
    "span.op",
    "span.description",
    "span.duration",
    "span.status",
    "transaction",
    "project",
    "trace",
  ],
  logs: ["timestamp", "severity", "message", "project", "trace"],
} as const;

interface Event {
  readonly eventID: string;
  readonly title: string;
  readonly message: string;
  readonly dateCreated: string;
  readonly location: string | null;
  readonly culprit: string | null;
  readonly user: { readonly id?: string | null; readonly username?: string | null } | null;
  readonly tags: readonly { readonly key: string; readonly value: string }[];
}

/** Of a person only the id: addresses are no evidence. */
function briefOf(event: Event) {
  return {
    id: event.eventID,
    at: event.dateCreated,
    title: event.title,
    message: event.message && event.message !== event.title ? event.message : undefined,
    location: event.location,
    culprit: event.culprit,
    user: event.user?.id ?? event.user?.username,
    tags: tagsOf(event.tags),
  };
}
