import { isoField, resultSchema, textLike } from "skillflow/internal";
import * as z from "zod";

/** Parameters that several tools share. */

const slug = textLike(/^[A-Za-z0-9][A-Za-z0-9_-]*$/, 100);

export const organization = slug.optional();

export const project = slug.optional().describe("Slug, id or `all`.");

export const issue = textLike(/^(\d{1,20}|[A-Za-z0-9][A-Za-z0-9_-]*-[A-Za-z0-9]{1,10})$/, 110);

export const environment = textLike(/^[^\r\n/]+$/, 64).optional();

/** Time range, either relative or by start and end. */
export const period = {
  stats_period: textLike(/^\d{1,4}[smhdw]$/, 6).optional(),
  start: isoField.optional(),
  end: isoField.optional(),
};

/** Facts of a tool that reads a period. */
export const RANGE = { effect: "read", clock: "range", range: { from: "start", to: "end" } } as const;

export const release = textLike(/^[^\r\n\t/\\]+$/, 250);

/** Converts a tool's period to Sentry's parameters, with times in UTC. */
export function periodParameters({ stats_period, start, end }: z.infer<z.ZodObject<typeof period>>) {
  if (stats_period && (start || end)) throw new Error("Give either `stats_period`, or `start` and `end`.");
  if (stats_period) return { statsPeriod: stats_period };
  if (!start && !end) return {};
  if (!start || !end) throw new Error("Give `start` and `end` together, or `stats_period`.");
  const [from, to] = [utc(start), utc(end)];
  if (from >= to) throw new Error("`start` must be before `end`.");
  return { start: from, end: to };
}

function utc(time: string): string {
  const milliseconds = Date.parse(time);
  if (Number.isNaN(milliseconds)) throw new Error(`"${time}" is not a time.`);
  return new Date(milliseconds).toISOString();
}

export const limit = z.int().min(1).max(50).optional();

export const cursor = textLike(/^[\w:.+-]+$/, 120).optional();

export const DEFAULT_LIMIT = 10;

/** Fields of an issue in a list, as far as all of Sentry's endpoints return them in the same form. */
export const ISSUE = `id short_id title value:any culprit:any level status substatus:any priority:any category:any unhandled:flag
  events:number users:number first_seen last_seen project assigned_to:any url`;

/** Returns the schema of a page. Its list is always present, and empty if there are no items. */
export function pageSchema(list: string, item: string) {
  return resultSchema(list, `${list}:[{ ${item} }] next_cursor`);
}

const FRAME = "depth:number in_app:flag at source";

export const EVENT = resultSchema(
  "id exceptions",
  `id issue_id:any at:any title culprit:any location:any message exceptions:[{ type:any value:any module:any
    mechanism:any handled:any frames:[{ ${FRAME} }] other_frames:[text] further_frames:number further_causes:number }]
    thread:any frames:[{ ${FRAME} }] other_frames:[text] occurrence:{ title:any subtitle:any evidence:[any] }
    release:any release_created_at:any dist:any platform:any user:any tags:{} contexts:{} request:{ method:any url:any
    } breadcrumbs:[text] processing_errors:[any] previous_event:any next_event:any project`,
);
