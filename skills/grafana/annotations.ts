import { each, isoPeriod, isoTime, lastHour, lenient, periodOf, resultSchema, TEAM_RANGE } from "skillflow/internal";
import * as z from "zod";
import { grafanaTool, number, text, uid } from "./service.ts";

export const annotationTools = [
  grafanaTool({
    name: "list_annotations",
    description:
      "Lists the annotations of a period, newest first: deploys and notes from people or pipelines, and alert state changes. Shows what changed before the first symptom in one cheap call.",
    ...TEAM_RANGE,
    selects: ["type", "tags", "dashboard"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      ...lastHour,
      type: z
        .enum(["annotation", "alert"])
        .optional()
        .describe("From people and pipelines, or from alerts. Default: both."),
      tags: z
        .array(z.string().min(1).max(100))
        .max(10)
        .optional()
        .describe("The annotation must have all of them: deploy, checkout."),
      dashboard: uid.optional().describe("Uid of the dashboard."),
      limit: z.int().min(1).max(100).optional().describe("Default 30."),
    }),
    output_schema: resultSchema(
      "annotations",
      "annotations:[{ at until text tags:[text] by alert state dashboard panel:number }] from to note",
    ),
    work: async (ask, input, context) => {
      const period = periodOf(input, context.now());
      const limit = input.limit ?? 30;
      const found = await ask({
        path: ["api", "annotations"],
        query: { ...period, type: input.type, tags: input.tags, dashboardUID: input.dashboard, limit },
        needs: "the annotations:read permission",
        answer: z.array(annotation),
      });
      return {
        annotations: found.map((one) => ({
          at: isoTime(one.time),
          until: one.timeEnd && one.timeEnd !== one.time ? isoTime(one.timeEnd) : undefined,
          text: one.text,
          tags: one.tags?.length ? one.tags : undefined,
          by: one.login || undefined,
          alert: one.alertName || undefined,
          state: one.newState ? `${one.prevState || "unknown"} → ${one.newState}` : undefined,
          dashboard: one.dashboardUID || undefined,
          panel: one.panelId || undefined,
        })),
        ...isoPeriod(period),
        note: noteOf(found.length, limit),
      };
    },
  }),
];

function noteOf(count: number, limit: number): string | undefined {
  if (count === 0) return "No matching annotation in this period. There may have been deploys that were not annotated.";
  return count >= limit ? "There may be older ones. Shorten the period, or raise `limit`." : undefined;
}

const annotation = z.object({
  ...each(number, "time timeEnd"),
  text,
  tags: lenient(z.array(z.string())),
  ...each(text, "login alertName prevState newState dashboardUID"),
  panelId: number,
});
