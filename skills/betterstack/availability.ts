import {
  clip,
  each,
  type Point,
  pick,
  resultSchema,
  seriesSummary,
  summarise,
  TEAM_RANGE,
  TEAM_SNAPSHOT,
} from "skillflow/internal";
import * as z from "zod";
import {
  checkedId,
  day,
  id,
  idAnswer,
  limit,
  nextPage,
  number,
  page,
  pageSchema,
  pagination,
  paging,
  text,
} from "./fields.ts";
import { betterstackTool } from "./service.ts";

export const availabilityTools = [
  betterstackTool({
    name: "get_monitor_availability",
    description:
      "Measures a monitor's availability over the given days or its whole lifetime, and its response times over the last 24 hours by region: since when it is slow, and whether everywhere.",
    ...TEAM_RANGE,
    input_schema: z.strictObject({
      monitor_id: id,
      from: day.describe("YYYY-MM-DD."),
      to: day,
      points: z.int().min(0).max(60).optional().describe("Per region. Default 24; 0 for none."),
    }),
    output_schema: resultSchema(
      "",
      `availability_percent:number downtime_seconds:number incidents:number longest_incident_seconds:number
        average_incident_seconds:number response_ms:[{ region ${seriesSummary} slowest_part:any }] note`,
    ),
    work: async (ask, input) => {
      const path = ["v2", "monitors", checkedId(input.monitor_id)];
      const query = { from: input.from, to: input.to };
      const { data } = await ask({ path: [...path, "sla"], query, answer: z.object({ data: availability }) });
      const { data: times } = await ask({ path: [...path, "response-times"], answer: z.object({ data: responses }) });
      const told = data.attributes;
      return {
        ...pick(told, "availability_percent:availability downtime_seconds:total_downtime"),
        ...pick(told, "incidents:number_of_incidents longest_incident_seconds:longest_incident"),
        ...pick(told, "average_incident_seconds:average_incident"),
        response_ms: times.attributes.regions.map(({ region, response_times }) => ({
          region,
          ...summarise(pointsOf(response_times), input.points ?? 24),
          slowest_part: partsOf(response_times),
        })),
        note: times.attributes.regions.length === 0 ? "No check got a response in the last 24 hours." : undefined,
      };
    },
  }),
  betterstackTool({
    name: "list_heartbeats",
    description:
      "Lists heartbeats, which expect regular pings from jobs such as backups: state, period, grace time. Only they show a job that stopped running without an error.",
    ...TEAM_SNAPSHOT,
    input_schema: z.strictObject({ limit, page }),
    output_schema: pageSchema("heartbeats", "id name status team period_seconds:number grace_seconds:number paused_at"),
    work: async (ask, input) => {
      const answer = await ask({
        path: ["v2", "heartbeats"],
        query: paging(input),
        answer: z.object({ data: z.array(heartbeat), pagination }),
      });
      const heartbeats = answer.data.map(({ id, attributes: own }) => ({
        id,
        name: own.name && clip(own.name, 200),
        ...pick(own, "status team:team_name period_seconds:period grace_seconds:grace paused_at"),
      }));
      return { heartbeats, next_page: nextPage(answer) };
    },
  }),
];

const availability = z.object({
  attributes: z.object({
    ...each(number, "availability total_downtime number_of_incidents longest_incident average_incident"),
  }),
});

const responseTime = z.object({
  at: z.string(),
  ...each(number, "response_time name_lookup_time connection_time tls_handshake_time data_transfer_time"),
});
type ResponseTime = z.infer<typeof responseTime>;
const responses = z.object({
  attributes: z.object({ regions: z.array(z.object({ region: z.string(), response_times: z.array(responseTime) })) }),
});

/** Omits the heartbeat's URL: anyone who knows it can send the signal. */
const heartbeat = z.object({
  id: idAnswer,
  attributes: z.object({ ...each(text, "name status team_name"), ...each(number, "period grace"), paused_at: text }),
});

function pointsOf(times: readonly ResponseTime[]): Point[] {
  const points = times.map(({ at, response_time }): Point => [Date.parse(at), (response_time ?? Number.NaN) * 1000]);
  return points.sort(([a], [b]) => a - b);
}

const PARTS = ["name_lookup_time", "connection_time", "tls_handshake_time", "data_transfer_time"] as const;

/** Returns the slowest phase of a check by its mean over the day. */
function partsOf(times: readonly ResponseTime[]) {
  const means = PARTS.map((part) => {
    const sum = times.reduce((all, time) => all + (time[part] ?? 0), 0);
    return { part: part.replace(/_time$/, ""), mean_ms: Math.round((sum / Math.max(1, times.length)) * 1000) };
  });
  return means.reduce((most, one) => (one.mean_ms > most.mean_ms ? one : most));
}
