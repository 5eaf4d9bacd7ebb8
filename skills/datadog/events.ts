import { memberAt, RANGE } from "skillflow/internal";
import * as z from "zod";
import { anything, cursorMeta, pageNotes, pageSchema, text, texts } from "./answers.ts";
import { between, DEFAULT_LIMIT, newestFirst, paged, period, query } from "./fields.ts";
import { datadogTool } from "./service.ts";

export const eventTools = [
  datadogTool({
    name: "list_events",
    description: "Lists events: deployments, alerts, configuration changes, autoscaling.",
    ...RANGE,
    selects: ["query"],
    input_schema: z.strictObject({
      query: query.optional().describe("Such as source:deployment service:checkout."),
      ...between,
      newest_first: newestFirst,
      ...paged,
    }),
    output_schema: pageSchema(
      "events",
      "id timestamp title:any message status:any service:any monitor_id:any tags:[text]",
    ),
    work: async (ask, input, context) => {
      const span = period(input, context.now());
      const { data, meta } = await ask({
        path: ["api", "v2", "events"],
        query: {
          "filter[query]": input.query,
          "filter[from]": span.from,
          "filter[to]": span.to,
          sort: input.newest_first === false ? "timestamp" : "-timestamp",
          "page[limit]": input.limit ?? DEFAULT_LIMIT,
          "page[cursor]": input.cursor,
        },
        needs: "events_read",
        answer: eventsAnswer,
      });
      const events = (data ?? []).map(({ id, attributes }) => ({
        id,
        timestamp: attributes?.timestamp,
        title: memberAt(attributes?.attributes, "title"),
        message: attributes?.message,
        status: memberAt(attributes?.attributes, "status"),
        service: memberAt(attributes?.attributes, "service"),
        monitor_id: memberAt(attributes?.attributes, "monitor.id") ?? memberAt(attributes?.attributes, "monitor_id"),
        tags: attributes?.tags?.slice(0, MOST_TAGS),
      }));
      return { events, ...pageNotes(meta) };
    },
  }),
];

const MOST_TAGS = 15;

const event = z.object({ timestamp: text, message: text, tags: texts, attributes: anything });
const eventsAnswer = z.object({
  data: z.array(z.object({ id: text, attributes: event.nullish() })).nullish(),
  meta: cursorMeta,
});
