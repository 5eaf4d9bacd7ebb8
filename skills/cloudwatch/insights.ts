import { setTimeout as sleep } from "node:timers/promises";
import type { ToolContext } from "skillflow";
import { isoPeriod, lastHour, lenient, periodOf, RANGE, resultSchema } from "skillflow/internal";
import * as z from "zod";
import { type Act, logGroup, logsTool, NO_GROUP, number, secondsOf, text } from "./service.ts";

export const insightTools = [
  logsTool({
    name: "query_logs",
    description:
      "Runs a Logs Insights query over log groups and waits for it: `stats count(*) by bin(5m)`, `filter status >= 500 | stats count(*) by path | sort count desc | limit 10`. AWS bills by scanned data: use a short period and few groups. For single lines, filter_log_events is cheaper.",
    ...RANGE,
    selects: ["query"],
    echoes: ["from", "to"],
    input_schema: z.strictObject({
      groups: z.array(logGroup).min(1).max(10),
      query: z.string().min(1).max(5000).describe("Use the field names of JSON lines. @message is the whole line."),
      ...lastHour,
      limit: z.int().min(1).max(200).optional().describe("Number of rows. Default 50."),
    }),
    output_schema: resultSchema(
      "rows",
      "rows:[any] matched:number scanned:number scanned_bytes:number from to incomplete note",
    ),
    work: async (act, input, context) => {
      const period = periodOf(input, context.now());
      const { queryId } = await act("StartQuery", {
        input: {
          logGroupNames: input.groups,
          queryString: input.query,
          startTime: secondsOf(period.from),
          endTime: secondsOf(period.to),
          limit: input.limit ?? 50,
        },
        instead: NO_GROUP,
        answer: z.object({ queryId: z.string() }),
      });
      const answer = await waitFor(act, queryId, context);
      if (FAILED.includes(answer.status))
        throw new Error(
          `CloudWatch ended the query with status ${answer.status}. Use a shorter period or fewer groups.`,
        );
      const isWhole = answer.status === "Complete";
      const rows = (answer.results ?? []).map(rowOf);
      return {
        rows,
        matched: answer.statistics?.recordsMatched,
        scanned: answer.statistics?.recordsScanned,
        scanned_bytes: answer.statistics?.bytesScanned,
        ...isoPeriod(period),
        incomplete: isWhole ? undefined : `Stopped after ${LONGEST_MS / 1000} seconds. Use a shorter period.`,
        note: isWhole && rows.length === 0 ? "The whole period was searched, and nothing matched." : undefined,
      };
    },
  }),
];

const FAILED = ["Failed", "Cancelled", "Timeout"];
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2000;
const LONGEST_MS = 45_000;

/** Polls a query until it ends. If it takes too long, stops it and returns the results so far. */
async function waitFor(act: Act, queryId: string, { signal }: ToolContext): Promise<Told> {
  let waited = 0;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const answer = await act("GetQueryResults", { input: { queryId }, answer: results });
    if (answer.status === "Complete" || FAILED.includes(answer.status)) return answer;
    if (waited >= LONGEST_MS) {
      await act("StopQuery", { input: { queryId }, answer: z.object({ success: z.boolean().nullish() }) });
      return answer;
    }
    await sleep(pause, undefined, { signal });
    waited += pause;
  }
}

const results = z.object({
  status: z.string(),
  results: z.array(z.array(z.object({ field: text, value: text }))).nullish(),
  statistics: lenient(z.object({ recordsMatched: number, recordsScanned: number, bytesScanned: number })),
});
type Told = z.infer<typeof results>;

/** Converts a row, without the long pointer to the line, which has no use here. */
function rowOf(
  row: readonly { readonly field?: string | null | undefined; readonly value?: string | null | undefined }[],
) {
  return Object.fromEntries(
    row.filter(({ field }) => field !== "@ptr").map(({ field, value }) => [field ?? "", value]),
  );
}
