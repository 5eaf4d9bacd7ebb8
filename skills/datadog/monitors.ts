import { each, isoTime, lenient, pick, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { anything, number, pageSchema, text, texts } from "./answers.ts";
import { DEFAULT_LIMIT, limit, monitorId, page, query } from "./fields.ts";
import { datadogTool, pageUrl } from "./service.ts";

const PERMISSION = "monitors_read";

export const monitorTools = [
  datadogTool({
    name: "list_monitors",
    description: "Searches monitors and their states.",
    ...TEAM_SNAPSHOT,
    selects: ["query"],
    input_schema: z.strictObject({
      query: query.optional().describe('Such as status:alert tag:"service:checkout" or muted:true.'),
      limit,
      page,
    }),
    output_schema: pageSchema(
      "monitors",
      "id:number name status type query priority:number tags:[text] last_triggered_at muted_until url",
      "total_count:number by_status:{}",
    ),
    work: async (ask, input, context) => {
      const at = (input.page ?? 1) - 1;
      const { monitors, metadata, counts } = await ask({
        path: ["api", "v1", "monitor", "search"],
        query: { query: input.query, page: at, per_page: input.limit ?? DEFAULT_LIMIT },
        needs: PERMISSION,
        answer: searchAnswer,
      });
      return {
        total_count: metadata?.total_count,
        by_status: Object.fromEntries((counts?.status ?? []).map(({ name, count }) => [name, count])),
        monitors: (monitors ?? []).map((monitor) => ({
          ...pick(monitor, "id name status type query priority"),
          tags: monitor.tags?.slice(0, MOST_TAGS),
          last_triggered_at: secondsTime(monitor.last_triggered_ts),
          muted_until: secondsTime(monitor.muted_until_ts),
          url: pageUrl(context.config, `monitors/${monitor.id}`),
        })),
        next_page: at + 1 < (metadata?.page_count ?? 0) ? at + 2 : undefined,
      };
    },
  }),
  datadogTool({
    name: "get_monitor",
    description: "Reads one monitor: query, message, thresholds, downtimes, groups that are not OK.",
    ...TEAM_SNAPSHOT,
    input_schema: z.strictObject({ monitor_id: monitorId }),
    output_schema: resultSchema(
      "id groups",
      `id:number name type query message overall_state overall_state_modified priority:number tags:[text] created
        modified thresholds:any creator groups_total:number groups_not_ok:number groups:[{ name status
        last_triggered_at }] downtimes:[{ id:number scope:any start end }] url`,
    ),
    work: async (ask, input, context) => {
      const monitor = await ask({
        path: ["api", "v1", "monitor", `${wholeNumber(input.monitor_id)}`],
        query: { group_states: "all", with_downtimes: true },
        needs: PERMISSION,
        answer: monitorAnswer,
      });
      const { state, options, creator, matching_downtimes, ...rest } = monitor;
      return {
        ...rest,
        thresholds: options?.["thresholds"],
        creator: creator?.handle,
        ...unhealthyGroups(state?.groups ?? {}),
        downtimes: matching_downtimes
          ?.slice(0, 10)
          .map(({ id, scope, start, end }) => ({ id, scope, start: secondsTime(start), end: secondsTime(end) })),
        url: pageUrl(context.config, `monitors/${monitor.id}`),
      };
    },
  }),
];

const MOST_TAGS = 15;
const MOST_GROUPS = 30;

const status = z.object({ name: z.union([z.string(), z.boolean()]).transform(String), count: z.number() });
const monitor = z.object({
  id: z.number(),
  ...each(text, "name status type query"),
  priority: number,
  tags: texts,
  ...each(number, "last_triggered_ts muted_until_ts"),
});
const searchAnswer = z.object({
  counts: lenient(z.object({ status: z.array(status).nullish() })),
  metadata: lenient(z.object({ total_count: number, page_count: number })),
  monitors: z.array(monitor).nullish(),
});

const group = z.object({ status: text, last_triggered_ts: number });
const downtime = z.object({
  ...each(number, "id start end"),
  scope: lenient(z.union([z.string(), z.array(z.string())])),
});
const monitorAnswer = z.object({
  id: z.number(),
  ...each(text, "name type query message overall_state overall_state_modified"),
  priority: number,
  tags: texts,
  ...each(text, "created modified"),
  options: anything,
  creator: lenient(z.object({ handle: text })),
  state: lenient(z.object({ groups: z.record(z.string(), group).nullish() })),
  matching_downtimes: lenient(z.array(downtime)),
});

/** Returns the groups that are not OK, the most recent alert first. */
function unhealthyGroups(groups: Readonly<Record<string, z.infer<typeof group>>>) {
  const unhealthy = Object.entries(groups).filter(([, { status: is }]) => is !== "OK");
  const latest = unhealthy.sort(([, a], [, b]) => (b.last_triggered_ts ?? 0) - (a.last_triggered_ts ?? 0));
  return {
    groups_total: Object.keys(groups).length,
    groups_not_ok: unhealthy.length,
    groups: latest.slice(0, MOST_GROUPS).map(([name, { status: is, last_triggered_ts }]) => ({
      name,
      status: is,
      last_triggered_at: secondsTime(last_triggered_ts),
    })),
  };
}

function secondsTime(seconds: number | null | undefined): string | undefined {
  return seconds ? isoTime(seconds * 1000) : undefined;
}

/** Throws if an id is not a positive integer. */
export function wholeNumber(id: number): number {
  if (Number.isSafeInteger(id) && id > 0) return id;
  throw new Error("A monitor's id is a whole number. Get it from list_monitors.");
}
