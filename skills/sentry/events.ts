import { LASTING, pick, resultSchema, SNAPSHOT, textLike } from "skillflow/internal";
import * as z from "zod";
import { type EventDetails, eventOf, tagsOf } from "./event.ts";
import * as fields from "./fields.ts";
import { ALL_PROJECTS, projectParameter, type Query, type Sentry, sentryTool } from "./service.ts";

const query = z.string().min(1).max(500).optional();

export const eventTools = [
  sentryTool({
    name: "get_issue_events",
    description:
      "Lists an issue's events, newest first: time, location, release. To count them by a tag: get_issue_tag.",
    ...fields.RANGE,
    selects: ["environment", "query"],
    input_schema: z.strictObject({
      ...pick(fields, "organization issue environment"),
      query: query.describe("Event search, such as `release:1.2.0 user.id:7`."),
      ...fields.period,
      limit: fields.limit,
      cursor: fields.cursor,
    }),
    output_schema: fields.pageSchema("events", "id at title message location:any culprit:any user:any tags:{}"),
    work: async (sentry, input) => {
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
    },
  }),
  sentryTool({
    name: "get_latest_event",
    description:
      "Reads one event of an issue: exceptions with stack traces and source lines, request, breadcrumbs, tags.",
    effect: "read",
    clock: "range",
    selects: ["environment", "which"],
    input_schema: z.strictObject({
      ...pick(fields, "organization issue environment"),
      which: z
        .enum(["latest", "oldest", "recommended"])
        .optional()
        .describe("Default latest. recommended has the most details."),
    }),
    output_schema: fields.EVENT,
    work: async (sentry, input) => {
      const path = ["issues", input.issue, "events", input.which ?? "latest"];
      const parameters = { environment: input.environment };
      const { data } = await sentry.get<EventDetails>(path, { scope: "event:read", query: parameters });
      return eventOf(data);
    },
  }),
  sentryTool({
    name: "get_event",
    description: "Reads one event by its id, such as one from a log, with its issue.",
    ...LASTING,
    echoes: ["id"],
    input_schema: z.strictObject({
      organization: fields.organization,
      event_id: z.string().regex(/^[0-9a-fA-F]{32}$/),
    }),
    output_schema: fields.EVENT,
    work: async (sentry, input) => {
      const path = ["eventids", input.event_id];
      const { data } = await sentry.get<Identified>(path, { scope: "event:read" });
      return { ...eventOf(data.event), issue_id: data.groupId, project: data.projectSlug };
    },
  }),
  sentryTool({
    name: "get_issue_tag",
    description:
      "Counts the values of one tag over an issue's events: which release, host, browser or customer is affected.",
    ...SNAPSHOT,
    selects: ["environment"],
    echoes: ["tag"],
    input_schema: z.strictObject({
      organization: fields.organization,
      issue: fields.issue,
      tag: textLike(/^[A-Za-z0-9_.:-]+$/, 200).describe("Such as release, server_name, url. get_issue lists them."),
      environment: fields.environment,
    }),
    output_schema: resultSchema(
      "tag values",
      "tag events:number different_values:number values:[{ value:any events:number first_seen last_seen }]",
    ),
    work: async (sentry, input) => {
      const query = { environment: input.environment };
      const { data } = await sentry.get<Tag>(["issues", input.issue, "tags", input.tag], {
        scope: "event:read",
        query,
      });
      const values = data.topValues.map(({ value, count, firstSeen, lastSeen }) => {
        return { value, events: count, first_seen: firstSeen, last_seen: lastSeen };
      });
      return { tag: data.key, events: data.totalValues, different_values: data.uniqueValues, values };
    },
  }),
  sentryTool({
    name: "get_trace",
    description: "Reads one trace across projects: its longest spans and its errors.",
    ...LASTING,
    echoes: ["trace_id"],
    input_schema: z.strictObject({
      organization: fields.organization,
      trace_id: z.string().regex(/^[0-9a-fA-F]{32}$/),
      limit: fields.limit.describe("Number of spans. Default 30."),
      cursor: fields.cursor,
    }),
    output_schema: resultSchema(
      "trace_id spans errors",
      `trace_id spans:[{ id:any parent:any at:any op:any description:any duration_ms:any status:any project:any
        transaction:any }] errors:[{}] more_errors next_cursor incomplete note`,
    ),
    work: async (sentry, input) => {
      const query = `trace:${input.trace_id}`;
      const all = { ...ALL_PROJECTS, query };
      const longest = { ...all, dataset: "spans", field: SPAN_COLUMNS, sort: "-span.duration", cursor: input.cursor };
      const errors = { ...all, dataset: "errors", field: COLUMNS.errors, sort: "timestamp", per_page: 20 };
      const found = await rowsOf(sentry, { ...longest, per_page: input.limit ?? 30 });
      const failed: Rows = input.cursor ? { rows: [] } : await rowsOf(sentry, errors);
      return {
        trace_id: input.trace_id,
        spans: found.rows.map(spanOf),
        errors: failed.rows,
        more_errors: failed.nextCursor === undefined ? undefined : `call search_events with query ${query} to get them`,
        next_cursor: found.nextCursor,
        incomplete: found.incomplete ?? failed.incomplete,
        note: found.rows.length + failed.rows.length === 0 ? NO_TRACE : undefined,
      };
    },
  }),
  sentryTool({
    name: "search_events",
    description: "Searches events across issues, or counts and groups them.",
    ...fields.RANGE,
    selects: ["project", "environment", "query"],
    input_schema: z.strictObject({
      ...pick(fields, "organization project environment"),
      dataset: z.enum(["errors", "spans", "logs"]).optional().describe("Default errors."),
      fields: z
        .array(textLike(/^[^\r\n]+$/, 200))
        .min(1)
        .max(20)
        .optional()
        .describe("Columns: release, or functions such as count() or p95(span.duration)."),
      query: query.describe("Event search, such as `level:error transaction:/checkout`."),
      sort: textLike(/^-?[^\s-][^\r\n]*$/, 200)
        .optional()
        .describe("A field, such as count(), or -count() for descending."),
      ...fields.period,
      limit: fields.limit,
      cursor: fields.cursor,
    }),
    output_schema: resultSchema("rows", "rows:[{}] next_cursor incomplete"),
    work: async (sentry, input, context) => {
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
      const { rows, nextCursor, incomplete } = await rowsOf(sentry, parameters);
      return { rows, next_cursor: nextCursor, incomplete };
    },
  }),
];

const SPAN = "span.op span.description span.duration span.status";

const COLUMNS = {
  errors: ["timestamp", "issue", "title", "project", "environment", "release", "transaction", "id"],
  spans: `timestamp ${SPAN} transaction project trace`.split(" "),
  logs: ["timestamp", "severity", "message", "project", "trace"],
} as const;

const SPAN_COLUMNS = `id parent_span ${SPAN} timestamp project transaction`.split(" ");

const NO_TRACE = "This trace is not stored: it was not sampled, is too old, or the id is wrong.";

interface Identified {
  readonly event: EventDetails;
  readonly groupId: string;
  readonly projectSlug: string;
}

interface Tag {
  readonly key: string;
  readonly totalValues: number;
  readonly uniqueValues: number;
  readonly topValues: readonly {
    readonly value: unknown;
    readonly count: number;
    readonly firstSeen: string;
    readonly lastSeen: string;
  }[];
}

type Row = Readonly<Record<string, unknown>>;

interface Found {
  readonly data: readonly Row[];
  readonly meta?: { readonly dataScanned?: string };
}

interface Rows {
  readonly rows: readonly Row[];
  readonly nextCursor?: string | undefined;
  readonly incomplete?: string | undefined;
}

async function rowsOf(sentry: Sentry, query: Query): Promise<Rows> {
  const { data, nextCursor } = await sentry.get<Found>(["events"], { scope: "org:read", query });
  if (!Array.isArray(data.data)) throw new TypeError("it contains no rows");
  return { rows: data.data, nextCursor, incomplete: data.meta?.dataScanned === "partial" ? PARTIAL : undefined };
}

const PARTIAL = "Sentry read only a part of the data, so rows may be missing. Narrow the query or the period.";

function spanOf(row: Row) {
  return {
    id: row["id"],
    parent: row["parent_span"],
    at: row["timestamp"],
    op: row["span.op"],
    description: row["span.description"],
    duration_ms: row["span.duration"],
    status: row["span.status"],
    project: row["project"],
    transaction: row["transaction"],
  };
}

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

/** Summarizes an event. Of the user it shows only the id, because personal data is not evidence. */
function briefOf(event: Event) {
  return {
    ...pick(event, "id:eventID at:dateCreated title"),
    message: event.message && event.message !== event.title ? event.message : undefined,
    location: event.location,
    culprit: event.culprit,
    user: event.user?.id ?? event.user?.username,
    tags: tagsOf(event.tags),
  };
}
