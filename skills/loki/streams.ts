import { firstOf, lastHour, periodOf, resultSchema, TEAM_RANGE, textLike } from "skillflow/internal";
import * as z from "zod";
import { bounds, selector } from "./fields.ts";
import { answered, labels, lokiTool } from "./service.ts";

export const streamTools = [
  lokiTool({
    name: "list_labels",
    description:
      "Lists the labels of streams, or with `label` the values of one label: which apps, namespaces and levels exist. Call this first. Fields inside lines are not labels: filter them with | json.",
    ...TEAM_RANGE,
    selects: ["selector", "contains"],
    input_schema: z.strictObject({
      label: textLike(/^[A-Za-z_][A-Za-z0-9_]*$/, 200)
        .optional()
        .describe("Label whose values to list. Without it: the label names."),
      selector: selector.optional(),
      contains: z.string().min(1).max(200).optional().describe("In the name or value."),
      ...lastHour,
      limit: z.int().min(1).max(200).optional().describe("Default 50."),
    }),
    output_schema: resultSchema("values", "values:[text] matching:number left_out:number note"),
    work: async (ask, input, context) => {
      const { data } = await ask({
        path: input.label ? ["label", input.label, "values"] : ["labels"],
        query: { ...bounds(periodOf(input, context.now())), query: input.selector },
        answer: answered(z.array(z.string()).nullish()),
      });
      const words = input.contains?.toLowerCase() ?? "";
      const matching = (data ?? []).filter((value) => value.toLowerCase().includes(words));
      const { shown, ...counts } = firstOf(matching, input.limit ?? 50);
      return { values: shown, ...counts, note: data?.length ? undefined : NO_STREAMS };
    },
  }),
  lokiTool({
    name: "list_streams",
    description:
      "Lists the streams that match a selector, by their labels, and how many streams, lines and bytes a query would read. Reads no lines. Does not count the newest minutes.",
    ...TEAM_RANGE,
    selects: ["selector"],
    input_schema: z.strictObject({
      selector,
      ...lastHour,
      limit: z.int().min(1).max(50).optional().describe("Default 10."),
    }),
    output_schema: resultSchema(
      "streams streams_total",
      "streams:[any] streams_total:number left_out:number reads:{ bytes:number lines:number chunks:number } note",
    ),
    work: async (ask, input, context) => {
      const times = bounds(periodOf(input, context.now()));
      const { data } = await ask({
        path: ["series"],
        query: { ...times, "match[]": input.selector },
        answer: answered(z.array(labels).nullish()),
      });
      const reads = await ask({
        path: ["index", "stats"],
        query: { ...times, query: input.selector },
        answer: statsAnswer,
      });
      const all = data ?? [];
      const { shown, left_out } = firstOf(all, input.limit ?? 10);
      return {
        streams: shown,
        streams_total: all.length,
        left_out,
        reads: { bytes: reads.bytes, lines: reads.entries, chunks: reads.chunks },
        note: all.length === 0 ? NO_STREAMS : undefined,
      };
    },
  }),
];

const NO_STREAMS = "No match in this period. Check the label, the selector and the period.";

const statsAnswer = z.object({ streams: z.number(), chunks: z.number(), entries: z.number(), bytes: z.number() });
