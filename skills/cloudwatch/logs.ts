import {
  clip,
  each,
  isoPeriod,
  isoTime,
  lastHour,
  periodOf,
  pick,
  RANGE,
  resultSchema,
  TEAM_SNAPSHOT,
} from "skillflow/internal";
import * as z from "zod";
import { contains, cursor, logGroup, logsTool, NO_GROUP, number, text } from "./service.ts";

export const logTools = [
  logsTool({
    name: "list_log_groups",
    description:
      "Lists log groups whose name contains a word, with retention and size. filter_log_events and query_logs need the names.",
    ...TEAM_SNAPSHOT,
    selects: ["contains"],
    input_schema: z.strictObject({
      contains: contains.describe("Case-sensitive."),
      limit: z.int().min(1).max(50).optional().describe("Default 30."),
      cursor,
    }),
    output_schema: resultSchema(
      "groups",
      "groups:[{ name stored_bytes:number kept_days:number created_at }] next_cursor note",
    ),
    work: async (act, input) => {
      const found = await act("DescribeLogGroups", {
        input: { logGroupNamePattern: input.contains, limit: input.limit ?? 30, nextToken: input.cursor },
        answer: z.object({ logGroups: z.array(group), nextToken: text }),
      });
      return {
        groups: found.logGroups.map(({ logGroupName, storedBytes, retentionInDays, creationTime }) => ({
          name: logGroupName,
          stored_bytes: storedBytes,
          kept_days: retentionInDays,
          created_at: isoTime(creationTime),
        })),
        next_cursor: found.nextToken ?? undefined,
        note: found.logGroups.length === 0 ? "No log group in this region has a name that contains it." : undefined,
      };
    },
  }),
  logsTool({
    name: "filter_log_events",
    description:
      'Reads log lines of one group that match a filter, oldest first: `ERROR -timeout`, `"payment failed"`, `{ $.status = 502 }`. Cheap for a word in a short period. To count or group, use query_logs.',
    ...RANGE,
    selects: ["filter", "stream_prefix"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      group: logGroup,
      filter: z.string().min(1).max(1024).optional().describe("Filter pattern. Default: every line."),
      stream_prefix: z.string().min(1).max(512).optional(),
      ...lastHour,
      limit: z.int().min(1).max(200).optional().describe("Default 50."),
      cursor,
    }),
    output_schema: resultSchema("events", "events:[{ at stream message }] from to next_cursor note"),
    work: async (act, input, context) => {
      const period = periodOf(input, context.now());
      const most = input.limit ?? 50;
      const events: z.infer<typeof event>[] = [];
      let nextToken = input.cursor;
      for (let page = 1; page <= MOST_PAGES; page++) {
        const found = await act("FilterLogEvents", {
          input: {
            ...pick(input, "logGroupName:group logStreamNamePrefix:stream_prefix filterPattern:filter"),
            startTime: period.from,
            endTime: period.to,
            limit: most - events.length,
            nextToken,
          },
          instead: NO_GROUP,
          answer: z.object({ events: z.array(event), nextToken: text }),
        });
        events.push(...found.events);
        nextToken = found.nextToken ?? undefined;
        if (nextToken === undefined || events.length >= most) break;
      }
      const shown = events.slice(0, most);
      return {
        events: shown.map(({ timestamp, logStreamName, message }) => {
          return {
            at: isoTime(timestamp),
            stream: logStreamName,
            message: clip((message ?? "").trimEnd(), LONGEST_MESSAGE),
          };
        }),
        ...isoPeriod(period),
        next_cursor: nextToken,
        note: noteOf(shown.length, nextToken),
      };
    },
  }),
];

/** Maximum number of pages to read. AWS may return empty pages before pages with events. */
const MOST_PAGES = 10;
const LONGEST_MESSAGE = 2000;

function noteOf(count: number, next: string | undefined): string | undefined {
  if (next !== undefined)
    return count === 0
      ? "Nothing matched so far. Continue with next_cursor, or use a shorter period."
      : "There are more lines, or not everything was searched. Continue with next_cursor.";
  return count === 0 ? "The whole period was searched, and no line matched." : undefined;
}

const group = z.object({ logGroupName: z.string(), ...each(number, "storedBytes retentionInDays creationTime") });
const event = z.object({ timestamp: number, logStreamName: text, message: text });
