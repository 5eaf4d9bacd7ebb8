import { clip, each, firstOf, resultSchema, TEAM_SNAPSHOT } from "skillflow/internal";
import * as z from "zod";
import { name, namespace, newestFirst, number, text } from "./fields.ts";
import { kubernetesTool, listAll } from "./service.ts";

export const eventTools = [
  kubernetesTool({
    name: "list_events",
    description:
      "Lists warning events, newest first: failed scheduling, probes, mounts, image pulls, evictions, kills. They are kept for about an hour.",
    ...TEAM_SNAPSHOT,
    selects: ["namespace", "object", "warnings_only"],
    input_schema: z.strictObject({
      namespace,
      object: name.optional().describe("Name of a pod, a workload, or a node (in the namespace default)."),
      warnings_only: z.boolean().optional().describe("Default true."),
      limit: z.int().min(1).max(100).optional(),
    }),
    output_schema: resultSchema("events", "events:[any] matching:number left_out:number note"),
    work: async ({ ask, own }, input) => {
      const where = input.namespace ?? own.namespace;
      const fields = [
        ...(input.object ? [`involvedObject.name=${input.object}`] : []),
        ...(input.warnings_only === false ? [] : ["type=Warning"]),
      ];
      const fieldSelector = fields.join(",") || undefined;
      const { items, unread } = await listAll(ask, { where, plural: "events", item: event, fieldSelector });
      const all = items.map(briefOf).sort(newestFirst);
      const { shown, ...counts } = firstOf(all, input.limit ?? 30);
      const none = "No such event in about the last hour. Older ones are not kept.";
      return { events: shown, ...counts, note: unread ?? (all.length === 0 ? none : undefined) };
    },
  }),
];

const event = z.object({
  metadata: z.object({ namespace: text, creationTimestamp: text }),
  involvedObject: z.object({ kind: text, name: text }),
  ...each(text, "type reason message"),
  count: number,
  ...each(text, "firstTimestamp lastTimestamp eventTime"),
  series: z.object({ count: number, lastObservedTime: text }).nullish(),
});

function briefOf({ metadata, involvedObject, series, ...told }: z.infer<typeof event>) {
  return {
    at: series?.lastObservedTime ?? told.lastTimestamp ?? told.eventTime ?? metadata.creationTimestamp,
    first: told.firstTimestamp ?? told.eventTime,
    count: series?.count ?? told.count,
    type: told.type,
    reason: told.reason,
    object: `${involvedObject.kind}/${involvedObject.name}`,
    namespace: metadata.namespace,
    message: clip(told.message ?? "", 600),
  };
}
